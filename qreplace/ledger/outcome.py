"""What a ledger says: a document, a table for a terminal, premises for a study, a figure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from qreplace.architecture.shares import Cost, costs
from qreplace.exact.rational import approximate, format_rational
from qreplace.ledger.build import Ledger, load_ledger
from qreplace.ledger.premises import premise_blocks
from qreplace.ledger.reader import Progress
from qreplace.ledger.totals import Total, totals_of
from qreplace.report.decimals import decimal

DIGITS = 5
"""Significant digits in the table."""


@dataclass(frozen=True)
class LedgerOutcome:
    """A finished ledger."""

    ledger: Ledger

    @cached_property
    def rows(self) -> tuple[Cost, ...]:
        """The components in the order in which errors pass through them."""
        return costs(self.ledger.block)

    @cached_property
    def totals(self) -> tuple[Total, ...]:
        """B, L_z, m, V and eta_G, and what a router adds."""
        return totals_of(self.ledger)

    def document(self) -> dict[str, Any]:
        """What ``--json`` prints."""
        request, tube = self.ledger.request, self.ledger.block.tube
        eta = self.ledger.block.field_error()
        return {
            "format": "qreplace/ledger-result/v1",
            "ledger": self.ledger.digest,
            "title": request.title,
            "norm": request.norm,
            "tube": _numbers(radius=tube.radius, lower_radius=tube.lower_radius),
            "totals": {
                own.name: {
                    "symbol": own.symbol,
                    **_numbers(value=own.value),
                    "unit": own.unit,
                    "evidence": own.evidence.value,
                    "formula": own.formula,
                }
                for own in self.totals
            },
            "components": [
                {
                    "component": row.link.component,
                    **_numbers(
                        error_in=row.link.arriving,
                        constant=row.link.constant,
                        error_out=row.link.leaving,
                        share=row.share / eta if eta else Fraction(0),
                        halving_gains=row.gain,
                    ),
                }
                for row in self.rows
            ],
            "assumptions": list(self.ledger.assumptions),
            "rests_on": [
                {
                    "place": own.place,
                    **_numbers(value=own.value),
                    "evidence": own.evidence.value,
                    "source": own.source,
                }
                for own in self.ledger.known
            ],
        }

    def text(self) -> str:
        """The table and the totals, for a terminal."""
        request, tube = self.ledger.request, self.ledger.block.tube
        radius = "any" if tube.radius is None else f"at most {_shown(tube.radius)}"
        lines = [
            *([request.title] if request.title else []),
            f"norm {request.norm}; tokens of l2 norm {radius}; "
            f"norm layers divide by at least {_shown(tube.lower_radius)}",
            self.ledger.source,
            "",
            *self._table(),
            "",
            *_columns(
                ("total", "value", "unit", "weakest label", "formula"),
                [
                    (own.symbol, _shown(own.value), own.unit, own.evidence.value, own.formula)
                    for own in self.totals
                ],
            ),
        ]
        return "\n".join(lines)

    def _table(self) -> list[str]:
        eta = self.ledger.block.field_error()
        rows = [
            (
                row.link.component,
                _shown(row.link.arriving),
                _shown(row.link.constant),
                _shown(row.link.leaving),
                _percent(row.share, eta),
                _shown(row.gain, up=False) if row.gain else "",
            )
            for row in self.rows
        ]
        header = ("component", "error in", "constant", "error out", "share", "halving buys")
        lines = _columns(
            header, [*rows, ("field", "", "", _shown(eta), "100 %" if eta else "", "")]
        )
        return [*lines, *self._advice(eta)]

    def _advice(self, eta: Fraction) -> list[str]:
        """The component that costs most, in a sentence."""
        if not eta:
            return ["", "No component errs."]
        worst = max(self.rows, key=lambda row: row.share)
        best = max(self.rows, key=lambda row: row.gain)
        said = [
            "",
            f"{worst.link.component} costs most: {_percent(worst.share, eta)} of eta_G.",
        ]
        if best.gain:
            said[1] += (
                f" Halving the own error of {best.link.component} would lower eta_G by "
                f"{_shown(best.gain, up=False)}, {_percent(best.gain, eta)}."
            )
        else:
            said[1] += " No single component lowers eta_G when its own error is halved."
        return said

    def premises(self) -> str:
        """``synthesis`` and ``execution.field_error`` of a specification, as YAML."""
        return premise_blocks(self)

    @cached_property
    def figures(self) -> Mapping[str, bytes]:
        """``ledger.svg`` and ``ledger.png``."""
        from qreplace.ledger.figure import ledger_figure

        return ledger_figure(self.rows, self.ledger.block.field_error(), self.ledger.request.title)

    def files(self) -> dict[str, bytes]:
        """Everything that ``--out`` writes."""
        document = json.dumps(self.document(), ensure_ascii=False, indent=2).encode() + b"\n"
        return {
            "ledger.json": document,
            "premises.yaml": self.premises().encode(),
            **self.figures,
        }


def run(path: Path, progress: Progress | None = None) -> LedgerOutcome:
    """The ledger of a description; raises ``SpecError`` or ``InputError``."""
    return LedgerOutcome(load_ledger(path, progress))


def _numbers(**values: Fraction | None) -> dict[str, Any]:
    """Each number exactly as text, followed by its ``~`` companion in decimals."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        found[name] = None if value is None else format_rational(value)
        found[f"{name}~"] = None if value is None else approximate(value)
    return found


def _shown(value: Fraction, *, up: bool = True) -> str:
    return decimal(value, up=up, digits=DIGITS)


def _percent(part: Fraction, whole: Fraction) -> str:
    return f"{decimal(100 * part / whole, up=True, digits=3)} %" if part else ""


def _columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    cells = [tuple(header), *map(tuple, rows)]
    widths = [max(len(cell[i]) for cell in cells) for i in range(len(header))]
    rule = tuple("-" * width for width in widths)
    return [
        "  ".join(text.ljust(width) for text, width in zip(cell, widths, strict=True)).rstrip()
        for cell in (cells[0], rule, *cells[1:])
    ]
