"""Registers of any format, written a vector at a time: exactly, or in binary64 (theory T4.12).

What a floating register holds is metered by its codes, the sign in front: they order as the values
do. A block's codes are those of its elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Protocol

from qreplace.errors import InputError
from qreplace.exact.block_formats import BlockFormat, number_format
from qreplace.exact.float_formats import FloatFormat, NonFinite
from qreplace.simulate.draws import draw
from qreplace.simulate.fields import Meters, step_at
from qreplace.simulate.model import FixedPoint, Format, Register, Rounding
from qreplace.simulate.rounding import round_to_grid

Own = FixedPoint | FloatFormat | BlockFormat


class VectorRegister(Protocol):
    """What a run writes its vectors to; arrays are (n,), of rationals or binary64 throughout."""

    def write(self, values: Any, step: int, source: int | None = None) -> Any:
        """What is held of the values at a step; ``source`` is the step of the draws, if another.

        Raises ``InputError`` where a value overflows to what is no number, or must not overflow.
        """


def own_format(declared: Format) -> Own:
    """The format itself; raises ``InputError`` for an unknown name."""
    return declared if isinstance(declared, FixedPoint) else number_format(declared.name)


def signed_code(own: FloatFormat, value: Fraction) -> int:
    """The code of a magnitude with the value's sign."""
    code = own.code_of(abs(value))
    return -code if value < 0 else code


class _Base:
    def __init__(
        self, name: Register, own: Own, rounding: Rounding, seed: int, channel: int, meters: Meters
    ) -> None:
        self.name: Register = name
        self.own = own
        self.rounding: Rounding = rounding
        self.seed = seed
        self.channel = channel
        self.meters = meters

    def _draw(self, source: int, i: int) -> int:
        return draw(self.seed, source, self.channel + i) if self.rounding == "stochastic" else 0

    def _fixed(self, own: FixedPoint, value: Fraction, step: int, source: int, i: int) -> Fraction:
        size = step_at(own, step, i)
        code = round_to_grid(value, size, self.rounding, self._draw(source, i))
        return size * self.meters.store(self.name, code, own, step, i)

    def _overflow(self, own: FloatFormat, value: Any, step: int, i: int) -> InputError:
        return InputError(
            f"the {self.name} register overflows at step {step}, coordinate {i}: "
            f"{float(value):.6g} is beyond {float(own.largest):.6g}, the largest number of "
            f"{own.name}",
            remedy="Take a format with a wider range, or scale the system.",
        )


class ExactRegister(_Base):
    """In rationals, by the tables of ``exact``; the reference."""

    def write(self, values: Any, step: int, source: int | None = None) -> Any:
        """See ``VectorRegister.write``; an object array of rationals."""
        import numpy as np

        own, drawn = self.own, step if source is None else source
        held: Sequence[Fraction]
        if isinstance(own, FixedPoint):
            held = [self._fixed(own, x, step, drawn, i) for i, x in enumerate(values)]
        elif isinstance(own, FloatFormat):
            held = [self._floating(own, x, step, drawn, i) for i, x in enumerate(values)]
        else:
            held = self._blocks(own, list(values), drawn)
        return np.array(held, dtype=object)

    def _floating(
        self, own: FloatFormat, value: Fraction, step: int, source: int, i: int
    ) -> Fraction:
        rounded = own.round(value, self.rounding, self._draw(source, i))
        if isinstance(rounded, NonFinite):
            raise self._overflow(own, value, step, i)
        code = signed_code(own, rounded)
        self.meters.see(self.name, code, code, int(abs(value) > own.largest))
        return rounded

    def _blocks(self, own: BlockFormat, values: list[Fraction], source: int) -> list[Fraction]:
        tensor = own.tensor_scale_of(max(map(abs, values)))
        held: list[Fraction] = []
        for start in range(0, len(values), own.size):
            part = values[start : start + own.size]
            draws = [self._draw(source, start + i) for i in range(len(part))]
            block = own.quantize(part, self.rounding, draws, tensor)
            signed = [
                signed_code(own.element, x / block.scale if block.scale else Fraction(0))
                for x in block.values
            ]
            self.meters.see(self.name, min(signed), max(signed), block.saturated)
            held += block.values
        return held


class FloatRegister(_Base):
    """In binary64, bit for bit what ``ExactRegister`` makes of the same numbers."""

    def write(self, values: Any, step: int, source: int | None = None) -> Any:
        """See ``VectorRegister.write``; a binary64 array."""
        import numpy as np

        own, drawn = self.own, step if source is None else source
        if not np.isfinite(values).all():
            i = int(np.argmin(np.isfinite(values)))
            raise InputError(
                f"the {self.name} register is given {values[i]} at step {step}, coordinate {i}"
            )
        if isinstance(own, FixedPoint):
            return np.array([
                float(self._fixed(own, Fraction(float(x)), step, drawn, i))
                for i, x in enumerate(values)
            ])  # fmt: skip
        if isinstance(own, FloatFormat):
            return self._floating(own, values, step, drawn)
        from qreplace.simulate.block_kernels import round_blocks

        kept, scales, saturated = round_blocks(
            values, own, self.rounding, self.seed, drawn, self.channel
        )
        elements = np.divide(kept, scales, out=np.zeros(len(kept)), where=scales > 0)
        self._see(own.element, elements, int(saturated.sum()))
        return kept

    def _floating(self, own: FloatFormat, values: Any, step: int, source: int) -> Any:
        import numpy as np

        from qreplace.simulate.format_kernels import round_values

        rounded = round_values(values, own, self.rounding, self.seed, source, self.channel)
        finite = np.isfinite(rounded)
        if not finite.all():
            i = int(np.argmin(finite))
            raise self._overflow(own, values[i], step, i)
        self._see(own, rounded, int((np.abs(values) > float(own.largest)).sum()))
        return rounded

    def _see(self, own: FloatFormat, held: Any, overflows: int) -> None:
        low, high = Fraction(float(held.min())), Fraction(float(held.max()))
        self.meters.see(self.name, signed_code(own, low), signed_code(own, high), overflows)
