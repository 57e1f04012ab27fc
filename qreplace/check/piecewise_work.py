"""How much arithmetic a claim about piecewise-affine maps asks for, before it is done.

Claims come from strangers, and a short one can ask for long numbers. A checker adds up what it is
about to do and refuses beyond ``MAX_WORK``. The estimates count products of integers and price one
by its length; nothing that is proved rests on them.
"""

from __future__ import annotations

from dataclasses import dataclass

from qreplace.check.bounds import require
from qreplace.question.maps import Point, PwaMap
from qreplace.question.relaxation import BITS, relaxation_cost

MAX_WORK = 300_000_000_000
"""Most work for one claim, in about nanoseconds of one core."""
DIGIT_BITS = 30
PRODUCT = 100
"""What a product of two short integers costs."""


class Work:
    """A running total; raises ``Rejected`` once it exceeds ``MAX_WORK``."""

    def __init__(self) -> None:
        self.total = 0

    def add(self, cost: int) -> None:
        """So many nanoseconds, about."""
        self.total += cost
        require(self.total <= MAX_WORK, "the claim asks for more arithmetic than is done")


@dataclass(frozen=True)
class MapCost:
    """What one evaluation of a map costs, from its layers alone."""

    input_products: int
    state_products: int
    unit_bits: int
    layer_bits: int

    @classmethod
    def of(cls, pwa: PwaMap) -> MapCost:
        """Count the products and bound the denominators; scales nothing."""
        inputs, states, unit, longest = 0, 0, pwa.initial_unit.bit_length(), 1
        for layer in pwa.layers:
            n, before, after = len(layer.bias), len(layer.carry[0]), len(layer.offset)
            inputs += n * (pwa.inputs + 1)
            states += n * before + after * (n + before)
            bits = layer.inner.bit_length() + layer.outer.bit_length()
            unit += bits
            longest = max(longest, bits)
        return cls(inputs, states, unit, longest)

    def trace(self, point_bits: int) -> int:
        """One exact evaluation at a point whose coordinates have so many bits."""
        value_bits = self.unit_bits + point_bits
        return self.input_products * product_cost(self.unit_bits, point_bits) + (
            self.state_products * product_cost(self.layer_bits, value_bits)
        )

    def relaxation(self, pwa: PwaMap, columns: int) -> int:
        """One bound by affine arithmetic."""
        return relaxation_cost(pwa, columns) * product_cost(self.layer_bits, BITS + self.layer_bits)


def product_cost(one_bits: int, other_bits: int) -> int:
    """One product of integers of so many bits."""
    one, other = one_bits // DIGIT_BITS + 1, other_bits // DIGIT_BITS + 1
    return PRODUCT + one * other + one + other


def point_bits(point: Point) -> int:
    """Bits of the longest coordinate of a homogeneous point."""
    return max(map(int.bit_length, point))
