"""The common-lattice verifier: counts from the counter, bounds that hold and bounds that do not."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qreplace.errors import InputError
from qreplace.simulate.lattice import (
    CHECKS,
    REGISTERED_RATIOS,
    Bounds,
    Falsified,
    Tally,
    bounds_for,
    check_sequence,
    signed_width,
    trial_code,
    trial_shape,
    verify,
    verify_grid,
    verify_plain,
    verify_trials,
)
from qreplace.simulate.lattice_kernels import follow, trial_codes
from qreplace.simulate.model import Rounding
from qreplace.simulate.rounding import round_quotient

MODES: list[Rounding] = ["nearest_even", "nearest_away", "toward_zero", "floor"]


def test_the_registered_grid_has_the_published_number_of_sequences() -> None:
    """2,991,904 for each ratio, counted node by node, not computed."""
    report = verify(trials=0)
    assert {ratio: tally.sequences for ratio, tally in report.grids.items()} == dict.fromkeys(
        REGISTERED_RATIOS, 2_991_904
    )
    for tally in report.grids.values():
        assert tally.checks == dict.fromkeys(CHECKS, 2_991_904)
    assert report.grids[1].largest["residual"] == 0


def test_a_small_grid_counts_as_an_independent_enumeration_does() -> None:
    seen = 0
    for n in (1, 2, 3):
        for depth in (1, 2, 3):
            seen += sum(1 for _ in itertools.product(range(-n, n + 1), repeat=depth))
    assert seen == 593
    assert verify(max_code=3, max_depth=3, trials=0).sequences == seen


@pytest.mark.parametrize("rounding", MODES)
@pytest.mark.parametrize("ratio", [1, 2, 3, 4, 5, 8])
def test_the_tree_sees_what_single_runs_see(ratio: int, rounding: Rounding) -> None:
    """Same sequences, same extremes; the tree makes each check of a shared prefix once."""
    tree, plain = verify_grid(3, 3, ratio, rounding), verify_plain(3, 3, ratio, rounding)
    assert tree.sequences == plain.sequences
    assert tree.largest == plain.largest
    assert tree.checks == dict.fromkeys(CHECKS, tree.sequences)
    steps = sum(d * (2 * n + 1) ** d for n in (1, 2, 3) for d in (1, 2, 3))
    assert plain.checks == dict.fromkeys(CHECKS, steps) | {"terminal_recovery": plain.sequences}


def narrowed(**changes: int) -> object:
    def bounds(ratio: int, limit: int, rounding: Rounding) -> Bounds:
        true = bounds_for(ratio, limit, rounding)
        return replace(true, **{name: getattr(true, name) + by for name, by in changes.items()})

    return bounds


@pytest.mark.parametrize(("changes", "ratio", "words"), [
    ({"residual": -1}, 4, r"residual is 2 at step 2, the bound is 1; the sequence is \[-1, -1\]"),
    ({"pre_round": -1}, 4, r"pre_round is 3 at step 3, the bound is 2; .* \[-1, -1, -1\]"),
    ({"increment": -1}, 1, r"increment_register is 1 at step 1, the bound is 0; .* \[-1\]"),
    ({"code_limit": -1}, 1, r"state_register is 1 at step 1, the bound is 0; .* \[-1\]"),
])  # fmt: skip
def test_a_falsified_bound_prints_the_sequence(
    changes: dict[str, int], ratio: int, words: str
) -> None:
    with pytest.raises(Falsified, match=f"ratio {ratio}: {words}"):
        verify_grid(3, 3, ratio, "nearest_even", narrowed(**changes))  # type: ignore[arg-type]


@pytest.mark.parametrize("changes", [{"residual": -1}, {"pre_round": -1}, {"increment": -1},
                                     {"code_limit": -1}])  # fmt: skip
def test_single_runs_falsify_the_same(changes: dict[str, int]) -> None:
    codes, ratio = [2, 2, -1, 2], 1 if "increment" in changes or "code_limit" in changes else 4
    wrong = replace(bounds_for(ratio, 2), **{
        name: getattr(bounds_for(ratio, 2), name) + by for name, by in changes.items()
    })  # fmt: skip
    with pytest.raises(Falsified) as plain:
        check_sequence(codes, wrong, "nearest_even", Tally())
    import numpy as np

    with pytest.raises(Falsified) as compiled:
        follow(np.array(codes), wrong, "nearest_even", 0)
    assert str(plain.value) == str(compiled.value)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_compiled_and_plain_runs_agree_on_any_sequence(data: st.DataObject) -> None:
    import numpy as np

    limit = data.draw(st.integers(1, 50))
    codes = data.draw(st.lists(st.integers(-limit, limit), min_size=1, max_size=40))
    ratio, start = data.draw(st.integers(1, 20)), data.draw(st.integers(-9, 9))
    rounding = data.draw(st.sampled_from(MODES))
    plain = Tally()
    check_sequence(codes, bounds_for(ratio, limit, rounding), rounding, plain, start)
    compiled = follow(np.array(codes), bounds_for(ratio, limit, rounding), rounding, start)
    assert compiled == plain


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_stochastic_carries_stay_within_the_directed_bounds(data: st.DataObject) -> None:
    """Every branch of stochastic rounding is covered by m - 1 in place of floor(m / 2)."""
    ratio, limit = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 9))
    codes = data.draw(st.lists(st.integers(-limit, limit), min_size=1, max_size=12))
    draws = data.draw(st.lists(st.integers(0, 2**64 - 1), min_size=13, max_size=13))
    bounds = bounds_for(ratio, limit, "stochastic")
    check_sequence(codes, bounds, "stochastic", Tally(), 0, lambda step: draws[step])


@pytest.mark.parametrize("ratio", [2, 3, 4])
def test_every_branch_of_stochastic_rounding_on_a_small_grid(ratio: int) -> None:
    """All codes up to 2, three steps, both ways of every rounding."""
    up, down = 0, 2**64 - 1
    for codes in itertools.product(range(-2, 3), repeat=3):
        for ways in itertools.product((up, down), repeat=3):
            bounds = bounds_for(ratio, 2, "stochastic")
            check_sequence(codes, bounds, "stochastic", Tally(), 0, lambda k, w=ways: w[k - 1])


def test_nearest_bounds_are_attained() -> None:
    """On the registered grid the residual, pre-round and state bounds are all reached."""
    report = verify(trials=0)
    for ratio, tally in report.grids.items():
        limits = report.limits(ratio)
        assert {n: tally.largest[n] for n in ("residual", "pre_round", "state")} == {
            n: limits[n] for n in ("residual", "pre_round", "state")
        }


def test_trials_are_the_same_everywhere() -> None:
    """Seeded by a counter; the compiled codes are the reference's, and one trial is pinned."""
    shape = trial_shape(7, 3, REGISTERED_RATIOS)
    codes = trial_codes(7, 3, shape)
    for row in range(len(shape.starts)):
        for step in range(shape.depth):
            assert codes[row, step] == trial_code(7, 3, shape, row, step)
    assert verify_trials(50, 0, REGISTERED_RATIOS) == verify_trials(50, 0, REGISTERED_RATIOS)
    assert verify_trials(50, 0, (3,)).largest != verify_trials(50, 1, (3,)).largest
    pinned = trial_shape(0, 0, REGISTERED_RATIOS)
    assert (pinned.depth, pinned.limit, pinned.ratio, len(pinned.starts)) == PINNED


PINNED = (97, 575, 4, 2)


def test_the_five_hundred_trials() -> None:
    tally = verify_trials(500, 0, REGISTERED_RATIOS)
    assert tally.sequences == 500
    assert tally.checks["terminal_recovery"] > 500  # one for each coordinate
    assert all(count > 0 for count in tally.checks.values())


@pytest.mark.parametrize(("magnitude", "bits"), [(0, 1), (1, 2), (2, 3), (3, 3), (4, 4), (7, 4),
                                                 (8, 5), (127, 8), (128, 9)])  # fmt: skip
def test_sufficient_widths(magnitude: int, bits: int) -> None:
    assert signed_width(magnitude) == bits
    assert -(2 ** (bits - 1)) <= -magnitude <= magnitude <= 2 ** (bits - 1) - 1


@pytest.mark.parametrize(("arguments", "words"), [
    ({"max_code": 0}, "the grid is empty"),
    ({"max_depth": 0}, "the grid is empty"),
    ({"max_code": 64, "max_depth": 12}, "more than 1000000000"),
    ({"ratios": (0,)}, "needed a whole number from 1"),
    ({"ratios": (1.5,)}, "needed a whole number from 1"),
    ({"ratios": ()}, "at least one lattice ratio"),
    ({"ratios": (2, 2)}, "each once"),
    ({"rounding": "stochastic"}, "verified for nearest_even"),
])  # fmt: skip
def test_bad_grids_are_refused_before_anything_runs(
    arguments: dict[str, object], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        verify(**arguments)  # type: ignore[arg-type]


def test_the_report_says_what_was_counted() -> None:
    report = verify(max_code=2, max_depth=2, ratios=(2, 3), trials=5, seed=9)
    document = report.document()
    assert document["sequences"] == sum((2 * n + 1) ** d for n in (1, 2) for d in (1, 2))
    assert document["checks_per_sequence"] == list(CHECKS)
    assert [entry["ratio"] for entry in document["ratios"]] == [2, 3]
    assert document["evidence"] == "finite_witness_certified"
    assert "42 scalar sequences" in document["basis"]
    assert document["trials"]["count"] == 5
    assert document["trials"]["evidence"] == "diagnostic"
    assert "5 randomized multidimensional trials (seed 9)" in report.text()


@given(st.integers(-(10**6), 10**6), st.integers(1, 1000), st.sampled_from(MODES))
def test_rounding_a_quotient(p: int, m: int, rounding: Rounding) -> None:
    q = round_quotient(p, m, rounding)
    off = p - m * q
    if rounding.startswith("nearest"):
        assert 2 * abs(off) <= m
        if 2 * abs(off) == m:
            assert q % 2 == 0 if rounding == "nearest_even" else abs(q) * m > abs(p)
    elif rounding == "floor":
        assert 0 <= off < m
    else:
        assert abs(off) < m and abs(q) * m <= abs(p)
