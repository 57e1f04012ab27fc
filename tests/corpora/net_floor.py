"""``net_floor``: floors that a functional of one or two inputs shows by hand, and attacks."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from dynamic_questions import Number, affine_question
from lifted_questions import L1, L2, LINF, block_l2, weighted_l1, weighted_linf
from piecewise_questions import atom, box, pwa_question, reference

from qreplace.claims import Claim
from qreplace.claims.net_floor import NetFloorClaim, NetFunctional, NetLower, NetUpper
from qreplace.question.model import NetworkTarget, Norm, Question
from qreplace.question.subject import Subject

ROTATED = [["0", "-1/2"], ["1/2", "0"]]


def _network(*layers: Any) -> NetworkTarget:
    return NetworkTarget("network", tuple(layers))


def _pair(norm: Norm) -> Question:
    """Both atoms move (z1, z2) alike in ``z1 - z2``; the target does not."""
    atoms = [atom([[1], [1]]), atom([[-1], [-1]])]
    aim = _network(atom([[1], [-1]]))
    return pwa_question(
        atoms, aim, dimension=2, inputs=1, region=None, witnesses=[[1]], full=False, norm=norm
    )


def _split(**fields: Any) -> Question:
    """theory T7.7: everything reachable is ``c y``, the target is ``3/4 S_{1/2}(y)``."""
    atoms = [atom([[s]], thresholds=[level], leak="1/2") for level in (0, 1) for s in (1, -1)]
    aim = _network(atom([[1]], thresholds=["1/2"], output=[["3/4"]]))
    asked: dict[str, Any] = {"region": box([-1], [1]), "norm": LINF, **fields}
    return pwa_question(atoms, aim, dimension=1, inputs=1, **asked)


BEND = [atom([[1]], [["1/8"]]), atom([[-1]], [["1/4"]], thresholds=["1/2"])]

QUESTIONS: dict[str, Question] = {
    "net-split": _split(),
    "net-split-longer": _split(horizon=2),
    "net-split-seen": _split(witnesses=[["1/2"], [1]]),
    "net-split-witnesses": _split(witnesses=[["1/2"], [1]], full=False),
    # z' <= 1 + z/8 - z at y = 1, so z <= 0.667; the target is 2 there.
    "net-bend": pwa_question(
        BEND,
        _network(atom([[2]])),
        dimension=1,
        inputs=1,
        region=None,
        witnesses=[["1/2"], [1]],
        full=False,
        norm=LINF,
    ),
    # A residual ReLU network without a leak: states grow.
    "net-relu": pwa_question(
        [
            atom([[1]], [["1/2"]], activation="relu", leak=0),
            atom([[1]], [["-1/2"]], activation="relu", leak=0, bias=["1/4"], output=[["-1"]]),
        ],
        _network(atom([["1"]], activation="identity", offset=[4])),
        dimension=1,
        inputs=1,
        region=box([0], [1]),
        norm=L2,
        initial=["1/4"],
    ),
    # Rotations and a soft threshold on the unit disk.
    "net-disk": pwa_question(
        [
            atom([["1/2", 0], [0, "1/2"]], [["1/10", 0], [0, "-1/10"]], thresholds=["1/4"]),
            atom(ROTATED, [[0, "1/10"], ["-1/10", 0]]),
        ],
        reference([atom([[-1, 0], [0, -1]])], [0, 0, 0]),
        dimension=2,
    ),
    "net-linf": _pair(LINF),
    "net-l1": _pair(L1),
    "net-weighted-linf": _pair(weighted_linf(1, 2)),
    "net-weighted-l1": _pair(weighted_l1(1, 2)),
    "net-tokens": _pair(block_l2(1)),
    "net-one": pwa_question(
        [atom([[1]], [["1/2"]])],
        _network(atom([[2]])),
        dimension=1,
        inputs=1,
        region=None,
        witnesses=[[1]],
        full=False,
    ),
    "net-fast": pwa_question(
        [atom([[1]], leak=1000)],
        _network(atom([[2]])),
        dimension=1,
        inputs=1,
        region=None,
        witnesses=[[1]],
        full=False,
    ),
    "net-steep": pwa_question(
        [atom([[1]], [[100]], leak=0)],
        _network(atom([[2]])),
        dimension=1,
        inputs=1,
        region=None,
        witnesses=[[1]],
        full=False,
    ),
    "net-elsewhere": affine_question([[1], [0]], [2], rate=-1),
}


def subject(name: str) -> Subject:
    """The subject of a question."""
    return Subject(QUESTIONS[name], {})


Entries = Sequence[tuple[int, Sequence[int]]]


def below(
    points: Sequence[Sequence[Number]],
    functionals: Sequence[Entries],
    distance: Number,
    *,
    steps: int = 1,
    tree: Sequence[int] = (0,),
) -> NetLower:
    """A lower side."""
    return NetLower(
        steps,
        tuple(tuple(Fraction(x) for x in point) for point in points),
        tuple(
            NetFunctional(tuple(i for i, _ in f), tuple(tuple(row) for _, row in f))
            for f in functionals
        ),
        Fraction(distance),
        tuple(tree),
    )


def above(
    weights: Sequence[Sequence[Number]],
    distance: Number,
    *,
    repeats: int = 1,
    cells: Sequence[int] = (),
) -> NetUpper:
    """An upper side."""
    rows = tuple(tuple(Fraction(x) for x in row) for row in weights)
    return NetUpper(rows, repeats, tuple(cells), Fraction(distance))


def bracket(
    name: str,
    lower: Number,
    upper: Number | None,
    under: NetLower | None,
    over: NetUpper | None,
) -> NetFloorClaim:
    """A claim about one of these questions."""
    return NetFloorClaim(
        format="qreplace/claim/net_floor/v1",
        subject=subject(name).problem_digest(0),
        code=0,
        lower=Fraction(lower),
        upper=None if upper is None else Fraction(upper),
        below=under,
        above=over,
    )


# z(1) - 2 z(1/2) = 0 for every control; the target has 3/8 there, over the dual norm 3: 1/8.
SPLIT_BELOW = below([["1/2"], [1]], [[(0, [-2]), (1, [1])]], "124/1000")
# 8/25 of the first atom ends at 0.2518 y. Cells of width 1/4: 1/8 from a middle.
SPLIT_ABOVE = above([["8/25", 0, "17/25", 0]], "1/10", cells=[8])
SPLIT = bracket("net-split", "123/1000", "3/10", SPLIT_BELOW, SPLIT_ABOVE)
SPLIT_SEEN = bracket(
    "net-split-seen", 0, "127/1000", None, above([["8/25", 0, "17/25", 0]], "253/2000")
)
SPLIT_WITNESSES = bracket(
    "net-split-witnesses", "123/1000", "127/1000", SPLIT_BELOW, SPLIT_SEEN.above
)
# Two steps, the first one's controls halved: the same functional serves both halves.
BEND_BELOW = below([[1]], [[(0, [1])]], "4/3", steps=2, tree=[-1, 0, 0])
BEND_ABOVE = above([[1, 0]], "27/20", repeats=4)
BENT = bracket("net-bend", "5/4", "7/5", BEND_BELOW, BEND_ABOVE)
RELU = bracket(
    "net-relu",
    "16/5",
    "15/4",
    below([[0], [1]], [[(0, [1])], [(1, [1])]], "27/8", steps=4, tree=[-1, 0, -2, 1, 0]),
    above([[1, 0], [1, 0]], "18/5", repeats=8, cells=[16]),
)
DISK = bracket(
    "net-disk",
    "2/3",
    "5/4",
    below([[1, 0], [0, -1]], [[(0, [-1, 0])], [(0, [-2, 0]), (1, [0, 1])]], "7/10", steps=2,
          tree=[-1, 0, 1]),
    above([["1/2", "1/2"], ["1/3", "2/3"]], "19/20", repeats=2, cells=[6, 6]),
)  # fmt: skip
ONE = bracket(
    "net-one",
    "23/20",
    "13/10",
    below([[1]], [[(0, [1])]], "6/5", steps=8),
    above([[1]], "5/4", repeats=8),
)


LITTLE = Fraction(1, 10**12)


def pair(kind: str, lower: Number, upper: Number) -> NetFloorClaim:
    """The target (1, -1) from states (c, c), by ``z1 - z2``, which both atoms leave at 0."""
    below_it, above_it = Fraction(lower) - LITTLE, Fraction(upper) + LITTLE
    return bracket(
        f"net-{kind}",
        below_it - LITTLE,
        above_it + LITTLE,
        below([[1]], [[(0, [1, -1])]], below_it),
        above([["1/2", "1/2"]], above_it),
    )


# 2 over the dual norm of (1, -1); the even mixture ends at (0, 0).
PAIRS = {
    "linf": pair("linf", 1, 1),
    "l1": pair("l1", 2, 2),
    "weighted-linf": pair("weighted-linf", "4/3", 2),
    "weighted-l1": pair("weighted-l1", 2, 3),
    "tokens": pair("tokens", 1, 1),
}

ACCEPTED: list[tuple[str, str, Claim]] = [
    ("net_floor", "net-split--bracket", SPLIT),
    ("net_floor", "net-split-seen--control", SPLIT_SEEN),
    ("net_floor", "net-split-witnesses--bracket", SPLIT_WITNESSES),
    ("net_floor", "net-bend--bracket", BENT),
    ("net_floor", "net-bend--lower", dataclasses.replace(BENT, upper=None, above=None)),
    ("net_floor", "net-relu--bracket", RELU),
    ("net_floor", "net-disk--bracket", DISK),
    ("net_floor", "net-one--bracket", ONE),
    *(("net_floor", f"net-{kind}--bracket", claim) for kind, claim in PAIRS.items()),
]

MALFORMED_FROM: tuple[str, str] | None = ("net-split--bracket", "lower")

Rejection = tuple[str, str, Claim, str, str]


def _case(question: str, case: str, claim: Claim, pointer: str, words: str) -> Rejection:
    return "net_floor", f"{question}--{case}", claim, pointer, words


def _changed(claim: NetFloorClaim, **fields: Any) -> NetFloorClaim:
    """The claim with other fields; ``below__x`` and ``above__x`` are those of its sides."""
    own = {key: value for key, value in fields.items() if "__" not in key}
    for side in ("below", "above"):
        inner = {key[7:]: value for key, value in fields.items() if key.startswith(f"{side}__")}
        if inner:
            own[side] = dataclasses.replace(getattr(claim, side), **inner)
    return dataclasses.replace(claim, **own)


def _about() -> Iterator[Rejection]:
    other = "the claim is about another question"
    yield _case("net-split-longer", "other-question", SPLIT, "/subject", other)
    code = "the question has no dictionary at this code"
    yield _case("net-split", "code-negative", _changed(SPLIT, code=-1), "/code", code)
    words = "the claim is about piecewise-affine maps, the question is not"
    away = bracket("net-elsewhere", 0, None, SPLIT_BELOW, None)
    yield _case("net-elsewhere", "not-piecewise", away, "", words)
    large = "the leak or the growth rate over the horizon is too large to enclose"
    one = below([[1]], [[(0, [1])]], "1/10")
    yield _case("net-fast", "leak", bracket("net-fast", 0, None, one, None), "", large)
    steep = "the growth rate times the horizon exceeds 64"
    yield _case("net-steep", "growth", bracket("net-steep", 0, None, one, None), "", steep)


def _sides() -> Iterator[Rejection]:
    none = _changed(SPLIT, lower=Fraction(0), upper=None, below=None, above=None)
    words = "a bracket without a lower and an upper side proves nothing"
    yield _case("net-split", "no-sides", none, "", words)
    tree = _changed(SPLIT, below=None)
    yield _case("net-split", "lower-alone", tree, "/lower", "a lower end needs its tree")
    negative = _changed(SPLIT, below=None, lower=Fraction(-1))
    yield _case("net-split", "lower-negative", negative, "/lower", "a lower end needs its tree")
    alone = _changed(SPLIT, above=None)
    yield _case("net-split", "upper-alone", alone, "/upper", "an upper end needs its control")
    open_end = _changed(SPLIT, upper=None)
    yield _case("net-split", "upper-missing", open_end, "/upper", "a control needs its upper end")


def _points() -> Iterator[Rejection]:
    steps = "the number of steps is out of range"
    for case, count in (("steps-none", 0), ("steps-many", 4097)):
        claim = _changed(SPLIT, below__steps=count)
        yield _case("net-split", case, claim, "/below/steps", steps)
    place = "/below/points"
    none = _changed(SPLIT, below__points=())
    yield _case("net-split", "points-none", none, place, "the number of points is out of range")

    def at(*points: Sequence[Number]) -> NetFloorClaim:
        rows = tuple(tuple(Fraction(x) for x in point) for point in points)
        return _changed(SPLIT, below__points=rows)

    words = "a point has one coordinate an input"
    yield _case("net-split", "point-plane", at(["1/2"], [1, 0]), f"{place}/1", words)
    words = "a point lies outside the region of the inputs"
    beyond = at(["1/2"], [1 + Fraction(1, 10**30)])
    yield _case("net-split", "point-outside", beyond, f"{place}/1", words)
    words = "a point is not one of the witnesses"
    unseen = _changed(SPLIT_WITNESSES, below__points=((Fraction(1, 2),), (Fraction(2),)))
    yield _case("net-split-witnesses", "point-unseen", unseen, f"{place}/1", words)
    words = "a point has too many digits"
    long = at(["1/2"], [1 - Fraction(1, 10**700)])
    yield _case("net-split", "point-long", long, f"{place}/1", words)


def _functionals() -> Iterator[Rejection]:
    place = "/below/functionals/0"

    def given(entries: Entries) -> NetFloorClaim:
        side = below([["1/2"], [1]], [entries], "124/1000")
        return _changed(SPLIT, below=side)

    order = "a functional names points in order"
    for case, entries in (
        ("functional-back", [(1, [1]), (0, [-2])]),
        ("functional-twice", [(0, [-2]), (0, [1])]),
        ("functional-beyond", [(0, [-2]), (2, [1])]),
        ("functional-before", [(-1, [-2]), (1, [1])]),
        ("functional-empty", []),
    ):
        yield _case("net-split", case, given(entries), f"{place}/points", order)
    count = "a functional has one number a coordinate"
    wide = given([(0, [-2]), (1, [1, 0])])
    yield _case("net-split", "functional-wide", wide, f"{place}/values", count)
    few = NetFunctional((0, 1), ((-2,),))
    claim = _changed(SPLIT, below__functionals=(few,))
    yield _case("net-split", "functional-few", claim, f"{place}/values", count)
    long = given([(0, [-(2**64)]), (1, [2**63])])
    words = "a functional has too many digits"
    yield _case("net-split", "functional-long", long, f"{place}/values", words)


def _trees() -> Iterator[Rejection]:
    place = "/below/tree"
    cases: list[tuple[str, Sequence[int], str, str]] = [
        ("tree-no-functional", [-1, 0, 1], "", "a leaf names no functional"),
        ("tree-empty", [], "", "the tree ends before its last leaf"),
        ("tree-half", [-1, 0], "", "the tree ends before its last leaf"),
        ("tree-more", [0, 0], "/1", "the tree goes on after its last leaf"),
        ("tree-no-step", [-3, 0, 0], "/0", "a halving names no step"),
        ("tree-deep", [-1] * 41, "/40", "a cell of controls is halved too often"),
    ]
    for case, tree, end, words in cases:
        claim = _changed(BENT, below__tree=tuple(tree))
        yield _case("net-bend", case, claim, place + end, words)
    single = _changed(ONE, below__tree=(-1, 0, 0))
    words = "a single atom has no controls to halve"
    yield _case("net-one", "tree-single", single, f"{place}/0", words)
    heavy = _changed(DISK, below__steps=4096, below__tree=(1,) * 700)
    yield _case("net-disk", "tree-heavy", heavy, place, "the tree takes too long to check")
    apart = "a leaf is not separated from the target by the distance"
    # Above the floor itself, by little.
    false = _changed(SPLIT, below__distance=Fraction(1, 8) + Fraction(1, 10**12))
    yield _case("net-split", "tree-false", false, f"{place}/0", apart)
    towards = _changed(BENT, below__functionals=(NetFunctional((0,), ((-1,),)),))
    yield _case("net-bend", "tree-turned", towards, f"{place}/1", apart)
    nothing = _changed(BENT, below__functionals=(NetFunctional((0,), ((0,),)),))
    yield _case("net-bend", "tree-zero", nothing, f"{place}/1", apart)
    # Only one of the two halves is separated by so much.
    other = [NetFunctional((0,), ((1,),)), NetFunctional((0,), ((-1,),))]
    second = _changed(BENT, below__functionals=tuple(other), below__tree=(-1, 0, 1))
    yield _case("net-bend", "tree-second", second, f"{place}/2", apart)


def _lowers() -> Iterator[Rejection]:
    words = "the distance less the defect is below the lower end"
    more = _changed(BENT, lower=BEND_BELOW.distance)
    yield _case("net-bend", "lower-without-defect", more, "/lower", words)
    zero = _changed(BENT, below__distance=Fraction(0), lower=Fraction(1, 10**30))
    yield _case("net-bend", "lower-above-nothing", zero, "/lower", words)


def _controls() -> Iterator[Rejection]:
    place = "/above/weights"
    least = "a row takes at least one step"
    for case, repeats in (("repeats-none", 0), ("repeats-back", -1)):
        claim = _changed(SPLIT, above__repeats=repeats)
        yield _case("net-split", case, claim, "/above/repeats", least)
    steps = "the number of steps is out of range"
    none = _changed(SPLIT, above__weights=())
    yield _case("net-split", "weights-none", none, place, steps)
    many = _changed(SPLIT, above__repeats=4097)
    yield _case("net-split", "weights-many", many, place, steps)

    def row(*weights: Number) -> NetFloorClaim:
        return _changed(SPLIT, above__weights=(tuple(Fraction(x) for x in weights),))

    count = "a row has one weight an atom"
    yield _case("net-split", "weights-few", row("1/2", 0, "1/2"), f"{place}/0", count)
    minus = row("-1/2", 0, "3/2", 0)
    yield _case("net-split", "weights-negative", minus, f"{place}/0", "a weight is negative")
    sums = "the weights of a row do not sum to 1"
    short = row("8/25", 0, Fraction(17, 25) - Fraction(1, 10**40), 0)
    yield _case("net-split", "weights-less", short, f"{place}/0", sums)
    long = row(Fraction(1, 10**90), 0, 1 - Fraction(1, 10**90), 0)
    yield _case("net-split", "weights-long", long, f"{place}/0", "a weight has too many digits")


def _nets() -> Iterator[Rejection]:
    place = "/above/cells"
    bare = _changed(SPLIT, above__cells=())
    words = "a net without cells needs witnesses"
    yield _case("net-split", "net-unseen", bare, place, words)
    cells = _changed(SPLIT_WITNESSES, above__cells=(8,))
    words = "cells are those of a full domain's region"
    yield _case("net-split-witnesses", "net-cells", cells, place, words)
    words = "a net has a number of cells along each input"
    for case, counts in (("net-plane", (8, 8)), ("net-zero", (0,)), ("net-back", (-8,))):
        yield _case("net-split", case, _changed(SPLIT, above__cells=counts), place, words)
    large = _changed(SPLIT, above__cells=(65_537,))
    yield _case("net-split", "net-large", large, place, "the net has too many cells")
    heavy = _changed(DISK, above__cells=(50, 50), above__repeats=2048)
    yield _case("net-disk", "net-heavy", heavy, "/above", "the net takes too long to check")


def _uppers() -> Iterator[Rejection]:
    words = "the control ends farther from the target"
    for name, claim, distance in (
        ("net-split", SPLIT, "9/100"),
        ("net-bend", BENT, "133/100"),
        ("net-disk", DISK, "1/2"),
    ):
        nearer = _changed(claim, above__distance=Fraction(distance))
        yield _case(name, "distance-less", nearer, "/above/distance", words)
    words = "the distance with the defect and the covering exceeds the upper end"
    # The witnesses' error alone says nothing about the interval.
    uncovered = _changed(SPLIT, upper=Fraction(1, 5))
    yield _case("net-split", "upper-uncovered", uncovered, "/upper", words)
    exact = _changed(BENT, upper=BEND_ABOVE.distance)
    yield _case("net-bend", "upper-without-defect", exact, "/upper", words)


REJECTED: list[Rejection] = [
    *_about(),
    *_sides(),
    *_points(),
    *_functionals(),
    *_trees(),
    *_lowers(),
    *_controls(),
    *_nets(),
    *_uppers(),
]
