"""Random Transformer parts, intended and executed, evaluated directly in float64.

A part knows its arrays and gives the numbers that a ledger is built on: exact upper bounds of the
arrays' norms. ``python tests/random_blocks.py`` prints how loose each bound is (docs/ledger.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from qreplace.architecture.activations import Activation
from qreplace.architecture.attention import Attention, Head
from qreplace.architecture.field import Branch, TransformerBlock
from qreplace.architecture.linear import Linear
from qreplace.architecture.mlp import Mlp
from qreplace.architecture.moe import Gating, Mixture
from qreplace.architecture.norms import NormKind, NormLayer, Tube

Floats = NDArray[np.float64]
Rng = np.random.Generator


def above(value: float) -> Fraction:
    """A rational a little above a float: pays for its last bits."""
    return Fraction(float(value)) * (1 + Fraction(1, 10**12))


def token_norm(x: Floats) -> Floats:
    """``||X||_{2,inf}`` over the last two axes."""
    return np.linalg.norm(x, axis=-1).max(axis=-1)


def in_ball(rng: Rng, shape: tuple[int, ...], radius: float) -> Floats:
    """Tokens of l2 norm at most ``radius``, many of them on the sphere."""
    x = rng.normal(size=shape)
    length = radius * np.minimum(1.0, rng.uniform(0.2, 1.4, size=(*shape[:-1], 1)))
    return x / np.linalg.norm(x, axis=-1, keepdims=True) * length


def moved(rng: Rng, x: Floats, radius: float, size: float) -> Floats:
    """Tokens near ``x`` that stay in the ball."""
    y = x + in_ball(rng, x.shape, size)
    return y * np.minimum(1.0, radius / np.linalg.norm(y, axis=-1, keepdims=True))


def act(name: Activation, x: Floats) -> Floats:
    """The activation."""
    if name == "gelu":
        return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))
    if name == "gelu_tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    if name == "silu":
        return x * 0.5 * (1 + np.tanh(x / 2))
    return np.maximum(x, 0) if name == "relu" else x


def softmax(scores: Floats) -> Floats:
    """Rows of weights."""
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


@dataclass
class Layer:
    """A linear layer: ``intended`` and ``executed`` weights and biases."""

    weight: Floats
    executed: Floats
    bias: Floats
    executed_bias: Floats

    def run(self, z: Floats, *, executed: bool = False) -> Floats:
        """``W z + b`` for every token."""
        if executed:
            return z @ self.executed.T + self.executed_bias
        return z @ self.weight.T + self.bias

    def numbers(self) -> Linear:
        """What a ledger knows of it."""
        return Linear(
            norm=above(np.linalg.norm(self.weight, 2)),
            difference=above(np.linalg.norm(self.executed - self.weight, 2)),
            executed=above(np.linalg.norm(self.executed, 2)),
            bias=above(np.linalg.norm(self.bias)),
            bias_error=above(np.linalg.norm(self.executed_bias - self.bias)),
        )


def quantised(weight: Floats, bits: int) -> Floats:
    """Rows rounded to nearest codes."""
    scale = np.abs(weight).max(axis=-1, keepdims=True) / (2 ** (bits - 1) - 1)
    return np.rint(weight / scale) * scale


def layer(rng: Rng, rows: int, columns: int, size: float, bits: int | None = None) -> Layer:
    """A random layer; executed with noise of random size, or with rounded weights."""
    weight = rng.normal(size=(rows, columns)) * size / math.sqrt(columns)
    bias = rng.normal(size=rows) * size * rng.choice([0.0, 0.3, 2.0])
    if bits is not None:
        return Layer(weight, quantised(weight, bits), bias, bias)
    noise = size * 10 ** rng.uniform(-3, 0)
    return Layer(
        weight, weight + noise * rng.normal(size=weight.shape) / math.sqrt(columns),
        bias, bias + noise * 0.3 * rng.normal(size=rows),
    )  # fmt: skip


@dataclass
class NormPart:
    """A normalisation with its parameters, intended and executed."""

    kind: NormKind
    epsilon: Fraction
    gamma: Floats
    beta: Floats
    executed_gamma: Floats
    executed_beta: Floats

    def unit(self, x: Floats) -> Floats:
        """``P x / s(x)``."""
        centred = x - x.mean(axis=-1, keepdims=True) if self.kind == "layer_norm" else x
        square = (centred**2).mean(axis=-1, keepdims=True)
        return centred / np.sqrt(square + float(self.epsilon))

    def run(self, x: Floats, *, executed: bool = False) -> Floats:
        """The normalised tokens."""
        if executed:
            return self.unit(x) * self.executed_gamma + self.executed_beta
        return self.unit(x) * self.gamma + self.beta

    def numbers(self) -> NormLayer:
        """What a ledger knows of it."""
        return NormLayer(
            self.kind, len(self.gamma), self.epsilon,
            gamma=above(np.abs(self.gamma).max()),
            beta=above(np.linalg.norm(self.beta)),
            gamma_error=above(np.abs(self.executed_gamma - self.gamma).max()),
            beta_error=above(np.linalg.norm(self.executed_beta - self.beta)),
        )  # fmt: skip


def norm_part(rng: Rng, width: int, epsilon: Fraction | None = None) -> NormPart:
    """A random LayerNorm or RMSNorm."""
    gamma, beta = rng.uniform(0.3, 1.5, size=width), 0.2 * rng.normal(size=width)
    noise = 10 ** rng.uniform(-4, -1)
    kind: NormKind = "layer_norm" if rng.random() < 0.5 else "rms_norm"
    own = Fraction(1, int(rng.choice([2, 10, 100]))) if epsilon is None else epsilon
    return NormPart(
        kind, own, gamma, beta,
        gamma + noise * rng.normal(size=width), beta + noise * rng.normal(size=width),
    )  # fmt: skip


@dataclass
class AttentionPart:
    """Multi-head attention, causal or not, with or without rotary encoding."""

    heads: list[tuple[Layer, Layer, Layer]]
    output: Layer
    key_width: int
    causal: bool = False
    rotary: bool = False

    def run(self, z: Floats, *, executed: bool = False) -> Floats:
        """The operator on states of shape (cases, tokens, width)."""
        found = []
        for query, key, value in self.heads:
            q, k = query.run(z, executed=executed), key.run(z, executed=executed)
            if self.rotary:
                q, k = _rotated(q), _rotated(k)
            scores = q @ np.swapaxes(k, -1, -2) / math.sqrt(self.key_width)
            if self.causal:
                tokens = z.shape[-2]
                scores = np.where(np.tri(tokens, dtype=bool), scores, -np.inf)
            found.append(softmax(scores) @ value.run(z, executed=executed))
        return self.output.run(np.concatenate(found, axis=-1), executed=executed)

    def numbers(self) -> Attention:
        """What a ledger knows of it."""
        heads = tuple(Head(*(part.numbers() for part in head)) for head in self.heads)
        return Attention(heads, self.output.numbers(), self.key_width, rotary=self.rotary)


def _rotated(x: Floats) -> Floats:
    angle = np.arange(x.shape[-2])[:, None] * 0.7
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = np.empty_like(x)
    turned[..., 0::2] = even * np.cos(angle) - odd * np.sin(angle)
    turned[..., 1::2] = even * np.sin(angle) + odd * np.cos(angle)
    return turned


def attention_part(
    rng: Rng, width: int, bits: int | None = None, size: float | None = None
) -> AttentionPart:
    """A random attention of one to three heads."""
    key_width = 2 * int(rng.integers(1, 4))
    scale = 10 ** rng.uniform(-1.5, 0.3) if size is None else size
    count = int(rng.integers(1, 4))
    heads = [
        (
            layer(rng, key_width, width, scale, bits),
            layer(rng, key_width, width, scale, bits),
            layer(rng, key_width, width, scale, bits),
        )
        for _ in range(count)
    ]
    output = layer(rng, width, count * key_width, scale, bits)
    return AttentionPart(heads, output, key_width, rng.random() < 0.5, rng.random() < 0.5)


@dataclass
class MlpPart:
    """An MLP, plain or gated."""

    up: Layer
    down: Layer
    activation: Activation
    gate: Layer | None

    def run(self, z: Floats, *, executed: bool = False) -> Floats:
        """The operator."""
        hidden = self.up.run(z, executed=executed)
        if self.gate is None:
            hidden = act(self.activation, hidden)
        else:
            hidden = hidden * act(self.activation, self.gate.run(z, executed=executed))
        return self.down.run(hidden, executed=executed)

    def numbers(self) -> Mlp:
        """What a ledger knows of it."""
        gate = None if self.gate is None else self.gate.numbers()
        return Mlp(self.up.numbers(), self.down.numbers(), self.activation, len(self.up.bias), gate)


def mlp_part(rng: Rng, width: int, bits: int | None = None, size: float | None = None) -> MlpPart:
    """A random MLP."""
    hidden = int(rng.integers(2, 9))
    scale = 10 ** rng.uniform(-1, 0.3) if size is None else size
    names: list[Activation] = ["gelu", "gelu_tanh", "silu", "relu"]
    name = names[int(rng.integers(4))]
    gate = layer(rng, hidden, width, scale, bits) if rng.random() < 0.4 else None
    up, down = layer(rng, hidden, width, scale, bits), layer(rng, width, hidden, scale, bits)
    return MlpPart(up, down, name, gate)


# --- parts that attain their bounds: one channel, everything of one sign --------------------------


def scalar(weight: float, executed: float, bias: float = 0.0, shift: float = 0.0) -> Layer:
    """A layer of one channel."""
    return Layer(
        np.array([[weight]]), np.array([[executed]]), np.array([bias]), np.array([bias + shift])
    )


def aligned_attention(rng: Rng) -> AttentionPart:
    """One head of one channel, scores so small that a softmax is linear, errors that add up."""
    a, b = (float(10 ** rng.uniform(-2.5, -1.5)) for _ in range(2))
    c, o = (float(rng.uniform(0.3, 2)) for _ in range(2))
    one, other = (float(rng.choice([0.0, 0.5, 1.0])) for _ in range(2))
    small = float(rng.choice([0.0, 0.01]))
    head = (
        scalar(a, a * (1 + one), a, small * a),
        scalar(b, b * (1 + other), float(rng.normal())),
        scalar(c, c, float(rng.normal())),
    )
    return AttentionPart([head], scalar(o, o), 1)


def flipped_attention(rng: Rng) -> AttentionPart:
    """One head of one channel whose scores change their sign: the tanh is attained."""
    a, b = (float(rng.uniform(0.2, 2)) for _ in range(2))
    c, o = (float(rng.uniform(0.3, 2)) for _ in range(2))
    head = (scalar(a, -a), scalar(b, b, float(rng.normal())), scalar(c, c, float(rng.normal())))
    return AttentionPart([head], scalar(o, o), 1)


def turning_attention(rng: Rng) -> AttentionPart:
    """Keys that are their bias and a rotation: with a rotary encoding the bias matters."""
    a, b, c = (float(10 ** rng.uniform(-2, -1)) for _ in range(3))
    one, none = np.diag([1.0, 0.0]), np.zeros(2)
    key_bias = np.array([b, 0.0])
    head = (
        Layer(a * one, 2 * a * one, none, none),
        Layer(0 * one, 0 * one, key_bias, key_bias),
        Layer(c * one, c * one, none, none),
    )
    return AttentionPart([head], Layer(np.eye(2), np.eye(2), none, none), 2, rotary=True)


STEEPEST: dict[Activation, float] = {
    "gelu": math.sqrt(2), "gelu_tanh": 1.41, "silu": 2.3994, "relu": 1.0,
}  # fmt: skip
"""Where each activation is steepest."""


def aligned_mlp(rng: Rng, gated: bool) -> MlpPart:
    """One hidden place, steepest at ``z = 1``; small errors of one sign."""
    name: Activation = list(STEEPEST)[int(rng.integers(4))]
    at, small = STEEPEST[name], 1e-4
    errors = [float(rng.choice([0.0, 1.0])) * small for _ in range(3)]
    down = scalar(1.5, 1.5 * (1 + errors[0]), 0.2)
    if not gated:
        return MlpPart(scalar(at / 2, at / 2 + errors[1], at / 2, errors[2]), down, name, None)
    up = scalar(0.5, 0.5 + errors[1], 0.3)
    return MlpPart(up, down, name, scalar(at / 2, at / 2 + errors[2], at / 2))


@dataclass
class MixturePart:
    """Experts weighted by a router; ``run`` keeps the route of ``route``."""

    experts: list[MlpPart]
    router: Layer
    gating: Gating
    active: int

    def route(self, z: Floats) -> NDArray[np.bool_]:
        """Which experts are active for each token."""
        scores = self.router.run(z)
        least = np.sort(scores, axis=-1)[..., -self.active, None]
        return scores >= least

    def run(self, z: Floats, route: NDArray[np.bool_], *, executed: bool = False) -> Floats:
        """The mixture along a given route."""
        if self.gating == "softmax":
            weights = softmax(np.where(route, self.router.run(z, executed=executed), -np.inf))
        else:
            weights = route / self.active
        outputs = np.stack([e.run(z, executed=executed) for e in self.experts], axis=-1)
        found: Floats = (outputs * weights[..., None, :]).sum(axis=-1)
        return found

    def numbers(self) -> Mixture:
        """What a ledger knows of it: one description that bounds every expert."""
        own = [e.numbers() for e in self.experts]
        widest = Mlp(
            _widest([e.up for e in own]), _widest([e.down for e in own]), own[0].activation,
            max(e.hidden_width for e in own),
        )  # fmt: skip
        rows = np.linalg.norm(self.router.weight, axis=1).max()
        change = np.linalg.norm(self.router.executed - self.router.weight, axis=1).max()
        shift = np.abs(self.router.executed_bias - self.router.bias).max()
        return Mixture(
            widest, self.gating, self.active, above(rows),
            score_error=above(shift), score_growth=above(change),
        )  # fmt: skip


def _widest(layers: list[Linear]) -> Linear:
    return Linear(
        norm=max(own.norm for own in layers),
        difference=max(own.difference for own in layers),
        executed=max(own.executed_norm for own in layers),
        bias=max(own.bias for own in layers),
        bias_error=max(own.bias_error for own in layers),
    )


def mixture_part(rng: Rng, width: int) -> MixturePart:
    """Two to five experts of one activation without gates."""
    count = int(rng.integers(2, 6))
    first = mlp_part(rng, width)
    experts = [mlp_part(rng, width) for _ in range(count)]
    for own in experts:
        own.activation, own.gate = first.activation, None
    gating: Gating = ("one_hot", "uniform", "softmax")[int(rng.integers(3))]
    active = 1 if gating == "one_hot" else int(rng.integers(1, count + 1))
    return MixturePart(experts, layer(rng, count, width, 0.5), gating, active)


@dataclass
class BlockPart:
    """A pre-norm block with both branches."""

    first: NormPart
    attention: AttentionPart
    second: NormPart
    mlp: MlpPart
    scales: tuple[float, float]
    executed_scales: tuple[float, float]

    def run(self, x: Floats, *, executed: bool = False) -> Floats:
        """The field."""
        one, other = self.executed_scales if executed else self.scales
        first = self.first.run(x, executed=executed)
        second = self.second.run(x, executed=executed)
        attended = one * self.attention.run(first, executed=executed)
        return attended + other * self.mlp.run(second, executed=executed)

    def numbers(self, tube: Tube) -> TransformerBlock:
        """The block as a ledger sees it."""
        branches = {
            name: Branch(
                part.numbers(), norm.numbers(), above(abs(scale)), above(abs(changed - scale))
            )
            for name, part, norm, scale, changed in (
                ("attention", self.attention, self.first, self.scales[0], self.executed_scales[0]),
                ("mlp", self.mlp, self.second, self.scales[1], self.executed_scales[1]),
            )
        }
        return TransformerBlock(branches, tube)


def block_part(
    rng: Rng, width: int, source: Literal["noise", "rounding"], size: float | None = None
) -> BlockPart:
    """A random block; ``rounding`` executes every weight in 2 to 8 bits, and nothing else errs."""
    bits = int(rng.integers(2, 9)) if source == "rounding" else None
    scales = (float(rng.uniform(0.2, 1)), float(rng.uniform(0.2, 1)))
    noise = 0.0 if source == "rounding" else 10 ** rng.uniform(-4, -1)
    first, second = norm_part(rng, width), norm_part(rng, width)
    if source == "rounding":
        for own in (first, second):
            own.executed_gamma, own.executed_beta = own.gamma, own.beta
    return BlockPart(
        first, attention_part(rng, width, bits, size), second, mlp_part(rng, width, bits, size),
        scales, (scales[0] + noise, scales[1] - noise),
    )  # fmt: skip
