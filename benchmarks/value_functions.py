"""How far do value functions carry? Time and bracket width by state dimension and degree.

A chain of leaky states, the last one switched: ``z_i' = (z_{i+1} - z_i)`` and ``z_n' = u - z_n``
with ``u`` in {0, 1}, from 0 towards ``(1, .., 1)`` in l2 over the horizon 2. The lower end is the
exact claim of ``hjb_sos`` at one order, on the first region that is found; the upper end is the
checked control of ``relaxed_control``. SCS solves the same programmes beside Clarabel. The repair's
share is what rounding, projection and exact positivity take of the whole; the region's proofs are
timed apart, since every degree shares them.
"""

from __future__ import annotations

import time
from fractions import Fraction
from typing import Any

from benchmarks.measure import record
from qreplace.check.registry import check_claim
from qreplace.errors import ProducerFailed
from qreplace.exact.polynomial import Polynomial, constant, variable
from qreplace.produce.hjb_sos import HjbSosProducer
from qreplace.produce.relaxed_control import produce as produce_control
from qreplace.produce.sos_program import Budget, Solver
from qreplace.question.arrays import inline_array
from qreplace.question.model import (
    ComputedFloor,
    Costs,
    DepthRange,
    Emulation,
    ExactExecution,
    L2Norm,
    ListedDictionary,
    NoMetadata,
    NoRouting,
    PolynomialAtom,
    PolynomialSystem,
    Question,
    Search,
    VectorTarget,
    WitnessDomain,
)
from qreplace.question.subject import Subject

DIMENSIONS = (1, 2, 3, 4)
ORDERS = (1, 2, 3)
SOLVERS: tuple[Solver, ...] = ("CLARABEL", "SCS")
HORIZON = Fraction(2)
SECONDS = 30.0
"""Budget of one attempt; what it cuts short is said in the row."""


def chain(size: int) -> Subject:
    """The leaky chain with so many states."""
    arity = size + 1
    atoms = []
    for control in (0, 1):
        field: list[Polynomial] = []
        for i in range(1, arity):
            pull = variable(i + 1, arity) if i < size else constant(Fraction(control), arity)
            field.append(pull - variable(i, arity))
        atoms.append(PolynomialAtom("polynomial", tuple(field)))
    ones = inline_array((size,), [Fraction(1)] * size)
    question = Question(
        format="qreplace/question/v1",
        objective=Emulation("emulation", Fraction(1)),
        scope="endpoint",
        norm=L2Norm("l2"),
        domain=WitnessDomain("witnesses", None),
        horizon=HORIZON,
        system=PolynomialSystem("polynomial", size),
        initial=None,
        tube=None,
        target=VectorTarget("vector", ones),
        dictionary=ListedDictionary("listed", tuple(atoms), 4, False, True),
        floor=ComputedFloor("compute", "hjb_sos"),
        synthesis=None,
        metadata=NoMetadata("none"),
        execution=ExactExecution("exact"),
        routing=NoRouting("none"),
        search=Search((DepthRange(1, 8, 1),), (0,)),
        costs=Costs(Fraction(0), Fraction(0), Fraction(1), Fraction(0)),
        certificates=(),
    )
    return Subject(question, {})


def measured(subject: Subject, upper: Fraction, order: int, solver: Solver) -> dict[str, Any]:
    """One attempt: its times, its exact width, or what stopped it."""
    size = subject.dimension(0)
    row: dict[str, Any] = {"states": size, "degree": 2 * order, "solver": solver}
    producer = HjbSosProducer(subject, 0, solver=solver)
    region = next(iter(producer.regions))
    # the budget is for the programme and its repair, not for the region found beforehand
    producer.clock.budget = Budget(seconds=SECONDS + time.perf_counter() - producer.clock.started)
    region_seconds = time.perf_counter() - producer.clock.started
    producer.clock.solver_seconds = producer.clock.exact_seconds = 0.0
    started = time.perf_counter()
    try:
        found = producer.attempt(order, region)
    except ProducerFailed as error:
        seconds = time.perf_counter() - started
        return row | {"seconds": seconds, "stopped": error.message[:90]}
    seconds = time.perf_counter() - started
    started = time.perf_counter()
    check_claim(subject, found.claim)
    return row | {
        "seconds": seconds,
        "region_s": region_seconds,
        "solver_s": producer.clock.solver_seconds,
        "repair_share": 1 - producer.clock.solver_seconds / seconds,
        "check_s": time.perf_counter() - started,
        "margin": found.solution.margin,
        "lower": float(found.claim.lower),
        "width": float(upper - found.claim.lower),
    }


def main() -> None:
    """Measure and record."""
    rows = []
    measured(chain(1), Fraction(1), 1, "CLARABEL")  # imports stay outside the timings
    for size in DIMENSIONS:
        subject = chain(size)
        control = produce_control(subject, 0)
        check_claim(subject, control)
        for order in ORDERS:
            for solver in SOLVERS:
                rows.append(measured(subject, control.upper, order, solver))
    record("value_functions", rows)


if __name__ == "__main__":
    main()
