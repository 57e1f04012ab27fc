"""Arrays, polynomials and certificates of a specification: read and verified.

Nothing is raised here: what is wrong becomes a finding at the place that names the array.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from qreplace.errors import InputError
from qreplace.exact.document import sha256_hex
from qreplace.exact.polynomial import Polynomial
from qreplace.question.arrays import DTYPES, RawArray, read_npy
from qreplace.question.model import Array, InlineArray, StoredArray
from qreplace.question.safetensors import read_safetensors
from qreplace.spec.blocks.array import ArraySpec, InlineArraySpec, ScalesSpec, SideFileSpec
from qreplace.spec.blocks.dictionary import (
    AffineDynamicsSpec,
    AtomSpec,
    ForcingAtomSpec,
    LinearAtomSpec,
    LinearTargetSpec,
    PolynomialAtomSpec,
    SystemSpec,
    VectorAtomSpec,
    VectorTargetSpec,
)
from qreplace.spec.blocks.objective import BehaviouralSpec, ReadoutRowsSpec
from qreplace.spec.blocks.piecewise import PiecewiseAtomSpec, PiecewiseSystemSpec
from qreplace.spec.checks import given_maps, listed_dictionaries, map_atoms
from qreplace.spec.findings import Finding, Location, needed
from qreplace.spec.model import Spec
from qreplace.spec.polynomials import read_polynomials
from qreplace.spec.side_files import SideFiles, check_path
from qreplace.spec.values import Block


@dataclass(slots=True)
class Resolved:
    """Arrays and polynomials by the location that holds them, stored bytes, and certificates."""

    arrays: dict[Location, Array] = field(default_factory=dict)
    raw: dict[Location, RawArray] = field(default_factory=dict)
    store: dict[str, bytes] = field(default_factory=dict)
    polynomials: dict[Location, Polynomial] = field(default_factory=dict)
    certificates: dict[str, bytes] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


def resolve(spec: Spec, files: SideFiles, valid: frozenset[str] | None = None) -> Resolved:
    """Read everything that the valid blocks name."""
    resolved = Resolved()
    for location, named in named_arrays(spec, valid):
        try:
            resolved.arrays[location] = _read(named, location, files, resolved)
        except InputError as error:
            message = f"{error.message}. {error.remedy}" if error.remedy else error.message
            resolved.findings.append(Finding(location, message, "side-file"))
    resolved.polynomials, found = read_polynomials(spec, valid)
    resolved.findings.extend(found)
    if valid is None or "certificates" in valid:
        _read_certificates(spec, files, resolved)
    return resolved


def named_arrays(
    spec: Spec, valid: frozenset[str] | None = None
) -> Iterator[tuple[Location, ArraySpec | ScalesSpec]]:
    """Every array that a valid block names, with its location."""

    def has(block: str) -> bool:
        return valid is None or block in valid

    if has("objective"):
        if spec.objective.domain.inputs is not None:
            yield ("objective", "domain", "inputs"), spec.objective.domain.inputs
        if isinstance(spec.objective, BehaviouralSpec) and isinstance(
            spec.objective.readout, ReadoutRowsSpec
        ):
            yield ("objective", "readout", "rows"), spec.objective.readout.rows
    if has("system"):
        yield from _system_arrays(spec.system)
    if has("initial_state") and isinstance(spec.initial_state, (InlineArraySpec, SideFileSpec)):
        yield ("initial_state",), spec.initial_state
    if has("target"):
        if isinstance(spec.target, VectorTargetSpec):
            yield ("target", "values"), spec.target.values
        elif isinstance(spec.target, LinearTargetSpec):
            yield ("target", "weights"), spec.target.weights
    for holder, given in given_maps(spec, valid):
        for where, layer in map_atoms(holder, given):
            yield from _atom_arrays(where, layer)
    if has("dictionary") and has("metadata"):
        for location, dictionary in listed_dictionaries(spec):
            for index, atom in enumerate(dictionary.atoms):
                yield from _atom_arrays((*location, "atoms", index), atom)


def _atom_arrays(
    location: Location, atom: AtomSpec
) -> Iterator[tuple[Location, ArraySpec | ScalesSpec]]:
    if isinstance(atom, VectorAtomSpec):
        yield (*location, "values"), atom.values
    elif isinstance(atom, LinearAtomSpec):
        yield (*location, "weights"), atom.weights
    elif isinstance(atom, ForcingAtomSpec):
        for index, piece in enumerate(atom.pieces):
            yield (*location, "pieces", index, "coefficients"), piece.coefficients
    elif isinstance(atom, PiecewiseAtomSpec):
        yield from _fields(location, atom, ATOM_ARRAYS)
    elif not isinstance(atom, PolynomialAtomSpec):
        yield (*location, "codes"), atom.codes
        yield (*location, "scales"), atom.scales


ATOM_ARRAYS = (
    "input_weights", "state_weights", "bias", "thresholds", "output_weights", "state_matrix",
    "offset",
)  # fmt: skip
"""The arrays of a piecewise atom."""
REGION_ARRAYS = ("center", "lower", "upper", "vertices", "normals", "offsets")
"""The arrays of the regions, whatever their kind."""


def _system_arrays(system: SystemSpec) -> Iterator[tuple[Location, ArraySpec | ScalesSpec]]:
    if isinstance(system, AffineDynamicsSpec):
        yield from _fields(("system",), system, ("matrix",))
    elif isinstance(system, PiecewiseSystemSpec) and system.region is not None:
        yield from _fields(("system", "region"), system.region, REGION_ARRAYS)


def _fields(
    location: Location, block: Block, names: tuple[str, ...]
) -> Iterator[tuple[Location, ArraySpec | ScalesSpec]]:
    """The arrays that a block states under these names."""
    for name in names:
        named = getattr(block, name, None)
        if named is not None:
            yield (*location, name), named


def _read(
    named: ArraySpec | ScalesSpec, location: Location, files: SideFiles, resolved: Resolved
) -> Array:
    if isinstance(named, InlineArraySpec):
        shape, values = named.values
        return InlineArray("inline", shape, values)
    raw = read_array(files.verified(named.path, named.sha256), named)
    _refuse_not_finite(raw, named.path)
    data = raw.to_npy()
    digest = sha256_hex(data)
    resolved.store[digest] = data
    resolved.raw[location] = raw
    return StoredArray("stored", digest, DTYPES[raw.code], raw.shape)


def read_array(data: bytes, named: SideFileSpec) -> RawArray:
    """The array in a side file: by its tensor name, or the whole ``.npy`` file."""
    what = f"file {named.path!r}"
    if named.tensor is not None:
        return read_safetensors(data, named.tensor, what=what)
    if named.path.endswith(".safetensors"):
        raise InputError(
            f"needed the name of a tensor in the {what}", remedy="Add tensor: NAME beside path."
        )
    return read_npy(data, what=what)


_FLOATS = {"<f2": ("H", 0x7C00), "<f4": ("I", 0x7F800000), "<f8": ("Q", 0x7FF0000000000000)}


def _refuse_not_finite(raw: RawArray, path: str) -> None:
    """An exponent of all ones is an infinity or a NaN, in every floating format read here."""
    if raw.code not in _FLOATS:
        return
    code, mask = _FLOATS[raw.code]
    patterns = array(code, raw.data)
    if _swapped():
        patterns.byteswap()
    for position, pattern in enumerate(patterns):
        if pattern & mask == mask:
            raise InputError(
                f"the file {path!r} has a NaN or an infinity at flat index {position}",
                remedy="Every entry is a finite number.",
            )


def _swapped() -> bool:
    return array("H", b"\x01\x00")[0] != 1


def _read_certificates(spec: Spec, files: SideFiles, resolved: Resolved) -> None:
    for index, certificate in enumerate(spec.certificates):
        location: Location = ("certificates", index)
        try:
            if certificate.path is not None and certificate.sha256 is not None:
                data = files.verified(certificate.path, certificate.sha256)
                resolved.certificates[certificate.sha256] = data
            elif certificate.path is not None:
                check_path(certificate.path)
                resolved.findings.append(missing_digest(certificate.path, location, files))
            elif certificate.sha256 is not None:
                attached = files.attached(certificate.sha256)
                if attached is not None:
                    resolved.certificates[certificate.sha256] = attached
        except InputError as error:
            message = f"{error.message}. {error.remedy}" if error.remedy else error.message
            resolved.findings.append(Finding(location, message, "side-file"))


def missing_digest(path: str, location: Location, files: SideFiles) -> Finding:
    """A path without its digest; the message offers the digest of what is there now."""
    message = "missing key 'sha256': every file is named by its SHA-256 too"
    try:
        message += f". The file there now has {files.digest(path)}."
    except InputError as error:
        message += f" ({error.message})"
    return Finding(location, message, "missing-key")


def integer_range(named: Array, raw: RawArray | None) -> tuple[int, int] | None:
    """The least and largest entry of an array of integers; ``None`` when it holds others."""
    if isinstance(named, InlineArray):
        whole = [int(value) for value in named.values if value.denominator == 1]
        return (min(whole), max(whole)) if len(whole) == len(named.values) else None
    if raw is None or raw.code in _FLOATS or not raw.data:
        return None
    if raw.code in ("|i1", "|u1"):
        present = set(raw.data)
        if raw.code == "|i1":
            present = {value - 256 if value > 127 else value for value in present}
        return min(present), max(present)
    code = {"<i2": "h", "<u2": "H", "<i4": "i", "<u4": "I", "<i8": "q", "<u8": "Q"}[raw.code]
    numbers = array(code, raw.data)
    if _swapped():
        numbers.byteswap()
    return min(numbers), max(numbers)


def size(named: Array) -> int:
    """The number of entries."""
    return math.prod(named.shape)


def rows_of(named: Array, resolved: Resolved, location: Location) -> list[list[Fraction]]:
    """The rows of a matrix as exact numbers."""
    from qreplace.question.arrays import load_array

    values = load_array(named, resolved.store, what="/".join(map(str, location)))
    width = named.shape[1]
    flat = [Fraction(number, values.denominator) for number in values.numerators]
    return [flat[start : start + width] for start in range(0, len(flat), width)]


def shape_text(shape: tuple[int, ...]) -> str:
    """``384 x 16``."""
    return " x ".join(map(str, shape)) if shape else "a single number"


def wrong_shape(location: Location, wanted: str, named: Array) -> Finding:
    """The finding for an array of another shape than its neighbours need."""
    return Finding(location, needed(wanted, shape_text(named.shape)), "shape")
