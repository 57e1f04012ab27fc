"""Shapes that must agree: states, target, atoms, witnesses, norm weights, blocks and rows.

q is the number of outputs, p of inputs and n of witnesses; the lifted state has n q coordinates,
witness by witness.
"""

from __future__ import annotations

from collections.abc import Iterator

from qreplace.exact.polynomial import MAX_DEGREE
from qreplace.question.model import Array
from qreplace.spec.blocks.dictionary import (
    DeclaredSystemSpec,
    ForcingAtomSpec,
    LinearAtomSpec,
    LinearTargetSpec,
    ListedDictionarySpec,
    PolynomialSystemSpec,
    QuantizedAtomSpec,
    VectorAtomSpec,
)
from qreplace.spec.blocks.objective import BlockL2Spec, WeightedNormSpec
from qreplace.spec.blocks.piecewise import PiecewiseSystemSpec
from qreplace.spec.checks import listed_dictionaries
from qreplace.spec.findings import Finding, Location, needed
from qreplace.spec.model import Spec
from qreplace.spec.piecewise_shapes import piecewise_findings
from qreplace.spec.readout import MAX_WORK
from qreplace.spec.resolve import Resolved, integer_range, shape_text, size, wrong_shape

Findings = Iterator[Finding]


def shape_findings(
    spec: Spec, resolved: Resolved, valid: frozenset[str] | None = None
) -> list[Finding]:
    """Every disagreement among the arrays of the valid blocks that could be read."""

    def has(*blocks: str) -> bool:
        return valid is None or valid.issuperset(blocks)

    found: list[Finding] = []
    if has("target", "dictionary", "metadata", "objective"):
        found.extend(_target(spec, resolved))
        for location, dictionary in listed_dictionaries(spec):
            found.extend(_atoms(spec, location, dictionary, resolved))
    if has("target", "system", "objective"):
        dimension = state_dimension(spec, resolved)
        if dimension is not None:
            found.extend(_norm(spec, dimension, output_dimension(spec, resolved)))
            if has("initial_state"):
                found.extend(_initial(spec, dimension, resolved))
            if has("dictionary", "metadata"):
                found.extend(_forcings(spec, dimension, resolved))
            found.extend(_dynamics(spec, dimension, resolved))
            found.extend(_rows(spec, dimension, resolved))
    found.extend(piecewise_findings(spec, resolved, valid))
    return found


def state_dimension(spec: Spec, resolved: Resolved) -> int | None:
    """The dimension of the state, where the arrays that determine it could be read."""
    if isinstance(spec.system, (DeclaredSystemSpec, PiecewiseSystemSpec)):
        return spec.system.dimension
    if isinstance(spec.system, PolynomialSystemSpec):
        return len(spec.system.names)
    if isinstance(spec.target, LinearTargetSpec):
        inputs = resolved.arrays.get(("objective", "domain", "inputs"))
        outputs = output_dimension(spec, resolved)
        if inputs is None or outputs is None or len(inputs.shape) != 2:
            return None
        return inputs.shape[0] * outputs
    values = resolved.arrays.get(("target", "values"))
    return None if values is None else size(values)


def output_dimension(spec: Spec, resolved: Resolved) -> int | None:
    """q, the dimension of one input's output, where the target or the system says it."""
    if isinstance(spec.system, PiecewiseSystemSpec):
        return spec.system.dimension
    if isinstance(spec.target, LinearTargetSpec):
        weights = resolved.arrays.get(("target", "weights"))
        return weights.shape[0] if weights is not None and len(weights.shape) == 2 else None
    return None


def _target(spec: Spec, resolved: Resolved) -> Findings:
    weights = resolved.arrays.get(("target", "weights"))
    inputs = resolved.arrays.get(("objective", "domain", "inputs"))
    if weights is not None and (len(weights.shape) != 2 or not size(weights)):
        yield wrong_shape(("target", "weights"), "weights of shape q x p", weights)
    elif weights is not None and inputs is not None and not _fits(inputs, weights):
        wanted = f"witnesses of shape n x {weights.shape[1]}, as the target's weights are"
        yield wrong_shape(("objective", "domain", "inputs"), wanted, inputs)
    values = resolved.arrays.get(("target", "values"))
    if values is not None and not size(values):
        yield wrong_shape(("target", "values"), "at least one value", values)


def _fits(inputs: Array, weights: Array) -> bool:
    return len(inputs.shape) == 2 and size(inputs) > 0 and inputs.shape[1] == weights.shape[1]


def _atoms(
    spec: Spec, location: Location, dictionary: ListedDictionarySpec, resolved: Resolved
) -> Findings:
    weights = resolved.arrays.get(("target", "weights"))
    values = resolved.arrays.get(("target", "values"))
    for index, atom in enumerate(dictionary.atoms):
        here: Location = (*location, "atoms", index)
        if isinstance(atom, VectorAtomSpec):
            yield from _same(here, "values", values, resolved)
        elif isinstance(atom, QuantizedAtomSpec):
            yield from _same(here, "codes", weights, resolved)
            yield from _scales(here, resolved)
            yield from _codes(here, dictionary.bits, resolved)
        elif isinstance(atom, LinearAtomSpec):
            yield from _same(here, "weights", weights, resolved)


def _dynamics(spec: Spec, dimension: int, resolved: Resolved) -> Findings:
    """The state matrix, and the target of a system that counts its own states."""
    where: Location = ("system", "matrix")
    matrix = resolved.arrays.get(where)
    if matrix is not None and matrix.shape != (dimension, dimension):
        wanted = f"a matrix of shape {dimension} x {dimension}, the dimension of the state"
        yield wrong_shape(where, wanted, matrix)
    aim = resolved.arrays.get(("target", "values"))
    counted = isinstance(spec.system, PolynomialSystemSpec)
    if counted and aim is not None and size(aim) != dimension:
        wanted = f"a target of {dimension} {'value' if dimension == 1 else 'values'}, one a state"
        yield wrong_shape(("target", "values"), wanted, aim)


def _forcings(spec: Spec, dimension: int, resolved: Resolved) -> Findings:
    """Coefficients of shape (degree + 1) x q, one row a power of t."""
    for location, dictionary in listed_dictionaries(spec):
        for index, atom in enumerate(dictionary.atoms):
            pieces = len(atom.pieces) if isinstance(atom, ForcingAtomSpec) else 0
            for piece in range(pieces):
                where = (*location, "atoms", index, "pieces", piece, "coefficients")
                own = resolved.arrays.get(where)
                if own is None:
                    continue
                if len(own.shape) != 2 or own.shape[1] != dimension or not own.shape[0]:
                    wanted = f"coefficients of shape (degree + 1) x {dimension}, a row a power of t"
                    yield wrong_shape(where, wanted, own)
                elif own.shape[0] > MAX_DEGREE + 1:
                    yield wrong_shape(where, f"a degree of at most {MAX_DEGREE}", own)


def _same(location: Location, key: str, target: Array | None, resolved: Resolved) -> Findings:
    own = resolved.arrays.get((*location, key))
    if own is not None and target is not None and own.shape != target.shape:
        wanted = f"{key} of shape {shape_text(target.shape)}, as the target is"
        yield wrong_shape((*location, key), wanted, own)


def _scales(location: Location, resolved: Resolved) -> Findings:
    codes = resolved.arrays.get((*location, "codes"))
    scales = resolved.arrays.get((*location, "scales"))
    if codes is None or scales is None or len(codes.shape) != 2:
        return
    if scales.shape not in ((1,), (codes.shape[0],)):
        wanted = f"one scale, or {codes.shape[0]}, one an output row"
        yield wrong_shape((*location, "scales"), wanted, scales)


def _codes(location: Location, bits: int, resolved: Resolved) -> Findings:
    where = (*location, "codes")
    codes = resolved.arrays.get(where)
    if codes is None:
        return
    ends = integer_range(codes, resolved.raw.get(where))
    if ends is None:
        yield Finding(where, "needed whole numbers as codes, received others", "number")
    elif ends[1] - ends[0] >= 1 << bits:
        yield Finding(
            where,
            needed(
                f"codes that fit the dictionary's {bits} bits",
                f"codes from {ends[0]} to {ends[1]}",
            ),
            "contradiction",
        )


def _norm(spec: Spec, dimension: int, outputs: int | None) -> Findings:
    norm = spec.objective.norm
    where: Location = ("objective", "norm")
    if isinstance(norm, WeightedNormSpec) and len(norm.weights) != dimension:
        yield Finding(
            (*where, "weights"),
            needed(f"{dimension} weights, one a coordinate", str(len(norm.weights))),
            "shape",
        )
    if isinstance(norm, BlockL2Spec):
        whole = dimension if outputs is None else outputs
        if whole % norm.block:
            yield Finding(
                (*where, "block"),
                needed(f"a block length that divides {whole}", str(norm.block)),
                "shape",
            )


def _initial(spec: Spec, dimension: int, resolved: Resolved) -> Findings:
    initial = resolved.arrays.get(("initial_state",))
    if initial is not None and size(initial) != dimension:
        wanted = f"an initial state of {dimension} coordinates"
        yield wrong_shape(("initial_state",), wanted, initial)


def _rows(spec: Spec, dimension: int, resolved: Resolved) -> Findings:
    where: Location = ("objective", "readout", "rows")
    rows = resolved.arrays.get(where)
    if rows is None:
        return
    if len(rows.shape) != 2 or rows.shape[0] < 2 or not rows.shape[1]:
        yield wrong_shape(where, "at least two rows of equal length", rows)
        return
    count, width = rows.shape
    if count * (count - 1) // 2 * width > MAX_WORK:
        wanted = f"rows with at most {MAX_WORK} coordinates of pairwise differences"
        yield wrong_shape(where, f"{wanted} (else declare the bound as a premise)", rows)
    outputs = output_dimension(spec, resolved)
    declared = isinstance(spec.system, DeclaredSystemSpec)
    exact = dimension if declared else outputs
    if exact is not None and width != exact:
        yield wrong_shape(where, f"rows of length {exact}, the dimension they read", rows)
    elif dimension % width:
        yield wrong_shape(where, f"rows whose length divides {dimension}", rows)
    norm = spec.objective.norm
    if isinstance(norm, WeightedNormSpec) and width != dimension:
        yield wrong_shape(
            where, f"rows of length {dimension}: a weighted norm weighs every coordinate", rows
        )
    if isinstance(norm, BlockL2Spec) and width % norm.block:
        yield wrong_shape(where, f"rows whose length is a multiple of {norm.block}", rows)
