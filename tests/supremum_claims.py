"""Questions whose largest error can be found by hand, with honest ``pwa_supremum`` claims."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations
from typing import Any

from dynamic_questions import Number, matrix
from lifted_questions import L1, L2, LINF, Numbers, make_question, vector
from piecewise_questions import Rows, atom, box, pwa_question, reference

from qreplace.claims.pwa_supremum import (
    BoxCover,
    CellCover,
    ComparatorMap,
    Cover,
    PwaSupremumClaim,
    ScheduleMap,
    WitnessCover,
)
from qreplace.exact.roots import sqrt_bounds
from qreplace.question.model import (
    BallRegion,
    NetworkTarget,
    PolygonRegion,
    PolytopeRegion,
    PwaAtom,
    Question,
)
from qreplace.question.subject import Subject

TINIER = Fraction(1, 10**40)
ROUNDED = Fraction(1, 10**20)
"""More than affine arithmetic rounds by here."""
HALF = Fraction(1, 2)
EYE = [[1, 0], [0, 1]]
BALL = BallRegion("ball", None, Fraction(1))
LINE = box([-1], [1])
SQUARE = box([-1, -1], [1, 1])
CUBE_SIDES = [[sign * int(i == j) for j in range(3)] for i in range(3) for sign in (-1, 1)]
LONG = Fraction(10**3900 + 1, 10**3900 + 3)


def linear(*rows: Numbers) -> PwaAtom:
    """``z' = W y - z``: one step of size 1 ends at ``W y``."""
    return atom(rows, activation="identity")


def threshold(rows: Rows, level: Number) -> PwaAtom:
    """``z' = S_level(W y) - z``."""
    return atom(rows, thresholds=[level])


def rectified(*rows: Numbers) -> PwaAtom:
    """``z' = relu(W y) - z``."""
    return atom(rows, activation="relu")


# y/2 - S_1/2(y), coordinate by coordinate: 1/4 at 1/2, the most on [-1, 1].
HALVES, SOFT = linear([HALF, 0], [0, HALF]), threshold(EYE, HALF)
ON_LINE: dict[str, Any] = {"dimension": 1, "inputs": 1, "region": LINE, "norm": LINF}
SUM_OF_PARTS = NetworkTarget(
    "network", (rectified(*EYE), atom([[0, 0]], [[1, 1]], activation="identity"))
)

QUESTIONS: dict[str, Question] = {
    # S_1/2 by y (through a threshold of 0), by S_1/4 and by 0.
    "sup-line": pwa_question(
        [threshold([[1]], 0), threshold([[1]], "1/4"), linear([0])],
        reference([threshold([[1]], HALF)], [0]),
        **ON_LINE,
    ),
    "sup-line-other": pwa_question(
        [threshold([[1]], 0), threshold([[1]], "1/4"), linear([0])],
        reference([threshold([[1]], "1/3")], [0]),
        **ON_LINE,
    ),
    # y/2 - relu(y) = -|y|/2, for y in the ball of the line, of space and of nine dimensions.
    "sup-segment": pwa_question(
        [linear([HALF])],
        reference([rectified([1])], [0]),
        dimension=1,
        inputs=1,
        region=BALL,
        norm=LINF,
    ),
    "sup-ball": pwa_question(
        [linear([HALF, 0, 0])],
        reference([rectified([1, 0, 0])], [0]),
        dimension=1,
        inputs=3,
        region=BALL,
        norm=LINF,
    ),
    "sup-wide": pwa_question(
        [linear([HALF, *[0] * 8])],
        reference([rectified([1, *[0] * 8])], [0]),
        dimension=1,
        inputs=9,
        region=box([-1] * 9, [1] * 9),
        norm=LINF,
    ),
    "sup-cube": pwa_question(
        [linear([HALF, 0, 0])],
        reference([rectified([1, 0, 0])], [0]),
        dimension=1,
        inputs=3,
        region=PolytopeRegion("polytope", matrix(CUBE_SIDES), vector([1] * 6)),
        norm=LINF,
    ),
    "sup-disk": pwa_question([HALVES], reference([SOFT], [0]), dimension=2, norm=L2),
    # The last witness lies outside of the square.
    "sup-square": pwa_question(
        [HALVES, linear([0, 0], [0, 0])],
        reference([SOFT], [0]),
        dimension=2,
        region=SQUARE,
        norm=L1,
        witnesses=[[0, 0], [HALF, HALF], [2, 2]],
    ),
    "sup-witnesses": pwa_question(
        [HALVES],
        reference([SOFT], [0]),
        dimension=2,
        region=SQUARE,
        witnesses=[[0, 0], [HALF, 0], ["-3/4", "1/4"]],
        full=False,
    ),
    # relu(y_1) + relu(y_2) of two layers; the mean of the two, and y_1/2 as the comparator.
    "sup-triangle": pwa_question(
        [linear([HALF, HALF])],
        SUM_OF_PARTS,
        dimension=1,
        region=PolygonRegion("polygon", matrix([[-1, 0], [1, -1], [1, 1]])),
        comparator=reference([linear([HALF, 0])], [0]),
        norm=LINF,
    ),
    "sup-long": pwa_question(
        [atom([[LONG]], [[LONG]], thresholds=[0])], reference([linear([1])], [0]), **ON_LINE
    ),
    "sup-plain": make_question([0], [[0]]),
}


def subject(name: str) -> Subject:
    """The subject of a question."""
    return Subject(QUESTIONS[name], {})


def _exact(values: Numbers) -> tuple[Fraction, ...]:
    return tuple(Fraction(value) for value in values)


def supremum(
    name: str,
    schedule: Sequence[int] | None = (0,),
    *,
    lower: Number | None = None,
    point: Numbers | None = None,
    upper: Number | None = None,
    cover: Cover | None = None,
) -> PwaSupremumClaim:
    """A claim about a schedule, or about the comparator."""
    about = subject(name)
    return PwaSupremumClaim(
        format="qreplace/claim/pwa_supremum/v1",
        subject=about.problem_digest(0),
        code=0,
        map=ComparatorMap("comparator")
        if schedule is None
        else ScheduleMap("schedule", tuple(schedule)),
        lower=None if lower is None else Fraction(lower),
        point=None if point is None else _exact(point),
        upper=None if upper is None else Fraction(upper),
        cover=cover,
    )


def cells(
    corners: Rows, crossings: Sequence[tuple[int, int, int]], *parts: Sequence[int]
) -> CellCover:
    """Cells by vertex numbers: corners first, then crossings."""
    return CellCover(
        "cells",
        tuple(map(_exact, corners)),
        tuple(crossings),
        tuple(map(tuple, parts)),
    )


def boxes(lower: Numbers, upper: Numbers, *splits: int) -> BoxCover:
    """A box and its halvings."""
    return BoxCover("boxes", _exact(lower), _exact(upper), splits)


# The line, cut at -1/2 and 1/2 where the target bends; a threshold of 0 bends nothing.
LINE_CELLS = cells([[-1], [1]], [(0, 1, 2), (0, 1, 3)], (0, 2), (2, 3), (3, 1))
ON_THE_LINE = supremum("sup-line", lower=HALF, point=[HALF], upper=HALF, cover=LINE_CELLS)
# Two steps of 1/2: S_1/4(y)/4 at the end; 1/2 - 3/16 at 1.
TWO_STEPS = supremum(
    "sup-line",
    (1, 2),
    lower="5/16",
    point=[1],
    upper="5/16",
    cover=cells(
        [[-1], [1]],
        [(0, 1, 2), (2, 1, 0), (3, 1, 1), (4, 1, 3)],
        (0, 2), (2, 3), (3, 4), (4, 5), (5, 1),
    ),
)  # fmt: skip
SEGMENT_CELLS = cells([[-1], [1]], [(0, 1, 0)], (0, 2), (1, 2))
SEGMENT = supremum("sup-segment", lower=HALF, point=[-1], upper=HALF, cover=SEGMENT_CELLS)

# Nine cells of the square around the disk, row by row from below: cut at -1/2 and 1/2.
CORNERS = [[-1, -1], [1, -1], [1, 1], [-1, 1]]
GRID = [
    (0, 1, 0), (0, 1, 1), (1, 2, 2), (1, 2, 3), (2, 3, 1), (2, 3, 0), (3, 0, 3), (3, 0, 2),
    (4, 9, 2), (4, 9, 3), (5, 8, 2), (5, 8, 3),
]  # fmt: skip
NINE = [
    (0, 4, 12, 11), (4, 5, 14, 12), (5, 1, 6, 14),
    (11, 12, 13, 10), (12, 14, 15, 13), (14, 6, 7, 15),
    (10, 13, 9, 3), (13, 15, 8, 9), (15, 7, 2, 8),
]  # fmt: skip
EIGHTH = sqrt_bounds(Fraction(1, 8))
DISK = supremum(
    "sup-disk",
    lower=EIGHTH[0],
    point=[HALF, HALF],
    upper=EIGHTH[1],
    cover=cells(CORNERS, GRID, *NINE),
)
SQUARE_CLAIM = supremum(
    "sup-square", lower=HALF, point=[HALF, HALF], upper=HALF, cover=cells(CORNERS, GRID, *NINE)
)
QUADRANTS = (0, 1, -1, -1, 1, -1, -1)
DISK_BOXES = boxes([-1, -1], [1, 1], *QUADRANTS)
BOXED = supremum("sup-disk", upper=EIGHTH[1] + ROUNDED, cover=DISK_BOXES)
WITNESSES = supremum(
    "sup-witnesses",
    lower="1/4",
    point=[HALF, 0],
    upper="1/4",
    cover=WitnessCover("witnesses"),
)
# The corner (-1, 0) lies on a kink; the comparator misses by 3/2 at (1, 1).
TRIANGLE_CELLS = cells(
    [[-1, 0], [1, -1], [1, 1]],
    [(0, 1, 0), (2, 0, 0), (1, 2, 1), (3, 4, 1)],
    (0, 3, 6), (0, 6, 4), (3, 1, 5, 6), (6, 5, 2, 4),
)  # fmt: skip
COMPARED = supremum(
    "sup-triangle", None, lower="3/2", point=[1, 1], upper="3/2", cover=TRIANGLE_CELLS
)


def cube_cells() -> CellCover:
    """Two halves of the cube, cut where y_1 = 0, each into six simplices along its diagonal."""
    corners = [[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    crossings = [(i, i + 4, 0) for i in range(4)]
    parts = []
    for low, high in ((0, 8), (8, 4)):
        for order in permutations(range(3)):
            vertices, at = [low], [0, 0, 0]
            for axis in order:
                at[axis] = 1
                vertices.append((high if at[0] else low) + 2 * at[1] + at[2])
            parts.append(vertices)
    return cells(corners, crossings, *parts)


CUBE = supremum("sup-cube", lower=HALF, point=[-1, 0, 0], upper=HALF, cover=cube_cells())
