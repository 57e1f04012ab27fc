"""What small dynamic systems really reach, in floats: upper values that no lower end may pass.

Everything here follows admissible relaxed controls with fine Runge-Kutta steps, so a distance it
returns is attained up to about ``1e-9``; a certified lower end above it (plus that) is wrong.
``reachable_interval`` is the whole truth for one state variable, ``affine_floor`` for affine fields
with at most two; ``enumerated_value`` is an upper value for any small system.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from qreplace.exact.polynomial import Polynomial
from qreplace.question.dynamics import PolynomialProblem
from qreplace.question.model import (
    BlockL2Norm,
    L1Norm,
    L2Norm,
    LinfNorm,
    Norm,
    WeightedL1Norm,
    WeightedLinfNorm,
)

Floats = NDArray[np.float64]
Fields = Callable[[float, Floats], Floats]

ROUNDING = 1e-8
"""Room for the float steps of this module when a certified number is compared with a truth."""


def float_norm(norm: Norm, vectors: Floats) -> Floats:
    """The study's norm of every row."""
    sizes = np.abs(vectors)
    if isinstance(norm, (WeightedLinfNorm, WeightedL1Norm)):
        sizes = sizes * np.array([float(weight) for weight in norm.weights])
    if isinstance(norm, (LinfNorm, WeightedLinfNorm)):
        return np.asarray(sizes.max(axis=-1))
    if isinstance(norm, (L1Norm, WeightedL1Norm)):
        return np.asarray(sizes.sum(axis=-1))
    block = norm.block if isinstance(norm, BlockL2Norm) else sizes.shape[-1]
    assert isinstance(norm, (BlockL2Norm, L2Norm))
    parts = sizes.reshape(*sizes.shape[:-1], -1, block)
    return np.asarray(np.sqrt((parts**2).sum(axis=-1)).max(axis=-1))


def float_fields(problem: PolynomialProblem) -> Fields:
    """``fields(t, states)`` of shape (atoms, rows, n) for states of shape (rows, n)."""
    compiled = [[_compiled(component) for component in atom] for atom in problem.atoms]

    def fields(t: float, states: Floats) -> Floats:
        values = np.empty((len(compiled), *states.shape))
        with np.errstate(all="ignore"):  # what escapes is not finite
            for j, atom in enumerate(compiled):
                for i, component in enumerate(atom):
                    values[j, :, i] = _value(component, t, states)
        return values

    return fields


def endpoints(problem: PolynomialProblem, weights: Floats, substeps: int = 8) -> Floats:
    """Endpoints, shape (rows, n), of weights (rows, cells, atoms) constant on equal cells."""
    fields = float_fields(problem)
    rows, cells, _ = weights.shape
    states = np.tile(np.array([float(x) for x in problem.initial]), (rows, 1))
    width = float(problem.horizon) / cells
    for cell in range(cells):
        states = _across(fields, cell * width, width, states, weights[:, cell], substeps)
    return states


def euler_endpoints(problem: PolynomialProblem, schedules: NDArray[np.intp]) -> Floats:
    """Endpoints, shape (rows, n), of the Euler steps of pure schedules (rows, depth)."""
    fields = float_fields(problem)
    rows, depth = schedules.shape
    states = np.tile(np.array([float(x) for x in problem.initial]), (rows, 1))
    step = float(problem.horizon) / depth
    for k in range(depth):
        values = fields(k * step, states)
        states = states + step * values[schedules[:, k], np.arange(rows)]
    return states


def best_schedule_error(problem: PolynomialProblem, norm: Norm, depth: int) -> float:
    """``E_D`` in exact execution: the smallest endpoint error of all ``J**depth`` schedules."""
    every = itertools.product(range(len(problem.atoms)), repeat=depth)
    schedules = np.array(list(every), dtype=np.intp)
    return float(_errors(problem, norm, euler_endpoints(problem, schedules)).min())


def reachable_interval(problem: PolynomialProblem, steps: int = 4000) -> tuple[float, float]:
    """The endpoints that a system with one state variable reaches.

    Largest and smallest solutions follow the largest and smallest field (comparison theorem); the
    set of relaxed endpoints is connected, hence all that lies between.
    """
    fields = float_fields(problem)
    ends = []
    for sign in (-1.0, 1.0):
        state = np.array([[float(problem.initial[0])]])
        width = float(problem.horizon) / steps

        def extreme(t: float, z: Floats, sign: float = sign) -> Floats:
            return np.asarray(sign * (sign * fields(t, z)).max(axis=0))

        for k in range(steps):
            state = _runge_kutta(extreme, k * width, width, state)
        ends.append(float(state[0, 0]))
    return ends[0], ends[1]


def scalar_floor(problem: PolynomialProblem, steps: int = 4000) -> float:
    """The distance of the target from what a system with one state variable reaches."""
    low, high = reachable_interval(problem, steps)
    target = float(problem.target[0])
    return max(0.0, low - target, target - high)


def affine_floor(problem: PolynomialProblem, norm: Norm, steps: int = 2000) -> float:
    """The floor of affine fields with a common matrix and two states (theory T7.2), to about 1e-5.

    The largest ``lambda . y - support(lambda)`` over many functionals of dual norm 1.
    """
    fields = float_fields(problem)
    horizon = float(problem.horizon)
    origin = np.zeros((1, 2))
    matrix = np.stack([fields(0.0, e[None])[0, 0] - fields(0.0, origin)[0, 0] for e in np.eye(2)]).T
    angles = np.linspace(0, 2 * np.pi, 2881)[:-1]
    rays = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    if isinstance(norm, WeightedL1Norm):  # the corners of its dual ball lie between the angles
        heavy, light = (float(weight) for weight in norm.weights)
        corners = [[a * heavy, b * light] for a in (1, -1) for b in (1, -1)]
        rays = np.concatenate([rays, corners])
    duals = rays / _dual_norm(norm, rays)[:, None]
    width = horizon / steps
    backward = _matrix_exponential(matrix * width / 2)
    along = duals @ backward
    support = np.zeros(len(duals))
    for k in range(steps):
        t = horizon - (k + 0.5) * width
        forcing = fields(t, origin)[:, 0]
        support += width * (along @ forcing.T).max(axis=1)
        along = along @ backward @ backward
    initial = np.array([float(x) for x in problem.initial])
    whole = _matrix_exponential(matrix * horizon)
    target = np.array([float(x) for x in problem.target])
    return max(0.0, float((duals @ (target - whole @ initial) - support).max()))


def reachable_states(
    problem: PolynomialProblem,
    *,
    cells: int = 24,
    mixtures: int = 1,
    keep: int = 4000,
    substeps: int = 4,
) -> Floats:
    """Endpoints that are really reached, spread over what is reachable; shape (rows, n).

    After each of ``cells`` time cells every kept state continues with every weight vector of the
    grid ``1/mixtures`` of the simplex; states are then thinned to one in each bin of a grid.
    """
    fields = float_fields(problem)
    controls = simplex_points(len(problem.atoms), mixtures)
    width = float(problem.horizon) / cells
    states = np.array([[float(x) for x in problem.initial]])
    for cell in range(cells):
        rows = np.repeat(states, len(controls), axis=0)
        weights = np.tile(controls, (len(states), 1))
        states = _thinned(_across(fields, cell * width, width, rows, weights, substeps), keep)
    return states


def enumerated_value(
    problem: PolynomialProblem,
    norm: Norm,
    *,
    cells: int = 24,
    mixtures: int = 1,
    keep: int = 4000,
) -> float:
    """The smallest endpoint error met among ``reachable_states``: an upper value of the floor."""
    states = reachable_states(problem, cells=cells, mixtures=mixtures, keep=keep)
    return float(_errors(problem, norm, states).min())


def simplex_points(count: int, parts: int) -> Floats:
    """Every weight vector whose entries are multiples of ``1 / parts``."""
    return np.array(list(_compositions(count, parts)), dtype=np.float64) / parts


# --- parts ----------------------------------------------------------------------------------------


def _compositions(count: int, total: int) -> Iterator[tuple[int, ...]]:
    if count == 1:
        yield (total,)
        return
    for first in range(total, -1, -1):
        for rest in _compositions(count - 1, total - first):
            yield (first, *rest)


def _errors(problem: PolynomialProblem, norm: Norm, states: Floats) -> Floats:
    return float_norm(norm, states - np.array([float(x) for x in problem.target]))


def _compiled(component: Polynomial) -> list[tuple[tuple[int, ...], float]]:
    pairs = zip(component.exponents, component.coefficients, strict=True)
    return [(exponents, float(coefficient)) for exponents, coefficient in pairs]


def _value(component: Sequence[tuple[tuple[int, ...], float]], t: float, states: Floats) -> Floats:
    total = np.zeros(len(states))
    for exponents, coefficient in component:
        product: Floats = np.full(len(states), coefficient * t ** exponents[0])
        for i, exponent in enumerate(exponents[1:]):
            if exponent:
                product = product * states[:, i] ** exponent
        total += product
    return total


def _across(
    fields: Fields, start: float, width: float, states: Floats, weights: Floats, substeps: int
) -> Floats:
    def mixed(t: float, z: Floats) -> Floats:
        return np.asarray(np.einsum("rj,jri->ri", weights, fields(t, z)))

    step = width / substeps
    for k in range(substeps):
        states = _runge_kutta(mixed, start + k * step, step, states)
    return states


def _runge_kutta(
    field: Callable[[float, Floats], Floats], t: float, h: float, states: Floats
) -> Floats:
    one = field(t, states)
    two = field(t + h / 2, states + h / 2 * one)
    three = field(t + h / 2, states + h / 2 * two)
    four = field(t + h, states + h * three)
    return states + h / 6 * (one + 2 * two + 2 * three + four)


def _thinned(states: Floats, keep: int) -> Floats:
    """One state a bin of a grid with about ``keep`` bins over the states' bounding box."""
    if len(states) <= keep:
        return states
    low, high = states.min(axis=0), states.max(axis=0)
    spread = np.where(high > low, high - low, 1.0)
    moving = max(1, int((high > low).sum()))
    bins = max(2, int(keep ** (1 / moving)))
    places = np.minimum((bins * (states - low) / spread).astype(np.int64), bins - 1)
    _, chosen = np.unique(places, axis=0, return_index=True)
    return states[np.sort(chosen)]


def _dual_norm(norm: Norm, vectors: Floats) -> Floats:
    sizes = np.abs(vectors)
    if isinstance(norm, (WeightedLinfNorm, WeightedL1Norm)):
        sizes = sizes / np.array([float(weight) for weight in norm.weights])
    if isinstance(norm, (LinfNorm, WeightedLinfNorm)):
        return np.asarray(sizes.sum(axis=-1))
    if isinstance(norm, (L1Norm, WeightedL1Norm)):
        return np.asarray(sizes.max(axis=-1))
    assert isinstance(norm, L2Norm)
    return np.asarray(np.sqrt((sizes**2).sum(axis=-1)))


def _matrix_exponential(matrix: Floats) -> Floats:
    halvings = max(0, int(np.ceil(np.log2(max(np.abs(matrix).sum(), 1e-9)))) + 4)
    small = matrix / 2**halvings
    term: Floats = np.eye(len(matrix))
    total = term
    for k in range(1, 18):
        term = term @ small / k
        total = total + term
    for _ in range(halvings):
        total = total @ total
    return total
