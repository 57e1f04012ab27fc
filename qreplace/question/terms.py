"""Arrays and norms as a question names them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from qreplace.errors import Malformed


@dataclass(frozen=True, slots=True)
class StoredArray:
    """An array in a side file, named by the digest of its canonical ``.npy`` bytes."""

    kind: Literal["stored"]
    sha256: str
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class InlineArray:
    """A small array written out; ``values`` in C order."""

    kind: Literal["inline"]
    shape: tuple[int, ...]
    values: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        if any(extent < 0 for extent in self.shape):
            raise Malformed(f"a shape has no negative extents, received {self.shape}")
        size = math.prod(self.shape)
        if size != len(self.values):
            raise Malformed(f"shape {self.shape} holds {size} values, received {len(self.values)}")


Array = StoredArray | InlineArray


@dataclass(frozen=True, slots=True)
class LinfNorm:
    """``max |x_i|``; dual ``l1``."""

    kind: Literal["linf"]


@dataclass(frozen=True, slots=True)
class L1Norm:
    """``sum |x_i|``; dual ``linf``. Not a maximum over inputs."""

    kind: Literal["l1"]


@dataclass(frozen=True, slots=True)
class WeightedLinfNorm:
    """``max w_i |x_i|`` with positive weights; dual ``sum |x_i| / w_i``."""

    kind: Literal["weighted_linf"]
    weights: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        _positive(self.weights)


@dataclass(frozen=True, slots=True)
class WeightedL1Norm:
    """``sum w_i |x_i|``, positive weights; dual ``max |x_i| / w_i``. Not a maximum over inputs."""

    kind: Literal["weighted_l1"]
    weights: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        _positive(self.weights)


@dataclass(frozen=True, slots=True)
class BlockL2Norm:
    """``max over consecutive blocks of the l2 norm``; one block a token. Dual: sum of l2 norms."""

    kind: Literal["block_l2"]
    block: int

    def __post_init__(self) -> None:
        if self.block < 1:
            raise Malformed("a block has at least one coordinate")


@dataclass(frozen=True, slots=True)
class L2Norm:
    """The Euclidean norm of the whole state. Over several witnesses not a maximum over inputs."""

    kind: Literal["l2"]


Norm = LinfNorm | L1Norm | WeightedLinfNorm | WeightedL1Norm | BlockL2Norm | L2Norm


def _positive(weights: tuple[Fraction, ...]) -> None:
    if not weights or any(weight <= 0 for weight in weights):
        raise Malformed("the weights of a norm are positive, one a coordinate")


def maximum_over_inputs(norm: Norm) -> bool:
    """Whether the norm of a stacked state is a maximum over its inputs (design rule 6)."""
    return isinstance(norm, (LinfNorm, WeightedLinfNorm, BlockL2Norm))
