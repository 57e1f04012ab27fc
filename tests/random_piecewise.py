"""Random piecewise-affine systems, and their relaxed, mixed and pure solutions in plain floats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from lifted_questions import L1, L2, LINF, weighted_linf
from numpy.typing import NDArray
from piecewise_questions import atom, box, pwa_question

from qreplace.question.maps import homogeneous
from qreplace.question.model import Activation, NetworkTarget, Norm, Question
from qreplace.question.subject import Subject

Floats = NDArray[np.float64]
EIGHTH = Fraction(1, 8)
ACTIVATIONS: tuple[Activation, ...] = ("soft_threshold", "relu", "identity")


@dataclass(frozen=True)
class FloatAtom:
    """``V phi(W y + S z + b) + A z - leak z + c``."""

    activation: str
    weights: Floats
    state: Floats
    bias: Floats
    levels: Floats
    output: Floats
    matrix: Floats
    leak: float
    offset: Floats

    def __call__(self, states: Floats, inputs: Floats) -> Floats:
        """The field at states (inputs, d)."""
        u = inputs @ self.weights.T + states @ self.state.T + self.bias
        if self.activation == "soft_threshold":
            u = np.sign(u) * np.maximum(np.abs(u) - self.levels, 0)
        elif self.activation == "relu":
            u = np.maximum(u, 0)
        field = u @ self.output.T + states @ self.matrix.T - self.leak * states + self.offset
        return np.asarray(field, dtype=np.float64)


@dataclass(frozen=True)
class RandomSystem:
    """A question on witness inputs in a box, and its atoms in floats."""

    question: Question
    atoms: list[FloatAtom]
    inputs: Floats
    start: Floats
    horizon: float
    norm: Norm

    def sizes(self, vectors: Floats) -> Floats:
        """The question's norm of every row."""
        if self.norm.kind == "l2":
            found = np.linalg.norm(vectors, axis=1)
        elif self.norm.kind == "l1":
            found = np.abs(vectors).sum(axis=1)
        else:
            weights = np.array([float(w) for w in getattr(self.norm, "weights", ())] or [1.0])
            found = (np.abs(vectors) * weights).max(axis=1)
        return np.asarray(found, dtype=np.float64)

    def velocity(self, weights: Floats, states: Floats, inputs: Floats | None = None) -> Floats:
        """The mixed field."""
        at = self.inputs if inputs is None else inputs
        fields = np.array([field(states, at) for field in self.atoms])
        return np.asarray(np.einsum("j,jpd->pd", weights, fields), dtype=np.float64)

    def relaxed(
        self, control: Sequence[Floats], parts: int = 60, inputs: Floats | None = None
    ) -> list[Floats]:
        """States (inputs, d) along a control of equal pieces, by the classical fourth order."""
        at = self.inputs if inputs is None else inputs
        h = self.horizon / (len(control) * parts)
        states = [np.tile(self.start, (len(at), 1))]
        for weights in control:
            for _ in range(parts):
                z = states[-1]
                a = self.velocity(weights, z, at)
                b = self.velocity(weights, z + h / 2 * a, at)
                c = self.velocity(weights, z + h / 2 * b, at)
                d = self.velocity(weights, z + h * c, at)
                states.append(z + h / 6 * (a + 2 * b + 2 * c + d))
        return states

    def euler(self, control: Sequence[Floats]) -> list[Floats]:
        """Mixed Euler states, one step a piece."""
        h = self.horizon / len(control)
        states = [np.tile(self.start, (len(self.inputs), 1))]
        for weights in control:
            states.append(states[-1] + h * self.velocity(weights, states[-1]))
        return states

    def control(self, rng: np.random.Generator, pieces: int) -> list[Floats]:
        """Random weights, vertices among them."""
        found = []
        for _ in range(pieces):
            weights = rng.dirichlet(np.ones(len(self.atoms)))
            if rng.integers(2):
                weights = np.eye(len(self.atoms))[int(rng.integers(len(self.atoms)))]
            found.append(weights)
        return found


def random_system(
    rng: np.random.Generator,
    *,
    contractive: bool | None = None,
    full: bool = False,
    largest: int = 3,
    horizon: Fraction | None = None,
    norm: Norm | None = None,
) -> RandomSystem:
    """Up to two states, hidden units and inputs; entries are eighths, leaks may differ."""
    d, n, p = (int(rng.integers(1, 3)) for _ in range(3))
    count = int(rng.integers(2, largest + 1))
    steady = bool(rng.integers(2)) if contractive is None else contractive
    weighted = weighted_linf(1, "3/2") if d == 2 else weighted_linf("3/2")
    norms: list[Norm] = [LINF, L1, L2, weighted]
    chosen = norms[int(rng.integers(len(norms)))] if norm is None else norm
    alike = bool(rng.integers(2))
    leak = Fraction(int(rng.integers(4, 13)), 8) if steady else Fraction(int(rng.integers(3)), 8)
    exact, floats = [], []
    for _ in range(count):
        if not alike:
            leak = max(Fraction(0), leak + Fraction(int(rng.integers(-1, 2)), 8))
        given = _entries(rng, d, n, p, 1 if steady else 3)
        activation = ACTIVATIONS[int(rng.integers(3))]
        exact.append(
            atom(
                given["weights"],
                given["state"],
                activation=activation,
                thresholds=given["levels"],
                bias=given["bias"],
                output=given["output"],
                state_matrix=given["matrix"],
                leak=leak,
                offset=given["offset"],
            )
        )
        arrays = {k: np.array([[float(x) for x in r] if isinstance(r, list) else float(r)
                               for r in v]) for k, v in given.items()}  # fmt: skip
        floats.append(FloatAtom(activation=activation, leak=float(leak), **arrays))
    witnesses = [[Fraction(int(rng.integers(-8, 9)), 8) for _ in range(p)] for _ in range(3)]
    start = [Fraction(int(rng.integers(-4, 5)), 8) for _ in range(d)]
    far = [[Fraction(int(rng.integers(-12, 13)), 8) for _ in range(p)] for _ in range(d)]
    moved = [Fraction(int(rng.integers(-12, 13)), 8) for _ in range(d)]
    aim = atom(far, activation="identity", offset=moved)
    time = Fraction(int(rng.integers(1, 5)), 2) if horizon is None else horizon
    question = pwa_question(
        exact,
        NetworkTarget("network", (aim,)),
        dimension=d,
        inputs=p,
        region=box([-1] * p, [1] * p) if full else None,
        witnesses=witnesses,
        full=full,
        norm=chosen,
        initial=start,
        horizon=time,
    )
    return RandomSystem(
        question,
        floats,
        np.array([[float(x) for x in row] for row in witnesses]),
        np.array([float(x) for x in start]),
        float(time),
        chosen,
    )


def _entries(rng: np.random.Generator, d: int, n: int, p: int, size: int) -> dict[str, Any]:
    def rows(r: int, c: int, scale: int) -> list[list[Fraction]]:
        return [[EIGHTH * int(x) for x in line] for line in rng.integers(-scale, scale + 1, (r, c))]

    return {
        "weights": rows(n, p, 8),
        "state": rows(n, d, size + 1),
        "bias": rows(1, n, 4)[0],
        "levels": [abs(x) for x in rows(1, n, 4)[0]],
        "output": rows(d, n, 8),
        "matrix": rows(d, d, size),
        "offset": rows(1, d, 4)[0],
    }


def targets(subject: Subject, inputs: Floats) -> Floats:
    """The target's values at inputs, exactly evaluated and rounded."""
    problem = subject.piecewise(0)
    points = [homogeneous([Fraction(float(x)) for x in row]) for row in inputs]
    return np.array([[float(x) for x in problem.target.value(point)] for point in points])
