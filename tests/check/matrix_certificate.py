"""The certificate of the paper's matrix instance: produced, then written out with its argument."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from piecewise_questions import INSTANCE, instance_witnesses

from qreplace import load_spec
from qreplace.claims import Claim
from qreplace.claims.pwa_supremum import ComparatorMap, ScheduleMap
from qreplace.produce.pwa_supremum import produce
from qreplace.produce.schedule_minimum import produce as produce_minimum
from qreplace.produce.schedule_minimum import produce_domain_minimum
from qreplace.question.maps import homogeneous
from qreplace.question.model import Question
from qreplace.question.subject import Subject

NAME = "matrix-matching"
EXAMPLE = Path(__file__).parents[2] / "examples/matrix-matching.yaml"
BEST_7 = tuple(map(int, INSTANCE["L7_witness_optimum"]))
BEST_8 = tuple(INSTANCE["L8"])

TEXTS = {
    NAME: "Accuracy matching of the matrix-valued instance (QR 10.7, Appendix E): two 4-bit atoms "
    "against two high-precision ones on the whole unit disk. The low-bit dictionary reaches the "
    "accuracy of the high-precision comparator of depth 4 at depth 8, and at no smaller depth."
}

PROOFS = {
    NAME: """The comparator is the switched map of depth 4; its error is the largest distance to
the reference of depth 32 over the disk. Both maps, and every low-bit schedule, are piecewise
affine in the input.

1. *Upper ends by cells.* Both maps are pushed through a polygon of tangents around the disk, and
   every cell is cut wherever an activation of either bends. On a cell the difference is affine and
   its norm convex, so the largest error on it is at one of its vertices. The cells cover the
   polygon, and the polygon the disk.
2. *Lower ends by one input each*: a rational point of the disk and the error there.
3. *No schedule of depth 7 or less is good enough.* At a point of the disk a schedule errs by at
   most its error on the disk; so a minimum over all schedules of the largest error on a few points
   bounds the minimum over all schedules of the error on the disk from below. Every leaf of the tree
   of prefixes names a point at which each continuation of its prefix is too far from the reference.
   The seven minima all exceed the comparator's error.
4. *Depth 8 is good enough*: the largest error of `00000101` is below the comparator's.

So the matching depth is 8 on the whole disk, not only on the witnesses. The last claim is the
paper's own lower end at depth 7, from its 1,281 witnesses alone. The one before it, with inputs
chosen for each schedule, and the largest error of `0100001` bracket the minimum over all 128
schedules on the disk.""",
}


def cases() -> dict[str, tuple[Question, list[Claim]]]:
    """The question of the example, and claims about it."""
    question = load_spec(EXAMPLE).question
    subject = Subject(question, {})
    witnesses = [homogeneous(point) for point in instance_witnesses()]
    return {
        NAME: (
            question,
            [
                produce(subject, 0, ComparatorMap("comparator")),
                produce(subject, 0, ScheduleMap("schedule", BEST_8)),
                produce(subject, 0, ScheduleMap("schedule", BEST_7)),
                *(
                    produce_domain_minimum(subject, 0, depth, Fraction(1, 10**7))
                    for depth in range(1, 8)
                ),
                produce_minimum(subject, 0, 7, points=witnesses),
            ],
        )
    }
