"""The piecewise-affine problem of a question, formed from its arrays (theory T8)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from qreplace.errors import InputError
from qreplace.question.arrays import ExactArray
from qreplace.question.maps import Layer, Matrix, Point, PwaMap, Vector
from qreplace.question.model import (
    AccuracyMatching,
    Dictionary,
    ListedDictionary,
    PwaSystem,
    Question,
    ScheduleTarget,
)
from qreplace.question.piecewise import (
    BallRegion,
    BoxRegion,
    InputRegion,
    NetworkTarget,
    PolygonRegion,
    PwaAtom,
    PwaMapData,
)
from qreplace.question.regions import (
    Ball,
    Region,
    box_region,
    polygon_region,
    polytope_region,
)
from qreplace.question.terms import Array

ReadArray = Callable[[Array, str], ExactArray]

MAX_WITNESSES = 1 << 16


@dataclass(frozen=True)
class Field:
    """An atom ``G(z)(y) = V phi(W y + S z + b) + A z - leak z + c`` in integers.

    W, S, b and the thresholds are over ``inner``; V, ``drift = A - leak I`` and c over ``outer``.
    """

    atom: PwaAtom
    inner: int
    input_weights: Matrix
    state_weights: Matrix
    bias: Vector
    thresholds: Vector
    outer: int
    output: Matrix
    drift: Matrix
    offset: Vector

    def layer(self, step: Fraction) -> Layer:
        """The Euler step ``z + h G(z)(y)``."""
        scale = self.outer * step.denominator
        return Layer(
            self.atom.activation,
            self.inner,
            self.input_weights,
            self.state_weights,
            self.bias,
            self.thresholds,
            scale,
            tuple(tuple(step.numerator * v for v in row) for row in self.output),
            tuple(
                tuple(step.numerator * a + (scale if i == j else 0) for j, a in enumerate(row))
                for i, row in enumerate(self.drift)
            ),
            tuple(step.numerator * c for c in self.offset),
        )


@dataclass(frozen=True)
class PwaProblem:
    """Fields, maps, region and witnesses of a piecewise-affine question, exactly.

    ``initial`` is z(0) over ``initial_unit``; ``witnesses`` are homogeneous points.
    """

    inputs: int
    dimension: int
    horizon: Fraction
    fields: tuple[Field, ...]
    initial: Vector
    initial_unit: int
    target: PwaMap
    comparator: PwaMap | None
    region: Region | None
    witnesses: tuple[Point, ...] | None

    def student(self, schedule: Sequence[int]) -> PwaMap:
        """The map of one schedule of the dictionary: Euler steps ``horizon / depth``."""
        return euler_map(
            self.inputs, self.fields, schedule, self.horizon, self.initial, self.initial_unit
        )


def euler_map(
    inputs: int,
    fields: Sequence[Field],
    schedule: Sequence[int],
    horizon: Fraction,
    initial: Vector,
    initial_unit: int,
) -> PwaMap:
    """Euler steps of the fields that a schedule names."""
    step = horizon / len(schedule)
    layers = {j: fields[j].layer(step) for j in set(schedule)}
    return PwaMap(inputs, tuple(layers[j] for j in schedule), initial, initial_unit)


def form_problem(
    question: Question,
    system: PwaSystem,
    dictionary: Dictionary,
    read: ReadArray,
    initial: ExactArray,
) -> PwaProblem:
    """The problem of a question whose ``dictionary`` runs; raises ``InputError`` if data misfit."""
    target, objective = question.target, question.objective
    if not isinstance(dictionary, ListedDictionary) or not isinstance(
        target, (ScheduleTarget, NetworkTarget)
    ):
        raise InputError("this question holds no piecewise-affine maps")
    form = Former(read, system.inputs, system.dimension, initial)
    given = objective.comparator_map if isinstance(objective, AccuracyMatching) else None
    comparator = None
    if given is not None:
        comparator = form.given_map(given, question.horizon, "the comparator")
    return PwaProblem(
        inputs=system.inputs,
        dimension=system.dimension,
        horizon=question.horizon,
        fields=form.fields(dictionary.atoms, "the dictionary"),
        initial=form.initial,
        initial_unit=form.initial_unit,
        target=form.given_map(target, question.horizon, "the target"),
        comparator=comparator,
        region=None if system.region is None else form.region(system.region),
        witnesses=form.witnesses(question.domain.inputs),
    )


class Former:
    """Forms fields, maps and regions; ``read`` gives the exact entries of an array by name."""

    def __init__(self, read: ReadArray, inputs: int, dimension: int, initial: ExactArray) -> None:
        self.read = read
        self.inputs = inputs
        self.dimension = dimension
        self.initial = tuple(initial.numerators)
        self.initial_unit = initial.denominator

    def field(self, atom: PwaAtom, what: str, before: int, after: int | None) -> Field:
        """An atom that reads a state of width ``before``; ``after=None`` takes what it gives."""
        weights = self.read(atom.input_weights, f"input weights of {what}")
        if len(weights.shape) != 2 or weights.shape[1] != self.inputs:
            raise InputError(
                f"the input weights of {what} have shape {weights.shape}, needed (n, {self.inputs})"
            )
        n = weights.shape[0]
        state = self._array(atom.state_weights, (n, before), f"state weights of {what}")
        bias = self._array(atom.bias, (n,), f"bias of {what}")
        levels = self._thresholds(atom, n, what)
        inner = math.lcm(*(a.denominator for a in (weights, state, bias, levels)))
        if atom.output_weights is None:
            output = ExactArray((n, n), [int(i == j) for i in range(n) for j in range(n)], 1)
        else:
            output = self.read(atom.output_weights, f"output weights of {what}")
        width = output.shape[0] if len(output.shape) == 2 else 0
        if after is not None and width != after:
            raise InputError(f"{what} gives {width} outputs, needed {after}")
        if output.shape != (width, n) or not width:
            raise InputError(
                f"the output weights of {what} have shape {output.shape}, needed (d, {n})"
            )
        offset = self._array(atom.offset, (width,), f"offset of {what}")
        drift = self._drift(atom, before, width, what)
        outer = math.lcm(output.denominator, offset.denominator, drift[1])
        factor = outer // drift[1]
        return Field(
            atom,
            inner,
            _matrix(weights, inner),
            _matrix(state, inner),
            _vector(bias, inner),
            _vector(levels, inner) if atom.activation == "soft_threshold" else (),
            outer,
            _matrix(output, outer),
            tuple(tuple(entry * factor for entry in row) for row in drift[0]),
            _vector(offset, outer),
        )

    def fields(self, atoms: Sequence[object], what: str) -> tuple[Field, ...]:
        """The atoms of a dictionary, each a field of the state."""
        found = []
        for index, atom in enumerate(atoms):
            if not isinstance(atom, PwaAtom):
                raise InputError(f"atom {index} of {what} is not piecewise affine")
            d = self.dimension
            found.append(self.field(atom, f"atom {index} of {what}", d, d))
        return tuple(found)

    def given_map(self, data: PwaMapData, horizon: Fraction, what: str) -> PwaMap:
        """A reference or comparator."""
        if isinstance(data, NetworkTarget):
            return self._network(data, what)
        return euler_map(
            self.inputs,
            self.fields(data.atoms, what),
            data.schedule,
            horizon,
            self.initial,
            self.initial_unit,
        )

    def _network(self, data: NetworkTarget, what: str) -> PwaMap:
        width, layers = self.dimension, []
        for index, atom in enumerate(data.layers):
            name = f"layer {index} of {what}"
            last = index == len(data.layers) - 1
            field = self.field(atom, name, width, self.dimension if last else None)
            layer = field.layer(Fraction(1)) if _keeps_state(atom, field) else _plain(field, width)
            layers.append(layer)
            width = len(field.offset)
        return PwaMap(self.inputs, tuple(layers), self.initial, self.initial_unit)

    def _drift(
        self, atom: PwaAtom, before: int, after: int, what: str
    ) -> tuple[list[list[int]], int]:
        """``A - leak I`` and its denominator; empty where the state's width changes."""
        if before != after:
            if atom.state_matrix is not None or atom.leak != 1:
                raise InputError(
                    f"{what} changes the width of the state from {before} to {after}: it needs "
                    "leak 1 and no state matrix"
                )
            return [[] for _ in range(after)], 1
        matrix = self._array(atom.state_matrix, (after, after), f"state matrix of {what}")
        common = math.lcm(matrix.denominator, atom.leak.denominator)
        leak = atom.leak.numerator * (common // atom.leak.denominator)
        rows = [list(row) for row in _matrix(matrix, common)]
        for i in range(after):
            rows[i][i] -= leak
        return rows, common

    def _thresholds(self, atom: PwaAtom, n: int, what: str) -> ExactArray:
        if atom.thresholds is None:
            return ExactArray((n,), [0] * n, 1)
        levels = self.read(atom.thresholds, f"thresholds of {what}")
        if levels.size == 1:
            levels = ExactArray((n,), levels.numerators * n, levels.denominator)
        if levels.size != n:
            raise InputError(f"{what} has {levels.size} thresholds, needed 1 or {n}")
        if any(value < 0 for value in levels.numerators):
            raise InputError(f"a threshold of {what} is negative")
        return levels

    def _array(self, reference: Array | None, shape: tuple[int, ...], what: str) -> ExactArray:
        if reference is None:
            return ExactArray(shape, [0] * math.prod(shape), 1)
        entries = self.read(reference, what)
        if entries.shape != shape:
            raise InputError(f"the {what} have shape {entries.shape}, needed {shape}")
        return entries

    def region(self, region: InputRegion) -> Region:
        """The exact region; raises ``InputError`` when it is empty, flat or unbounded."""
        if isinstance(region, BallRegion):
            if region.center is None:
                return Ball((Fraction(0),) * self.inputs, region.radius)
            center = self._array(region.center, (self.inputs,), "center of the input ball")
            return Ball(_fractions(center), region.radius)
        if isinstance(region, BoxRegion):
            lower = self._array(region.lower, (self.inputs,), "lower ends of the input box")
            upper = self._array(region.upper, (self.inputs,), "upper ends of the input box")
            return box_region(_fractions(lower), _fractions(upper))
        if isinstance(region, PolygonRegion):
            corners = self.read(region.vertices, "corners of the input polygon")
            if self.inputs != 2 or len(corners.shape) != 2 or corners.shape[1] != 2:
                raise InputError("an input polygon has corners of shape (n, 2), for two inputs")
            values = _fractions(corners)
            return polygon_region(list(zip(values[::2], values[1::2], strict=True)))
        normals = self.read(region.normals, "normals of the input polytope")
        if len(normals.shape) != 2 or normals.shape[1] != self.inputs:
            raise InputError(
                f"the normals of the input polytope have shape {normals.shape}, "
                f"needed (m, {self.inputs})"
            )
        offsets = self._array(region.offsets, normals.shape[:1], "offsets of the input polytope")
        values, p = _fractions(normals), self.inputs
        rows = [values[i : i + p] for i in range(0, len(values), p)]
        return polytope_region(rows, _fractions(offsets))

    def witnesses(self, reference: Array | None) -> tuple[Point, ...] | None:
        """The rows of the witness inputs as homogeneous points."""
        if reference is None:
            return None
        entries = self.read(reference, "witness inputs")
        if len(entries.shape) != 2 or entries.shape[1] != self.inputs or not entries.shape[0]:
            raise InputError(
                f"the witness inputs have shape {entries.shape}, needed (n, {self.inputs})"
            )
        if entries.shape[0] > MAX_WITNESSES:
            raise InputError(f"at most {MAX_WITNESSES} witness inputs are used")
        p, found = self.inputs, []
        for i in range(0, entries.size, p):
            row = (*entries.numerators[i : i + p], entries.denominator)
            shared = math.gcd(*row)
            found.append(tuple(value // shared for value in row))
        return tuple(found)


def _keeps_state(atom: PwaAtom, field: Field) -> bool:
    return bool(field.drift and field.drift[0])


def _plain(field: Field, before: int) -> Layer:
    """A layer that forgets the state it read: ``V phi(W y + S z + b) + c``."""
    zero = tuple((0,) * before for _ in field.offset)
    return Layer(
        field.atom.activation,
        field.inner,
        field.input_weights,
        field.state_weights,
        field.bias,
        field.thresholds,
        field.outer,
        field.output,
        zero,
        field.offset,
    )


def _matrix(entries: ExactArray, denominator: int) -> Matrix:
    rows, width = entries.shape
    values = _vector(entries, denominator)
    return tuple(values[i * width : (i + 1) * width] for i in range(rows))


def _vector(entries: ExactArray, denominator: int) -> Vector:
    factor = denominator // entries.denominator
    return tuple(value * factor for value in entries.numerators)


def _fractions(entries: ExactArray) -> tuple[Fraction, ...]:
    return tuple(Fraction(n, entries.denominator) for n in entries.numerators)
