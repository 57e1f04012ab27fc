"""``schedule_minimum``: trees of refuted prefixes on small questions, and attacks on them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from dynamic_questions import Number
from lifted_questions import L1, LINF, Numbers, block_l2, make_question, weighted_linf
from piecewise_questions import UNIT_DISK, atom, box, pwa_question, reference

from qreplace.claims import Claim
from qreplace.claims.schedule_minimum import ScheduleMinimumClaim
from qreplace.question.model import NetworkTarget, Norm, Question
from qreplace.question.subject import Subject

TINY = Fraction(1, 10**40)

PLUS, MINUS = atom([[1]]), atom([[-1]])
TURN = atom([[0, -1], [1, 0]], [["1/10", 0], [0, "-1/10"]], thresholds=["1/4"])
STAY = atom([[1, 0], [0, 1]], [[0, "1/10"], ["-1/10", 0]], thresholds=["1/8"])


def disk_question(norm: Norm) -> Question:
    """Two atoms on the unit disk against eight steps of finer ones."""
    finer = [
        atom([["9/10", 0], [0, "9/10"]], thresholds=["1/10"]),
        atom([[0, -1], [1, 0]], thresholds=["3/10"]),
    ]
    target = reference(finer, (0, 1, 0, 0, 1, 0, 1, 0))
    return pwa_question([STAY, TURN], target, dimension=2, norm=norm, region=UNIT_DISK)


def relu_question() -> Question:
    """Three atoms of rectifiers with output weights, on an interval, against a plain network."""
    atoms = [
        atom(
            [[1], [-1]],
            [[sign, 0], [0, "1/2"]],
            activation="relu",
            bias=[0, "1/4"],
            output=[[1, shift], [0, 1]],
            leak=leak,
        )
        for sign, shift, leak in (("1/2", 1, 0), ("-1/2", 0, 1), (0, -1, "1/2"))
    ]
    layers = (
        atom([[1], [1], [2]], activation="relu", bias=[0, "1/2", "-1/2"], output=[[1, 1, -1]]),
        atom([[0], [1]], [[1], [-1]], activation="relu"),
    )
    layers = (dataclasses.replace(layers[0], leak=Fraction(1)), layers[1])
    return pwa_question(
        atoms,
        NetworkTarget("network", layers),
        dimension=2,
        inputs=1,
        region=box([-1], [1]),
        norm=L1,
    )


QUESTIONS: dict[str, Question] = {
    # z_D is a sum of signs over powers of 2; the target is 1/8 at the only witness 1.
    "schedules-line": pwa_question(
        [PLUS, MINUS],
        reference([atom([["1/8"]])], (0,)),
        dimension=1,
        inputs=1,
        region=None,
        witnesses=[[1]],
        full=False,
        norm=LINF,
    ),
    "schedules-disk": disk_question(block_l2(2)),
    "schedules-weighted": disk_question(weighted_linf(1, 2)),
    "schedules-relu": relu_question(),
    # States grow by 2^600 a step.
    "schedules-growing": pwa_question(
        [atom([[1]], state_matrix=[[2**600]], offset=[1])],
        reference([PLUS], (0,)),
        dimension=1,
        inputs=1,
        region=box([-1], [1]),
        norm=LINF,
    ),
    # Eight atoms.
    "schedules-many": pwa_question(
        [atom([[k, 1], [1, k]]) for k in range(8)],
        reference([STAY], (0,)),
        dimension=2,
        norm=LINF,
    ),
    "schedules-none": make_question([1], [[0], [2]]),
}


def subject(name: str) -> Subject:
    """The subject of a question."""
    return Subject(QUESTIONS[name], {})


def minimum(
    name: str,
    depth: int,
    lower: Number,
    points: Sequence[Numbers],
    tree: Sequence[int],
    **fields: Any,
) -> ScheduleMinimumClaim:
    """A claim about a question."""
    claim = ScheduleMinimumClaim(
        "qreplace/claim/schedule_minimum/v1",
        subject(name).problem_digest(0),
        0,
        depth,
        Fraction(lower),
        tuple(tuple(Fraction(value) for value in point) for point in points),
        tuple(tree),
    )
    return dataclasses.replace(claim, **fields)


ONE = minimum("schedules-line", 1, "7/8", [[1]], [-1, 0, 0])
# After a plus step the ends are 3/4 and -1/4, after a minus step 1/4 and -3/4.
TWO = minimum("schedules-line", 2, "1/8", [[1]], [-1, -1, 0, 0, -1, 0, 0])
LEAF = minimum("schedules-disk", 3, "11/200", [[0, -1]], [0])
DISK = minimum(
    "schedules-disk",
    2,
    "135/1000",
    [["-7/25", "-24/25"], ["3/10", "95/100"]],
    [-1, -1, 0, 0, -1, 1, 0],
)
WEIGHTED = minimum(
    "schedules-weighted",
    2,
    "3/20",
    [["-7/10", "7/10"], ["-77/100", "-63/100"]],
    [-1, -1, 0, 0, 1],
)
RELU = minimum("schedules-relu", 2, "35/32", [[-1]], [-1, 0, -1, 0, 0, 0, 0])

ACCEPTED: list[tuple[str, str, Claim]] = [
    ("schedule_minimum", "schedules-line--one-step", ONE),
    ("schedule_minimum", "schedules-line--two-steps", TWO),
    ("schedule_minimum", "schedules-disk--one-leaf", LEAF),
    ("schedule_minimum", "schedules-disk--two-inputs", DISK),
    ("schedule_minimum", "schedules-weighted--early-leaf", WEIGHTED),
    ("schedule_minimum", "schedules-relu--three-atoms", RELU),
]

MALFORMED_FROM: tuple[str, str] | None = ("schedules-line--two-steps", "lower")

Rejection = tuple[str, str, Claim, str, str]


def _changed(claim: ScheduleMinimumClaim, **fields: Any) -> ScheduleMinimumClaim:
    return dataclasses.replace(claim, **fields)


def _case(name: str, claim: Claim, pointer: str, words: str) -> Rejection:
    return "schedule_minimum", name, claim, pointer, words


def _about_another_problem() -> Iterator[Rejection]:  # 1
    other = "the claim is about another question"
    yield _case("schedules-weighted--other-norm", LEAF, "/subject", other)
    code = "the question has no dictionary at this code"
    yield _case("schedules-line--code", _changed(ONE, code=-1), "/code", code)
    plain = minimum("schedules-none", 1, "1/2", [[1]], [-1, 0, 0])
    words = "the claim is about piecewise-affine maps, the question is not"
    yield _case("schedules-none--no-maps", plain, "", words)
    for name, depth in (("no-steps", 0), ("negative-steps", -1), ("steps", 1025)):
        changed = _changed(ONE, depth=depth)
        yield _case(f"schedules-line--{name}", changed, "/depth", "a schedule has 1 to 1024 steps")


def _other_inputs() -> Iterator[Rejection]:  # 2
    words = "a point is not one of the witnesses"
    away = _changed(ONE, points=((Fraction(2),),))
    yield _case("schedules-line--no-witness", away, "/points/0", words)
    unused = _changed(ONE, points=((Fraction(1),), (Fraction(-1),)))
    yield _case("schedules-line--unused-input", unused, "/points/1", words)
    words = "a point lies outside the region of the inputs"
    for name, claim, point in (
        ("schedules-disk--outside", LEAF, ("0", "-100000001/100000000")),
        ("schedules-relu--outside", RELU, ("-2",)),
    ):
        outside = _changed(claim, points=(tuple(map(Fraction, point)),))
        yield _case(name, outside, "/points/0", words)
    short = _changed(LEAF, points=((Fraction(-1),),))
    words = "a point has one coordinate an input"
    yield _case("schedules-disk--short", short, "/points/0", words)
    digits = Fraction(1, 10**3999)
    long = _changed(LEAF, points=((digits, Fraction(1, 3**8000)),))
    words = "the coordinates of a point are too long"
    yield _case("schedules-disk--digits", long, "/points/0", words)


def _incomplete_trees() -> Iterator[Rejection]:  # 3
    def tree(name: str, entries: Sequence[int], place: int | None, words: str) -> Rejection:
        where = "/tree" if place is None else f"/tree/{place}"
        return _case(f"schedules-line--{name}", _changed(TWO, tree=tuple(entries)), where, words)

    # The schedule (1, 0), which comes closest, is left out in each of the first three.
    words = "the tree ends before every schedule is decided"
    yield tree("cut", [-1, -1, 0, 0, -1], None, words)
    yield tree("without-last", [-1, -1, 0, 0, -1, 0], None, words)
    yield tree("no-branch-for-last", [-1, -1, 0, 0], None, words)
    yield tree("empty", [], None, words)
    words = "the tree goes on after its last leaf"
    yield tree("longer", [*TWO.tree, 0], 7, words)
    yield tree("branch-after", [*TWO.tree, -1], 7, words)
    words = "a branch after the last step"
    yield tree("deeper", [-1, -1, -1, 0, 0, 0, -1, 0, 0], 2, words)
    words = "a leaf names no point"
    yield tree("no-point", [-1, -1, 0, 1, -1, 0, 0], 3, words)
    yield tree("negative-point", [-1, -1, 0, -2, -1, 0, 0], 3, words)
    bare = _changed(TWO, points=())
    yield _case("schedules-line--no-points", bare, "/tree/2", words)


def _too_much() -> Iterator[Rejection]:
    words = "the claim asks for more arithmetic than is done"
    tree = [-1] * 12 + [0] * 85
    deep = minimum("schedules-many", 1024, 0, [[0, 0]], tree)
    yield _case("schedules-many--work", deep, "/tree", words)
    growing = minimum("schedules-growing", 8, 1, [[1]], [0])
    words = "the states of a schedule exceed 2^3968"
    yield _case("schedules-growing--states", growing, "/tree/0", words)


def _too_near() -> Iterator[Rejection]:  # 4
    def case(name: str, claim: ScheduleMinimumClaim, place: int, **fields: Any) -> Rejection:
        words = "a continuation may come closer to the target"
        return _case(name, _changed(claim, **fields), f"/tree/{place}", words)

    yield case("schedules-line--above", ONE, 1, lower=ONE.lower + TINY)
    yield case("schedules-line--above-two", TWO, 5, lower=TWO.lower + TINY)
    yield case("schedules-relu--above", RELU, 4, lower=RELU.lower + TINY)
    yield case("schedules-disk--above", DISK, 5, lower=Fraction("136/1000"))
    # One leaf cannot stand for what its prefix branches into.
    yield case("schedules-line--root", TWO, 0, tree=(0,))
    yield case("schedules-line--merged", TWO, 1, tree=(-1, 0, -1, 0, 0))
    yield case("schedules-disk--other-leaves", DISK, 5, tree=(-1, -1, 0, 0, -1, 0, 0))
    yield case("schedules-weighted--swapped", WEIGHTED, 4, tree=(-1, -1, 0, 0, 0))
    # At the origin every map and the target meet.
    zero = (Fraction(0), Fraction(0))
    yield case("schedules-disk--origin", LEAF, 0, points=(zero,))
    # Other depths come closer.
    yield case("schedules-line--depth", TWO, 2, depth=3, tree=(-1, -1, 0, 0, -1, 0, 0))


REJECTED: list[Rejection] = [
    *_about_another_problem(),
    *_other_inputs(),
    *_incomplete_trees(),
    *_too_much(),
    *_too_near(),
]
