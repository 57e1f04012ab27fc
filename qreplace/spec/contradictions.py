"""Blocks that contradict each other: what no block can see alone. All are found, in one pass.

Each check names the blocks it looks at and runs when those blocks are valid, so that a mistake in
one place hides no contradiction elsewhere.
"""

from __future__ import annotations

from qreplace.exact.rational import format_rational
from qreplace.spec.blocks.constants import CodesSpec, HoelderSpec, NoMetadataSpec
from qreplace.spec.blocks.dictionary import CountedDictionarySpec
from qreplace.spec.blocks.execution import (
    ExactCarrySpec,
    GridCarrySpec,
    QuantizedExecutionSpec,
    RegistersSpec,
    WrapSpec,
)
from qreplace.spec.blocks.floor import DeclaredFloorSpec
from qreplace.spec.blocks.objective import FullDomainSpec, NormSpec
from qreplace.spec.blocks.piecewise import PiecewiseSystemSpec
from qreplace.spec.blocks.routing import (
    PrescribedEventSpec,
    PrescribedSpec,
    RouteEventSpec,
    StateDependentSpec,
)
from qreplace.spec.checks import Check, Findings, contradiction
from qreplace.spec.depths import grid_findings
from qreplace.spec.dynamics import DYNAMICS_CHECKS
from qreplace.spec.findings import Finding, Location, needed
from qreplace.spec.model import Spec
from qreplace.spec.norms import at_most, conversion, describe
from qreplace.spec.piecewise import PIECEWISE_CHECKS


def contradictions(spec: Spec, valid: frozenset[str] | None = None) -> list[Finding]:
    """Everything contradictory among the valid blocks (all blocks when ``valid`` is ``None``)."""
    found: list[Finding] = []
    for check in CHECKS:
        if valid is None or valid.issuperset(check.blocks):
            found.extend(check.run(spec))
    return found


# --- norms --------------------------------------------------------------------------------------

_ONE_NORM = ("synthesis", "metadata", "tube", "execution", "routing")


def _mixed(location: Location, wanted: str, own: NormSpec, study: NormSpec) -> Finding:
    factor = conversion(own, study)
    remedy = f"Convert the numbers: {factor}." if factor else "Restate the numbers in that norm."
    return contradiction(
        (*location, "norm"), needed(wanted, f"mixed norms: {describe(own)}", remedy)
    )


def _block_norm(name: str) -> Check:
    """Constants and radii are combined, so their norm is the objective's."""

    def run(spec: Spec) -> Findings:
        own: NormSpec | None = getattr(getattr(spec, name), "norm", None)
        study = spec.objective.norm
        if own is not None and own != study:
            yield _mixed((name,), f"the objective's norm, {describe(study)}", own, study)

    return Check(("objective", name), run)


def _floor_norm(spec: Spec) -> Findings:
    floor, study = spec.structural_floor, spec.objective.norm
    if not isinstance(floor, DeclaredFloorSpec) or floor.norm is None:
        return
    where = ("structural_floor",)
    if floor.lower is not None and not at_most(floor.norm, study):
        wanted = f"a lower end in a norm that is at most the objective's, {describe(study)}"
        yield _mixed(where, wanted, floor.norm, study)
    if floor.upper is not None and not at_most(study, floor.norm):
        wanted = f"an upper end in a norm that is at least the objective's, {describe(study)}"
        yield _mixed(where, wanted, floor.norm, study)


def _full_domain(spec: Spec) -> Findings:
    norm = spec.objective.norm
    if isinstance(spec.system, PiecewiseSystemSpec):
        return  # its norm is that of one input's output
    if isinstance(spec.objective.domain, FullDomainSpec) and norm.kind in (
        "l1",
        "weighted_l1",
        "l2",
    ):
        yield contradiction(
            ("objective", "domain"),
            needed(
                "a norm that is a maximum over inputs (linf, weighted_linf, block_l2)",
                f"{norm.kind} with the full domain",
                "Ask about witnesses, or choose such a norm: finitely many inputs say nothing "
                "about a sum over all of them.",
            ),
        )


# --- floor, metadata, execution, routing, search ------------------------------------------------


def _floor_bracket(spec: Spec) -> Findings:
    floor = spec.structural_floor
    if not isinstance(floor, DeclaredFloorSpec) or floor.lower is None or floor.upper is None:
        return
    lower, upper = floor.lower.value[0], floor.upper.value[1]
    if lower > upper:
        yield contradiction(
            ("structural_floor", "lower"),
            needed(
                "lower <= upper",
                f"lower {format_rational(lower)} above upper {format_rational(upper)}"[:120],
                "The bracket is empty: one of the two is wrong.",
            ),
        )


def _simplex(spec: Spec) -> Findings:
    floor = spec.structural_floor
    if not isinstance(floor, DeclaredFloorSpec) or floor.weights is None:
        return
    dictionary = spec.dictionary
    atoms = (
        dictionary.atom_count
        if isinstance(dictionary, CountedDictionarySpec)
        else len(dictionary.atoms)
    )
    where = ("structural_floor", "weights")
    if len(floor.weights) != atoms:
        yield contradiction(
            where, needed(f"{atoms} mixing weights, one an atom", str(len(floor.weights)))
        )
    total = sum(floor.weights)
    if min(floor.weights) < 0 or total != 1:
        received = (
            "a negative one"
            if min(floor.weights) < 0
            else f"weights with sum {format_rational(total)}"[:80]
        )
        yield contradiction(
            where, needed("a simplex: mixing weights at least 0 with sum 1", received)
        )


def _hoelder_exponent(spec: Spec) -> Findings:
    if isinstance(spec.synthesis, HoelderSpec) and spec.synthesis.exponent > 1:
        yield Finding(
            ("synthesis", "exponent"),
            needed("an exponent in (0, 1]", format_rational(spec.synthesis.exponent)[:40]),
            "range",
        )


def _metadata_budgets(spec: Spec) -> Findings:
    declared = spec.search.metadata_bits
    budgets = list(declared or ())
    where = ("search", "metadata_bits")
    if len(set(budgets)) != len(budgets):
        yield contradiction(where, "a metadata budget appears twice. Keep one of them.")
    if isinstance(spec.metadata, CodesSpec):
        codes = [code.bits for code in spec.metadata.codes]
        if len(set(codes)) != len(codes):
            yield contradiction(("metadata", "codes"), "two codes have the same number of bits")
        if declared is not None and set(codes) != set(budgets):
            yield contradiction(
                where, needed(f"the budgets of the codes, {sorted(codes)}", f"{sorted(budgets)}")
            )
    elif isinstance(spec.metadata, NoMetadataSpec) and set(budgets) - {0}:
        yield contradiction(
            where, needed("only 0 bits where metadata is none", f"{sorted(set(budgets))}"[:80])
        )


def _carry(spec: Spec) -> Findings:
    execution = spec.execution
    if not isinstance(execution, QuantizedExecutionSpec):
        return
    feedback = execution.semantics == "error_feedback"
    if feedback and execution.carry is None:
        yield Finding(
            ("execution",),
            "missing key 'carry': error feedback needs exact or {grid: …} for what it carries",
            "missing-key",
        )
    if not feedback and not isinstance(execution.carry, (ExactCarrySpec, type(None))):
        yield contradiction(
            ("execution", "carry"),
            needed("no carry grid: only error_feedback carries", execution.semantics),
        )
    bounded = execution.overflow.kind in ("saturate", "wrap")
    if bounded and execution.grid.limit is None:
        yield contradiction(
            ("execution", "grid"),
            needed(f"a limit of the grid that can {execution.overflow.kind}", "none"),
        )
    carry = execution.carry
    limits = (
        ("grid", execution.grid.limit),
        ("carry", carry.grid.limit if isinstance(carry, GridCarrySpec) else None),
    )
    for name, limit in limits:
        if execution.overflow.kind == "registers" and limit is not None:
            yield contradiction(
                ("execution", name),
                needed("no limit: registers are limited by their bits", "a limit"),
            )
        elif not bounded and limit is not None:
            yield contradiction(
                ("execution", "overflow"),
                needed(
                    f"saturate or wrap, since the {name} has a limit",
                    "unbounded",
                    "A grid given by its step alone is as wide as needed.",
                ),
            )


def _registers(spec: Spec) -> Findings:
    """Widths of registers that the semantics does not have."""
    execution = spec.execution
    if not isinstance(execution, QuantizedExecutionSpec):
        return
    overflow, semantics = execution.overflow, execution.semantics
    if not isinstance(overflow, RegistersSpec):
        return
    if overflow.increment_bits is not None and semantics == "write_back":
        yield contradiction(
            ("execution", "overflow", "increment_bits"),
            needed(
                "no increment register: write_back rounds the state",
                f"{overflow.increment_bits} bits",
                "Declare state_bits, or the accumulator_bits that h G is added up in.",
            ),
        )
    if overflow.carry_bits is not None and semantics != "error_feedback":
        yield contradiction(
            ("execution", "overflow", "carry_bits"),
            needed("no carry register: only error_feedback carries", f"{overflow.carry_bits} bits"),
        )


def _no_overflow(spec: Spec) -> Findings:
    """An invariant that allows values beyond the range shows nothing."""
    execution = spec.execution
    if not isinstance(execution, QuantizedExecutionSpec):
        return
    overflow, limit = execution.overflow, execution.grid.limit
    bound = overflow.no_overflow if isinstance(overflow, WrapSpec) else None
    if bound is not None and limit is not None and bound.value[1] > limit:
        yield contradiction(
            ("execution", "overflow", "no_overflow"),
            needed(
                f"a bound on every coordinate before it is written, at most the grid's limit "
                f"{format_rational(limit)}"[:160],
                format_rational(bound.value[1])[:40],
                "Without the bound the values may wrap, and that is no error.",
            ),
        )


def _event_times(spec: Spec) -> Findings:
    if not isinstance(spec.routing, (PrescribedSpec, StateDependentSpec)):
        return
    events: tuple[RouteEventSpec | PrescribedEventSpec, ...] = spec.routing.events
    for index, event in enumerate(events):
        if event.time.value[0] < 0 or event.time.value[1] > spec.horizon.value:
            yield contradiction(
                ("routing", "events", index, "time"),
                needed(
                    f"an event between 0 and the horizon {format_rational(spec.horizon.value)}",
                    f"one that may be at {format_rational(event.time.value[1])}"[:80],
                ),
            )


def _certificates(spec: Spec) -> Findings:
    seen = set()
    for index, certificate in enumerate(spec.certificates):
        key = (certificate.claim, certificate.path, certificate.sha256)
        if key in seen:
            yield contradiction(("certificates", index), "this certificate is listed twice")
        seen.add(key)


CHECKS: tuple[Check, ...] = (
    *(_block_norm(name) for name in _ONE_NORM),
    Check(("objective", "structural_floor"), _floor_norm),
    Check(("objective", "system"), _full_domain),
    *DYNAMICS_CHECKS,
    *PIECEWISE_CHECKS,
    Check(("structural_floor",), _floor_bracket),
    Check(("structural_floor", "dictionary"), _simplex),
    Check(("synthesis",), _hoelder_exponent),
    Check(("metadata", "search"), _metadata_budgets),
    Check(("execution",), _carry),
    Check(("execution",), _registers),
    Check(("execution",), _no_overflow),
    Check(("routing", "horizon"), _event_times),
    Check(("certificates",), _certificates),
    Check(("search", "metadata"), grid_findings),
)
