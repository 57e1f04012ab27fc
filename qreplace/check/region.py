"""Shared obligation: every trajectory from the initial state stays in the region (theory T7.4).

What is shown holds for relaxed trajectories when ``depth`` is ``None`` (differential inequalities
are linear in the field, so mixtures inherit them), for the Euler trajectories of every pure
schedule of that depth otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from qreplace.check.bounds import require
from qreplace.check.sums_of_squares import expand_combination
from qreplace.claims.region import BoxPart, ImpliedPart, InvariantPart, Region, TimePart
from qreplace.exact.intervals import MAX_CELLS, Box, Interval, range_on_cells
from qreplace.exact.polynomial import (
    Polynomial,
    after_step,
    constant,
    lie_derivative,
    variable,
)
from qreplace.question.dynamics import PolynomialProblem
from qreplace.question.polynomial_fields import PolynomialFields
from qreplace.question.reach import contains, reached, walls_of

MAX_CONSTRAINTS = 400
MAX_SLICES = 1024


def check_region(
    problem: PolynomialProblem, region: Region, depth: int | None, pointer: str = "/region"
) -> list[Polynomial]:
    """The constraint polynomials ``g_i(t, z)``, once every trajectory is seen to keep them."""
    constraints = constraints_of(problem, region, pointer)
    first = 0
    for position, part in enumerate(region):
        place = f"{pointer}/{position}"
        if isinstance(part, BoxPart):
            check_box(problem, part, place, depth)
        elif isinstance(part, InvariantPart):
            _check_invariant(problem, part, first, constraints, depth, place)
        elif isinstance(part, ImpliedPart):
            shown = expand_combination(
                part.combination,
                constraints,
                problem.dimension + 1,
                f"{place}/combination",
                allowed=range(first),
            )
            require(shown == part.constraint, "an implied constraint does not follow", place)
        first += problem.dimension if isinstance(part, BoxPart) else 1
    return constraints


def constraints_of(
    problem: PolynomialProblem, region: Region, pointer: str = "/region"
) -> list[Polynomial]:
    """The constraint polynomials that a region names, in order; nothing is shown about them."""
    arity = problem.dimension + 1
    found: list[Polynomial] = []
    for position, part in enumerate(region):
        place = f"{pointer}/{position}"
        if isinstance(part, TimePart):
            found.append(time_constraint(problem.horizon, arity))
        elif isinstance(part, BoxPart):
            _check_shape(part, problem.dimension, place)
            found.extend(
                side_constraint(i + 1, low, high, arity)
                for i, (low, high) in enumerate(zip(part.lower, part.upper, strict=True))
            )
        else:
            fits = part.constraint.fits(arity)
            require(fits, "a constraint has another number of variables", place)
            found.append(part.constraint)
        require(len(found) <= MAX_CONSTRAINTS, "a region has too many constraints", pointer)
    return found


def time_constraint(horizon: Fraction, arity: int) -> Polynomial:
    """``t (T - t)``."""
    time = variable(0, arity)
    return time * (constant(horizon, arity) - time)


def side_constraint(index: int, low: Fraction, high: Fraction, arity: int) -> Polynomial:
    """``(x - low)(high - x)`` for the variable ``index``."""
    x = variable(index, arity)
    return (x - constant(low, arity)) * (constant(high, arity) - x)


def check_box(
    problem: PolynomialProblem, part: BoxPart, pointer: str, depth: int | None = None
) -> Box:
    """Time and state box that no trajectory leaves; raises ``Rejected``.

    By speeds: let ``[a_i, b_i]`` hold every atom's i-th component on the box. Fields composed with
    the projection on the box are Lipschitz with the same speeds everywhere, so their trajectories,
    relaxed or Euler, stay within ``z_i(0) + [T min(0, a_i), T max(0, b_i)]``, inside the box. There
    they are trajectories of the fields themselves, and by uniqueness the only ones.

    Else by speeds over slices of time and by walls (``question/reach.py``): sides where every atom
    points inward. A depth's Euler steps respect a wall only where they are short enough.
    """
    box = box_of(problem, part, pointer)
    starts = zip(problem.initial, part.lower, part.upper, strict=True)
    inside = all(low <= start <= high for start, low, high in starts)
    require(inside, "the initial state lies outside the box", pointer)
    if _kept_by_speed(problem, part, box):
        return box
    slices = part.cells[0]
    require(slices <= MAX_SLICES, "time is cut into too many slices", f"{pointer}/cells")
    fields, sides = PolynomialFields(problem), list(box[1:])
    step = Fraction(0) if depth is None else problem.horizon / depth
    found = reached(fields, slices, sides, walls_of(fields, sides, step))
    held = found is not None and contains(sides, found)
    require(held, "a trajectory can leave the box", pointer)
    return box


def _kept_by_speed(problem: PolynomialProblem, part: BoxPart, box: Box) -> bool:
    for index, start in enumerate(problem.initial):
        slow, fast = component_range(problem, box, part.cells, index)
        reach = (
            start + problem.horizon * min(Fraction(0), slow),
            start + problem.horizon * max(Fraction(0), fast),
        )
        if not (part.lower[index] <= reach[0] and reach[1] <= part.upper[index]):
            return False
    return True


def box_of(problem: PolynomialProblem, part: BoxPart, pointer: str) -> Box:
    """``[0, T]`` and the sides of the box."""
    _check_shape(part, problem.dimension, pointer)
    return ((Fraction(0), problem.horizon), *zip(part.lower, part.upper, strict=True))


def component_range(
    problem: PolynomialProblem, box: Box, cells: Sequence[int], index: int
) -> Interval:
    """An interval with the ``index``-th component of every atom on the box."""
    ranges = [_component(atom[index], box, cells) for atom in problem.atoms]
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def _component(component: Polynomial, box: Box, cells: Sequence[int]) -> Interval:
    """Cut only along variables that occur."""
    counts = [count if component.involves(i) else 1 for i, count in enumerate(cells)]
    return range_on_cells(component, box, counts)


def _check_shape(part: BoxPart, dimension: int, pointer: str) -> None:
    fits = len(part.lower) == len(part.upper) == dimension and len(part.cells) == dimension + 1
    require(fits, "a box has one side a coordinate, and one number of cells a variable", pointer)
    ordered = all(low <= high for low, high in zip(part.lower, part.upper, strict=True))
    require(ordered, "a side of a box is empty", pointer)
    number = 1
    for count in part.cells:
        require(1 <= count <= MAX_CELLS, "a number of cells is out of range", f"{pointer}/cells")
        number *= count
    require(number <= MAX_CELLS, "a box is cut into too many cells", f"{pointer}/cells")


def _check_invariant(
    problem: PolynomialProblem,
    part: InvariantPart,
    number: int,
    constraints: Sequence[Polynomial],
    depth: int | None,
    pointer: str,
) -> None:
    """Invariance without regularity, or its discrete twin (theory T7.4).

    Along a trajectory the constraints satisfy ``g' = M(t) g + c(t)`` with ``c >= 0`` and ``M`` not
    negative off the diagonal, so they stay nonnegative together.
    """
    arity = problem.dimension + 1
    count = len(problem.atoms)
    fitting = len(part.combinations) == len(part.factors) == count
    require(fitting, "one combination and one factor an atom are needed", pointer)
    start = part.constraint.at(problem.start)
    require(start >= 0, "the initial state violates a constraint", pointer)
    others = set(range(len(constraints))) - {number}
    for index, field in enumerate(problem.atoms):
        factor = part.factors[index]
        place = f"{pointer}/combinations/{index}"
        require(factor.fits(arity), "a factor has another number of variables", place)
        if depth is None:
            moved = lie_derivative(part.constraint, field) - factor * part.constraint
        else:
            require(not factor.exponents, "a discrete invariant has no factor", place)
            moved = after_step(part.constraint, field, problem.horizon / depth)
        shown = expand_combination(
            part.combinations[index],
            constraints,
            arity,
            place,
            allowed=others if depth is None else None,
        )
        require(shown == moved, "a constraint is not shown to be invariant", place)
