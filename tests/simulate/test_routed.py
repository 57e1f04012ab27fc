"""Routed runs: the compiled twin bit for bit, ties, exact runs, and what is refused (theory T6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_routed import Maker

from qreplace.errors import InputError
from qreplace.simulate.draws import draw
from qreplace.simulate.routed import (
    MAX_WORK,
    field,
    fine_path,
    noise_rows,
    plain,
    require_size,
    route,
    run_plain,
    top,
)
from qreplace.simulate.routed_model import Affine, Routed, binary64, members, mixed

F = Fraction


def affine(rows: int, columns: int, entries: Sequence[Any]) -> Affine[Any]:
    """From a flat list: matrix, offset, drift."""
    cut = rows * columns
    matrix = tuple(tuple(entries[i * columns : (i + 1) * columns]) for i in range(rows))
    return Affine(matrix, tuple(entries[cut : cut + rows]), tuple(entries[cut + rows :]))


@st.composite
def systems(draw: st.DrawFn, numbers: st.SearchStrategy[Any]) -> Routed[Any]:
    """Any system, with numbers so small and whole that scores tie often."""
    q, experts, atoms = (draw(st.integers(1, most)) for most in (3, 4, 2))

    def one(rows: int) -> Affine[Any]:
        size = rows * q + 2 * rows
        return affine(rows, q, draw(st.lists(numbers, min_size=size, max_size=size)))

    return Routed(
        tuple(tuple(one(q) for _ in range(experts)) for _ in range(atoms)),
        one(experts),
        one(experts),
        tuple(abs(draw(numbers)) + 1 for _ in range(experts)),
        draw(st.integers(1, experts)),
        tuple(draw(st.lists(numbers, min_size=q, max_size=q))),
        abs(draw(numbers)) + 1,
    )


small = st.integers(-3, 3)
whole = small.map(F)
binary = st.one_of(small.map(float), st.floats(-4, 4, width=32), st.just(-0.0))


def runs_agree(one: Any, other: Any) -> None:
    for name in ("target_supports", "supports", "mismatches"):
        assert list(getattr(one, name)) == list(getattr(other, name))
    for name in ("oracle", "states"):
        bits = np.array(getattr(one, name), dtype=np.float64).tobytes()
        assert bits == getattr(other, name).tobytes()
    assert (one.oracle_error, one.state_error) == (other.oracle_error, other.state_error)


@settings(max_examples=60)
@given(st.data())
def test_the_compiled_twin_is_the_reference_bit_for_bit(data: st.DataObject) -> None:
    system = data.draw(systems(binary))
    depth = data.draw(st.integers(1, 9))
    picks = st.integers(0, len(system.atoms) - 1)
    schedule = data.draw(st.lists(picks, min_size=depth, max_size=depth))
    q, experts = system.dimension, system.experts
    rows = st.lists(binary, min_size=q, max_size=q)
    target = [list(system.initial), *data.draw(st.lists(rows, min_size=depth, max_size=depth))]
    own = st.lists(binary, min_size=experts, max_size=experts)
    errors = data.draw(st.none() | st.lists(own, min_size=depth, max_size=depth))
    twin = route(system, schedule, np.array(target), errors)
    runs_agree(plain(system, schedule, target, errors), twin)


def test_the_twin_agrees_on_long_runs_of_random_systems() -> None:
    maker = Maker(11, binary=True)
    rng = np.random.default_rng(11)
    seen = 0
    while seen < 25:
        case = maker.case()
        if case is None:
            continue
        seen += 1
        schedule = rng.integers(0, len(case.system.atoms), 150).tolist()
        target = [list(place) for place in case.path(150)]
        target[0] = list(case.system.initial)
        errors = (0.1 * rng.normal(size=(150, case.system.experts))).tolist()
        found = route(case.system, schedule, np.array(target), np.array(errors))
        runs_agree(plain(case.system, schedule, target, errors), found)


@settings(max_examples=50)
@given(st.data())
def test_a_run_in_whole_numbers_is_the_same_exactly(data: st.DataObject) -> None:
    """Horizon = depth, so that every state is a whole number while binary64 holds it."""
    system = data.draw(systems(whole))
    depth = data.draw(st.integers(1, 4))
    gates = (F(1),) * system.experts
    system = replace(system, horizon=F(depth), top_k=1, gates=gates)
    schedule = [k % len(system.atoms) for k in range(depth)]
    target = [system.initial] * (depth + 1)
    exact = plain(system, schedule, target)
    found = route(binary64(system), schedule, [list(map(float, row)) for row in target])
    assert [[F(x) for x in row] for row in found.states.tolist()] == exact.states
    assert found.supports.tolist() == exact.supports
    assert F(found.state_error) == exact.state_error


@given(st.lists(small, min_size=1, max_size=6), st.data())
def test_ties_go_to_the_lowest_index(scores: list[int], data: st.DataObject) -> None:
    count = data.draw(st.integers(1, len(scores)))
    ranked = sorted(range(len(scores)), key=lambda e: (-scores[e], e))
    assert members(top([F(s) for s in scores], count)) == sorted(ranked[:count])


@settings(max_examples=40)
@given(systems(whole), st.data())
def test_the_field_is_the_gated_mean(system: Routed[Fraction], data: st.DataObject) -> None:
    chosen = data.draw(st.sets(st.integers(0, system.experts - 1), min_size=1))
    support = sum(1 << e for e in chosen)
    time, state = F(2), system.initial
    total = sum((system.gates[e] for e in chosen), F(0))
    for i, found in enumerate(field(system, 0, support, time, state)):
        wanted = F(0)
        for e in chosen:
            own = system.atoms[0][e]
            value = own.offset[i] + own.drift[i] * time
            value += sum((a * z for a, z in zip(own.matrix[i], state, strict=True)), F(0))
            wanted += system.gates[e] / total * value
        assert found == wanted


def test_the_fine_path_comes_near_the_exact_target() -> None:
    """Also through the events: the error of an Euler path falls with its steps."""
    maker, seen, errors = Maker(3, binary=True), 0, {200: 0.0, 3200: 0.0}
    while seen < 15:
        case = maker.case()
        if case is None:
            continue
        seen += 1
        relaxed = mixed(case.system, case.weights)
        for steps in errors:
            states, _ = fine_path(relaxed, steps)
            errors[steps] += float(np.abs(states - np.array(case.path(steps))).max())
    assert errors[3200] < errors[200] / 8
    assert errors[200] < 15 / 20


def test_the_oracle_runs_on_the_targets_route() -> None:
    case = next(c for c in iter(Maker(5).case, 0) if c is not None)
    target = case.path(16)
    found = plain(case.system, [0] * 16, target)
    states, _ = run_plain(case.system, [0] * 16, None, found.target_supports)
    assert found.oracle == states
    assert set(found.target_supports) <= set(case.supports)


def test_noise_is_the_counter_based_draw() -> None:
    found = noise_rows(5, 3, 0.25, 7)
    for k in range(5):
        for e in range(3):
            upper = draw(7, k, e) >> 11
            assert found[k, e] == 0.25 * (upper / 2**52 - 1)
    assert np.abs(found).max() <= 0.25
    assert not np.array_equal(found, noise_rows(5, 3, 0.25, 8))
    assert np.array_equal(found[:3], noise_rows(3, 3, 0.25, 7))


ONE = Affine(((F(0),),), (F(1),), (F(0),))
PAIR = Affine(((F(0),), (F(0),)), (F(0), F(1)), (F(0), F(0)))
SYSTEM = Routed(((ONE, ONE),), PAIR, PAIR, (F(1), F(1)), 1, (F(0),), F(1))


@pytest.mark.parametrize(("changes", "words"), [
    ({"initial": ()}, "1 to"),
    ({"gates": (F(1),)}, "atom 0 has 2 experts"),
    ({"gates": (F(1),) * 63}, "1 to 62"),
    ({"top_k": 3}, "top_k is 3"),
    ({"top_k": 0}, "top_k is 0"),
    ({"horizon": F(0)}, "horizon is positive"),
    ({"gates": (F(1), F(0))}, "positive"),
    ({"atoms": ()}, "at least one atom"),
    ({"scores": ONE}, "score function has 1 rows"),
    ({"implemented": ONE}, "implemented score function has 1 rows"),
    ({"atoms": ((ONE, PAIR),)}, "expert 1 of atom 0 has 2 rows"),
    ({"initial": (F(0), F(0))}, "expert 0 of atom 0 has 1 rows"),
    ({"scores": Affine(((F(0), F(0)),) * 2, PAIR.offset, PAIR.drift)}, "needs 1 columns"),
])  # fmt: skip
def test_systems_that_do_not_fit_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        replace(SYSTEM, **changes)


@pytest.mark.parametrize(("schedule", "target", "errors", "words"), [
    ([1], [[0], [0]], None, "runs atom 1"),
    ([], [[0]], None, "the depth is 0"),
    ([0], [[0]], None, "needs 2 states"),
    ([0], [[0, 0], [0, 0]], None, "needs 2 states"),
    ([0], [[1], [0]], None, "starts elsewhere"),
    ([0], [[0], [0]], [[0]], "1 rows of 2 numbers"),
])  # fmt: skip
def test_runs_that_do_not_fit_are_refused(
    schedule: list[int], target: list[list[int]], errors: Any, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        plain(SYSTEM, schedule, target, errors)
    with pytest.raises(InputError, match=words):
        route(binary64(SYSTEM), schedule, np.array(target), errors)


def test_runs_that_are_too_long_or_leave_binary64_are_refused() -> None:
    with pytest.raises(InputError, match="too long"):
        require_size(SYSTEM, MAX_WORK)
    wild = replace(SYSTEM, atoms=((replace(ONE, matrix=((F(10**200),),)),) * 2,), initial=(F(1),))
    with pytest.raises(InputError, match="not finite"):
        route(binary64(wild), [0, 0, 0], np.ones((4, 1)))
    huge = replace(SYSTEM, horizon=F(10**400))
    with pytest.raises(InputError, match="binary64 does not hold"):
        binary64(huge)


@pytest.mark.parametrize("weights", [(F(1), F(1)), (F(1, 2), F(1, 3)), (F(3, 2), F(-1, 2)), ()])
def test_weights_of_the_relaxed_system_are_a_point_of_the_simplex(weights: Any) -> None:
    two = replace(SYSTEM, atoms=SYSTEM.atoms * 2)
    with pytest.raises(InputError, match="sum to 1 exactly"):
        mixed(two, weights)
