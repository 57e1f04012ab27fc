"""Piecewise-affine maps in floating point, for figures only: many inputs at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qreplace.question.maps import Layer, PwaMap
from qreplace.question.model import (
    L1Norm,
    LinfNorm,
    Norm,
    WeightedL1Norm,
    WeightedLinfNorm,
)
from qreplace.question.norms import block_size

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Table = NDArray[np.float64]


def outputs(pwa: PwaMap, inputs: Table) -> Table:
    """The outputs, one a row, at the rows of ``inputs``."""
    import numpy as np

    state = np.tile(np.array(pwa.initial, dtype=float) / pwa.initial_unit, (len(inputs), 1))
    for layer in pwa.layers:
        state = _through(layer, inputs, state)
    return state


def _through(layer: Layer, inputs: Table, state: Table) -> Table:
    import numpy as np

    def scaled(entries: Any, unit: int) -> Table:
        # Integers may be too long for a float; their quotients by the unit are not.
        return np.array([[x / unit for x in row] for row in entries], dtype=float)

    u = inputs @ scaled(layer.input_weights, layer.inner).T
    if layer.state_weights[0]:
        u = u + state @ scaled(layer.state_weights, layer.inner).T
    u = u + scaled([layer.bias], layer.inner)
    if layer.activation == "soft_threshold":
        level = scaled([layer.thresholds], layer.inner)
        u = np.sign(u) * np.maximum(np.abs(u) - level, 0)
    elif layer.activation == "relu":
        u = np.maximum(u, 0)
    after = u @ scaled(layer.output, layer.outer).T + scaled([layer.offset], layer.outer)
    if layer.carry[0]:
        after = after + state @ scaled(layer.carry, layer.outer).T
    return after


def lengths(norm: Norm, differences: Table) -> Table:
    """The norm of every row."""
    import numpy as np

    size = np.abs(differences)
    if isinstance(norm, (WeightedLinfNorm, WeightedL1Norm)):
        size = size * np.array([float(w) for w in norm.weights])
    found: Table
    if isinstance(norm, (LinfNorm, WeightedLinfNorm)):
        found = np.max(size, axis=1)
    elif isinstance(norm, (L1Norm, WeightedL1Norm)):
        found = np.sum(size, axis=1)
    else:
        block = block_size(norm, size.shape[1])
        parts = size.reshape(len(size), -1, block)
        found = np.max(np.sqrt(np.sum(parts**2, axis=2)), axis=1)
    return found
