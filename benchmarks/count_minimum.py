"""What it costs to prove the least error of all counts of one depth.

Random atoms and a target near their hull, numbers with 16 binary places, maximum norm; J atoms,
d coordinates, depth D. Peers in the same run: HiGHS's own integer programme (a float answer without
a certificate, relative gap 1e-9) and plain enumeration of all counts in NumPy where there are at
most a few million. ``gap`` is what a search that stopped early leaves open, relative to the error.
"""

from __future__ import annotations

import itertools
import math
import time
from fractions import Fraction
from typing import Any

import highspy
import numpy as np

from benchmarks.measure import record
from qreplace.check.registry import check_claim
from qreplace.claims import claim_bytes
from qreplace.produce.count_minimum import produce
from qreplace.produce.linear_program import centred_atoms, quiet_simplex
from qreplace.question.arrays import inline_array
from qreplace.question.model import (
    ComputedFloor,
    ComputedSynthesis,
    Costs,
    DepthRange,
    Emulation,
    ExactExecution,
    InlineArray,
    L2Norm,
    LiftedAffineSystem,
    LinfNorm,
    ListedDictionary,
    NoMetadata,
    Norm,
    NoRouting,
    Question,
    Search,
    VectorAtom,
    VectorTarget,
    WholeSpaceTube,
    WitnessDomain,
)
from qreplace.question.subject import Subject

SIZES = (
    (8, 4, 8), (8, 4, 64), (32, 8, 8), (32, 8, 64), (128, 8, 32), (128, 16, 8), (128, 16, 16),
    (128, 16, 32), (128, 16, 64),
)  # fmt: skip
"""Coordinates, atoms, depth."""
CURVED = ((8, 4, 64), (32, 8, 32), (128, 16, 8))
"""The same in l2, without peers."""
NODES = 6000
ENUMERATED = 3_000_000
CHUNK = 20_000
PEER_SECONDS = 60.0
DIGITS = 1 << 16
SEED = 1


def main() -> None:
    """Measure and record."""
    rows = [_row("linf", LinfNorm("linf"), *size) for size in SIZES]
    rows += [_row("l2", L2Norm("l2"), *size) for size in CURVED]
    record("count_minimum", rows)


def _row(name: str, norm: Norm, dimension: int, atoms: int, depth: int) -> dict[str, Any]:
    subject = Subject(_question(norm, dimension, atoms, depth), {})
    start = time.perf_counter()
    found = produce(subject, 0, depth, nodes=NODES)
    produced = time.perf_counter() - start
    start = time.perf_counter()
    check_claim(subject, found.minimum)
    checked = time.perf_counter() - start
    error = found.schedule.error
    row: dict[str, Any] = {
        "norm": name,
        "coordinates": dimension,
        "atoms": atoms,
        "depth": depth,
        "counts": float(math.comb(depth + atoms - 1, atoms - 1)),
        "error": float(error),
        "gap": float((error - found.minimum.lower) / error),
        "nodes": found.nodes,
        "stopped": found.stopped or "no",
        "bytes": len(claim_bytes(found.minimum)),
        "produce_s": produced,
        "check_s": checked,
    }
    if name == "linf":
        row |= _peers(subject, depth, produced + checked)
    return row


def _peers(subject: Subject, depth: int, ours: float) -> dict[str, Any]:
    """Their answers relative to the unit that ours are printed in, and times over ours."""
    problem = subject.lifted(0)
    pairs = zip(problem.rows, problem.target, strict=True)
    unit = max(max(abs(n - y) for n in row) for row, y in pairs) / problem.denominator
    atoms = centred_atoms(problem)
    start = time.perf_counter()
    value, ended = _integer_programme(atoms, depth)
    taken = time.perf_counter() - start
    row: dict[str, Any] = {
        "milp": value * unit,
        "milp_ended": ended,
        "milp_s": taken,
        "milp_over_ours": taken / ours,
    }
    if math.comb(depth + atoms.shape[1] - 1, atoms.shape[1] - 1) <= ENUMERATED:
        start = time.perf_counter()
        row["enumerated"] = _enumerated(atoms, depth) * unit
        taken = time.perf_counter() - start
        row |= {"enumeration_s": taken, "enumeration_over_ours": taken / ours}
    return row


def _integer_programme(atoms: Any, depth: int) -> tuple[float, str]:
    """``min t`` with ``-t <= (B - y) n / D <= t``, n integer: HiGHS with one thread."""
    count = atoms.shape[1]
    model = quiet_simplex(1e-9, presolve=True)
    model.setOptionValue("solver", "choose")
    model.setOptionValue("mip_rel_gap", 1e-9)
    model.setOptionValue("time_limit", PEER_SECONDS)
    infinite = highspy.kHighsInf
    upper = np.append(np.full(count, float(depth)), infinite)
    model.addVars(count + 1, np.zeros(count + 1), upper)
    model.changeColCost(count, 1.0)
    columns = np.arange(count + 1)
    model.addRow(float(depth), float(depth), count, columns[:count], np.ones(count))
    for row in atoms / depth:
        model.addRow(-infinite, 0.0, count + 1, columns, np.append(row, -1.0))
        model.addRow(-infinite, 0.0, count + 1, columns, np.append(-row, -1.0))
    for j in range(count):
        model.changeColIntegrality(j, highspy.HighsVarType.kInteger)
    model.run()
    status = model.modelStatusToString(model.getModelStatus())
    return float(model.getInfo().objective_function_value), str(status)


def _enumerated(atoms: Any, depth: int) -> float:
    """The least error of all counts, in blocks."""
    count = atoms.shape[1]
    bars = itertools.combinations(range(depth + count - 1), count - 1)
    least = math.inf
    while block := list(itertools.islice(bars, CHUNK)):
        edges = np.array(block)
        ends = np.full((len(edges), 1), depth + count - 1)
        steps = np.diff(np.hstack([np.full((len(edges), 1), -1), edges, ends]), axis=1) - 1
        errors = np.abs(steps @ atoms.T / depth).max(axis=1)
        least = min(least, float(errors.min()))
    return least


def _array(values: Any) -> InlineArray:
    entries = [Fraction(round(float(x) * DIGITS), DIGITS) for x in np.ravel(values)]
    return inline_array(tuple(np.shape(values)), entries)


def _question(norm: Norm, dimension: int, count: int, depth: int) -> Question:
    generator = np.random.Generator(np.random.PCG64(SEED))
    atoms = generator.normal(size=(count, dimension))
    shares = generator.dirichlet(np.ones(count))
    target = shares @ atoms + 0.1 * generator.normal(size=dimension)
    listed = tuple(VectorAtom("vector", _array(atom)) for atom in atoms)
    return Question(
        format="qreplace/question/v1",
        objective=Emulation("emulation", Fraction(1)),
        scope="endpoint",
        norm=norm,
        domain=WitnessDomain("witnesses", None),
        horizon=Fraction(1),
        system=LiftedAffineSystem("lifted_affine"),
        initial=None,
        tube=WholeSpaceTube("whole_space"),
        target=VectorTarget("vector", _array(target)),
        dictionary=ListedDictionary("listed", listed, 8, learned=False, shared_schedule=True),
        floor=ComputedFloor("compute", "affine_lp"),
        synthesis=ComputedSynthesis("computed"),
        metadata=NoMetadata("none"),
        execution=ExactExecution("exact"),
        routing=NoRouting("none"),
        search=Search((DepthRange(depth, depth, 1),), (0,)),
        costs=Costs(Fraction(0), Fraction(0), Fraction(1), Fraction(0)),
        certificates=(),
    )


if __name__ == "__main__":
    main()
