"""What a phase demonstration found: rows, slopes, optimum, and how they are told (theory T4)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

from qreplace.exact.rational import format_rational, round_down
from qreplace.report.decimals import decimal
from qreplace.simulate.documents import columns, numbers, shown
from qreplace.simulate.labels import Basis, label, statement
from qreplace.simulate.model import Rounding, Semantics, System

Curve = Literal[
    "ideal", "write_back", "increment", "error_feedback", "rounded_carry", "scaled_feedback"
]
"""A semantics, or error feedback on a grid that gets finer with depth (``rho = h rho_bar``)."""
CURVES: tuple[Curve, ...] = (
    "ideal", "write_back", "increment", "error_feedback", "rounded_carry", "scaled_feedback",
)  # fmt: skip
SHOWN_ROWS = 14
"""Depths that a terminal shows."""
SMALL_STEP = Fraction(1, 16)
"""Slopes are fitted where ``h L`` is at most this: before it, higher orders of h still count."""
MIN_POINTS = 3
MARGIN_BITS = 32
"""A margin is rounded down to so many bits after the point."""


def semantics_of(curve: Curve) -> Semantics:
    """The semantics that a curve runs in."""
    return "error_feedback" if curve == "scaled_feedback" else curve


@dataclass(frozen=True, slots=True)
class PhasePlan:
    """One system, the depths it runs at, and its registers.

    The state's grid has step ``2 limit / (2^state_bits - 1)``; the increment lies on the same grid;
    the carry's is ``2^carry_bits`` times finer. ``scaled_feedback`` runs on steps ``scaled_step /
    D``; ``None`` makes it meet the state's grid at the predicted optimum of write-back.
    """

    system: System
    weights: tuple[Fraction, ...]
    depths: tuple[int, ...]
    state_bits: int = 14
    limit: Fraction = Fraction(1)
    rounding: Rounding = "nearest_even"
    carry_bits: int = 6
    scaled_step: Fraction | None = None
    curves: tuple[Curve, ...] = CURVES
    seed: int = 0

    @property
    def grid_step(self) -> Fraction:
        """Delta."""
        return grid_step(self.limit, self.state_bits)


def grid_step(limit: Fraction, bits: int) -> Fraction:
    """The step of ``bits`` over ``[-limit, limit]`` (theory T4.3)."""
    return 2 * limit / ((1 << bits) - 1)


@dataclass(frozen=True, slots=True)
class PhaseRow:
    """One depth in one semantics. Errors are linf and upper ends, predictions are upper bounds."""

    depth: int
    curve: Curve
    bits: int
    step: Fraction
    """Of the grid that was rounded to; 0 for ``ideal``."""
    error: Fraction
    """Executed endpoint to the target."""
    to_ideal: Fraction
    """Executed endpoint to that of the ideal run at the same depth."""
    synthesis: Fraction
    """``Q_D + P_D`` (theory T3.3); 0 where the ideal run itself is the target."""
    arithmetic: Fraction | None
    """A_D; ``None`` where a register overflowed, about which theory T4.8 says nothing."""
    predicted: Fraction | None
    """Their sum, or the exact error of a frozen run where that is smaller."""
    formula: str
    frozen: bool
    """Theory T4.4 says that the state never moves."""
    overflows: int
    initial_error: Fraction
    field_error: Fraction
    margin: Fraction
    """Distance of the ideal path from the ends of the state's register."""


@dataclass(frozen=True, slots=True)
class Slope:
    """A least-squares slope of log error against log depth on one branch (floats)."""

    curve: Curve
    branch: Literal["all", "left", "right"]
    expected: int
    slope: float | None
    """``None`` with fewer than ``MIN_POINTS`` depths."""
    first: int
    last: int
    count: int


@dataclass(frozen=True)
class PhaseTable:
    """Every row of one demonstration; none crosses its prediction."""

    plan: PhasePlan
    target: str
    """How the target is known."""
    target_radius: Fraction
    rows: tuple[PhaseRow, ...]
    freezing_depth: Fraction
    """``2 T B / Delta`` (theory T4.4)."""
    optimum: float
    """Predicted depth of write-back's smallest error, ``sqrt(C_syn T / (rho_z S1))``."""
    scaled_step: Fraction
    lipschitz: Fraction

    @cached_property
    def by_curve(self) -> Mapping[Curve, tuple[PhaseRow, ...]]:
        """The rows of each curve, by depth."""
        return {
            curve: tuple(row for row in self.rows if row.curve == curve)
            for curve in self.plan.curves
        }

    def best(self, curve: Curve) -> PhaseRow:
        """The row with the smallest measured error; the smaller depth on ties."""
        return min(self.by_curve[curve], key=lambda row: (row.error, row.depth))

    def predicted_best(self, curve: Curve) -> PhaseRow | None:
        """The row with the smallest prediction."""
        known = [
            (row.predicted, row.depth, row)
            for row in self.by_curve[curve]
            if row.predicted is not None and not row.frozen
        ]
        return min(known, key=lambda entry: entry[:2])[2] if known else None

    @property
    def measured_optimum(self) -> PhaseRow | None:
        """Write-back's best row among those that are not frozen."""
        moving = [row for row in self.by_curve.get("write_back", ()) if not row.frozen]
        return min(moving, key=lambda row: (row.error, row.depth), default=None)

    @cached_property
    def slopes(self) -> tuple[Slope, ...]:
        """The branches that theory gives a slope for, as far as there are depths on them."""
        found = []
        first = self._settled()
        for curve in ("ideal", "scaled_feedback"):
            if curve in self.plan.curves:
                found.append(self._slope(curve, "all", -1, first, math.inf))
        best = self.measured_optimum
        if best is not None:
            turn = best.depth
            found.append(self._slope("write_back", "left", -1, first, turn / 2))
            last = float(self.freezing_depth / 4)
            found.append(self._slope("write_back", "right", 1, 2 * turn, last))
        return tuple(found)

    def _settled(self) -> float:
        return float(self.plan.system.horizon * self.lipschitz / SMALL_STEP)

    def _slope(
        self,
        curve: Curve,
        branch: Literal["all", "left", "right"],
        expected: int,
        first: float,
        last: float,
    ) -> Slope:
        rows = [row for row in self.by_curve[curve] if first <= row.depth <= last and row.error]
        slope = None
        if len(rows) >= MIN_POINTS:
            slope = fitted_slope([(row.depth, float(row.error)) for row in rows])
        ends = [row.depth for row in rows] or [0]
        return Slope(curve, branch, expected, slope, ends[0], ends[-1], len(rows))

    @property
    def basis(self) -> Basis:
        """What every number of the table rests on: one schedule a depth."""
        return Basis("measured", self._instance(), exact=True)

    def _instance(self, curve: str = "each semantics") -> str:
        depths = self.plan.depths
        return (
            f"one chairman schedule a depth, {len(depths)} depths from {depths[0]} to "
            f"{depths[-1]}, one initial state, {curve}"
        )

    def document(self) -> dict[str, Any]:
        """What ``--json`` prints."""
        plan = self.plan
        measured = self.measured_optimum
        return {
            "kind": "phase",
            "norm": "linf",
            "target": {"how": self.target, **numbers(radius=self.target_radius)},
            "grid": {
                "state_bits": plan.state_bits,
                "carry_bits": plan.carry_bits,
                "rounding": plan.rounding,
                **numbers(limit=plan.limit, step=plan.grid_step, scaled_step=self.scaled_step),
            },
            **numbers(freezing_depth=self.freezing_depth),
            "optimum": {
                "predicted~": _float(self.optimum),
                "measured": measured.depth if measured is not None else None,
                "formula": "T4.3 sqrt(C_syn T / (rho_z S1))",
            },
            "slopes": [_slope_document(slope) for slope in self.slopes],
            "rows": [row_document(row) for row in self.rows],
            "evidence": label(self.basis).value,
            "basis": statement(self.basis),
        }

    def text(self) -> str:
        """Two tables for a terminal, measured and predicted, depths thinned; then the notes."""
        depths = thinned(self.plan.depths, SHOWN_ROWS)
        at = {(row.curve, row.depth): row for row in self.rows}
        header = ["D", *(WORDS[curve] for curve in self.plan.curves)]
        measured, predicted = [], []
        for depth in depths:
            rows = [at[curve, depth] for curve in self.plan.curves]
            measured.append([str(depth), *(shown_short(row.error) for row in rows)])
            predicted.append([str(depth), *map(_bound_text, rows)])
        lines = ["measured error", *columns(header, measured)]
        lines += ["", "predicted at most", *columns(header, predicted), ""]
        return "\n".join([*lines, *self._notes()])

    def _notes(self) -> list[str]:
        plan, measured = self.plan, self.measured_optimum
        lines = [
            f"errors are linf, endpoint to target; target {self.target}",
            f"state grid: {plan.state_bits} bits over ±{format_rational(plan.limit)}, step "
            f"{shown_short(plan.grid_step)}, {plan.rounding}; carry {plan.carry_bits} bits finer",
        ]
        if "write_back" in plan.curves:
            lines.append(
                f"freezing line of write-back: D above {shown(self.freezing_depth)} (T4.4)"
            )
        if measured is not None:
            best = "none" if math.isnan(self.optimum) else f"{self.optimum:.4g}"
            lines.append(
                f"optimum of write-back: predicted D = {best}, measured D = {measured.depth} (T4.3)"
            )
        for slope in self.slopes:
            if slope.slope is None:
                continue
            branch = "" if slope.branch == "all" else f", {slope.branch} branch"
            lines.append(
                f"slope of {WORDS[slope.curve]}{branch}: {slope.slope:+.3f} (expected "
                f"{slope.expected:+d}; {slope.count} depths from {slope.first} to {slope.last})"
            )
        lines.append(f"label: {label(self.basis).value} ({statement(self.basis)})")
        return lines

    def premise_block(self) -> str:
        """Execution blocks for a specification, as YAML: each semantics at its best depth.

        One document a semantics; a study takes one of them.
        """
        curves = [curve for curve in self.plan.curves if curve != "ideal"]
        return "---\n".join(self._block(self.best(curve)) for curve in curves)

    def _block(self, row: PhaseRow) -> str:
        basis = Basis("measured", self._instance(WORDS[row.curve]), exact=True)

        def premise(value: Fraction, source: str = "") -> str:
            return (
                f'{{value: "{format_rational(value)}", evidence: {label(basis).value}, '
                f'source: "{source or statement(basis)}"}}'
            )

        lines = [
            f"# {WORDS[row.curve]}: smallest measured error {shown_short(row.error)} (linf), at "
            f"depth {row.depth}",
            "execution:",
            f"  semantics: {'write_back' if row.curve == 'write_back' else _word(row.curve)}",
            f"  grid: {self._grid(row)}",
        ]
        if row.curve == "rounded_carry":
            carry = format_rational(row.step / 2**self.plan.carry_bits)
            lines.append(f'  carry: {{grid: {{step: "{carry}", rounding: {self._mode()}}}}}')
        overflow = "unbounded"
        if row.curve == "write_back":
            room = round_down(max(row.margin, Fraction(0)), MARGIN_BITS)
            source = f"distance of one ideal path from the register's ends, depth {row.depth}"
            overflow = f"{{kind: saturate, margin: {premise(room, source)}}}"
        lines += [
            f"  field_error: {premise(row.field_error)}",
            f"  initial_error: {premise(row.initial_error)}",
            f"  overflow: {overflow}",
        ]
        return "\n".join(lines) + "\n"

    def _mode(self) -> str:
        known = {"nearest_even": "nearest", "nearest_away": "nearest", "stochastic": "stochastic"}
        return known.get(self.plan.rounding, "directed")

    def _grid(self, row: PhaseRow) -> str:
        if row.curve == "write_back":
            limit = format_rational(self.plan.limit)
            return f'{{bits: {row.bits}, limit: "{limit}", rounding: {self._mode()}}}'
        if row.curve == "scaled_feedback":
            step = f'{{coefficient: "{format_rational(self.scaled_step)}", power: 1}}'
        else:
            step = f'"{format_rational(row.step)}"'
        return f"{{step: {step}, rounding: {self._mode()}}}"


WORDS: dict[Curve, str] = {
    "ideal": "ideal",
    "write_back": "write-back",
    "increment": "increment",
    "error_feedback": "error feedback",
    "rounded_carry": "rounded carry",
    "scaled_feedback": "feedback, ~1/D",
}
"""The names of the curves for people."""


def _bound_text(row: PhaseRow) -> str:
    if row.predicted is None:
        return "overflow"
    return shown_short(row.predicted) + (" frozen" if row.frozen else "")


def _word(curve: Curve) -> str:
    return "increment" if curve == "increment" else "error_feedback"


def fitted_slope(points: Sequence[tuple[float, float]]) -> float:
    """The least-squares slope of ``log y`` against ``log x``."""
    x = [math.log(p[0]) for p in points]
    y = [math.log(p[1]) for p in points]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    spread = sum((a - mean_x) ** 2 for a in x)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / spread


def thinned(depths: Sequence[int], most: int) -> list[int]:
    """At most so many depths, evenly spread, the first and the last among them."""
    if len(depths) <= most:
        return list(depths)
    places = {round(k * (len(depths) - 1) / (most - 1)) for k in range(most)}
    return [depths[place] for place in sorted(places)]


def shown_short(value: Fraction) -> str:
    """Three significant digits, rounded up."""
    return decimal(value, up=True, digits=3)


def row_document(row: PhaseRow) -> dict[str, Any]:
    """One row, exact strings with their decimal companions."""
    return {
        "depth": row.depth,
        "semantics": row.curve,
        "bits": row.bits,
        **numbers(
            step=row.step,
            error=row.error,
            to_ideal=row.to_ideal,
            synthesis=row.synthesis,
            arithmetic=row.arithmetic,
            predicted=row.predicted,
        ),
        "formula": row.formula,
        "frozen": row.frozen,
        "overflows": row.overflows,
    }


def _slope_document(slope: Slope) -> dict[str, Any]:
    return {
        "semantics": slope.curve,
        "branch": slope.branch,
        "expected": slope.expected,
        "slope~": slope.slope,
        "depths": [slope.first, slope.last],
        "count": slope.count,
    }


def _float(value: float) -> float | None:
    return None if math.isnan(value) or math.isinf(value) else value
