"""Sums-of-squares programmes as conic problems, solved on the side of the moments (theory T7.9).

A programme asks for parameters ``theta`` and sums of squares with

    fixed_k + sum_a theta_a linear_ka = s_k0 + sum_i s_ki g_ki        for every identity k

that maximise ``objective . theta``. Its dual has one vector of moments ``y_k`` an identity and the
localising matrices ``M(g_ki y_k) >= 0``; it has far fewer variables, and every interior-point
method returns Gram matrices and parameters as multipliers. Gram matrices are kept above
``margin * I``: that costs ``margin`` times the traces, and leaves room for the exact repair.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from qreplace.errors import ProducerFailed
from qreplace.exact.polynomial import ZERO, Exponents, Polynomial, constant
from qreplace.produce.monomials import count, monomials, product
from qreplace.produce.threads import single_threaded

Floats = NDArray[np.float64]
Solver = Literal["CLARABEL", "SCS"]

MAX_GRAM_ROWS = 130
MAX_MOMENTS = 12_000
"""Most monomials over all identities of one programme."""


@dataclass(frozen=True)
class Budget:
    """What one attempt may cost.

    ``seconds`` is for the attempt as a whole, programme after programme; ``iterations`` is for one
    run of a solver (``None``: a number that fits the solver).
    """

    seconds: float | None = None
    iterations: int | None = None
    gram_rows: int = MAX_GRAM_ROWS
    megabytes: int = 2000
    """Memory that an interior-point method's dense blocks may take, estimated before it starts."""


@dataclass
class Clock:
    """A budget being used up."""

    budget: Budget = field(default_factory=Budget)
    started: float = field(default_factory=time.perf_counter)
    solver_seconds: float = 0.0
    exact_seconds: float = 0.0

    @property
    def left(self) -> float | None:
        """Seconds left; negative when overdrawn, ``None`` when there is no limit."""
        if self.budget.seconds is None:
            return None
        return self.budget.seconds - (time.perf_counter() - self.started)

    @property
    def exhausted(self) -> bool:
        """Whether no time is left."""
        return self.left is not None and self.left <= 0

    def remaining(self) -> float | None:
        """Seconds left; raises ``ProducerFailed`` when there are none."""
        left = self.left
        if left is not None and left <= 0:
            raise ProducerFailed(
                f"the time budget of {self.budget.seconds:g} s is used up",
                remedy="Give more seconds or a lower order",
            )
        return left


class NoSuchSquares(ProducerFailed):
    """The solver holds the programme to be infeasible: the moments fall without end."""


@dataclass(frozen=True)
class GramBlock:
    """A multiplier ``b^T Q b`` of one constraint; ``number`` is ``None`` for the free part."""

    number: int | None
    constraint: Polynomial
    basis: tuple[Exponents, ...]


@dataclass(frozen=True)
class Identity:
    """One identity of a programme; the first block is the free one."""

    name: str
    fixed: Polynomial
    linear: Mapping[int, Polynomial]
    blocks: tuple[GramBlock, ...]

    @cached_property
    def support(self) -> tuple[Exponents, ...]:
        """Every monomial that can occur on either side, in a fixed order."""
        found = set(self.fixed.exponents)
        for part in self.linear.values():
            found.update(part.exponents)
        for block in self.blocks:
            pairs = {product(a, b) for a in block.basis for b in block.basis}
            found.update(product(m, e) for m in pairs for e in block.constraint.exponents)
        return tuple(sorted(found, key=lambda e: (sum(e), e)))


@dataclass(frozen=True)
class ParameterSet:
    """What some parameters are restricted to; the others are free.

    ``budget``: ``theta >= 0`` and ``sum sizes . theta <= 1``. ``l1``, ``linf``, ``l2``: a weighted
    norm ``|| sizes * theta ||`` is at most 1, ``l2`` in consecutive ``groups`` whose norms add up.
    """

    kind: Literal["budget", "l1", "linf", "l2"]
    parameters: tuple[int, ...]
    sizes: tuple[Fraction, ...]
    group: int = 1


@dataclass(frozen=True)
class Program:
    """Identities in ``size`` parameters, and what is maximised."""

    identities: tuple[Identity, ...]
    size: int
    objective: Mapping[int, Fraction]
    sets: tuple[ParameterSet, ...] = ()


@dataclass(frozen=True)
class FloatSolution:
    """A solver's answer: nothing about it is certain.

    ``grams[k][i]`` belongs to block i of identity k; ``moments[k]`` to its support.
    """

    parameters: Floats
    grams: tuple[tuple[Floats, ...], ...]
    moments: tuple[Floats, ...]
    value: float
    status: str


def identity(
    name: str,
    fixed: Polynomial,
    linear: Mapping[int, Polynomial],
    constraints: Sequence[tuple[int, Polynomial]],
    variables: Sequence[int],
    arity: int,
    degree: int,
) -> Identity:
    """An identity whose two sides have degree at most ``degree``, which is even.

    The multiplier of ``g_i`` gets every monomial with which ``s_i g_i`` keeps to that degree.
    """
    one = constant(Fraction(1), arity)
    blocks = [GramBlock(None, one, monomials(variables, arity, degree // 2))]
    for number, polynomial in constraints:
        if polynomial == ZERO or polynomial.degree > degree:
            continue
        half = (degree - polynomial.degree) // 2
        blocks.append(GramBlock(number, polynomial, monomials(variables, arity, half)))
    return Identity(name, fixed, linear, tuple(blocks))


def require_size(variables: int, degree: int, identities: int, budget: Budget) -> None:
    """Raise ``ProducerFailed`` for a programme that is too large to be worth starting."""
    rows = count(variables, degree // 2)
    if rows > budget.gram_rows:
        raise ProducerFailed(
            f"degree {degree} in {variables} variables needs Gram matrices of {rows} rows; "
            f"at most {budget.gram_rows} are tried",
            remedy="Ask for a lower order, or for blocks",
        )
    moments = count(variables, degree) * identities
    if moments > MAX_MOMENTS:
        raise ProducerFailed(
            f"degree {degree} in {variables} variables and {identities} identities needs "
            f"{moments} moments; at most {MAX_MOMENTS} are tried",
            remedy="Ask for a lower order, or for blocks",
        )


def solve(program: Program, margin: float, solver: Solver, clock: Clock) -> FloatSolution:
    """Solve in floats; raises ``ProducerFailed`` when the solver gives no usable answer."""
    import cvxpy as cp

    if solver == "CLARABEL":
        _require_memory(program, clock.budget)
    started = time.perf_counter()
    data = _ConicData(program)
    moments = cp.Variable(data.size)
    stationary, extra = _stationarity(program, data, moments)
    cones, single = _cones(data, moments)
    cost = data.cost - margin * data.traces()
    constraints = [*stationary, *cones.values(), *single]
    problem = cp.Problem(cp.Minimize(cost @ moments + extra), constraints)
    with single_threaded():
        _run(problem, solver, clock)
    clock.solver_seconds += time.perf_counter() - started
    duals = [np.asarray(cones[k].dual_value) if k in cones else None for k in data.numbers]
    if single:
        lone = iter(np.asarray(single[0].dual_value, dtype=np.float64).ravel())
        duals = [np.array([[next(lone)]]) if dual is None else dual for dual in duals]
    return _answer(program, data, problem, moments, stationary, duals, margin)


class _ConicData:
    """Costs and localising matrices over the moments of all identities, one after another."""

    def __init__(self, program: Program) -> None:
        supports = [part.support for part in program.identities]
        self.starts = np.concatenate([[0], np.cumsum([len(s) for s in supports])]).astype(int)
        self.size = int(self.starts[-1])
        self.places = [
            {e: int(start) + k for k, e in enumerate(support)}
            for start, support in zip(self.starts, supports, strict=False)
        ]
        self.cost = np.zeros(self.size)
        self.sizes: list[int] = []
        """Rows of every Gram matrix, block after block, identity after identity."""
        self.localising: list[Any] = []
        for part, place in zip(program.identities, self.places, strict=True):
            for e, c in part.fixed.terms.items():
                self.cost[place[e]] = float(c)
            for block in part.blocks:
                self.sizes.append(len(block.basis))
                self.localising.append(self._localising(block, place))

    @property
    def numbers(self) -> range:
        """The blocks."""
        return range(len(self.sizes))

    def traces(self) -> Floats:
        """The sum of the traces of all localising matrices, as a linear form of the moments."""
        total = np.zeros(self.size)
        for size, matrix in zip(self.sizes, self.localising, strict=True):
            total += np.asarray(matrix[:: size + 1].sum(axis=0)).ravel()
        return total

    def _localising(self, block: GramBlock, place: Mapping[Exponents, int]) -> Any:
        """The matrix that takes moments to the entries of ``M(g y)``, column by column."""
        import scipy.sparse as sp

        size = len(block.basis)
        terms = [(e, float(c)) for e, c in block.constraint.terms.items()]
        rows, columns, values = [], [], []
        for i, one in enumerate(block.basis):
            for j, other in enumerate(block.basis):
                pair = product(one, other)
                for e, c in terms:
                    rows.append(j * size + i)
                    columns.append(place[product(pair, e)])
                    values.append(c)
        return sp.csr_matrix((values, (rows, columns)), shape=(size * size, self.size))


def _cones(data: _ConicData, moments: Any) -> tuple[dict[int, Any], list[Any]]:
    """Positive semidefinite matrices by block, and all those of one row as one vector."""
    import cvxpy as cp
    import scipy.sparse as sp

    cones = {
        k: cp.reshape(data.localising[k] @ moments, (size, size), order="F") >> 0
        for k, size in enumerate(data.sizes)
        if size > 1
    }
    lone = [data.localising[k] for k in data.numbers if k not in cones]
    return cones, [sp.vstack(lone, format="csr") @ moments >= 0] if lone else []


def _require_memory(program: Program, budget: Budget) -> None:
    """An interior-point method holds a dense square block a cone; first-order ones do not."""
    sizes = [len(b.basis) for part in program.identities for b in part.blocks]
    megabytes = sum((n * (n + 1) // 2) ** 2 for n in sizes) * 8 // 2**20
    if megabytes > budget.megabytes:
        raise ProducerFailed(
            f"Gram matrices of up to {max(sizes)} rows need about {megabytes} MB in an "
            f"interior-point method; {budget.megabytes} MB may be used",
            remedy="Ask for a lower order, or for the solver SCS",
        )


def _stationarity(program: Program, data: _ConicData, moments: Any) -> tuple[list[Any], Any]:
    """``objective_a + sum_k <y_k, linear_ka> = e_a``; the parameters are its multipliers.

    ``e`` is 0 for free parameters; for others the support function of their set joins the cost.
    """
    import cvxpy as cp
    import scipy.sparse as sp

    if not program.size:
        return [], 0
    rows, columns, values = [], [], []
    for part, place in zip(program.identities, data.places, strict=True):
        for parameter, polynomial in part.linear.items():
            for e, c in polynomial.terms.items():
                rows.append(parameter)
                columns.append(place[e])
                values.append(float(c))
    matrix = sp.csr_matrix((values, (rows, columns)), shape=(program.size, data.size))
    offset = np.array([float(program.objective.get(a, 0)) for a in range(program.size)])
    total: Any = matrix @ moments + offset
    extra: Any = 0
    for chosen in program.sets:
        own = cp.Variable(len(chosen.parameters))
        ones = np.ones(len(chosen.parameters))
        select = sp.csr_matrix(
            (ones, (chosen.parameters, np.arange(len(ones)))), shape=(program.size, len(ones))
        )
        total = total - select @ own
        extra = extra + _support_function(chosen, own)
    return [total == 0], extra


def _support_function(chosen: ParameterSet, own: Any) -> Any:
    import cvxpy as cp

    scaled = cp.multiply(np.array([1 / float(size) for size in chosen.sizes]), own)
    if chosen.kind == "budget":
        return cp.max(cp.hstack([np.zeros(1), scaled]))
    if chosen.kind == "l1":
        return cp.norm_inf(scaled)
    if chosen.kind == "linf":
        return cp.norm1(scaled)
    groups = range(0, len(chosen.parameters), chosen.group)
    return cp.max(cp.hstack([cp.norm2(scaled[g : g + chosen.group]) for g in groups]))


def _run(problem: Any, solver: Solver, clock: Clock) -> None:
    import warnings

    import cvxpy as cp

    left = clock.remaining()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "may be inaccurate": the exact repair decides
        try:
            problem.solve(solver=solver, **_settings(solver, left, clock.budget))
        except cp.error.SolverError as error:
            clock.remaining()
            raise ProducerFailed(f"{solver} gave no answer: {error}") from error
    clock.remaining()
    if problem.status in (cp.UNBOUNDED, cp.UNBOUNDED_INACCURATE):
        raise NoSuchSquares("no sums of squares of these degrees do it")
    if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
        raise ProducerFailed(f"{solver} ended with status {problem.status!r}")


def _settings(solver: Solver, seconds: float | None, budget: Budget) -> dict[str, Any]:
    if solver == "CLARABEL":
        settings: dict[str, Any] = {
            "max_iter": budget.iterations or 200,
            "tol_gap_abs": 1e-9,
            "tol_gap_rel": 1e-9,
            "tol_feas": 1e-9,
            "direct_solve_method": "faer",
            "max_threads": 1,
        }
        return settings | ({} if seconds is None else {"time_limit": seconds})
    settings = {"max_iters": budget.iterations or 20_000, "eps_abs": 1e-7, "eps_rel": 1e-7}
    return settings | ({} if seconds is None else {"time_limit_secs": seconds})


def _answer(
    program: Program,
    data: _ConicData,
    problem: Any,
    moments: Any,
    stationary: Sequence[Any],
    duals: Sequence[Any],
    margin: float,
) -> FloatSolution:
    given = stationary[0].dual_value if stationary else np.zeros(0)
    parameters = np.asarray(given, dtype=np.float64).reshape(program.size)
    matrices = iter(
        np.asarray(dual, dtype=np.float64) + margin * np.eye(size)
        for dual, size in zip(duals, data.sizes, strict=True)
    )
    grams = tuple(tuple(next(matrices) for _ in part.blocks) for part in program.identities)
    found = [parameters, *(g for group in grams for g in group)]
    if not all(np.isfinite(array).all() for array in found):
        raise ProducerFailed("the solver's answer holds no finite numbers")
    value = sum(float(c) * parameters[a] for a, c in program.objective.items())
    values = np.asarray(moments.value, dtype=np.float64)
    return FloatSolution(
        parameters=parameters,
        grams=grams,
        moments=tuple(values[a:b] for a, b in itertools.pairwise(data.starts)),
        value=float(value),
        status=str(problem.status),
    )
