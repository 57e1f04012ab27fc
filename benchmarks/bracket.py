"""How much does exactness cost? The exact bracket against HiGHS, the checker against Fractions.

480 coordinates, 320 atoms, dense 8-bit data. `interior`: the target lies near the atoms' hull, so
nearly all of them are in the basis (more than 200); `outside`: a random target, a small basis. The
peers are HiGHS's own run time in the same call, and the plain checker of ``qreplace.check.plain``
that follows the definition with ``fractions.Fraction``.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from benchmarks.measure import best_of, record
from qreplace.check.plain import plain_bracket
from qreplace.check.registry import check_claim
from qreplace.produce.affine_lp import AffineLPProducer
from qreplace.question.arrays import RawArray
from qreplace.question.model import (
    ComputedFloor,
    Costs,
    DepthRange,
    Emulation,
    ExactExecution,
    LiftedAffineSystem,
    LinfNorm,
    ListedDictionary,
    NoMetadata,
    NoRouting,
    Question,
    Search,
    VectorAtom,
    VectorTarget,
    WitnessDomain,
)
from qreplace.question.subject import Subject

DIMENSION, ATOMS = 480, 320
REPEATS = 5


def subject_of(atoms: np.ndarray, target: np.ndarray) -> Subject:
    """A lifted question with int8 or int16 side arrays."""
    store: dict[str, bytes] = {}

    def stored(values: np.ndarray) -> RawArray:
        raw = RawArray("<i2", values.shape, values.astype("<i2").tobytes())
        store[raw.reference().sha256] = raw.to_npy()
        return raw

    question = Question(
        format="qreplace/question/v1",
        objective=Emulation("emulation", Fraction(1)),
        scope="endpoint",
        norm=LinfNorm("linf"),
        domain=WitnessDomain("witnesses", None),
        horizon=Fraction(1),
        system=LiftedAffineSystem("lifted_affine"),
        initial=None,
        tube=None,
        target=VectorTarget("vector", stored(target).reference()),
        dictionary=ListedDictionary(
            "listed",
            tuple(VectorAtom("vector", stored(column).reference()) for column in atoms.T),
            8,
            False,
            True,
        ),
        floor=ComputedFloor("compute", "affine_lp"),
        synthesis=None,
        metadata=NoMetadata("none"),
        execution=ExactExecution("exact"),
        routing=NoRouting("none"),
        search=Search((DepthRange(1, 8, 1),), (0,)),
        costs=Costs(Fraction(0), Fraction(0), Fraction(1), Fraction(0)),
        certificates=(),
    )
    return Subject(question, store)


def instances() -> dict[str, Subject]:
    """The two registered instances."""
    generator = np.random.Generator(np.random.PCG64(20260731))
    atoms = generator.integers(-127, 128, size=(DIMENSION, ATOMS))
    weights = generator.integers(1, 1000, size=ATOMS)
    noise = generator.integers(-2, 3, size=DIMENSION)
    near = (atoms @ weights) // int(weights.sum()) + noise
    far = generator.integers(-127, 128, size=DIMENSION)
    return {"interior": subject_of(atoms, near), "outside": subject_of(atoms, far)}


def main() -> None:
    """Measure and record."""
    rows = []
    for name, subject in instances().items():
        problem = subject.lifted(0)
        problem.rows  # noqa: B018 - formed once, outside the timings
        runs = []
        for _ in range(REPEATS):
            producer = AffineLPProducer(subject, 0)
            claim = producer.claim()
            runs.append((producer.exact_seconds / producer.solver_seconds, producer))
        runs.sort(key=lambda run: run[0])
        ratio, producer = runs[len(runs) // 2]
        check_median, _ = best_of(REPEATS, lambda c=claim, s=subject: check_claim(s, c))
        plain_median, _ = best_of(1, lambda c=claim, s=subject: plain_bracket(s, c))
        rows.append(
            {
                "instance": name,
                "basis": len(claim.primal.indices),
                "method": claim.method,
                "width": str(claim.upper - claim.lower),
                "highs_s": producer.solver_seconds,
                "exact_s": producer.exact_seconds,
                "exact_over_highs": ratio,
                "check_s": check_median,
                "plain_fraction_check_s": plain_median,
                "plain_over_check": plain_median / check_median,
            }
        )
    record("bracket", rows)


if __name__ == "__main__":
    main()
