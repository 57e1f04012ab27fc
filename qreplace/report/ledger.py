"""What the width of a ``net_floor`` bracket is made of, ready to show (QR Table 9)."""

from __future__ import annotations

from dataclasses import dataclass

from qreplace.check.net_ledger import ledger
from qreplace.claims.net_floor import NetFloorClaim
from qreplace.errors import QReplaceError
from qreplace.question.subject import Subject
from qreplace.report.context import ReportContext
from qreplace.report.decimals import Number, at_most


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One step of the algorithm: what it adds, and what the paper's would."""

    step: int
    operation: str
    amount: Number
    paper: Number | None
    note: str


def ledger_rows(context: ReportContext) -> tuple[LedgerRow, ...]:
    """The rows of the narrowest checked bracket on a net; none without one."""
    claims = [c for c in context.claims if isinstance(c, NetFloorClaim) and c.upper is not None]
    if not claims:
        return ()
    narrowest = min(claims, key=lambda claim: (claim.upper or claim.lower) - claim.lower)
    try:
        found = ledger(Subject(context.question, context.arrays), narrowest)
    except QReplaceError:  # its arrays are not at hand, or it is not about this question
        return ()
    return tuple(
        LedgerRow(
            row.step,
            row.operation,
            at_most(row.amount),
            None if row.paper is None else at_most(row.paper),
            row.note,
        )
        for row in found
    )
