"""Attacks on claims about piecewise-affine maps: false bounds, and claims that cost too much."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from corpora import hjb_sos as value_functions
from corpora import net_floor as nets
from declared_questions import depths, tolerance
from dynamic_questions import Number, listed, matrix
from lifted_questions import L1, LINF, make_question, vector
from piecewise_questions import atom, box, pwa_question, reference
from supremum_claims import (
    COMPARED,
    CORNERS,
    CUBE,
    DISK,
    EIGHTH,
    HALF,
    NINE,
    ON_THE_LINE,
    SQUARE_CLAIM,
    TINIER,
    boxes,
    cells,
    linear,
    subject,
    supremum,
)

from qreplace.check import (
    count_minimum,
    hjb_sos,
    net_floor,
    pwa_supremum,
    schedule_minimum,
)
from qreplace.check.cell_cover import Vertices, compared
from qreplace.check.piecewise_work import KEPT, MAX_WORK, MapCost, Work
from qreplace.claims.count_minimum import CountMinimumClaim, Split
from qreplace.claims.net_floor import NetFloorClaim
from qreplace.claims.pwa_supremum import (
    BoxCover,
    CellCover,
    ComparatorMap,
    PwaSupremumClaim,
    ScheduleMap,
    WitnessCover,
)
from qreplace.claims.schedule_minimum import BRANCH, ScheduleMinimumClaim
from qreplace.decision.search import Search
from qreplace.decision.verdict import decide
from qreplace.errors import InputError, QReplaceError, Rejected
from qreplace.question.controlled import step_cost
from qreplace.question.invariant_balls import MAX_PRODUCTS
from qreplace.question.maps import Point, difference, difference_unit, homogeneous
from qreplace.question.model import PolytopeRegion, Question
from qreplace.question.subject import Subject

ONE = Fraction(1)
MUCH = "the claim asks for more arithmetic than is done"
BORDER = "a border of the cells crosses the region"


def refused(about: Subject, claim: PwaSupremumClaim, words: str) -> None:
    """The claim is rejected for this reason."""
    with pytest.raises(Rejected, match=words):
        pwa_supremum.check(about, claim)


# --- one problem under two names -----------------------------------------------------------------


def opposite_flows() -> Question:
    """``z' = y`` and ``z' = -y`` at the inputs 1 and -1, with the target 1 at both.

    Endpoints are (c, -c): the largest error over the inputs is at least 1, attained by c = 0; the
    sum of both errors, which the question does not ask for, is at least 2.
    """
    flows = [atom([[sign]], activation="identity", leak=0) for sign in (1, -1)]
    constant = atom([[0]], activation="identity", leak=0, offset=[1])
    return pwa_question(
        flows,
        reference([constant], [0]),
        dimension=1,
        inputs=1,
        region=None,
        witnesses=[[1], [-1]],
        full=False,
        norm=L1,
    )


def test_maps_at_the_witnesses_are_no_affine_dynamics_in_the_norm_of_one_input() -> None:
    """A claim about (c, -c) in l1 must not pass once another checker has formed those dynamics."""
    about = Subject(opposite_flows(), {})
    honest: Any = next(c for _, name, c in value_functions.ACCEPTED if name.startswith("hjb-l1"))
    assert honest.lower > ONE
    claim = dataclasses.replace(honest, subject=about.problem_digest(0))
    about.affine_floor(0)
    with pytest.raises(QReplaceError):
        hjb_sos.check(about, claim)
    with pytest.raises(InputError):
        about.polynomial(0)


# --- covers that leave something out -------------------------------------------------------------


def test_a_ring_wound_twice_around_a_hole_is_refused() -> None:
    """Edges inside the ring cancel; those of the hole do not, and the hole is nowhere held."""
    outer, inner = CORNERS, [[x * HALF, y * HALF] for x, y in CORNERS]
    ring = [(i, (i + 1) % 4, 4 + (i + 1) % 4, 4 + i) for i in range(4)]
    for parts in (ring, [*ring, *ring]):
        refused(
            subject("sup-disk"),
            supremum("sup-disk", upper=ONE, cover=cells([*outer, *inner], [], *parts)),
            BORDER,
        )
    # However small the hole, the middle is still not held.
    tiny = [[Fraction(x, 1000), Fraction(y, 1000)] for x, y in CORNERS]
    far = cells([*outer, *tiny], [], *ring)
    refused(subject("sup-disk"), supremum("sup-disk", upper=ONE, cover=far), BORDER)


def test_a_hole_is_not_filled_by_vertices_of_other_numbers() -> None:
    """The inner edges meet edges at the same places whose vertices have other numbers."""
    inner = [[x * HALF, y * HALF] for x, y in CORNERS]
    ring = [(i, (i + 1) % 4, 4 + (i + 1) % 4, 4 + i) for i in range(4)]
    cover = cells([*CORNERS, *inner, *inner], [], *ring, (8, 9, 10, 11))
    refused(subject("sup-disk"), supremum("sup-disk", upper=ONE, cover=cover), BORDER)
    same = cells([*CORNERS, *inner], [], *ring, (4, 5, 6, 7))
    assert pwa_supremum.check(subject("sup-disk"), supremum("sup-disk", upper=ONE, cover=same))


def test_the_order_of_a_simplex_hides_no_gap() -> None:
    """A simplex listed the other way round is oriented, so it cancels nothing of its own."""
    assert isinstance(CUBE.cover, CellCover)
    first, second, *rest = CUBE.cover.cells
    flipped = (first[1], first[0], *first[2:])
    for parts in ([first, flipped, *rest], [flipped, first, *rest], [flipped, *rest]):
        cover = dataclasses.replace(CUBE.cover, cells=tuple(parts))
        refused(subject("sup-cube"), dataclasses.replace(CUBE, cover=cover), BORDER)
    turned = dataclasses.replace(CUBE.cover, cells=(flipped, second, *rest))
    assert pwa_supremum.check(subject("sup-cube"), dataclasses.replace(CUBE, cover=turned))


def test_a_star_that_winds_twice_still_holds_its_kinks() -> None:
    """A fan may wind around its first vertex twice; it is then bounded on the hull of all."""
    ring = [(2, 0), (0, 2), (-2, 0), (0, -2)]
    star = cells([[0, 0], *ring, *ring, [2, 0]], [], range(10))
    for upper in (EIGHTH[0], Fraction(1, 3)):
        with pytest.raises(Rejected):
            pwa_supremum.check(subject("sup-disk"), supremum("sup-disk", upper=upper, cover=star))


def test_redundant_and_doubled_half_spaces_change_nothing() -> None:
    """What avoids the region is shown by one half-space; more of them make no gap avoidable."""
    sides = [[1, 0], [-1, 0], [0, 1], [0, -1], [2, 0], [1, 1], [1, 0]]
    region = PolytopeRegion("polytope", matrix(sides), vector([1, 1, 1, 1, 2, 5, 1]))
    question = pwa_question([linear([HALF, 0], [0, HALF])],
                            reference([atom([[1, 0], [0, 1]], thresholds=[HALF])], [0]),
                            dimension=2, region=region, norm=L1)  # fmt: skip
    about = Subject(question, {})
    claim = dataclasses.replace(SQUARE_CLAIM, subject=about.problem_digest(0))
    assert len(pwa_supremum.check(about, claim)) == 2
    assert isinstance(claim.cover, CellCover)
    for gone in range(len(NINE)):
        kept = tuple(cell for i, cell in enumerate(claim.cover.cells) if i != gone)
        gap = dataclasses.replace(claim, cover=dataclasses.replace(claim.cover, cells=kept))
        refused(about, gap, BORDER)


BASES: dict[str, PwaSupremumClaim] = {
    "sup-disk": DISK,
    "sup-square": SQUARE_CLAIM,
    "sup-cube": CUBE,
    "sup-line": ON_THE_LINE,
    "sup-triangle": COMPARED,
}
GRIDS = {1: 60, 2: 16, 3: 6}


def forged(rng: random.Random, claim: PwaSupremumClaim) -> PwaSupremumClaim:
    """The claim with a few changes to its subdivision, and perhaps a smaller upper end."""
    assert isinstance(claim.cover, CellCover) and claim.upper is not None
    corners = [list(corner) for corner in claim.cover.corners]
    crossings = [list(crossing) for crossing in claim.cover.crossings]
    parts = [list(cell) for cell in claim.cover.cells]
    vertices = len(corners) + len(crossings)
    for _ in range(rng.choice([1, 1, 2, 3])):
        cell = rng.randrange(len(parts))
        how = rng.randrange(8)
        if how == 0 and len(parts) > 1:
            del parts[cell]
        elif how == 1:
            parts.append(list(rng.choice(parts)))
        elif how == 2:
            parts[cell][rng.randrange(len(parts[cell]))] = rng.randrange(vertices)
        elif how == 3:
            parts.append([rng.randrange(vertices) for _ in parts[cell]])
        elif how == 4:
            moved = Fraction(rng.randint(-4, 4), rng.choice([1, 2, 100]))
            corner = rng.choice(corners)
            corner[rng.randrange(len(corner))] += moved
        elif how == 5:
            turn = rng.randrange(len(parts[cell]))
            parts[cell] = parts[cell][turn:] + parts[cell][:turn]
        elif how == 6:
            rng.choice(crossings)[2] = rng.randrange(8)
        else:
            parts[cell] = parts[cell][::-1]
    cover = CellCover(
        "cells",
        tuple(map(tuple, corners)),
        tuple((a, b, c) for a, b, c in crossings),
        tuple(map(tuple, parts)),
    )
    upper = claim.upper * rng.choice([ONE, ONE, 2 * ONE, Fraction(3, 4)])
    return dataclasses.replace(claim, lower=None, point=None, upper=upper, cover=cover)


def exceeded(about: Subject, claim: PwaSupremumClaim, points: list[Point]) -> list[Point]:
    """Inputs of the region at which the error is more than the claim's upper end."""
    problem = about.piecewise(0)
    one = problem.comparator if isinstance(claim.map, ComparatorMap) else problem.student([0])
    assert one is not None and problem.region is not None and claim.upper is not None
    unit, found = difference_unit(one, problem.target), []
    for q in points:
        gap = difference(one, problem.target, one.trace(q), problem.target.trace(q))
        over = compared(about.question.norm, gap, unit * q[-1], claim.upper) > 0
        if over and problem.region.contains(q):
            found.append(q)
    return found


@pytest.mark.parametrize("name", BASES)
def test_no_forged_subdivision_proves_too_small_an_upper_end(name: str) -> None:
    rng, about, accepted = random.Random(20), subject(name), 0
    p = about.piecewise(0).inputs
    step = GRIDS[p]
    grid = [(*x, step) for x in product(range(-step, step + 1), repeat=p)]
    assert not exceeded(about, BASES[name], grid)
    for _ in range(200):
        claim = forged(rng, BASES[name])
        try:
            pwa_supremum.check(about, claim)
        except Rejected:
            continue
        accepted += 1
        assert not exceeded(about, claim, grid), claim
    assert accepted, "some forgeries are harmless, and those are the ones that are tested"


def test_a_box_cover_without_a_part_is_refused() -> None:
    """First boxes that are a little too small, and halvings that stop."""
    about, upper = subject("sup-disk"), ONE
    ends: list[tuple[Sequence[Number], Sequence[Number]]] = [
        ([-1 + TINIER, -1], [1, 1]),
        ([-1, -1], [1, 1 - TINIER]),
        ([1, 1], [-1, -1]),
    ]
    for lower, high in ends:
        claim = supremum("sup-disk", upper=upper, cover=boxes(lower, high, -1))
        refused(about, claim, "does not hold the region")
    for splits in ((), (0,), (0, -1), (0, 1, -1, -1)):
        claim = supremum("sup-disk", upper=upper, cover=boxes([-1, -1], [1, 1], *splits))
        refused(about, claim, "the halvings end before every box is bounded")


def test_an_input_outside_by_a_rounding_is_no_input() -> None:
    """A point of the circle to 4,000 digits, on the wrong side of it."""
    digits = 10**1900
    x = Fraction(3 * digits, 5 * digits)
    outside = (x, Fraction(4 * digits + 1, 5 * digits))
    claim = supremum("sup-disk", lower=0, point=outside)
    refused(subject("sup-disk"), claim, "outside the region")
    assert pwa_supremum.check(
        subject("sup-disk"), supremum("sup-disk", lower=0, point=[x, Fraction(4, 5)])
    )


# --- scopes in the decision ----------------------------------------------------------------------


def gap_between_witnesses(**fields: Any) -> Question:
    """Inputs of [-1, 1], of which only the witness 0 is named: every map is right there."""
    constant = linear([0])
    question = pwa_question(
        [constant],
        reference([linear([1])], [0]),
        dimension=1,
        inputs=1,
        region=box([-1], [1]),
        witnesses=[[0]],
        norm=LINF,
        search=depths(1, 4),
        **fields,
    )
    return question


def upper_at_witnesses(about: Subject, which: ScheduleMap | ComparatorMap) -> PwaSupremumClaim:
    """An upper end of 0, which holds at the witness alone."""
    return PwaSupremumClaim(
        "qreplace/claim/pwa_supremum/v1",
        about.problem_digest(0),
        0,
        which,
        None,
        None,
        Fraction(0),
        WitnessCover("witnesses"),
    )


def test_an_upper_end_at_witnesses_makes_nothing_feasible_on_every_input() -> None:
    about = Subject(dataclasses.replace(gap_between_witnesses(), objective=tolerance("1/2")), {})
    claim = upper_at_witnesses(about, ScheduleMap("schedule", (0,)))
    found = decide(about, [claim], pwa_supremum.check(about, claim))
    assert found["verdict"] == "unresolved"


def test_an_upper_end_of_the_comparator_at_witnesses_makes_nothing_impossible() -> None:
    """The comparator errs by 1/2 at 1; no schedule is worse than 1 there, and one is as good."""
    about = Subject(gap_between_witnesses(comparator=reference([linear([HALF])], [0])), {})
    at_witnesses = upper_at_witnesses(about, ComparatorMap("comparator"))
    bounds = pwa_supremum.check(about, at_witnesses)
    assert Search(about, bounds).threshold.impossible is None
    minimum = ScheduleMinimumClaim(
        "qreplace/claim/schedule_minimum/v1",
        about.problem_digest(0),
        0,
        1,
        Fraction(1, 4),
        ((Fraction(1, 4),),),
        (0,),
    )
    bounds += schedule_minimum.check(about, minimum)
    assert decide(about, [at_witnesses, minimum], bounds)["verdict"] == "unresolved"


def test_the_error_of_one_schedule_makes_no_depth_impossible() -> None:
    """The second atom is the target itself."""
    question = gap_between_witnesses(objective=tolerance("1/2"))
    question = dataclasses.replace(
        question, dictionary=listed(linear([0]), linear([1])), search=depths(1, 1)
    )
    about = Subject(question, {})
    claim = dataclasses.replace(
        upper_at_witnesses(about, ScheduleMap("schedule", (0,))),
        lower=ONE,
        point=(ONE,),
        upper=None,
        cover=None,
    )
    found = decide(about, [claim], pwa_supremum.check(about, claim))
    assert found["verdict"] == "unresolved"


# --- claims that would take hours, or all memory -------------------------------------------------


def test_long_crossings_are_priced() -> None:
    """The common divisor of long coordinates costs far more than the map at their point."""
    about = subject("sup-disk")
    problem = about.piecewise(0)
    maps = problem.student([0]), problem.target

    def counted(digits: int) -> int:
        unit = 10**digits
        left = [Fraction(-unit - 1, unit + 7 * k) for k in (1, 2)]
        right = [Fraction(unit + 3, unit + 7), Fraction(-unit - 9, unit + 13)]
        cover = cells([left, right], [(0, 1, 0)], (0, 1, 2))
        work = Work()
        made = Vertices(maps, about.question.norm, cover, Fraction(9), work)
        assert max(made.points[2]).bit_length() > digits
        return work.total

    seconds = 10**9
    assert counted(10) < seconds / 1000
    # A quarter of a million of them, the most of one claim, must not pass.
    assert counted(2600) * (1 << 18) > 10 * MAX_WORK


def test_what_is_kept_is_priced() -> None:
    """No claim fills more than about half a gigabyte with coordinates."""
    assert MAX_WORK // KEPT < 8 * 500_000_000


def test_halvings_of_long_or_wide_boxes_are_priced() -> None:
    """Boxes beside the region need no affine arithmetic, but they are halved and compared."""
    long = Fraction(10**3990 + 1, 10**3990 - 7)
    about, claim = subject("sup-wide"), supremum("sup-wide", upper=ONE, cover=None)
    aside = [*[0] * 200]
    cover = BoxCover("boxes", (-long,) * 9, (long,) * 9, tuple(aside))
    refused(about, dataclasses.replace(claim, cover=cover), MUCH)


def test_long_targets_are_priced_point_by_point() -> None:
    """One evaluation of a target of a thousand steps at a long point takes seconds."""
    unit = 10**20 + 3
    target = atom([[Fraction(unit - 7, unit)]], [[Fraction(unit - 9, unit)]], output=[[1]])
    question = pwa_question(
        [linear([0])],
        reference([target], [0] * 1024),
        dimension=1,
        inputs=1,
        region=box([-1], [1]),
        norm=LINF,
    )
    about = Subject(question, {})
    points = [(Fraction(1, 2**4000 + 1),)]
    one = MapCost.of(about.piecewise(0).target).trace(4000)
    assert MAX_WORK / one < 1000, "points, not ten thousands of them"
    walked = schedule_minimum._Walk(
        about.piecewise(0),
        question.norm,
        ScheduleMinimumClaim("qreplace/claim/schedule_minimum/v1", "", 0, 1, -ONE, (), ()),
        [homogeneous(point) for point in points],
    )
    walked.require_every([(0, (0,), 0)])
    assert walked.work.total > one / 2


def test_leaves_of_schedules_are_priced_by_what_they_took() -> None:
    about = Subject(gap_between_witnesses(), {})
    claim = ScheduleMinimumClaim(
        "qreplace/claim/schedule_minimum/v1",
        about.problem_digest(0),
        0,
        64,
        -ONE,
        ((ONE,),),
        (BRANCH, 0),
    )
    walked = schedule_minimum._Walk(about.piecewise(0), LINF, claim, [(1, 1)])
    walked.require_every([(1, (0,), 0)])
    assert walked.work.total > 60 * walked.step


def net(steps: int, tree: list[int]) -> NetFloorClaim:
    """A lower side of many steps."""
    side = dataclasses.replace(nets.SPLIT_BELOW, steps=steps, tree=tuple(tree), distance=-ONE)
    return dataclasses.replace(nets.SPLIT, lower=Fraction(0), upper=None, below=side, above=None)


def test_controls_that_are_only_ever_halved_do_not_pile_up() -> None:
    """Every halving of 4,096 cells keeps as many; forty of each would take gigabytes."""
    about = nets.subject("net-split")
    for steps, halved in ((4096, 1100), (4096, 100_000)):
        tree = [-1 - k // 40 for k in range(halved)]
        with pytest.raises(Rejected, match="the tree takes too long to check"):
            net_floor.check(about, net(steps, tree))


def test_short_steps_are_not_free() -> None:
    """A step of two atoms in one dimension takes 50 to 100 microseconds, whatever its products."""
    question = dataclasses.replace(
        opposite_flows(), domain=nets.QUESTIONS["net-one"].domain, norm=LINF
    )
    assert step_cost(Subject(question, {}).piecewise(0)) > 50
    with pytest.raises(Rejected, match="the tree takes too long to check"):
        net_floor.check(nets.subject("net-split"), net(4096, [0] * 150))


def test_parts_of_counts_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A split of 4,096 atoms keeps 190 kilobytes; a claim has room for a million splits."""
    atoms, depth = 64, 10**9
    about = Subject(make_question([0], [[1]] * atoms), {})
    tree = tuple(Split("split", 0, depth - 2 - k) for k in range(100))
    claim = CountMinimumClaim(
        "qreplace/claim/count_minimum/v1", about.problem_digest(0), 0, depth, ONE, (), tree
    )
    with pytest.raises(Rejected, match="the tree leaves parts open"):
        count_minimum.check(about, claim)
    assert count_minimum.MAX_WAITING < 4096 * 5000, "less than a gigabyte"
    monkeypatch.setattr(count_minimum, "MAX_WAITING", 50 * atoms)
    with pytest.raises(Rejected, match=MUCH):
        count_minimum.check(about, claim)


def test_many_large_atoms_are_given_no_constants() -> None:
    """Each alone is within the limit; a thousand of them would take hours."""
    size, count = 16, 8000
    question = pwa_question(
        [atom([[1]] * size, [[0] * size] * size)] * 4,
        reference([atom([[1]] * size)], [0]),
        dimension=size,
        inputs=1,
        region=box([-1], [1]),
    )
    problem = Subject(question, {}).piecewise(0)
    many = dataclasses.replace(problem, fields=problem.fields * (count // 4))
    assert size**3 < MAX_PRODUCTS < size**3 * count
    about = Subject(question, {})
    about._piecewise[-1] = many
    with pytest.raises(InputError, match="too large for its constants"):
        about.piecewise_constants(0)
