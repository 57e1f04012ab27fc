"""Piecewise-affine maps of an input as a question states them (theory T8).

A map carries a state z in R^d from an initial value through steps that read the input y in R^p:
affine steps, soft thresholds and ReLUs. Everything is an exact rational array.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from qreplace.errors import Malformed
from qreplace.question.terms import Array

Activation = Literal["soft_threshold", "relu", "identity"]

MAX_PWA_STEPS = 1024
"""Most steps of one map."""
MAX_PWA_WIDTH = 4096
MAX_INPUTS = 4096


@dataclass(frozen=True, slots=True)
class BallRegion:
    """``||y - center||_2 <= radius``; without a center, about the origin."""

    kind: Literal["ball"]
    center: Array | None
    radius: Fraction

    def __post_init__(self) -> None:
        if self.radius <= 0:
            raise Malformed("the radius of a ball is positive", pointer="/radius")


@dataclass(frozen=True, slots=True)
class BoxRegion:
    """``lower <= y <= upper``, coordinate by coordinate."""

    kind: Literal["box"]
    lower: Array
    upper: Array


@dataclass(frozen=True, slots=True)
class PolygonRegion:
    """A convex polygon by its corners, shape (n, 2), in counterclockwise order."""

    kind: Literal["polygon"]
    vertices: Array


@dataclass(frozen=True, slots=True)
class PolytopeRegion:
    """``normals y <= offsets``; shapes (m, p) and (m,)."""

    kind: Literal["polytope"]
    normals: Array
    offsets: Array


InputRegion = BallRegion | BoxRegion | PolygonRegion | PolytopeRegion


@dataclass(frozen=True, slots=True)
class PwaSystem:
    """``z' = G_j(z)(y)`` with piecewise-affine fields of state and input (theory T8.1).

    The error of a map is the largest, over the inputs asked about, of the question's norm of one
    input's output. ``region`` holds every input of a full domain.
    """

    kind: Literal["pwa"]
    inputs: int
    dimension: int
    region: InputRegion | None

    def __post_init__(self) -> None:
        if not 1 <= self.inputs <= MAX_INPUTS or not 1 <= self.dimension <= MAX_PWA_WIDTH:
            raise Malformed(
                f"a piecewise-affine system has 1 to {MAX_INPUTS} inputs and 1 to {MAX_PWA_WIDTH} "
                "coordinates"
            )


@dataclass(frozen=True, slots=True)
class PwaAtom:
    """``G(z)(y) = V phi(W y + S z + b) + A z - leak z + c`` (theory T8.1 with V = I, leak = 1).

    Shapes: W (n, p), S (n, d), b and the thresholds (n,), V (d, n), A (d, d), c (d,). A missing
    S, A, b or c is zero, a missing V the identity (n = d). Thresholds belong to ``soft_threshold``
    alone: one, or one a coordinate; none are negative.
    """

    kind: Literal["pwa"]
    activation: Activation
    input_weights: Array
    state_weights: Array | None
    bias: Array | None
    thresholds: Array | None
    output_weights: Array | None
    state_matrix: Array | None
    leak: Fraction
    offset: Array | None

    def __post_init__(self) -> None:
        if (self.thresholds is None) == (self.activation == "soft_threshold"):
            raise Malformed("thresholds belong to soft_threshold, which needs them")


@dataclass(frozen=True, slots=True)
class ScheduleTarget:
    """Euler steps of its own atoms from the question's initial state: ``h = horizon / depth``.

    ``schedule[k]`` is the atom of step k, the first step first.
    """

    kind: Literal["schedule"]
    atoms: tuple[PwaAtom, ...]
    schedule: tuple[int, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.schedule) <= MAX_PWA_STEPS:
            raise Malformed(f"a schedule has 1 to {MAX_PWA_STEPS} steps", pointer="/schedule")
        if not all(0 <= j < len(self.atoms) for j in self.schedule):
            raise Malformed("a schedule names atoms that are not there", pointer="/schedule")


@dataclass(frozen=True, slots=True)
class NetworkTarget:
    """A plain network: layer after layer ``z <- V phi(W y + S z + b) + (A + I - leak I) z + c``.

    Layers are steps of size 1. With leak 1 and no A the widths of successive layers may differ;
    the first layer's state is the initial one when it reads it, the last layer's width is d.
    """

    kind: Literal["network"]
    layers: tuple[PwaAtom, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.layers) <= MAX_PWA_STEPS:
            raise Malformed(f"a network has 1 to {MAX_PWA_STEPS} layers", pointer="/layers")


PwaMapData = ScheduleTarget | NetworkTarget
"""A given piecewise-affine map: a reference, a target or a comparator."""
