"""Floor, synthesis and metadata blocks (theory T7, T3, T5)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from qreplace.errors import Malformed
from qreplace.exact.polynomial import Polynomial
from qreplace.premises import Premise, Term
from qreplace.question.system import ListedDictionary

Engine = Literal[
    "auto",
    "affine_lp",
    "affine_dynamics",
    "perturbed",
    "hjb_sos",
    "moment",
    "compositional",
    "support",
    "observable",
    "relaxed_control",
    "net_floor",
]
"""What may be asked to bracket a floor; ``auto`` tries those that apply, cheapest first."""

MAX_ORDER = 16
MAX_REGION = 64
MAX_BLOCKS = 64


@dataclass(frozen=True, slots=True)
class ComputedFloor:
    """A request: bracket the floor with this engine.

    ``order`` is r of the moment-SOS hierarchy (value functions of degree 2r in ``(t, z)``); without
    one the engine chooses. ``region`` are polynomials ``g_i(t, z)``, nonnegative along every
    trajectory, that a certificate may use beside its own box. ``blocks`` are the coordinates of
    each block of a compositional certificate. All three are requests: a claim proves what it uses.
    """

    kind: Literal["compute"]
    engine: Engine
    order: int | None = None
    region: tuple[Polynomial, ...] = ()
    blocks: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        if self.order is not None and not 1 <= self.order <= MAX_ORDER:
            raise Malformed(f"an order is 1 to {MAX_ORDER}")
        if len(self.region) > MAX_REGION or len(self.blocks) > MAX_BLOCKS:
            raise Malformed(f"at most {MAX_REGION} region polynomials and {MAX_BLOCKS} blocks")


@dataclass(frozen=True, slots=True)
class DeclaredFloor:
    """A declared bracket. ``covers`` says for which dictionaries its lower end was shown (T5.1)."""

    kind: Literal["declared"]
    lower: Premise | None
    upper: Premise | None
    covers: Literal["dictionary", "family"]


Floor = ComputedFloor | DeclaredFloor


@dataclass(frozen=True, slots=True)
class Growth:
    """``m = (kappa - 1) / h`` and the largest step at which it was shown."""

    rate: Premise
    step_limit: Fraction


@dataclass(frozen=True, slots=True)
class ComputedSynthesis:
    """The constants are recomputed from the system's data."""

    kind: Literal["computed"]


@dataclass(frozen=True, slots=True)
class ConstantSynthesis:
    """A declared symmetric radius ``C / D``, with the state-Lipschitz constant that executes it."""

    kind: Literal["constant"]
    constant: Premise
    field_bound: Premise | None
    state_lipschitz: Premise | None
    growth: Growth | None


@dataclass(frozen=True, slots=True)
class BoundedVariationSynthesis:
    """T3.1 and T3.3: B, L, V on the tube, optionally m and the pairwise-difference constants."""

    kind: Literal["bounded_variation"]
    field_bound: Premise | None
    state_lipschitz: Premise | None
    time_variation: Term | None
    growth: Growth | None
    difference_bound: Premise | None
    difference_lipschitz: Premise | None
    difference_variation: Term | None


@dataclass(frozen=True, slots=True)
class HoelderSynthesis:
    """T3.2: B, L and a Hölder modulus ``constant |t - s|^exponent`` in time."""

    kind: Literal["hoelder"]
    field_bound: Premise | None
    state_lipschitz: Premise | None
    exponent: Fraction
    constant: Premise | None
    growth: Growth | None

    def __post_init__(self) -> None:
        if not 0 < self.exponent <= 1 or self.exponent.denominator > 64:
            raise Malformed("a Hölder exponent is p/q in (0, 1] with q at most 64")


Synthesis = ComputedSynthesis | ConstantSynthesis | BoundedVariationSynthesis | HoelderSynthesis


@dataclass(frozen=True, slots=True)
class NoMetadata:
    """The dictionary is fixed; no metadata is sent."""

    kind: Literal["none"]


MAX_COORDINATES = 1 << 20


@dataclass(frozen=True, slots=True)
class ParameterGroup:
    """``count`` parameters, each within ``half_width`` of its middle value."""

    half_width: Fraction
    count: int

    def __post_init__(self) -> None:
        if self.half_width < 0 or self.count < 1:
            raise Malformed("a group of parameters has a half width and at least one of them")


@dataclass(frozen=True, slots=True)
class ParameterFamily:
    """A box of parameters, such as scales or codebook entries, and the norm of their errors."""

    groups: tuple[ParameterGroup, ...]
    norm: Literal["linf", "l1", "l2"]

    def __post_init__(self) -> None:
        if not self.groups or self.dimension > MAX_COORDINATES:
            raise Malformed(f"a family has 1 to {MAX_COORDINATES} parameters")

    @property
    def dimension(self) -> int:
        """The number of parameters."""
        return sum(group.count for group in self.groups)


@dataclass(frozen=True, slots=True)
class CoveringMetadata:
    """T5.1: the covering radius ``delta_s`` of the family and its sensitivity ``L_Omega``.

    Declared as ``constant 2^(-s/dimension)``, or recomputed for a ``family`` that is described.
    ``targets``: at least so many maps of the family are pairwise more than twice the tolerance
    apart (T5.2); ``None``: nothing is said of the family as a whole.
    """

    kind: Literal["covering"]
    sensitivity: Premise | None
    constant: Premise | None
    dimension: int
    family: ParameterFamily | None = None
    targets: Premise | None = None

    def __post_init__(self) -> None:
        if self.dimension < 1:
            raise Malformed("a covering has dimension at least 1")
        if self.family is not None and self.family.dimension != self.dimension:
            raise Malformed("a covering has the dimension of its family")
        if self.family is not None and self.constant is not None:
            raise Malformed("the covering radius is declared or recomputed, not both")


@dataclass(frozen=True, slots=True)
class MetadataCode:
    """The dictionary that the code of ``bits`` metadata bits selects."""

    bits: int
    dictionary: ListedDictionary


@dataclass(frozen=True, slots=True)
class CodesMetadata:
    """One listed dictionary a metadata budget; claims are made and checked for each."""

    kind: Literal["codes"]
    codes: tuple[MetadataCode, ...]


Metadata = NoMetadata | CoveringMetadata | CodesMetadata
