"""How much arithmetic a claim about piecewise-affine maps asks for, before it is done.

Claims come from strangers, and a short one can ask for long numbers. A checker adds up what it is
about to do and refuses beyond ``MAX_WORK``. The estimates count products of integers and price one
by its length; nothing that is proved rests on them.
"""

from __future__ import annotations

from dataclasses import dataclass

from qreplace.check.bounds import require
from qreplace.question.maps import Layer, Point, PwaMap
from qreplace.question.relaxation import BITS, relaxation_cost

MAX_WORK = 60_000_000_000
"""Most work for one claim, in about nanoseconds of one core."""
DIGIT_BITS = 30
PRODUCT = 150
"""What a product of two short integers costs."""
EVALUATION, LAYER, UNIT = 15_000, 2_500, 400
"""What one evaluation costs beside its products, each of its layers, and each hidden unit."""
KEPT = 20
"""The price of a bit that is kept: memory is limited as time is."""


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
    overhead: int

    @classmethod
    def of(cls, pwa: PwaMap) -> MapCost:
        """Count the products and bound the numbers; scales nothing."""
        inputs, states, unit, longest = 0, 0, pwa.initial_unit.bit_length(), 1
        overhead, sizes = EVALUATION, dict[int, int]()
        for layer in pwa.layers:
            n, before, after = len(layer.bias), len(layer.carry[0]), len(layer.offset)
            inputs += n * (pwa.inputs + 1)
            states += n * before + after * (n + before)
            overhead += LAYER + UNIT * n
            if id(layer) not in sizes:  # a schedule runs the same few layers again and again
                sizes[id(layer)] = _longest(layer)
            bits = layer.inner.bit_length() + layer.outer.bit_length()
            unit += bits + max(0, sizes[id(layer)] - bits)
            longest = max(longest, bits, sizes[id(layer)])
        return cls(inputs, states, unit, longest, overhead)

    def trace(self, point_bits: int) -> int:
        """One exact evaluation at a point whose coordinates have so many bits."""
        value_bits = self.unit_bits + point_bits
        products = self.input_products * product_cost(self.unit_bits, point_bits)
        products += self.state_products * product_cost(self.layer_bits, value_bits)
        return products + self.overhead

    def relaxation(self, pwa: PwaMap, columns: int) -> int:
        """One bound by affine arithmetic."""
        products = relaxation_cost(pwa, columns)
        return 16 * self.overhead + products * product_cost(self.layer_bits, BITS + self.layer_bits)


def product_cost(one_bits: int, other_bits: int) -> int:
    """One product of integers of so many bits."""
    one, other = one_bits // DIGIT_BITS + 1, other_bits // DIGIT_BITS + 1
    return PRODUCT + one * other + one + other


def divisor_cost(bits: int) -> int:
    """The greatest common divisor of two integers of so many bits."""
    digits = bits // DIGIT_BITS + 1
    return PRODUCT + 5 * digits * digits


def _longest(layer: Layer) -> int:
    """Bits of the longest entry of a layer."""
    matrices = (layer.input_weights, layer.state_weights, layer.output, layer.carry)
    rows = [row for matrix in matrices for row in matrix]
    rows += [layer.bias, layer.thresholds, layer.offset]
    return max((max(row).bit_length() + min(row).bit_length() for row in rows if row), default=0)


def point_bits(point: Point) -> int:
    """Bits of the longest coordinate of a homogeneous point."""
    return max(map(int.bit_length, point))
