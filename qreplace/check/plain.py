"""The plain checker of ``affine_lp``: the definition, in ``fractions.Fraction``, entry by entry.

It shares no arithmetic with the fast checker beyond the enclosure of a square root: it forms the
lifted problem itself, from the question's arrays, and decides every obligation of
``schemas/affine_lp.v1.md`` by rational comparisons. The two are tested against each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from qreplace.check.bounds import require, require_code
from qreplace.claims.affine_lp import AffineLPClaim
from qreplace.claims.functional import SparseVector
from qreplace.errors import InputError, Rejected
from qreplace.exact.roots import sqrt_bounds
from qreplace.question.model import (
    Array,
    Atom,
    BlockL2Norm,
    L1Norm,
    L2Norm,
    LiftedAffineSystem,
    LinfNorm,
    ListedDictionary,
    Norm,
    VectorAtom,
    VectorTarget,
    WeightedL1Norm,
    WeightedLinfNorm,
)
from qreplace.question.subject import Subject

Vector = list[Fraction]


@dataclass(frozen=True)
class PlainProblem:
    """Atoms and target (less the initial state) as rationals, coordinate by coordinate."""

    atoms: list[Vector]
    target: Vector


def plain_problem(subject: Subject, bits: int) -> PlainProblem:
    """The lifted problem at ``bits`` metadata bits, multiplied out by definition."""
    question = subject.question
    dictionary = question.dictionary_for(bits)
    if not isinstance(question.system, LiftedAffineSystem) or not isinstance(
        dictionary, ListedDictionary
    ):
        raise InputError("this question holds no lifted problem: its data are declared only")
    if isinstance(question.target, VectorTarget):
        target = _entries(subject, question.target.values)
    elif question.target.kind == "linear_map":
        target = _mapped(subject, _matrix(subject, question.target.weights))
    else:
        raise InputError("this question holds no lifted problem: its target is declared only")
    if question.initial is not None:
        start = _entries(subject, question.initial)
        target = [y - z for y, z in zip(target, start, strict=True)]
    return PlainProblem([_atom(subject, atom) for atom in dictionary.atoms], target)


def plain_bracket(
    subject: Subject, claim: AffineLPClaim, problem: PlainProblem | None = None
) -> tuple[Fraction, Fraction]:
    """``(lower, upper)`` as the claim proves them; raises ``Rejected``.

    ``problem`` saves forming it anew for every claim; it must be ``plain_problem``'s.
    """
    require_code(subject.question, claim.code)  # 1
    require(claim.subject == subject.problem_digest(claim.code), "another question")  # 1
    problem = problem or plain_problem(subject, claim.code)
    norm = subject.question.norm
    alpha = _dense(claim.primal, len(problem.atoms))
    require(min(alpha) >= 0 and sum(alpha) == 1, "alpha is no point of the simplex")  # 2
    witness = _dense(claim.dual, len(problem.target))
    require(_in_dual_ball(norm, witness, claim), "the dual norm exceeds 1")  # 3
    reach = max(_dot(witness, atom) for atom in problem.atoms)
    lower = _dot(witness, problem.target) - reach
    require(lower == claim.lower, "not the claimed lower end")  # 4
    mixture = [_dot(alpha, list(row)) for row in zip(*problem.atoms, strict=True)]
    residual = [b - y for b, y in zip(mixture, problem.target, strict=True)]
    upper = _norm(norm, residual)
    require(upper == claim.upper, "not the claimed upper end")  # 5
    return lower, upper


def _norm(norm: Norm, vector: Vector) -> Fraction:
    sizes = [abs(x) for x in vector]
    if isinstance(norm, LinfNorm):
        return max(sizes)
    if isinstance(norm, L1Norm):
        return sum(sizes, Fraction(0))
    if isinstance(norm, WeightedLinfNorm):
        return max(w * x for w, x in zip(norm.weights, sizes, strict=True))
    if isinstance(norm, WeightedL1Norm):
        return _dot(list(norm.weights), sizes)
    return sqrt_bounds(max(_dot(part, part) for part in _blocks(norm, vector)))[1]


def _in_dual_ball(norm: Norm, witness: Vector, claim: AffineLPClaim) -> bool:
    sizes = [abs(x) for x in witness]
    if isinstance(norm, BlockL2Norm | L2Norm):
        touched = sorted({i // _width(norm, witness) for i in claim.dual.indices})
        blocks = _blocks(norm, witness)
        bounds = claim.dual_block_norms
        if len(bounds) != len(touched) or any(bound < 0 for bound in bounds):
            return False
        squares = [_dot(blocks[k], blocks[k]) for k in touched]
        return sum(bounds) <= 1 and all(
            bound * bound >= square for bound, square in zip(bounds, squares, strict=True)
        )
    if claim.dual_block_norms:
        return False
    if isinstance(norm, LinfNorm):
        return sum(sizes) <= 1
    if isinstance(norm, L1Norm):
        return max(sizes) <= 1
    ratios = [x / w for x, w in zip(sizes, norm.weights, strict=True)]
    return (sum(ratios) if isinstance(norm, WeightedLinfNorm) else max(ratios)) <= 1


def _width(norm: BlockL2Norm | L2Norm, vector: Vector) -> int:
    return norm.block if isinstance(norm, BlockL2Norm) else len(vector)


def _blocks(norm: BlockL2Norm | L2Norm, vector: Vector) -> list[Vector]:
    width = _width(norm, vector)
    return [vector[start : start + width] for start in range(0, len(vector), width)]


def _dense(sparse: SparseVector, size: int) -> Vector:
    require(sparse.denominator > 0 and sparse.denominator.denominator == 1, "a denominator")
    require(len(sparse.indices) == len(sparse.numerators), "indices and numerators")
    require(list(sparse.indices) == sorted(set(sparse.indices)), "indices do not ascend")
    vector = [Fraction(0)] * size
    for index, number in zip(sparse.indices, sparse.numerators, strict=True):
        require(0 <= index < size and number.denominator == 1, "an index or a numerator")
        vector[index] = number / sparse.denominator
    return vector


def _atom(subject: Subject, atom: Atom) -> Vector:
    if isinstance(atom, VectorAtom):
        return _entries(subject, atom.values)
    if atom.kind == "linear_map":
        return _mapped(subject, _matrix(subject, atom.weights))
    if atom.kind != "quantized_linear":
        raise Rejected("this atom depends on time or on the state")
    codes = _matrix(subject, atom.codes)
    scales = _entries(subject, atom.scales)
    scales = scales * len(codes) if len(scales) == 1 else scales
    weights = [
        [scale * (code - atom.zero_point) for code in row]
        for scale, row in zip(scales, codes, strict=True)
    ]
    return _mapped(subject, weights)


def _mapped(subject: Subject, weights: list[Vector]) -> Vector:
    inputs = subject.question.domain.inputs
    if inputs is None:
        raise InputError("linear maps need the witness inputs")
    return [_dot(row, witness) for witness in _matrix(subject, inputs) for row in weights]


def _entries(subject: Subject, reference: Array) -> Vector:
    values = subject.array(reference, "array")
    return [Fraction(number, values.denominator) for number in values.numerators]


def _matrix(subject: Subject, reference: Array) -> list[Vector]:
    entries = _entries(subject, reference)
    width = subject.array(reference, "array").shape[1]
    return [entries[start : start + width] for start in range(0, len(entries), width)]


def _dot(left: Vector, right: Vector) -> Fraction:
    return sum((x * y for x, y in zip(left, right, strict=True)), Fraction(0))
