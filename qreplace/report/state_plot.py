"""What the figure of a system with one or two states shows, as floats and in words (theory T7).

Value function, region, controls and functionals come from the checked claims; initial state, target
and fields from the question. Nothing here decides anything.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from qreplace.claims import Claim
from qreplace.claims.affine_dynamics import AffineDynamicsClaim
from qreplace.claims.compositional import CompositionalClaim
from qreplace.claims.functional import Functional
from qreplace.claims.hjb_sos import HjbSosClaim
from qreplace.claims.perturbed import PerturbedClaim
from qreplace.claims.region import BoxPart, ImpliedPart, InvariantPart, Region
from qreplace.claims.relaxed_control import (
    ControlPiece,
    PureSchedule,
    RelaxedControl,
    RelaxedControlClaim,
)
from qreplace.claims.support import SupportClaim
from qreplace.errors import InputError
from qreplace.exact.polynomial import Polynomial, total
from qreplace.exact.rational import approximate
from qreplace.question.model import AffineDynamicsSystem, Norm, PolynomialSystem
from qreplace.question.subject import Subject
from qreplace.report.context import ReportContext
from qreplace.report.decimals import at_least, at_most
from qreplace.report.float_paths import (
    LARGEST,
    MAX_TERMS,
    FloatPolynomial,
    Path,
    Problem,
    euler_path,
    relaxed_path,
    target_of,
)
from qreplace.report.states import state_dimension, state_names
from qreplace.report.summary import floor_checked
from qreplace.report.text import listed

MOST_STATES = 2


@dataclass(frozen=True, slots=True)
class Shade:
    """The value function (or the bound of a functional) of a claim, and where it is proved.

    ``rises``: trajectories stay where the function is at least ``level`` (with two states: they end
    there). Otherwise they stay, or end, where it is at most that. A level of NaN binds none: a
    claim about one depth says nothing of faster switching.
    """

    symbol: Literal["v", "w"]
    function: FloatPolynomial
    level: float
    rises: bool
    box: tuple[tuple[float, ...], tuple[float, ...]] | None
    constraints: tuple[FloatPolynomial, ...]
    words: str


@dataclass(frozen=True, slots=True)
class Control:
    """A control's trajectory; the claim bounds its distance from the target by ``upper``."""

    path: Path
    upper: Fraction | None
    depth: int | None


@dataclass(frozen=True, slots=True)
class Wall:
    """Every endpoint z has ``normal . z <= offset``; the target lies beyond."""

    normal: tuple[float, ...]
    offset: float


@dataclass(frozen=True, slots=True)
class StatePlot:
    """A system of one or two states; numbers are floats, for drawing."""

    names: tuple[str, ...]
    horizon: float
    initial: tuple[float, ...]
    target: tuple[float, ...]
    norm: Norm
    tolerance: float
    floor: float | None
    floor_is_checked: bool
    shade: Shade | None
    relaxed: Control | None
    schedule: Control | None
    wall: Wall | None
    words: str


def state_plot(document: Mapping[str, Any], context: ReportContext) -> StatePlot | None:
    """The figure's data; ``None`` where a state cannot be drawn or no claim adds anything to it."""
    question = context.question
    dynamic = isinstance(question.system, (AffineDynamicsSystem, PolynomialSystem))
    if not dynamic or not 1 <= state_dimension(question) <= MOST_STATES:
        return None
    best = document["best"]
    bits = best["metadata_bits"] if best else question.search.metadata_bits[0]
    try:
        problem = _problem(Subject(question, context.arrays), bits)
    except InputError:  # its arrays are not at hand
        return None
    claims = [c for c in context.claims if not question.codes or c.code == bits]
    shade = _shade(claims, problem)
    relaxed = _relaxed(claims, problem)
    planned = _planned(document["plan"], problem)
    schedule = planned or _schedule(claims, problem, best["depth"] if best else None)
    wall = _wall(claims, problem)
    if shade is None and relaxed is None and schedule is None and wall is None:
        return None
    bracket = document["bracket"]
    floor = Fraction(bracket["lower"]) if bracket else Fraction(0)
    tolerance = Fraction(document["tolerance"]["lo"])
    drawn = StatePlot(
        names=state_names(context),
        horizon=approximate(problem.horizon),
        initial=_initial(problem),
        target=target_of(problem),
        norm=question.norm,
        tolerance=min(approximate(tolerance), LARGEST),
        floor=min(approximate(floor), LARGEST) if floor > 0 else None,
        floor_is_checked=floor_checked(document, context),
        shade=shade,
        relaxed=relaxed,
        schedule=schedule,
        wall=wall,
        words="",
    )
    return _with_words(drawn, floor, tolerance) if _all_drawable(drawn) else None


def _problem(subject: Subject, bits: int) -> Problem:
    affine = isinstance(subject.question.system, AffineDynamicsSystem)
    return subject.affine(bits) if affine else subject.polynomial(bits)


def _initial(problem: Problem) -> tuple[float, ...]:
    return tuple(map(approximate, _start(problem)))


def _start(problem: Problem) -> tuple[Fraction, ...]:
    scale = getattr(problem, "denominator", 1)
    return tuple(Fraction(z) / scale for z in problem.initial)


def _all_drawable(drawn: StatePlot) -> bool:
    numbers = (drawn.horizon, *drawn.initial, *drawn.target)
    return all(math.isfinite(x) and abs(x) < LARGEST for x in numbers) and drawn.horizon > 0


# --- the value function ---------------------------------------------------------------------------


def _shade(claims: Sequence[Claim], problem: Problem) -> Shade | None:
    """The claim that shows most: about E_inf before a depth, v before w, the higher end first."""
    order = {"v": 1, "w": 0}
    found = []
    for claim in claims:
        drawn = _shade_of(claim, problem)
        if drawn is not None and isinstance(claim, (HjbSosClaim, SupportClaim, CompositionalClaim)):
            limit = getattr(claim, "depth", None) is None
            found.append(((limit, order[drawn.symbol], claim.lower), drawn))
    return max(found, key=lambda entry: entry[0], default=(None, None))[1]


def _shade_of(claim: Claim, problem: Problem) -> Shade | None:
    if isinstance(claim, HjbSosClaim):
        at = "" if claim.depth is None else f" at depth {claim.depth:,}"
        words = f"a value function of degree {claim.value_function.degree}{at}"
        level = None if claim.depth is None else math.nan
        return _made("v", claim.value_function, claim.region, problem, words, level)
    if isinstance(claim, SupportClaim):
        at = "" if claim.depth is None else f" at depth {claim.depth:,}"
        words = f"a bound of one functional, of degree {claim.bound.degree}{at}"
        level = None if claim.depth is None else math.nan
        return _made("w", claim.bound, claim.region, problem, words, level)
    if isinstance(claim, CompositionalClaim):
        arity = problem.dimension + 1
        parts = [
            block.value_function.renamed([0, *(i + 1 for i in block.coordinates)], arity)
            for block in claim.blocks
        ]
        words = f"the sum of the value functions of {len(parts)} blocks"
        value, paid = total(parts), sum((sum(b.coupling) for b in claim.blocks), Fraction(0))
        least = value.at((Fraction(0), *_start(problem))) - problem.horizon * paid
        # The sum may fall by what the coupling costs; with one state it is drawn at every time.
        level = approximate(least) if problem.dimension == 2 else math.nan
        return _made("v", value, (claim.tube,), problem, words, level)
    return None


def _made(
    symbol: Literal["v", "w"],
    function: Polynomial,
    region: Region,
    problem: Problem,
    words: str,
    level: float | None,
) -> Shade | None:
    """``None`` for functions too large to draw. Without a level it is the value at the start."""
    constraints = [
        part.constraint for part in region if isinstance(part, (InvariantPart, ImpliedPart))
    ]
    if max(len(p.exponents) for p in (function, *constraints)) > MAX_TERMS:
        return None
    boxes = [part for part in region if isinstance(part, BoxPart)]
    if level is None:
        level = approximate(function.at((Fraction(0), *_start(problem))))
    return Shade(
        symbol=symbol,
        function=FloatPolynomial(function),
        level=level,
        rises=symbol == "v",
        box=_box(boxes),
        constraints=tuple(map(FloatPolynomial, constraints)),
        words=words,
    )


def _box(boxes: Sequence[BoxPart]) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    """The intersection of the boxes of a region."""
    if not boxes:
        return None
    lower = [max(ends) for ends in zip(*(box.lower for box in boxes), strict=True)]
    upper = [min(ends) for ends in zip(*(box.upper for box in boxes), strict=True)]
    return tuple(map(approximate, lower)), tuple(map(approximate, upper))


# --- controls -------------------------------------------------------------------------------------


def _relaxed(claims: Sequence[Claim], problem: Problem) -> Control | None:
    """The relaxed control with the smallest upper end."""
    found: list[tuple[Fraction, tuple[ControlPiece, ...]]] = []
    for claim in claims:
        if isinstance(claim, RelaxedControlClaim) and isinstance(claim.control, RelaxedControl):
            found.append((claim.upper, claim.control.pieces))
        if isinstance(claim, AffineDynamicsClaim) and claim.control and claim.upper is not None:
            found.append((claim.upper, claim.control))
    if not found:
        return None
    upper, pieces = min(found, key=lambda entry: entry[0])
    path = relaxed_path(problem, pieces)
    return None if path is None else Control(path, upper, None)


def _schedule(claims: Sequence[Claim], problem: Problem, depth: int | None) -> Control | None:
    """The pure schedule at the best depth; without one that which ends closest."""
    found: list[tuple[bool, Fraction, int, PureSchedule]] = []
    for claim in claims:
        if isinstance(claim, RelaxedControlClaim) and isinstance(claim.control, PureSchedule):
            own = sum(repeats for _, repeats in claim.control.runs)
            found.append((own != depth, claim.upper, own, claim.control))
    if not found:
        return None
    _, upper, own, control = min(found, key=lambda entry: entry[:3])
    path = euler_path(problem, control.runs)
    return None if path is None else Control(path, upper, own)


def _planned(plan: Mapping[str, Any] | None, problem: Problem) -> Control | None:
    """The schedule that the study says to run, if it is written out."""
    if plan is None or not plan["schedule"]:
        return None
    path = euler_path(problem, [(atom, 1) for atom in plan["schedule"]])
    return None if path is None else Control(path, Fraction(plan["error"]), plan["depth"])


def _wall(claims: Sequence[Claim], problem: Problem) -> Wall | None:
    """The functional of the claim about E_inf with the highest lower end."""
    found = [
        (claim.lower, claim.witness)
        for claim in claims
        if isinstance(claim, (AffineDynamicsClaim, PerturbedClaim, SupportClaim))
        and getattr(claim, "depth", None) is None
        and claim.lower > 0
    ]
    if not found:
        return None
    lower, witness = max(found, key=lambda entry: entry[0])
    normal = _dense(witness, problem.dimension)
    scale = getattr(problem, "denominator", 1)
    target = [Fraction(y) / scale for y in problem.target]
    aim = sum((a * y for a, y in zip(normal, target, strict=True)), Fraction(0))
    return Wall(tuple(map(approximate, normal)), approximate(aim - lower))


def _dense(functional: Functional, size: int) -> list[Fraction]:
    vector = functional.vector
    dense = [Fraction(0)] * size
    for index, number in zip(vector.indices, vector.numerators, strict=True):
        dense[index] = number / vector.denominator
    return dense


# --- the same in words ----------------------------------------------------------------------------


def _with_words(drawn: StatePlot, floor: Fraction, tolerance: Fraction) -> StatePlot:
    import dataclasses

    plane = "against time" if len(drawn.names) == 1 else "in their plane"
    noun = "State" if len(drawn.names) == 1 else "States"
    words = [
        f"{noun} {listed(list(drawn.names))} {plane}, from {_point(drawn.initial)} at time 0 to "
        f"time {drawn.horizon:g}; the target is {_point(drawn.target)}."
    ]
    if drawn.relaxed is not None and drawn.relaxed.upper is not None:
        words.append(
            f"A relaxed control ends near {_point(drawn.relaxed.path.end)} and misses the target "
            f"by at most {at_most(drawn.relaxed.upper)}."
        )
    if drawn.schedule is not None and drawn.schedule.upper is not None:
        words.append(
            f"A schedule of depth {drawn.schedule.depth:,} ends near "
            f"{_point(drawn.schedule.path.end)} and misses it by at most "
            f"{at_most(drawn.schedule.upper)}."
        )
    if floor > 0:
        words.append(f"The structural floor is at least {at_least(floor)}.")
    words.append(f"The tolerance is {at_most(tolerance)}.")
    if drawn.shade is not None:
        text = f"Shown are levels of {drawn.shade.words}"
        if math.isfinite(drawn.shade.level):
            when = "at every time" if len(drawn.names) == 1 else "at the end"
            side = "least" if drawn.shade.rises else "most"
            text += f"; along every control it is at {side} {drawn.shade.level:.4g} {when}"
        words.append(f"{text}.")
    if drawn.wall is not None:
        words.append("A line bounds what can be reached at the end; the target lies beyond it.")
    return dataclasses.replace(drawn, words=" ".join(words))


def _point(coordinates: Sequence[float]) -> str:
    numbers = [f"{x:.4g}" for x in coordinates]
    return numbers[0] if len(numbers) == 1 else f"({', '.join(numbers)})"
