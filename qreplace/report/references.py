"""The papers behind the methods that a study used; only those are printed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qreplace.claims import Claim
from qreplace.claims.affine_dynamics import AffineDynamicsClaim
from qreplace.claims.affine_lp import AffineLPClaim
from qreplace.claims.compositional import CompositionalClaim
from qreplace.claims.hjb_sos import HjbSosClaim
from qreplace.claims.region import BoxPart
from qreplace.claims.relaxed_control import RelaxedControl, RelaxedControlClaim
from qreplace.claims.sums_of_squares import Gram
from qreplace.claims.support import SupportClaim
from qreplace.report.context import Attempt


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

PEYRL = Reference(
    "peyrl2008",
    "H. Peyrl and P. A. Parrilo",
    "Computing sum of squares decompositions with rational coefficients",
    "Theoretical Computer Science 409",
    2008,
    "doi:10.1016/j.tcs.2008.09.025",
    "sums of squares with exact rational Gram matrices (T7.4)",
)
LASSERRE = Reference(
    "lasserre2008",
    "J. B. Lasserre, D. Henrion, C. Prieur and E. Trélat",
    "Nonlinear optimal control via occupation measures and LMI-relaxations",
    "SIAM Journal on Control and Optimization 47",
    2008,
    "doi:10.1137/070685051",
    "polynomial value functions from moment relaxations (T7.4, T7.9)",
)
CVXPY = Reference(
    "diamond2016",
    "S. Diamond and S. Boyd",
    "CVXPY: A Python-embedded modeling language for convex optimization",
    "Journal of Machine Learning Research 17",
    2016,
    "arXiv:1603.00943",
    "stating the semidefinite programs that proposed certificates (T7.9)",
)
CLARABEL = Reference(
    "goulart2024",
    "P. J. Goulart and Y. Chen",
    "Clarabel: An interior-point solver for conic programs with quadratic objectives",
    "arXiv preprint",
    2024,
    "arXiv:2405.12762",
    "solving those programs in floating point, before the exact repair (T7.9)",
)
SCS = Reference(
    "odonoghue2016",
    "B. O’Donoghue, E. Chu, N. Parikh and S. Boyd",
    "Conic optimization via operator splitting and homogeneous self-dual embedding",
    "Journal of Optimization Theory and Applications 169",
    2016,
    "doi:10.1007/s10957-016-0892-3",
    "the second solver of those programs (T7.9)",
)
MOORE = Reference(
    "moore2009",
    "R. E. Moore, R. B. Kearfott and M. J. Cloud",
    "Introduction to Interval Analysis",
    "SIAM",
    2009,
    "doi:10.1137/1.9780898717716",
    "bounds of the field on a box, or of a matrix exponential, by intervals (T3, T7.2, T7.4)",
)
NEDIALKOV = Reference(
    "nedialkov1999",
    "N. S. Nedialkov, K. R. Jackson and G. F. Corliss",
    "Validated solutions of initial value problems for ordinary differential equations",
    "Applied Mathematics and Computation 105",
    1999,
    "doi:10.1016/S0096-3003(98)10083-8",
    "validated steps of a control’s trajectory (T7.8)",
)
MAKINO = Reference(
    "makino2003",
    "K. Makino and M. Berz",
    "Taylor models and other validated functional inclusion methods",
    "International Journal of Pure and Applied Mathematics 4",
    2003,
    "pages 379–456",
    "Taylor steps of high order with an enclosed remainder (T7.8)",
)

REFERENCES = (
    QR, TIJDEMAN, HIGHS, WAN, FLINT,
    PEYRL, LASSERRE, CVXPY, CLARABEL, SCS, MOORE, NEDIALKOV, MAKINO,
)  # fmt: skip
"""Every publication that a report can name."""

LIFTED_BASIS = 48
"""From this size on the producer tries numeric lifting before FLINT."""


SEMIDEFINITE_ENGINES = ("hjb_sos", "moment", "support", "compositional")
"""Engines that propose certificates by a semidefinite program."""


def references(
    document: Mapping[str, Any], claims: Sequence[Claim], attempts: Sequence[Attempt] = ()
) -> tuple[Reference, ...]:
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
    for claim in claims:
        used.update(reference.key for reference in _methods(claim))
    used.update(reference.key for reference in _solvers(claims, attempts))
    return tuple(reference for reference in REFERENCES if reference.key in used)


def _methods(claim: Claim) -> Iterator[Reference]:
    """What a claim's own proof rests on."""
    if isinstance(claim, (HjbSosClaim, SupportClaim, CompositionalClaim)):
        yield LASSERRE
    if _holds(claim, Gram):
        yield PEYRL
    if _holds(claim, BoxPart) or isinstance(claim, AffineDynamicsClaim):
        yield MOORE
    if isinstance(claim, RelaxedControlClaim) and isinstance(claim.control, RelaxedControl):
        yield NEDIALKOV
        if claim.control.order > 1:
            yield MAKINO


def _solvers(claims: Sequence[Claim], attempts: Sequence[Attempt]) -> Iterator[Reference]:
    """The solvers that this run called; a claim that was attached does not say who made it."""
    discrete = any(isinstance(c, HjbSosClaim) and c.depth is not None for c in claims)
    engines = (*SEMIDEFINITE_ENGINES, "lower_at_depths") if discrete else SEMIDEFINITE_ENGINES
    ran = [a for a in attempts if a.outcome != "not_tried" and a.engine in engines]
    if not ran:
        return
    yield from (CVXPY, CLARABEL)
    if any("SCS" in attempt.detail for attempt in ran):
        yield SCS


def _holds(value: Any, part: type) -> bool:
    """Whether a claim has a part of this type anywhere."""
    if isinstance(value, part):
        return True
    if isinstance(value, tuple):
        return any(_holds(item, part) for item in value)
    fields = getattr(value, "__dataclass_fields__", ())
    return any(_holds(getattr(value, name), part) for name in fields)


def _solved_exactly(claim: Claim) -> bool:
    return isinstance(claim, AffineLPClaim) and claim.method in ("optimal_basis", "refined_basis")


def _exact_solver(claim: Claim) -> Reference:
    """What solved the basis of an exactly solved floor; its size shows in the supports."""
    if not isinstance(claim, AffineLPClaim):
        return FLINT
    size = 1 + max(len(claim.primal.indices), len(claim.dual.indices))
    return WAN if size >= LIFTED_BASIS else FLINT
