"""Arrays of piecewise systems: shapes that must agree, and values that a map or region needs.

p is the number of inputs, d that of coordinates of the state, n the width of an activation. The
same rules are refused again, without places for people, when the maps are formed
(``question/piecewise_problem.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice

from qreplace.errors import InputError
from qreplace.question.arrays import ExactArray, load_array
from qreplace.question.maps import Point, homogeneous
from qreplace.question.model import Array, InlineArray
from qreplace.question.piecewise_problem import MAX_WITNESSES, Former
from qreplace.spec.blocks.array import MAX_INLINE
from qreplace.spec.blocks.piecewise import (
    BallRegionSpec,
    BoxRegionSpec,
    NetworkSpec,
    PiecewiseAtomSpec,
    PiecewiseSystemSpec,
    PolygonRegionSpec,
    RegionSpec,
)
from qreplace.spec.checks import given_maps, listed_dictionaries, map_atoms
from qreplace.spec.findings import Finding, Location, needed
from qreplace.spec.lower.context import Lowering
from qreplace.spec.lower.piecewise import leak_of
from qreplace.spec.lower.piecewise import region as lowered_region
from qreplace.spec.model import Spec
from qreplace.spec.resolve import Resolved, shape_text, size, wrong_shape

Findings = Iterator[Finding]
Inside = Callable[[Point], bool]
"""Whether an input, as integers over its last one, lies in the region."""

MAX_VERTICES = 1024
"""Most corners of a polygon, and inequalities of a polytope."""
_REGION: Location = ("system", "region")
_INPUTS: Location = ("objective", "domain", "inputs")


def piecewise_findings(
    spec: Spec, resolved: Resolved, valid: frozenset[str] | None = None
) -> Findings:
    """What is wrong with the arrays of the valid blocks of a piecewise system."""
    system = spec.system
    if not isinstance(system, PiecewiseSystemSpec) or not _has(valid, "system"):
        return
    yield from _maps(spec, system, resolved, valid)
    inside, found = _region(system, resolved)
    yield from found
    if _has(valid, "objective"):
        yield from _witnesses(spec, system, inside, resolved)


def _has(valid: frozenset[str] | None, *blocks: str) -> bool:
    return valid is None or valid.issuperset(blocks)


# --- atoms, layers ------------------------------------------------------------------------------


def _maps(
    spec: Spec, system: PiecewiseSystemSpec, resolved: Resolved, valid: frozenset[str] | None
) -> Findings:
    p, d = system.inputs, system.dimension
    if _has(valid, "dictionary", "metadata"):
        for location, dictionary in listed_dictionaries(spec):
            for index, atom in enumerate(dictionary.atoms):
                if isinstance(atom, PiecewiseAtomSpec):
                    here = (*location, "atoms", index)
                    yield from _AtomShapes(atom, here, resolved, p, d, d).found
    for location, given in given_maps(spec, valid):
        before: int | None = d
        atoms = list(map_atoms(location, given))
        for index, (here, atom) in enumerate(atoms):
            layer = isinstance(given, NetworkSpec)
            after = d if not layer or index == len(atoms) - 1 else None
            shapes = _AtomShapes(atom, here, resolved, p, before, after, layer)
            yield from shapes.found
            before = shapes.outputs if layer else d


@dataclass
class _AtomShapes:
    """The arrays of an atom that reads a state of width ``before`` (``None``: not known).

    It gives ``outputs`` coordinates, which ``after`` prescribes unless it is ``None``.
    """

    atom: PiecewiseAtomSpec
    location: Location
    resolved: Resolved
    inputs: int
    before: int | None
    after: int | None
    layer: bool = False
    found: list[Finding] = field(default_factory=list)
    width: int | None = None
    outputs: int | None = None

    def __post_init__(self) -> None:
        self._weights()
        n = self.width
        if n is not None:
            self._vector("bias", n, "one a row of the weights")
            self._thresholds(n)
            self._outputs(n)
        if self.outputs is not None:
            self._vector("offset", self.outputs, "one an output")
            self._state_matrix(self.outputs)

    def _array(self, name: str) -> Array | None:
        return self.resolved.arrays.get((*self.location, name))

    def _wrong(self, name: str, wanted: str, array: Array) -> None:
        self.found.append(wrong_shape((*self.location, name), wanted, array))

    def _weights(self) -> None:
        """Input and state weights; they say how wide the activation is."""
        inputs, state = self._array("input_weights"), self._array("state_weights")
        if inputs is not None:
            if not _is_matrix(inputs, None, self.inputs):
                wanted = f"input weights of shape n x {self.inputs}, a column an input"
                self._wrong("input_weights", wanted, inputs)
                return
            self.width = inputs.shape[0]
        elif self.atom.input_weights is not None:
            return  # could not be read
        if state is None:
            if self.atom.state_weights is not None:
                self.width = None
            return
        if not _is_matrix(state, self.width, self.before):
            rows = "n" if self.width is None else str(self.width)
            columns = "the state's width" if self.before is None else str(self.before)
            wanted = f"state weights of shape {rows} x {columns}, a column a coordinate"
            self._wrong("state_weights", wanted, state)
            self.width = None
            return
        self.width = state.shape[0]
        if inputs is None and self.width * self.inputs > MAX_INLINE:
            message = (
                f"missing key 'input_weights': weights that are left out are zero, and "
                f"{self.width} x {self.inputs} zeros are too many. Name a side file."
            )
            self.found.append(Finding(self.location, message, "missing-key"))

    def _vector(self, name: str, length: int, why: str) -> None:
        array = self._array(name)
        if array is not None and array.shape != (length,):
            self._wrong(name, f"{name} of shape {length}, {why}", array)

    def _thresholds(self, width: int) -> None:
        array = self._array("thresholds")
        if array is None:
            return
        if size(array) not in (1, width):
            self._wrong("thresholds", f"one threshold, or {width}, one a row", array)
            return
        where = (*self.location, "thresholds")
        for index, value in enumerate(_values(array, self.resolved, "thresholds")):
            if value < 0:
                received = f"{str(value)[:40]} at index {index}"
                message = needed("thresholds that are at least 0", received)
                self.found.append(Finding(where, message, "range"))
                return

    def _outputs(self, width: int) -> None:
        """What the atom gives: rows of the output weights, or the activation itself."""
        weights = self._array("output_weights")
        if weights is None:
            if self.atom.output_weights is not None:
                return  # could not be read
            if self.after not in (None, width):
                wanted = f"{self.after} outputs, as the state has coordinates"
                remedy = f"Add output_weights of shape {self.after} x {width}."
                message = needed(wanted, str(width), remedy)
                self.found.append(Finding(self.location, message, "shape"))
                return
            self.outputs = width
        elif _is_matrix(weights, self.after, width):
            self.outputs = weights.shape[0]
        else:
            rows = "d" if self.after is None else str(self.after)
            wanted = f"output weights of shape {rows} x {width}, a row an output"
            self._wrong("output_weights", wanted, weights)

    def _state_matrix(self, outputs: int) -> None:
        """The state matrix; where the width changes there is none, and no residual either."""
        matrix = self._array("state_matrix")
        if self.before is None:
            return
        if self.before == outputs:
            if matrix is not None and matrix.shape != (outputs, outputs):
                self._wrong("state_matrix", f"a matrix of shape {outputs} x {outputs}", matrix)
            return
        changed = f"a layer that changes the width of the state from {self.before} to {outputs}"
        if matrix is not None:
            where = (*self.location, "state_matrix")
            message = needed(f"no state matrix in {changed}", shape_text(matrix.shape))
            self.found.append(Finding(where, message, "contradiction"))
        leak = leak_of(self.atom, layer=self.layer)
        if leak != 1:
            where = (*self.location, "leak")
            message = needed(f"leak 1 in {changed}", str(leak)[:40])
            self.found.append(Finding(where, message, "contradiction"))


def _is_matrix(array: Array, rows: int | None, columns: int | None) -> bool:
    return (
        len(array.shape) == 2
        and size(array) > 0
        and rows in (None, array.shape[0])
        and columns in (None, array.shape[1])
    )


def _values(array: Array, resolved: Resolved, what: str) -> Iterable[Fraction]:
    """The entries one by one: a common denominator of a hostile array is as long as the array."""
    if isinstance(array, InlineArray):
        return array.values
    exact = load_array(array, resolved.store, what=what)
    return (Fraction(n, exact.denominator) for n in exact.numerators)


# --- inputs -------------------------------------------------------------------------------------


def _region(system: PiecewiseSystemSpec, resolved: Resolved) -> tuple[Inside | None, list[Finding]]:
    """Which inputs lie in the region, or why it cannot be formed."""
    spec = system.region
    if spec is None:
        return None, []
    found = list(_region_shapes(spec, system.inputs, resolved))
    if found or not _was_read(spec, resolved):
        return None, found
    if isinstance(spec, BoxRegionSpec):  # without its corners, which may be too many
        return _box(resolved)
    form = Former(
        lambda array, what: load_array(array, resolved.store, what=what),
        system.inputs,
        system.dimension,
        ExactArray((1,), [0], 1),
    )
    try:
        return form.region(lowered_region(spec, Lowering(resolved))).contains, []
    except InputError as error:
        message = f"{error.message}. {error.remedy}" if error.remedy else error.message
        return None, [Finding(_REGION, message, "region")]


def _box(resolved: Resolved) -> tuple[Inside | None, list[Finding]]:
    lower, upper = (
        list(_values(resolved.arrays[(*_REGION, name)], resolved, "input box"))
        for name in ("lower", "upper")
    )
    for index, (a, b) in enumerate(zip(lower, upper, strict=True)):
        if a >= b:
            received = f"{str(a)[:40]} and {str(b)[:40]} at index {index}"
            message = needed("lower < upper for every input", received)
            return None, [Finding((*_REGION, "upper"), message, "region")]

    def inside(point: Point) -> bool:
        ends = zip(lower, point, upper, strict=False)
        return all(a * point[-1] <= x <= b * point[-1] for a, x, b in ends)

    return inside, []


def _was_read(spec: RegionSpec, resolved: Resolved) -> bool:
    """Whether every array that the region states could be read."""
    stated = {name for name in type(spec).model_fields if name not in ("kind", "radius")}
    return all(
        getattr(spec, name) is None or (*_REGION, name) in resolved.arrays for name in stated
    )


def _region_shapes(spec: RegionSpec, inputs: int, resolved: Resolved) -> Findings:
    def array(name: str) -> Array | None:
        return resolved.arrays.get((*_REGION, name))

    def vector(names: Iterable[str], length: int, why: str) -> Findings:
        for name in names:
            given = array(name)
            if given is not None and given.shape != (length,):
                wanted = f"{name} of shape {length}, {why}"
                yield wrong_shape((*_REGION, name), wanted, given)

    if isinstance(spec, BallRegionSpec):
        yield from vector(("center",), inputs, "one number an input")
    elif isinstance(spec, BoxRegionSpec):
        yield from vector(("lower", "upper"), inputs, "one number an input")
    elif isinstance(spec, PolygonRegionSpec):
        corners = array("vertices")
        if corners is not None and not _is_matrix(corners, None, 2):
            yield wrong_shape((*_REGION, "vertices"), "corners of shape n x 2", corners)
        elif corners is not None and corners.shape[0] > MAX_VERTICES:
            wanted = f"at most {MAX_VERTICES} corners"
            yield wrong_shape((*_REGION, "vertices"), wanted, corners)
    else:
        normals = array("normals")
        if normals is not None and not _is_matrix(normals, None, inputs):
            wanted = f"normals of shape m x {inputs}, a column an input"
            yield wrong_shape((*_REGION, "normals"), wanted, normals)
        elif normals is not None:
            rows = normals.shape[0]
            yield from vector(("offsets",), rows, "one a row of the normals")
            if rows > MAX_VERTICES:
                wanted = f"at most {MAX_VERTICES} inequalities"
                message = needed(wanted, str(rows), "Give a box or a ball.")
                yield Finding((*_REGION, "normals"), message, "too-large")


def _witnesses(
    spec: Spec, system: PiecewiseSystemSpec, inside: Inside | None, resolved: Resolved
) -> Findings:
    """Rows of one input each; where there is a region, each lies in it."""
    inputs = resolved.arrays.get(_INPUTS)
    if inputs is None:
        return
    if not _is_matrix(inputs, None, system.inputs):
        wanted = f"witnesses of shape n x {system.inputs}, a row an input"
        yield wrong_shape(_INPUTS, wanted, inputs)
        return
    if inputs.shape[0] > MAX_WITNESSES:
        yield wrong_shape(_INPUTS, f"at most {MAX_WITNESSES} witnesses", inputs)
        return
    if inside is None:
        return
    values = iter(_values(inputs, resolved, "witness inputs"))
    for row in range(inputs.shape[0]):
        if not inside(homogeneous(list(islice(values, system.inputs)))):
            message = needed("witnesses inside the region", f"row {row} outside it")
            yield Finding(_INPUTS, message, "contradiction")
            return
