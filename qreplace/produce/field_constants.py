"""Constants of the fields on a box that holds every state, ready to be checked (theory T3).

The reach is found first: by speeds at every depth, then, where that is wide, with walls that no
trajectory crosses. The tube is the reach with room about it, the constants are recomputed there and
rounded up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from qreplace.claims.field_constants import FieldConstantsClaim
from qreplace.claims.region import BoxPart
from qreplace.errors import InputError, ProducerFailed
from qreplace.exact.intervals import Interval
from qreplace.exact.rational import round_down, round_up
from qreplace.question.field_ranges import Fields, Rows, fields_of
from qreplace.question.model import Norm
from qreplace.question.operator_bounds import (
    euclidean,
    euler_step,
    operator_at_most,
    operator_upper,
    squared_step_upper,
    step_at_most,
    unit_lengths,
)
from qreplace.question.reach import contains, growth_factor, reached, walls_of
from qreplace.question.subject import Subject

SLICES = (1, 4, 8, 16, 32, 64, 128)
WALLED_SLICES = (1, 4, 16, 64)
WALL_ROUNDS = 40
MANY = 8
"""Coordinates beyond which speeds are not tried if growth gives a reach."""
BISECTIONS = 40
SIDE_BITS = 10
"""Sides are rounded outward to about this many bits of the box's width."""
BITS = 40
"""Constants are rounded up to this many bits below their size."""
MAX_WORK = 200_000
"""Cells are refined while the constants cost at most this many steps."""
REFINEMENTS = (1, 2, 4, 8)
GAIN = Fraction(9, 10)
"""Finer cells are kept when they shrink ``L`` or ``B`` to this part."""


@dataclass(frozen=True, slots=True)
class Reach:
    """A box with every state, the slices that show it, and the largest step it is shown for.

    ``radius``: how far states get from the initial one, where growth shows the box.
    """

    sides: list[Interval]
    slices: int
    step: Fraction | None
    radius: Fraction | None = None


def produce(
    subject: Subject, bits: int = 0, *, room: Fraction = Fraction(1, 8)
) -> FieldConstantsClaim:
    """One claim whose tube has ``room`` times the reach's width about the reach.

    Execution needs a margin above its arithmetic radius; synthesis alone does best with little
    room. Of the ways to a reach the one with the smallest ``L B`` is kept. Raises
    ``ProducerFailed`` when no box holds every state.
    """
    try:
        fields = fields_of(subject, bits)
    except InputError as error:
        raise ProducerFailed(error.message) from None
    claims = [
        _claim(subject, bits, fields, reach, room)
        for reach in find_reaches(fields, subject.question.norm)
    ]
    if not claims:
        raise ProducerFailed(
            "no box holds every trajectory: they may escape within the horizon",
            remedy="Shorten the horizon, or declare the constants.",
        )
    return min(claims, key=lambda claim: (claim.state_lipschitz * claim.field_bound,
                                          claim.field_bound))  # fmt: skip


def _claim(
    subject: Subject, bits: int, fields: Fields, reach: Reach, room: Fraction
) -> FieldConstantsClaim:
    norm = subject.question.norm
    lengths = unit_lengths(norm, fields.dimension)
    width = max(w * (high - low) for w, (low, high) in zip(lengths, reach.sides, strict=True))
    margin = _short_up(room * width) if width else room
    tube = [
        (low - margin / w, high + margin / w)
        for w, (low, high) in zip(lengths, reach.sides, strict=True)
    ]
    cells = _cells(fields, norm, tube, reach.slices)
    lipschitz = _lipschitz(norm, list(fields.jacobians(tube, cells)))
    step = _step_limit(fields, tube, reach)
    bound = fields.bound(norm, tube, cells)
    if reach.radius is not None:
        bound = min(bound, fields.start_bound(norm) + lipschitz * (reach.radius + margin))
    return FieldConstantsClaim(
        format="qreplace/claim/field_constants/v1",
        subject=subject.problem_digest(bits),
        code=bits,
        tube=BoxPart("box", tuple(a for a, _ in tube), tuple(b for _, b in tube), cells),
        reach_lower=tuple(low for low, _ in reach.sides),
        reach_upper=tuple(high for _, high in reach.sides),
        margin=margin,
        field_bound=_short_up(bound),
        state_lipschitz=lipschitz,
        growth_rate=min(lipschitz, _growth(norm, list(fields.jacobians(tube, cells)), step)),
        step_limit=step,
        time_variation=_short_up(fields.variation(norm, tube, cells)),
        difference_bound=_short_up(fields.difference_bound(norm, tube, cells)),
        difference_lipschitz=_lipschitz(norm, list(fields.jacobian_differences(tube, cells))),
        difference_variation=_short_up(fields.difference_variation(norm, tube, cells)),
    )


# --- the reach ------------------------------------------------------------------------------------


def find_reaches(fields: Fields, norm: Norm) -> list[Reach]:
    """A reach by speeds, by walls and by growth, as far as each is found."""
    growing = _by_growth(fields, norm)
    plain = None if fields.dimension > MANY and growing is not None else _by_speeds(fields)
    found = [growing, plain, _by_walls(fields, plain or growing)]
    return [reach for reach in found if reach is not None]


def _by_growth(fields: Fields, norm: Norm) -> Reach | None:
    """A ball about the initial state, where one growth rate holds everywhere."""
    if not fields.constant_slopes:
        return None
    start = [(z, z) for z in fields.initial]
    rows = list(fields.jacobians(start, [1] * (fields.dimension + 1)))
    step = _wall_step(fields, start)
    lipschitz = _lipschitz(norm, rows)
    rate = min(lipschitz, _growth(norm, rows, step))
    radii = [growth_factor(r, fields.horizon) for r in (rate, lipschitz)]
    if radii[0] is None:
        return None
    radius = _short_up(fields.start_bound(norm) * radii[0])
    lengths = unit_lengths(norm, fields.dimension)
    sides = [
        (z - _short_up(radius / w), z + _short_up(radius / w))
        for z, w in zip(fields.initial, lengths, strict=True)
    ]
    return Reach(sides, 1, None if radii[0] == radii[1] else step, radius)


def _by_speeds(fields: Fields) -> Reach | None:
    """More slices tighten the box; they are doubled until that gains less than a tenth."""
    best: Reach | None = None
    for slices in SLICES:
        found = reached(fields, slices)
        if found is None:
            continue
        sides = [_rounded(side) for side in found]
        if best is not None and _size(sides) > GAIN * _size(best.sides):
            break
        shown = reached(fields, slices, sides)
        if shown is not None and contains(sides, shown):
            best = Reach(sides, slices, None)
    return best


def _by_walls(fields: Fields, start: Reach | None) -> Reach | None:
    """A box with walls, if it is at least a tenth smaller than where the search starts."""
    for first in _first_boxes(fields, start):
        sides, step = _walled(fields, first)
        walls = walls_of(fields, sides, step)
        if all(place is None for place in (*walls.lower, *walls.upper)):
            continue
        for slices in WALLED_SLICES:
            found = reached(fields, slices, sides, walls)
            if found is None:
                continue
            smaller = [
                kept if _meets(kept, side) else _rounded(side)
                for kept, side in zip(sides, found, strict=True)
            ]
            for candidate in (smaller, sides):
                again = reached(fields, slices, candidate, walls_of(fields, candidate, step))
                if again is None or not contains(candidate, again):
                    continue
                if start is not None and _size(candidate) > GAIN * _size(start.sides):
                    return None
                return Reach(candidate, slices, step)
    return None


def _meets(outer: Interval, side: Interval) -> bool:
    return side[0] == outer[0] or side[1] == outer[1]


def _first_boxes(fields: Fields, start: Reach | None) -> Iterator[list[Interval]]:
    """The box that is known, and boxes of growing size about the origin."""
    if start is not None:
        yield start.sides
    largest = max(Fraction(1), *(abs(z) for z in fields.initial))
    for power in range(0, 8, 2):
        half = round_up(largest, 0) * 2**power
        yield [(-half, half)] * fields.dimension


def _walled(fields: Fields, start: Sequence[Interval]) -> tuple[list[Interval], Fraction]:
    """Pull every side in to the innermost place that bisection finds to be a wall."""
    sides = list(start)
    for _ in range(WALL_ROUNDS):
        before = _size(sides)
        for index in range(fields.dimension):
            low = _innermost(fields, sides, index, upper=False)
            sides[index] = (low, sides[index][1])
            high = _innermost(fields, sides, index, upper=True)
            sides[index] = (low, high)
        if _size(sides) * 100 > before * 99:
            break
    return sides, _wall_step(fields, sides)


def _innermost(fields: Fields, sides: list[Interval], index: int, *, upper: bool) -> Fraction:
    """The place nearest to the initial state that is a wall; the side itself if it is none."""
    kept = sides[index]
    outer = kept[1] if upper else kept[0]
    rounding = round_up if upper else round_down
    grid = _grid(kept[1] - kept[0])
    near = rounding(fields.initial[index], grid)

    def is_wall(place: Fraction) -> bool:
        sides[index] = (place, place)
        slow, fast = fields.component(index, sides)
        return fast <= 0 if upper else slow >= 0

    try:
        if (near >= outer if upper else near <= outer) or not is_wall(outer):
            return outer
        good, bad = (near, near) if is_wall(near) else (outer, near)
        for _ in range(BISECTIONS):
            middle = rounding((good + bad) / 2, grid)
            if middle in (good, bad):
                break
            good, bad = (middle, bad) if is_wall(middle) else (good, middle)
        return good
    finally:
        sides[index] = kept


def _wall_step(fields: Fields, sides: Sequence[Interval]) -> Fraction:
    """The largest step ``T / D`` with ``1 + h d G_i / d z_i >= 0`` for every coordinate."""
    steepest = max(-fields.slope(index, sides) for index in range(fields.dimension))
    return _step(fields.horizon, steepest)


def _step(horizon: Fraction, rate: Fraction) -> Fraction:
    """``T / D`` at the smallest depth D from which ``h rate <= 1``."""
    least = max(Fraction(1), horizon * rate)
    return horizon / -(-least.numerator // least.denominator)


# --- the constants --------------------------------------------------------------------------------


def _cells(fields: Fields, norm: Norm, tube: Sequence[Interval], slices: int) -> tuple[int, ...]:
    """Time in the slices of the reach; coordinates cut while that tightens L or B and is cheap."""
    best: tuple[int, ...] = (slices, *([1] * fields.dimension))
    reference: tuple[Fraction, Fraction] | None = None
    for count in REFINEMENTS:
        cells = (slices, *([count] * fields.dimension))
        if reference is not None and fields.work(cells) > MAX_WORK:
            break
        sizes = (
            max(operator_upper(norm, rows) for rows in fields.jacobians(tube, cells)),
            fields.bound(norm, tube, cells),
        )
        if reference is not None and all(
            new > GAIN * old for new, old in zip(sizes, reference, strict=True)
        ):
            break
        best, reference = cells, sizes
        if fields.constant_slopes:
            break
    return best


def _lipschitz(norm: Norm, found: Sequence[Rows]) -> Fraction:
    """An upper bound of all the induced norms, from singular values where entries are numbers."""
    largest = Fraction(0)
    for rows in found:
        plain = _short_up(operator_upper(norm, rows))
        guess = _singular_value(norm, rows)
        if guess is not None and guess < plain and operator_at_most(norm, rows, guess):
            plain = guess
        largest = max(largest, plain)
    return largest


def _growth(norm: Norm, found: Sequence[Rows], step: Fraction) -> Fraction:
    """``m`` with ``||I + h J|| <= 1 + h m`` at the step limit."""
    largest: Fraction | None = None
    for rows in found:
        moved = euler_step(rows, step)
        kappa = operator_upper(norm, moved)
        if euclidean(norm, len(rows)):
            kappa = min(kappa, _root_up(squared_step_upper(norm, rows, step)))
        guess = _singular_value(norm, moved)
        rate = _short_up((kappa - 1) / step)
        if guess is not None:
            sharper = _short_up((guess - 1) / step)
            if sharper < rate and step_at_most(norm, rows, step, 1 + step * sharper):
                rate = sharper
        largest = rate if largest is None else max(largest, rate)
    return Fraction(0) if largest is None else largest


def _step_limit(fields: Fields, tube: Sequence[Interval], reach: Reach) -> Fraction:
    """Where diagonal entries still leave ``1 + h J_ii >= 0``, and no larger than the walls'."""
    step = _wall_step(fields, tube)
    return step if reach.step is None else min(step, reach.step)


def _singular_value(norm: Norm, rows: Rows) -> Fraction | None:
    """The l2 norm of a matrix of numbers in floats, a little enlarged."""
    if not euclidean(norm, len(rows)) or any(low != high for row in rows for low, high in row):
        return None
    import numpy as np

    matrix = np.array([[float(low) for low, _ in row] for row in rows])
    norm_value = Fraction(float(np.linalg.norm(matrix, 2)))
    return _short_up(norm_value * (1 + Fraction(1, 10**9)))


def _root_up(value: Fraction) -> Fraction:
    from qreplace.exact.roots import sqrt_bounds

    return sqrt_bounds(value)[1]


def _short_up(value: Fraction) -> Fraction:
    """Rounded up to ``BITS`` bits below its own size."""
    if value == 0:
        return value
    size = value.numerator.bit_length() - value.denominator.bit_length()
    return round_up(value, max(0, BITS - size))


def _grid(width: Fraction) -> int:
    size = width.numerator.bit_length() - width.denominator.bit_length()
    return max(0, SIDE_BITS - size)


def _rounded(side: Interval) -> Interval:
    """Outward to about ``SIDE_BITS`` bits of the width."""
    width = side[1] - side[0]
    if not width:
        return side
    return round_down(side[0], _grid(width)), round_up(side[1], _grid(width))


def _size(sides: Sequence[Interval]) -> Fraction:
    return sum((high - low for low, high in sides), Fraction(0))
