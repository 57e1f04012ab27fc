"""From a description to the block of ``architecture``, and to the labels it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Literal

from qreplace.architecture.attention import Attention, Head
from qreplace.architecture.field import Branch, Operator, TransformerBlock
from qreplace.architecture.linear import Linear
from qreplace.architecture.mlp import Mlp
from qreplace.architecture.moe import Mixture, StatedExpert
from qreplace.architecture.norms import NormLayer, Tube
from qreplace.errors import InputError
from qreplace.ledger.conversions import Slope, Token
from qreplace.ledger.reader import ZERO, Known, LinearLike, Progress, Reader, Role
from qreplace.ledger.request import (
    AttentionSpec,
    BranchScaleSpec,
    ExpertsSpec,
    GivenLinearSpec,
    LedgerRequest,
    MlpOperatorSpec,
    MlpSpec,
    NoNormSpec,
    NormLayerSpec,
    load_request,
    refuse,
    request_id,
)
from qreplace.premises import Evidence, weakest
from qreplace.spec.findings import Finding, Location
from qreplace.spec.side_files import SideFiles


@dataclass(frozen=True, slots=True)
class Ledger:
    """A block with what it was described by."""

    request: LedgerRequest
    block: TransformerBlock
    known: tuple[Known, ...]
    left_out: bool
    """Whether errors that were left out count as exact."""

    @property
    def digest(self) -> str:
        """SHA-256 of the description."""
        return request_id(self.request)

    @property
    def source(self) -> str:
        """How a premise names this ledger."""
        return f"ledger sha256:{self.digest}"

    def evidence(self, *roles: Role) -> Evidence:
        """The weakest label among the numbers of these roles."""
        return weakest([own.evidence for own in self.known if own.role in roles])

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What a reader of the results has to grant."""
        tube = self.block.tube
        found = ["the field is alpha A(N1(X)) + beta M(N2(X)), in the norm ||X||_{2,inf}"]
        if tube.radius is not None:
            found.append(f"every token of the tube has l2 norm at most {tube.radius}")
        if tube.lower_radius:
            found.append(
                f"what a norm layer divides by has l2 norm at least {tube.lower_radius} on the tube"
            )
        if self.request.experts is not None:
            found.append("intended and executed routers choose the same experts")
        if self.left_out:
            found.append("errors that the ledger's description leaves out are zero")
        return tuple(found)


def load_ledger(path: Path, progress: Progress | None = None) -> Ledger:
    """Read a description and its side files, and compute its norms.

    Raises ``SpecError`` with every problem found, ``InputError`` where the block has no bound.
    """
    request, document = load_request(path)
    reader = Reader(request, SideFiles(path.resolve().parent, {}), progress)
    tube = _tube(reader)
    branches = _branches(reader)
    if progress is not None:
        progress("operator norms", 1, 1)
    if reader.findings:
        refuse(reader.findings, document, str(path))
    block = TransformerBlock(branches, tube)
    return Ledger(request, block, tuple(reader.known), reader.left_out)


def _tube(reader: Reader) -> Tube:
    own = reader.request.tube
    try:
        return Tube(own.radius, own.lower_radius or ZERO)
    except InputError as error:
        reader.findings.append(Finding(("tube", "lower_radius"), error.message, "range"))
        return Tube()


def _branches(reader: Reader) -> dict[str, Branch]:
    request = reader.request
    found: dict[str, Branch] = {}
    if request.attention is not None:
        operator: Operator = _attention(reader, request.attention)
        found["attention"] = _branch(reader, "attention", request.attention, operator)
    if request.mlp is not None:
        operator = _mlp(reader, ("mlp",), request.mlp)
        found["mlp"] = _branch(reader, "mlp", request.mlp, operator)
    if request.experts is not None:
        operator = _mixture(reader, request.experts)
        found["experts"] = _branch(reader, "experts", request.experts, operator)
    return found


def _branch(
    reader: Reader,
    name: Literal["attention", "mlp", "experts"],
    own: AttentionSpec | MlpSpec | ExpertsSpec,
    operator: Operator,
) -> Branch:
    place: Location = (name, "scale")
    scale: BranchScaleSpec = own.scale
    return Branch(
        operator,
        _norm(reader, (name, "norm"), own.norm),
        scale=reader.amount((*place, "value"), scale.value, None),
        scale_error=reader.error((*place, "error"), scale.error, None),
        scale_variation=reader.error((*place, "variation"), scale.variation, None, "variation"),
    )


def _norm(reader: Reader, place: Location, own: NoNormSpec | NormLayerSpec) -> NormLayer:
    width = reader.request.dimensions.model
    if isinstance(own, NoNormSpec):
        if reader.request.tube.radius is None:
            message = "missing key 'radius': without a normalisation nothing bounds the tokens"
            reader.findings.append(Finding(("tube",), message, "missing-key"))
        return NormLayer("none", width)
    if own.eps == 0 and not reader.request.tube.lower_radius:
        message = "needed eps above 0, or tube.lower_radius above 0: else it is not Lipschitz"
        reader.findings.append(Finding((*place, "eps"), message, "range"))
    gamma, gamma_error = reader.parameter(
        (*place, "gamma"), own.gamma, own.gamma_error, width, entrywise=True
    )
    beta, beta_error = reader.parameter((*place, "beta"), own.beta, own.beta_error, width)
    where = (*place, "arithmetic_error")
    arithmetic = reader.error(where, own.arithmetic_error, Token(width))
    return NormLayer(own.kind, width, own.eps, gamma, beta, gamma_error, beta_error, arithmetic)


def _attention(reader: Reader, own: AttentionSpec) -> Attention:
    sizes, place = reader.request.dimensions, ("attention",)
    heads, key_width = sizes.heads, sizes.key or 1
    groups = sizes.key_heads or heads

    def shared(name: str, spec: LinearLike | tuple[LinearLike, ...]) -> list[Linear]:
        found = reader.heads((*place, name), spec, groups, key_width)
        return [layer for layer in found for _ in range(heads // groups)]

    query = reader.heads((*place, "query"), own.query, heads, key_width)
    key, value = shared("key", own.key), shared("value", own.value)
    return Attention(
        tuple(Head(*parts) for parts in zip(query, key, value, strict=False)),
        reader.linear((*place, "output"), own.output, sizes.model, heads * key_width),
        key_width,
        score_error=reader.error((*place, "score_error"), own.score_error, None),
        softmax_error=reader.error((*place, "softmax_error"), own.softmax_error, None),
        product_error=reader.error((*place, "product_error"), own.product_error, Token(key_width)),
        rotary=own.rotary,
    )


def _mlp(reader: Reader, place: Location, own: MlpOperatorSpec) -> Mlp:
    width, hidden = reader.request.dimensions.model, reader.request.dimensions.hidden or 1
    gate = None
    if own.gate is not None:
        gate = reader.linear((*place, "gate"), own.gate, hidden, width)
    return Mlp(
        reader.linear((*place, "up"), own.up, hidden, width),
        reader.linear((*place, "down"), own.down, width, hidden),
        own.activation,
        hidden,
        gate,
        reader.error((*place, "activation_error"), own.activation_error, Token(hidden)),
    )


def _mixture(reader: Reader, own: ExpertsSpec) -> Mixture:
    place: Location = ("experts",)
    expert: Mlp | StatedExpert
    if isinstance(own.expert, MlpOperatorSpec):
        expert = _mlp(reader, (*place, "expert"), own.expert)
    else:
        where = (*place, "expert")
        width = reader.request.dimensions.model
        expert = StatedExpert(
            reader.amount((*where, "bound"), own.expert.bound, Token(width)),
            reader.amount(
                (*where, "lipschitz"), own.expert.lipschitz, Slope(reader.request.tokens)
            ),
            reader.error((*where, "error"), own.expert.error, Token(width)),
        )
    slope, fixed, growing = _scores(reader, own)
    weights = reader.error((*place, "weight_error"), own.weight_error, None)
    return Mixture(expert, own.gating, own.active, slope, fixed, weights, growing)


def _scores(reader: Reader, own: ExpertsSpec) -> tuple[Fraction, Fraction, Fraction]:
    """Slope of the scores; their error, fixed and growing with the normalised input."""
    place: Location = ("experts", "scores")
    if not isinstance(own.scores, GivenLinearSpec):
        slope = reader.amount((*place, "lipschitz"), own.scores.lipschitz, None)
        return slope, reader.error((*place, "error"), own.scores.error, None), ZERO
    slope, change, shift = reader.router(place, own.scores)
    where = (*place, "arithmetic_error")
    rounding = reader.error(where, own.scores.arithmetic_error, None)
    return slope, shift + rounding, change
