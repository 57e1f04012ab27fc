"""The block description, ``qreplace/ledger/v1``: what a user writes, and how it is read.

Numbers are exact, unknown keys are refused, every problem is told at once with its place.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

from pydantic import BaseModel, Field, StrictBool, StrictInt, ValidationError, model_validator

from qreplace.errors import Problem, SpecError
from qreplace.exact.codec import encode
from qreplace.exact.document import canonical_bytes, sha256_hex
from qreplace.spec.blocks.array import ArraySpec, ScalesSpec
from qreplace.spec.findings import Finding, needed, shown, to_problems
from qreplace.spec.premises import BARE_PREMISE, AbsentWord, PremiseSpec
from qreplace.spec.problems import Contract, findings_of
from qreplace.spec.reading import MAX_BYTES, Document, Media, read_document
from qreplace.spec.schema import tidied
from qreplace.spec.values import (
    NUMBER_SCHEMA,
    Block,
    NonNegative,
    Shorthand,
    Text,
    bare,
    choose,
    fault,
    integer,
    is_number,
    kinds,
    tag,
)

FORMAT: Literal["qreplace/ledger/v1"] = "qreplace/ledger/v1"
MAX_WIDTH = 65_536
MAX_HEADS = 1024

Width = Annotated[StrictInt, integer(1, MAX_WIDTH)]
NormName = Literal[
    "token_l2_inf", "token_frobenius", "l2", "l1", "linf", "frobenius", "largest_entry"
]


class AmountSpec(PremiseSpec):
    """A bound with its evidence and source; ``norm`` names the norm it was measured in."""

    norm: NormName | None = None


Amount = Annotated[AmountSpec, BARE_PREMISE]


def _term_kind(value: Any) -> str:
    return "absent" if value in ("none", "exact") else "premise"


Error = Annotated[
    Annotated[AbsentWord, tag("absent")] | Annotated[Amount, tag("premise")],
    choose("exact or a premise", _term_kind),
]
"""An error of a component: a bound, or ``exact``."""


class VectorSpec(Block):
    """A vector of the block itself, and as executed: its norm and error are computed."""

    vector: ArraySpec
    executed: ArraySpec | Literal["exact"]


def _vector_kind(value: Any) -> str:
    return "vector" if isinstance(value, dict) and "vector" in value else "amount"


Parameter = Annotated[
    Annotated[VectorSpec, tag("vector")] | Annotated[Amount, tag("amount")],
    choose("a premise or a vector", _vector_kind),
]


class StatedLinearSpec(Block):
    """A linear layer by its norms: ``||W||``, ``||W_hat - W||``, ``||W_hat||``; biases in l2."""

    norm: Amount
    error: Error | None = None
    executed_norm: Amount | None = None
    bias: Parameter | None = None
    bias_error: Error | None = None
    arithmetic_error: Error | None = None


class CodesSpec(Block):
    """``diag(scales) (codes - zero_point)``; scales one, one a row, or one a row and group."""

    codes: ArraySpec
    scales: ScalesSpec
    zero_point: StrictInt = 0


class QuantizeSpec(Block):
    """Codes rounded to nearest, ties to even: the largest weight of a group gets the last code."""

    bits: Annotated[StrictInt, integer(2, 32)]
    group: Width | None = None


def _executed_kind(value: Any) -> str:
    if value == "exact":
        return "exact"
    return "codes" if isinstance(value, dict) and "codes" in value else "array"


Executed = Annotated[
    Annotated[Literal["exact"], tag("exact")]
    | Annotated[CodesSpec, tag("codes")]
    | Annotated[ArraySpec, tag("array")],
    choose("exact, an array or {codes, scales}", _executed_kind),
]


class GivenLinearSpec(Block):
    """A linear layer by its weights; its norms are computed and proved."""

    weights: ArraySpec
    executed: Executed | None = None
    quantize: QuantizeSpec | None = None
    bias: Parameter | None = None
    bias_error: Error | None = None
    arithmetic_error: Error | None = None

    @model_validator(mode="after")
    def _one_way(self) -> GivenLinearSpec:
        if (self.executed is None) == (self.quantize is None):
            received = "neither" if self.executed is None else "both"
            raise fault(
                needed("executed or quantize beside weights", received, "executed: exact is one."),
                code="contradiction",
            )
        return self


def _linear_kind(value: Any) -> str | None:
    if not isinstance(value, dict):
        return None
    return "weights" if "weights" in value else "norms"


LinearSpec = Annotated[
    Annotated[StatedLinearSpec, tag("norms")] | Annotated[GivenLinearSpec, tag("weights")],
    choose("a linear layer: {norm, error} or {weights, …}", _linear_kind),
]
HeadsSpec = Annotated[
    Annotated[LinearSpec, tag("one")]
    | Annotated[
        Annotated[tuple[LinearSpec, ...], Field(min_length=1, max_length=MAX_HEADS)], tag("each")
    ],
    choose(
        "a linear layer, or a list with one a head",
        lambda value: "each" if isinstance(value, list) else "one",
    ),
]


def _as_scale(value: Any) -> dict[str, Any] | None:
    return {"value": value} if is_number(value) else None


class BranchScaleSpec(Block):
    """alpha or beta: a bound of its size, its error, its total variation over the horizon."""

    value: Amount
    error: Error | None = None
    variation: Error | None = None


Scale = Annotated[
    BranchScaleSpec, Shorthand("a number or {value, error, variation}", _as_scale, NUMBER_SCHEMA)
]


class NoNormSpec(Block):
    """No normalisation: the operator sees the state."""

    kind: Literal["none"]


class NormLayerSpec(Block):
    """A normalisation: ``gamma`` by its largest entry, ``beta`` in l2."""

    kind: Literal["layer_norm", "rms_norm"]
    eps: NonNegative
    gamma: Parameter
    beta: Parameter | None = None
    gamma_error: Error | None = None
    beta_error: Error | None = None
    arithmetic_error: Error | None = None

    @model_validator(mode="after")
    def _shifted(self) -> NormLayerSpec:
        if self.kind == "layer_norm" and self.beta is None:
            raise fault("missing key 'beta': a layer_norm has one; write 0 if it is zero")
        return self


NormLayerChoice = Annotated[
    Annotated[NoNormSpec, tag("none")]
    | Annotated[NormLayerSpec, tag("layer_norm")]
    | Annotated[NormLayerSpec, tag("rms_norm")],
    kinds("none", "layer_norm", "rms_norm"),
    bare("none"),
]


class AttentionSpec(Block):
    """``alpha A(N_1(X))``: softmax attention, masked or not."""

    scale: Scale
    norm: NormLayerChoice
    query: HeadsSpec
    key: HeadsSpec
    value: HeadsSpec
    output: LinearSpec
    rotary: StrictBool = False
    score_error: Error | None = None
    softmax_error: Error | None = None
    product_error: Error | None = None


class MlpOperatorSpec(Block):
    """``W_2 act(W_1 z + b_1) + b_2``, with a ``gate`` if it has one."""

    activation: Literal["gelu", "gelu_tanh", "silu", "relu", "identity"]
    up: LinearSpec
    down: LinearSpec
    gate: LinearSpec | None = None
    activation_error: Error | None = None


class MlpSpec(MlpOperatorSpec):
    """``beta M(N_2(X))``."""

    scale: Scale
    norm: NormLayerChoice


class StatedExpertSpec(Block):
    """Bounds that hold for every expert on the tube."""

    bound: Amount
    lipschitz: Amount
    error: Error | None = None


class StatedScoresSpec(Block):
    """How fast the largest score changes with the normalised state, and its error."""

    lipschitz: Amount
    error: Error | None = None


def _scores_kind(value: Any) -> str:
    return "weights" if isinstance(value, dict) and "weights" in value else "stated"


def _expert_kind(value: Any) -> str:
    return "mlp" if isinstance(value, dict) and "up" in value else "stated"


class ExpertsSpec(Block):
    """``beta M(N_2(X))`` with M a weighted mixture of ``active`` experts (theory T6.7)."""

    scale: Scale
    norm: NormLayerChoice
    gating: Literal["one_hot", "uniform", "softmax"]
    active: Annotated[StrictInt, integer(1, 4096)]
    expert: Annotated[
        Annotated[StatedExpertSpec, tag("stated")] | Annotated[MlpOperatorSpec, tag("mlp")],
        choose("{bound, lipschitz, error} or an MLP that bounds every expert", _expert_kind),
    ]
    scores: Annotated[
        Annotated[StatedScoresSpec, tag("stated")] | Annotated[GivenLinearSpec, tag("weights")],
        choose("{lipschitz, error} or the router's weights", _scores_kind),
    ]
    weight_error: Error | None = None

    @model_validator(mode="after")
    def _one_hot(self) -> ExpertsSpec:
        if self.gating == "one_hot" and self.active != 1:
            raise fault(needed("active: 1 with one_hot", str(self.active)), at=("active",))
        return self


class DimensionsSpec(Block):
    """Widths of the block; ``key`` and ``hidden`` belong to attention and MLP."""

    model: Width
    heads: Annotated[StrictInt, integer(1, MAX_HEADS)] = 1
    key_heads: Annotated[StrictInt, integer(1, MAX_HEADS)] | None = None
    key: Width | None = None
    hidden: Width | None = None


class LedgerTubeSpec(Block):
    """The convex set on which everything holds."""

    radius: NonNegative | None = None
    lower_radius: NonNegative | None = None


class LedgerRequest(Block):
    """A pre-norm block and what each of its components errs by."""

    format: Literal["qreplace/ledger/v1"]
    title: Text = ""
    notes: Text = ""
    norm: Literal["token_l2_inf"]
    dimensions: DimensionsSpec
    tokens: Annotated[StrictInt, integer(1, 1 << 30)] | None = None
    tube: LedgerTubeSpec
    atoms: Annotated[StrictInt, integer(1, 4096)] = 1
    unstated_errors: Literal["exact"] | None = None
    attention: AttentionSpec | None = None
    mlp: MlpSpec | None = None
    experts: ExpertsSpec | None = None

    @model_validator(mode="after")
    def _branches(self) -> LedgerRequest:
        if self.mlp is not None and self.experts is not None:
            raise fault(needed("mlp or experts", "both"), at=("experts",), code="contradiction")
        if self.attention is None and self.mlp is None and self.experts is None:
            raise fault(needed("attention, mlp or experts", "none of them"), code="missing-key")
        if self.attention is not None and self.dimensions.key is None:
            raise fault("missing key 'key': the width of a head's keys", at=("dimensions",))
        inner = self.mlp or (self.experts and self.experts.expert)
        if isinstance(inner, MlpOperatorSpec) and self.dimensions.hidden is None:
            raise fault("missing key 'hidden': the width of the MLP", at=("dimensions",))
        groups = self.dimensions.key_heads or self.dimensions.heads
        if self.dimensions.heads % groups:
            raise fault("key_heads has to divide heads", at=("dimensions", "key_heads"))
        return self


CONTRACT = Contract(LedgerRequest, "schemas/ledger.v1.md")


def ledger_schema() -> dict[str, Any]:
    """The JSON Schema of a block description, the same every time."""
    identifier = "https://qreplace.dev/schemas/ledger.v1.json"
    return tidied(LedgerRequest.model_json_schema(by_alias=True), identifier, FORMAT)


def request_id(request: LedgerRequest) -> str:
    """SHA-256 of the canonical description: texts for people and paths of files dropped."""
    return sha256_hex(canonical_bytes(encode(_written_out(request))))


_FOR_PEOPLE = frozenset(["title", "notes", "description", "path"])


def _written_out(value: Any) -> Any:
    """A model as the document that says the same, without shorthands."""
    if isinstance(value, BaseModel):
        held = {name: getattr(value, name) for name in type(value).model_fields}
        return {
            name: _written_out(part)
            for name, part in held.items()
            if part is not None and name not in _FOR_PEOPLE
        }
    return [_written_out(part) for part in value] if isinstance(value, tuple) else value


def load_request(path: Path) -> tuple[LedgerRequest, Document]:
    """Read a block description; raises ``SpecError`` with every problem found."""
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it cannot be read"
        message = needed("a readable block description", str(reason))
        raise SpecError([Problem(message, file=str(path), code="unreadable")]) from None
    media: Media | None = "json" if path.suffix.lower() == ".json" else None
    return read_request(data, str(path), media)


def read_request(data: bytes, name: str, media: Media | None) -> tuple[LedgerRequest, Document]:
    """Read a block description from memory; raises ``SpecError`` with every problem found."""
    document = read_document(data, media)
    if document.findings:
        refuse(list(document.findings), document, name)
    if not isinstance(document.tree, dict):
        what = "a block description (an object with the key format)"
        refuse([Finding((), needed(what, shown(document.tree)), "type")], document, name)
    try:
        return LedgerRequest.model_validate(document.tree), document
    except ValidationError as error:
        refuse(findings_of(error, document.tree, CONTRACT), document, name)


def refuse(findings: list[Finding], document: Document, name: str) -> NoReturn:
    """Raise ``SpecError`` with every finding at its place."""
    raise SpecError(to_problems(findings, document.positions(), name))
