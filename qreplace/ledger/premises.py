"""From a ledger to a specification: its results as labelled premises, in YAML."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from qreplace.exact.rational import decimal_text
from qreplace.ledger.totals import Total

if TYPE_CHECKING:
    from qreplace.ledger.outcome import LedgerOutcome

DIGITS = 12
"""Significant digits of a premise, rounded up."""
HEADER = """\
# From qreplace ledger. The growth rate m is L_z, which a study takes when it states no other.
# Merge what stands under execution with the study's own block.
"""
ROUTING = {
    "every event": ("jump", "gap_lipschitz", "gap_error"),
    "the block itself": ("score_lipschitz", "score_error"),
}


def premise_blocks(found: LedgerOutcome) -> str:
    """``synthesis`` and ``execution.field_error``; for a router what its events need, as comments.

    A result that is zero because nothing errs or varies is written as the explicit word.
    """
    named = {own.name: own for own in found.totals}
    norm = f"  norm: {{kind: block_l2, block: {found.ledger.request.dimensions.model}}}"
    source, assumptions = found.ledger.source, found.ledger.assumptions
    variation, error = named["time_variation"], named["field_error"]

    def written(own: Total) -> list[str]:
        return ["  " + line for line in _premise(own, source, assumptions)]

    lines = ["synthesis:", "  kind: bounded_variation", norm]
    lines += written(named["field_bound"]) + written(named["state_lipschitz"])
    lines += written(variation) if variation.value else ["  time_variation: none"]
    lines += ["execution:", norm]
    lines += written(error) if error.value else ["  field_error: exact"]
    for place, names in ROUTING.items():
        if all(name in named for name in names):
            lines.append(f"# routing, for {place}:")
            lines += [f"#   {line}" for name in names for line in _premise(named[name], source, ())]
    return HEADER + "\n".join(lines) + "\n"


def _premise(own: Total, source: str, assumptions: Sequence[str]) -> list[str]:
    found = [
        f"{own.name}:",
        f"  value: {decimal_text(own.value, up=True, digits=DIGITS)}",
        f"  unit: {own.unit}",
        f"  evidence: {own.evidence.value}",
        f'  source: "{source}"',
    ]
    if assumptions:
        found.append("  assumptions:")
        found += [f"    - {json.dumps(text, ensure_ascii=False)}" for text in assumptions]
    return found
