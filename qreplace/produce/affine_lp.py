"""Producer of ``affine_lp``: HiGHS proposes, the optimal basis is solved exactly (theory T7.1).

Row generation keeps the programme small where there are many more coordinates than atoms. When a
basis is good, primal and dual agree exactly and the bracket of a linear norm has width 0; otherwise
the documented fallbacks: a more precise solve (``refined_basis``), then simplex rounding
(``rounded``). Block l2 is approached by tangent cuts until the bracket's relative width is below
``BLOCK_RELATIVE_WIDTH`` (``tangent_cuts``).
"""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from qreplace.claims.affine_lp import AffineLPClaim
from qreplace.claims.functional import SparseVector
from qreplace.errors import ProducerFailed
from qreplace.exact.rational import MAX_DIGITS
from qreplace.exact.roots import sqrt_bounds
from qreplace.produce.basis import sparse_vector
from qreplace.produce.l1 import L1Program
from qreplace.produce.lifting import ExactVector
from qreplace.produce.linear_program import Floats, Solution, centred_atoms
from qreplace.produce.maximum import Bracket, CuttingPlanes, Functional
from qreplace.produce.tangent_cuts import TangentCuts
from qreplace.produce.threads import single_threaded
from qreplace.question.model import (
    BlockL2Norm,
    L1Norm,
    L2Norm,
    LinfNorm,
    WeightedL1Norm,
    WeightedLinfNorm,
)
from qreplace.question.norms import block_size, norm_bounds
from qreplace.question.subject import LiftedProblem, Subject

Method = Literal["optimal_basis", "refined_basis", "rounded", "tangent_cuts"]

ROUNDING_DENOMINATOR = 10**12
ROW_GENERATION_FACTOR = 8
"""Rows are generated when there are more than this many coordinates an atom."""
SCREEN = 1e-6
"""Rows and atoms within this of the float maximum, relative to the data, are evaluated exactly."""
ORACLE_SLACK = 1e-9
"""A row joins the model when it exceeds the model's value by more, in units of the data."""
MAX_ROUNDS = 400
ATTEMPTS: tuple[tuple[Method, float, bool], ...] = (
    ("optimal_basis", 1e-9, True),
    ("refined_basis", 1e-10, False),
)
"""Method, feasibility tolerances of the simplex method, presolve."""
BLOCK_RELATIVE_WIDTH = Fraction(1, 10**9)


def produce(subject: Subject, bits: int) -> AffineLPClaim:
    """A claim that brackets the floor of the dictionary at ``bits`` metadata bits.

    Raises ``ProducerFailed`` when no solver answer can be turned into a claim.
    """
    return AffineLPProducer(subject, bits).claim()


class AffineLPProducer:
    """One problem in floats, and how much solver time it took."""

    def __init__(self, subject: Subject, bits: int) -> None:
        self.norm = subject.question.norm
        self.problem: LiftedProblem = subject.lifted(bits)
        self.digest = subject.problem_digest(bits)
        self.bits = bits
        self.solver_seconds = 0.0
        """HiGHS's own run time."""
        self.exact_seconds = 0.0
        """Time spent on exact bases and on the claim's exact values."""
        # Floats see data and weights of largest entry 1: mixing weights do not depend on the scale
        # of either, a dual witness only on that of the weights.
        self.atoms = centred_atoms(self.problem)
        weighted = isinstance(self.norm, (WeightedLinfNorm, WeightedL1Norm))
        given = self.norm.weights if weighted else ()  # type: ignore[union-attr]
        self.weight_unit = max(given, default=Fraction(1))
        self.weights = [weight / self.weight_unit for weight in given]

    def claim(self) -> AffineLPClaim:
        """The methods in order; the first whose bracket has width 0, else the tightest."""
        with single_threaded():
            return self._claim()

    def _claim(self) -> AffineLPClaim:
        if isinstance(self.norm, (L1Norm, WeightedL1Norm)):
            return self._sum_norm()
        if isinstance(self.norm, (BlockL2Norm, L2Norm)):
            return self._block_norm()
        return self._maximum_norm()

    # --- maximum norms ---------------------------------------------------------------------------

    def _maximum_norm(self) -> AffineLPClaim:
        planes = CuttingPlanes(self.problem, self.atoms)
        planes.add(self._first_functionals())
        solution: Solution | None = None
        best: AffineLPClaim | None = None
        for method, tolerance, presolve in ATTEMPTS:
            try:
                solution = planes.refine(
                    self._coordinate_oracle,
                    tolerance=tolerance,
                    presolve=presolve,
                    rounds=MAX_ROUNDS,
                )
                started = time.perf_counter()
                claim = self._finish(planes, method, planes.exact_bracket(solution))
                self.exact_seconds = time.perf_counter() - started
            except ProducerFailed:
                continue
            best = _tighter(best, claim)
            if best.lower == best.upper:
                return best
        if solution is None:
            solution = planes.solve(1e-7, True)
        bracket = planes.rounded_bracket(solution, ROUNDING_DENOMINATOR)
        return _tighter(best, self._finish(planes, "rounded", bracket))

    def _first_functionals(self) -> list[Functional]:
        dimension, count = self.atoms.shape
        if dimension <= ROW_GENERATION_FACTOR * count:
            chosen = np.arange(dimension)
        else:
            weights = self._float_weights()
            residuals = np.abs(self.atoms) * weights[:, None]
            mean = np.abs(self.atoms.mean(axis=1)) * weights
            score = np.maximum(mean, residuals.min(axis=1))
            chosen = np.sort(np.argsort(-score, kind="stable")[: 2 * count])
        return [self._coordinate(int(i), sign) for i in chosen for sign in (1, -1)]

    def _coordinate(self, index: int, sign: int) -> Functional:
        if self.weights:
            weight = self.weights[index]
            return Functional((index,), (sign * weight.numerator,), weight.denominator)
        return Functional((index,), (sign,), 1)

    def _float_weights(self) -> Floats:
        if self.weights:
            return np.array([float(weight) for weight in self.weights])
        return np.ones(self.atoms.shape[0])

    def _coordinate_oracle(self, alpha: Floats, value: float) -> list[Functional]:
        residual = (self.atoms @ alpha) * self._float_weights()
        worst = np.flatnonzero(np.abs(residual) > value + ORACLE_SLACK)
        order = worst[np.argsort(-np.abs(residual[worst]), kind="stable")]
        return [
            self._coordinate(int(i), 1 if residual[i] > 0 else -1)
            for i in np.sort(order[: 4 * self.atoms.shape[1]])
        ]

    # --- block l2 --------------------------------------------------------------------------------

    def _block_norm(self) -> AffineLPClaim:
        """Tangent cuts; once the active blocks are known, Newton's method finishes in floats."""
        block = block_size(self.norm, self.problem.dimension)  # type: ignore[arg-type]
        cuts = TangentCuts(self.problem, self.atoms, block)
        best: AffineLPClaim | None = None
        for bracket in cuts.brackets():
            self.solver_seconds = cuts.planes.solver_seconds
            best = _tighter(best, self._finish(cuts.planes, "tangent_cuts", bracket))
            if best.upper - best.lower <= BLOCK_RELATIVE_WIDTH * best.upper:
                return best
        if best is None:
            raise ProducerFailed("the tangent cuts produced no bracket")
        return _tighter(best, self._met_exactly())

    def _met_exactly(self) -> AffineLPClaim | None:
        """No relative width is reached at a floor of 0; the l1 basis finds such a point exactly."""
        program = L1Program(self.problem, self.atoms, [])
        try:
            alpha, _ = program.exact(*ATTEMPTS[0][1:])
        except ProducerFailed:
            return None
        self.solver_seconds += program.solver_seconds
        return self._document("optimal_basis", alpha, SparseVector(Fraction(1), (), ()), ())

    # --- sum norms -------------------------------------------------------------------------------

    def _sum_norm(self) -> AffineLPClaim:
        program = L1Program(self.problem, self.atoms, self.weights)
        best: AffineLPClaim | None = None
        for method, tolerance, presolve in ATTEMPTS:
            try:
                alpha, dual = program.exact(tolerance, presolve)
                best = _tighter(best, self._document(method, alpha, dual, ()))
            except ProducerFailed:
                continue
            self.solver_seconds = program.solver_seconds
            if best.lower == best.upper:
                return best
        alpha, dual = program.rounded(ROUNDING_DENOMINATOR)
        self.solver_seconds = program.solver_seconds
        return _tighter(best, self._document("rounded", alpha, dual, ()))

    # --- values: floats choose which rows and atoms decide, integers evaluate them ---------------
    # `ties`: atoms or rows that an exactly solved basis has made equal to one that is evaluated.

    def _lower(self, dual: SparseVector, ties: tuple[int, ...]) -> Fraction:
        indices = list(dual.indices)
        floats = np.array([n / dual.denominator for n in dual.numerators], dtype=np.float64)
        reach = floats @ self.atoms[indices]
        near = np.flatnonzero(reach >= reach.max() - SCREEN * np.abs(self.atoms).max())
        functional = [n.numerator for n in dual.numerators]
        chosen = _without(near, ties)
        value = self.problem.separation(indices, functional, chosen.tolist())
        return Fraction(value, dual.denominator.numerator * self.problem.denominator)

    def _upper(self, primal: SparseVector, ties: tuple[int, ...]) -> Fraction:
        weights = [0] * self.atoms.shape[1]
        for index, number in zip(primal.indices, primal.numerators, strict=True):
            weights[index] = number.numerator
        total = primal.denominator.numerator
        if isinstance(self.norm, LinfNorm):
            floats = np.array([w / total for w in weights])
            size = np.abs(self.atoms @ floats)
            near = np.flatnonzero(size >= size.max() - SCREEN)
            residual = self.problem.residual(weights, total, _without(near, ties).tolist())
        else:
            residual = self.problem.residual(weights, total)
        return norm_bounds(self.norm, residual, total * self.problem.denominator)[1]

    # --- the document ----------------------------------------------------------------------------

    def _finish(self, planes: CuttingPlanes, method: Method, bracket: Bracket) -> AffineLPClaim:
        self.solver_seconds = planes.solver_seconds
        entries, denominator = bracket.witness()
        if not isinstance(self.norm, (BlockL2Norm, L2Norm)):
            return self._document(method, bracket.alpha, sparse_vector(entries, denominator), ())
        block = block_size(self.norm, self.problem.dimension)
        dual, norms = _within_unit_ball(entries, denominator, block)
        return self._document(method, bracket.alpha, dual, norms)

    def _document(
        self,
        method: Method,
        alpha: ExactVector,
        dual: SparseVector,
        block_norms: tuple[Fraction, ...],
    ) -> AffineLPClaim:
        primal = _sparse(alpha)
        exact = method in ("optimal_basis", "refined_basis")
        lower = self._lower(dual, primal.indices[1:] if exact else ()) * self.weight_unit
        upper = self._upper(primal, dual.indices[1:] if exact else ())
        if self.weight_unit != 1:
            unit = self.weight_unit
            entries = [
                (index, n.numerator * unit.numerator)
                for index, n in zip(dual.indices, dual.numerators, strict=True)
            ]
            dual = sparse_vector(entries, dual.denominator.numerator * unit.denominator)
        if lower < 0:
            dual, block_norms, lower = SparseVector(Fraction(1), (), ()), (), Fraction(0)
        claim = AffineLPClaim(
            format="qreplace/claim/affine_lp/v1",
            subject=self.digest,
            code=self.bits,
            method=method,
            primal=primal,
            dual=dual,
            dual_block_norms=block_norms,
            lower=lower,
            upper=upper,
        )
        if not _readable(claim):
            raise ProducerFailed(f"the claim's numbers have more than {MAX_DIGITS} digits")
        return claim


def _readable(claim: AffineLPClaim) -> bool:
    """Whether every number is short enough to be read again."""
    numbers = [claim.lower, claim.upper, *claim.dual_block_norms]
    for vector in (claim.primal, claim.dual):
        numbers.extend([vector.denominator, *vector.numerators])
    limit = 10**MAX_DIGITS
    return all(abs(n.numerator) < limit and n.denominator < limit for n in numbers)


def _sparse(alpha: ExactVector) -> SparseVector:
    entries = [(j, n) for j, n in enumerate(alpha.numerators) if n]
    return sparse_vector(entries, alpha.denominator)


def _within_unit_ball(
    entries: list[tuple[int, int]], denominator: int, block: int
) -> tuple[SparseVector, tuple[Fraction, ...]]:
    """Shrink a witness until the sum of its rational block-norm bounds is at most 1."""
    squares: dict[int, int] = {}
    for index, number in entries:
        squares[index // block] = squares.get(index // block, 0) + number * number
    bounds = [sqrt_bounds(Fraction(s, denominator * denominator))[1] for s in squares.values()]
    total = sum(bounds, Fraction(0))
    if total > 1:
        entries = [(i, n * total.denominator) for i, n in entries]
        denominator *= total.numerator
        bounds = [bound / total for bound in bounds]
    return sparse_vector(entries, denominator), tuple(bounds)


def _without(near: NDArray[np.intp], ties: tuple[int, ...]) -> NDArray[np.intp]:
    rest = np.setdiff1d(near, ties)
    return rest if rest.size else near


def _tighter(one: AffineLPClaim | None, other: AffineLPClaim | None) -> AffineLPClaim:
    """The primal part of the smaller upper end with the dual part of the larger lower end."""
    if one is None or other is None:
        only = one if other is None else other
        if only is None:
            raise ProducerFailed("no solver answer could be turned into a claim")
        return only
    upper = one if one.upper <= other.upper else other
    lower = one if one.lower >= other.lower else other
    return replace(
        upper, dual=lower.dual, dual_block_norms=lower.dual_block_norms, lower=lower.lower
    )
