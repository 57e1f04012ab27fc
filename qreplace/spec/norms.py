"""Which norm is at most which, and by what factor: for blocks that state a norm of their own.

A lower bound may use a norm that is at most the tolerance's; upper bounds and radii one that is at
least it (theory, *Norms*). Anything else is an error that offers the conversion.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from qreplace.exact.rational import format_rational
from qreplace.spec.blocks.objective import BlockL2Spec, NormSpec, WeightedNormSpec

_RANK = {"linf": 0, "block_l2": 1, "l2": 2, "l1": 3}


def describe(norm: NormSpec) -> str:
    """The norm in words."""
    if isinstance(norm, BlockL2Spec):
        return f"block_l2 (block {norm.block})"
    if isinstance(norm, WeightedNormSpec):
        return f"{norm.kind} (weights {_range(norm)})"
    return str(norm.kind)


def _range(norm: WeightedNormSpec) -> str:
    return f"{format_rational(min(norm.weights))} to {format_rational(max(norm.weights))}"


def at_most(first: NormSpec, second: NormSpec) -> bool:
    """Whether ``first(x) <= second(x)`` for every x is known."""
    if first == second:
        return True
    low, high = _plain(first), _plain(second)
    if low is None or high is None:
        return False
    low_rank, low_weights = low
    high_rank, high_weights = high
    if isinstance(first, BlockL2Spec) and isinstance(second, BlockL2Spec):
        return second.block % first.block == 0
    return low_rank <= high_rank and _dominated(low_weights, high_weights)


def _plain(norm: Any) -> tuple[int, tuple[Fraction, ...] | None] | None:
    if isinstance(norm, WeightedNormSpec):
        return _RANK[norm.kind.removeprefix("weighted_")], norm.weights
    return _RANK[norm.kind], None


def _dominated(low: tuple[Fraction, ...] | None, high: tuple[Fraction, ...] | None) -> bool:
    """Whether each low weight is at most the high one; no weights are weights of one."""
    if low is None and high is None:
        return True
    if low is not None and high is not None:
        return len(low) == len(high) and all(a <= b for a, b in zip(low, high, strict=True))
    if low is not None:
        return max(low) <= 1
    return high is not None and min(high) >= 1


def conversion(first: NormSpec, second: NormSpec) -> str:
    """The inequalities between the two norms, as text; empty where none is known."""
    if isinstance(first, WeightedNormSpec) or isinstance(second, WeightedNormSpec):
        return _weighted_conversion(first, second)
    small, large = sorted((first, second), key=lambda norm: _RANK[norm.kind])
    factor = _factor(small, large)
    names = describe(small), describe(large)
    return f"{names[0]} <= {names[1]} <= {factor} {names[0]} in dimension q" if factor else ""


def _factor(small: NormSpec, large: NormSpec) -> str:
    pair = (small.kind, large.kind)
    if isinstance(small, BlockL2Spec):
        return {"l2": f"sqrt(q/{small.block})", "l1": f"q/sqrt({small.block})"}.get(pair[1], "")
    if isinstance(large, BlockL2Spec):
        return f"sqrt({large.block})"
    return {("linf", "l2"): "sqrt(q)", ("linf", "l1"): "q", ("l2", "l1"): "sqrt(q)"}.get(pair, "")


def _weighted_conversion(first: NormSpec, second: NormSpec) -> str:
    """Only a weighted norm against its own plain norm."""
    weighted, plain = (first, second) if isinstance(first, WeightedNormSpec) else (second, first)
    if not isinstance(weighted, WeightedNormSpec) or isinstance(plain, WeightedNormSpec):
        return ""
    if weighted.kind.removeprefix("weighted_") != plain.kind:
        return ""
    least, most = (format_rational(end) for end in (min(weighted.weights), max(weighted.weights)))
    return f"{least} {plain.kind} <= {weighted.kind} <= {most} {plain.kind}"
