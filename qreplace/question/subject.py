"""The data a claim is about: the lifted problem, formed from the question's arrays.

Producers, checkers and radii all read the same exact numbers here, and every one of them is formed
from the question itself, never taken from a claim.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import mul
from typing import Any

from qreplace.errors import InputError
from qreplace.exact.codec import encode
from qreplace.exact.document import canonical_bytes, sha256_hex
from qreplace.exact.packed import pack, product, unpack
from qreplace.question.arrays import ArrayStore, ExactArray, load_array
from qreplace.question.dynamics import (
    AffineProblem,
    ForcingOnPiece,
    PolynomialProblem,
    as_polynomial,
)
from qreplace.question.invariant_balls import PwaConstants, pwa_constants, question_inputs
from qreplace.question.lifted_maps import lifted_dynamics, lifted_norm
from qreplace.question.model import (
    AccuracyMatching,
    AffineDynamicsSystem,
    Array,
    Atom,
    BlockL2Norm,
    DeclaredSystem,
    Dictionary,
    ForcingAtom,
    FullDomain,
    LiftedAffineSystem,
    LinearTarget,
    ListedDictionary,
    Norm,
    PolynomialAtom,
    PolynomialSystem,
    PwaAtom,
    PwaSystem,
    Question,
    VectorAtom,
    VectorTarget,
    WeightedL1Norm,
    WeightedLinfNorm,
)
from qreplace.question.piecewise_problem import PwaProblem, form_problem

WEIGHT_BITS = 32
"""Weights and their total below this many bits are combined packed: schedules always are."""
PACK_FROM = 256
"""Coordinates from which packing pays."""


@dataclass(frozen=True)
class LiftedProblem:
    """``min over the simplex of ||B alpha - y||`` in integers over one common denominator.

    Coordinate ``i`` of atom ``j`` is ``atoms[j][i] / denominator``, of the target
    ``target[i] / denominator``. For linear maps coordinate ``t * outputs + o`` is output ``o`` at
    witness ``t``.
    """

    atoms: tuple[tuple[int, ...], ...]
    target: tuple[int, ...]
    denominator: int
    outputs: int
    """Coordinates per witness; the whole dimension for a vector target."""

    @property
    def dimension(self) -> int:
        """The number of coordinates, d."""
        return len(self.target)

    def residual(
        self, weights: Sequence[int], total: int, coordinates: Iterable[int] | None = None
    ) -> list[int]:
        """``B weights / total - y`` over ``total * denominator``, on all or some coordinates."""
        small = total + sum(map(abs, weights)) < 1 << WEIGHT_BITS
        if coordinates is None and small and self.dimension >= PACK_FROM:
            atoms, target, size = self._packed
            combined = sum(map(mul, weights, atoms)) - total * target
            return unpack(combined, self.dimension, size)
        return self.residual_plain(weights, total, coordinates)

    def residual_plain(
        self, weights: Sequence[int], total: int, coordinates: Iterable[int] | None = None
    ) -> list[int]:
        """The same, coordinate by coordinate: the reference."""
        rows, target = self.rows, self.target
        chosen = range(len(target)) if coordinates is None else coordinates
        return [sum(map(mul, weights, rows[i])) - total * target[i] for i in chosen]

    @cached_property
    def _packed(self) -> tuple[list[int], int, int]:
        """Atoms and target packed, with digits wide enough for weights below ``WEIGHT_BITS``."""
        columns = (*self.atoms, self.target)
        largest = max(max(max(column), -min(column)) for column in columns)
        size = (largest.bit_length() + WEIGHT_BITS + 8) // 8
        *atoms, target = (pack(column, size) for column in columns)
        return atoms, target, size

    def separation(
        self, indices: Sequence[int], functional: Sequence[int], atoms: Iterable[int] | None = None
    ) -> int:
        """``lambda . y - max_j lambda . b_j`` over ``denominator``, lambda integer on ``indices``.

        Only the functional's own rows are touched. ``atoms`` restricts the maximum (a proposal
        only; a checker never does).
        """
        chosen = range(len(self.atoms)) if atoms is None else atoms
        columns = ([self.atoms[j][i] for i in indices] for j in chosen)
        reach: int = max(sum(map(mul, functional, column)) for column in columns)
        aim: int = sum(map(mul, functional, (self.target[i] for i in indices)))
        return aim - reach

    @cached_property
    def rows(self) -> list[tuple[int, ...]]:
        """Coordinate by coordinate: the J atom numerators."""
        return list(zip(*self.atoms, strict=True))


class Subject:
    """A question with its arrays; forms each lifted problem once.

    Raises ``InputError`` when arrays are missing, changed, or of shapes that do not fit together.
    """

    def __init__(self, question: Question, store: ArrayStore) -> None:
        self.question = question
        self.store = store
        self._problems: dict[int, LiftedProblem] = {}
        self._affine: dict[int, AffineProblem] = {}
        # Apart from the system's own affine dynamics: these have another norm than the question's.
        self._at_witnesses: dict[int, AffineProblem] = {}
        self._polynomial: dict[int, PolynomialProblem] = {}
        self._piecewise: dict[int, PwaProblem] = {}
        self._constants: dict[int, PwaConstants] = {}
        self._digests: dict[int, str] = {}
        self._arrays: dict[Array, ExactArray] = {}

    def problem_digest(self, bits: int) -> str:
        """SHA-256 of the floor problem at ``bits`` metadata bits: what a claim's subject names.

        Tolerance, execution and search are left out, so a claim serves every question about the
        same floor.
        """
        question = self.question
        if bits not in self._digests:
            document = {
                "type": "qreplace/problem/v1",
                "horizon": encode(question.horizon),
                "norm": encode(question.norm),
                "inputs": encode(question.domain.inputs),
                "initial": encode(question.initial),
                "system": encode(question.system),
                "target": encode(question.target),
                "dictionary": encode(question.dictionary_for(bits)),
            }
            if isinstance(question.system, PwaSystem):
                document["domain"] = question.domain.kind
                asked = question.objective
                given = asked.comparator_map if isinstance(asked, AccuracyMatching) else None
                document["comparator"] = encode(given)
            self._digests[bits] = _digest(document)
        return self._digests[bits]

    def execution_digest(self, bits: int) -> str:
        """SHA-256 of the floor problem together with its execution."""
        return _digest(
            {
                "type": "qreplace/executed-problem/v1",
                "problem": self.problem_digest(bits),
                "execution": encode(self.question.execution),
            }
        )

    def array(self, reference: Array, what: str) -> ExactArray:
        """The exact entries of a named array, read once."""
        if reference not in self._arrays:
            self._arrays[reference] = load_array(reference, self.store, what=what)
        return self._arrays[reference]

    def lifted(self, bits: int) -> LiftedProblem:
        """The lifted problem whose dictionary runs at ``bits`` metadata bits."""
        key = bits if bits in self.question.codes else -1
        if key not in self._problems:
            self._problems[key] = self._form(self.question.dictionary_for(bits))
        return self._problems[key]

    def dimension(self, bits: int) -> int:
        """The dimension of the state."""
        system = self.question.system
        if isinstance(system, (DeclaredSystem, PolynomialSystem, PwaSystem)):
            return system.dimension
        if isinstance(system, AffineDynamicsSystem):
            return self.affine(bits).dimension
        return self.lifted(bits).dimension

    def affine(self, bits: int) -> AffineProblem:
        """The affine dynamics at ``bits`` metadata bits; state-independent atoms have A = 0."""
        key = bits if bits in self.question.codes else -1
        if key not in self._affine:
            self._affine[key] = self._form_affine(self.question.dictionary_for(bits))
        return self._affine[key]

    def affine_floor(self, bits: int) -> tuple[AffineProblem, Norm]:
        """Affine dynamics whose floor is the question's, and the norm it is taken in.

        That of an affine system is its own. Piecewise-affine atoms that do not read the state
        through a bend are affine dynamics at the witness inputs (theory T7.2), in the norm that is
        the largest over them.
        """
        if not isinstance(self.question.system, PwaSystem):
            return self.affine(bits), self.question.norm
        key = bits if bits in self.question.codes else -1
        if key not in self._at_witnesses:
            full = isinstance(self.question.domain, FullDomain)
            self._at_witnesses[key] = lifted_dynamics(self.piecewise(bits), full=full)
        return self._at_witnesses[key], lifted_norm(self.question.norm, self.piecewise(bits))

    def polynomial(self, bits: int) -> PolynomialProblem:
        """The polynomial dynamics; affine ones whose forcings have one piece are polynomial too."""
        key = bits if bits in self.question.codes else -1
        if key not in self._polynomial:
            self._polynomial[key] = self._form_polynomial(bits)
        return self._polynomial[key]

    def piecewise(self, bits: int) -> PwaProblem:
        """The piecewise-affine maps at ``bits`` metadata bits (theory T8)."""
        key = bits if bits in self.question.codes else -1
        if key not in self._piecewise:
            self._piecewise[key] = self._form_piecewise(self.question.dictionary_for(bits))
        return self._piecewise[key]

    def piecewise_constants(self, bits: int) -> PwaConstants:
        """Constants of the piecewise-affine atoms over the inputs asked about (theory T8.1).

        In the question's norm of one input's output. Raises ``InputError`` where they are not
        computed.
        """
        key = bits if bits in self.question.codes else -1
        if key not in self._constants:
            problem = self.piecewise(bits)
            inputs = question_inputs(self.question, problem)
            self._constants[key] = pwa_constants(problem, self.question.norm, inputs)
        return self._constants[key]

    def _form_piecewise(self, dictionary: Dictionary) -> PwaProblem:
        system = self.question.system
        if not isinstance(system, PwaSystem):
            raise InputError("this question holds no piecewise-affine maps")
        self._check_norm(system.dimension, 0)
        initial = self._initial(system.dimension)
        return form_problem(self.question, system, dictionary, self.array, initial)

    def _form_polynomial(self, bits: int) -> PolynomialProblem:
        question = self.question
        dictionary = question.dictionary_for(bits)
        if not isinstance(question.system, PolynomialSystem):
            return as_polynomial(self.affine(bits))
        if not isinstance(dictionary, ListedDictionary):
            raise InputError("this question holds no atoms: they are declared only")
        target = question.target
        if not isinstance(target, VectorTarget):
            raise InputError("a polynomial system needs a vector target")
        aim = self.array(target.values, "target")
        if aim.size != question.system.dimension:
            raise InputError(
                f"the target has {aim.size} entries, the state {question.system.dimension}"
            )
        self._check_norm(aim.size, 0)
        initial = self._initial(aim.size)
        fields = []
        for index, atom in enumerate(dictionary.atoms):
            if not isinstance(atom, PolynomialAtom):
                raise InputError(f"atom {index} is not polynomial")
            fields.append(atom.field)
        return PolynomialProblem(
            tuple(fields), _fractions(initial), _fractions(aim), question.horizon
        )

    def _form_affine(self, dictionary: Any) -> AffineProblem:
        question = self.question
        system, target = question.system, question.target
        if (
            not isinstance(system, (AffineDynamicsSystem, LiftedAffineSystem))
            or not isinstance(dictionary, ListedDictionary)
            or not isinstance(target, (VectorTarget, LinearTarget))
        ):
            raise InputError("this question holds no affine dynamics")
        y, outputs = self._aim(target)
        forcings = [
            self._forcing(atom, index, y.size, outputs)
            for index, atom in enumerate(dictionary.atoms)
        ]
        offset = self._initial(y.size)
        self._check_norm(y.size, outputs)
        parts = [array for pieces in forcings for _, arrays in pieces for array in arrays]
        common = math.lcm(y.denominator, offset.denominator, *(p.denominator for p in parts))
        rate, matrix, matrix_denominator = self._state_matrix(y.size)
        return AffineProblem(
            rate=rate,
            matrix=matrix,
            matrix_denominator=matrix_denominator,
            initial=tuple(_scaled(offset, common)),
            target=tuple(_scaled(y, common)),
            atoms=tuple(_pieces(pieces, common, question.horizon) for pieces in forcings),
            denominator=common,
            horizon=question.horizon,
        )

    def _state_matrix(
        self, dimension: int
    ) -> tuple[Fraction, tuple[tuple[int, ...], ...] | None, int]:
        system = self.question.system
        if not isinstance(system, AffineDynamicsSystem):
            return Fraction(0), None, 1
        if system.matrix is None:
            return system.rate, None, 1
        entries = self.array(system.matrix, "state matrix")
        if entries.shape != (dimension, dimension):
            raise InputError(
                f"the state matrix has shape {entries.shape}, needed {(dimension, dimension)}"
            )
        return system.rate, tuple(map(tuple, _rows(entries))), entries.denominator

    def _forcing(
        self, atom: Atom, index: int, dimension: int, outputs: int
    ) -> list[tuple[Fraction, list[ExactArray]]]:
        """Start and coefficient vectors of every piece of an atom."""
        if not isinstance(atom, ForcingAtom):
            return [(Fraction(0), [self._column(atom, index, dimension, outputs)])]
        pieces = []
        for piece in atom.pieces:
            array = self.array(piece.coefficients, f"atom {index}")
            if len(array.shape) != 2 or array.shape[1] != dimension or not array.shape[0]:
                raise InputError(
                    f"a piece of atom {index} has coefficients of shape {array.shape}, needed "
                    f"(degree + 1, {dimension})"
                )
            rows = [ExactArray((dimension,), row, array.denominator) for row in _rows(array)]
            pieces.append((piece.start, rows))
        return pieces

    def _form(self, dictionary: Any) -> LiftedProblem:
        target = self.question.target
        # A declared system's field may depend on the state, whatever atoms its question lists.
        if (
            not isinstance(self.question.system, LiftedAffineSystem)
            or not isinstance(dictionary, ListedDictionary)
            or not isinstance(target, (VectorTarget, LinearTarget))
        ):
            raise InputError("this question holds no lifted problem: its data are declared only")
        y, outputs = self._aim(target)
        columns = [
            self._column(atom, index, y.size, outputs)
            for index, atom in enumerate(dictionary.atoms)
        ]
        offset = self._initial(y.size)
        common = math.lcm(y.denominator, offset.denominator, *(c.denominator for c in columns))
        shift = _scaled(offset, common)
        y_numbers = tuple(a - b for a, b in zip(_scaled(y, common), shift, strict=True))
        self._check_norm(y.size, outputs)
        return LiftedProblem(
            tuple(tuple(_scaled(column, common)) for column in columns),
            y_numbers,
            common,
            outputs or y.size,
        )

    def _aim(self, target: VectorTarget | LinearTarget) -> tuple[ExactArray, int]:
        """The lifted target, and its outputs a witness (0 for a vector)."""
        if isinstance(target, VectorTarget):
            y, outputs = self.array(target.values, "target"), 0
        else:
            weights = self.array(target.weights, "target weights")
            y, outputs = self._apply(weights, "target weights"), weights.shape[0]
        if y.size == 0:
            raise InputError("the target has no coordinates")
        return y, outputs

    def _initial(self, dimension: int) -> ExactArray:
        """The initial state; reaching ``y`` from ``z_0`` is reaching ``y - z_0`` from 0."""
        if self.question.initial is None:
            return ExactArray((dimension,), [0] * dimension, 1)
        initial = self.array(self.question.initial, "initial state")
        if initial.size != dimension:
            raise InputError(f"the initial state has {initial.size} entries, needed {dimension}")
        return initial

    def _column(self, atom: Atom, index: int, dimension: int, outputs: int) -> ExactArray:
        what = f"atom {index}"
        if isinstance(atom, VectorAtom):
            column = self.array(atom.values, what)
        elif isinstance(atom, (ForcingAtom, PolynomialAtom, PwaAtom)):
            raise InputError(f"{what} depends on time or on the state")
        elif atom.kind == "linear_map":
            weights = self.array(atom.weights, what)
            _need_shape(weights, outputs, what)
            column = self._apply(weights, what)
        else:
            codes = self.array(atom.codes, what)
            _need_shape(codes, outputs, what)
            scales = self.array(atom.scales, f"scales of {what}")
            column = self._quantized(codes, scales, atom.zero_point, what)
        if column.size != dimension:
            raise InputError(f"{what} has {column.size} coordinates, the target has {dimension}")
        return column

    def _apply(self, weights: ExactArray, what: str) -> ExactArray:
        """``weights`` (q, p) at every witness: entries in the order witness, output."""
        reference = self.question.domain.inputs
        if reference is None:
            raise InputError("linear maps need the witness inputs")
        inputs = self.array(reference, "witness inputs")
        if len(weights.shape) != 2 or len(inputs.shape) != 2:
            raise InputError(f"{what} and the witness inputs are matrices")
        width = weights.shape[1]
        if inputs.shape[1] != width:
            raise InputError(
                f"{what} takes {width} inputs, the witnesses have {inputs.shape[1]} coordinates"
            )
        by_witness = product(weights.numerators, width, _rows(inputs))
        values = [value for row in by_witness for value in row]
        return ExactArray((len(values),), values, weights.denominator * inputs.denominator)

    def _quantized(
        self, codes: ExactArray, scales: ExactArray, zero_point: int, what: str
    ) -> ExactArray:
        outputs = codes.shape[0]
        if scales.size not in (1, outputs):
            raise InputError(
                f"the scales of {what} are 1 or {outputs} numbers, received {scales.size}"
            )
        if codes.denominator != 1:
            raise InputError(f"the codes of {what} are not integers")
        shifted = [code - zero_point for code in codes.numerators] if zero_point else None
        plain = self._apply(
            ExactArray(codes.shape, shifted if shifted is not None else codes.numerators, 1), what
        )
        factors = scales.numerators * (outputs if scales.size == 1 else 1)
        repeat = factors * (plain.size // outputs)
        values = [value * factor for value, factor in zip(plain.numerators, repeat, strict=True)]
        return ExactArray(plain.shape, values, plain.denominator * scales.denominator)

    def _check_norm(self, dimension: int, outputs: int) -> None:
        norm = self.question.norm
        if isinstance(norm, (WeightedLinfNorm, WeightedL1Norm)) and len(norm.weights) != dimension:
            raise InputError(f"the norm has {len(norm.weights)} weights, the state {dimension}")
        if isinstance(norm, BlockL2Norm) and dimension % norm.block:
            raise InputError(f"blocks of {norm.block} do not divide the dimension {dimension}")
        if isinstance(norm, BlockL2Norm) and outputs and outputs % norm.block:
            raise InputError(
                f"blocks of {norm.block} cross from one witness's {outputs} outputs to the next"
            )


def _need_shape(weights: ExactArray, outputs: int, what: str) -> None:
    if len(weights.shape) != 2 or weights.shape[0] != outputs:
        raise InputError(f"{what} has shape {weights.shape}, needed {outputs} output rows")


def _rows(matrix: ExactArray) -> list[list[int]]:
    count, width = matrix.shape
    numbers = matrix.numerators
    return [numbers[i * width : (i + 1) * width] for i in range(count)]


def _scaled(values: ExactArray, denominator: int) -> list[int]:
    factor = denominator // values.denominator
    return [n * factor for n in values.numerators] if factor != 1 else values.numerators


def _fractions(values: ExactArray) -> tuple[Fraction, ...]:
    return tuple(Fraction(n, values.denominator) for n in values.numerators)


def _pieces(
    pieces: list[tuple[Fraction, list[ExactArray]]], common: int, horizon: Fraction
) -> tuple[ForcingOnPiece, ...]:
    """The pieces of one forcing over the common denominator, each with its end."""
    ends = [start for start, _ in pieces[1:]] + [horizon]
    return tuple(
        ForcingOnPiece(start, end, tuple(tuple(_scaled(row, common)) for row in rows))
        for (start, rows), end in zip(pieces, ends, strict=True)
    )


def _digest(document: dict[str, Any]) -> str:
    return sha256_hex(canonical_bytes(document))
