"""Small lifted questions for tests of claims and checkers, built without the specification."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from qreplace.check.registry import check_claim
from qreplace.claims import Claim
from qreplace.claims.affine_lp import AffineLPClaim
from qreplace.premises import ABSENT
from qreplace.question.arrays import inline_array
from qreplace.question.model import (
    BlockL2Norm,
    ComputedFloor,
    ComputedSynthesis,
    Costs,
    DepthRange,
    DepthRule,
    Emulation,
    ExactExecution,
    Grid,
    InlineArray,
    L1Norm,
    L2Norm,
    LiftedAffineSystem,
    LinfNorm,
    ListedDictionary,
    NoMetadata,
    Norm,
    NoRouting,
    QuantizedExecution,
    Question,
    Search,
    Unbounded,
    VectorAtom,
    VectorTarget,
    WeightedL1Norm,
    WeightedLinfNorm,
    WholeSpaceTube,
    WitnessDomain,
)
from qreplace.question.subject import Subject

Numbers = Sequence[Fraction | int | str]

LINF = LinfNorm("linf")
L1 = L1Norm("l1")
L2 = L2Norm("l2")


def weighted_linf(*weights: Fraction | int | str) -> WeightedLinfNorm:
    """``max w_i |x_i|``."""
    return WeightedLinfNorm("weighted_linf", tuple(map(Fraction, weights)))


def weighted_l1(*weights: Fraction | int | str) -> WeightedL1Norm:
    """``sum w_i |x_i|``."""
    return WeightedL1Norm("weighted_l1", tuple(map(Fraction, weights)))


def block_l2(block: int) -> BlockL2Norm:
    """The largest l2 norm of blocks."""
    return BlockL2Norm("block_l2", block)


def vector(values: Numbers) -> InlineArray:
    """A one-dimensional inline array."""
    return inline_array((len(values),), [Fraction(value) for value in values])


def dictionary(atoms: Sequence[Numbers]) -> ListedDictionary:
    """Vector atoms, four bits each."""
    listed = tuple(VectorAtom("vector", vector(atom)) for atom in atoms)
    return ListedDictionary("listed", listed, 4, learned=False, shared_schedule=True)


def make_question(
    target: Numbers, atoms: Sequence[Numbers], norm: Norm = LINF, **blocks: Any
) -> Question:
    """A lifted question with exact execution at depths 1 to 8; ``blocks`` replace fields."""
    question = Question(
        format="qreplace/question/v1",
        objective=Emulation("emulation", Fraction(1, 10)),
        scope="endpoint",
        norm=norm,
        domain=WitnessDomain("witnesses", None),
        horizon=Fraction(1),
        system=LiftedAffineSystem("lifted_affine"),
        initial=None,
        tube=WholeSpaceTube("whole_space"),
        target=VectorTarget("vector", vector(target)),
        dictionary=dictionary(atoms),
        floor=ComputedFloor("compute", "affine_lp"),
        synthesis=ComputedSynthesis("computed"),
        metadata=NoMetadata("none"),
        execution=ExactExecution("exact"),
        routing=NoRouting("none"),
        search=Search((DepthRange(1, 8, 1),), (0,)),
        costs=Costs(Fraction(0), Fraction(0), Fraction(1), Fraction(0)),
        certificates=(),
    )
    return dataclasses.replace(question, **blocks)


def write_back(
    step: Fraction | int | str = "1/4", power: int = 0, **fields: Any
) -> QuantizedExecution:
    """Full-state write-back on an unbounded grid, nearest rounding, everything else exact."""
    rounding = fields.pop("rounding", "nearest")
    execution = QuantizedExecution(
        kind="quantized",
        semantics="write_back",
        grid=Grid(DepthRule(Fraction(step), power), rounding, None),
        carry=None,
        field_error=ABSENT,
        initial_error=ABSENT,
        overflow=Unbounded("unbounded"),
    )
    return dataclasses.replace(execution, **fields)


def make_subject(
    target: Numbers,
    atoms: Sequence[Numbers],
    norm: Norm = LINF,
    store: Mapping[str, bytes] | None = None,
    **blocks: Any,
) -> Subject:
    """The subject of ``make_question``."""
    return Subject(make_question(target, atoms, norm, **blocks), dict(store or {}))


def bracket_of(subject: Subject, claim: Claim) -> tuple[Fraction, Fraction]:
    """The lower and the upper end that the checker recomputes for a claim with both."""
    lower, upper = check_claim(subject, claim)
    assert lower.side == "lower" and upper.side == "upper"
    return lower.value, upper.value


def alpha_of(claim: AffineLPClaim, atoms: int) -> list[Fraction]:
    """The claim's mixing weights, dense."""
    weights = [Fraction(0)] * atoms
    for index, number in zip(claim.primal.indices, claim.primal.numerators, strict=True):
        weights[index] = number / claim.primal.denominator
    return weights
