"""``field_constants``: tubes by speeds, walls and growth, and attacks on every constant."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from dynamic_questions import Number, affine_question, forcing, polynomial_question
from lifted_questions import L1, L2, LINF, make_question, weighted_linf

from qreplace.claims import Claim
from qreplace.claims.field_constants import FieldConstantsClaim
from qreplace.claims.region import BoxPart
from qreplace.question.model import Question
from qreplace.question.subject import Subject

TINY = Fraction(1, 10**40)

QUESTIONS: dict[str, Question] = {
    # x' = u - x, u in {0, 1}: the unit interval has walls, and no box holds by speeds.
    "fields-switch": polynomial_question([["-z1"], ["1 - z1"]], [2], norm=LINF),
    # The same about another norm, horizon and start.
    "fields-switch-l1": polynomial_question([["-z1"], ["1 - z1"]], [2], norm=L1),
    "fields-switch-longer": polynomial_question([["-z1"], ["1 - z1"]], [2], norm=LINF, horizon=8),
    "fields-switch-started": polynomial_question([["-z1"], ["1 - z1"]], [2], [1], norm=LINF),
    # x' = +-1 in two weighted coordinates: states keep to |x_i| <= 1 by speed, at every depth.
    "fields-push": polynomial_question(
        [["1", "0"], ["-1", "0"]], [2, 0], norm=weighted_linf("1/2", 2)
    ),
    # One atom moves with time, the other with the state.
    "fields-moving": polynomial_question([["t"], ["1/4*z1"]], [1], norm=LINF),
    # Decay with a forcing that jumps at half time.
    "fields-jump": affine_question(
        [forcing((0, [[0, 0]]), ("1/2", [[1, 0]])), [0, 1]], [1, 1], norm=L2, rate=-1
    ),
    # A rotation: no box, but its growth bounds how far states get.
    "fields-turn": affine_question(
        [[0, 0], [0, 1]], [0, 0], [1, 0], norm=L2, state_matrix=[[0, 1], [-1, 0]]
    ),
    # One atom that turns back at half time: a single Euler step does not see that.
    "fields-slowing": polynomial_question([["1 - 2*t"]], [1], norm=LINF),
    "fields-lifted": make_question([1], [[0], [1]]),
}


def subject(name: str) -> Subject:
    """The subject of a question."""
    return Subject(QUESTIONS[name], {})


def numbers(values: Sequence[Number]) -> tuple[Fraction, ...]:
    """Exact numbers."""
    return tuple(Fraction(value) for value in values)


def box(lower: Sequence[Number], upper: Sequence[Number], cells: Sequence[int]) -> BoxPart:
    """A tube."""
    return BoxPart("box", numbers(lower), numbers(upper), tuple(cells))


def constants(
    name: str, tube: BoxPart, reach: tuple[Sequence[Number], Sequence[Number]], **others: Number
) -> FieldConstantsClaim:
    """A claim about a question; numbers that are left out are 0, the step limit is 1."""
    names = (
        "margin",
        "field_bound",
        "state_lipschitz",
        "growth_rate",
        "step_limit",
        "time_variation",
        "difference_bound",
        "difference_lipschitz",
        "difference_variation",
    )
    values: dict[str, Number] = {**dict.fromkeys(names, 0), "step_limit": 1, **others}
    return FieldConstantsClaim(
        format="qreplace/claim/field_constants/v1",
        subject=subject(name).problem_digest(0),
        code=0,
        tube=tube,
        reach_lower=numbers(reach[0]),
        reach_upper=numbers(reach[1]),
        **{key: Fraction(value) for key, value in values.items()},
    )


SWITCH = constants(
    "fields-switch",
    box(["-1/8"], ["9/8"], [1, 1]),
    ([0], [1]),
    margin="1/8",
    field_bound="9/8",
    state_lipschitz=1,
    growth_rate=-1,
    difference_bound=1,
)
# |u - x| is cut into halves of the tube: nothing is gained, and nothing lost.
CUT = dataclasses.replace(SWITCH, tube=box(["-1/8"], ["9/8"], [4, 2]))
PUSH = constants(
    "fields-push",
    box([-2, "-1/4"], [2, "1/4"], [1, 1, 1]),
    ([-1, 0], [1, 0]),
    margin="1/2",
    field_bound="1/2",
    difference_bound=1,
)
MOVING = constants(
    "fields-moving",
    box(["-1/4"], ["5/4"], [1, 1]),
    ([0], [1]),
    margin="1/4",
    field_bound=1,
    state_lipschitz="1/4",
    growth_rate="1/4",
    time_variation=1,
    difference_bound="17/16",
    difference_lipschitz="1/4",
    difference_variation=1,
)
JUMP = constants(
    "fields-jump",
    box(["-1/4", "-1/4"], ["5/4", "5/4"], [1, 1, 1]),
    ([0, 0], [1, 1]),
    margin="1/4",
    field_bound="9/5",  # 5/4 in both coordinates: below 1.7678
    state_lipschitz=1,
    growth_rate=-1,
    time_variation=1,
    difference_bound="17/12",  # sqrt 2 < 1.41666..
    difference_variation=1,
)
# ||G_j(z_0)|| <= 1 and e - 1 < 7/4; on the ball |G_j| <= 1 + (e - 1) + 1/4 < 3, in the box 3.6.
TURN = constants(
    "fields-turn",
    box([-1, -2], [3, 2], [1, 1, 1]),
    (["-3/4", "-7/4"], ["11/4", "7/4"]),
    margin="1/4",
    field_bound=3,
    state_lipschitz=1,
    growth_rate="5/12",  # |I + A| = sqrt 2 < 17/12
    difference_bound=1,
)
# With steps up to 1 states get no further than (e^(5/12) - 1) 12/5 < 5/4.
NEAR = dataclasses.replace(
    TURN,
    tube=box(["-1/2", "-3/2"], ["5/2", "3/2"], [1, 1, 1]),
    reach_lower=(Fraction(-1, 4), Fraction(-5, 4)),
    reach_upper=(Fraction(9, 4), Fraction(5, 4)),
    field_bound=Fraction(5, 2),
)
SLOWING = constants(
    "fields-slowing",
    box(["-5/4"], ["5/4"], [8, 1]),
    ([-1], [1]),
    margin="1/4",
    field_bound=1,
    time_variation=2,
)

ACCEPTED: list[tuple[str, str, Claim]] = [
    ("field_constants", "fields-switch--walls", SWITCH),
    ("field_constants", "fields-switch--cut", CUT),
    ("field_constants", "fields-push--speeds", PUSH),
    ("field_constants", "fields-moving--time", MOVING),
    ("field_constants", "fields-jump--jump", JUMP),
    ("field_constants", "fields-slowing--every-step", SLOWING),
    ("field_constants", "fields-turn--every-step", TURN),
    ("field_constants", "fields-turn--small-steps", NEAR),
]

MALFORMED_FROM: tuple[str, str] | None = ("fields-switch--walls", "field_bound")


def changed(claim: FieldConstantsClaim, **fields: Any) -> FieldConstantsClaim:
    """The claim with other fields."""
    return dataclasses.replace(claim, **fields)


def lowered(claim: FieldConstantsClaim, name: str) -> FieldConstantsClaim:
    """The claim with one number a little too small."""
    return dataclasses.replace(claim, **{name: getattr(claim, name) - TINY})


def tube(claim: FieldConstantsClaim, **fields: Any) -> FieldConstantsClaim:
    """The claim with another tube."""
    return dataclasses.replace(claim, tube=dataclasses.replace(claim.tube, **fields))


Rejection = tuple[str, str, Claim, str, str]


def _rejected() -> Iterator[Rejection]:
    def case(name: str, claim: Claim, pointer: str, words: str) -> Rejection:
        return "field_constants", name, claim, pointer, words

    yield from _rejected_boxes(case)
    yield from _rejected_reaches(case)
    yield from _rejected_numbers(case)


def _rejected_boxes(case: Any) -> Iterator[Rejection]:
    other = "the claim is about another question"  # 1
    for name in ("fields-switch-l1", "fields-switch-longer", "fields-switch-started"):
        yield case(f"{name}--other", SWITCH, "/subject", other)
    nowhere = "the question has no dictionary at this code"
    yield case("fields-switch--code", changed(SWITCH, code=-1), "/code", nowhere)
    lifted = changed(SWITCH, subject=subject("fields-lifted").problem_digest(0))
    words = "the question holds no atoms that depend on the state"
    yield case("fields-lifted--constants", lifted, "", words)

    words = "a box has one lower and one upper end a coordinate"  # 2
    yield case("fields-switch--flat", tube(SWITCH, lower=()), "/tube", words)
    yield case("fields-switch--no-reach", changed(SWITCH, reach_upper=()), "/reach_lower", words)
    short = changed(PUSH, reach_lower=(Fraction(0),))
    yield case("fields-push--short", short, "/reach_lower", words)
    empty = changed(SWITCH, reach_lower=(Fraction(1),), reach_upper=(Fraction(0),))
    yield case("fields-switch--empty", empty, "/reach_lower", "a side of a box is empty")
    long = (Fraction(1) + Fraction(1, 2**2000),)
    words = "an end of a box is written with too many digits"
    yield case("fields-switch--long-end", tube(SWITCH, upper=long), "/tube", words)
    words = "time and every coordinate are cut into at least one cell"
    yield case("fields-switch--no-cells", tube(SWITCH, cells=()), "/tube/cells", words)
    yield case("fields-switch--few-cells", tube(SWITCH, cells=(1,)), "/tube/cells", words)
    yield case("fields-switch--zero-cells", tube(SWITCH, cells=(1, 0)), "/tube/cells", words)
    words = "the box is cut into too many cells to check"
    for name, cells in (
        ("cells", (65_536, 1)),
        ("more-cells", (65_537, 1)),
        ("all-cells", (10**9, 10**9)),
    ):
        yield case(f"fields-switch--{name}", tube(SWITCH, cells=cells), "/tube/cells", words)
    away = changed(SWITCH, reach_lower=(TINY,))
    lost = "the initial state lies outside the reach"
    yield case("fields-switch--start-outside", away, "/reach_lower", lost)
    narrow = tube(SWITCH, upper=(Fraction(7, 8),))
    yield case("fields-switch--narrow", narrow, "/reach_lower", "the reach is not inside the tube")
    yield case(
        "fields-switch--margin-negative",
        changed(SWITCH, margin=-TINY),
        "/margin",
        "a margin is not negative",
    )
    words = "the margin exceeds the room about the reach"
    for name, claim in (("fields-switch", SWITCH), ("fields-push", PUSH)):
        wide = changed(claim, margin=claim.margin + TINY)
        yield case(f"{name}--margin", wide, "/margin", words)


def _rejected_reaches(case: Any) -> Iterator[Rejection]:
    words = "a trajectory can leave the reach"  # 3
    place = "/reach_lower"
    less = (1 - TINY,)
    yield case("fields-switch--reach", changed(SWITCH, reach_upper=less), place, words)
    # Without time for it nothing gets there; with the horizon it does.
    yield case(
        "fields-push--reach",
        changed(PUSH, reach_upper=(1 - TINY, Fraction(0))),
        place,
        words,
    )
    # Steps of size 2 jump over the walls: 1 + h m >= |1 - 2| holds for m = 0.
    jumping = changed(SWITCH, step_limit=Fraction(2), growth_rate=Fraction(0))
    yield case("fields-switch--jumping", jumping, place, words)
    # Relaxed states turn at 1/4; one step of size 1 goes on to 1.
    yield case(
        "fields-slowing--one-step", changed(SLOWING, reach_upper=(Fraction(1, 2),)), place, words
    )
    # The initial state lies outside.
    outside = changed(
        SWITCH,
        subject=subject("fields-switch-started").problem_digest(0),
        reach_upper=(Fraction(1, 2),),
    )
    lost = "the initial state lies outside the reach"
    yield case("fields-switch-started--outside", outside, place, lost)
    # (e^m - 1) / m with m = 5/12 is 1.2405..; the box goes no further than 1.24.
    near = changed(
        NEAR,
        reach_lower=(Fraction(-24, 100), Fraction(-124, 100)),
        reach_upper=(Fraction(224, 100), Fraction(124, 100)),
    )
    yield case("fields-turn--reach", near, place, words)


def _rejected_numbers(case: Any) -> Iterator[Rejection]:
    words = "an atom exceeds the field bound"  # 4
    for name, claim in (("switch", SWITCH), ("push", PUSH), ("moving", MOVING)):
        yield case(f"fields-{name}--bound", lowered(claim, "field_bound"), "/field_bound", words)
    # Below the ball's own bound as well: 1 + 1.2406.. + 1/4 with small steps.
    small = changed(TURN, field_bound=Fraction(249, 100))
    yield case("fields-turn--bound", small, "/field_bound", words)
    words = "two atoms differ by more"
    place = "/difference_bound"
    for name, claim in (("switch", SWITCH), ("push", PUSH), ("moving", MOVING)):
        yield case(f"fields-{name}--difference", lowered(claim, "difference_bound"), place, words)
    apart = changed(JUMP, difference_bound=Fraction(1414, 1000))
    yield case("fields-jump--difference", apart, place, words)

    words = "a Jacobian exceeds the Lipschitz constant"  # 5
    place = "/state_lipschitz"
    for name, claim in (("switch", SWITCH), ("moving", MOVING), ("jump", JUMP), ("turn", TURN)):
        yield case(f"fields-{name}--slope", lowered(claim, "state_lipschitz"), place, words)
    words = "a difference of Jacobians exceeds its constant"
    place = "/difference_lipschitz"
    yield case("fields-moving--slopes", lowered(MOVING, "difference_lipschitz"), place, words)
    minus = lowered(JUMP, "difference_lipschitz")
    yield case("fields-jump--slopes", minus, place, "a Lipschitz constant is not negative")

    words = "a step grows faster than the growth rate"  # 6
    place = "/growth_rate"
    for name, claim in (("switch", SWITCH), ("moving", MOVING), ("jump", JUMP)):
        yield case(f"fields-{name}--growth", lowered(claim, "growth_rate"), place, words)
    # |I + h A| = sqrt(1 + h^2): a rate shown at h = 1 does not serve h = 2.
    wide = changed(TURN, step_limit=Fraction(2))
    yield case("fields-turn--growth-of-larger-steps", wide, place, words)
    place = "/step_limit"
    still = changed(SWITCH, step_limit=Fraction(0))
    yield case("fields-switch--no-step", still, place, "a step limit is positive")
    long = changed(SWITCH, step_limit=1 - Fraction(1, 2**2000))
    words = "a step limit is written with too many digits"
    yield case("fields-switch--long-step", long, place, words)

    words = "the atoms vary more in time"  # 7
    for name, claim in (("moving", MOVING), ("jump", JUMP)):
        claim = lowered(claim, "time_variation")
        yield case(f"fields-{name}--variation", claim, "/time_variation", words)
    words = "differences vary more in time"
    for name, claim in (("moving", MOVING), ("jump", JUMP)):
        claim = lowered(claim, "difference_variation")
        yield case(f"fields-{name}--variations", claim, "/difference_variation", words)


REJECTED: list[Rejection] = list(_rejected())
