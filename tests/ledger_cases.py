"""Random cases for every bound of a ledger: what is measured, divided by the bound.

Each function draws parts, evaluates them at many states and returns the quotients; a bound holds
when none exceeds 1. ``python tests/ledger_cases.py`` prints the table of docs/ledger.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache

import numpy as np
from random_blocks import (
    BlockPart,
    Floats,
    Layer,
    NormPart,
    Rng,
    above,
    act,
    aligned_attention,
    aligned_mlp,
    attention_part,
    block_part,
    flipped_attention,
    in_ball,
    layer,
    mixture_part,
    mlp_part,
    moved,
    norm_part,
    softmax,
    token_norm,
    turning_attention,
)

from qreplace.architecture.activations import SMOOTH, largest_value, lipschitz
from qreplace.architecture.chain import Ball
from qreplace.architecture.norms import Tube, lipschitz_between
from qreplace.architecture.rounding import softmax_error

SEED = 20_260
STATES = 40
"""States at which one part is measured."""


def _quotients(measured: Floats, bound: Fraction | Floats) -> Floats:
    return measured / (float(bound) if isinstance(bound, Fraction) else bound)


def activation_slopes(rng: Rng, parts: int) -> Iterator[Floats]:
    """Difference quotients of each activation."""
    for name in SMOOTH:
        x = rng.uniform(-6, 6, size=parts * STATES // 3)
        y = x + 10 ** rng.uniform(-4, 1, size=x.shape)
        yield _quotients(np.abs(act(name, y) - act(name, x)) / (y - x), lipschitz(name))


def activation_values(rng: Rng, parts: int) -> Iterator[Floats]:
    """Values on a ball."""
    for k in range(parts):
        name = list(SMOOTH)[k % 3]
        radius = float(10 ** rng.uniform(-3, 2))
        x = np.concatenate([[radius, -radius], rng.uniform(-radius, radius, size=STATES - 2)])
        yield _quotients(np.abs(act(name, x)), largest_value(name, Fraction(radius)))


def norm_slopes(rng: Rng, parts: int) -> Iterator[Floats]:
    """Norm layers between any two tokens that are long enough: near and far, opposite ones too."""
    for _ in range(parts):
        own = norm_part(rng, int(rng.integers(2, 7)), Fraction(1, 100))
        lower, radius = float(rng.choice([0.0, 0.5])), 2.0
        x = in_ball(rng, (STATES, 1, len(own.gamma)), radius)
        y = moved(rng, x, radius, float(10 ** rng.uniform(-4, 0.5)))
        if own.kind == "layer_norm":
            x, y = (v - v.mean(axis=-1, keepdims=True) for v in (x, y))
        x, y = (_at_least(v, lower) for v in (x, y))
        bound = own.numbers().lipschitz(Tube(Fraction(radius), Fraction(lower)))
        apart = token_norm(x - y)
        kept = apart > 1e-6  # two centred coordinates have one direction: lifted tokens may meet
        change = token_norm(own.run(x) - own.run(y))[kept] / apart[kept]
        yield _quotients(change, bound)


def _at_least(x: Floats, length: float) -> Floats:
    own = np.linalg.norm(x, axis=-1, keepdims=True)
    return x * np.maximum(1.0, length * (1 + 1e-9) / own)


def norm_slopes_two_points(rng: Rng, parts: int) -> Iterator[Floats]:
    """The two-point form, with the scales of both tokens."""
    for _ in range(parts):
        own = norm_part(rng, int(rng.integers(2, 5)))
        own.kind = "rms_norm"
        x = in_ball(rng, (STATES, 1, len(own.gamma)), 3.0)
        y = moved(rng, x, 3.0, float(10 ** rng.uniform(-3, 0.7)))
        scales = sum(np.sqrt((v**2).mean(axis=-1) + float(own.epsilon))[:, 0] for v in (x, y))
        bounds = [
            float(lipschitz_between(above(np.abs(own.gamma).max()), above(s))) for s in scales
        ]
        yield _quotients(token_norm(own.run(x) - own.run(y)) / token_norm(x - y), np.array(bounds))


def norm_errors(rng: Rng, parts: int) -> Iterator[Floats]:
    """Executed norm layers at one state."""
    for _ in range(parts):
        own = norm_part(rng, int(rng.integers(2, 7)))
        x = in_ball(rng, (STATES, 1, len(own.gamma)), 3.0)
        error = token_norm(own.run(x, executed=True) - own.run(x))
        yield _quotients(error, own.numbers().error(Tube(Fraction(3))))


def norm_outputs(rng: Rng, parts: int) -> Iterator[Floats]:
    """Lengths of normalised tokens."""
    for _ in range(parts):
        own = norm_part(rng, int(rng.integers(2, 7)))
        radius = float(rng.choice([0.3, 3.0, 300.0]))
        x = in_ball(rng, (STATES, 1, len(own.gamma)), radius)
        yield _quotients(token_norm(own.run(x)), own.numbers().bound(Tube(Fraction(radius))))


def softmax_changes(rng: Rng, parts: int) -> Iterator[Floats]:
    """The l1 change of a softmax."""
    for _ in range(parts):
        scores = rng.normal(size=(STATES, int(rng.integers(2, 6)))) * 10 ** rng.uniform(-1, 1)
        size = 10 ** rng.uniform(-3, 1, size=(STATES, 1))
        signs = np.sign(rng.normal(size=scores.shape))
        inside = rng.uniform(-1, 1, size=scores.shape)
        change = np.where(rng.random((STATES, 1)) < 0.7, signs, inside)
        bounds = [float(softmax_error(above(value))) for value in size[:, 0]]
        change = np.abs(softmax(scores + size * change) - softmax(scores)).sum(axis=-1)
        yield _quotients(change, np.array(bounds))


def linear_errors(rng: Rng, parts: int) -> Iterator[Floats]:
    """Linear layers whose input errs too."""
    for _ in range(parts):
        own = layer(rng, int(rng.integers(1, 7)), int(rng.integers(1, 7)), 1.0)
        radius, distance = 2.0, float(10 ** rng.uniform(-3, 0))
        z = in_ball(rng, (STATES, 1, own.weight.shape[1]), radius)
        w = z + in_ball(rng, z.shape, distance)
        error = token_norm(own.run(w, executed=True) - own.run(z))
        bound = own.numbers().error(
            Fraction(distance), Fraction(radius), Fraction(radius) + Fraction(distance)
        )
        yield _quotients(error, bound)


def _operator_cases(
    rng: Rng, parts: int, make: Callable[[Rng, int], object], what: str
) -> Iterator[Floats]:
    for _ in range(parts):
        width, tokens = int(rng.integers(2, 6)), int(rng.integers(1, 6))
        own = make(rng, width)
        radius = float(10 ** rng.uniform(-0.5, 0.7))
        z = in_ball(rng, (STATES, tokens, width), radius)
        numbers = own.numbers()  # type: ignore[attr-defined]
        run = own.run  # type: ignore[attr-defined]
        if what == "bound":
            yield _quotients(token_norm(run(z)), numbers.bound(Fraction(radius)))
        elif what == "lipschitz":
            y = moved(rng, z, radius, float(10 ** rng.uniform(-4, 0)))
            change = token_norm(run(z) - run(y)) / token_norm(z - y)
            yield _quotients(change, numbers.lipschitz(Fraction(radius)))
        else:
            distance = float(rng.choice([0.0, 10 ** rng.uniform(-3, -1)]))
            w = z + in_ball(rng, z.shape, distance) if distance else z
            outer = Fraction(radius) + Fraction(distance)
            bound, _ = numbers.error(Ball(Fraction(radius), outer, Fraction(distance)))
            yield _quotients(token_norm(run(w, executed=True) - run(z)), bound)


def attention_bounds(rng: Rng, parts: int) -> Iterator[Floats]:
    """``B_A``."""
    return _operator_cases(rng, parts, attention_part, "bound")


def attention_slopes(rng: Rng, parts: int) -> Iterator[Floats]:
    """``L_A``."""
    return _operator_cases(rng, parts, attention_part, "lipschitz")


def attention_errors(rng: Rng, parts: int) -> Iterator[Floats]:
    """``eta_A``."""
    return _operator_cases(rng, parts, attention_part, "error")


def score_slopes(rng: Rng, parts: int) -> Iterator[Floats]:
    """``L_S``: scores less the constant that a key bias adds to a row."""
    for k in range(parts):
        own = aligned_attention(rng) if k % 3 else attention_part(rng, int(rng.integers(2, 5)))
        own.rotary = False
        numbers = own.numbers()
        query, key, _ = own.heads[0]
        z = in_ball(rng, (STATES, 3, query.weight.shape[1]), 2.0)
        z = np.concatenate([z, np.full_like(z[:1], 2.0)]) if z.shape[-1] == 1 else z
        y = z * (1 - 1e-6) if k % 2 else moved(rng, z, 2.0, 0.1)

        def scores(z: Floats, query: Layer = query, key: Layer = key) -> Floats:
            return query.run(z) @ np.swapaxes(z @ key.weight.T, -1, -2)

        change = np.abs(scores(z) - scores(y)).max(axis=(-1, -2)) / np.sqrt(own.key_width)
        bound = numbers.score_lipschitz(numbers.heads[0], Fraction(2))
        apart = token_norm(z - y)
        yield _quotients(change[apart > 0] / apart[apart > 0], bound)


def attained_attention_errors(rng: Rng, parts: int) -> Iterator[Floats]:
    """``eta_A`` of heads whose errors add up, flip every score, or turn with the position."""
    for k in range(parts):
        own = (aligned_attention, flipped_attention, turning_attention)[k % 3](rng)
        width = own.output.weight.shape[0]
        radius = rng.uniform(0.3, 1, size=STATES)
        z = np.zeros((STATES, 2 if width == 1 else 5, width))
        z[:, 0, 0], z[:, -1, 0] = radius, -radius
        error = token_norm(own.run(z, executed=True) - own.run(z))
        numbers = own.numbers()
        balls = [Ball(above(r), above(r), Fraction(0)) for r in radius]
        yield _quotients(error, np.array([float(numbers.error(ball)[0]) for ball in balls]))


def attained_mlp_errors(rng: Rng, parts: int) -> Iterator[Floats]:
    """``eta_M`` of MLPs at their steepest point, plain and gated."""
    for k in range(parts):
        own = aligned_mlp(rng, k % 2 == 1)
        z = rng.uniform(-1, 1, size=(STATES, 1, 1))
        z[0] = 1.0
        error = token_norm(own.run(z, executed=True) - own.run(z))
        bound, _ = own.numbers().error(Ball(Fraction(1), Fraction(1), Fraction(0)))
        if bound:
            yield _quotients(error, bound)


def attained_mlp_slopes(rng: Rng, parts: int) -> Iterator[Floats]:
    """``L_M`` of MLPs at their steepest point, plain and gated."""
    for k in range(parts):
        own = aligned_mlp(rng, k % 2 == 1)
        y = rng.uniform(-1, 1, size=(STATES, 1, 1))
        y[0] = 1 - 1e-5
        slope = token_norm(own.run(np.ones_like(y)) - own.run(y)) / token_norm(1 - y)
        yield _quotients(slope, own.numbers().lipschitz(Fraction(1)))


def scale_errors(rng: Rng, parts: int) -> Iterator[Floats]:
    """Blocks of one channel in which the scales err and little else."""
    for _ in range(parts):
        norm = NormPart("rms_norm", Fraction(1, 100), *(np.array([v]) for v in (1.0, 0, 1.0, 0)))
        attention, mlp = aligned_attention(rng), aligned_mlp(rng, False)
        attention.heads[0][2].bias[:] = attention.heads[0][2].executed_bias[:] = 0.5
        first, second = rng.uniform(0.1, 1, size=2)
        own = BlockPart(norm, attention, norm, mlp, (first, second), (first + 0.5, second + 0.25))
        x = np.full((STATES, 2, 1), 3.0) * rng.uniform(0.1, 1, size=(STATES, 1, 1))
        x[0] = 3.0
        error = token_norm(own.run(x, executed=True) - own.run(x))
        yield _quotients(error, own.numbers(Tube(Fraction(3))).field_error())


def mlp_bounds(rng: Rng, parts: int) -> Iterator[Floats]:
    """``B_M``."""
    return _operator_cases(rng, parts, mlp_part, "bound")


def mlp_slopes(rng: Rng, parts: int) -> Iterator[Floats]:
    """``L_M``."""
    return _operator_cases(rng, parts, mlp_part, "lipschitz")


def mlp_errors(rng: Rng, parts: int) -> Iterator[Floats]:
    """``eta_M``."""
    return _operator_cases(rng, parts, mlp_part, "error")


def mixture_slopes(rng: Rng, parts: int) -> Iterator[Floats]:
    """Mixtures along one route."""
    for _ in range(parts):
        own = mixture_part(rng, int(rng.integers(2, 5)))
        width = own.router.weight.shape[1]
        z = in_ball(rng, (STATES, 2, width), 1.5)
        y = moved(rng, z, 1.5, float(10 ** rng.uniform(-3, 0)))
        route = own.route(z)
        change = token_norm(own.run(z, route) - own.run(y, route)) / token_norm(z - y)
        yield _quotients(change, own.numbers().lipschitz(Fraction(3, 2)))


def mixture_errors(rng: Rng, parts: int) -> Iterator[Floats]:
    """Executed mixtures along the intended route."""
    for _ in range(parts):
        own = mixture_part(rng, int(rng.integers(2, 5)))
        width = own.router.weight.shape[1]
        distance = float(rng.choice([0.0, 0.05]))
        outer = Fraction(3, 2) + Fraction(distance)
        z = in_ball(rng, (STATES, 2, width), 1.5)
        w = z + in_ball(rng, z.shape, distance) if distance else z
        route = own.route(z)
        error = token_norm(own.run(w, route, executed=True) - own.run(z, route))
        bound, _ = own.numbers().error(Ball(Fraction(3, 2), outer, Fraction(distance)))
        yield _quotients(error, bound)


def mixture_jumps(rng: Rng, parts: int) -> Iterator[Floats]:
    """The jump where the least active expert and the best inactive one have equal scores."""
    for _ in range(parts):
        own = mixture_part(rng, int(rng.integers(2, 5)))
        count = len(own.experts)
        if own.active == count:
            continue
        z = in_ball(rng, (STATES, 1, own.router.weight.shape[1]), 1.5)
        before = own.route(z)
        scores = own.router.run(z)
        order = np.argsort(scores, axis=-1)
        leaves, enters = order[..., -own.active], order[..., -own.active - 1]
        after = before.copy()
        np.put_along_axis(after, leaves[..., None], False, axis=-1)
        np.put_along_axis(after, enters[..., None], True, axis=-1)
        yield _quotients(_jump(own, z, scores, before, after), own.numbers().jump(Fraction(3, 2)))


def _jump(own: object, z: Floats, scores: Floats, before: Floats, after: Floats) -> Floats:
    """Change the route at equal scores: the entering expert gets the score of the leaving one."""
    level = np.where(before, scores, np.inf).min(axis=-1, keepdims=True)
    tied = np.where(after & ~before.astype(bool), level, scores)
    outputs = np.stack([e.run(z) for e in own.experts], axis=-1)  # type: ignore[attr-defined]

    def mix(route: Floats) -> Floats:
        if own.gating == "softmax":  # type: ignore[attr-defined]
            weights = softmax(np.where(route, tied, -np.inf))
        else:
            weights = route / own.active  # type: ignore[attr-defined]
        found: Floats = (outputs * weights[..., None, :]).sum(axis=-1)
        return found

    return token_norm(mix(after) - mix(before))


def _block_cases(rng: Rng, parts: int, what: str) -> Iterator[Floats]:
    for k in range(parts):
        width, tokens = int(rng.integers(2, 6)), int(rng.integers(1, 6))
        size = float(10 ** rng.uniform(-0.7, 0))
        own = block_part(rng, width, "rounding" if k % 2 else "noise", size)
        radius = float(rng.choice([1.0, 4.0]))
        block = own.numbers(Tube(Fraction(radius)))
        x = in_ball(rng, (STATES, tokens, width), radius)
        if what == "bound":
            yield _quotients(token_norm(own.run(x)), block.field_bound())
        elif what == "error":
            error = token_norm(own.run(x, executed=True) - own.run(x))
            yield _quotients(error, block.field_error())
        else:
            y = moved(rng, x, radius, float(10 ** rng.uniform(-4, 0)))
            change = token_norm(own.run(x) - own.run(y)) / token_norm(x - y)
            yield _quotients(change, block.state_lipschitz())


def block_bounds(rng: Rng, parts: int) -> Iterator[Floats]:
    """``B`` of whole blocks."""
    return _block_cases(rng, parts, "bound")


def block_slopes(rng: Rng, parts: int) -> Iterator[Floats]:
    """``L_z`` of whole blocks."""
    return _block_cases(rng, parts, "lipschitz")


def block_errors(rng: Rng, parts: int) -> Iterator[Floats]:
    """``eta_G`` of whole blocks."""
    return _block_cases(rng, parts, "error")


CASES: dict[str, Callable[[Rng, int], Iterator[Floats]]] = {
    "activation, Lipschitz": activation_slopes,
    "activation, values": activation_values,
    "norm layer, Lipschitz": norm_slopes,
    "norm layer, two points": norm_slopes_two_points,
    "norm layer, error": norm_errors,
    "norm layer, output": norm_outputs,
    "softmax, l1 change": softmax_changes,
    "linear layer, error": linear_errors,
    "scores, Lipschitz": score_slopes,
    "attention, bound": attention_bounds,
    "attention, Lipschitz": attention_slopes,
    "attention, error": attention_errors,
    "attention, aligned errors": attained_attention_errors,
    "MLP, bound": mlp_bounds,
    "MLP, Lipschitz": mlp_slopes,
    "MLP, error": mlp_errors,
    "MLP, aligned errors": attained_mlp_errors,
    "MLP, aligned slopes": attained_mlp_slopes,
    "mixture, Lipschitz": mixture_slopes,
    "mixture, error": mixture_errors,
    "mixture, jump": mixture_jumps,
    "block, B": block_bounds,
    "block, L_z": block_slopes,
    "block, eta_G": block_errors,
    "block, errors of scales": scale_errors,
}


@cache
def quotients(name: str, parts: int = 60) -> Floats:
    """All quotients of one bound, the same every time."""
    rng = np.random.default_rng([SEED, *name.encode()])
    return np.concatenate(list(CASES[name](rng, parts)))


def main() -> None:
    """Print the table: cases, the largest quotient, and how loose the bound is in the median."""
    print("| bound | cases | largest measured / bound | median bound / measured |")
    print("| --- | --- | --- | --- |")
    for name in CASES:
        found = quotients(name)
        median = 1 / np.median(found)
        print(f"| {name} | {found.size:,} | {found.max():.3f} | {median:.3g} |")


if __name__ == "__main__":
    main()
