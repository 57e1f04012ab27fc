"""Blocks that contradict each other: what no block can see alone. All are found, in one pass.

Each check names the blocks it looks at and runs when those blocks are valid, so that a mistake in
one place hides no contradiction elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from qreplace.exact.rational import format_rational
from qreplace.spec.blocks.constants import (
    CodesSpec,
    ComputedFloorSpec,
    ComputedSynthesisSpec,
    DeclaredFloorSpec,
    DeclaredTubeSpec,
    HoelderSpec,
    NoMetadataSpec,
)
from qreplace.spec.blocks.dictionary import (
    CountedDictionarySpec,
    DeclaredSystemSpec,
    DeclaredTargetSpec,
    LiftedAffineSpec,
    LinearTargetSpec,
    ListedDictionarySpec,
    VectorAtomSpec,
)
from qreplace.spec.blocks.execution import (
    ExactCarrySpec,
    GridCarrySpec,
    QuantizedExecutionSpec,
    WrapSpec,
)
from qreplace.spec.blocks.objective import FullDomainSpec, NormSpec
from qreplace.spec.blocks.routing import PrescribedSpec, StateDependentSpec
from qreplace.spec.depths import grid_findings
from qreplace.spec.findings import Finding, Location, needed
from qreplace.spec.model import Spec
from qreplace.spec.norms import at_most, conversion, describe

Findings = Iterator[Finding]


class Check(NamedTuple):
    """A check and the blocks it needs."""

    blocks: tuple[str, ...]
    run: Callable[[Spec], Findings]


def contradictions(spec: Spec, valid: frozenset[str] | None = None) -> list[Finding]:
    """Everything contradictory among the valid blocks (all blocks when ``valid`` is ``None``)."""
    found: list[Finding] = []
    for check in CHECKS:
        if valid is None or valid.issuperset(check.blocks):
            found.extend(check.run(spec))
    return found


def _contradiction(location: Location, message: str) -> Finding:
    return Finding(location, message, "contradiction")


# --- norms --------------------------------------------------------------------------------------

_ONE_NORM = ("synthesis", "metadata", "tube", "execution", "routing")


def _mixed(location: Location, wanted: str, own: NormSpec, study: NormSpec) -> Finding:
    factor = conversion(own, study)
    remedy = f"Convert the numbers: {factor}." if factor else "Restate the numbers in that norm."
    return _contradiction(
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
    if isinstance(spec.objective.domain, FullDomainSpec) and norm.kind in (
        "l1",
        "weighted_l1",
        "l2",
    ):
        yield _contradiction(
            ("objective", "domain"),
            needed(
                "a norm that is a maximum over inputs (linf, weighted_linf, block_l2)",
                f"{norm.kind} with the full domain",
                "Ask about witnesses, or choose such a norm: finitely many inputs say nothing "
                "about a sum over all of them.",
            ),
        )


# --- system, target, dictionary -----------------------------------------------------------------


def _lifted_system(spec: Spec) -> Findings:
    if not isinstance(spec.system, LiftedAffineSpec):
        return
    if isinstance(spec.target, DeclaredTargetSpec):
        yield _contradiction(
            ("target",), needed("a target with data for a lifted_affine system", "a declared one")
        )
    if isinstance(spec.dictionary, CountedDictionarySpec):
        yield _contradiction(
            ("dictionary",), needed("the atoms of a lifted_affine system", "only their number")
        )


def _lifted_horizon(spec: Spec) -> Findings:
    if isinstance(spec.system, LiftedAffineSpec) and spec.horizon.value != 1:
        yield _contradiction(
            ("horizon",),
            needed(
                "horizon 1 for a lifted_affine system",
                format_rational(spec.horizon.value),
                "Multiply the atoms by the horizon instead.",
            ),
        )


def _lifted_synthesis(spec: Spec) -> Findings:
    computed = isinstance(spec.synthesis, ComputedSynthesisSpec)
    lifted = isinstance(spec.system, LiftedAffineSpec)
    if lifted and spec.synthesis is not None and not computed:
        yield _contradiction(
            ("synthesis",),
            needed(
                "synthesis computed for a lifted_affine system",
                spec.synthesis.kind,
                "Its data determine the constants.",
            ),
        )
    if computed and not lifted:
        yield _contradiction(
            ("synthesis",),
            needed("a lifted_affine system for computed synthesis", "a declared system"),
        )


def _lifted_tube(spec: Spec) -> Findings:
    if isinstance(spec.system, LiftedAffineSpec) and isinstance(spec.tube, DeclaredTubeSpec):
        yield _contradiction(
            ("tube",), needed("no tube for a lifted_affine system", "a declared one")
        )


def _computed_floor(spec: Spec) -> Findings:
    if isinstance(spec.system, DeclaredSystemSpec) and isinstance(
        spec.structural_floor, ComputedFloorSpec
    ):
        yield _contradiction(
            ("structural_floor", "compute"),
            needed("a lifted_affine system for the engine affine_lp", "a declared system"),
        )


def _initial_state(spec: Spec) -> Findings:
    if isinstance(spec.system, DeclaredSystemSpec) and spec.initial_state is None:
        yield Finding(
            (),
            "missing key 'initial_state': a declared system needs zero, from_input or an array",
            "missing-key",
        )
    if isinstance(spec.system, LiftedAffineSpec) and spec.initial_state == "from_input":
        yield _contradiction(
            ("initial_state",),
            needed("zero or an array for a lifted_affine system", "from_input"),
        )


def listed_dictionaries(spec: Spec) -> Iterator[tuple[Location, ListedDictionarySpec]]:
    """Every dictionary that lists its atoms, with its location."""
    if isinstance(spec.dictionary, ListedDictionarySpec):
        yield ("dictionary",), spec.dictionary
    if isinstance(spec.metadata, CodesSpec):
        for index, code in enumerate(spec.metadata.codes):
            yield ("metadata", "codes", index, "dictionary"), code.dictionary


def _atom_kinds(spec: Spec) -> Findings:
    if isinstance(spec.target, DeclaredTargetSpec):
        return
    linear = isinstance(spec.target, LinearTargetSpec)
    for location, dictionary in listed_dictionaries(spec):
        for index, atom in enumerate(dictionary.atoms):
            if linear == isinstance(atom, VectorAtomSpec):
                yield _contradiction(
                    (*location, "atoms", index),
                    needed(
                        "a map of the witnesses, as the target is"
                        if linear
                        else "a vector, as the target is",
                        f"an atom of kind {atom.kind}",
                    ),
                )


def _linear_inputs(spec: Spec) -> Findings:
    lifted_map = isinstance(spec.target, LinearTargetSpec) and isinstance(
        spec.system, LiftedAffineSpec
    )
    if lifted_map and spec.objective.domain.inputs is None:
        yield _contradiction(
            ("objective", "domain"),
            needed("the witness inputs of a linear map (domain.inputs)", "none"),
        )


# --- floor, metadata, execution, routing, search ------------------------------------------------


def _floor_bracket(spec: Spec) -> Findings:
    floor = spec.structural_floor
    if not isinstance(floor, DeclaredFloorSpec) or floor.lower is None or floor.upper is None:
        return
    lower, upper = floor.lower.value[0], floor.upper.value[1]
    if lower > upper:
        yield _contradiction(
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
        yield _contradiction(
            where, needed(f"{atoms} mixing weights, one an atom", str(len(floor.weights)))
        )
    total = sum(floor.weights)
    if min(floor.weights) < 0 or total != 1:
        received = (
            "a negative one"
            if min(floor.weights) < 0
            else f"weights with sum {format_rational(total)}"[:80]
        )
        yield _contradiction(
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
        yield _contradiction(where, "a metadata budget appears twice. Keep one of them.")
    if isinstance(spec.metadata, CodesSpec):
        codes = [code.bits for code in spec.metadata.codes]
        if len(set(codes)) != len(codes):
            yield _contradiction(("metadata", "codes"), "two codes have the same number of bits")
        if declared is not None and set(codes) != set(budgets):
            yield _contradiction(
                where, needed(f"the budgets of the codes, {sorted(codes)}", f"{sorted(budgets)}")
            )
    elif isinstance(spec.metadata, NoMetadataSpec) and set(budgets) - {0}:
        yield _contradiction(
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
        yield _contradiction(
            ("execution", "carry"),
            needed("no carry grid: only error_feedback carries", execution.semantics),
        )
    bounded = execution.overflow.kind != "unbounded"
    if bounded and execution.grid.limit is None:
        yield _contradiction(
            ("execution", "grid"),
            needed(f"a limit of the grid that can {execution.overflow.kind}", "none"),
        )
    carry = execution.carry
    limits = (
        ("grid", execution.grid.limit),
        ("carry", carry.grid.limit if isinstance(carry, GridCarrySpec) else None),
    )
    for name, limit in limits:
        if not bounded and limit is not None:
            yield _contradiction(
                ("execution", "overflow"),
                needed(
                    f"saturate or wrap, since the {name} has a limit",
                    "unbounded",
                    "A grid given by its step alone is as wide as needed.",
                ),
            )


def _no_overflow(spec: Spec) -> Findings:
    """An invariant that allows values beyond the range shows nothing."""
    execution = spec.execution
    if not isinstance(execution, QuantizedExecutionSpec):
        return
    overflow, limit = execution.overflow, execution.grid.limit
    bound = overflow.no_overflow if isinstance(overflow, WrapSpec) else None
    if bound is not None and limit is not None and bound.value[1] > limit:
        yield _contradiction(
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
    for index, event in enumerate(spec.routing.events):
        if event.time.value[0] < 0 or event.time.value[1] > spec.horizon.value:
            yield _contradiction(
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
            yield _contradiction(("certificates", index), "this certificate is listed twice")
        seen.add(key)


CHECKS: tuple[Check, ...] = (
    *(_block_norm(name) for name in _ONE_NORM),
    Check(("objective", "structural_floor"), _floor_norm),
    Check(("objective",), _full_domain),
    Check(("system", "target", "dictionary"), _lifted_system),
    Check(("system", "horizon"), _lifted_horizon),
    Check(("system", "synthesis"), _lifted_synthesis),
    Check(("system", "tube"), _lifted_tube),
    Check(("system", "structural_floor"), _computed_floor),
    Check(("system", "initial_state"), _initial_state),
    Check(("target", "dictionary", "metadata"), _atom_kinds),
    Check(("target", "system", "objective"), _linear_inputs),
    Check(("structural_floor",), _floor_bracket),
    Check(("structural_floor", "dictionary"), _simplex),
    Check(("synthesis",), _hoelder_exponent),
    Check(("metadata", "search"), _metadata_budgets),
    Check(("execution",), _carry),
    Check(("execution",), _no_overflow),
    Check(("routing", "horizon"), _event_times),
    Check(("certificates",), _certificates),
    Check(("search", "metadata"), grid_findings),
)
