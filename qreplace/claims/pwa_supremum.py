"""``pwa_supremum``: the largest error of one piecewise-affine map over all inputs (theory T8.2)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal


@dataclass(frozen=True, slots=True)
class ScheduleMap:
    """The map of a schedule of the dictionary: its atoms, the first step first."""

    kind: Literal["schedule"]
    schedule: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ComparatorMap:
    """The comparator of an accuracy-matching objective."""

    kind: Literal["comparator"]


@dataclass(frozen=True, slots=True)
class CellCover:
    """A subdivision whose cells cover the region (theory T8.2).

    Vertices are numbered: first the ``corners``, then one for each crossing ``(a, b, kink)``: the
    point between the earlier vertices a and b at which the kink's activation meets its level,
    interpolated from the two ends. Kinks are numbered through the map, then the target. A cell
    lists its vertices: in two dimensions counterclockwise, in p others p + 1 of them.
    """

    kind: Literal["cells"]
    corners: tuple[tuple[Fraction, ...], ...]
    crossings: tuple[tuple[int, int, int], ...]
    cells: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class BoxCover:
    """A box around the region, halved again and again.

    ``splits`` in preorder: the axis along which a box is halved (lower half first), or -1 where it
    is bounded as it stands.
    """

    kind: Literal["boxes"]
    lower: tuple[Fraction, ...]
    upper: tuple[Fraction, ...]
    splits: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class WitnessCover:
    """The witnesses of the question, one by one."""

    kind: Literal["witnesses"]


Cover = CellCover | BoxCover | WitnessCover


@dataclass(frozen=True, slots=True)
class PwaSupremumClaim:
    """``lower <= sup over the inputs of ||map(y) - target(y)|| <= upper``.

    ``point`` is an input where the error is at least ``lower``; ``cover`` shows ``upper``. Either
    side may be missing, not both.
    """

    format: Literal["qreplace/claim/pwa_supremum/v1"]
    subject: str
    code: int
    map: ScheduleMap | ComparatorMap
    lower: Fraction | None
    point: tuple[Fraction, ...] | None
    upper: Fraction | None
    cover: Cover | None
