"""Piecewise-affine problems formed from a question's arrays (theory T8.1)."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import pytest
from dynamic_questions import matrix
from lifted_questions import vector
from piecewise_questions import atom, box, matrix_question, pwa_question, reference

from qreplace.errors import InputError, Malformed
from qreplace.question import model as q
from qreplace.question.maps import PwaMap, homogeneous
from qreplace.question.subject import Subject

Vector = list[Fraction]


def formed(question: q.Question) -> Any:
    return Subject(question, {}).piecewise(0)


def soft(value: Fraction, level: Fraction) -> Fraction:
    return max(value - level, Fraction(0)) + min(value + level, Fraction(0))


def times(rows: Sequence[Sequence[Any]], x: Sequence[Fraction]) -> Vector:
    return [
        sum((Fraction(a) * b for a, b in zip(row, x, strict=True)), Fraction(0)) for row in rows
    ]


def plus(*parts: Sequence[Any]) -> Vector:
    return [sum(map(Fraction, column), Fraction(0)) for column in zip(*parts, strict=True)]


def some_points(count: int, inputs: int) -> list[Vector]:
    rng = random.Random(7)
    return [[Fraction(rng.randint(-9, 9), rng.randint(1, 6)) for _ in range(inputs)]
            for _ in range(count)]  # fmt: skip


def agree(pwa: PwaMap, by_hand: Callable[[Vector], Vector], inputs: int = 2) -> None:
    for y in some_points(25, inputs):
        assert list(pwa.value(homogeneous(y))) == by_hand(y)


def test_a_soft_threshold_residual_step_is_the_papers() -> None:
    """``z + h (S_lam(W y + S z) + A z - z)`` (theory T8.1)."""
    w, s, a = [[1, "1/2"], [-2, 0]], [["1/3", 0], [0, "-1/5"]], [["1/7", 0], ["1/9", 0]]
    one = atom(w, s, thresholds=["1/2", "1/3"], state_matrix=a)
    question = pwa_question([one], reference([one], [0, 0, 0]), dimension=2, initial=[1, "1/4"])

    def by_hand(y: Vector) -> Vector:
        z = [Fraction(1), Fraction(1, 4)]
        for _ in range(3):
            u = plus(times(w, y), times(s, z))
            phi = [soft(u[0], Fraction(1, 2)), soft(u[1], Fraction(1, 3))]
            field = plus(phi, times(a, z), [-x for x in z])
            z = plus(z, [x / 3 for x in field])
        return z

    problem = formed(question)
    agree(problem.target, by_hand)
    agree(problem.student([0, 0, 0]), by_hand)


def test_a_relu_residual_step_with_a_hidden_layer() -> None:
    w, s, b = [[1, 0], [0, 1], [1, 1]], [["1/2"], [-1], [0]], [0, "1/3", -1]
    v, c = [[1, -1, "1/4"]], ["1/6"]
    one = atom(w, s, activation="relu", bias=b, output=v, leak=0, offset=c)
    question = pwa_question([one], reference([one], [0, 0]), dimension=1, horizon="3/2")

    def by_hand(y: Vector) -> Vector:
        z = [Fraction(0)]
        for _ in range(2):
            hidden = [max(x, Fraction(0)) for x in plus(times(w, y), times(s, z), b)]
            z = plus(z, [Fraction(3, 4) * x for x in plus(times(v, hidden), c)])
        return z

    agree(formed(question).student([0, 0]), by_hand)


def test_a_plain_network_may_change_its_width() -> None:
    first = atom([[1, 2], [0, -1], ["1/2", 0]], activation="relu", bias=[0, 1, 0])
    second = atom([[0, 0]] * 2, [[1, 1, 0], [0, -1, 2]], activation="relu")
    third = atom([[0, 0]], [[1, "1/3"]], activation="identity", offset=["1/8"])
    network = q.NetworkTarget("network", (first, second, third))
    one = atom([[1, 0]], thresholds=[0])

    def by_hand(y: Vector) -> Vector:
        x = [max(v, Fraction(0)) for v in
             plus(times([[1, 2], [0, -1], ["1/2", 0]], y), [0, 1, 0])]  # fmt: skip
        x = [max(v, Fraction(0)) for v in times([[1, 1, 0], [0, -1, 2]], x)]
        return plus(times([[1, "1/3"]], x), ["1/8"])

    with pytest.raises(InputError, match="state weights of layer 0"):
        wide = dataclasses.replace(first, state_weights=matrix([[0] * 9] * 3))
        formed(pwa_question([one], q.NetworkTarget("network", (wide,)), dimension=1))
    agree(formed(pwa_question([one], network, dimension=1)).target, by_hand)


def test_a_layer_with_a_leak_keeps_its_state() -> None:
    """``z <- V phi + (A + I - leak I) z + c`` in steps of size 1."""
    layer = atom([[1, 0]], [["1/2"]], activation="relu", leak="1/4", state_matrix=[["1/8"]])
    network = q.NetworkTarget("network", (layer, layer))

    def by_hand(y: Vector) -> Vector:
        z = Fraction(1)
        for _ in range(2):
            z = max(y[0] + z / 2, Fraction(0)) + (Fraction(1, 8) + 1 - Fraction(1, 4)) * z
        return [z]

    question = pwa_question([atom([[1, 0]])], network, dimension=1, initial=[1])
    agree(formed(question).target, by_hand)


ONE = atom([[1, 0]])
WRONG: list[tuple[str, Callable[[], q.Question], str]] = [
    ("inputs", lambda: pwa_question([atom([[1, 0, 0]])], reference([ONE], [0]), dimension=1),
     "input weights of atom 0 of the dictionary"),
    ("state", lambda: pwa_question([atom([[1, 0]], [[1, 1]])], reference([ONE], [0]), dimension=1),
     "state weights"),
    ("outputs", lambda: pwa_question([ONE], reference([ONE], [0]), dimension=2), "needed 2"),
    ("target outputs", lambda: pwa_question(
        [ONE], q.NetworkTarget("network", (atom([[1, 0], [0, 1]]),)), dimension=1),
     "layer 0 of the target gives 2 outputs, needed 1"),
    ("threshold", lambda: pwa_question([atom([[1, 0]], thresholds=[-1])], reference([ONE], [0]),
     dimension=1), "negative"),
    ("thresholds", lambda: pwa_question([atom([[1, 0]], thresholds=[1, 2])],
     reference([ONE], [0]), dimension=1), "2 thresholds, needed 1 or 1"),
    ("empty box", lambda: pwa_question([ONE], reference([ONE], [0]), dimension=1,
     region=box([0, 1], [1, 1])), "lower < upper"),
    ("flat", lambda: pwa_question([ONE], reference([ONE], [0]), dimension=1,
     region=q.PolytopeRegion("polytope", matrix([[1, 0], [-1, 0], [0, 1], [0, -1]]),
                             vector([0, 0, 1, 1]))), "flat"),
    ("unbounded", lambda: pwa_question([ONE], reference([ONE], [0]), dimension=1,
     region=q.PolytopeRegion("polytope", matrix([[1, 0], [-1, 0], [0, 1]]),
                             vector([1, 1, 1]))), "unbounded"),
    ("empty", lambda: pwa_question([ONE], reference([ONE], [0]), dimension=1,
     region=q.PolytopeRegion("polytope", matrix([[1, 0], [-1, 0], [0, 1], [0, -1]]),
                             vector([-2, 1, 1, 1]))), "empty"),
    ("clockwise", lambda: pwa_question([ONE], reference([ONE], [0]), dimension=1,
     region=q.PolygonRegion("polygon", matrix([[0, 0], [0, 1], [1, 0]]))), "run clockwise"),
    ("not convex", lambda: pwa_question([ONE], reference([ONE], [0]), dimension=1,
     region=q.PolygonRegion("polygon", matrix([[0, 0], [2, 0], ["1/2", "1/2"], [0, 2]]))),
     "convex polygon"),
    ("witness width", lambda: pwa_question([ONE], reference([ONE], [0]), dimension=1,
     witnesses=[[1]]), "witness inputs"),
    ("width change", lambda: pwa_question([ONE], q.NetworkTarget("network", (
        atom([[1, 0], [0, 1]], leak=0), atom([[0, 0]], [[1, 1]]))), dimension=1),
     "changes the width"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "words"), [case[1:] for case in WRONG],
                         ids=[case[0] for case in WRONG])  # fmt: skip
def test_what_does_not_fit_is_named(make: Callable[[], q.Question], words: str) -> None:
    with pytest.raises(InputError, match=words):
        formed(make())


def test_contradictions_inside_the_question() -> None:
    with pytest.raises(Malformed, match="atoms that are not there"):
        reference([ONE], [1])
    with pytest.raises(Malformed, match="1 to 1024 steps"):
        reference([ONE], [])
    with pytest.raises(Malformed, match="thresholds belong"):
        dataclasses.replace(ONE, activation="relu")
    good = pwa_question([ONE], reference([ONE], [0]), dimension=1)
    with pytest.raises(Malformed, match="endpoints"):
        dataclasses.replace(good, scope="path")
    with pytest.raises(Malformed, match="piecewise-affine atoms"):
        other = q.VectorAtom("vector", vector([1]))
        dataclasses.replace(good, dictionary=dataclasses.replace(good.dictionary, atoms=(other,)))
    with pytest.raises(Malformed, match="needs a map"):
        dataclasses.replace(good, target=q.VectorTarget("vector", vector([1])))


def test_depth_128_of_the_matrix_instance_stays_exact_and_small() -> None:
    problem = formed(matrix_question())
    deep = problem.student([0, 1] * 64)
    point = homogeneous([Fraction(1, 3), Fraction(2, 7)])
    assert all(abs(x) < 2 for x in deep.value(point))
    assert deep.unit.bit_length() < 4000
