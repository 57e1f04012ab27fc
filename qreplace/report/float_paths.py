"""Trajectories in floats, for drawing only: nothing that is decided rests on them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from qreplace.claims.relaxed_control import ControlPiece
from qreplace.exact.polynomial import Polynomial, Terms, accumulate, from_terms
from qreplace.exact.rational import approximate
from qreplace.question.dynamics import AffineProblem, PolynomialProblem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

STEPS = 240
"""Runge-Kutta steps over the horizon, at least four a piece."""
MAX_PIECES = 1000
MAX_TERMS = 4000
MAX_SCHEDULE = 4096
"""Controls and polynomials beyond these sizes are not drawn."""
LARGEST = 1e100

Problem = AffineProblem | PolynomialProblem


@dataclass(frozen=True, slots=True)
class Path:
    """States at ascending times; ``finished`` when the last one is at the horizon."""

    times: tuple[float, ...]
    states: tuple[tuple[float, ...], ...]
    finished: bool

    @property
    def end(self) -> tuple[float, ...]:
        """The last state."""
        return self.states[-1]


class FloatPolynomial:
    """A polynomial with float coefficients, at points and on grids."""

    def __init__(self, polynomial: Polynomial) -> None:
        import numpy as np

        self._empty = not polynomial.exponents
        self._exponents = np.array(polynomial.exponents, dtype=np.int64)
        self._coefficients = np.array([approximate(c) for c in polynomial.coefficients])

    def at(self, point: Sequence[float]) -> float:
        """The value at a point; NaN or infinite where floats do not reach."""
        import numpy as np

        if self._empty:
            return 0.0
        with np.errstate(all="ignore"):
            powers = np.power(np.array(point, dtype=np.float64), self._exponents)
            return float(self._coefficients @ powers.prod(axis=1))

    def on(self, *variables: Any) -> Floats:
        """The values on arrays of one shape, one a variable."""
        import numpy as np

        arrays = [np.asarray(variable, dtype=np.float64) for variable in variables]
        total = np.zeros(np.broadcast_shapes(*(array.shape for array in arrays)))
        with np.errstate(all="ignore"):
            powers = [_powers(array, self._largest(i)) for i, array in enumerate(arrays)]
            for exponents, coefficient in zip(self._exponents, self._coefficients, strict=True):
                term: Any = coefficient
                for i, exponent in enumerate(exponents):
                    if exponent:
                        term = term * powers[i][exponent]
                total = total + term
        return total

    def _largest(self, variable: int) -> int:
        return 0 if self._empty else int(self._exponents[:, variable].max())


def _powers(array: Floats, largest: int) -> list[Floats]:
    found = [array**0]
    for _ in range(largest):
        found.append(found[-1] * array)
    return found


# --- paths ----------------------------------------------------------------------------------------


def relaxed_path(problem: Problem, pieces: Sequence[ControlPiece]) -> Path | None:
    """The trajectory of piecewise-constant weights by Runge-Kutta steps; ``None`` if too long."""
    breaks = problem.breaks if isinstance(problem, AffineProblem) else ()
    if len(pieces) + len(breaks) > MAX_PIECES:
        return None
    horizon = approximate(problem.horizon)
    times, states = [0.0], [_initial(problem)]
    start = Fraction(0)
    for piece in pieces:
        weights = _weights(piece)
        inner = [time for time in breaks if start < time < piece.end]
        for first, last in itertools.pairwise([start, *inner, piece.end]):
            field = _mixed(problem, weights, first)
            if field is None:
                return None
            steps = max(4, math.ceil(STEPS * approximate(last - first) / horizon))
            width = approximate(last - first) / steps
            for k in range(steps):
                time = approximate(first) + k * width
                state = _runge_kutta(field, time, width, states[-1])
                if not _drawable(state):
                    return Path(tuple(times), tuple(states), finished=False)
                times.append(time + width)
                states.append(state)
        start = piece.end
    return Path(tuple(times), tuple(states), finished=True)


def euler_path(problem: Problem, runs: Sequence[tuple[int, int]]) -> Path | None:
    """The Euler steps of a pure schedule, as it is executed exactly; ``None`` if too long."""
    depth = sum(repeats for _, repeats in runs)
    if not 1 <= depth <= MAX_SCHEDULE:
        return None
    width = approximate(problem.horizon / depth)
    times, states = [0.0], [_initial(problem)]
    fields: dict[tuple[int, int], list[FloatPolynomial] | None] = {}
    for k, atom in enumerate(itertools.chain.from_iterable([a] * n for a, n in runs)):
        time = problem.horizon * k / depth
        key = atom, _piece_index(problem, atom, time)
        if key not in fields:
            fields[key] = _mixed(problem, [(atom, Fraction(1))], time)
        field = fields[key]
        if field is None:
            return None
        slope = [part.at((approximate(time), *states[-1])) for part in field]
        state = tuple(z + width * s for z, s in zip(states[-1], slope, strict=True))
        if not _drawable(state):
            return Path(tuple(times), tuple(states), finished=False)
        times.append((k + 1) * width)
        states.append(state)
    return Path(tuple(times), tuple(states), finished=True)


def _initial(problem: Problem) -> tuple[float, ...]:
    scale = problem.denominator if isinstance(problem, AffineProblem) else 1
    return tuple(approximate(Fraction(z) / scale) for z in problem.initial)


def target_of(problem: Problem) -> tuple[float, ...]:
    """The target's coordinates."""
    scale = problem.denominator if isinstance(problem, AffineProblem) else 1
    return tuple(approximate(Fraction(y) / scale) for y in problem.target)


def _drawable(state: Sequence[float]) -> bool:
    return all(abs(z) < LARGEST for z in state)  # false for NaN as well


def _weights(piece: ControlPiece) -> list[tuple[int, Fraction]]:
    vector = piece.weights
    return [
        (index, number / vector.denominator)
        for index, number in zip(vector.indices, vector.numerators, strict=True)
    ]


def _runge_kutta(
    field: Sequence[FloatPolynomial], time: float, width: float, state: tuple[float, ...]
) -> tuple[float, ...]:
    def slope(t: float, z: Sequence[float]) -> list[float]:
        return [part.at((t, *z)) for part in field]

    def moved(by: float, along: Sequence[float]) -> list[float]:
        return [z + by * s for z, s in zip(state, along, strict=True)]

    half = width / 2
    one = slope(time, state)
    two = slope(time + half, moved(half, one))
    three = slope(time + half, moved(half, two))
    four = slope(time + width, moved(width, three))
    mean = [(a + 2 * b + 2 * c + d) / 6 for a, b, c, d in zip(one, two, three, four, strict=True)]
    return tuple(moved(width, mean))


# --- the mixed field ------------------------------------------------------------------------------


def _mixed(
    problem: Problem, weights: Sequence[tuple[int, Fraction]], time: Fraction
) -> list[FloatPolynomial] | None:
    """``sum_j weights_j G_j`` as it holds from ``time`` on; ``None`` with too many terms."""
    mixed = []
    for row in range(problem.dimension):
        terms: Terms = {}
        for atom, weight in weights:
            accumulate(terms, _component(problem, atom, row, time), weight)
        if len(terms) > MAX_TERMS:
            return None
        mixed.append(FloatPolynomial(from_terms(terms)))
    return mixed


def _component(problem: Problem, atom: int, row: int, time: Fraction) -> Polynomial:
    if isinstance(problem, PolynomialProblem):
        return problem.atoms[atom][row]
    piece = problem.atoms[atom][_piece_index(problem, atom, time)]
    size = problem.dimension
    terms: Terms = {
        (0, *(int(i == column) for i in range(size))): problem.entry(row, column)
        for column in range(size)
    }
    for power, values in enumerate(piece.coefficients):
        terms[(power, *([0] * size))] = Fraction(values[row], problem.denominator)
    return from_terms(terms)


def _piece_index(problem: Problem, atom: int, time: Fraction) -> int:
    """Which piece of an atom holds from ``time`` on."""
    if isinstance(problem, PolynomialProblem):
        return 0
    pieces = problem.atoms[atom]
    return max(i for i, piece in enumerate(pieces) if i == 0 or piece.start <= time)
