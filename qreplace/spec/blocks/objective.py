"""What is asked: objective, norm and domain (theory T1)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from qreplace.spec.blocks.array import ArraySpec
from qreplace.spec.blocks.piecewise import ComparatorScheduleSpec, NetworkSpec
from qreplace.spec.premises import Norm, NormAmount, Score, ScorePerNorm
from qreplace.spec.values import Block, Positive, bare, choose, integer, kinds, tag


class PlainNormSpec(Block):
    """``linf``: the largest absolute coordinate; ``l1``: their sum; ``l2``: Euclidean."""

    kind: Literal["linf", "l1", "l2"]


class WeightedNormSpec(Block):
    """``weighted_linf``: max w_i |x_i|; ``weighted_l1``: sum w_i |x_i|; positive weights."""

    kind: Literal["weighted_linf", "weighted_l1"]
    weights: Annotated[tuple[Positive, ...], Field(min_length=1)]


class BlockL2Spec(Block):
    """The largest l2 norm of consecutive blocks of coordinates; one block a token."""

    kind: Literal["block_l2"]
    block: Annotated[int, integer(1, 10**12), Field(strict=True)]


_NORMS = ("linf", "l1", "l2", "weighted_linf", "weighted_l1", "block_l2")


def _norm_kind(value: Any) -> str | None:
    kind = value.get("kind")
    if kind not in _NORMS:
        return None
    return {"linf": "plain", "l1": "plain", "l2": "plain", "block_l2": "block"}.get(
        kind, "weighted"
    )


NormSpec = Annotated[
    Annotated[PlainNormSpec, tag("plain")]
    | Annotated[WeightedNormSpec, tag("weighted")]
    | Annotated[BlockL2Spec, tag("block")],
    choose("one of the norms " + ", ".join(_NORMS), _norm_kind),
    bare("linf", "l1", "l2"),
]


class WitnessDomainSpec(Block):
    """Finitely many inputs; for a linear map, the rows of ``inputs``."""

    kind: Literal["witnesses"]
    inputs: ArraySpec | None = None


class FullDomainSpec(Block):
    """Every input; ``covering`` bounds what lies between the witnesses ``inputs`` (T7.12)."""

    kind: Literal["full"]
    inputs: ArraySpec | None = None
    covering: Norm | None = None


DomainSpec = Annotated[
    Annotated[WitnessDomainSpec, tag("witnesses")] | Annotated[FullDomainSpec, tag("full")],
    kinds("witnesses", "full"),
    bare("witnesses", "full"),
]


class _Objective(Block):
    """What every objective says: endpoint or path, in which norm, on which inputs."""

    scope: Literal["endpoint", "path"] = "endpoint"
    norm: NormSpec
    domain: DomainSpec


class EmulationSpec(_Objective):
    """T1.1: the error to the high-precision map is at most ``tolerance``."""

    kind: Literal["emulation"]
    tolerance: NormAmount


def _comparator_kind(value: Any) -> str | None:
    if not isinstance(value, dict) or "kind" not in value:
        return "premise"
    kind = value["kind"]
    return kind if kind in ("schedule", "network") else None


ComparatorSpec = Annotated[
    Annotated[Norm, tag("premise")]
    | Annotated[ComparatorScheduleSpec, tag("schedule")]
    | Annotated[NetworkSpec, tag("network")],
    choose("a premise, or a map of kind schedule or network", _comparator_kind),
]


class AccuracyMatchingSpec(_Objective):
    """T1.2: the error to a common reference is at most the comparator's own.

    The comparator's error as a premise, or, for a piecewise system, the comparator itself.
    """

    kind: Literal["accuracy_matching"]
    comparator: ComparatorSpec


class ReadoutRowsSpec(Block):
    """The readout's rows; the bound on ``||w_i - w_j||_*`` is computed from them exactly."""

    rows: ArraySpec


def _readout_kind(value: Any) -> str | None:
    return "rows" if isinstance(value, dict) and "rows" in value else "bound"


ReadoutSpec = Annotated[
    Annotated[ReadoutRowsSpec, tag("rows")] | Annotated[ScorePerNorm, tag("bound")],
    choose("a readout bound or its rows", _readout_kind),
]


class BehaviouralSpec(_Objective):
    """T1.3: the same decision, shown by ``readout * error < margin``; only ever feasible."""

    kind: Literal["behavioural"]
    margin: Score
    readout: ReadoutSpec


ObjectiveSpec = Annotated[
    Annotated[EmulationSpec, tag("emulation")]
    | Annotated[AccuracyMatchingSpec, tag("accuracy_matching")]
    | Annotated[BehaviouralSpec, tag("behavioural")],
    kinds("emulation", "accuracy_matching", "behavioural"),
]
