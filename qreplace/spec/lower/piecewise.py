"""Lowering of piecewise-affine systems: region, atoms, and maps given whole (theory T8)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from qreplace.question import model as q
from qreplace.question.arrays import inline_array
from qreplace.spec.blocks import piecewise as p
from qreplace.spec.findings import Location
from qreplace.spec.lower.context import Lowering
from qreplace.spec.model import Spec

COMPARATOR: Location = ("objective", "comparator")


def region(spec: p.RegionSpec, context: Lowering) -> q.InputRegion:
    """The region of the inputs, its arrays by digest."""
    where = ("system", "region")
    match spec:
        case p.BallRegionSpec():
            return q.BallRegion("ball", context.optional_array(*where, "center"), spec.radius)
        case p.BoxRegionSpec():
            ends = (context.array(*where, name) for name in ("lower", "upper"))
            return q.BoxRegion("box", *ends)
        case p.PolygonRegionSpec():
            return q.PolygonRegion("polygon", context.array(*where, "vertices"))
    parts = (context.array(*where, name) for name in ("normals", "offsets"))
    return q.PolytopeRegion("polytope", *parts)


def leak_of(spec: p.PiecewiseAtomSpec, *, layer: bool) -> Fraction:
    """The leak of an atom; left out it is 1 for soft_threshold and in a network, else 0."""
    if spec.leak is not None:
        return spec.leak
    return Fraction(layer or spec.activation == "soft_threshold")


def atom(
    spec: p.PiecewiseAtomSpec, location: Location, context: Lowering, *, layer: bool = False
) -> q.PwaAtom:
    """An atom, or a layer of a network; input weights that are left out are zero."""

    def array(name: str) -> q.Array | None:
        return context.optional_array(*location, name)

    weights, state = array("input_weights"), array("state_weights")
    if weights is None:
        shape = (context.array(*location, "state_weights").shape[0], context.inputs)
        weights = inline_array(shape, [Fraction(0)] * (shape[0] * shape[1]))
    return q.PwaAtom(
        kind="pwa",
        activation=spec.activation,
        input_weights=weights,
        state_weights=state,
        bias=array("bias"),
        thresholds=array("thresholds"),
        output_weights=array("output_weights"),
        state_matrix=array("state_matrix"),
        leak=leak_of(spec, layer=layer),
        offset=array("offset"),
    )


def given_map(
    spec: p.ScheduleSpec | p.NetworkSpec, location: Location, context: Lowering
) -> q.PwaMapData:
    """A map given whole, at its location."""
    if isinstance(spec, p.NetworkSpec):
        layers = _atoms(spec.layers, (*location, "layers"), context, layer=True)
        return q.NetworkTarget("network", tuple(layers))
    atoms = _atoms(spec.atoms, (*location, "atoms"), context)
    return q.ScheduleTarget("schedule", tuple(atoms), spec.steps.atoms)


def comparator(
    given: p.ComparatorScheduleSpec | p.NetworkSpec, spec: Spec, context: Lowering
) -> q.PwaMapData:
    """The comparator of an accuracy-matching objective where it is given as a map."""
    if isinstance(given, p.NetworkSpec):
        return given_map(given, COMPARATOR, context)
    if given.atoms == "target":
        borrowed = spec.target.atoms if isinstance(spec.target, p.ScheduleSpec) else ()
        atoms = _atoms(borrowed, ("target", "atoms"), context)
    else:
        atoms = _atoms(given.atoms, (*COMPARATOR, "atoms"), context)
    return q.ScheduleTarget("schedule", tuple(atoms), given.steps.atoms)


def _atoms(
    specs: Sequence[p.PiecewiseAtomSpec],
    location: Location,
    context: Lowering,
    *,
    layer: bool = False,
) -> Iterator[q.PwaAtom]:
    for index, spec in enumerate(specs):
        yield atom(spec, (*location, index), context, layer=layer)
