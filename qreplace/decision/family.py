"""This family, not this target: what counting excludes for a guarantee over a whole family (T5.2).

``2^s J^D`` pairs of metadata and schedule give at most as many maps. If a family holds more targets
than that, pairwise more than twice the tolerance apart, then some of them are missed. A single
target may still be reached, so nothing here touches a verdict.
"""

from __future__ import annotations

from dataclasses import dataclass

from qreplace.premises import Evidence
from qreplace.question.model import CoveringMetadata, Question
from qreplace.radii.coverings import first_family_depth


@dataclass(frozen=True, slots=True)
class FamilyFinding:
    """At ``bits`` metadata bits no depth below ``first_depth`` serves every target of the family.

    ``first_depth`` ``None``: no depth does. ``evidence`` is the label of the declared number of
    ``targets``.
    """

    bits: int
    first_depth: int | None
    targets: int
    evidence: Evidence


def family_findings(question: Question) -> tuple[FamilyFinding, ...]:
    """One finding a searched budget; empty where the question says nothing of the family."""
    metadata = question.metadata
    if not isinstance(metadata, CoveringMetadata) or metadata.targets is None:
        return ()
    declared = metadata.targets
    if declared.evidence is Evidence.UNAVAILABLE:
        return ()
    targets = -(-declared.lower.numerator // declared.lower.denominator)
    atoms = question.dictionary.atom_count
    return tuple(
        FamilyFinding(bits, first_family_depth(targets, bits, atoms), targets, declared.evidence)
        for bits in question.search.metadata_bits
    )
