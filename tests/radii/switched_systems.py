"""Random switched systems with known constants, and their continuous, mixed and pure solutions.

Everything here floats: it stands for the world that the exact radii must hold for. The norm is
linf; constants are computed on a ball that holds every trajectory and rounded up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from declared_questions import bounded_variation, declared, growth, premise
from numpy.typing import NDArray

from qreplace.premises import ABSENT
from qreplace.question.model import Question

Floats = NDArray[np.float64]
ROUND_UP = 1 + 1e-9
LARGEST_STEP = 0.01


@dataclass(frozen=True)
class System:
    """``z' = sum_j p_j(t) G_j(t, z)`` with ``G_j = M_j act(z) + b_j + v_j s(t) - leak z``."""

    matrices: Floats
    offsets: Floats
    forcing: Floats
    leak: float
    saturating: bool
    signal: Callable[[float], float]
    breaks: tuple[float, ...]
    start: Floats
    horizon: Fraction
    constants: dict[str, float]

    def fields(self, t: float, z: Floats) -> Floats:
        """Every atom at ``(t, z)``."""
        inner = np.tanh(z) if self.saturating else z
        found = self.matrices @ inner + self.offsets + self.forcing * self.signal(t)
        return np.asarray(found - self.leak * z)

    def question(self, **blocks: object) -> Question:
        """The declared question whose premises are this system's constants."""
        c = {name: Fraction(value) for name, value in self.constants.items()}
        variation = premise(c["V"]) if c["V"] else ABSENT
        pairs = premise(c["V_pairs"]) if c["V"] else ABSENT
        return declared(
            horizon=self.horizon,
            atoms=len(self.offsets),
            dimension=len(self.start),
            synthesis=bounded_variation(
                field_bound=c["B"],
                state_lipschitz=c["L"],
                time_variation=variation,
                growth=growth(c["m"], 1) if "m" in c else None,
                difference_bound=c["B_pairs"],
                difference_lipschitz=c["L_pairs"],
                difference_variation=pairs,
            ),
            **blocks,
        )


def size(array: Floats) -> float:
    """The linf norm, of vectors and of matrices as operators."""
    return float(np.abs(array).max() if array.ndim == 1 else np.abs(array).sum(axis=-1).max())


def random_system(rng: np.random.Generator) -> System:
    """One to three states, two to four atoms, contractive or not, with or without time."""
    n, count = int(rng.integers(1, 4)), int(rng.integers(2, 5))
    contractive, saturating = bool(rng.integers(2)), bool(rng.integers(2))
    matrices = rng.normal(size=(count, n, n))
    rho = float(rng.uniform(0.1, 0.9 if contractive else 2.0))
    matrices *= rho / max(size(m) for m in matrices)
    offsets = rng.normal(size=(count, n)) * rng.uniform(0.2, 2)
    forcing = rng.normal(size=(count, n)) * rng.uniform(0.2, 1.5)
    horizon = Fraction(int(rng.integers(1, 5)), 2)
    signal, total, breaks = _signal(rng, float(horizon))
    if total == 0:
        forcing = np.zeros_like(forcing)
    start = rng.uniform(-1, 1, size=n)
    leak = 1.0 if contractive else 0.0
    constants = _constants(
        matrices, offsets, forcing, leak, saturating, size(start), float(horizon), total
    )
    return System(
        matrices, offsets, forcing, leak, saturating, signal, breaks, start, horizon, constants
    )


def _signal(
    rng: np.random.Generator, horizon: float
) -> tuple[Callable[[float], float], float, tuple[float, ...]]:
    """A signal within [-1, 1], its total variation, and its jumps."""
    kind = int(rng.integers(3))
    if kind == 0:
        return (lambda t: 0.0), 0.0, ()
    if kind == 1:
        jump = float(rng.uniform(0.05, 0.95)) * horizon
        return (lambda t: 1.0 if t >= jump else -1.0), 2.0, (jump,)
    speed = float(rng.uniform(1, 9))
    return (lambda t: float(np.sin(speed * t))), speed * horizon, ()


def _constants(
    matrices: Floats,
    offsets: Floats,
    forcing: Floats,
    leak: float,
    saturating: bool,
    start: float,
    horizon: float,
    total: float,
) -> dict[str, float]:
    push = max(map(size, offsets)) + max(map(size, forcing))
    rho = max(size(m) for m in matrices)
    identity = leak * np.eye(matrices.shape[1])
    if saturating:
        lipschitz = rho + leak
        reach = max(start, rho + push) if leak else 0.0
        bound = rho + push + leak * reach
        inner = 1.0
    else:
        lipschitz = max(size(m - identity) for m in matrices)
        reach = (
            max(start, push / (1 - rho))
            if leak
            else (start + push * horizon) * float(np.exp(rho * horizon))
        )
        bound = lipschitz * reach + push
        inner = reach
    pairs = [(i, j) for i in range(len(offsets)) for j in range(i)]
    found = {
        "B": bound,
        "L": lipschitz,
        "V": total * sum(map(size, forcing)),
        "B_pairs": max(
            size(matrices[i] - matrices[j]) * inner
            + size(offsets[i] - offsets[j])
            + size(forcing[i] - forcing[j])
            for i, j in pairs
        ),
        "L_pairs": max(size(matrices[i] - matrices[j]) for i, j in pairs),
        "V_pairs": total * max(size(forcing[i] - forcing[j]) for i, j in pairs),
    }
    found = {name: value * ROUND_UP for name, value in found.items()}
    if leak:
        found["m"] = rho - 1 + 1e-9
    return found


# --- controls and schedules -----------------------------------------------------------------------

Control = list[list[list[Fraction]]]
"""Weights of each of the equal parts of each cell."""


def random_control(rng: np.random.Generator, count: int, depth: int) -> Control:
    """Piecewise constant on one to three parts a cell; constant, slow or wild over the cells."""
    kind, parts = int(rng.integers(3)), int(rng.integers(1, 4))
    fixed = _weights(rng, count)

    def weights(cell: int) -> list[Fraction]:
        if kind == 0:
            return fixed
        if kind == 1:
            return _weights(np.random.default_rng([int(fixed[0] * 997), cell // 7]), count)
        return _weights(rng, count)

    return [[weights(cell) for _ in range(parts)] for cell in range(depth)]


def _weights(rng: np.random.Generator, count: int) -> list[Fraction]:
    parts = rng.integers(0, 13, size=count)
    if parts.sum() == 0 or rng.integers(4) == 0:
        parts = np.eye(count, dtype=np.int64)[int(rng.integers(count))]
    return [Fraction(int(part), int(parts.sum())) for part in parts]


def cell_averages(control: Control) -> list[list[Fraction]]:
    """The mixed Euler scheme's weights."""
    return [
        [sum(column, Fraction(0)) / len(parts) for column in zip(*parts, strict=True)]
        for parts in control
    ]


def tijdeman(weights: Sequence[Sequence[Fraction]]) -> list[int]:
    """The chairman rule for weights that change from step to step, known in advance (T2.2)."""
    count = len(weights[0])
    slack = Fraction(1, 2 * count - 2)
    cumulative = [[Fraction(0)] * count]
    for row in weights:
        cumulative.append([a + b for a, b in zip(cumulative[-1], row, strict=True)])
    used, chosen = [0] * count, []
    for step in range(1, len(weights) + 1):
        eligible = [j for j in range(count) if cumulative[step][j] - used[j] >= slack]
        late = {
            j: next(
                (t for t in range(step, len(cumulative)) if cumulative[t][j] - used[j] > 1 - slack),
                len(cumulative),
            )
            for j in eligible
        }
        pick = min(eligible, key=lambda j: (late[j], j))
        used[pick] += 1
        chosen.append(pick)
    return chosen


def greedy(weights: Sequence[Sequence[Fraction]]) -> list[int]:
    """The online rule for weights that change from step to step (T2.1)."""
    balance, chosen = [Fraction(0)] * len(weights[0]), []
    for row in weights:
        balance = [b + w for b, w in zip(balance, row, strict=True)]
        pick = max(range(len(row)), key=lambda j: (balance[j], -j))
        balance[pick] -= 1
        chosen.append(pick)
    return chosen


def balanced(weights: Sequence[Sequence[Fraction]]) -> list[int]:
    """The rule with the smaller half-l1 bound: Tijdeman's up to three atoms, then the greedy."""
    return tijdeman(weights) if len(weights[0]) <= 3 else greedy(weights)


# --- solutions ------------------------------------------------------------------------------------


def euler(system: System, weights: Sequence[Sequence[Fraction | int]]) -> list[Floats]:
    """The mixed Euler scheme; a pure schedule is one with unit weights."""
    depth = len(weights)
    step = float(system.horizon) / depth
    states = [system.start]
    for k, row in enumerate(weights):
        mixture = np.array([float(w) for w in row])
        states.append(states[-1] + step * (mixture @ system.fields(k * step, states[-1])))
    return states


def vertices(schedule: Sequence[int], count: int) -> list[list[int]]:
    """A schedule as unit weights."""
    return [[int(j == pick) for j in range(count)] for pick in schedule]


def continuous(system: System, control: Control) -> tuple[Floats, Floats]:
    """Times and states of the relaxed solution, by RK4 on pieces where everything is smooth."""
    depth = len(control)
    step = float(system.horizon) / depth
    times, states = [0.0], [system.start]
    for cell, parts in enumerate(control):
        edges = [(cell + part / len(parts)) * step for part in range(len(parts) + 1)]
        for weights, left, right in zip(parts, edges, edges[1:], strict=False):
            mixture = np.array([float(w) for w in weights])
            inside = [b for b in system.breaks if left < b < right]
            marks = [left, *inside, right]
            for a, b in pairwise(marks):
                _runge_kutta(system, mixture, a, b, times, states)
    return np.array(times), np.array(states)


def _runge_kutta(
    system: System, mixture: Floats, a: float, b: float, times: list[float], states: list[Floats]
) -> None:
    pieces = max(2, int(np.ceil((b - a) / LARGEST_STEP)))
    h = (b - a) / pieces
    # Stay inside the open piece, where the signal does not jump.
    inset = 1e-12 * (b - a)
    for k in range(pieces):
        t, z = a + k * h, states[-1]

        def slope(at: float, state: Floats) -> Floats:
            inner = min(max(at, a + inset), b - inset)
            return np.asarray(mixture @ system.fields(inner, state))

        k1 = slope(t, z)
        k2 = slope(t + h / 2, z + h / 2 * k1)
        k3 = slope(t + h / 2, z + h / 2 * k2)
        k4 = slope(t + h, z + h * k3)
        times.append(t + h)
        states.append(z + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))


def path_distance(system: System, times: Floats, states: Floats, steps: list[Floats]) -> float:
    """The largest linf distance of the relaxed path to the interpolated Euler path."""
    grid = np.linspace(0.0, float(system.horizon), len(steps))
    own = np.array(steps)
    interpolated = np.stack([np.interp(times, grid, own[:, i]) for i in range(own.shape[1])], 1)
    return float(np.abs(interpolated - states).max())
