"""QR 10.10, Figure 23: the best of all schedules beside restarts of local search (theory T8.4).

The optimum is proved: every schedule is evaluated, in floats with a proved error, and what these
do not decide is compared exactly. What local search ends at is a float, and proves nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from qreplace.claims.pwa_supremum import ScheduleMap
from qreplace.errors import InputError
from qreplace.produce.pwa_supremum import produce as produce_supremum
from qreplace.produce.schedule_search import OptimisationGap, first_inputs, optimisation_gap
from qreplace.question.model import ScheduleTarget, WitnessDomain
from qreplace.question.subject import Subject
from qreplace.reproduce import Entry, Progress, within
from qreplace.reproduce.instances import scalar_subject, shipped_question, threshold_atom
from qreplace.reproduce.matrix import witness_inputs
from qreplace.reproduce.proved import ends
from qreplace.reproduce.table import DIAGNOSTIC, EXHAUSTIVE, Interval, Row, Table, number

DEPTH = 20
MOST_DEPTH = 22
RESTARTS = 64
MOST_RESTARTS = 4096
PUBLISHED_BEST, PUBLISHED_MEDIAN = "about 120", "about 419"
STATE = Fraction(1, 4)
THRESHOLD = Fraction(1, 4)
GAIN = Fraction(1, 3)
REFERENCE_DEPTH = 64


@dataclass(frozen=True)
class Gap:
    """One instance: the bracket of its optimum, and what local search found."""

    optimum: Interval
    shown: str
    found: OptimisationGap


def compute(
    entry: Entry,
    progress: Progress,
    depth: int = DEPTH,
    restarts: int = RESTARTS,
    seed: int = 0,
) -> Table:
    """Both instances at one depth."""
    within("depth", depth, 2, MOST_DEPTH)
    within("restarts", restarts, 1, MOST_RESTARTS)
    within("seed", seed, 0, 2**32 - 1)
    progress("instances", 0, 2)
    own = _gap(signed_pair(), depth, restarts, seed)
    progress("instances", 1, 2)
    shipped = _gap(_matrix(), depth, restarts, seed)
    progress("instances", 2, 2)
    rows = [*_rows("signed pair", own, restarts), *_rows("matrix atoms", shipped, restarts)]
    return Table(
        name="search",
        title=entry.title,
        reference=entry.reference,
        given=False,
        instance=(
            f"Ours (the paper's is not given), {depth} steps, {restarts} restarts of coordinate "
            f"descent from seed {seed}. Signed pair: recurrent atoms S_(1/4)(y + x/4) - x and "
            f"S_(1/4)(-y + x/4) - x, target {REFERENCE_DEPTH} steps of S_(1/12)(y/3 + x/4) - x, "
            "every y in [-1, 1]. Matrix atoms: the low-bit atoms and the reference of QR 10.7, on "
            "1,281 witnesses of the unit disk."
        ),
        rows=tuple(rows),
        notes=(
            "The published ratios are of another instance, so nothing here can confirm or refute "
            "them. The gap is large where the optimum is near 0, as for the signed pair, whose "
            "target the dictionary reaches; where a floor keeps the optimum up, as for the matrix "
            "atoms, local search is near it.",
        ),
    )


def signed_pair() -> Subject:
    """Two recurrent atoms of opposite sign, and a third of their gain as the target.

    Every endpoint is ``c S_{1/4}(y)``, so the error is largest at y = 1.
    """
    atoms = [
        threshold_atom(Fraction(sign), THRESHOLD, state=STATE, leak=Fraction(1)) for sign in (1, -1)
    ]
    precise = threshold_atom(GAIN, GAIN * THRESHOLD, state=STATE, leak=Fraction(1))
    target = ScheduleTarget("schedule", (precise,), (0,) * REFERENCE_DEPTH)
    return scalar_subject(atoms, target, Fraction(1), [Fraction(1)])


def _matrix() -> Subject:
    question = shipped_question()
    asked = dataclasses.replace(question, domain=WitnessDomain("witnesses", witness_inputs()))
    return Subject(asked, {})


def _gap(subject: Subject, depth: int, restarts: int, seed: int) -> Gap:
    problem = subject.piecewise(0)
    if len(problem.fields) != 2:
        raise InputError("the figure is about dictionaries of two atoms")
    points = first_inputs(problem)
    found = optimisation_gap(problem, subject.question.norm, depth, points, restarts, seed)
    which = ScheduleMap("schedule", found.optimum.schedule)
    upper = ends(subject, [produce_supremum(subject, 0, which)]).upper
    shown = f"{EXHAUSTIVE}; pwa_supremum above"
    return Gap(Interval(found.optimum.lower, upper), shown, found)


def _rows(name: str, gap: Gap, restarts: int) -> Sequence[Row]:
    found = gap.found
    middle = found.median_ratio * float(found.optimum.upper)
    return [
        number(f"{name}: optimum of all schedules", gap.optimum, gap.shown),
        _float(f"{name}: best of {restarts} restarts", found.local[0]),
        _float(f"{name}: median of {restarts} restarts", middle),
        _float(f"{name}: best / optimum", found.best_ratio, PUBLISHED_BEST),
        _float(f"{name}: median / optimum", found.median_ratio, PUBLISHED_MEDIAN),
    ]


def _float(quantity: str, value: float, published: str | None = None) -> Row:
    return Row(quantity, f"{value:.4g}", DIAGNOSTIC, published)
