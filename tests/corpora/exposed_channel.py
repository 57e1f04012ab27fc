"""``exposed_channel``: fixed teachers, gaps inside the ends, channels off by a defect, attacks."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from dynamic_questions import Number, affine_question, forcing, polynomial_question
from lifted_questions import L1, LINF, make_question
from piecewise_questions import atom, box, pwa_question, reference

from corpora.observable import witness
from qreplace.claims import Claim
from qreplace.claims.exposed_channel import ExposedChannelClaim
from qreplace.claims.functional import Functional
from qreplace.claims.region import BoxPart
from qreplace.question.model import Question
from qreplace.question.subject import Subject

TINY = Fraction(1, 10**30)
QUARTER = Fraction(1, 4)

_LINES = [atom([[1]]), atom([[-1]])]

QUESTIONS: dict[str, Question] = {
    # z' = -z + q, q in {0, 1}: D steps end at most at 1 - (1 - 1/D)^D, the target is 2/3.
    "channel-teacher": affine_question([[0], [1]], ["2/3"], rate=-1, norm=LINF),
    "channel-teacher-longer": affine_question(
        [[0], [1]], ["2/3"], rate=-1, norm=LINF, horizon=2
    ),
    # lam T = 2: r = 1 - 2 / D is -1 at depth 1 and 0 at depth 2.
    "channel-fast": affine_question([[0], [1]], ["1/3"], ["1/2"], rate=-2, norm=LINF),
    # (1, 1) is a left eigenvector: (-1, 2; 1, 0) has column sums 0 and 2.
    "channel-mixed": affine_question(
        [[1, 0], [0, 0], ["1/2", "-1/2"]],
        [1, 1],
        [0, 1],
        state_matrix=[[-2, 1], [1, -2]],
        norm=L1,
    ),
    # Counts only: the mean of D labels 0 and 1 is off 1/2 at odd depths.
    "channel-counts": make_question(["1/2", 3], [[0, 3], [1, 3]], norm=LINF),
    # The second coordinate is driven by a product, the first one is a channel.
    "channel-product": polynomial_question(
        [["-z1", "z1*z2 + t"], ["1 - z1", "z1*z2^2"]], ["2/3", 0], norm=LINF
    ),
    # z1' = q - z1 up to z2 / 16 with z2 in [0, 1].
    "channel-leaky": polynomial_question(
        [["-z1 + z2/16", "1 - z2"], ["1 - z1 - z2/16", "1 - z2"]], [1, 0], norm=LINF
    ),
    # A label that jumps, and one that grows.
    "channel-jump": affine_question(
        [[0, 0], forcing((0, [[1, 1]]), ("1/2", [[2, 1], [0, 1]]))], [1, 1], rate=-1, norm=LINF
    ),
    "channel-stiff": affine_question([[0], [1]], [1], rate=-600, norm=LINF),
    # z' = -z + q at the witness 1, q in {1, -1}, target 1: short of it by (1 - 1/D)^D.
    "channel-lines": pwa_question(
        _LINES, reference(_LINES, [0]), dimension=1, inputs=1, region=box([-1], [1]), norm=LINF,
        witnesses=[[1]],
    ),
}  # fmt: skip


def subject(name: str) -> Subject:
    """The subject of a question."""
    return Subject(QUESTIONS[name], {})


def exposed(
    name: str,
    functional: Functional,
    labels: Sequence[Number],
    rate: Number,
    depths: tuple[int, int],
    lower: Number,
    *,
    searched: int = 0,
    defect: Number = 0,
    tube: BoxPart | None = None,
) -> ExposedChannelClaim:
    """An ``exposed_channel`` claim about one of these questions."""
    return ExposedChannelClaim(
        format="qreplace/claim/exposed_channel/v1",
        subject=subject(name).problem_digest(0),
        code=0,
        first=depths[0],
        last=depths[1],
        searched=searched,
        witness=functional,
        rate=Fraction(rate),
        labels=tuple(Fraction(label) for label in labels),
        mode_defect=Fraction(defect),
        tube=tube,
        lower=Fraction(lower),
    )


def changed(claim: Any, **fields: Any) -> Any:
    """The claim with other fields."""
    return dataclasses.replace(claim, **fields)


ONLY = witness(1, 1)
FIRST = witness(1, 1, 0)
# Ends at D = 3 are sums of 4/27, 6/27 and 9/27: the largest one, 19/27, is 1/27 above 2/3.
TEACHER = exposed("channel-teacher", ONLY, [0, 1], 1, (3, 3), Fraction(1, 27), searched=3)
# The next one, 15/27, is further away, so the closed form knows as much.
TEACHER_GAP = changed(TEACHER, searched=0, lower=Fraction(1, 27) - TINY)
# The largest end falls with the depth, to less than 2/3 from depth 6 on: by 73/46656 there.
TEACHER_DEEP = changed(TEACHER_GAP, first=6, last=40, lower=Fraction(73, 46656) - TINY)
FAST = exposed("channel-fast", ONLY, [0, 1], 2, (1, 1), Fraction(1, 6), searched=9)
# The only step of depth 1 turns 1/2 to -1/2 and adds 0 or 1.
FAST_CLOSED = changed(FAST, searched=0, lower=Fraction(1, 6) - TINY)
# z1 + z2 starts at 1, never exceeds it, and is 2 at the target.
MIXED = exposed("channel-mixed", witness(1, 1, 1), [1, 0, 0], 1, (1, 60), Fraction(1) - TINY)
COUNTS = exposed("channel-counts", FIRST, [0, 1], 0, (5, 5), Fraction(1, 10), searched=5)
PRODUCT = exposed("channel-product", FIRST, [0, 1], 1, (6, 40), Fraction(73, 46656) - TINY)
# At depths 2 to 8 z1 ends at most at 1 - (1 - 1/D)^D <= 3/4, and the defect adds at most 3/64.
LEAKY = exposed(
    "channel-leaky",
    FIRST,
    [0, 1],
    1,
    (2, 8),
    Fraction(1, 4) - Fraction(3, 64) - TINY,
    defect=Fraction(1, 16),
    tube=BoxPart("box", (Fraction(-2), Fraction(0)), (Fraction(2), Fraction(1)), (8, 1, 1)),
)
LINES = exposed("channel-lines", ONLY, [1, -1], 1, (2, 3), Fraction(1, 4), searched=3)

ACCEPTED: list[tuple[str, str, Claim]] = [
    ("exposed_channel", "channel-teacher--searched", TEACHER),
    ("exposed_channel", "channel-teacher--gap", TEACHER_GAP),
    ("exposed_channel", "channel-teacher--deep", TEACHER_DEEP),
    ("exposed_channel", "channel-fast--searched", FAST),
    ("exposed_channel", "channel-fast--closed", FAST_CLOSED),
    ("exposed_channel", "channel-mixed--eigenvector", MIXED),
    ("exposed_channel", "channel-counts--odd", COUNTS),
    ("exposed_channel", "channel-product--first-coordinate", PRODUCT),
    ("exposed_channel", "channel-leaky--defect", LEAKY),
    ("exposed_channel", "channel-lines--witness", LINES),
]

MALFORMED_FROM: tuple[str, str] | None = ("channel-teacher--gap", "lower")

Rejection = tuple[str, str, Claim, str, str]


def _rejected() -> Iterator[Rejection]:
    def case(name: str, claim: Claim, pointer: str, words: str) -> Rejection:
        return "exposed_channel", name, claim, pointer, words

    other = "the claim is about another question"  # 1
    yield case("channel-teacher-longer--other-horizon", TEACHER, "/subject", other)
    yield from _wrong_shapes(case)  # 2
    large = changed(COUNTS, witness=witness(1, 1, 1))  # 3
    place = "/witness/vector/numerators"
    yield case("channel-counts--dual-norm", large, place, "the dual norm of the witness exceeds 1")
    yield from _wrong_tubes(case)  # 4
    yield from _wrong_dynamics(case)  # 5
    for name, claim, depth in (  # 6
        ("channel-teacher--lower", TEACHER, 3),
        ("channel-teacher--lower-closed", TEACHER_GAP, 3),
        ("channel-teacher--lower-deep", TEACHER_DEEP, 6),
        ("channel-fast--lower", FAST, 1),
        ("channel-mixed--lower", MIXED, 1),
        ("channel-counts--lower", COUNTS, 5),
        ("channel-leaky--lower", LEAKY, 2),
        ("channel-lines--lower", LINES, 2),
    ):
        raised = changed(claim, lower=claim.lower + Fraction(1, 10**17))
        yield case(name, raised, "/lower", f"at depth {depth} the channel comes closer")
    words = "at depth 5 the channel comes closer"
    yield case("channel-teacher--shallower", changed(TEACHER_GAP, last=5), "/lower",
               "at depth 4 the channel comes closer")  # fmt: skip
    yield case("channel-teacher--too-shallow", changed(TEACHER_DEEP, first=5, last=6,
               lower=Fraction(53, 9375) + TINY), "/lower", words)  # fmt: skip
    even = changed(COUNTS, first=4, last=4, searched=4)
    yield case("channel-counts--even", even, "/lower", "at depth 4 the channel comes closer")


def _wrong_shapes(case: Any) -> Iterator[Rejection]:
    words = "the depths do not ascend from 1 within the limit"
    for name, first, last in (("zero", 0, 3), ("backwards", 4, 3), ("deep", 3, 2**20 + 1)):
        yield case(f"channel-teacher--{name}", changed(TEACHER, first=first, last=last), "/last",
                   words)  # fmt: skip
    many = changed(TEACHER, last=TEACHER.first + 4096)
    yield case("channel-teacher--many", many, "/last", "a claim is about at most 4096 depths")
    words = "one label an atom is needed"
    for name, labels in (("one", (0,)), ("three", (0, 1, 1)), ("none", ())):
        claim = changed(TEACHER, labels=tuple(map(Fraction, labels)))
        yield case(f"channel-teacher--{name}-labels", claim, "/labels", words)
    words = "the numbers of the channel have too many digits"
    fine = Fraction(1, 2**4200)
    for name, fields in (
        ("rate", {"rate": 1 - fine}),
        ("labels", {"labels": (Fraction(0), 1 / fine)}),
        ("mode_defect", {"mode_defect": fine}),
    ):
        yield case(f"channel-teacher--long-{name}", changed(TEACHER, **fields), f"/{name}", words)
    stiff = exposed("channel-stiff", ONLY, [0, 1], 600, (1, 1), 0)
    words = "the rate is too large over the horizon"
    yield case("channel-stiff--rate", stiff, "/rate", words)
    growing = changed(stiff, rate=Fraction(-600))
    yield case("channel-stiff--growth", growing, "/rate", words)
    negative = changed(LEAKY, mode_defect=-LEAKY.mode_defect)
    yield case("channel-leaky--negative", negative, "/mode_defect", "a defect is negative")
    words = "the search takes too long to check"
    deep = changed(TEACHER, last=4098, searched=4098)
    yield case("channel-teacher--search", deep, "/searched", words)
    wide = changed(TEACHER, first=40, last=40, searched=40)
    yield case("channel-teacher--wide-search", wide, "/searched", words)


def _wrong_tubes(case: Any) -> Iterator[Rejection]:
    words = "a defect needs a tube"
    defect = Fraction(1, 100)
    for name, claim in (("teacher", TEACHER), ("product", PRODUCT)):
        bare = changed(claim, mode_defect=defect)
        yield case(f"channel-{name}--bare-defect", bare, "/mode_defect", words)
    tube = LEAKY.tube
    claim = changed(TEACHER, tube=tube)
    yield case("channel-teacher--tube", claim, "/tube", "a tube belongs to polynomial systems")
    outside = changed(tube, lower=(Fraction(1), Fraction(0)))
    words = "the initial state lies outside the box"
    yield case("channel-leaky--outside", changed(LEAKY, tube=outside), "/tube", words)
    words = "a trajectory can leave the box"
    small = changed(tube, lower=(Fraction(0), Fraction(0)), upper=(Fraction(1, 2), Fraction(1)))
    yield case("channel-leaky--left", changed(LEAKY, tube=small), "/tube", words)
    flat = changed(tube, upper=(Fraction(2),))
    words = "a box has one side a coordinate"
    yield case("channel-leaky--flat", changed(LEAKY, tube=flat), "/tube", words)
    cells = changed(tube, cells=(1, 0, 1))
    words = "a number of cells is out of range"
    yield case("channel-leaky--cells", changed(LEAKY, tube=cells), "/tube/cells", words)
    much = changed(tube, cells=(65536, 1, 1))
    long = changed(LEAKY, tube=much, lower=Fraction(1, 7**4000))
    words = "the claim asks for more arithmetic than is done"
    yield case("channel-leaky--work", long, "", words)


def _wrong_dynamics(case: Any) -> Iterator[Rejection]:
    words = "the functional does not decay at the rate"
    rate = changed(TEACHER, rate=1 + TINY)
    yield case("channel-teacher--rate", rate, "/rate", words)
    growing = changed(TEACHER, rate=Fraction(-1))
    yield case("channel-teacher--sign", growing, "/rate", words)
    alone = changed(MIXED, witness=FIRST)
    yield case("channel-mixed--no-eigenvector", alone, "/rate", words)
    words = "an atom does not move the functional by its label and the rate"
    lower = changed(TEACHER, labels=(Fraction(0), 1 - TINY))
    yield case("channel-teacher--label", lower, "/labels/1", words)
    swapped = changed(TEACHER, labels=TEACHER.labels[::-1])
    yield case("channel-teacher--swapped", swapped, "/labels/0", words)
    for name, functional in (("jumps", FIRST), ("grows", witness(1, 0, 1))):
        jump = exposed("channel-jump", functional, [0, 1], 1, (2, 2), 0)
        yield case(f"channel-jump--{name}", jump, "/labels/1", words)
    second = changed(PRODUCT, witness=witness(1, 0, 1))
    yield case("channel-product--product", second, "/labels/0", words)
    rate = changed(PRODUCT, rate=Fraction(2))
    yield case("channel-product--rate", rate, "/labels/0", words)
    words = "an atom is off its label by more than the defect"
    less = changed(LEAKY, mode_defect=Fraction(1, 17))
    yield case("channel-leaky--defect", less, "/labels/0", words)
    label = changed(LEAKY, labels=(Fraction(0), 1 + TINY))
    yield case("channel-leaky--label", label, "/labels/1", words)


REJECTED: list[Rejection] = list(_rejected())
