"""``pwa_supremum``: maps whose largest error can be found by hand, and attacks on the proofs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from supremum_claims import (
    BOXED,
    COMPARED,
    CORNERS,
    CUBE,
    DISK,
    DISK_BOXES,
    EIGHTH,
    GRID,
    HALF,
    LINE_CELLS,
    NINE,
    ON_THE_LINE,
    QUADRANTS,
    QUESTIONS,
    ROUNDED,
    SEGMENT,
    SQUARE_CLAIM,
    TINIER,
    TRIANGLE_CELLS,
    TWO_STEPS,
    WITNESSES,
    boxes,
    cells,
    cube_cells,
    subject,
    supremum,
)

from qreplace.claims import Claim
from qreplace.claims.pwa_supremum import (
    CellCover,
    ComparatorMap,
    PwaSupremumClaim,
    ScheduleMap,
    WitnessCover,
)

__all__ = ["ACCEPTED", "MALFORMED_FROM", "QUESTIONS", "REJECTED", "changed"]


Cell = tuple[int, ...]


def changed(claim: PwaSupremumClaim, **fields: Any) -> PwaSupremumClaim:
    """The claim with other fields, its own or its cells'."""
    own = {field.name for field in dataclasses.fields(claim)}
    outer = {key: value for key, value in fields.items() if key in own}
    inner = {key: value for key, value in fields.items() if key not in own}
    if inner:
        assert isinstance(claim.cover, CellCover)
        outer["cover"] = dataclasses.replace(claim.cover, **inner)
    return dataclasses.replace(claim, **outer)


def _accepted() -> Iterator[tuple[str, Claim]]:
    yield "sup-line--cells", ON_THE_LINE
    yield "sup-line--two-steps", TWO_STEPS
    yield "sup-line--upper", supremum("sup-line", upper="3/5", cover=LINE_CELLS)
    yield "sup-line--lower", supremum("sup-line", lower="1/3", point=["-9/10"])
    # A kink at 0 that bends nothing may cut all the same, twice.
    more = cells([[-1], [1]], [(0, 1, 2), (0, 1, 3), (2, 3, 0)], (0, 2), (4, 2), (3, 4), (3, 1))
    yield "sup-line--cut-at-nothing", changed(ON_THE_LINE, cover=more)
    # Beyond the region nothing needs to be covered, and what is bounded may be more.
    yield "sup-segment--cells", SEGMENT
    wider = cells([["-5/4"], ["5/4"]], [(0, 1, 0)], (0, 2), (1, 2))
    yield "sup-segment--wider", supremum("sup-segment", upper="5/8", cover=wider)
    yield "sup-disk--cells", DISK
    yield "sup-disk--one-cell", supremum("sup-disk", upper=HALF, cover=cells(CORNERS, [], range(4)))
    # The first cell's lower edge has no vertex in the middle: a cell without area stitches it.
    stitched = cells(
        [[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, 0], [1, 0], [0, 0]],
        [],
        (0, 1, 5, 4), (4, 5, 6), (4, 6, 2, 3), (6, 5, 2),
    )  # fmt: skip
    yield "sup-disk--stitched", supremum("sup-disk", upper="3/5", cover=stitched)
    twice = cells(CORNERS, GRID, *NINE, *NINE)
    yield "sup-disk--covered-twice", changed(DISK, cover=twice)
    yield "sup-disk--boxes", BOXED
    # Half of the first box lies beside the disk, and touches it.
    beside = boxes([-1, -1], [3, 1], 0, 0, 1, -1, -1, 1, -1, -1, -1)
    yield "sup-disk--boxes-beside", supremum("sup-disk", upper="36/100", cover=beside)
    yield "sup-square--cells", SQUARE_CLAIM
    zero = supremum("sup-square", (1,), lower=1, point=[1, 1], upper=1, cover=DISK.cover)
    yield "sup-square--zero-matrices", zero
    everywhere = supremum("sup-square", upper=1, cover=WitnessCover("witnesses"))
    yield "sup-square--witnesses", everywhere
    yield "sup-witnesses--witnesses", WITNESSES
    yield "sup-triangle--comparator", COMPARED
    yield (
        "sup-triangle--schedule",
        supremum("sup-triangle", lower=1, point=[1, -1], upper=1, cover=TRIANGLE_CELLS),
    )
    yield "sup-cube--cells", CUBE
    ball = boxes([-1] * 3, [1] * 3, 0, -1, -1)
    upper = HALF + ROUNDED
    yield "sup-ball--boxes", supremum("sup-ball", upper=upper, cover=ball)
    wide = boxes([-1] * 9, [1] * 9, 0, -1, -1)
    yield "sup-wide--boxes", supremum("sup-wide", upper=upper, cover=wide)


ACCEPTED: list[tuple[str, str, Claim]] = [
    ("pwa_supremum", name, claim) for name, claim in _accepted()
]

MALFORMED_FROM: tuple[str, str] | None = ("sup-witnesses--witnesses", "upper")

Rejection = tuple[str, str, Claim, str, str]


def _case(name: str, claim: Claim, pointer: str, words: str) -> Rejection:
    return "pwa_supremum", name, claim, pointer, words


def _about() -> Iterator[Rejection]:
    other = "the claim is about another question"
    yield _case("sup-line-other--other-question", ON_THE_LINE, "/subject", other)
    yield _case("sup-square--other-norm", DISK, "/subject", other)
    code = "the question has no dictionary at this code"
    yield _case("sup-line--code-negative", changed(ON_THE_LINE, code=-1), "/code", code)
    plain = changed(ON_THE_LINE, subject=subject("sup-plain").problem_digest(0))
    words = "the claim is about piecewise-affine maps, the question is not"
    yield _case("sup-plain--no-maps", plain, "", words)


def _maps() -> Iterator[Rejection]:
    place, words = "/map/schedule", "a schedule has 1 to 1024 steps"
    for case, steps in (("schedule-empty", []), ("schedule-long", [0] * 1025)):
        claim = changed(ON_THE_LINE, map=ScheduleMap("schedule", tuple(steps)))
        yield _case(f"sup-line--{case}", claim, place, words)
    words = "a step names no atom of the dictionary"
    for case, steps in (("atom-unknown", [0, 3]), ("atom-negative", [-1])):
        claim = changed(ON_THE_LINE, map=ScheduleMap("schedule", tuple(steps)))
        yield _case(f"sup-line--{case}", claim, place, words)
    none = changed(ON_THE_LINE, map=ComparatorMap("comparator"))
    words = "the question has no comparator given as a map"
    yield _case("sup-line--no-comparator", none, "/map", words)
    # Its error is 1/4 at 1/2; the error of this one is more than that of the other in two steps.
    moved = changed(ON_THE_LINE, map=ScheduleMap("schedule", (1,)))
    words = "the error at the point is below the lower end"
    yield _case("sup-line--other-schedule", moved, "/lower", words)
    moved = supremum("sup-line", upper="5/16", cover=LINE_CELLS)
    words = "the error at a vertex of a cell exceeds the upper end"
    yield _case("sup-line--upper-of-another", moved, "/cover/cells/0", words)


def _ends() -> Iterator[Rejection]:
    words = "a lower end needs the point that shows it, and a point its lower end"
    for case, fields in (("no-point", {"point": None}), ("no-lower", {"lower": None})):
        yield _case(f"sup-line--{case}", changed(ON_THE_LINE, **fields), "/point", words)
    words = "an upper end needs the cover that shows it, and a cover its upper end"
    for case, fields in (("no-cover", {"cover": None}), ("no-upper", {"upper": None})):
        yield _case(f"sup-line--{case}", changed(ON_THE_LINE, **fields), "/cover", words)
    yield _case("sup-line--no-end", supremum("sup-line"), "", "the claim has no end")


def _points() -> Iterator[Rejection]:
    words = "a point has one coordinate an input"
    flat = changed(ON_THE_LINE, point=(HALF, HALF))
    yield _case("sup-line--point-of-a-plane", flat, "/point", words)
    words = "a point lies outside the region of the inputs"
    beyond = changed(ON_THE_LINE, point=(1 + TINIER,))
    yield _case("sup-line--point-beyond", beyond, "/point", words)
    outside = changed(SQUARE_CLAIM, lower=Fraction(1), point=(Fraction(2), Fraction(2)))
    yield _case("sup-square--witness-outside", outside, "/point", words)
    corner = changed(DISK, point=(1 - TINIER, TINIER * 10**21))
    yield _case("sup-disk--point-outside", corner, "/point", words)
    words = "a point is not one of the witnesses"
    other = changed(WITNESSES, point=(HALF, HALF), lower=EIGHTH[0])
    yield _case("sup-witnesses--no-witness", other, "/point", words)
    words = "the error at the point is below the lower end"
    for name, claim in (
        ("sup-line", ON_THE_LINE),
        ("sup-witnesses", WITNESSES),
        ("sup-disk", DISK),
    ):
        assert claim.lower is not None
        # One unit in the last place of the root, where it is one.
        raised = changed(claim, lower=EIGHTH[1] if claim is DISK else claim.lower + TINIER)
        yield _case(f"{name}--lower-raised", raised, "/lower", words)
    words = "the claim asks for more arithmetic than is done"
    long = supremum("sup-long", [0] * 1024, lower=0, point=[1])
    yield _case("sup-long--long-numbers", long, "", words)
    cover = cells([[-1], [1]], [], (0, 1))
    long = supremum("sup-long", [0] * 1024, upper=10, cover=cover)
    yield _case("sup-long--long-numbers-in-cells", long, "", words)


def _witnesses() -> Iterator[Rejection]:
    words = "the question has no witnesses"
    none = changed(DISK, cover=WitnessCover("witnesses"))
    yield _case("sup-disk--no-witnesses", none, "/cover", words)
    words = "the error at a witness exceeds the upper end"
    below = changed(WITNESSES, upper=Fraction(1, 4) - TINIER)
    yield _case("sup-witnesses--upper-lowered", below, "/upper", words)
    inside = changed(SQUARE_CLAIM, cover=WitnessCover("witnesses"))
    yield _case("sup-square--witness-beyond", inside, "/upper", words)
    negative = changed(WITNESSES, upper=-TINIER)
    yield _case("sup-witnesses--upper-negative", negative, "/upper", words)
    words = "cells and boxes are about a full domain, the question about its witnesses"
    for case, cover in (("cells", DISK.cover), ("boxes", DISK_BOXES)):
        claim = changed(WITNESSES, upper=Fraction(1), cover=cover)
        yield _case(f"sup-witnesses--{case}", claim, "/cover", words)


def _vertices() -> Iterator[Rejection]:
    words = "cells are checked for at most 8 inputs; boxes serve any number"
    corners = [[0] * i + [1] + [0] * (8 - i) for i in range(9)]
    wide = supremum("sup-wide", upper=1, cover=cells([*corners, [0] * 9], [], range(10)))
    yield _case("sup-wide--cells", wide, "/cover", words)
    words = "a corner has one coordinate an input"
    flat = changed(ON_THE_LINE, corners=((Fraction(-1), Fraction(0)), (Fraction(1),)))
    yield _case("sup-line--corner-of-a-plane", flat, "/cover/corners/0", words)
    words = "the coordinates of a vertex are too long"
    thirds = [Fraction(1, 10**3999 + i) for i in (1, 3, 7)]
    long = cells([[-1, -1, -1], thirds], [], (0, 1))
    claim = changed(CUBE, cover=long)
    yield _case("sup-cube--long-corner", claim, "/cover/corners/1", words)
    words = "a crossing names no kink of the maps"
    for case, kink in (("kink-unknown", 4), ("kink-negative", -1)):
        claim = changed(ON_THE_LINE, crossings=((0, 1, 2), (0, 1, kink)))
        yield _case(f"sup-line--{case}", claim, "/cover/crossings/1", words)
    words = "a crossing lies between two earlier vertices"
    for case, ends in (("itself", (0, 3)), ("later", (4, 1)), ("negative", (0, -1))):
        claim = changed(ON_THE_LINE, crossings=((0, 1, 2), (*ends, 3)))
        yield _case(f"sup-line--crossing-{case}", claim, "/cover/crossings/1", words)
    words = "a crossing needs opposite signs of its kink at the two ends"
    for case, cut in (
        ("same-side", (1, 2, 2)),
        ("at-an-end", (2, 1, 2)),
        ("one-end", (0, 0, 2)),
    ):
        claim = changed(ON_THE_LINE, crossings=((0, 1, 2), cut))
        yield _case(f"sup-line--crossing-{case}", claim, "/cover/crossings/1", words)


def _shapes() -> Iterator[Rejection]:
    words = "a cell has p + 1 vertices, in two dimensions at least three"
    sizes: list[tuple[str, PwaSupremumClaim, Cell]] = [
        ("sup-line", ON_THE_LINE, (0, 2, 3)),
        ("sup-disk", DISK, (0, 4)),
        ("sup-cube", CUBE, (0, 8, 10)),
        ("sup-square", SQUARE_CLAIM, ()),
    ]
    for name, honest, cell in sizes:
        assert isinstance(honest.cover, CellCover)
        claim = changed(honest, cells=(cell, *honest.cover.cells[1:]))
        yield _case(f"{name}--cell-size", claim, "/cover/cells/0", words)
    words = "a cell names a vertex that is not there"
    for case, vertex in (("beyond", 16), ("negative", -1)):
        claim = changed(DISK, cells=((0, 4, 12, vertex), *NINE[1:]))
        yield _case(f"sup-disk--vertex-{case}", claim, "/cover/cells/0", words)
    words = "a cell names a vertex twice"
    claim = changed(DISK, cells=((0, 4, 12, 11, 4), *NINE[1:]))
    yield _case("sup-disk--vertex-twice", claim, "/cover/cells/0", words)
    words = "the vertices of a cell do not turn counterclockwise about its first"
    for case, cell in (("flipped", (11, 12, 4, 0)), ("shuffled", (0, 12, 4, 11))):
        claim = changed(DISK, cells=(cell, *NINE[1:]))
        yield _case(f"sup-disk--{case}", claim, "/cover/cells/0", words)


def _covers() -> Iterator[Rejection]:
    words = "a border of the cells crosses the region"

    def on_disk(case: str, parts: Sequence[Sequence[int]], cell: int) -> Rejection:
        claim = changed(DISK, cells=tuple(map(tuple, parts)))
        return _case(f"sup-disk--{case}", claim, f"/cover/cells/{cell}", words)

    yield on_disk("cell-missing", NINE[1:], 0)
    yield on_disk("hole-inside", NINE[:4] + NINE[5:], 1)
    yield on_disk("cell-doubled-for-another", [NINE[3], *NINE[1:]], 3)
    yield on_disk("cell-doubled-inside", [*NINE, NINE[4]], 9)
    # Moved to the left by its own width: the areas still add up.
    yield on_disk("gap-and-overlap", [*NINE[:4], NINE[3], *NINE[5:]], 4)
    inner = cells([[-1, -1], [1, -1], [1, "999/1000"], [-1, 1]], GRID, *NINE)
    yield _case("sup-disk--corner-inside", changed(DISK, cover=inner), "/cover/cells/6", words)
    short = cells([[-1], [1 - TINIER]], LINE_CELLS.crossings, *LINE_CELLS.cells)
    yield _case("sup-line--short", changed(ON_THE_LINE, cover=short), "/cover/cells/2", words)
    gap = cells([[-1], [1]], LINE_CELLS.crossings, (0, 2), (3, 1))
    yield _case("sup-line--gap", changed(ON_THE_LINE, cover=gap), "/cover/cells/0", words)
    # An edge with a vertex in its middle on one side only.
    halves = cells([*CORNERS, [-1, 0], [1, 0], [0, 0]], [], (0, 1, 5, 4), (4, 6, 2, 3), (6, 5, 2))
    loose = supremum("sup-disk", upper="3/5", cover=halves)
    yield _case("sup-disk--unstitched", loose, "/cover/cells/0", words)
    parts = cube_cells().cells
    for case, chosen, cell in (
        ("simplex-missing", parts[1:], 0),
        ("simplex-doubled", (parts[1], *parts[1:]), 11),
    ):
        yield _case(f"sup-cube--{case}", changed(CUBE, cells=chosen), f"/cover/cells/{cell}", words)
    # No facet is shown to miss a ball in three dimensions.
    ball = changed(CUBE, subject=subject("sup-ball").problem_digest(0))
    yield _case("sup-ball--cells", ball, "/cover/cells/0", words)
    words = "no cell holds the middle of the region"
    empty = cells([[-1], [1]], [])
    yield _case("sup-line--no-cells", changed(ON_THE_LINE, cover=empty), "/cover/cells", words)
    away = cells([[1, 1], [2, 1], [2, 2], [1, 2]], [], range(4))
    beside = supremum("sup-disk", upper=1, cover=away)
    yield _case("sup-disk--cells-elsewhere", beside, "/cover/cells", words)
    flat = cells([[1, -1], [1, 0], [1, 1]], [], range(3))
    yield _case("sup-disk--cells-without-area", changed(DISK, cover=flat), "/cover/cells", words)
    flat = cells([[-1, 1, 1], [0, 1, 1], [1, 1, 1], [0, 0, 1]], [], range(4))
    yield _case("sup-cube--without-volume", changed(CUBE, cover=flat), "/cover/cells", words)


def _bounds() -> Iterator[Rejection]:
    words = "the error at a vertex of a cell exceeds the upper end"
    lowered = changed(ON_THE_LINE, upper=HALF - TINIER)
    yield _case("sup-line--upper-lowered", lowered, "/cover/cells/0", words)
    lowered = changed(DISK, upper=EIGHTH[0])
    yield _case("sup-disk--upper-lowered", lowered, "/cover/cells/0", words)
    assert COMPARED.upper is not None
    lowered = changed(COMPARED, upper=COMPARED.upper - TINIER)
    yield _case("sup-triangle--upper-lowered", lowered, "/cover/cells/3", words)
    words = "the bound on a cell with kinks inside exceeds the upper end"
    uncut = cells([[-1], [1], ["-1/2"]], [], (0, 2), (2, 1))
    across = changed(ON_THE_LINE, cover=uncut)
    yield _case("sup-line--cell-across-a-kink", across, "/cover/cells/1", words)
    uncut = cells(CORNERS, [], range(4))
    across = supremum("sup-disk", upper=EIGHTH[1], cover=uncut)
    yield _case("sup-disk--cell-across-kinks", across, "/cover/cells/0", words)


def _boxes() -> Iterator[Rejection]:
    def on_disk(case: str, pointer: str, words: str, **fields: Any) -> Rejection:
        claim = changed(BOXED, cover=dataclasses.replace(DISK_BOXES, **fields))
        return _case(f"sup-disk--boxes-{case}", claim, pointer, words)

    words = "the first box has one lower and one upper end an input"
    yield on_disk("flat", "/cover", words, lower=(Fraction(-1),))
    yield on_disk("thick", "/cover", words, upper=(Fraction(1),) * 3)
    words = "the first box does not hold the region"
    yield on_disk("smaller", "/cover", words, lower=(Fraction(-1), -1 + TINIER))
    yield on_disk("narrower", "/cover", words, upper=(1 - TINIER, Fraction(1)))
    yield on_disk("reversed", "/cover", words, lower=(Fraction(1),) * 2, upper=(Fraction(-1),) * 2)
    words = "the halvings end before every box is bounded"
    yield on_disk("truncated", "/cover/splits", words, splits=QUADRANTS[:-1])
    yield on_disk("none", "/cover/splits", words, splits=())
    words = "the halvings go on after the last box"
    yield on_disk("too-many", "/cover/splits/7", words, splits=(*QUADRANTS, -1))
    words = "a box is halved along an input"
    for case, axis in (("axis-unknown", 2), ("axis-negative", -2)):
        yield on_disk(case, "/cover/splits/1", words, splits=(0, axis, *QUADRANTS[2:]))
    words = "a box is halved too often"
    yield on_disk("deep", "/cover/splits/256", words, splits=(0,) * 257 + (-1,) * 258)
    words = "the bound on a box exceeds the upper end"
    yield on_disk("coarse", "/cover/splits/1", words, splits=(0, -1, *QUADRANTS[4:]))
    lowered = changed(BOXED, upper=EIGHTH[0])
    yield _case("sup-disk--boxes-upper-lowered", lowered, "/cover/splits/2", words)


REJECTED: list[Rejection] = [
    *_about(),
    *_maps(),
    *_ends(),
    *_points(),
    *_witnesses(),
    *_vertices(),
    *_shapes(),
    *_covers(),
    *_bounds(),
    *_boxes(),
]
