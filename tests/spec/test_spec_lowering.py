"""From blocks to the question: what is omitted is unavailable, what is absent is explicit."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spec_examples import DECLARED, LIFTED, changed, load, premise, problems

from qreplace.premises import ABSENT, Evidence, Premise
from qreplace.question import model as q
from qreplace.spec.readout import dual_norm, readout_bound

OPTIONAL = ["structural_floor", "synthesis", "metadata", "execution", "routing", "tube"]


def question(tree: Any) -> q.Question:
    return load(tree).question


def bare(value: Any) -> Premise:
    """What a bare number becomes."""
    number = Fraction(value)
    return Premise("declared", number, number, Evidence.DIAGNOSTIC, "bare number", ())


@pytest.mark.parametrize("block", OPTIONAL)
def test_an_omitted_block_is_unavailable(block: str) -> None:
    asked = question({key: value for key, value in DECLARED.items() if key != block})
    assert getattr(asked, block.removeprefix("structural_")) is None


@pytest.mark.parametrize("block", OPTIONAL)
def test_null_is_the_same_as_omitted(block: str) -> None:
    omitted = {key: value for key, value in DECLARED.items() if key != block}
    assert question({**omitted, block: None}) == question(omitted)


def test_a_lifted_system_determines_its_synthesis() -> None:
    assert question(LIFTED).synthesis == q.ComputedSynthesis("computed")


def test_a_declared_system_says_where_it_starts() -> None:
    (problem,) = problems({k: v for k, v in DECLARED.items() if k != "initial_state"})
    assert "initial_state" in problem.message
    assert question(changed(DECLARED, initial_state="from_input")).initial is None
    assert question(changed(DECLARED, initial_state=[0, 0, 0, 1])).initial is not None


def test_bounded_variation() -> None:
    synthesis = {
        "kind": "bounded_variation",
        "field_bound": premise({"lo": "0.1", "hi": "0.2"}, assumptions=["on the tube"]),
        "time_variation": "none",
        "growth": {"rate": -1, "step_limit": {"value": 2, "unit": "time"}},
        "difference_variation": 3,
        "norm": "l2",
    }
    lowered = question(changed(DECLARED, synthesis=synthesis)).synthesis
    assert isinstance(lowered, q.BoundedVariationSynthesis)
    assert lowered.field_bound == Premise(
        "declared",
        Fraction(1, 10),
        Fraction(1, 5),
        Evidence.CALIBRATED_ESTIMATE,
        "fit",
        ("on the tube",),
    )
    assert lowered.state_lipschitz is None
    assert lowered.time_variation == ABSENT
    assert lowered.growth == q.Growth(bare(-1), Fraction(2))
    assert lowered.difference_variation == bare(3)
    assert lowered.difference_bound is None


def test_a_contracting_step_factor_below_zero_is_no_error() -> None:
    growth = {"rate": -1000, "step_limit": 1}
    synthesis = {"kind": "constant", "constant": 1, "growth": growth}
    assert question(changed(DECLARED, synthesis=synthesis)).synthesis is not None


def quantized(**more: Any) -> Any:
    block = {
        "semantics": "error_feedback",
        "grid": {"bits": 8, "limit": 4, "rounding": "nearest"},
        "carry": "exact",
        "overflow": "wrap",
        **more,
    }
    return question(changed(DECLARED, execution=block)).execution


def test_a_grid_of_bits() -> None:
    execution = quantized(carry={"grid": {"step": "1/1024", "rounding": "directed"}})
    assert execution.grid == q.Grid(q.DepthRule(Fraction(8, 255), 0), "nearest", Fraction(4))
    assert execution.carry == q.Grid(q.DepthRule(Fraction(1, 1024), 0), "directed", None)
    assert execution.field_error is None


def test_a_grid_that_depends_on_depth() -> None:
    grid = {"step": {"coefficient": "1/16", "power": 1}, "rounding": "stochastic"}
    assert quantized(grid=grid, overflow="unbounded").grid.step == q.DepthRule(Fraction(1, 16), 1)


@pytest.mark.parametrize("word", ["none", "exact"])
def test_absent_terms(word: str) -> None:
    execution = quantized(field_error=word, initial_error=word)
    assert (execution.field_error, execution.initial_error) == (ABSENT, ABSENT)


def test_a_claimed_zero_is_a_premise() -> None:
    assert quantized(field_error=0).field_error == bare(0)


def test_overflow() -> None:
    assert quantized(overflow="wrap").overflow == q.Wrapping("wrap", None)
    assert quantized(overflow={"kind": "saturate", "margin": 1}).overflow == q.Saturating(
        "saturate", bare(1)
    )


def test_codes_are_sorted_and_set_the_budgets() -> None:
    def code(bits: int) -> dict[str, Any]:
        return {"bits": bits, "dictionary": {**LIFTED["dictionary"], "learned": True}}

    asked = question(changed(LIFTED, metadata={"kind": "codes", "codes": [code(8), code(2)]}))
    assert asked.search.metadata_bits == (2, 8)
    assert isinstance(asked.metadata, q.CodesMetadata)
    assert [entry.bits for entry in asked.metadata.codes] == [2, 8]


def test_a_floor_in_a_smaller_norm_says_so() -> None:
    floor = {"lower": premise("0.01"), "norm": "linf", "covers": "family"}
    lowered = question(changed(DECLARED, structural_floor=floor)).floor
    assert isinstance(lowered, q.DeclaredFloor)
    assert lowered.covers == "family"
    assert lowered.lower is not None
    assert lowered.lower.assumptions == ("shown in linf, which bounds l2 on this side",)


def test_labels() -> None:
    target = {"kind": "declared", "name": "block", "architecture": "MLP", "checkpoint": "c"}
    floor = {"upper": 1, "weights": ["1/4", "3/4"]}
    labels = load(changed(DECLARED, title="T", notes="N", target=target, structural_floor=floor))
    shown = labels.labels
    assert (shown.title, shown.notes, shown.target) == ("T", "N", "block")
    assert (shown.architecture, shown.checkpoint) == ("MLP", "c")
    assert shown.mixing_weights == (Fraction(1, 4), Fraction(3, 4))


# --- depths -------------------------------------------------------------------------------------


def depths(entries: list[Any]) -> tuple[q.DepthRange, ...]:
    return question(changed(DECLARED, search={"depths": entries})).search.depths


def members(ranges: tuple[q.DepthRange, ...]) -> list[int]:
    return [d for r in ranges for d in range(r.first, r.last + 1, r.step)]


@given(st.sets(st.integers(1, 60), min_size=1).flatmap(lambda s: st.permutations(sorted(s))))
def test_depths_are_the_same_set_in_canonical_form(listed: list[int]) -> None:
    lowered = depths(listed)
    assert members(lowered) == sorted(listed)
    assert lowered == depths(sorted(listed))


@given(st.integers(1, 20), st.integers(1, 20), st.integers(1, 7), st.integers(1, 30))
def test_a_range_is_its_list(first: int, length: int, step: int, beyond: int) -> None:
    last = first + length
    listed = list(range(first, last + 1, step))
    after = last + beyond
    assert depths([{"from": first, "to": last, "step": step}, after]) == depths([*listed, after])


def test_millions_of_depths_are_one_range() -> None:
    assert depths([{"from": 1, "to": 1_000_000}]) == (q.DepthRange(1, 1_000_000, 1),)


# --- readout ------------------------------------------------------------------------------------

WEIGHTS = (Fraction(1), Fraction(1, 2), Fraction(3), Fraction(2))
NORMS = [
    q.LinfNorm("linf"),
    q.L1Norm("l1"),
    q.L2Norm("l2"),
    q.BlockL2Norm("block_l2", 2),
    q.WeightedLinfNorm("weighted_linf", WEIGHTS),
    q.WeightedL1Norm("weighted_l1", WEIGHTS),
]
vectors = st.lists(st.integers(-9, 9), min_size=4, max_size=4)


def value(norm: q.Norm, vector: list[int]) -> Fraction:
    """The norm itself, for vectors whose norm is rational here; squares for l2."""
    match norm:
        case q.LinfNorm():
            return Fraction(max(map(abs, vector)))
        case q.L1Norm():
            return Fraction(sum(map(abs, vector)))
        case q.WeightedLinfNorm(weights=w):
            return max(a * abs(v) for a, v in zip(w, vector, strict=True))
        case q.WeightedL1Norm(weights=w):
            return sum((a * abs(v) for a, v in zip(w, vector, strict=True)), Fraction(0))
        case q.BlockL2Norm():
            return max(_root(vector[:2]), _root(vector[2:]))
    return _root(vector)


def _root(vector: list[int]) -> Fraction:
    """An upper bound of the l2 norm, within 2**-60."""
    square = sum(v * v for v in vector) << 120
    root = 0
    for bit in reversed(range(70)):
        if (root + (1 << bit)) ** 2 <= square:
            root += 1 << bit
    return Fraction(root + 1, 1 << 60)


@pytest.mark.parametrize("norm", NORMS, ids=lambda norm: norm.kind)
@given(vectors, vectors)
def test_the_dual_norm_bounds_every_product(norm: q.Norm, x: list[int], y: list[int]) -> None:
    low, high = dual_norm(y, norm)
    assert 0 <= low <= high <= low + Fraction(1, 2**100)
    assert abs(sum(a * b for a, b in zip(x, y, strict=True))) <= high * value(norm, x)


@pytest.mark.parametrize("norm", [NORMS[0], NORMS[1]], ids=lambda norm: norm.kind)
def test_the_dual_norm_is_attained(norm: q.Norm) -> None:
    y = [3, -2, 0, 1]
    corners = itertools.product([-1, 0, 1], repeat=4)
    best = max(
        Fraction(sum(a * b for a, b in zip(x, y, strict=True))) / value(norm, list(x))
        for x in corners
        if any(x)
    )
    assert (best, best) == dual_norm(y, norm)


def test_readout_rows() -> None:
    rows = [[Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)], [Fraction(1, 2), Fraction(-1)]]
    exact = readout_bound(rows, q.LinfNorm("linf"))
    assert (exact.lower, exact.upper) == (Fraction(5, 2), Fraction(5, 2))
    assert exact.evidence is Evidence.ANALYTIC_CERTIFIED
    enclosed = readout_bound(rows, q.L2Norm("l2"))
    assert enclosed.lower**2 < Fraction(17, 4) < enclosed.upper**2
    assert enclosed.evidence is Evidence.INTERVAL_CERTIFIED


def test_readout_rows_in_a_question() -> None:
    objective = {
        "kind": "behavioural",
        "margin": premise(1, unit="score"),
        "readout": {"rows": [[1, 0, 0, 0], [0, 1, 0, "1/2"]]},
        "norm": "linf",
        "domain": {"kind": "full"},
    }
    lowered = question(changed(DECLARED, objective=objective)).objective
    assert isinstance(lowered, q.Behavioural)
    assert lowered.readout.upper == Fraction(5, 2)
    assert lowered.readout.source == "recomputed from readout rows"
    declared = {**objective, "readout": premise(3, unit="score/norm")}
    lowered = question(changed(DECLARED, objective=declared)).objective
    assert isinstance(lowered, q.Behavioural)
    assert lowered.readout.upper == 3
