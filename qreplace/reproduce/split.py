"""QR 10.2, Figure 9: one soft-threshold dictionary, a target it reaches and one it misses (T7.7).

Atoms ``S_l(sigma y) - x/2`` with signs sigma = +-1 and thresholds l in {0, 1}, so s = 1/2, and
alpha = (1 - e^{-1/2})/(1/2). The targets are ``alpha (S_0 + S_1)/2``, reached by switching between
two atoms in equal parts, and ``alpha S_{1/2}``, missed by alpha/6. Endpoints, targets and their
differences are odd and affine between the inputs 0, 1/2, 1 and 2, so those decide on [-2, 2].
"""

from __future__ import annotations

from fractions import Fraction

from qreplace.claims.pwa_supremum import ScheduleMap
from qreplace.produce.affine_dynamics import produce as produce_floor
from qreplace.produce.observable import produce as produce_observable
from qreplace.produce.pwa_supremum import produce as produce_supremum
from qreplace.produce.schedule_minimum import produce as produce_minimum
from qreplace.produce.schedule_search import best_schedule_bnb, first_inputs
from qreplace.question.model import NetworkTarget
from qreplace.question.subject import Subject
from qreplace.reproduce import Entry, Progress, within
from qreplace.reproduce.instances import mass, mixture, scalar_subject, threshold_atom
from qreplace.reproduce.proved import ends
from qreplace.reproduce.table import EXHAUSTIVE, Interval, Row, Table, number

MU = Fraction(1, 2)
REACH = Fraction(2)
THRESHOLDS = (Fraction(0), Fraction(1))
KINKS = (Fraction(1, 2), Fraction(1), Fraction(2))
MOST_DEPTH = 12
TELLING = 4
"""With fewer depths nothing is said about where the errors go."""
CERTIFIED_DEPTH = 10
"""Trees of prefixes beyond this depth take minutes; the search itself is exact as well."""
CLOSE = Fraction(1, 1 << 80)
"""Ends this near a value are its own, up to the rounding of alpha and of claims."""
NAMES = ("reached", "missed")


def compute(entry: Entry, progress: Progress, depth: int = MOST_DEPTH) -> Table:
    """Every marker up to ``depth``, the floors, and what they show."""
    deepest = within("depth", depth, 1, MOST_DEPTH)
    subjects = {name: question(name) for name in NAMES}
    stages = 2 * deepest + 1
    progress("depths", 0, stages)
    rows = _floor_rows(subjects)
    errors: dict[str, list[Interval]] = {name: [] for name in NAMES}
    for steps in range(1, deepest + 1):
        for place, name in enumerate(NAMES):
            progress("depths", 2 * steps - 1 + place, stages)
            row = marker(subjects[name], name, steps)
            rows.append(row)
            errors[name].append(row.interval or Interval(None, None))
    rows += _shape(errors)
    progress("depths", stages, stages)
    return Table(
        name="split",
        title=entry.title,
        reference=entry.reference,
        given=False,
        instance=(
            "Our instance of QR 9.1: atoms S_l(sigma y) - x/2, sigma = -1 or 1, l = 0 or 1, every "
            "y in [-2, 2]. reached: alpha (S_0 + S_1)/2; missed: alpha S_{1/2}; alpha = "
            "2 (1 - e^{-1/2}) is irrational and stands for its value rounded down to 2^-100."
        ),
        rows=tuple(rows),
        notes=(
            "E_D is the least error of all 4^D schedules of depth D. The paper gives neither s nor "
            "the interval, and prints its markers in a figure only. On [-1, 1] the atoms with "
            "threshold 1 vanish and only multiples of y are reached; the floor is the same.",
            f"Beyond depth {CERTIFIED_DEPTH} the search is exhaustive by branch and bound, in "
            "floats with a proved error and exactly where that does not decide; no claim is made.",
        ),
    )


def question(name: str, reach: Fraction = REACH) -> Subject:
    """The question about one target on ``[-reach, reach]``; reach is 1 or 2."""
    atoms = [
        threshold_atom(Fraction(sign), threshold, leak=MU)
        for threshold in THRESHOLDS
        for sign in (1, -1)
    ]
    kinks = [y for y in KINKS if y <= reach]
    return scalar_subject(atoms, _target(name), reach, [*(-y for y in reversed(kinks)), *kinks])


def _target(name: str) -> NetworkTarget:
    alpha = mass(MU)
    if name == "missed":
        return mixture([(alpha, Fraction(1, 2))])
    return mixture([(alpha / 2, threshold) for threshold in THRESHOLDS])


def marker(subject: Subject, name: str, depth: int) -> Row:
    """``E_D`` of one target: below by a claim over all schedules, above by the best one."""
    problem, norm = subject.piecewise(0), subject.question.norm
    points = first_inputs(problem)
    best = best_schedule_bnb(problem, norm, depth, points)
    above = ends(subject, [produce_supremum(subject, 0, ScheduleMap("schedule", best.schedule))])
    if depth > CERTIFIED_DEPTH:
        found, shown = Interval(best.lower, above.upper), EXHAUSTIVE
    else:
        below = ends(subject, [produce_minimum(subject, 0, depth, points=points)])
        found, shown = Interval(below.lower, above.upper), "pwa_supremum, schedule_minimum"
    return number(f"E_D, {name} target, D = {depth}", found, shown)


def _floor_rows(subjects: dict[str, Subject]) -> list[Row]:
    reached = ends(subjects["reached"], [produce_floor(subjects["reached"], 0)])
    missed = ends(subjects["missed"], [produce_floor(subjects["missed"], 0)])
    inner = question("missed", Fraction(1))
    narrow = ends(inner, [produce_floor(inner, 0)])
    observable = ends(inner, [produce_observable(inner, 0)])
    floor = mass(MU) / 6
    return [
        _floor("floor, reached target", reached, Fraction(0), "0", "affine_dynamics"),
        _floor("floor, missed target", missed, floor, "alpha/6", "affine_dynamics"),
        _floor("floor, missed target on [-1, 1]", narrow, floor, "alpha/6", "affine_dynamics"),
        _floor(
            "floor, missed target on [-1, 1], one functional",
            observable,
            floor,
            "alpha/6",
            "observable",
        ),
    ]


def _floor(quantity: str, found: Interval, value: Fraction, published: str, shown: str) -> Row:
    """A floor agrees when every end that was proved is ``value`` up to ``CLOSE``."""
    known = [end for end in (found.lower, found.upper) if end is not None]
    agrees = bool(known) and all(abs(end - value) <= CLOSE for end in known)
    return Row(quantity, found.text(), shown, published, agrees, found)


def _shape(errors: dict[str, list[Interval]]) -> list[Row]:
    """What the figure says about the series, as far as the depths computed show it."""
    floor = mass(MU) / 6
    reached = [found.upper for found in errors["reached"] if found.upper is not None]
    missed = [found.lower for found in errors["missed"] if found.lower is not None]
    last = [found.upper for found in errors["missed"] if found.upper is not None]
    stays = all(end >= floor - CLOSE for end in missed)
    told = len(errors["missed"]) >= TELLING
    falls = len(reached) < 2 or reached[-1] < reached[0]
    nears = len(last) < 2 or last[-1] - floor < last[0] - floor
    return [
        Row(
            "missed target: every E_D above its floor, the last nearer",
            "yes" if stays and nears else "no",
            "the rows above",
            "converges to alpha/6",
            stays and nears if told else None,
        ),
        Row(
            "reached target: the last E_D below the first",
            "yes" if falls else "no",
            "the rows above",
            "approaches 0",
            falls if told else None,
        ),
    ]
