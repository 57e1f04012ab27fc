"""Checker of ``lattice`` (theory T4.10, T4.11): no register ever overflows, in whole numbers.

Claim: at every depth from ``first_depth`` to ``last_depth``, whatever the schedule, every code that
a register is asked to hold lies in the claimed range, and the declared registers hold them all.

Obligations, numbered as in ``schemas/lattice.v1.md``:

1. the claim's subject is this question's problem *and* execution at the claim's code;
2. the codes exist at each depth: exact field and start, grids in a whole ratio, every increment on
   the fine lattice and the initial state on the coarse one;
3. the recomputed ranges (propagated, or enumerated) lie in the claimed ones at each depth;
4. the claimed ranges lie in what the declared registers hold at each depth.
"""

from __future__ import annotations

from qreplace.check.bounds import DepthSet, ScopedRegisters, require, require_code
from qreplace.claims import claim_digest
from qreplace.claims.lattice import LatticeClaim
from qreplace.errors import InputError, Rejected
from qreplace.premises import Evidence
from qreplace.question.code_lattice import (
    MAX_STEPS,
    Ranges,
    Work,
    codes_are_constant,
    declared_ranges,
    lattice_problem,
    ranges_at,
)
from qreplace.question.dynamics import AffineProblem
from qreplace.question.model import QuantizedExecution
from qreplace.question.subject import Subject


def check(subject: Subject, claim: LatticeClaim) -> tuple[ScopedRegisters, ...]:
    """What the claim says of the declared registers; raises ``Rejected``."""
    require_code(subject.question, claim.code)  # 1
    digest = subject.execution_digest(claim.code)
    require(claim.subject == digest, "the claim is about another question", "/subject")  # 1
    first, last = claim.first_depth, claim.last_depth
    require(1 <= first <= last, "the depths are not in order, from 1 on", "/first_depth")
    try:
        execution, problem = lattice_problem(subject, claim.code)  # 2
        _check_depths(execution, problem, claim)
    except InputError as error:
        raise Rejected(error.message) from None
    inputs = subject.question.domain.inputs is not None
    label = Evidence.FINITE_WITNESS_CERTIFIED if inputs else Evidence.INTERVAL_CERTIFIED
    return (
        ScopedRegisters(
            subject=digest,
            code=claim.code,
            depths=DepthSet(first, last),
            exact_carry=execution.semantics == "error_feedback",
            evidence=label,
            kind="lattice",
            claim=claim_digest(claim),
        ),
    )


def _check_depths(
    execution: QuantizedExecution, problem: AffineProblem, claim: LatticeClaim
) -> None:
    """Obligations 2 to 4 at every depth; where codes do not change with depth, at the last."""
    constant = codes_are_constant(execution, problem)
    first = claim.last_depth if constant else claim.first_depth
    size = len(problem.atoms) * problem.dimension
    work = (claim.last_depth - first + 1) * size
    require(work <= MAX_STEPS, "the claim is about more depths than are checked", "/last_depth")
    spent = Work()
    for depth in range(first, claim.last_depth + 1):
        found = ranges_at(execution, problem, depth, claim.method, spent)
        _check_ranges(execution, claim, depth, found)


def _check_ranges(
    execution: QuantizedExecution, claim: LatticeClaim, depth: int, found: Ranges
) -> None:
    declared = declared_ranges(execution, depth)
    for name, claimed in claim.ranges.items():
        require(
            found[name].within(claimed),
            "a code leaves the claimed range of its register",
            f"/{name}",
        )  # 3
        if name in declared:
            fits = claimed.within(declared[name])
            require(fits, "a claimed range is more than its register holds", f"/{name}")  # 4
