"""Synthesis, metadata and tube: what is known, or asked to be computed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StrictInt, model_validator

from qreplace.question.floor import MAX_COORDINATES
from qreplace.spec.blocks.dictionary import ListedDictionarySpec
from qreplace.spec.blocks.objective import NormSpec
from qreplace.spec.findings import needed
from qreplace.spec.premises import (
    Count,
    Duration,
    HoelderRate,
    MetadataDistance,
    Norm,
    NormRate,
    NormRateTerm,
    Rate,
    Sensitivity,
    SignedRate,
)
from qreplace.spec.values import (
    Block,
    Exact,
    NonNegative,
    Positive,
    bare,
    fault,
    integer,
    kinds,
    tag,
)


class GrowthSpec(Block):
    """``m = (kappa - 1) / h``, of either sign, and the largest step at which it was shown."""

    rate: SignedRate
    step_limit: Duration


class ComputedSynthesisSpec(Block):
    """The constants are recomputed from the system's data."""

    kind: Literal["computed"]


class _DeclaredSynthesis(Block):
    """What the declared kinds share: B, L and m on the tube."""

    field_bound: NormRate | None = None
    state_lipschitz: Rate | None = None
    growth: GrowthSpec | None = None
    norm: NormSpec | None = None


class ConstantSynthesisSpec(_DeclaredSynthesis):
    """A declared symmetric radius ``constant / D``."""

    kind: Literal["constant"]
    constant: Norm


class BoundedVariationSpec(_DeclaredSynthesis):
    """T3.1, T3.3: B, L, V on the tube; m and the pairwise-difference constants sharpen it."""

    kind: Literal["bounded_variation"]
    time_variation: NormRateTerm | None = None
    difference_bound: NormRate | None = None
    difference_lipschitz: Rate | None = None
    difference_variation: NormRateTerm | None = None


class HoelderSpec(_DeclaredSynthesis):
    """T3.2: B, L and a Hölder modulus ``constant |t - s|**exponent`` in time."""

    kind: Literal["hoelder"]
    exponent: Positive
    constant: HoelderRate | None = None


SynthesisSpec = Annotated[
    Annotated[ComputedSynthesisSpec, tag("computed")]
    | Annotated[ConstantSynthesisSpec, tag("constant")]
    | Annotated[BoundedVariationSpec, tag("bounded_variation")]
    | Annotated[HoelderSpec, tag("hoelder")],
    kinds("computed", "constant", "bounded_variation", "hoelder"),
    bare("computed"),
]


class NoMetadataSpec(Block):
    """The dictionary is fixed; no metadata is sent."""

    kind: Literal["none"]


_Counted = Annotated[StrictInt, integer(1, MAX_COORDINATES)]
_FamilyNorm = Literal["linf", "l1", "l2"]


class ScalesFamilySpec(Block):
    """``count`` scale factors, each anywhere between ``low`` and ``high``."""

    kind: Literal["scales"]
    low: Exact
    high: Exact
    count: _Counted

    @model_validator(mode="after")
    def _in_order(self) -> ScalesFamilySpec:
        if self.low > self.high:
            raise fault(needed("low at most high", "a range the other way round"), code="range")
        return self


class CodebookFamilySpec(Block):
    """``entries`` vectors anywhere in ``[-half_width, half_width]^dimension``."""

    kind: Literal["codebook"]
    entries: _Counted
    dimension: _Counted
    half_width: NonNegative
    norm: _FamilyNorm = "linf"


class BoxFamilySpec(Block):
    """One parameter a half width."""

    kind: Literal["box"]
    half_widths: Annotated[tuple[NonNegative, ...], Field(min_length=1, max_length=65_536)]
    norm: _FamilyNorm = "linf"


FamilySpec = Annotated[
    Annotated[ScalesFamilySpec, tag("scales")]
    | Annotated[CodebookFamilySpec, tag("codebook")]
    | Annotated[BoxFamilySpec, tag("box")],
    kinds("scales", "codebook", "box"),
]


class CoveringSpec(Block):
    """T5.1: the covering radius ``delta_s`` and the sensitivity of the field to it.

    ``delta_s = constant 2**(-s / dimension)``, declared, or that of a ``family``, recomputed.
    """

    kind: Literal["covering"]
    sensitivity: Sensitivity | None = None
    constant: MetadataDistance | None = None
    dimension: Annotated[StrictInt, integer(1, 10**9)] | None = None
    family: FamilySpec | None = None
    targets: Count | None = None
    norm: NormSpec | None = None

    @model_validator(mode="after")
    def _one_radius(self) -> CoveringSpec:
        if (self.dimension is None) == (self.family is None):
            words = needed("dimension, or a family that has one", "both or neither")
            raise fault(words, at=("dimension",), code="missing-key")
        if self.family is not None and self.constant is not None:
            words = needed("no constant beside a family: its radius is recomputed", "one")
            raise fault(words, at=("constant",), code="contradiction")
        return self


class CodeSpec(Block):
    """The dictionary that the code of ``bits`` metadata bits selects."""

    bits: Annotated[StrictInt, integer(0, 10**6)]
    dictionary: ListedDictionarySpec


class CodesSpec(Block):
    """One listed dictionary a metadata budget."""

    kind: Literal["codes"]
    codes: Annotated[tuple[CodeSpec, ...], Field(min_length=1, max_length=4096)]


MetadataSpec = Annotated[
    Annotated[NoMetadataSpec, tag("none")]
    | Annotated[CoveringSpec, tag("covering")]
    | Annotated[CodesSpec, tag("codes")],
    kinds("none", "covering", "codes"),
    bare("none"),
]


class WholeSpaceSpec(Block):
    """The constants hold everywhere."""

    kind: Literal["whole_space"]


class DeclaredTubeSpec(Block):
    """A convex tube that holds all states, with room ``margin`` about them."""

    kind: Literal["declared"]
    margin: Norm
    norm: NormSpec | None = None


TubeSpec = Annotated[
    Annotated[WholeSpaceSpec, tag("whole_space")] | Annotated[DeclaredTubeSpec, tag("declared")],
    kinds("whole_space", "declared"),
    bare("whole_space"),
]
