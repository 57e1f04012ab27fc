"""The metadata radius (theory T5.1): ``L_Omega max(S1, Phi_m(T)) delta_s``."""

from __future__ import annotations

from fractions import Fraction

from qreplace.question.model import CodesMetadata, CoveringMetadata, NoMetadata, Question
from qreplace.radii.constants import GrowthChoice, Sight
from qreplace.radii.coverings import covering
from qreplace.radii.depth_function import DepthSum, exp2_upper, monomial
from qreplace.radii.radius import Premises, Radius, unavailable
from qreplace.radii.synthesis import on_growth

PHI_BITS = 160
"""Precision of the enclosed ``Phi_m(T)``."""


def metadata_radius(
    question: Question, choice: GrowthChoice, bits: int, sight: Sight
) -> Radius | None:
    """The radius at ``bits`` metadata bits; ``None`` when the question says there is none."""
    block = question.metadata
    if isinstance(block, (NoMetadata, CodesMetadata)):
        return None
    if not isinstance(block, CoveringMetadata):
        return unavailable("metadata", "the metadata block is omitted")
    used = Premises()
    sensitivity = used.need("sensitivity", sight.upper("sensitivity", block.sensitivity))
    if block.family is not None:
        delta = covering(block.family, bits).radius
        shown = "that of the best product grid of 2^s points"
    else:
        cover = used.need("covering_constant", sight.upper("covering_constant", block.constant))
        delta = cover * exp2_upper(Fraction(bits, block.dimension))
        shown = "C 2^(-s/dim)"
    total = _worst_growth(sensitivity * delta, choice)
    formula = f"T5.1 L_Omega max(S1, Phi_m(T)) delta_s, delta_s = {shown}"
    return on_growth("metadata", formula, total, choice, used)


def _worst_growth(scale: Fraction, choice: GrowthChoice) -> DepthSum:
    """``scale * max(S1, Phi)``: S1 rises to Phi for ``m > 0`` and falls to it for ``m < 0``."""
    if choice.refused or choice.growth.rate <= 0:
        return monomial(scale, 0, choice.growth)
    return monomial(scale * Fraction(choice.growth.limit(PHI_BITS), 1 << PHI_BITS))
