"""System, target and dictionary: what moves, where it should arrive, and the atoms."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StrictInt, field_validator, model_validator

from qreplace.exact.polynomial_text import state_names
from qreplace.question.model import MAX_ATOMS, MAX_POLYNOMIAL_DIMENSION
from qreplace.question.system import MAX_FORCING_PIECES
from qreplace.spec.blocks.array import ArraySpec, ScalesSpec
from qreplace.spec.blocks.atom import NamedAtomSpec
from qreplace.spec.blocks.piecewise import (
    NetworkSpec,
    PiecewiseAtomSpec,
    PiecewiseSystemSpec,
    ScheduleSpec,
)
from qreplace.spec.blocks.polynomial import PolynomialText, StateName
from qreplace.spec.findings import needed
from qreplace.spec.premises import Instant, RateAmount, instant, rate_amount
from qreplace.spec.values import Bits, Block, Flag, Text, bare, choose, fault, integer, kinds, tag


class LiftedAffineSpec(Block):
    """State-independent atoms on a finite witness lift, unit horizon (theory T7.1)."""

    kind: Literal["lifted_affine"]


class AffineDynamicsSpec(Block):
    """``z' = (rate I + matrix) z + b_j(t)`` (theory T7.2); ``matrix`` has shape q x q."""

    kind: Literal["affine_dynamics"]
    rate: RateAmount = Field(
        default_factory=lambda: rate_amount(0), json_schema_extra={"default": 0}
    )
    matrix: ArraySpec | None = None


class PolynomialSystemSpec(Block):
    """``z' = G_j(t, z)``, polynomials over the rationals (theory T7.4).

    ``states`` names the coordinates; with ``dimension`` alone they are ``z1, z2, ..``.
    """

    kind: Literal["polynomial"]
    states: (
        Annotated[tuple[StateName, ...], Field(min_length=1, max_length=MAX_POLYNOMIAL_DIMENSION)]
        | None
    ) = None
    dimension: Annotated[StrictInt, integer(1, MAX_POLYNOMIAL_DIMENSION)] | None = None

    @model_validator(mode="after")
    def _named_once(self) -> PolynomialSystemSpec:
        if (self.states is None) == (self.dimension is None):
            received = "neither" if self.states is None else "both"
            raise fault(f"needed either states or dimension, received {received}")
        for index, name in enumerate(self.names):
            if name in self.names[:index]:
                message = needed("another name for each state", f"{name} twice")
                raise fault(message, at=("states", index), code="name")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each coordinate."""
        return self.states or tuple(state_names(self.dimension or 0)[1:])


class DeclaredSystemSpec(Block):
    """A system known only through declared premises; ``dimension`` is that of its state."""

    kind: Literal["declared"]
    dimension: Annotated[StrictInt, integer(1, 10**12)]


SystemSpec = Annotated[
    Annotated[LiftedAffineSpec, tag("lifted_affine")]
    | Annotated[AffineDynamicsSpec, tag("affine_dynamics")]
    | Annotated[PolynomialSystemSpec, tag("polynomial")]
    | Annotated[PiecewiseSystemSpec, tag("piecewise")]
    | Annotated[DeclaredSystemSpec, tag("declared")],
    kinds("lifted_affine", "affine_dynamics", "polynomial", "piecewise", "declared"),
    bare("lifted_affine", "affine_dynamics"),
]


class VectorTargetSpec(Block):
    """The lifted target itself."""

    kind: Literal["vector"]
    values: ArraySpec
    name: Text = ""


class LinearTargetSpec(Block):
    """``x -> W x`` on the witnesses; ``weights`` has shape (outputs, inputs)."""

    kind: Literal["linear_map"]
    weights: ArraySpec
    name: Text = ""


class DeclaredTargetSpec(Block):
    """A named map; nothing about it is recomputed. Architecture and checkpoint are for people."""

    kind: Literal["declared"]
    name: Text
    architecture: Text = ""
    checkpoint: Text = ""


TargetSpec = Annotated[
    Annotated[VectorTargetSpec, tag("vector")]
    | Annotated[LinearTargetSpec, tag("linear_map")]
    | Annotated[ScheduleSpec, tag("schedule")]
    | Annotated[NetworkSpec, tag("network")]
    | Annotated[DeclaredTargetSpec, tag("declared")],
    kinds("vector", "linear_map", "schedule", "network", "declared"),
]


class VectorAtomSpec(NamedAtomSpec):
    """The lifted atom itself."""

    kind: Literal["vector"]
    values: ArraySpec


class LinearAtomSpec(NamedAtomSpec):
    """``x -> W x`` on the witnesses."""

    kind: Literal["linear_map"]
    weights: ArraySpec


class QuantizedAtomSpec(NamedAtomSpec):
    """``x -> diag(scales) (codes - zero_point) x``; one scale, or one an output row."""

    kind: Literal["quantized_linear"]
    codes: ArraySpec
    scales: ScalesSpec
    zero_point: Annotated[StrictInt, integer(-(2**63), 2**63)] = 0


class ForcingPieceSpec(Block):
    """``b(t) = sum_k coefficients[k] t^k`` from ``start`` to the next piece; shape (degree+1) x q.

    ``t`` counts from the start of the horizon, not from the start of the piece.
    """

    start: Instant = Field(default_factory=lambda: instant(0), json_schema_extra={"default": 0})
    coefficients: ArraySpec


class ForcingAtomSpec(NamedAtomSpec):
    """A forcing ``b_j(t)`` of an affine_dynamics system, polynomial on each piece."""

    kind: Literal["forcing"]
    pieces: Annotated[
        tuple[ForcingPieceSpec, ...], Field(min_length=1, max_length=MAX_FORCING_PIECES)
    ]


class PolynomialAtomSpec(NamedAtomSpec):
    """``G_j(t, z)`` of a polynomial system: one polynomial a state."""

    kind: Literal["polynomial"]
    field: Annotated[
        tuple[PolynomialText, ...], Field(min_length=1, max_length=MAX_POLYNOMIAL_DIMENSION)
    ]


_ATOM_KINDS = (
    "vector", "linear_map", "quantized_linear", "forcing", "polynomial", "piecewise",
)  # fmt: skip


def _atom_kind(value: Any) -> str | None:
    """The kind; an activation says it as well."""
    if not isinstance(value, dict):
        return None
    kind = value.get("kind", "piecewise" if "activation" in value else None)
    return kind if isinstance(kind, str) and kind in _ATOM_KINDS else None


AtomSpec = Annotated[
    Annotated[VectorAtomSpec, tag("vector")]
    | Annotated[LinearAtomSpec, tag("linear_map")]
    | Annotated[QuantizedAtomSpec, tag("quantized_linear")]
    | Annotated[ForcingAtomSpec, tag("forcing")]
    | Annotated[PolynomialAtomSpec, tag("polynomial")]
    | Annotated[PiecewiseAtomSpec, tag("piecewise")],
    choose("one of the kinds " + ", ".join(_ATOM_KINDS), _atom_kind),
]


class _Dictionary(Block):
    """``bits``: the width of an atom's codes; ``learned``: whether the atoms were fitted."""

    bits: Bits
    learned: Flag
    schedule: Literal["shared", "input_dependent"] = "shared"

    @field_validator("schedule")
    @classmethod
    def _shared(cls, value: str) -> str:
        if value != "shared":
            message = needed(
                "a schedule shared by all inputs: every theorem of this version assumes one",
                value,
                "State-driven selection belongs to routing.",
            )
            raise fault(message, code="contradiction")
        return value


class ListedDictionarySpec(_Dictionary):
    """The atoms themselves."""

    atoms: Annotated[tuple[AtomSpec, ...], Field(min_length=1, max_length=MAX_ATOMS)]


class CountedDictionarySpec(_Dictionary):
    """A dictionary known by its size only."""

    atom_count: Annotated[StrictInt, integer(1, MAX_ATOMS)]


def _dictionary_kind(value: Any) -> str | None:
    if not isinstance(value, dict):
        return None
    if "atoms" in value:
        return "listed"
    return "counted" if "atom_count" in value else None


DictionarySpec = Annotated[
    Annotated[ListedDictionarySpec, tag("listed")]
    | Annotated[CountedDictionarySpec, tag("counted")],
    choose("an object with atoms or with atom_count", _dictionary_kind),
]
