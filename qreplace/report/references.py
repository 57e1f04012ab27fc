"""The papers behind the methods that a study used; only those are printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qreplace.claims import Claim
from qreplace.claims.affine_lp import AffineLPClaim


@dataclass(frozen=True, slots=True)
class Reference:
    """A publication, and what it was used for here."""

    key: str
    authors: str
    title: str
    venue: str
    year: int
    identifier: str
    """DOI or arXiv number, as text; reports link nowhere."""
    used_for: str

    def __str__(self) -> str:
        authors = f"{self.authors}. " if self.authors else ""
        return f"{authors}{self.title}. {self.venue}, {self.year}. {self.identifier}"


QR = Reference(
    "qr2026",
    "",
    "When Can Depth Replace Precision? A Resource Theory of Quantized Neural Computation",
    "arXiv preprint",
    2026,
    "arXiv:2607.23390",
    "floor, radii and decision",
)
TIJDEMAN = Reference(
    "tijdeman1980",
    "R. Tijdeman",
    "The chairman assignment problem",
    "Discrete Mathematics 32",
    1980,
    "doi:10.1016/0012-365X(80)90269-1",
    "order of the schedule and its discrepancy (T2.2)",
)
HIGHS = Reference(
    "huangfu2018",
    "Q. Huangfu and J. A. J. Hall",
    "Parallelizing the dual revised simplex method",
    "Mathematical Programming Computation 10",
    2018,
    "doi:10.1007/s12532-017-0130-5",
    "HiGHS, which proposed the basis of the floor’s certificate (T7.1)",
)
WAN = Reference(
    "wan2006",
    "Z. Wan",
    "An algorithm to solve integer linear systems exactly using numerical methods",
    "Journal of Symbolic Computation 41",
    2006,
    "doi:10.1016/j.jsc.2005.11.001",
    "exact solution of that basis by numeric-symbolic lifting (T7.1)",
)
FLINT = Reference(
    "flint",
    "The FLINT team",
    "FLINT: Fast Library for Number Theory",
    "software",
    2025,
    "flintlib.org",
    "exact solution of that basis (T7.1)",
)

REFERENCES = (QR, TIJDEMAN, HIGHS, WAN, FLINT)
"""Every publication that a report can name."""

LIFTED_BASIS = 48
"""From this size on the producer tries numeric lifting before FLINT."""


def references(document: Mapping[str, Any], claims: Sequence[Claim]) -> tuple[Reference, ...]:
    """The publications of the methods that this study used, in the order of ``REFERENCES``."""
    used = {QR.key}
    radii = document["best"]["radii"].values() if document["best"] else ()
    formulas = [radius["formula"] for radius in radii if radius["used"]]
    if any("P_D" in formula for formula in formulas):
        used.add(TIJDEMAN.key)
    if document["plan"] and "T2.2" in document["plan"]["order"]:
        used.add(TIJDEMAN.key)
    if any(claim["kind"] == "affine_lp" for claim in document["claims"]):
        used.add(HIGHS.key)
    used.update(_exact_solver(c).key for c in claims if _solved_exactly(c))
    return tuple(reference for reference in REFERENCES if reference.key in used)


def _solved_exactly(claim: Claim) -> bool:
    return isinstance(claim, AffineLPClaim) and claim.method in ("optimal_basis", "refined_basis")


def _exact_solver(claim: Claim) -> Reference:
    """What solved the basis of an exactly solved floor; its size shows in the supports."""
    if not isinstance(claim, AffineLPClaim):
        return FLINT
    size = 1 + max(len(claim.primal.indices), len(claim.dual.indices))
    return WAN if size >= LIFTED_BASIS else FLINT
