"""From a run to an execution block of a specification: measured numbers as labelled premises."""

from __future__ import annotations

from fractions import Fraction

from qreplace.exact.rational import format_rational, round_up
from qreplace.simulate.labels import Basis, label, statement
from qreplace.simulate.model import Arithmetic, FixedPoint, Format, Rounding, Run
from qreplace.simulate.predicted import rounding_cell

BITS = 64
"""Bits after the point of a measured number, rounded up."""

MODES: dict[Rounding, str] = {
    "nearest_even": "nearest",
    "nearest_away": "nearest",
    "toward_zero": "directed",
    "floor": "directed",
    "stochastic": "stochastic",
}
"""What a specification calls a rounding mode."""


def execution_block(own: Arithmetic, run: Run, basis: Basis, depth: int, stored: Fraction) -> str:
    """The ``execution`` block that describes this arithmetic at this depth, as YAML.

    ``stored`` is what storing the initial state lost. What was only measured carries the label of
    its basis; a saturation margin is left to the program, which recomputes it. Empty where a
    specification cannot say it: registers with several steps, or a floating format.
    """
    written = own.state if own.semantics == "write_back" else own.increment or own.state
    if not _plain(written) or not isinstance(written, FixedPoint):
        return ""
    if own.semantics == "rounded_carry" and not _plain(own.carry):
        return ""
    semantics = "error_feedback" if own.semantics == "rounded_carry" else own.semantics
    bounded = written.bits is not None
    lines = [
        f"# {own.semantics} at depth {depth}, {own.rounding}",
        "execution:",
        f"  semantics: {semantics}",
        f"  grid: {_grid(written, own.rounding, bounded)}",
    ]
    if semantics == "error_feedback":
        lines.append(f"  carry: {_carry(own)}")
    eta = run.field_error
    lines.append(f"  field_error: {_premise(eta, basis) if eta else 'exact'}")
    lines.append(f"  initial_error: {_premise(stored, basis) if stored else 'exact'}")
    lines.append(f"  overflow: {_overflow(own, run, written, basis)}")
    return "\n".join(lines) + "\n"


def _plain(own: Format | None) -> bool:
    return isinstance(own, FixedPoint) and len(own.steps) == 1 and len(own.steps[0]) == 1


def _grid(own: FixedPoint, rounding: Rounding, bounded: bool) -> str:
    step = format_rational(own.steps[0][0])
    limit = ""
    if bounded and own.bits is not None:
        most = own.steps[0][0] * max(1, (1 << (own.bits - 1)) - 1)
        limit = f', limit: "{format_rational(most)}"'
    return f'{{step: "{step}", rounding: {MODES[rounding]}{limit}}}'


def _carry(own: Arithmetic) -> str:
    if own.semantics != "rounded_carry" or not isinstance(own.carry, FixedPoint):
        return "exact"
    return f"{{grid: {_grid(own.carry, own.rounding, False)}}}"


def _overflow(own: Arithmetic, run: Run, written: FixedPoint, basis: Basis) -> str:
    if written.bits is None:
        return "unbounded"
    if written.on_overflow == "saturate":
        return "saturate"
    low, high = run.extremes["state" if own.semantics == "write_back" else "increment"]
    step = written.steps[0][0]
    # What is rounded may lie a cell beyond the largest code, so also in a run that never moves.
    largest = max(abs(low), abs(high)) * step + rounding_cell(step, own.rounding)
    return f"{{kind: wrap, no_overflow: {_premise(largest, basis)}}}"


def _premise(value: Fraction, basis: Basis) -> str:
    text = format_rational(round_up(value, BITS))
    source = f"qreplace simulate: {statement(basis)}"
    return f'{{value: "{text}", evidence: {label(basis).value}, source: "{source}"}}'
