"""How long all schedules of a dictionary take, by enumeration and by certified branch and bound.

The matrix instance (theory T8.5): two atoms, 1,281 witnesses. The peer is plain NumPy with shared
prefixes: every prefix's states at all witnesses as one array. It runs at a smaller depth; its time
at depth 20 is extrapolated by the number of prefixes, and labelled so. Then the local-search gap
of QR Figure 23's kind on an instance of our own, since theirs is not given: the instance's low
atoms, and a target that one of their schedules nearly reaches. Times of one core after compilation.
"""

from __future__ import annotations

import dataclasses
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import record
from qreplace.check.registry import check_claim
from qreplace.claims import claim_bytes
from qreplace.decision.controls import greedy
from qreplace.produce.float_schedules import FloatSchedules
from qreplace.produce.schedule_minimum import produce
from qreplace.produce.schedule_search import (
    best_schedule_bnb,
    enumerate_schedules,
    optimisation_gap,
)
from qreplace.question.model import L2Norm, ScheduleTarget
from qreplace.question.subject import Subject

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from lifted_questions import vector
from piecewise_questions import instance_atoms, matrix_question

DEPTH, PEER_DEPTH = 20, 13
CLAIM_DEPTHS = range(1, 8)
RESTARTS = 64
PUBLISHED = "best about 120, median about 419"
NORM = L2Norm("l2")


def main() -> None:
    """Measure and record."""
    subject = Subject(matrix_question(full=False), {})
    _warm(subject)
    rows = _searches(subject) + _claims(subject) + [_gap()]
    record("schedule_minimum", rows)


def _warm(subject: Subject) -> None:
    produce(subject, 0, 3)
    problem = subject.piecewise(0)
    enumerate_schedules(problem, NORM, 3, problem.witnesses or ())
    list(_local(subject))


def _local(subject: Subject) -> list[Any]:
    from qreplace.produce.schedule_search import local_search

    problem = subject.piecewise(0)
    return local_search(problem, NORM, 3, problem.witnesses or (), 1, 0)


def _searches(subject: Subject) -> list[dict[str, Any]]:
    problem = subject.piecewise(0)
    points = problem.witnesses or ()
    rows = []
    start = time.process_time()
    FloatSchedules.of(problem, NORM, DEPTH, points)
    rows.append(
        {
            "what": f"the target at {len(points)} witnesses exactly, part of both searches",
            "cpu_s": time.process_time() - start,
        }
    )
    for name, search in (("enumeration", enumerate_schedules), ("bounded", best_schedule_bnb)):
        wall, start = time.perf_counter(), time.process_time()
        found = search(problem, NORM, DEPTH, points)
        rows.append(
            {
                "what": f"{name}, depth {DEPTH}, {len(points)} witnesses",
                "cpu_s": time.process_time() - start,
                "wall_s": time.perf_counter() - wall,
                "schedules": 2**DEPTH,
                "prefixes_seen": found.nodes,
                "least_error": float(found.lower),
                "decided_exactly": found.decided,
                "best": "".join(map(str, found.schedule)),
            }
        )
    schedules = FloatSchedules.of(problem, NORM, PEER_DEPTH, points)
    start = time.process_time()
    least = _peer(schedules)
    seconds = time.process_time() - start
    exact = best_schedule_bnb(problem, NORM, PEER_DEPTH, points)
    factor = 2 ** (DEPTH - PEER_DEPTH)
    rows.append(
        {
            "what": f"NumPy with shared prefixes, depth {PEER_DEPTH}",
            "cpu_s": seconds,
            "least_error": least,
            "agrees": abs(least - float(exact.lower)) < 1e-12,
            "cpu_s_at_20_extrapolated": seconds * factor,
            "enumeration_is_faster_by_extrapolated": seconds * factor / rows[1]["cpu_s"],
        }
    )
    return rows


def _peer(schedules: FloatSchedules) -> float:
    """The least error of all schedules: depth first, all witnesses at once, no exclusion."""
    atoms, goal = schedules.atoms, schedules.goal
    best = np.inf

    def grow(z: Any, k: int) -> None:
        nonlocal best
        if k == schedules.depth:
            best = min(best, float(np.sqrt(((z - goal) ** 2).sum(axis=1)).max()))
            return
        for j in range(schedules.count):
            u = schedules.base[:, j] + z @ atoms.state[j].T
            level = atoms.thresholds[j]
            phi = np.sign(u) * np.maximum(np.abs(u) - level, 0.0)
            grow(z @ atoms.carry[j].T + phi @ atoms.output[j].T + atoms.offset[j], k + 1)

    grow(np.broadcast_to(schedules.initial, goal.shape), 0)
    return best


def _claims(subject: Subject) -> list[dict[str, Any]]:
    rows = []
    for depth in CLAIM_DEPTHS:
        start = time.perf_counter()
        claim = produce(subject, 0, depth)
        produced = time.perf_counter() - start
        start = time.perf_counter()
        check_claim(subject, claim)
        rows.append(
            {
                "what": f"claim, depth {depth}",
                "produce_s": produced,
                "check_s": time.perf_counter() - start,
                "lower": float(claim.lower),
                "entries": len(claim.tree),
                "inputs": len(claim.points),
                "bytes": len(claim_bytes(claim)),
            }
        )
    return rows


def _gap() -> dict[str, Any]:
    """64 restarts of coordinate descent beside the exhaustive optimum at depth 20."""
    low = instance_atoms("low")
    moved = tuple(dataclasses.replace(one, offset=vector(["1/20000", 0])) for one in low)
    word = tuple(int(x) for x in np.random.Generator(np.random.PCG64(23)).integers(0, 2, DEPTH))
    question = dataclasses.replace(
        matrix_question(full=False), target=ScheduleTarget("schedule", moved, word)
    )
    problem = Subject(question, {}).piecewise(0)
    share = Fraction(sum(word), DEPTH)
    start = time.perf_counter()
    gap = optimisation_gap(
        problem,
        NORM,
        DEPTH,
        problem.witnesses or (),
        RESTARTS,
        seed=0,
        balanced=greedy([[1 - share, share]] * DEPTH),
    )
    return {
        "what": f"local search, depth {DEPTH}, {RESTARTS} restarts, an instance of our own",
        "seconds": time.perf_counter() - start,
        "optimum": float(gap.optimum.lower),
        "best_over_optimum": gap.best_ratio,
        "median_over_optimum": gap.median_ratio,
        "balanced_over_optimum": (gap.balanced or 0.0) / float(gap.optimum.upper),
        "published_on_theirs": PUBLISHED,
    }


if __name__ == "__main__":
    main()
