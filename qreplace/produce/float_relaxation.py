"""Affine arithmetic of ``question.relaxation`` in floats, on many boxes at once (theory T8.2).

It orders a search over boxes: which axis to halve, where a large error may lie. It decides nothing;
the bound on a box that counts is ``clipped_boxes.region_bound``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from qreplace.produce.float_maps import FloatLayer, FloatMap, Floats
from qreplace.produce.nearest_point import float_norms
from qreplace.question.maps import PwaMap
from qreplace.question.model import Norm
from qreplace.question.relaxation import MAX_CORNER_INPUTS

MAX_NOISE = 512
"""Most noise columns of one map; what comes after is slack."""
ROUNDING = 1e-13
"""Radii of activations below this, relative to their range, are rounding."""


@dataclass(frozen=True)
class Forms:
    """Affine forms on n boxes: ``base`` (n, 1 + p, d), ``noise`` (n, K, d), ``slack`` (n, d).

    ``base[:, 0]`` is the value at the centre, ``base[:, 1 + i]`` what half the width of input i
    adds.
    """

    base: Floats
    noise: Floats
    slack: Floats

    @property
    def spread(self) -> Floats:
        """How far each coordinate can lie from its affine part, (n, d)."""
        return np.asarray(np.abs(self.noise).sum(axis=1) + self.slack)


@dataclass(frozen=True)
class FloatRelaxed:
    """The difference of two maps on n boxes: within ``spread`` (n, d) of ``base`` (n, 1 + p, d)."""

    base: Floats
    spread: Floats

    def bounds(self, norm: Norm) -> Floats:
        """About ``relaxation.box_bound``, (n,); infinity where floats overflow."""
        middle, axes = self.base[:, 0], self.base[:, 1:]
        p = axes.shape[1]
        with np.errstate(all="ignore"):
            if p > MAX_CORNER_INPUTS:
                reach = np.abs(middle) + np.abs(axes).sum(axis=1) + self.spread
                found = float_norms(norm, reach)
            else:
                values = middle[:, None] + np.matmul(_signs(p), axes)
                found = float_norms(norm, np.abs(values) + self.spread[:, None]).max(axis=1)
        return np.where(np.isfinite(found), found, np.inf)

    def steepest(self) -> Floats:
        """For every box the corner, as signs (n, p), towards which the difference at the centre
        grows."""
        rates = np.einsum("nd,npd->np", self.base[:, 0], self.base[:, 1:])
        return np.where(rates < 0, -1.0, 1.0)


class FloatRelaxation:
    """The difference of two maps in affine arithmetic."""

    def __init__(self, one: PwaMap, other: PwaMap) -> None:
        self.one, self.other = FloatMap(one), FloatMap(other)

    def relax(self, lower: Floats, upper: Floats) -> FloatRelaxed:
        """On boxes ``lower <= y <= upper``, both (n, p)."""
        count, p = lower.shape
        inputs = np.zeros((count, 1 + p, p))
        inputs[:, 0] = (lower + upper) / 2
        inputs[:, 1 + np.arange(p), np.arange(p)] = (upper - lower) / 2
        with np.errstate(all="ignore"):
            left, right = _push(self.one, inputs), _push(self.other, inputs)
            return FloatRelaxed(left.base - right.base, left.spread + right.spread)


def _push(pwa: FloatMap, inputs: Floats) -> Forms:
    count, columns, _ = inputs.shape
    width = len(pwa.initial)
    base = np.zeros((count, columns, width))
    base[:, 0] = pwa.initial
    state = Forms(base, np.zeros((count, 0, width)), np.zeros((count, width)))
    for layer in pwa.layers:
        state = _through(layer, inputs, state)
    return state


def _through(layer: FloatLayer, inputs: Floats, state: Forms) -> Forms:
    """One layer: pre-activations, their strips, the next state."""
    base = inputs @ layer.weights + state.base @ layer.state
    base[:, 0] += layer.bias
    noise = state.noise @ layer.state
    slack = state.slack @ np.abs(layer.state)
    reach = np.abs(base[:, 1:]).sum(axis=1) + np.abs(noise).sum(axis=1) + slack
    slope, centre, radius = _strips(layer, base[:, 0] - reach, base[:, 0] + reach)
    base = base * slope[:, None]
    base[:, 0] += centre
    slack = slack * slope
    fresh = np.flatnonzero(radius.max(axis=0) > 0)
    if noise.shape[1] + len(fresh) > MAX_NOISE:
        slack = slack + radius
        fresh = fresh[:0]
    base = base @ layer.output + state.base @ layer.carry
    base[:, 0] += layer.offset
    old = (noise * slope[:, None]) @ layer.output + state.noise @ layer.carry
    new = radius[:, fresh, None] * layer.output[None, fresh]
    slack = slack @ np.abs(layer.output) + state.slack @ np.abs(layer.carry)
    return Forms(base, np.concatenate([old, new], axis=1), slack)


def _strips(layer: FloatLayer, low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
    """Slope, centre and radius of every activation on ``[low, high]``, as ``relaxation._line``."""
    if layer.activation == "identity":
        return np.ones_like(low), np.zeros_like(low), np.zeros_like(low)
    levels = [0.0] if layer.activation == "relu" else [-layer.thresholds, layer.thresholds]
    nodes = np.stack([low, *(np.clip(level, low, high) for level in levels), high])
    graph = layer.activate(nodes)
    slope, centre, radius = np.zeros_like(low), np.zeros_like(low), np.full_like(low, np.inf)
    for i, j in combinations(range(len(nodes)), 2):
        run = nodes[j] - nodes[i]
        tried = np.where(run > 0, (graph[j] - graph[i]) / np.where(run > 0, run, 1.0), 0.0)
        gaps = graph - tried * nodes
        least, most = gaps.min(axis=0), gaps.max(axis=0)
        better = (most - least) / 2 < radius
        slope = np.where(better, tried, slope)
        centre = np.where(better, (least + most) / 2, centre)
        radius = np.where(better, (most - least) / 2, radius)
    return slope, centre, np.where(radius > ROUNDING * (np.abs(low) + np.abs(high)), radius, 0.0)


def _signs(count: int) -> Floats:
    """Every row of signs, (2**count, count)."""
    rows = np.arange(1 << count)[:, None] >> np.arange(count)
    return np.asarray(2.0 * (rows & 1) - 1.0)
