"""The canonical question: what is asked and on which premises, exactly, and nothing else.

Paths, comments and texts for people are gone; arrays are named by digest. The SHA-256 of the
canonical JSON of a ``Question`` is the study id. An omitted block is ``None`` and means
*unavailable*; an explicit ``none`` or ``exact`` is a value of its own (design rule 4).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

from qreplace.errors import Malformed
from qreplace.exact.codec import decode, encode
from qreplace.exact.document import canonical_bytes, read_json, sha256_hex
from qreplace.premises import Premise, Term

FORMAT: Literal["qreplace/question/v1"] = "qreplace/question/v1"
MAX_ATOMS = 4096
MAX_DEPTH = 10**9
MAX_GRID_RANGES = 4096


# --- arrays -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StoredArray:
    """An array in a side file, named by the digest of its canonical ``.npy`` bytes."""

    kind: Literal["stored"]
    sha256: str
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class InlineArray:
    """A small array written out; ``values`` in C order."""

    kind: Literal["inline"]
    shape: tuple[int, ...]
    values: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        if any(extent < 0 for extent in self.shape):
            raise Malformed(f"a shape has no negative extents, received {self.shape}")
        size = math.prod(self.shape)
        if size != len(self.values):
            raise Malformed(f"shape {self.shape} holds {size} values, received {len(self.values)}")


Array = StoredArray | InlineArray


# --- norms --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LinfNorm:
    """``max |x_i|``; dual ``l1``."""

    kind: Literal["linf"]


@dataclass(frozen=True, slots=True)
class L1Norm:
    """``sum |x_i|``; dual ``linf``. Not a maximum over inputs."""

    kind: Literal["l1"]


@dataclass(frozen=True, slots=True)
class WeightedLinfNorm:
    """``max w_i |x_i|`` with positive weights; dual ``sum |x_i| / w_i``."""

    kind: Literal["weighted_linf"]
    weights: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        _positive(self.weights)


@dataclass(frozen=True, slots=True)
class WeightedL1Norm:
    """``sum w_i |x_i|``, positive weights; dual ``max |x_i| / w_i``. Not a maximum over inputs."""

    kind: Literal["weighted_l1"]
    weights: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        _positive(self.weights)


@dataclass(frozen=True, slots=True)
class BlockL2Norm:
    """``max over consecutive blocks of the l2 norm``; one block a token. Dual: sum of l2 norms."""

    kind: Literal["block_l2"]
    block: int

    def __post_init__(self) -> None:
        if self.block < 1:
            raise Malformed("a block has at least one coordinate")


@dataclass(frozen=True, slots=True)
class L2Norm:
    """The Euclidean norm of the whole state. Over several witnesses not a maximum over inputs."""

    kind: Literal["l2"]


Norm = LinfNorm | L1Norm | WeightedLinfNorm | WeightedL1Norm | BlockL2Norm | L2Norm


def _positive(weights: tuple[Fraction, ...]) -> None:
    if not weights or any(weight <= 0 for weight in weights):
        raise Malformed("the weights of a norm are positive, one a coordinate")


# --- objective and domain (theory T1) -----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Emulation:
    """T1.1: error to the high-precision map itself, at most ``tolerance``."""

    kind: Literal["emulation"]
    tolerance: Fraction


@dataclass(frozen=True, slots=True)
class AccuracyMatching:
    """T1.2: error to a common reference at most the comparator's own, known as an interval."""

    kind: Literal["accuracy_matching"]
    comparator: Premise


@dataclass(frozen=True, slots=True)
class Behavioural:
    """T1.3: same decision; ``readout * error < margin`` strictly. Can only show feasibility.

    ``readout`` bounds the dual norm ``||w_i - w_j||_*`` over competing rows.
    """

    kind: Literal["behavioural"]
    margin: Premise
    readout: Premise


Objective = Emulation | AccuracyMatching | Behavioural


@dataclass(frozen=True, slots=True)
class WitnessDomain:
    """The question is about finitely many inputs; for a linear map, the rows of ``inputs``."""

    kind: Literal["witnesses"]
    inputs: Array | None


@dataclass(frozen=True, slots=True)
class FullDomain:
    """The question is about every input. ``inputs`` are the witnesses that bounds are computed on.

    ``covering``: a bound on ``2 K_y eta`` (theory T7.12), what lies between the witnesses; without
    it no upper end from witnesses counts.
    """

    kind: Literal["full"]
    inputs: Array | None
    covering: Premise | None


Domain = WitnessDomain | FullDomain


# --- system, target, dictionary -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LiftedAffineSystem:
    """State-independent autonomous atoms on a finite witness lift, ``z' = b_j`` (theory T7.1)."""

    kind: Literal["lifted_affine"]


@dataclass(frozen=True, slots=True)
class DeclaredSystem:
    """A system known only through declared premises; ``dimension`` is that of its state."""

    kind: Literal["declared"]
    dimension: int


System = LiftedAffineSystem | DeclaredSystem


@dataclass(frozen=True, slots=True)
class VectorTarget:
    """The lifted target itself."""

    kind: Literal["vector"]
    values: Array


@dataclass(frozen=True, slots=True)
class LinearTarget:
    """``x -> W x`` on the witnesses; ``weights`` has shape (outputs, inputs)."""

    kind: Literal["linear_map"]
    weights: Array


@dataclass(frozen=True, slots=True)
class DeclaredTarget:
    """A named map; nothing about it is recomputed here."""

    kind: Literal["declared"]
    name: str


Target = VectorTarget | LinearTarget | DeclaredTarget


@dataclass(frozen=True, slots=True)
class VectorAtom:
    """The lifted atom itself."""

    kind: Literal["vector"]
    values: Array


@dataclass(frozen=True, slots=True)
class LinearAtom:
    """``x -> W x`` on the witnesses; ``weights`` has shape (outputs, inputs)."""

    kind: Literal["linear_map"]
    weights: Array


@dataclass(frozen=True, slots=True)
class QuantizedLinearAtom:
    """``x -> diag(scales) (codes - zero_point) x``; one scale, or one an output row."""

    kind: Literal["quantized_linear"]
    codes: Array
    scales: Array
    zero_point: int


Atom = VectorAtom | LinearAtom | QuantizedLinearAtom


@dataclass(frozen=True, slots=True)
class ListedDictionary:
    """The atoms themselves. ``bits`` is the declared width of an atom's codes."""

    kind: Literal["listed"]
    atoms: tuple[Atom, ...]
    bits: int
    learned: bool
    shared_schedule: bool

    def __post_init__(self) -> None:
        if not 1 <= len(self.atoms) <= MAX_ATOMS:
            raise Malformed(f"a dictionary has 1 to {MAX_ATOMS} atoms, received {len(self.atoms)}")

    @property
    def atom_count(self) -> int:
        """J, the number of atoms."""
        return len(self.atoms)


@dataclass(frozen=True, slots=True)
class DeclaredDictionary:
    """A dictionary known by its size only."""

    kind: Literal["declared"]
    atom_count: int
    bits: int
    learned: bool
    shared_schedule: bool

    def __post_init__(self) -> None:
        if not 1 <= self.atom_count <= MAX_ATOMS:
            raise Malformed(f"a dictionary has 1 to {MAX_ATOMS} atoms, received {self.atom_count}")


Dictionary = ListedDictionary | DeclaredDictionary


# --- floor, synthesis, metadata (theory T7, T3, T5) ---------------------------------------------


@dataclass(frozen=True, slots=True)
class ComputedFloor:
    """A request: bracket the floor with this engine."""

    kind: Literal["compute"]
    engine: Literal["affine_lp"]


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


@dataclass(frozen=True, slots=True)
class CoveringMetadata:
    """T5.1: ``delta_s = constant 2^(-s/dimension)`` and the sensitivity ``L_Omega``."""

    kind: Literal["covering"]
    sensitivity: Premise | None
    constant: Premise | None
    dimension: int

    def __post_init__(self) -> None:
        if self.dimension < 1:
            raise Malformed("a covering has dimension at least 1")


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


# --- tube, execution, routing (theory T4, T6) ---------------------------------------------------


@dataclass(frozen=True, slots=True)
class WholeSpaceTube:
    """The constants hold everywhere."""

    kind: Literal["whole_space"]


@dataclass(frozen=True, slots=True)
class DeclaredTube:
    """A convex tube of all states, with room ``margin`` about the mixed and executed ones."""

    kind: Literal["declared"]
    margin: Premise


Tube = WholeSpaceTube | DeclaredTube


@dataclass(frozen=True, slots=True)
class DepthRule:
    """A number that may depend on depth: ``coefficient / D**power``."""

    coefficient: Fraction
    power: int

    def __post_init__(self) -> None:
        if self.coefficient <= 0 or not 0 <= self.power <= 8:
            raise Malformed("a depth rule is a positive coefficient over D**power, power 0 to 8")


@dataclass(frozen=True, slots=True)
class Grid:
    """A fixed-point grid: coordinate step, rounding, and the half range ``[-limit, limit]``."""

    step: DepthRule
    rounding: Literal["nearest", "directed", "stochastic"]
    limit: Fraction | None

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit <= 0:
            raise Malformed("the half range of a grid is positive")


@dataclass(frozen=True, slots=True)
class Unbounded:
    """The registers are as wide as they need to be; part of what is asked."""

    kind: Literal["unbounded"]


@dataclass(frozen=True, slots=True)
class Saturating:
    """T4.8: clipping; ``margin`` is the distance of every ideal prefix from the box boundary."""

    kind: Literal["saturate"]
    margin: Premise | None


@dataclass(frozen=True, slots=True)
class Wrapping:
    """T4.9: two's complement; uncertified unless a no-overflow invariant is attached."""

    kind: Literal["wrap"]
    no_overflow: Premise | None


Overflow = Unbounded | Saturating | Wrapping


@dataclass(frozen=True, slots=True)
class ExactExecution:
    """Ideal real arithmetic: the question is about exact execution."""

    kind: Literal["exact"]


@dataclass(frozen=True, slots=True)
class QuantizedExecution:
    """Write-back, increment quantization or error feedback on declared grids (theory T4.3-T4.9).

    ``field_error`` is eta, ``initial_error`` the distance of the executed initial state; ``None``
    is unavailable. ``carry`` is the carry's grid, or ``Absent`` when it is kept exactly.
    """

    kind: Literal["quantized"]
    semantics: Literal["write_back", "increment", "error_feedback"]
    grid: Grid
    carry: Grid | None
    field_error: Term | None
    initial_error: Term | None
    overflow: Overflow


Execution = ExactExecution | QuantizedExecution


@dataclass(frozen=True, slots=True)
class NoRouting:
    """There is no router."""

    kind: Literal["none"]


@dataclass(frozen=True, slots=True)
class FrozenRouting:
    """T6.4: a score margin on the whole path."""

    kind: Literal["frozen"]
    margin: Premise | None
    score_error: Premise | None
    score_lipschitz: Premise | None


@dataclass(frozen=True, slots=True)
class RouteEvent:
    """T6: one event of the target route."""

    time: Premise
    slope: Premise
    jump: Premise
    gap_error: Premise
    gap_lipschitz: Premise
    isolation: Premise


@dataclass(frozen=True, slots=True)
class PrescribedRouting:
    """T6.5: event times known in advance."""

    kind: Literal["prescribed"]
    events: tuple[RouteEvent, ...]


@dataclass(frozen=True, slots=True)
class StateDependentRouting:
    """T6.1: events driven by the state."""

    kind: Literal["state_dependent"]
    events: tuple[RouteEvent, ...]
    score_error: Premise | None
    score_lipschitz: Premise | None
    outer_isolation: Premise | None
    oracle_error: Premise | None


Routing = NoRouting | FrozenRouting | PrescribedRouting | StateDependentRouting


# --- search, costs, certificates ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DepthRange:
    """Depths ``first, first + step, ...`` up to ``last``."""

    first: int
    last: int
    step: int

    def __post_init__(self) -> None:
        if not 1 <= self.first <= self.last <= MAX_DEPTH or self.step < 1:
            raise Malformed(f"depths run from 1 to {MAX_DEPTH}, first <= last, step >= 1")


@dataclass(frozen=True, slots=True)
class Search:
    """The declared candidates: every depth of the ranges with every metadata budget."""

    depths: tuple[DepthRange, ...]
    metadata_bits: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.depths or len(self.depths) > MAX_GRID_RANGES:
            raise Malformed(f"a search has 1 to {MAX_GRID_RANGES} depth ranges")
        if not self.metadata_bits or list(self.metadata_bits) != sorted(set(self.metadata_bits)):
            raise Malformed("metadata budgets are distinct, ascending and at least one")
        if self.metadata_bits[0] < 0:
            raise Malformed("a metadata budget is not negative")
        previous = 0
        for depths in self.depths:
            if depths.first <= previous:
                raise Malformed("depth ranges are ascending and disjoint")
            previous = depths.last


@dataclass(frozen=True, slots=True)
class Costs:
    """Declared cost weights (theory T11.4): proxies, not measurements.

    ``cost = codebook + metadata_bit s + schedule_bit D log2 J + step D``; the last holds latency,
    activation and carry traffic a step.
    """

    codebook: Fraction
    metadata_bit: Fraction
    schedule_bit: Fraction
    step: Fraction

    def __post_init__(self) -> None:
        if min(self.codebook, self.metadata_bit, self.schedule_bit, self.step) < 0:
            raise Malformed("cost weights are not negative")


@dataclass(frozen=True, slots=True)
class Certificate:
    """An attached certificate; a required one that is absent or unchecked blocks *certified*."""

    claim: str
    sha256: str | None
    required: bool


@dataclass(frozen=True)
class Question:
    """Everything that is asked, canonically."""

    format: Literal["qreplace/question/v1"]
    objective: Objective
    scope: Literal["endpoint", "path"]
    norm: Norm
    domain: Domain
    horizon: Fraction
    system: System
    initial: Array | None
    tube: Tube | None
    target: Target
    dictionary: Dictionary
    floor: Floor | None
    synthesis: Synthesis | None
    metadata: Metadata | None
    execution: Execution | None
    routing: Routing | None
    search: Search
    costs: Costs
    certificates: tuple[Certificate, ...]

    def __post_init__(self) -> None:
        _check_consistency(self)

    @property
    def codes(self) -> dict[int, Dictionary]:
        """The dictionary that runs at each metadata budget that has its own."""
        if isinstance(self.metadata, CodesMetadata):
            return {code.bits: code.dictionary for code in self.metadata.codes}
        return {}

    def dictionary_for(self, bits: int) -> Dictionary:
        """The dictionary that runs at ``bits`` metadata bits."""
        return self.codes.get(bits, self.dictionary)

    def to_bytes(self) -> bytes:
        """The canonical JSON."""
        return self._canonical

    @property
    def study_id(self) -> str:
        """SHA-256 of the canonical JSON."""
        return sha256_hex(self._canonical)

    @cached_property
    def _canonical(self) -> bytes:
        return canonical_bytes(encode(self))


def read_question(data: bytes) -> Question:
    """Parse and validate a canonical question; its bytes must be canonical too."""
    question = decode(Question, read_json(data, what="question"))
    if question.to_bytes() != data:
        raise Malformed("the question is not in canonical form")
    return question


def _check_consistency(question: Question) -> None:
    """Contradictions between blocks that no single block can see."""
    if question.horizon <= 0:
        raise Malformed("the horizon is positive", pointer="/horizon")
    if isinstance(question.domain, FullDomain) and not maximum_over_inputs(question.norm):
        raise Malformed(
            f"the {question.norm.kind} norm is not a maximum over inputs, so witnesses say nothing "
            "about the full domain",
            pointer="/domain",
        )
    if isinstance(question.metadata, CodesMetadata):
        declared = [code.bits for code in question.metadata.codes]
        if declared != list(question.search.metadata_bits):
            raise Malformed("one code a searched metadata budget, in order", pointer="/metadata")
    elif isinstance(question.metadata, NoMetadata) and question.search.metadata_bits != (0,):
        raise Malformed(
            "without metadata the only budget is 0 bits", pointer="/search/metadata_bits"
        )
    if isinstance(question.system, LiftedAffineSystem):
        _check_lifted(question)
    elif isinstance(question.floor, ComputedFloor):
        raise Malformed(
            "the affine_lp engine needs a lifted_affine system", pointer="/floor/engine"
        )


def _check_lifted(question: Question) -> None:
    if question.horizon != 1:
        raise Malformed("a lifted affine system has horizon 1", pointer="/horizon")
    if isinstance(question.target, DeclaredTarget):
        raise Malformed("a lifted affine system needs its target's data", pointer="/target")
    if not isinstance(question.dictionary, ListedDictionary):
        raise Malformed("a lifted affine system needs its atoms", pointer="/dictionary")
    if question.synthesis is not None and not isinstance(question.synthesis, ComputedSynthesis):
        raise Malformed("a lifted affine system determines its own constants", pointer="/synthesis")
    if isinstance(question.tube, DeclaredTube):
        raise Malformed("a lifted affine system needs no tube", pointer="/tube")
    linear = isinstance(question.target, LinearTarget)
    dictionaries = [question.dictionary, *question.codes.values()]
    for dictionary in dictionaries:
        for index, atom in enumerate(getattr(dictionary, "atoms", ())):
            if linear == isinstance(atom, VectorAtom):
                raise Malformed(
                    "target and atoms are both vectors or both maps of the witnesses",
                    pointer=f"/dictionary/atoms/{index}",
                )
    if linear and question.domain.inputs is None:
        raise Malformed("linear maps need the witness inputs", pointer="/domain/inputs")


def maximum_over_inputs(norm: Norm) -> bool:
    """Whether the norm of a stacked state is a maximum over its inputs (design rule 6)."""
    return isinstance(norm, (LinfNorm, WeightedLinfNorm, BlockL2Norm))
