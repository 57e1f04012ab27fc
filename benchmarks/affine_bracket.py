"""What a certified bracket of affine dynamics costs beside the float program it competes with.

Random stable systems ``z' = A z + b_j``: 32 states, 16 atoms, T = 1, maximum norm and l2. The
peer is the textbook approach in the same run: 256 equal time cells, matrix exponentials by SciPy,
the convex program by HiGHS or Clarabel. It gives a number without a lower end; its distance to the
certified bracket is the discretisation's error.
"""

from __future__ import annotations

import time
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.linalg import expm

from benchmarks.measure import record
from qreplace.check.registry import check_claim
from qreplace.produce.affine_dynamics import produce
from qreplace.produce.mixture_program import solve_mixture
from qreplace.question.arrays import inline_array
from qreplace.question.model import (
    AffineDynamicsSystem,
    ComputedFloor,
    Costs,
    DepthRange,
    Emulation,
    ExactExecution,
    InlineArray,
    L2Norm,
    LinfNorm,
    ListedDictionary,
    NoMetadata,
    Norm,
    NoRouting,
    Question,
    Search,
    VectorAtom,
    VectorTarget,
    WitnessDomain,
)
from qreplace.question.subject import Subject

STATES, ATOMS, CELLS = 32, 16, 256
SEEDS = (1, 2, 3)
DIGITS = 1 << 16


def main() -> None:
    """Measure and record."""
    norms: dict[str, Norm] = {"linf": LinfNorm("linf"), "l2": L2Norm("l2")}
    rows = [_row(name, norm, seed) for name, norm in norms.items() for seed in SEEDS]
    record("affine_bracket", rows)


def _row(name: str, norm: Norm, seed: int) -> dict[str, Any]:
    generator = np.random.Generator(np.random.PCG64(seed))
    matrix = generator.normal(size=(STATES, STATES)) / np.sqrt(STATES)
    matrix -= (np.linalg.eigvals(matrix).real.max() + 0.5) * np.eye(STATES)
    atoms = generator.normal(size=(ATOMS, STATES))
    target = 2 * generator.normal(size=STATES)
    subject = Subject(_question(norm, matrix, atoms, target), {})
    start = time.perf_counter()
    claim = produce(subject, 0)
    produced = time.perf_counter() - start
    start = time.perf_counter()
    check_claim(subject, claim)
    checked = time.perf_counter() - start
    start = time.perf_counter()
    peer = _peer(norm, matrix, atoms, target)
    solved = time.perf_counter() - start
    upper = claim.upper if claim.upper is not None else Fraction(0)
    return {
        "norm": name,
        "seed": seed,
        "relative_width": float((upper - claim.lower) / upper),
        "produce_s": produced,
        "check_s": checked,
        "peer_s": solved,
        "over_peer": (produced + checked) / solved,
        "peer_off_by": abs(peer - float(upper)) / float(upper),
    }


def _peer(norm: Norm, matrix: Any, atoms: Any, target: Any) -> float:
    """The optimum over controls that are constant on equal cells."""
    width = 1 / CELLS
    step = expm(matrix * width)
    driven = np.linalg.solve(matrix, (step - np.eye(STATES)) @ atoms.T)
    columns = np.empty((STATES, CELLS, ATOMS))
    for cell in reversed(range(CELLS)):
        columns[:, cell] = driven
        driven = step @ driven
    return solve_mixture(norm, columns, target, np.full(CELLS, width)).value


def _array(values: Any) -> InlineArray:
    entries = [Fraction(round(float(x) * DIGITS), DIGITS) for x in np.ravel(values)]
    return inline_array(tuple(np.shape(values)), entries)


def _question(norm: Norm, matrix: Any, atoms: Any, target: Any) -> Question:
    listed = tuple(VectorAtom("vector", _array(atom)) for atom in atoms)
    return Question(
        format="qreplace/question/v1",
        objective=Emulation("emulation", Fraction(1)),
        scope="endpoint",
        norm=norm,
        domain=WitnessDomain("witnesses", None),
        horizon=Fraction(1),
        system=AffineDynamicsSystem("affine_dynamics", Fraction(0), _array(matrix)),
        initial=None,
        tube=None,
        target=VectorTarget("vector", _array(target)),
        dictionary=ListedDictionary("listed", listed, 8, learned=False, shared_schedule=True),
        floor=ComputedFloor("compute", "affine_dynamics"),
        synthesis=None,
        metadata=NoMetadata("none"),
        execution=ExactExecution("exact"),
        routing=NoRouting("none"),
        search=Search((DepthRange(1, 8, 1),), (0,)),
        costs=Costs(Fraction(0), Fraction(0), Fraction(1), Fraction(0)),
        certificates=(),
    )


if __name__ == "__main__":
    main()
