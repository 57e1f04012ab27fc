"""Contradictions about piecewise systems: their target, comparator, domain and scope.

Part of ``contradictions``; shapes and values of arrays are looked at in ``piecewise_shapes``.
"""

from __future__ import annotations

from qreplace.spec.blocks.dictionary import DeclaredTargetSpec
from qreplace.spec.blocks.objective import FullDomainSpec
from qreplace.spec.blocks.piecewise import (
    ComparatorScheduleSpec,
    NetworkSpec,
    PiecewiseSystemSpec,
    ScheduleSpec,
    unknown_step,
)
from qreplace.spec.checks import Check, Findings, a_system, contradiction, given_maps
from qreplace.spec.findings import Finding, Location, needed
from qreplace.spec.model import Spec

COMPARATOR: Location = ("objective", "comparator")


def _target(spec: Spec) -> Findings:
    """A map as the target of a piecewise system, and of no other."""
    given = isinstance(spec.target, (ScheduleSpec, NetworkSpec))
    if isinstance(spec.system, PiecewiseSystemSpec) == given:
        return
    if given:
        wanted = f"a target that fits {a_system(spec.system.kind)}"
        remedy = "Maps given whole belong to a system of kind piecewise."
        yield contradiction(("target",), needed(wanted, f"a {spec.target.kind}", remedy))
    elif not isinstance(spec.target, DeclaredTargetSpec):  # that one is found by ``_given_data``
        wanted = "a target of kind schedule or network for a piecewise system"
        yield contradiction(("target",), needed(wanted, spec.target.kind))


def _comparator_system(spec: Spec) -> Findings:
    given = dict(given_maps(spec)).get(COMPARATOR)
    if given is not None and not isinstance(spec.system, PiecewiseSystemSpec):
        wanted = f"the comparator's error as a premise for {a_system(spec.system.kind)}"
        remedy = "A comparator that is a map belongs to a system of kind piecewise."
        yield contradiction(COMPARATOR, needed(wanted, f"a {given.kind}", remedy))


def _comparator_atoms(spec: Spec) -> Findings:
    """A comparator may borrow the atoms of a target that has some."""
    given = dict(given_maps(spec)).get(COMPARATOR)
    if not isinstance(given, ComparatorScheduleSpec) or given.atoms != "target":
        return
    if not isinstance(spec.target, ScheduleSpec):
        received = f"atoms of the target, whose kind is {spec.target.kind}"
        message = needed("the comparator's own atoms", received)
        yield contradiction((*COMPARATOR, "atoms"), message)
        return
    wrong = unknown_step(given.steps, len(spec.target.atoms))
    if wrong is not None:
        yield contradiction((*COMPARATOR, *wrong[0]), wrong[1])


def _domain(spec: Spec) -> Findings:
    """Every input needs a region; finitely many inputs are listed."""
    if not isinstance(spec.system, PiecewiseSystemSpec):
        return
    domain = spec.objective.domain
    if isinstance(domain, FullDomainSpec) and spec.system.region is None:
        message = (
            "missing key 'region': the full domain is every input of a region. Add a ball, box, "
            "polygon or polytope, or ask about witnesses."
        )
        yield Finding(("system",), message, "missing-key")
    elif domain.inputs is None and not isinstance(domain, FullDomainSpec):
        wanted = "the witness inputs of a piecewise system (domain.inputs)"
        remedy = "To ask about every input of a region, use the domain full."
        yield contradiction(("objective", "domain"), needed(wanted, "none", remedy))


def _scope(spec: Spec) -> Findings:
    if isinstance(spec.system, PiecewiseSystemSpec) and spec.objective.scope != "endpoint":
        wanted = "the scope endpoint for a piecewise system"
        remedy = "Its maps are compared by their outputs."
        message = needed(wanted, spec.objective.scope, remedy)
        yield contradiction(("objective", "scope"), message)


PIECEWISE_CHECKS: tuple[Check, ...] = (
    Check(("system", "target"), _target),
    Check(("system", "objective"), _comparator_system),
    Check(("system", "target", "objective"), _comparator_atoms),
    Check(("system", "objective"), _domain),
    Check(("system", "objective"), _scope),
)
