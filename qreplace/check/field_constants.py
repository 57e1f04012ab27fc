"""Checker of ``field_constants`` (theory T3).

Claim: on the box ``tube`` every atom keeps to the claimed constants, and every relaxed and every
mixed Euler state stays in the box ``reach``, which lies inside the tube with room ``margin``.

Obligations, numbered as in ``schemas/field_constants.v1.md``:

1. the claim's subject is this question's problem at the claim's code, and the question holds atoms
   that depend on the state;
2. ``tube`` is a box with its cells, ``reach`` a box inside it that holds the initial state, at
   least ``margin`` from the tube's outside in the question's norm;
3. no relaxed and no mixed Euler trajectory leaves ``reach`` within the horizon: by speeds or by the
   Lipschitz constant at every depth, by walls or by the growth rate for steps up to ``step_limit``
   (``question/reach.py``);
4. ``||G_j|| <= field_bound`` and ``||G_i - G_j|| <= difference_bound``, the former on the tube or
   on the part of it that growth from the initial state allows;
5. the induced norm of every Jacobian is at most ``state_lipschitz``, of every difference of two
   atoms' Jacobians at most ``difference_lipschitz``;
6. ``||I + h J|| <= 1 + h growth_rate`` for every Jacobian J at ``h = step_limit``, and so at every
   smaller step;
7. the atoms' total variations in time sum to at most ``time_variation``, and what the pair that
   varies most at each moment varies to at most ``difference_variation``.

6 for smaller steps: ``h -> sup_J ||I + h J||`` is convex and 1 at 0, so ``(kappa - 1) / h`` does
not fall as h grows. The tube is convex, so bounds of Jacobians bound differences of values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from qreplace.check.bounds import ScopedConstants, require, require_subject
from qreplace.claims import claim_digest
from qreplace.claims.field_constants import FieldConstantsClaim
from qreplace.claims.region import BoxPart
from qreplace.errors import Rejected
from qreplace.exact.intervals import MAX_CELLS, Interval
from qreplace.premises import Evidence
from qreplace.question.field_ranges import Fields, fields_of
from qreplace.question.model import AffineDynamicsSystem, Norm, PolynomialSystem
from qreplace.question.operator_bounds import operator_at_most, step_at_most, unit_lengths
from qreplace.question.reach import contains, growth_factor, reached, walls_of
from qreplace.question.subject import Subject

MAX_WORK = 1_000_000
"""Largest number of steps, each of a few microseconds, that one claim may cost."""
MAX_BITS = 1024
"""Longest ends and step limits: every step multiplies them."""


def check(subject: Subject, claim: FieldConstantsClaim) -> tuple[ScopedConstants, ...]:
    """The constants on the tube, and those that hold everywhere; raises ``Rejected``.

    When no Jacobian depends on time or state, L, m, V and the differences' slopes are the same
    everywhere, and a second entry without a margin says so.
    """
    digest = require_subject(subject, claim.subject, claim.code)  # 1
    dynamic = isinstance(subject.question.system, (AffineDynamicsSystem, PolynomialSystem))
    require(dynamic, "the question holds no atoms that depend on the state")  # 1
    fields = fields_of(subject, claim.code)
    norm = subject.question.norm
    tube = _check_boxes(fields, norm, claim)  # 2
    _check_slopes(fields, norm, tube, claim)
    reach_steps = [_check_reach(fields, norm, claim), _check_bound(fields, norm, tube, claim)]
    _check_differences(fields, norm, tube, claim)
    on_tube = ScopedConstants(
        subject=digest,
        code=claim.code,
        margin=claim.margin,
        reach_step=None if reach_steps == [None, None] else claim.step_limit,
        field_bound=claim.field_bound,
        state_lipschitz=claim.state_lipschitz,
        growth_rate=claim.growth_rate,
        step_limit=claim.step_limit,
        time_variation=claim.time_variation,
        difference_bound=claim.difference_bound,
        difference_lipschitz=claim.difference_lipschitz,
        difference_variation=claim.difference_variation,
        evidence=Evidence.INTERVAL_CERTIFIED,
        kind="field_constants",
        claim=claim_digest(claim),
    )
    if not fields.constant_slopes:
        return (on_tube,)
    return on_tube, _everywhere(on_tube)


def _everywhere(constants: ScopedConstants) -> ScopedConstants:
    """What does not depend on the state, without the tube."""
    return ScopedConstants(
        subject=constants.subject,
        code=constants.code,
        margin=None,
        reach_step=None,
        field_bound=None,
        state_lipschitz=constants.state_lipschitz,
        growth_rate=constants.growth_rate,
        step_limit=constants.step_limit,
        time_variation=constants.time_variation,
        difference_bound=None,
        difference_lipschitz=constants.difference_lipschitz,
        difference_variation=constants.difference_variation,
        evidence=constants.evidence,
        kind=constants.kind,
        claim=constants.claim,
    )


def _check_boxes(fields: Fields, norm: Norm, claim: FieldConstantsClaim) -> list[Interval]:
    """The sides of the tube."""
    tube = _sides(claim.tube.lower, claim.tube.upper, fields.dimension, "/tube")  # 2
    _check_cells(fields, claim.tube)  # 2
    reach = _sides(claim.reach_lower, claim.reach_upper, fields.dimension, "/reach_lower")  # 2
    require(contains(tube, reach), "the reach is not inside the tube", "/reach_lower")  # 2
    start = [(z, z) for z in fields.initial]
    held = contains(reach, start)
    require(held, "the initial state lies outside the reach", "/reach_lower")  # 2
    lengths = unit_lengths(norm, fields.dimension)
    gaps = (
        length * min(low - outer_low, outer_high - high)
        for length, (outer_low, outer_high), (low, high) in zip(lengths, tube, reach, strict=True)
    )
    place = "/margin"
    require(claim.margin >= 0, "a margin is not negative", place)  # 2
    require(claim.margin <= min(gaps), "the margin exceeds the room about the reach", place)  # 2
    place = "/step_limit"
    require(claim.step_limit > 0, "a step limit is positive", place)  # 6
    short = _bits(claim.step_limit) <= MAX_BITS
    require(short, "a step limit is written with too many digits", place)  # 6
    return tube


def _check_cells(fields: Fields, tube: BoxPart) -> None:
    place = "/tube/cells"
    fitting = len(tube.cells) == fields.dimension + 1 and min(tube.cells, default=0) >= 1
    require(fitting, "time and every coordinate are cut into at least one cell", place)
    affordable = max(tube.cells) <= MAX_CELLS and math.prod(tube.cells) <= MAX_CELLS
    affordable = affordable and fields.work(tube.cells) <= MAX_WORK
    require(affordable, "the box is cut into too many cells to check", place)


def _sides(
    lower: Sequence[Fraction], upper: Sequence[Fraction], dimension: int, pointer: str
) -> list[Interval]:
    fits = len(lower) == len(upper) == dimension
    require(fits, "a box has one lower and one upper end a coordinate", pointer)
    sides = list(zip(lower, upper, strict=True))
    short = all(_bits(end) <= MAX_BITS for side in sides for end in side)
    require(short, "an end of a box is written with too many digits", pointer)
    require(all(low <= high for low, high in sides), "a side of a box is empty", pointer)
    return sides


def _bits(value: Fraction) -> int:
    return value.numerator.bit_length() + value.denominator.bit_length()


def _check_reach(fields: Fields, norm: Norm, claim: FieldConstantsClaim) -> Fraction | None:
    """The largest Euler step for which the reach was shown; ``None``: every step."""
    reach = list(zip(claim.reach_lower, claim.reach_upper, strict=True))
    slices = claim.tube.cells[0]
    if _ball(fields, norm, claim, claim.state_lipschitz) is not None:
        return None
    found = reached(fields, slices, reach)
    if found is not None and contains(reach, found):
        return None
    if _ball(fields, norm, claim, claim.growth_rate) is not None:
        return claim.step_limit
    walls = walls_of(fields, reach, claim.step_limit)
    found = reached(fields, slices, reach, walls)
    held = found is not None and contains(reach, found)
    require(held, "a trajectory can leave the reach", "/reach_lower")  # 3
    return claim.step_limit


def _ball(
    fields: Fields, norm: Norm, claim: FieldConstantsClaim, rate: Fraction
) -> Fraction | None:
    """How far states get from the initial one at this growth rate, if that is within the reach.

    While a trajectory is in the tube it is closer to ``z_0`` than that, so it never leaves.
    """
    factor = growth_factor(rate, fields.horizon)
    if factor is None:
        return None
    radius = fields.start_bound(norm) * factor
    room = (
        length * min(start - low, high - start)
        for length, start, low, high in zip(
            unit_lengths(norm, fields.dimension),
            fields.initial,
            claim.reach_lower,
            claim.reach_upper,
            strict=True,
        )
    )
    return radius if radius <= min(room) else None


def _check_bound(
    fields: Fields, norm: Norm, tube: Sequence[Interval], claim: FieldConstantsClaim
) -> Fraction | None:
    """The largest Euler step for which B was shown; ``None``: every step."""
    if fields.bound(norm, tube, claim.tube.cells) <= claim.field_bound:
        return None
    start, lipschitz = fields.start_bound(norm), claim.state_lipschitz
    for rate, step in ((lipschitz, None), (claim.growth_rate, claim.step_limit)):
        radius = _ball(fields, norm, claim, rate)
        if radius is not None and start + lipschitz * (radius + claim.margin) <= claim.field_bound:
            return step
    raise Rejected("an atom exceeds the field bound", pointer="/field_bound")  # 4


def _check_slopes(
    fields: Fields, norm: Norm, tube: Sequence[Interval], claim: FieldConstantsClaim
) -> None:
    cells, step = claim.tube.cells, claim.step_limit
    within = 1 + step * claim.growth_rate
    for rows in fields.jacobians(tube, cells):
        place = "/state_lipschitz"
        small = operator_at_most(norm, rows, claim.state_lipschitz)
        require(small, "a Jacobian exceeds the Lipschitz constant", place)  # 5
        # ||I + h J|| <= 1 + h ||J|| in any case.
        plain = claim.growth_rate >= claim.state_lipschitz
        grown = plain or step_at_most(norm, rows, step, within)
        require(grown, "a step grows faster than the growth rate", "/growth_rate")  # 6
    place = "/difference_lipschitz"
    constant = claim.difference_lipschitz
    require(constant >= 0, "a Lipschitz constant is not negative", place)  # 5
    for rows in fields.jacobian_differences(tube, cells):
        small = operator_at_most(norm, rows, constant)
        require(small, "a difference of Jacobians exceeds its constant", place)  # 5


def _check_differences(
    fields: Fields, norm: Norm, tube: Sequence[Interval], claim: FieldConstantsClaim
) -> None:
    cells = claim.tube.cells
    found = fields.difference_bound(norm, tube, cells)
    place = "/difference_bound"
    require(found <= claim.difference_bound, "two atoms differ by more", place)  # 4
    found = fields.variation(norm, tube, cells)
    place = "/time_variation"
    require(found <= claim.time_variation, "the atoms vary more in time", place)  # 7
    found = fields.difference_variation(norm, tube, cells)
    place = "/difference_variation"
    require(found <= claim.difference_variation, "differences vary more in time", place)  # 7
