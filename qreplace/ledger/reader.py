"""Numbers out of a description: each with its label, its norm checked, its place remembered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from qreplace.architecture.linear import Linear
from qreplace.architecture.rounding import root_above
from qreplace.errors import InputError
from qreplace.ledger.conversions import Entrywise, Measured, Operator, Token, norm_finding
from qreplace.ledger.request import (
    AmountSpec,
    CodesSpec,
    GivenLinearSpec,
    LedgerRequest,
    StatedLinearSpec,
    VectorSpec,
)
from qreplace.ledger.weights import (
    Pair,
    between,
    dequantized,
    euclidean,
    largest,
    matrix_rows,
    operator_norm,
    quantized,
    read_exact,
    same,
)
from qreplace.premises import Evidence
from qreplace.spec.findings import Finding, Location, needed, pointer
from qreplace.spec.side_files import SideFiles

Progress = Callable[[str, int, int], None]
Role = Literal["size", "error", "variation"]
LinearLike = StatedLinearSpec | GivenLinearSpec
ErrorLike = AmountSpec | Literal["none", "exact"] | None

ZERO = Fraction(0)


@dataclass(frozen=True, slots=True)
class Known:
    """A number that a ledger rests on. ``role`` says which of its results it enters."""

    place: str
    role: Role
    value: Fraction
    evidence: Evidence
    source: str


@dataclass(slots=True)
class Reader:
    """Reads the numbers of one description; what is wrong goes to ``findings``."""

    request: LedgerRequest
    files: SideFiles
    progress: Progress | None = None
    known: list[Known] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    left_out: bool = False
    """Whether an error was left out and counts as exact."""
    _matrices: int = 0

    def amount(
        self, place: Location, own: AmountSpec, measured: Measured, role: Role = "size"
    ) -> Fraction:
        """The upper end of a premise; a finding for another norm and for no evidence."""
        value = own.value[1]
        wrong = norm_finding(place, measured, own.norm, value)
        if wrong is not None:
            self.findings.append(wrong)
        if own.evidence is Evidence.UNAVAILABLE:
            message = needed("a number that is known", "the label unavailable")
            self.findings.append(Finding(place, message, "unavailable"))
        self.known.append(Known(pointer(place), role, value, own.evidence, own.source))
        return value

    def error(
        self, place: Location, own: ErrorLike, measured: Measured, role: Role = "error"
    ) -> Fraction:
        """An error: zero where it is declared exact, by itself or by ``unstated_errors``."""
        if isinstance(own, AmountSpec):
            return self.amount(place, own, measured, role)
        if own is None and self.request.unstated_errors is None:
            message = f"missing key {place[-1]!r}: a bound, or exact"
            remedy = "; unstated_errors: exact declares all that are left out to be zero"
            self.findings.append(Finding(place[:-1], message + remedy, "missing-key"))
        self.left_out = self.left_out or own is None
        return ZERO

    def parameter(
        self,
        place: Location,
        own: VectorSpec | AmountSpec | None,
        error: ErrorLike,
        width: int,
        *,
        entrywise: bool = False,
    ) -> tuple[Fraction, Fraction]:
        """Norm and error of a vector: l2, or its largest entry. Nothing is a vector of zeros."""
        where = (*place[:-1], f"{place[-1]}_error")
        measured: Measured = Entrywise() if entrywise else Token(width)
        if own is None:
            return ZERO, ZERO if error is None else self.error(where, error, measured)
        if isinstance(own, AmountSpec):
            return self.amount(place, own, measured), self.error(where, error, measured)
        self._refuse_both(place, error)
        try:
            return self._vector(place, own, width, entrywise)
        except InputError as wrong:
            self._input(place, wrong)
            return ZERO, ZERO

    def _refuse_both(self, place: Location, error: ErrorLike) -> None:
        """A vector's error is computed; stating one besides is a contradiction."""
        if error is not None:
            where = (*place[:-1], f"{place[-1]}_error")
            message = f"needed {where[-1]} beside a stated norm only, received it beside a vector"
            self.findings.append(Finding(where, message, "contradiction"))

    def _vector(
        self, place: Location, own: VectorSpec, width: int, entrywise: bool
    ) -> tuple[Fraction, Fraction]:
        size = largest if entrywise else euclidean
        pair = self._vector_pair(own, width)
        value = size(pair.intended[0], pair.denominator)
        self._computed(place, "size", value, "the vector's entries")
        error = size(pair.difference()[0], pair.denominator)
        if own.executed != "exact":
            self._computed((*place, "executed"), "error", error, "the entries of both vectors")
        return value, error

    def _vector_pair(self, own: VectorSpec, width: int) -> Pair:
        intended = read_exact(own.vector, self.files, "vector")
        if intended.shape != (width,):
            raise InputError(f"needed {width} entries, received shape {intended.shape}")
        if own.executed == "exact":
            return same([intended.numerators], intended.denominator)
        executed = read_exact(own.executed, self.files, "executed vector")
        if executed.shape != (width,):
            raise InputError(f"needed {width} executed entries, received shape {executed.shape}")
        return Pair(
            [[x * executed.denominator for x in intended.numerators]],
            [[x * intended.denominator for x in executed.numerators]],
            intended.denominator * executed.denominator,
        )

    # --- linear layers ----------------------------------------------------------------------------

    def linear(self, place: Location, own: LinearLike, rows: int, columns: int) -> Linear:
        """A linear layer from ``columns`` to ``rows`` coordinates."""
        if isinstance(own, StatedLinearSpec):
            return self._stated(place, own, rows, columns)
        found = self.given(place, own, rows, columns)
        return self._layer(place, own, found, rows) if found else Linear(ZERO)

    def _stated(self, place: Location, own: StatedLinearSpec, rows: int, columns: int) -> Linear:
        matrix = Operator(rows, columns)
        bias, bias_error = self.parameter((*place, "bias"), own.bias, own.bias_error, rows)
        executed = None
        if own.executed_norm is not None:
            where = (*place, "executed_norm")
            executed = self.amount(where, own.executed_norm, matrix, "error")
        return Linear(
            norm=self.amount((*place, "norm"), own.norm, matrix),
            difference=self.error((*place, "error"), own.error, matrix),
            executed=executed,
            bias=bias,
            bias_error=bias_error,
            arithmetic=self._arithmetic(place, own, rows),
        )

    def _arithmetic(self, place: Location, own: LinearLike, rows: int) -> Fraction:
        return self.error((*place, "arithmetic_error"), own.arithmetic_error, Token(rows))

    def given(self, place: Location, own: GivenLinearSpec, rows: int, columns: int) -> Pair | None:
        """Intended and executed weights; ``None`` with a finding where they cannot be had."""
        try:
            return self._pair(own, rows, columns)
        except InputError as error:
            self._input(place, error)
            return None

    def _pair(self, own: GivenLinearSpec, rows: int, columns: int) -> Pair:
        intended = read_exact(own.weights, self.files, "weights")
        if own.quantize is not None:
            entries = matrix_rows(intended, rows, columns, "weights")
            return quantized(entries, intended.denominator, own.quantize)
        if own.executed is None or own.executed == "exact":
            return same(matrix_rows(intended, rows, columns, "weights"), intended.denominator)
        if isinstance(own.executed, CodesSpec):
            executed = dequantized(own.executed, self.files, rows, columns)
        else:
            executed = read_exact(own.executed, self.files, "executed weights")
        return between(intended, executed, rows, columns)

    def _layer(self, place: Location, own: GivenLinearSpec, pair: Pair, rows: int) -> Linear:
        bias, bias_error = self.parameter((*place, "bias"), own.bias, own.bias_error, rows)
        norm, difference = self.norms(place, own, pair)
        return Linear(
            norm=norm,
            difference=difference,
            bias=bias,
            bias_error=bias_error,
            arithmetic=self._arithmetic(place, own, rows),
        )

    def norms(self, place: Location, own: GivenLinearSpec, pair: Pair) -> tuple[Fraction, Fraction]:
        """Checked bounds of ``||W||`` and ``||W_hat - W||``."""
        norm = self._norm(pair.intended, pair.denominator)
        source = "operator norm of the weights, checked (T10.5)"
        self._computed((*place, "weights"), "size", norm, source)
        if own.executed == "exact":
            return norm, ZERO
        difference = self._norm(pair.difference(), pair.denominator)
        source = "operator norm of the weights' difference, checked (T10.5)"
        self._computed((*place, "executed"), "error", difference, source)
        return norm, difference

    def _norm(self, rows: list[list[int]], denominator: int) -> Fraction:
        self._matrices += 1
        if self.progress is not None:
            self.progress("operator norms", self._matrices, self._matrices + 1)
        return operator_norm(rows, denominator)

    def heads(
        self, place: Location, own: LinearLike | tuple[LinearLike, ...], count: int, rows: int
    ) -> list[Linear]:
        """One layer a head, each from the model's width to ``rows`` coordinates.

        A list has ``count`` of them; stated norms hold for every head; weights are those of all
        heads one below the other.
        """
        columns = self.request.dimensions.model
        if isinstance(own, tuple):
            if len(own) != count:
                message = needed(f"{count} layers, one a head", str(len(own)))
                self.findings.append(Finding(place, message, "count"))
            return [self.linear((*place, i), part, rows, columns) for i, part in enumerate(own)]
        if isinstance(own, StatedLinearSpec):
            return [self._stated(place, own, rows, columns)] * count
        found = self.given(place, own, count * rows, columns)
        if found is None:
            return [Linear(ZERO)] * count
        biases = self._head_biases(place, own, count, rows)
        arithmetic = self._arithmetic(place, own, rows)
        layers = []
        for pair, (bias, bias_error) in zip(found.bands(count), biases, strict=True):
            norm, difference = self.norms(place, own, pair)
            layers.append(Linear(norm, difference, None, bias, bias_error, arithmetic))
        return layers

    def _head_biases(
        self, place: Location, own: GivenLinearSpec, count: int, rows: int
    ) -> list[tuple[Fraction, Fraction]]:
        """Norm and error of each head's part of the bias; a stated one bounds every head's."""
        where = (*place, "bias")
        if not isinstance(own.bias, VectorSpec):
            return [self.parameter(where, own.bias, own.bias_error, rows)] * count
        self._refuse_both(where, own.bias_error)
        try:
            pair = self._vector_pair(own.bias, count * rows)
        except InputError as wrong:
            self._input(where, wrong)
            return [(ZERO, ZERO)] * count
        starts = range(0, count * rows, rows)
        sizes = [euclidean(pair.intended[0][k : k + rows], pair.denominator) for k in starts]
        change = pair.difference()[0]
        errors = [euclidean(change[k : k + rows], pair.denominator) for k in starts]
        self._computed(where, "size", max(sizes), "the vector's entries")
        if own.bias.executed != "exact":
            self._computed(
                (*where, "executed"), "error", max(errors), "the entries of both vectors"
            )
        return list(zip(sizes, errors, strict=True))

    def router(self, place: Location, own: GivenLinearSpec) -> tuple[Fraction, Fraction, Fraction]:
        """The largest l2 row of a router's W and of dW, and its bias's error in linf."""
        columns = self.request.dimensions.model
        try:
            rows = read_exact(own.weights, self.files, "weights").shape[0]
            pair = self._pair(own, rows, columns)
        except InputError as error:
            self._input(place, error)
            return ZERO, ZERO, ZERO
        slope = _largest_row(pair.intended, pair.denominator)
        change = _largest_row(pair.difference(), pair.denominator)
        self._computed((*place, "weights"), "size", slope, "largest row of the router")
        self._computed((*place, "executed"), "error", change, "largest row of the difference")
        _, shift = self.parameter((*place, "bias"), own.bias, own.bias_error, rows, entrywise=True)
        return slope, change, shift

    def _computed(self, place: Location, role: Role, value: Fraction, source: str) -> None:
        own = Known(pointer(place), role, value, Evidence.INTERVAL_CERTIFIED, source)
        self.known.append(own)

    def _input(self, place: Location, error: InputError) -> None:
        message = f"{error.message}. {error.remedy}" if error.remedy else error.message
        self.findings.append(Finding(place, message, "side-file"))


def _largest_row(rows: list[list[int]], denominator: int) -> Fraction:
    square = max(sum(entry * entry for entry in row) for row in rows)
    return root_above(Fraction(square, denominator**2))
