"""Piecewise-affine maps in floats, at many inputs at once: to order a search, never to decide."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from qreplace.produce.nearest_point import float_norms
from qreplace.question.maps import Layer, PwaMap
from qreplace.question.model import Norm
from qreplace.question.piecewise import Activation

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class FloatLayer:
    """``z -> V phi(W y + S z + b) + C z + c`` in floats; matrices transposed, points are rows."""

    activation: Activation
    weights: Floats
    state: Floats
    bias: Floats
    thresholds: Floats
    output: Floats
    carry: Floats
    offset: Floats

    def activate(self, u: Floats) -> Floats:
        """``phi`` of pre-activations (.., n)."""
        if self.activation == "soft_threshold":
            return np.asarray(u - np.clip(u, -self.thresholds, self.thresholds))
        return np.maximum(u, 0.0) if self.activation == "relu" else u


class FloatMap:
    """One map in floats."""

    def __init__(self, one: PwaMap) -> None:
        made = {id(layer): layer for layer in one.layers}
        converted = {key: _float_layer(layer, one.inputs) for key, layer in made.items()}
        self.layers = tuple(converted[id(layer)] for layer in one.layers)
        self.initial = _vector(one.initial, one.initial_unit)

    def __call__(self, points: Floats) -> Floats:
        """Outputs (n, d) at points (n, p)."""
        z = np.asarray(np.broadcast_to(self.initial, (len(points), len(self.initial))))
        for layer in self.layers:
            phi = layer.activate(points @ layer.weights + z @ layer.state + layer.bias)
            z = phi @ layer.output + z @ layer.carry + layer.offset
        return z


class FloatPair:
    """The difference of two maps in one norm, in floats."""

    def __init__(self, one: PwaMap, other: PwaMap, norm: Norm) -> None:
        self.one, self.other, self.norm = FloatMap(one), FloatMap(other), norm

    def errors(self, points: Floats) -> Floats:
        """The norm of the difference (n,) at points (n, p); -infinity where floats overflow."""
        with np.errstate(all="ignore"):
            found = float_norms(self.norm, self.one(points) - self.other(points))
        return np.where(np.isfinite(found), found, -np.inf)


def _float_layer(layer: Layer, inputs: int) -> FloatLayer:
    n, before, after = len(layer.bias), len(layer.carry[0]), len(layer.offset)
    levels = layer.thresholds or (0,) * n
    return FloatLayer(
        layer.activation,
        _matrix(layer.input_weights, layer.inner, (n, inputs)),
        _matrix(layer.state_weights, layer.inner, (n, before)),
        _vector(layer.bias, layer.inner),
        _vector(levels, layer.inner),
        _matrix(layer.output, layer.outer, (after, n)),
        _matrix(layer.carry, layer.outer, (after, before)),
        _vector(layer.offset, layer.outer),
    )


def _matrix(rows: Sequence[Sequence[int]], unit: int, shape: tuple[int, int]) -> Floats:
    entries = [_float(entry, unit) for row in rows for entry in row]
    return np.array(entries, dtype=np.float64).reshape(shape).T.copy()


def _vector(values: Sequence[int], unit: int) -> Floats:
    return np.array([_float(value, unit) for value in values], dtype=np.float64)


def _float(value: int, unit: int) -> float:
    """The quotient; infinite beyond the range of floats, which a search then avoids."""
    try:
        return value / unit
    except OverflowError:
        return math.inf if value > 0 else -math.inf
