"""The metadata radius (theory T5.1): ``L_Omega max(S1, Phi_m(T)) delta_s``."""

from __future__ import annotations

from fractions import Fraction

from qreplace.question.model import CodesMetadata, CoveringMetadata, NoMetadata, Question
from qreplace.radii.constants import FieldConstants, premise_constant
from qreplace.radii.depth_function import (
    DepthSum,
    EulerGrowth,
    Monomial,
    constant,
    exp2_upper,
    phi_upper,
)
from qreplace.radii.radius import Piece, Premises, Radius, unavailable
from qreplace.radii.synthesis import growth_pieces


def metadata_radius(question: Question, constants: FieldConstants, bits: int) -> Radius | None:
    """The radius at ``bits`` metadata bits; ``None`` when the question says there is none."""
    block = question.metadata
    if isinstance(block, (NoMetadata, CodesMetadata)):
        return None
    if not isinstance(block, CoveringMetadata):
        return unavailable("metadata", "the metadata block is omitted")
    used = Premises()
    sensitivity = used.need("sensitivity", premise_constant("sensitivity", block.sensitivity))
    cover = used.need("covering_constant", premise_constant("covering_constant", block.constant))
    pieces, gaps = growth_pieces(constants, used)
    if used.missing:
        names = ", ".join(dict.fromkeys(used.missing))
        return unavailable("metadata", f"missing premise: {names}")
    delta = cover * exp2_upper(Fraction(bits, block.dimension))
    scale = sensitivity * delta
    return Radius(
        "metadata",
        "T5.1 L_Omega max(S1, Phi_m(T)) delta_s, delta_s = C 2^(-s/dim)",
        used.evidence,
        used.declared,
        tuple(
            Piece(first, last, _worst_growth(scale, rate, constants.horizon))
            for first, last, rate in pieces
        ),
        gaps,
    )


def _worst_growth(scale: Fraction, rate: Fraction, horizon: Fraction) -> DepthSum:
    """``scale * max(S1, Phi)``: S1 rises to Phi for ``m >= 0`` and falls to it for ``m < 0``."""
    if rate >= 0:
        return constant(scale * phi_upper(rate, horizon))
    return DepthSum((Monomial(scale, 0, (EulerGrowth(rate, horizon),)),))
