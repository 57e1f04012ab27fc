"""System, target and dictionary: what moves, where it should arrive, and the atoms."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StrictInt, field_validator

from qreplace.question.model import MAX_ATOMS
from qreplace.spec.blocks.array import ArraySpec, ScalesSpec
from qreplace.spec.findings import needed
from qreplace.spec.values import Bits, Block, Flag, Text, bare, choose, fault, integer, kinds, tag


class LiftedAffineSpec(Block):
    """State-independent atoms on a finite witness lift, unit horizon (theory T7.1)."""

    kind: Literal["lifted_affine"]


class DeclaredSystemSpec(Block):
    """A system known only through declared premises; ``dimension`` is that of its state."""

    kind: Literal["declared"]
    dimension: Annotated[StrictInt, integer(1, 10**12)]


SystemSpec = Annotated[
    Annotated[LiftedAffineSpec, tag("lifted_affine")]
    | Annotated[DeclaredSystemSpec, tag("declared")],
    kinds("lifted_affine", "declared"),
    bare("lifted_affine"),
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
    | Annotated[DeclaredTargetSpec, tag("declared")],
    kinds("vector", "linear_map", "declared"),
]


class _Atom(Block):
    """What every atom may say to people."""

    name: Text = ""
    recipe: Text = ""


class VectorAtomSpec(_Atom):
    """The lifted atom itself."""

    kind: Literal["vector"]
    values: ArraySpec


class LinearAtomSpec(_Atom):
    """``x -> W x`` on the witnesses."""

    kind: Literal["linear_map"]
    weights: ArraySpec


class QuantizedAtomSpec(_Atom):
    """``x -> diag(scales) (codes - zero_point) x``; one scale, or one an output row."""

    kind: Literal["quantized_linear"]
    codes: ArraySpec
    scales: ScalesSpec
    zero_point: Annotated[StrictInt, integer(-(2**63), 2**63)] = 0


AtomSpec = Annotated[
    Annotated[VectorAtomSpec, tag("vector")]
    | Annotated[LinearAtomSpec, tag("linear_map")]
    | Annotated[QuantizedAtomSpec, tag("quantized_linear")],
    kinds("vector", "linear_map", "quantized_linear"),
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
