"""The canonical question: what is asked and on which premises, exactly, and nothing else.

Its blocks live beside this file (``terms``, ``objective``, ``system``, ``floor``, ``execution``,
``search``) and are all importable from here.

Paths, comments and texts for people are gone; arrays are named by digest. The SHA-256 of the
canonical JSON of a ``Question`` is the study id. An omitted block is ``None`` and means
*unavailable*; an explicit ``none`` or ``exact`` is a value of its own (design rule 4).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

from qreplace.errors import Malformed
from qreplace.exact.codec import decode, encode
from qreplace.exact.document import canonical_bytes, read_json, sha256_hex
from qreplace.question.execution import (
    DeclaredTube,
    DepthRule,
    ExactExecution,
    Execution,
    FrozenRouting,
    Grid,
    NoRouting,
    Overflow,
    PrescribedRouting,
    QuantizedExecution,
    RouteEvent,
    Routing,
    Saturating,
    StateDependentRouting,
    Tube,
    Unbounded,
    WholeSpaceTube,
    Wrapping,
)
from qreplace.question.floor import (
    BoundedVariationSynthesis,
    CodesMetadata,
    ComputedFloor,
    ComputedSynthesis,
    ConstantSynthesis,
    CoveringMetadata,
    DeclaredFloor,
    Floor,
    Growth,
    HoelderSynthesis,
    Metadata,
    MetadataCode,
    NoMetadata,
    Synthesis,
)
from qreplace.question.objective import (
    AccuracyMatching,
    Behavioural,
    Domain,
    Emulation,
    FullDomain,
    Objective,
    WitnessDomain,
)
from qreplace.question.search import (
    MAX_DEPTH,
    MAX_GRID_RANGES,
    Certificate,
    Costs,
    DepthRange,
    Search,
)
from qreplace.question.system import (
    MAX_ATOMS,
    Atom,
    DeclaredDictionary,
    DeclaredSystem,
    DeclaredTarget,
    Dictionary,
    LiftedAffineSystem,
    LinearAtom,
    LinearTarget,
    ListedDictionary,
    QuantizedLinearAtom,
    System,
    Target,
    VectorAtom,
    VectorTarget,
)
from qreplace.question.terms import (
    Array,
    BlockL2Norm,
    InlineArray,
    L1Norm,
    L2Norm,
    LinfNorm,
    Norm,
    StoredArray,
    WeightedL1Norm,
    WeightedLinfNorm,
    maximum_over_inputs,
)

FORMAT: Literal["qreplace/question/v1"] = "qreplace/question/v1"

__all__ = [
    "FORMAT",
    "MAX_ATOMS",
    "MAX_DEPTH",
    "MAX_GRID_RANGES",
    "AccuracyMatching",
    "Array",
    "Atom",
    "Behavioural",
    "BlockL2Norm",
    "BoundedVariationSynthesis",
    "Certificate",
    "CodesMetadata",
    "ComputedFloor",
    "ComputedSynthesis",
    "ConstantSynthesis",
    "Costs",
    "CoveringMetadata",
    "DeclaredDictionary",
    "DeclaredFloor",
    "DeclaredSystem",
    "DeclaredTarget",
    "DeclaredTube",
    "DepthRange",
    "DepthRule",
    "Dictionary",
    "Domain",
    "Emulation",
    "ExactExecution",
    "Execution",
    "Floor",
    "FrozenRouting",
    "FullDomain",
    "Grid",
    "Growth",
    "HoelderSynthesis",
    "InlineArray",
    "L1Norm",
    "L2Norm",
    "LiftedAffineSystem",
    "LinearAtom",
    "LinearTarget",
    "LinfNorm",
    "ListedDictionary",
    "Metadata",
    "MetadataCode",
    "NoMetadata",
    "NoRouting",
    "Norm",
    "Objective",
    "Overflow",
    "PrescribedRouting",
    "QuantizedExecution",
    "QuantizedLinearAtom",
    "Question",
    "RouteEvent",
    "Routing",
    "Saturating",
    "Search",
    "StateDependentRouting",
    "StoredArray",
    "Synthesis",
    "System",
    "Target",
    "Tube",
    "Unbounded",
    "VectorAtom",
    "VectorTarget",
    "WeightedL1Norm",
    "WeightedLinfNorm",
    "WholeSpaceTube",
    "WitnessDomain",
    "Wrapping",
    "maximum_over_inputs",
    "read_question",
]


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
    for dictionary in (question.dictionary, *question.codes.values()):
        if not dictionary.shared_schedule:
            raise Malformed(
                "every theorem used here is about one schedule shared by all inputs",
                pointer="/dictionary/shared_schedule",
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
