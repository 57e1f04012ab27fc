"""The matrices that a question names, as exact integers over one denominator (theory T10.5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from qreplace.errors import InputError
from qreplace.exact.spectral import over_common_denominator
from qreplace.question.model import (
    AffineDynamicsSystem,
    Array,
    Atom,
    LinearAtom,
    LinearTarget,
    ListedDictionary,
    QuantizedLinearAtom,
)
from qreplace.question.subject import Subject

Rows = list[list[int]]


@dataclass(frozen=True, slots=True)
class NamedMatrix:
    """``rows / denominator``."""

    rows: Rows
    denominator: int


def named_matrix(
    subject: Subject, bits: int, matrix: Literal["system", "target", "atom"], index: int
) -> NamedMatrix | None:
    """A of the dynamics, the target's weights or an atom's; ``None`` if there is no such matrix.

    A multiple of the identity is given as one number: its norm is the same. Raises ``InputError``
    for arrays that are missing or do not fit.
    """
    question = subject.question
    if matrix == "system":
        known = index == 0 and isinstance(question.system, AffineDynamicsSystem)
        return _system_matrix(subject, bits) if known else None
    if matrix == "target":
        if index or not isinstance(question.target, LinearTarget):
            return None
        return _plain_matrix(subject, question.target.weights, "target weights")
    dictionary = question.dictionary_for(bits)
    if not isinstance(dictionary, ListedDictionary) or not 0 <= index < dictionary.atom_count:
        return None
    return _atom_matrix(subject, dictionary.atoms[index], f"atom {index}")


def _system_matrix(subject: Subject, bits: int) -> NamedMatrix:
    problem = subject.affine(bits)
    if problem.matrix is None:
        return NamedMatrix([[problem.rate.numerator]], problem.rate.denominator)
    size = range(problem.dimension)
    return NamedMatrix(
        *over_common_denominator([[problem.entry(i, j) for j in size] for i in size])
    )


def _atom_matrix(subject: Subject, atom: Atom, what: str) -> NamedMatrix | None:
    if isinstance(atom, LinearAtom):
        return _plain_matrix(subject, atom.weights, what)
    if not isinstance(atom, QuantizedLinearAtom):
        return None
    codes = _plain_matrix(subject, atom.codes, what)
    scales = subject.array(atom.scales, f"scales of {what}")
    if scales.size not in (1, len(codes.rows)):
        raise InputError(
            f"the scales of {what} are 1 or {len(codes.rows)} numbers, received {scales.size}"
        )
    factors = scales.numerators * (len(codes.rows) if scales.size == 1 else 1)
    shift = atom.zero_point * codes.denominator
    rows = [
        [factor * (code - shift) for code in row]
        for factor, row in zip(factors, codes.rows, strict=True)
    ]
    return NamedMatrix(rows, scales.denominator * codes.denominator)


def _plain_matrix(subject: Subject, reference: Array, what: str) -> NamedMatrix:
    entries = subject.array(reference, what)
    if len(entries.shape) != 2 or not entries.size:
        raise InputError(f"{what} has shape {entries.shape}, needed rows and columns")
    width, numbers = entries.shape[1], entries.numerators
    rows = [numbers[start : start + width] for start in range(0, len(numbers), width)]
    return NamedMatrix(rows, entries.denominator)
