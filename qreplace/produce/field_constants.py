"""Constants of the fields on a box that holds every state, ready to be checked (theory T3).

The reach is found first: by speeds at every depth, then, where that is wide, with walls that no
trajectory crosses. The tube is the reach with room about it, the constants are recomputed there and
rounded up.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from qreplace.claims.field_constants import FieldConstantsClaim
from qreplace.claims.region import BoxPart
from qreplace.errors import InputError, ProducerFailed
from qreplace.exact.intervals import Interval
from qreplace.exact.rational import round_up
from qreplace.produce.reaches import Reach, by_speeds, by_walls, wall_step
from qreplace.question.field_ranges import Fields, Rows, fields_of
from qreplace.question.model import Norm, QuantizedExecution, Question, Unbounded
from qreplace.question.operator_bounds import (
    euclidean,
    euler_step,
    operator_at_most,
    operator_upper,
    squared_step_upper,
    step_at_most,
    unit_lengths,
)
from qreplace.question.reach import growth_factor
from qreplace.question.subject import Subject

MANY = 8
"""Coordinates beyond which speeds are not tried if growth gives a reach."""
MANY_WALLED = 256
"""Coordinates beyond which walls are not tried either: each side is searched for by itself."""
BITS = 40
"""Constants are rounded up to this many bits below their size."""
MAX_WORK = 200_000
"""Cells are refined while the constants cost at most this many steps."""
REFINEMENTS = (1, 2, 4, 8)
SOME_ROOM = Fraction(1, 8)
"""Of the reach's width, about the reach."""
GAIN = Fraction(9, 10)
"""Finer cells are kept when they shrink ``L`` or ``B`` to this part."""


def produce(
    subject: Subject, bits: int = 0, *, room: Fraction | None = None
) -> FieldConstantsClaim:
    """One claim whose tube has ``room`` times the reach's width about the reach.

    Execution needs a margin above its arithmetic radius, a growth rate one for its enlargement;
    without ``room`` there is some where the question may need it. Of the ways to a reach the one
    with the smallest ``L B`` is kept. Raises ``ProducerFailed`` when no box holds every state.
    """
    try:
        fields = fields_of(subject, bits)
    except InputError as error:
        raise ProducerFailed(error.message) from None
    if room is None:
        room = default_room(subject.question, fields)
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


def default_room(question: Question, fields: Fields) -> Fraction:
    """None where slopes hold everywhere and no increment register asks for B at executed states."""
    execution = question.execution
    registered = (
        isinstance(execution, QuantizedExecution)
        and execution.semantics != "write_back"
        and not isinstance(execution.overflow, Unbounded)
    )
    return Fraction(0) if fields.constant_slopes and not registered else SOME_ROOM


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
    plain = None if fields.dimension > MANY and growing is not None else by_speeds(fields)
    many = fields.dimension > MANY_WALLED and growing is not None
    walled = None if many else by_walls(fields, plain or growing)
    found = [growing, plain, walled]
    return [reach for reach in found if reach is not None]


def _by_growth(fields: Fields, norm: Norm) -> Reach | None:
    """A ball about the initial state, where one growth rate holds everywhere."""
    if not fields.constant_slopes:
        return None
    start = [(z, z) for z in fields.initial]
    rows = list(fields.jacobians(start, [1] * (fields.dimension + 1)))
    step = wall_step(fields, start)
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
    step = wall_step(fields, tube)
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
