"""The simulation request, ``qreplace/simulation/v1``: what a user writes, and how it is read.

One document a kind; numbers are exact, unknown keys are refused, every problem is told at once with
its place. ``build`` turns a request into the data of ``model``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

from pydantic import (
    BaseModel,
    Field,
    StrictBool,
    StrictInt,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from qreplace.errors import Problem, SpecError
from qreplace.exact.codec import encode
from qreplace.exact.document import canonical_bytes, sha256_hex
from qreplace.simulate.model import (
    MAX_SIMULATED_DEPTH,
    MAX_WIDTH,
    SEMANTICS,
    Rounding,
    Semantics,
)
from qreplace.spec.blocks.execution import DepthRuleSpec, _as_rule
from qreplace.spec.blocks.search import DepthEntry
from qreplace.spec.findings import Finding, Positions, needed, shown, to_problems
from qreplace.spec.problems import Contract, findings_of
from qreplace.spec.reading import MAX_BYTES, Document, Media, read_document
from qreplace.spec.schema import tidied
from qreplace.spec.values import (
    NUMBER_SCHEMA,
    Block,
    Exact,
    NonNegative,
    Positive,
    Shorthand,
    Text,
    choose,
    fault,
    integer,
    tag,
)

FORMAT: Literal["qreplace/simulation/v1"] = "qreplace/simulation/v1"

MAX_LISTED = 65_536
MAX_DEPTHS = 256
SEED_LIMIT = 2**63 - 1

Width = Annotated[StrictInt, integer(1, MAX_WIDTH)]
Seed = Annotated[StrictInt, integer(0, SEED_LIMIT)]
Numbers = Annotated[tuple[Exact, ...], Field(min_length=1, max_length=MAX_LISTED)]
Rows = Annotated[tuple[Numbers, ...], Field(min_length=1, max_length=MAX_LISTED)]
OnOverflow = Literal["detect", "saturate", "wrap"]


class FixedPointSpec(Block):
    """A fixed-point register: by its ``step``, or by ``bits`` over ``[-limit, limit]`` (T4.3).

    ``step`` may shrink with depth as ``{coefficient, power}``; ``steps`` gives one a channel, or
    one row a step of the run.
    """

    step: (
        Annotated[
            DepthRuleSpec, Shorthand("a number or {coefficient, power}", _as_rule, NUMBER_SCHEMA)
        ]
        | None
    ) = None
    steps: Rows | None = None
    bits: Width | None = None
    limit: Positive | None = None
    on_overflow: OnOverflow = "detect"

    @model_validator(mode="after")
    def _one_way(self) -> FixedPointSpec:
        given = [n for n in ("step", "steps", "limit") if getattr(self, n) is not None]
        if len(given) != 1:
            received = " and ".join(given) or "none of them"
            raise fault(needed("one of step, steps and limit", received), code="contradiction")
        if self.limit is not None and self.bits is None:
            raise fault("needed bits beside limit: the step is 2 limit / (2^bits - 1)")
        if self.steps is not None and any(step <= 0 for row in self.steps for step in row):
            raise fault(needed("steps above 0", "one that is not"), code="range")
        return self


class FloatingPointSpec(Block):
    """A floating format by name: bf16, fp16, e4m3, e5m2, e2m1 and others (T4.12)."""

    format: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,31}$")]


def _format_kind(value: Any) -> str | None:
    if not isinstance(value, dict):
        return None
    return "floating" if "format" in value else "fixed"


def _as_format(value: Any) -> dict[str, Any] | None:
    return {"format": value} if type(value) is str else None


FormatSpec = Annotated[
    Annotated[FixedPointSpec, tag("fixed")] | Annotated[FloatingPointSpec, tag("floating")],
    choose("a register: {step, bits}, {limit, bits} or the name of a format", _format_kind),
    Shorthand("a register or the name of a format", _as_format, {"type": "string"}),
]


class AccumulatorSpec(Block):
    """The register in which dot products add up (T4.11)."""

    bits: Width | None = None
    on_overflow: OnOverflow = "detect"
    tile: Annotated[StrictInt, integer(1, MAX_LISTED)] | None = None
    inner_bits: Width | None = None
    pairwise: StrictBool = False


class AffineAtomSpec(Block):
    """``G(z) = matrix z + offset``."""

    kind: Literal["affine"] = "affine"
    offset: Numbers
    matrix: Rows | None = None


class ReluAtomSpec(Block):
    """``G(z) = outer max(0, inner z + bias) + offset``; ``offset`` is 0 when it is left out."""

    kind: Literal["relu"]
    inner: Rows
    bias: Numbers
    outer: Rows
    offset: Numbers | None = None


class SoftThresholdAtomSpec(Block):
    """``G(z) = S(inner z + bias) - z``, ``S`` the soft threshold: a step of an unfolded solver."""

    kind: Literal["soft_threshold"]
    inner: Rows
    bias: Numbers
    threshold: NonNegative


def _atom_kind(value: Any) -> str | None:
    kind = value.get("kind", "affine") if isinstance(value, dict) else None
    return kind if kind in ("affine", "relu", "soft_threshold") else None


AtomSpec = Annotated[
    Annotated[AffineAtomSpec, tag("affine")]
    | Annotated[ReluAtomSpec, tag("relu")]
    | Annotated[SoftThresholdAtomSpec, tag("soft_threshold")],
    choose("one of the kinds affine, relu, soft_threshold", _atom_kind),
]


class SystemSpec(Block):
    """``z += (horizon / D) G_j(z)`` a step; ``rate z + matrix z`` is added to every atom."""

    horizon: Positive = Field(default=1, validate_default=True, json_schema_extra={"default": 1})
    initial_state: Numbers
    rate: Exact | None = None
    matrix: Rows | None = None
    atoms: Annotated[tuple[AtomSpec, ...], Field(min_length=1, max_length=4096)]


class ScheduleSpec(Block):
    """Which atom runs at each step: a rule for weights, the steps themselves, or all schedules."""

    rule: Literal["chairman", "greedy", "sum_up"] | None = None
    weights: Annotated[tuple[NonNegative, ...], Field(min_length=1, max_length=4096)] | None = None
    steps: Annotated[tuple[StrictInt, ...], Field(min_length=1, max_length=MAX_LISTED)] | None = (
        None
    )
    all: StrictBool = False

    @model_validator(mode="after")
    def _one_way(self) -> ScheduleSpec:
        ways = [self.weights is not None, self.steps is not None, self.all]
        if sum(ways) != 1:
            raise fault(
                needed("one of weights, steps and all", f"{sum(ways)} of them"),
                code="contradiction",
            )
        if self.rule is not None and self.weights is None:
            raise fault(needed("weights beside a rule", "none"), code="contradiction")
        return self


class ArithmeticSpec(Block):
    """How the system runs: semantics, rounding and the register of each quantity (T4.2-T4.9)."""

    semantics: Annotated[tuple[Semantics, ...], Field(min_length=1, max_length=len(SEMANTICS))]
    rounding: Rounding = "nearest_even"
    seed: Seed = 0
    state: FormatSpec | None = None
    increment: FormatSpec | None = None
    carry: FormatSpec | None = None
    activation: FormatSpec | None = None
    accumulator: AccumulatorSpec | None = None

    @model_validator(mode="before")
    @classmethod
    def _one_or_more(cls, value: Any) -> Any:
        if isinstance(value, dict) and type(value.get("semantics")) is str:
            return {**value, "semantics": [value["semantics"]]}
        return value


Depths = Annotated[tuple[DepthEntry, ...], Field(min_length=1, max_length=MAX_DEPTHS)]


class _Request(Block):
    format: Literal["qreplace/simulation/v1"]
    title: Text = ""
    notes: Text = ""


class SwitchingRequest(_Request):
    """Schedules of a rule and their realised prefix discrepancies (T2)."""

    kind: Literal["switching"]
    weights: Annotated[tuple[Numbers, ...], Field(min_length=1, max_length=MAX_LISTED)]
    depth: Annotated[StrictInt, integer(1, MAX_SIMULATED_DEPTH)] | None = None
    rules: Annotated[
        tuple[Literal["chairman", "greedy", "sum_up"], ...], Field(min_length=1, max_length=3)
    ] = ("chairman", "greedy")

    @model_validator(mode="before")
    @classmethod
    def _one_row(cls, value: Any) -> Any:
        """A flat list of weights is one row, used at every step."""
        rows = value.get("weights") if isinstance(value, dict) else None
        if isinstance(rows, list) and rows and not isinstance(rows[0], list):
            return {**value, "weights": [rows]}
        return value

    @model_validator(mode="after")
    def _depth_of_rows(self) -> SwitchingRequest:
        if len(self.weights) == 1 and self.depth is None:
            raise fault(needed("depth beside constant weights", "none"), code="missing-key")
        if len(self.weights) > 1 and self.depth not in (None, len(self.weights)):
            raise fault(
                needed(f"depth {len(self.weights)}, the number of rows of weights",
                       str(self.depth)),
                at=("depth",), code="contradiction",
            )  # fmt: skip
        return self


class ArithmeticRequest(_Request):
    """Runs of one system in its declared arithmetic beside ideal ones (T4)."""

    kind: Literal["arithmetic"]
    system: SystemSpec
    schedule: ScheduleSpec
    depths: Depths
    arithmetic: ArithmeticSpec


class LatticeRequest(_Request):
    """The exhaustive common-lattice grid and randomized trials (T4.10)."""

    kind: Literal["lattice"]
    max_code: Annotated[StrictInt, integer(1, 64)] = 8
    max_depth: Annotated[StrictInt, integer(1, 12)] = 5
    ratios: Annotated[
        tuple[Annotated[StrictInt, integer(1, 4096)], ...], Field(min_length=1, max_length=64)
    ] = (1, 2, 3, 4, 8)
    trials: Annotated[StrictInt, integer(0, 100_000)] = 500
    seed: Seed = 0
    rounding: Literal["nearest_even", "nearest_away", "toward_zero", "floor"] = "nearest_even"


class PhaseRequest(_Request):
    """Error against depth for each semantics, and over depth and state bits (T4.3-T4.7)."""

    kind: Literal["phase"]
    system: SystemSpec | None = None
    weights: Annotated[tuple[NonNegative, ...], Field(min_length=1, max_length=4096)] | None = None
    depths: Depths | None = None
    state_bits: Width | None = None
    limit: Positive | None = None
    rounding: Literal["nearest_even", "nearest_away"] = "nearest_even"

    @model_validator(mode="after")
    def _together(self) -> PhaseRequest:
        if (self.system is None) != (self.weights is None):
            raise fault(needed("system and weights together", "one of them"), code="contradiction")
        return self


class RoutedMapSpec(Block):
    """``matrix z + offset + drift t``; what is left out is 0."""

    offset: Numbers
    matrix: Rows | None = None
    drift: Numbers | None = None


class RoutedSystemSpec(Block):
    """Experts, their library atoms and the target's scores; ``top_k`` experts run in each step.

    ``atoms`` has one row an atom, in it one field an expert. An atom's field is the mean of the
    chosen experts', weighted with ``gates`` (equal when left out).
    """

    horizon: Positive = Field(default=1, validate_default=True, json_schema_extra={"default": 1})
    initial_state: Numbers
    top_k: Annotated[StrictInt, integer(1, 62)] = 1
    gates: Annotated[tuple[Positive, ...], Field(min_length=1, max_length=62)] | None = None
    atoms: Annotated[
        tuple[Annotated[tuple[RoutedMapSpec, ...], Field(min_length=1, max_length=62)], ...],
        Field(min_length=1, max_length=4096),
    ]
    scores: RoutedMapSpec


class RoutingRequest(_Request):
    """A router that the state drives, beside the run that is given the target's route (T6)."""

    kind: Literal["routing"]
    system: RoutedSystemSpec
    implemented: RoutedMapSpec | None = None
    noise: NonNegative = Field(default=0, validate_default=True, json_schema_extra={"default": 0})
    seed: Seed = 0
    schedule: ScheduleSpec | None = None
    depths: Depths
    target_steps: Annotated[StrictInt, integer(16, 4_194_304)] = 65_536
    cells: Annotated[StrictInt, integer(4, 16_384)] | None = None

    @model_validator(mode="after")
    def _constant_weights(self) -> RoutingRequest:
        if self.schedule is None and len(self.system.atoms) > 1:
            raise fault(needed("a schedule beside several atoms", "none"), code="missing-key")
        if self.schedule is not None and self.schedule.weights is None:
            words = needed("weights: the target's path is that of the relaxed system", "none")
            raise fault(words, at=("schedule",), code="missing-key")
        return self


Request = SwitchingRequest | ArithmeticRequest | LatticeRequest | PhaseRequest | RoutingRequest
MODELS: dict[str, type[Request]] = {
    "switching": SwitchingRequest,
    "arithmetic": ArithmeticRequest,
    "lattice": LatticeRequest,
    "phase": PhaseRequest,
    "routing": RoutingRequest,
}


def simulation_schema() -> dict[str, Any]:
    """The JSON Schema of a request of any kind, the same every time."""
    identifier = "https://qreplace.dev/schemas/simulation.v1.json"
    return tidied(TypeAdapter(Request).json_schema(by_alias=True), identifier, FORMAT)


def request_bytes(request: Request) -> bytes:
    """The canonical JSON of a request: every default written out, texts for people dropped."""
    tree = _written_out(request)
    return canonical_bytes(encode({k: v for k, v in tree.items() if k not in ("title", "notes")}))


def _written_out(value: Any) -> Any:
    """A model as the document that says the same, without shorthands."""
    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        held = {(info.alias or name): getattr(value, name) for name, info in fields.items()}
        return {name: _written_out(part) for name, part in held.items() if part is not None}
    return [_written_out(part) for part in value] if isinstance(value, tuple) else value


def request_id(request: Request) -> str:
    """SHA-256 of the canonical request: the same simulation, the same id."""
    return sha256_hex(request_bytes(request))


def is_request(path: str | os.PathLike[str]) -> bool:
    """Whether a file's format is that of a simulation request; ``False`` where it is unreadable."""
    try:
        document = read_document(_bytes(path), _media(path))
    except SpecError:
        return False
    tree = document.tree
    return isinstance(tree, dict) and str(tree.get("format", "")).startswith("qreplace/simulation/")


def load_request(path: str | os.PathLike[str], kind: str | None = None) -> Request:
    """Read a request file, of one ``kind`` if it is given.

    Raises ``SpecError`` with every problem found.
    """
    return read_request(_bytes(path), name=str(path), media=_media(path), kind=kind)


def _media(path: str | os.PathLike[str]) -> Media | None:
    return "json" if Path(path).suffix.lower() == ".json" else None


def _bytes(path: str | os.PathLike[str]) -> bytes:
    try:
        with Path(path).open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it cannot be read"
        message = needed("a readable request file", str(reason))
        raise SpecError([Problem(message, file=str(path), code="unreadable")]) from None


def read_request(
    data: bytes, *, name: str, media: Media | None, kind: str | None = None
) -> Request:
    """Read a request from memory; raises ``SpecError`` with every problem found."""
    return _request_of(read_document(data, media), name, kind)


def request_from(tree: dict[str, Any], name: str) -> Request:
    """A request made of plain values, as options of a command are; raises ``SpecError``."""
    return _request_of(Document(tree, (), Positions), name, None)


def _request_of(document: Document, name: str, wanted: str | None) -> Request:
    if document.findings:
        _refuse(list(document.findings), document, name)
    tree = document.tree
    if not isinstance(tree, dict):
        what = "a simulation request (an object with the keys format and kind)"
        _refuse([Finding((), needed(what, shown(tree)), "type")], document, name)
    kind = tree.get("kind")
    model = MODELS.get(kind) if isinstance(kind, str) else None
    if model is None or wanted not in (None, kind):
        kinds = f"the kind {wanted}" if wanted else f"one of the kinds {', '.join(MODELS)}"
        where = ("kind",) if "kind" in tree else ()
        _refuse([Finding(where, needed(kinds, shown(kind)), "kind")], document, name)
    try:
        return model.model_validate(tree)
    except ValidationError as error:
        contract = Contract(model, "schemas/simulation.v1.md")
        _refuse(findings_of(error, tree, contract), document, name)


def _refuse(findings: list[Finding], document: Document, name: str) -> NoReturn:
    raise SpecError(to_problems(findings, document.positions(), name))
