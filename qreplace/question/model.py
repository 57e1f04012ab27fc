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
    PrescribedEvent,
    PrescribedRouting,
    QuantizedExecution,
    Registers,
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
    Engine,
    Floor,
    Growth,
    HoelderSynthesis,
    Metadata,
    MetadataCode,
    NoMetadata,
    ParameterFamily,
    ParameterGroup,
    Synthesis,
)
from qreplace.question.objective import (
    AccuracyMatching,
    Behavioural,
    Comparator,
    Domain,
    Emulation,
    FullDomain,
    Objective,
    WitnessDomain,
)
from qreplace.question.piecewise import (
    Activation,
    BallRegion,
    BoxRegion,
    InputRegion,
    NetworkTarget,
    PolygonRegion,
    PolytopeRegion,
    PwaAtom,
    PwaMapData,
    PwaSystem,
    ScheduleTarget,
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
    MAX_POLYNOMIAL_DIMENSION,
    AffineDynamicsSystem,
    Atom,
    DeclaredDictionary,
    DeclaredSystem,
    DeclaredTarget,
    Dictionary,
    ForcingAtom,
    ForcingPiece,
    LiftedAffineSystem,
    LinearAtom,
    LinearTarget,
    ListedDictionary,
    PolynomialAtom,
    PolynomialSystem,
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
    "ENGINES",
    "FORMAT",
    "MAX_ATOMS",
    "MAX_DEPTH",
    "MAX_GRID_RANGES",
    "MAX_POLYNOMIAL_DIMENSION",
    "AccuracyMatching",
    "Activation",
    "AffineDynamicsSystem",
    "Array",
    "Atom",
    "BallRegion",
    "Behavioural",
    "BlockL2Norm",
    "BoundedVariationSynthesis",
    "BoxRegion",
    "Certificate",
    "CodesMetadata",
    "Comparator",
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
    "Engine",
    "ExactExecution",
    "Execution",
    "Floor",
    "ForcingAtom",
    "ForcingPiece",
    "FrozenRouting",
    "FullDomain",
    "Grid",
    "Growth",
    "HoelderSynthesis",
    "InlineArray",
    "InputRegion",
    "L1Norm",
    "L2Norm",
    "LiftedAffineSystem",
    "LinearAtom",
    "LinearTarget",
    "LinfNorm",
    "ListedDictionary",
    "Metadata",
    "MetadataCode",
    "NetworkTarget",
    "NoMetadata",
    "NoRouting",
    "Norm",
    "Objective",
    "Overflow",
    "ParameterFamily",
    "ParameterGroup",
    "PolygonRegion",
    "PolynomialAtom",
    "PolynomialSystem",
    "PolytopeRegion",
    "PrescribedEvent",
    "PrescribedRouting",
    "PwaAtom",
    "PwaMapData",
    "PwaSystem",
    "QuantizedExecution",
    "QuantizedLinearAtom",
    "Question",
    "Registers",
    "RouteEvent",
    "Routing",
    "Saturating",
    "ScheduleTarget",
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
    piecewise = isinstance(question.system, PwaSystem)
    over_inputs = piecewise or maximum_over_inputs(question.norm)
    if isinstance(question.domain, FullDomain) and not over_inputs:
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
    elif isinstance(question.system, (AffineDynamicsSystem, PolynomialSystem)):
        _check_dynamic(question, question.system)
    elif isinstance(question.system, PwaSystem):
        _check_piecewise(question, question.system)
    _check_comparator(question)
    if isinstance(question.floor, ComputedFloor):
        _check_floor(question, question.floor)


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
    _check_atoms(question, (VectorAtom,))


def _check_dynamic(question: Question, system: AffineDynamicsSystem | PolynomialSystem) -> None:
    """Systems whose atoms are given and depend on the state or on time (theory T7.2, T7.4)."""
    name = f"a system of kind {system.kind}"
    if isinstance(question.target, DeclaredTarget):
        raise Malformed(f"{name} needs its target's data", pointer="/target")
    if not isinstance(question.dictionary, ListedDictionary):
        raise Malformed(f"{name} needs its atoms", pointer="/dictionary")
    if isinstance(question.domain, FullDomain):
        raise Malformed(
            f"{name} has one initial state and one target: ask about witnesses", pointer="/domain"
        )
    if isinstance(system, AffineDynamicsSystem):
        _check_atoms(question, (VectorAtom, ForcingAtom))
        for index, atom in enumerate(question.dictionary.atoms):
            if isinstance(atom, ForcingAtom) and atom.pieces[-1].start >= question.horizon:
                raise Malformed(
                    "a piece of a forcing starts beyond the horizon",
                    pointer=f"/dictionary/atoms/{index}",
                )
        return
    if not isinstance(question.target, VectorTarget):
        raise Malformed(f"{name} needs a vector target", pointer="/target")
    for dictionary in (question.dictionary, *question.codes.values()):
        for index, atom in enumerate(getattr(dictionary, "atoms", ())):
            where = f"/dictionary/atoms/{index}"
            if not isinstance(atom, PolynomialAtom):
                raise Malformed(f"{name} has polynomial atoms", pointer=where)
            fits = all(part.fits(system.dimension + 1) for part in atom.field)
            if len(atom.field) != system.dimension or not fits:
                raise Malformed(
                    f"needed {system.dimension} polynomials in t and {system.dimension} "
                    "coordinates",
                    pointer=where,
                )


def _check_piecewise(question: Question, system: PwaSystem) -> None:
    """Target, comparator and atoms are piecewise-affine maps of the inputs (theory T8)."""
    if not isinstance(question.target, (ScheduleTarget, NetworkTarget)):
        raise Malformed("a piecewise-affine system needs a map as its target", pointer="/target")
    if question.synthesis is not None and not isinstance(question.synthesis, ComputedSynthesis):
        raise Malformed(
            "a piecewise-affine system determines its own constants", pointer="/synthesis"
        )
    if question.scope != "endpoint":
        raise Malformed("piecewise-affine maps are compared at their endpoints", pointer="/scope")
    if isinstance(question.domain, FullDomain) and system.region is None:
        raise Malformed("a full domain needs the region of the inputs", pointer="/system/region")
    if isinstance(question.domain, WitnessDomain) and question.domain.inputs is None:
        raise Malformed("needed the witness inputs", pointer="/domain/inputs")
    for dictionary in (question.dictionary, *question.codes.values()):
        for index, atom in enumerate(getattr(dictionary, "atoms", (None,))):
            if not isinstance(atom, PwaAtom):
                raise Malformed(
                    "a piecewise-affine system has piecewise-affine atoms",
                    pointer=f"/dictionary/atoms/{index}",
                )


def _check_comparator(question: Question) -> None:
    objective = question.objective
    if not isinstance(objective, AccuracyMatching) or objective.comparator_map is None:
        return
    if not isinstance(question.system, PwaSystem):
        raise Malformed(
            "a comparator given as a map belongs to a piecewise-affine system",
            pointer="/objective/comparator",
        )


def _check_atoms(question: Question, plain: tuple[type, ...]) -> None:
    """Target and atoms are vectors (``plain``), or maps of the witnesses."""
    linear = isinstance(question.target, LinearTarget)
    dictionaries = [question.dictionary, *question.codes.values()]
    for dictionary in dictionaries:
        for index, atom in enumerate(getattr(dictionary, "atoms", ())):
            other = isinstance(atom, (PolynomialAtom, PwaAtom))
            if other or linear == isinstance(atom, plain):
                raise Malformed(
                    "target and atoms are both vectors or both maps of the witnesses",
                    pointer=f"/dictionary/atoms/{index}",
                )
    if linear and question.domain.inputs is None:
        raise Malformed("linear maps need the witness inputs", pointer="/domain/inputs")


ENGINES: dict[str, tuple[str, ...]] = {
    "lifted_affine": ("auto", "affine_lp"),
    "affine_dynamics": (
        "auto", "affine_dynamics", "observable", "relaxed_control", "support", "hjb_sos", "moment",
    ),
    "polynomial": (
        "auto", "observable", "perturbed", "relaxed_control", "support", "hjb_sos", "moment",
        "compositional",
    ),
    "pwa": ("auto", "net_floor", "affine_dynamics", "observable"),
    "declared": (),
}  # fmt: skip
"""The floor engines that apply to each kind of system."""


def _check_floor(question: Question, floor: ComputedFloor) -> None:
    """The engine fits the system, and its hints fit the state."""
    system = question.system
    fitting = ENGINES[system.kind]
    if floor.engine not in fitting:
        known = f"; there are {', '.join(fitting)}" if fitting else ""
        raise Malformed(
            f"the {floor.engine} engine does not apply to a system of kind {system.kind}{known}",
            pointer="/floor/engine",
        )
    hinted = floor.region or floor.blocks
    if hinted and not isinstance(system, PolynomialSystem):
        raise Malformed("a region and blocks are about polynomial systems", pointer="/floor")
    if isinstance(system, PolynomialSystem):
        if not all(g.fits(system.dimension + 1) and g.exponents for g in floor.region):
            message = "a region holds polynomials in t and the state"
            raise Malformed(message, pointer="/floor/region")
        named = sorted(index for block in floor.blocks for index in block)
        if floor.blocks and named != list(range(system.dimension)):
            raise Malformed("blocks hold every coordinate exactly once", pointer="/floor/blocks")
