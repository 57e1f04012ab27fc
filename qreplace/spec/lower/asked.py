"""Lowering of what is asked: objective, norm, domain, system, target and dictionary."""

from __future__ import annotations

from qreplace.question import model as q
from qreplace.spec.blocks import dictionary as d
from qreplace.spec.blocks import objective as o
from qreplace.spec.blocks import piecewise as p
from qreplace.spec.blocks.array import InlineArraySpec, SideFileSpec
from qreplace.spec.findings import Location
from qreplace.spec.lower import piecewise
from qreplace.spec.lower.context import Lowering
from qreplace.spec.model import Spec
from qreplace.spec.premises import PremiseSpec
from qreplace.spec.readout import readout_bound
from qreplace.spec.resolve import rows_of


def norm(spec: o.NormSpec) -> q.Norm:
    """The norm of the objective."""
    match spec:
        case o.BlockL2Spec():
            return q.BlockL2Norm("block_l2", spec.block)
        case o.WeightedNormSpec(kind="weighted_linf"):
            return q.WeightedLinfNorm("weighted_linf", spec.weights)
        case o.WeightedNormSpec():
            return q.WeightedL1Norm("weighted_l1", spec.weights)
        case o.PlainNormSpec(kind="linf"):
            return q.LinfNorm("linf")
        case o.PlainNormSpec(kind="l1"):
            return q.L1Norm("l1")
    return q.L2Norm("l2")


def objective(spec: Spec, norm: q.Norm, context: Lowering) -> q.Objective:
    """The objective with its declared premises (theory T1)."""
    asked = spec.objective
    match asked:
        case o.EmulationSpec():
            return q.Emulation("emulation", asked.tolerance.value)
        case o.AccuracyMatchingSpec():
            given = asked.comparator
            if isinstance(given, PremiseSpec):
                known = context.premise(given, "objective.comparator")
                return q.AccuracyMatching("accuracy_matching", known)
            return q.AccuracyMatching(
                "accuracy_matching", piecewise.comparator(given, spec, context)
            )
    margin = context.premise(asked.margin, "objective.margin")
    if isinstance(asked.readout, o.ReadoutRowsSpec):
        where: Location = ("objective", "readout", "rows")
        rows = rows_of(context.array(*where), context.resolved, where)
        return q.Behavioural("behavioural", margin, readout_bound(rows, norm))
    readout = context.premise(asked.readout, "objective.readout")
    return q.Behavioural("behavioural", margin, readout)


def domain(spec: o.DomainSpec, context: Lowering) -> q.Domain:
    """The domain; its inputs by digest."""
    inputs = context.optional_array("objective", "domain", "inputs")
    if isinstance(spec, o.FullDomainSpec):
        return q.FullDomain("full", inputs, context.optional(spec.covering, "domain.covering"))
    return q.WitnessDomain("witnesses", inputs)


def system(spec: d.SystemSpec, context: Lowering) -> q.System:
    """The system; what its states are called is for people."""
    match spec:
        case d.DeclaredSystemSpec():
            return q.DeclaredSystem("declared", spec.dimension)
        case d.AffineDynamicsSpec():
            matrix = context.optional_array("system", "matrix")
            return q.AffineDynamicsSystem("affine_dynamics", spec.rate.value, matrix)
        case d.PolynomialSystemSpec():
            return q.PolynomialSystem("polynomial", len(spec.names))
        case p.PiecewiseSystemSpec():
            given = spec.region
            region = None if given is None else piecewise.region(given, context)
            return q.PwaSystem("pwa", spec.inputs, spec.dimension, region)
    return q.LiftedAffineSystem("lifted_affine")


def initial(spec: Spec, context: Lowering) -> q.Array | None:
    """An array; ``None`` is zero, or the input itself for a declared system."""
    if isinstance(spec.initial_state, (InlineArraySpec, SideFileSpec)):
        return context.array("initial_state")
    return None


def target(spec: d.TargetSpec, context: Lowering) -> q.Target:
    """The target; its data by digest, its name kept."""
    match spec:
        case d.VectorTargetSpec():
            return q.VectorTarget("vector", context.array("target", "values"))
        case d.LinearTargetSpec():
            return q.LinearTarget("linear_map", context.array("target", "weights"))
        case p.ScheduleSpec() | p.NetworkSpec():
            return piecewise.given_map(spec, ("target",), context)
    return q.DeclaredTarget("declared", spec.name)


def dictionary(spec: d.DictionarySpec, location: Location, context: Lowering) -> q.Dictionary:
    """A listed or a declared dictionary."""
    if isinstance(spec, d.ListedDictionarySpec):
        return listed(spec, location, context)
    return q.DeclaredDictionary(
        kind="declared",
        atom_count=spec.atom_count,
        bits=spec.bits,
        learned=spec.learned,
        shared_schedule=spec.schedule == "shared",
    )


def listed(
    spec: d.ListedDictionarySpec, location: Location, context: Lowering
) -> q.ListedDictionary:
    """A dictionary whose atoms are given."""
    return q.ListedDictionary(
        kind="listed",
        atoms=tuple(
            _atom(atom, (*location, "atoms", index), context)
            for index, atom in enumerate(spec.atoms)
        ),
        bits=spec.bits,
        learned=spec.learned,
        shared_schedule=spec.schedule == "shared",
    )


def _atom(spec: d.AtomSpec, location: Location, context: Lowering) -> q.Atom:
    match spec:
        case d.VectorAtomSpec():
            return q.VectorAtom("vector", context.array(*location, "values"))
        case d.LinearAtomSpec():
            return q.LinearAtom("linear_map", context.array(*location, "weights"))
        case d.ForcingAtomSpec():
            return _forcing(spec, location, context)
        case d.PolynomialAtomSpec():
            parts = range(len(spec.field))
            field = tuple(context.polynomial(*location, "field", part) for part in parts)
            return q.PolynomialAtom("polynomial", field)
        case p.PiecewiseAtomSpec():
            return piecewise.atom(spec, location, context)
    return q.QuantizedLinearAtom(
        kind="quantized_linear",
        codes=context.array(*location, "codes"),
        scales=context.array(*location, "scales"),
        zero_point=spec.zero_point,
    )


def _forcing(spec: d.ForcingAtomSpec, location: Location, context: Lowering) -> q.ForcingAtom:
    pieces = (
        q.ForcingPiece(piece.start.value, context.array(*location, "pieces", index, "coefficients"))
        for index, piece in enumerate(spec.pieces)
    )
    return q.ForcingAtom("forcing", tuple(pieces))
