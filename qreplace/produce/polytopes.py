"""Joint cells of piecewise-affine maps on a polytope of any dimension, exactly (theory T8.2).

A cell is a convex polytope by its vertices and by the vertex sets of its facets. Kink after kink
every cell with vertices strictly on both sides is cut in two. New vertices lie on edges: two
vertices span one exactly when no third vertex lies in all the facets that contain both, which also
holds where more than p facets meet. A new vertex belongs to its edge and kink, so that neighbours
share it and cells keep meeting face to face. In the end each cell is cut into simplices by pulling
its lowest-numbered vertex, face by face: a rule that looks only at vertex numbers and therefore
cuts a facet in the same way from both sides.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from operator import mul

from qreplace.errors import InputError, ProducerFailed
from qreplace.produce.cells import ExactVertices, Subdivision
from qreplace.question.maps import Point, PwaMap, Step, Vector, activate, crossing
from qreplace.question.regions import Polytope

Face = frozenset[int]

MAX_CELLS = 50_000
"""Cells, and simplices, unless a caller asks for more."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A convex polytope of dimension p: the numbers of its vertices and those of each facet."""

    vertices: Face
    facets: tuple[Face, ...]


@dataclass(frozen=True, slots=True)
class Complex:
    """Cells that meet face to face and cover a polytope.

    ``points`` are the vertices, the corners of the polytope first; ``crossings`` names for each
    later one the two vertices and the joint kink it lies between (claims.pwa_supremum.CellCover).
    ``outputs[i]`` are those of map i at every vertex, over ``unit * t``.
    """

    inputs: int
    corners: tuple[Point, ...]
    points: tuple[Point, ...]
    crossings: tuple[tuple[int, int, int], ...]
    cells: tuple[Cell, ...]
    outputs: tuple[tuple[Vector, ...], ...]


def subdivide_polytope(
    maps: Sequence[PwaMap], region: Polytope, *, max_cells: int = MAX_CELLS
) -> Subdivision:
    """Simplices that cover the region and on each of which every map is affine.

    A simplex lists p + 1 vertices in positive order: the determinant of their homogeneous rows is
    positive. Raises ``ProducerFailed`` beyond ``max_cells`` cells or simplices, and where the
    corners of the region are unknown.
    """
    found = joint_cells(maps, region, max_cells=max_cells)
    crossings = list(found.crossings)
    exact = ExactVertices(maps, found.corners, crossings)
    for vertex, point in enumerate(found.points):
        exact.keep(vertex, point)
        for index, outputs in enumerate(found.outputs):
            exact.keep_final(vertex, index, outputs[vertex])
    return Subdivision(found.corners, crossings, simplices(found, max_cells=max_cells), exact)


def joint_cells(maps: Sequence[PwaMap], region: Polytope, *, max_cells: int = MAX_CELLS) -> Complex:
    """The convex cells of all maps together, before they are cut into simplices.

    The level 0 of a soft threshold bends nothing and cuts nothing. Raises ``ProducerFailed``
    beyond ``max_cells``, and where the corners of the region are unknown; ``InputError`` where a
    map and the region differ in their inputs.
    """
    if not maps or any(one.inputs != region.inputs for one in maps):
        raise InputError(
            f"cells of a region of {region.inputs} inputs need maps of as many, received "
            f"{[one.inputs for one in maps]}"
        )
    if region.corners is None:
        raise ProducerFailed(
            f"the {region.inputs}-dimensional region has too many corners to enumerate its cells",
            remedy="bound the error by halving boxes",
        )
    cutter = _Cutter(region, region.corners, max_cells)
    first_kink = 0
    for one in maps:
        cutter.cut(one, first_kink)
        first_kink += len(one.kinks)
    return Complex(
        region.inputs,
        region.corners,
        tuple(cutter.points),
        tuple(cutter.crossings),
        tuple(cutter.cells),
        tuple(tuple(map(tuple, outputs)) for outputs in cutter.finished),
    )


def simplices(found: Complex, *, max_cells: int = MAX_CELLS) -> list[tuple[int, ...]]:
    """The pulling triangulation of every cell; raises ``ProducerFailed`` beyond ``max_cells``."""
    triangulation = _Pulling()
    result: list[tuple[int, ...]] = []
    for cell in found.cells:
        for simplex in triangulation.of(cell.vertices, cell.facets, found.inputs):
            side = orientation([found.points[v] for v in simplex])
            if side:
                turned = (*simplex[:-2], simplex[-1], simplex[-2])
                result.append(simplex if side > 0 else turned)
        _require_few(len(result), max_cells, "simplices")
    return result


def orientation(points: Sequence[Point]) -> int:
    """The sign of the determinant of p + 1 homogeneous points, one a row."""
    from flint import fmpz_mat

    determinant = fmpz_mat([list(point) for point in points]).det()
    return int(determinant > 0) - int(determinant < 0)


class _Cutter:
    """Cells and vertices while kinks are worked off, map by map and step by step.

    The outputs of finished maps, the state of the present one and its pre-activations are kept at
    every vertex. On an edge of a cell all are affine, so a new vertex takes them from its two ends.
    """

    def __init__(self, region: Polytope, corners: Sequence[Point], max_cells: int) -> None:
        self.inputs = region.inputs
        self.max_cells = max_cells
        self.points = list(corners)
        self.crossings: list[tuple[int, int, int]] = []
        self.finished: list[list[list[int]]] = []
        self.states: list[list[int]] = []
        self.activations: list[list[int]] = []
        on_border = [
            frozenset(
                i
                for i, point in enumerate(corners)
                if sum(map(mul, halfspace[:-1], point)) == halfspace[-1] * point[-1]
            )
            for halfspace in region.halfspaces
        ]
        vertices = frozenset(range(len(corners)))
        self.cells = [Cell(vertices, _facets(on_border, self.inputs))]

    def cut(self, one: PwaMap, first_kink: int) -> None:
        """Cut every cell by all kinks of a map, whose first one has the number given."""
        self.states = [[value * point[-1] for value in one.initial] for point in self.points]
        numbers: dict[int, list[tuple[int, int, int]]] = {}
        for position, kink in enumerate(one.kinks, first_kink):
            numbers.setdefault(kink.step, []).append((position, kink.coordinate, kink.sign))
        for index, step in enumerate(one.steps):
            self.activations = [
                _activations(step, state, point)
                for state, point in zip(self.states, self.points, strict=True)
            ]
            for number, coordinate, sign in numbers.get(index, ()):
                if sign == 0:
                    self._cut_by(number, coordinate, 0)
                elif level := step.thresholds[coordinate]:
                    self._cut_by(number, coordinate, sign * level)
            self.states = [
                _after(step, activation, state, point[-1])
                for activation, state, point in zip(
                    self.activations, self.states, self.points, strict=True
                )
            ]
        self.finished.append(self.states)

    def _cut_by(self, number: int, coordinate: int, level: int) -> None:
        values = [
            activation[coordinate] - level * point[-1]
            for activation, point in zip(self.activations, self.points, strict=True)
        ]
        below = frozenset(i for i, value in enumerate(values) if value < 0)
        above = frozenset(i for i, value in enumerate(values) if value > 0)
        if not below or not above:
            return
        made: dict[tuple[int, int], int] = {}
        kept: list[Cell] = []
        for cell in self.cells:
            if cell.vertices.isdisjoint(below) or cell.vertices.isdisjoint(above):
                kept.append(cell)
                continue
            cut = {}
            for a, b in _edges_across(cell, below, above, self.inputs):
                edge = (min(a, b), max(a, b))
                if edge not in made:
                    made[edge] = self._new_vertex(edge, values, number)
                cut[edge] = made[edge]
            kept += _halves(cell, below, above, cut, self.inputs)
        self.cells = kept
        _require_few(len(kept), self.max_cells, "cells")

    def _new_vertex(self, edge: tuple[int, int], values: Sequence[int], number: int) -> int:
        a, b = edge
        point = crossing(self.points[a], values[a], self.points[b], values[b])
        weight_a, weight_b = abs(values[b]), abs(values[a])
        # What crossing divided by; it divides states too, which are integer forms of the point.
        shared = (weight_a * self.points[a][-1] + weight_b * self.points[b][-1]) // point[-1]
        for table in (*self.finished, self.states, self.activations):
            table.append(
                [
                    (weight_a * x + weight_b * y) // shared
                    for x, y in zip(table[a], table[b], strict=True)
                ]
            )
        self.points.append(point)
        self.crossings.append((a, b, number))
        return len(self.points) - 1


class _Pulling:
    """Pulling triangulations of faces, remembered: neighbours ask for the same ones."""

    def __init__(self) -> None:
        self._known: dict[Face, tuple[tuple[int, ...], ...]] = {}

    def of(
        self, face: Face, facets: Collection[Face], dimension: int
    ) -> tuple[tuple[int, ...], ...]:
        """Simplices that cover a face: its lowest vertex joined to those of the facets beyond."""
        if len(face) == dimension + 1:
            return (tuple(sorted(face)),)
        known = self._known.get(face)
        if known is None:
            apex = min(face)
            found: list[tuple[int, ...]] = []
            for facet in facets:
                if apex not in facet:
                    ridges = _facets((facet & other for other in facets), dimension - 1, facet)
                    found += [(apex, *rest) for rest in self.of(facet, ridges, dimension - 1)]
            known = self._known[face] = tuple(found)
        return known


def _facets(faces: Iterable[Face], dimension: int, whole: Face | None = None) -> tuple[Face, ...]:
    """The facets among faces of a polytope: those that no other one contains, once each."""
    large = {face for face in faces if len(face) >= dimension and face != whole}
    return tuple(
        sorted((face for face in large if not any(face < other for other in large)), key=sorted)
    )


def _edges_across(cell: Cell, below: Face, above: Face, dimension: int) -> list[tuple[int, int]]:
    """The edges of a cell with one end strictly below and the other strictly above a kink."""
    ordered = sorted(cell.vertices)
    masks = dict.fromkeys(ordered, 0)
    for index, facet in enumerate(cell.facets):
        for vertex in facet:
            masks[vertex] |= 1 << index
    found = []
    for a in ordered:
        if a not in below:
            continue
        for b in ordered:
            if b not in above:
                continue
            common = masks[a] & masks[b]
            # An edge lies in p - 1 facets at least; its ends are then the only vertices in all.
            if common.bit_count() < dimension - 1:
                continue
            if sum(mask & common == common for mask in masks.values()) == 2:
                found.append((a, b))
    return found


def _halves(
    cell: Cell, below: Face, above: Face, cut: dict[tuple[int, int], int], dimension: int
) -> tuple[Cell, Cell]:
    """The parts of a cell on either side of a kink that crosses it."""
    new = frozenset(cut.values())
    wall = (cell.vertices - below - above) | new
    halves = []
    for far in (above, below):
        vertices = (cell.vertices - far) | new
        faces = [wall]
        for facet in cell.facets:
            on_facet = {vertex for (a, b), vertex in cut.items() if a in facet and b in facet}
            faces.append((facet - far) | on_facet)
        halves.append(Cell(vertices, _facets(faces, dimension)))
    return halves[0], halves[1]


def _activations(step: Step, state: Sequence[int], point: Point) -> list[int]:
    x, t = point[:-1], point[-1]
    return [
        sum(map(mul, w, x)) + sum(map(mul, s, state)) + b * t
        for w, s, b in zip(step.inputs, step.state, step.bias, strict=True)
    ]


def _after(step: Step, activation: Sequence[int], state: Sequence[int], t: int) -> list[int]:
    phi = activate(step, activation, t)
    return [
        sum(map(mul, v, phi)) + sum(map(mul, c, state)) + o * t
        for v, c, o in zip(step.output, step.carry, step.offset, strict=True)
    ]


def _require_few(count: int, most: int, what: str) -> None:
    if count > most:
        raise ProducerFailed(
            f"the maps have more than {most} {what} on the region",
            remedy="allow more cells, or bound the error by halving boxes",
        )
