"""Validated integration of polynomial differential equations ``z' = f(t, z)`` (theory T7.8).

A state is exact (rationals) or an enclosure: integers in units of ``2**-bits``, a centre and a
radius a coordinate. Where no coordinate influences itself, however indirectly, the solution is a
polynomial in time and stays exact while its numbers are short. Everywhere else a step of width h

1. finds a box that holds the solution over the whole step: a box B with
   ``z_0 + [0, h] f([t, t + h], B)`` inside B (Picard and Schauder; polynomials are Lipschitz on B);
2. sums the Taylor coefficients at ``z_0`` up to the order N, by recursion on the equation;
3. adds the coefficient of order ``N + 1`` over the box times ``h**(N+1)`` (Lagrange's remainder).

Coefficients are scaled by powers of h, ``Z_k = h**k z_k``, so that all numbers stay of one size.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import mul

from qreplace.exact.fixed_point import enclose
from qreplace.exact.polynomial import Exponents, Polynomial

MAX_ORDER = 40
EXACT_BITS = 512
"""Exact states whose numerators or denominators are longer are enclosed."""
EXACT_DEGREE = 16
EXACT_TERMS = 256
STATE_BITS = 2048
"""Enclosures that reach beyond ``2**STATE_BITS`` are given up."""
PICARD_TRIES = 16


@dataclass(frozen=True, slots=True)
class EnclosedState:
    """Coordinate ``i`` is within ``radius[i]`` of ``centre[i]``, both in units of ``2**-bits``."""

    bits: int
    centre: tuple[int, ...]
    radius: tuple[int, ...]


ExactState = tuple[Fraction, ...]
State = ExactState | EnclosedState


def enclosed(state: State, bits: int) -> EnclosedState:
    """An exact state rounded outward; an enclosure stays as it is."""
    if isinstance(state, EnclosedState):
        return state
    balls = [_ball(value, bits) for value in state]
    return EnclosedState(bits, tuple(c for c, _ in balls), tuple(r for _, r in balls))


def is_short(state: ExactState, limit: int = EXACT_BITS) -> bool:
    """Whether all numerators and denominators have at most ``limit`` bits."""
    return all(
        value.numerator.bit_length() <= limit and value.denominator.bit_length() <= limit
        for value in state
    )


def advance(
    components: Sequence[Polynomial],
    state: State,
    span: tuple[Fraction, Fraction],
    steps: int,
    order: int,
    bits: int,
) -> State | None:
    """The state at the end of a time span, exactly where that is short, else enclosed.

    ``components`` are polynomials in ``t, z_1 .. z_n``, one a coordinate. ``steps`` equal Taylor
    steps of order ``order``, at least 1 each. ``None`` when a step finds no enclosure: it is too
    wide, or the solution leaves every bound.
    """
    if not isinstance(state, EnclosedState):
        found = exact_flow(components, state, span)
        if found is not None:
            return found if is_short(found) else enclosed(found, bits)
    field = SeriesField(components, bits)
    current: EnclosedState | None = enclosed(state, bits)
    width = (span[1] - span[0]) / steps
    for k in range(steps):
        if current is None:
            return None
        current = field.taylor_step(current, span[0] + k * width, width, order)
    return current


# --- solutions that are polynomials ---------------------------------------------------------------


def exact_flow(
    components: Sequence[Polynomial], state: ExactState, span: tuple[Fraction, Fraction]
) -> ExactState | None:
    """The exact solution where it is a polynomial of time and small enough, else ``None``.

    Coordinates are solved one after another: each equation holds time and solved coordinates only.
    """
    turns = _solving_order(components)
    small = is_short(state) and is_short(span)
    if turns is None or not small or not _is_small(components):
        return None
    # Powers of the time s since the start of the span; variable 0 is t = start + s.
    solved: dict[int, list[Fraction]] = {0: [span[0], Fraction(1)]}
    for index in turns:
        rate = _substituted(components[index], solved)
        if rate is None:
            return None
        integral = [value / (power + 1) for power, value in enumerate(rate)]
        solved[index + 1] = [state[index], *integral]
    width = span[1] - span[0]
    return tuple(_horner(solved[i + 1], width) for i in range(len(state)))


def exact_euler_step(
    components: Sequence[Polynomial], state: ExactState, time: Fraction, width: Fraction
) -> ExactState | None:
    """``z + h f(t, z)`` in rationals while they are short, else ``None``."""
    short = is_short((*state, time, width))
    low = all(component.degree <= EXACT_DEGREE for component in components)
    if not (short and low and _is_small(components)):
        return None
    point = (time, *state)
    after = tuple(z + width * part.at(point) for z, part in zip(state, components, strict=True))
    return after if is_short(after) else None


def _is_small(components: Sequence[Polynomial]) -> bool:
    terms = sum(len(component.exponents) for component in components)
    return terms <= EXACT_TERMS and all(is_short(c.coefficients) for c in components)


def _solving_order(components: Sequence[Polynomial]) -> list[int] | None:
    """Coordinates such that each equation uses earlier ones only; ``None`` if there is a cycle."""
    waiting = {
        index: {i for i in range(len(components)) if component.involves(i + 1)}
        for index, component in enumerate(components)
    }
    turns: list[int] = []
    while waiting:
        ready = sorted(i for i, needs in waiting.items() if not needs & waiting.keys())
        if not ready:
            return None
        for index in ready:
            del waiting[index]
        turns += ready
    return turns


def _substituted(component: Polynomial, solved: dict[int, list[Fraction]]) -> list[Fraction] | None:
    """The component along polynomial solutions; ``None`` beyond ``EXACT_DEGREE``."""
    total = [Fraction(0)]
    for exponents, coefficient in zip(component.exponents, component.coefficients, strict=True):
        used = [(i, exponent) for i, exponent in enumerate(exponents) if exponent]
        if sum(exponent * (len(solved[i]) - 1) for i, exponent in used) > EXACT_DEGREE:
            return None
        product = [coefficient]
        for variable, exponent in used:
            for _ in range(exponent):
                product = _convolved(product, solved[variable])
        pairs = itertools.zip_longest(total, product, fillvalue=Fraction(0))
        total = [a + b for a, b in pairs]
    return total


def _convolved(one: list[Fraction], other: list[Fraction]) -> list[Fraction]:
    result = [Fraction(0)] * (len(one) + len(other) - 1)
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            result[i + j] += a * b
    return result


def _horner(coefficients: list[Fraction], at: Fraction) -> Fraction:
    value = Fraction(0)
    for coefficient in reversed(coefficients):
        value = value * at + coefficient
    return value


# --- enclosures -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Row:
    """One component as a combination of nodes, in units of ``2**-bits``."""

    nodes: tuple[int, ...]
    centres: tuple[int, ...]
    sizes: tuple[int, ...]
    radii: tuple[int, ...]
    constant: tuple[int, int]


class _Series:
    """Scaled Taylor coefficients of every node: centres, radii, and ``|centre| + radius``."""

    def __init__(self, count: int) -> None:
        self.centres: list[list[int]] = [[] for _ in range(count)]
        self.radii: list[list[int]] = [[] for _ in range(count)]
        self.sizes: list[list[int]] = [[] for _ in range(count)]

    def append(self, node: int, centre: int, radius: int) -> None:
        self.centres[node].append(centre)
        self.radii[node].append(radius)
        self.sizes[node].append(abs(centre) + radius)


class SeriesField:
    """A polynomial vector field prepared for outward arithmetic at ``2**-bits``.

    Nodes are the variables (0 is time) and the monomials that occur; each monomial is a node times
    a variable, so that its series is one Cauchy product.
    """

    def __init__(self, components: Sequence[Polynomial], bits: int) -> None:
        self.bits = bits
        self.dimension = len(components)
        self.products: list[tuple[int, int]] = []
        places: dict[Exponents, int] = {}
        for i in range(self.dimension + 1):
            places[tuple(int(i == k) for k in range(self.dimension + 1))] = i
        self.rows = [self._row(component, places) for component in components]

    @property
    def nodes(self) -> int:
        """The number of variables and products."""
        return self.dimension + 1 + len(self.products)

    def work(self, order: int) -> int:
        """About how many products of numbers one step of this order takes."""
        terms = sum(len(row.nodes) + 1 for row in self.rows)
        return (order + 2) * (terms + len(self.products) * (order + 2) // 2)

    def _row(self, component: Polynomial, places: dict[Exponents, int]) -> _Row:
        constant = (0, 0)
        nodes, balls = [], []
        for exponents, coefficient in zip(component.exponents, component.coefficients, strict=True):
            ball = _ball(coefficient, self.bits)
            if any(exponents):
                nodes.append(self._place(exponents, places))
                balls.append(ball)
            else:
                constant = ball
        return _Row(
            tuple(nodes),
            tuple(c for c, _ in balls),
            tuple(abs(c) + r for c, r in balls),
            tuple(r for _, r in balls),
            constant,
        )

    def _place(self, exponents: Exponents, places: dict[Exponents, int]) -> int:
        """The node of a monomial; makes it, and those it is built from, when it is new."""
        chain = []
        while exponents not in places:
            variable = next(i for i, exponent in enumerate(exponents) if exponent)
            chain.append((exponents, variable))
            lowered = list(exponents)
            lowered[variable] -= 1
            exponents = tuple(lowered)
        node = places[exponents]
        for built, variable in reversed(chain):
            self.products.append((node, variable))
            node = places[built] = self.nodes - 1
        return node

    # --- steps ----------------------------------------------------------------------------------

    def euler_step(
        self, state: EnclosedState, time: Fraction, width: Fraction
    ) -> EnclosedState | None:
        """``z + h f(t, z)``, outward; ``None`` beyond ``2**STATE_BITS``."""
        span = _ball(width, self.bits)
        series = self._series(_ball(time, self.bits), span, state, 1)
        after = self._summed(series, 1)
        return after if self._is_bounded(after) else None

    def taylor_step(
        self, state: EnclosedState, start: Fraction, width: Fraction, order: int
    ) -> EnclosedState | None:
        """The state after a time ``width``, or ``None`` when no enclosing box is found."""
        times, span = self._times(start, width), _ball(width, self.bits)
        box = self._enclosing_box(state, times, span)
        if box is None:
            return None
        series = self._series(_ball(start, self.bits), span, state, order)
        rest = self._series(times, span, box, order + 1)
        after = self._summed(series, order)
        final = [(rest.centres[i + 1][-1], rest.radii[i + 1][-1]) for i in range(self.dimension)]
        return EnclosedState(
            self.bits,
            tuple(c + extra for c, (extra, _) in zip(after.centre, final, strict=True)),
            tuple(r + extra for r, (_, extra) in zip(after.radius, final, strict=True)),
        )

    def over_step(
        self, state: EnclosedState, start: Fraction, width: Fraction
    ) -> EnclosedState | None:
        """A box that holds every solution from the state over the whole step, or ``None``."""
        return self._enclosing_box(state, self._times(start, width), _ball(width, self.bits))

    def _times(self, start: Fraction, width: Fraction) -> tuple[int, int]:
        """A ball about the times of a step."""
        low, high = enclose(start, self.bits)[0], enclose(start + width, self.bits)[1]
        half = (high - low + 1) // 2
        return low + half, half + 1

    def _enclosing_box(
        self, state: EnclosedState, times: tuple[int, int], span: tuple[int, int]
    ) -> EnclosedState | None:
        """A box that no solution from the state leaves within the step (Picard inclusion)."""
        box = state
        for _ in range(PICARD_TRIES):
            image = self._picard_image(box, state, times, span)
            if _contains(box, image):
                return box
            box = _inflated(image)
            if not self._is_bounded(box):
                return None
        return None

    def _is_bounded(self, state: EnclosedState) -> bool:
        sizes = (abs(c) + r for c, r in zip(state.centre, state.radius, strict=True))
        return max(sizes).bit_length() <= self.bits + STATE_BITS

    def _picard_image(
        self,
        box: EnclosedState,
        state: EnclosedState,
        times: tuple[int, int],
        span: tuple[int, int],
    ) -> EnclosedState:
        """The smallest ball about ``z_0 + [0, h] f([t, t + h], box)``."""
        series = self._series(times, span, box, 1)
        centres, radii = [], []
        for i in range(self.dimension):
            moved, spread = series.centres[i + 1][1], series.radii[i + 1][1]
            low = state.centre[i] - state.radius[i] + min(0, moved - spread)
            high = state.centre[i] + state.radius[i] + max(0, moved + spread)
            centre = (low + high) // 2
            centres.append(centre)
            radii.append(max(high - centre, centre - low))
        return EnclosedState(self.bits, tuple(centres), tuple(radii))

    # --- series ---------------------------------------------------------------------------------

    def _series(
        self, time: tuple[int, int], span: tuple[int, int], state: EnclosedState, order: int
    ) -> _Series:
        """Coefficients ``0 .. order`` of every coordinate, times powers of the step."""
        series = _Series(self.nodes)
        series.append(0, *time)
        for i, (centre, radius) in enumerate(zip(state.centre, state.radius, strict=True)):
            series.append(i + 1, centre, radius)
        for k in range(order):
            for number, (left, variable) in enumerate(self.products, self.dimension + 1):
                series.append(number, *self._product(series, left, variable, k))
            for i, row in enumerate(self.rows):
                series.append(i + 1, *self._integrated(series, row, k, span))
            series.append(0, *(span if k == 0 else (0, 0)))
        return series

    def _product(self, series: _Series, left: int, right: int, k: int) -> tuple[int, int]:
        """The k-th coefficient of a product of two series."""
        centres = series.centres[right][k::-1]
        radii = series.radii[right][k::-1]
        sizes = series.sizes[right][k::-1]
        centre = sum(map(mul, series.centres[left], centres)) >> self.bits
        spread = sum(map(mul, series.radii[left], sizes))
        # (a + da)(b + db) - a b is at most |da| (|b| + |db|) + |a| |db|
        spread += sum(map(mul, map(abs, series.centres[left]), radii))
        return centre, -(-spread >> self.bits) + 1

    def _integrated(
        self, series: _Series, row: _Row, k: int, span: tuple[int, int]
    ) -> tuple[int, int]:
        """Coefficient ``k + 1`` of a coordinate: ``h / (k + 1)`` times the k-th of its field."""
        centres = [series.centres[node][k] for node in row.nodes]
        radii = [series.radii[node][k] for node in row.nodes]
        value = sum(map(mul, row.centres, centres))
        spread = sum(map(mul, row.sizes, radii))
        spread += sum(map(mul, row.radii, map(abs, centres)))
        if k == 0:
            value += row.constant[0] << self.bits
            spread += row.constant[1] << self.bits
        divisor = (k + 1) << (2 * self.bits)
        width, doubt = span
        centre = value * width // divisor
        radius = -(-(spread * (width + doubt) + abs(value) * doubt) // divisor)
        return centre, radius + 1

    def _summed(self, series: _Series, order: int) -> EnclosedState:
        coordinates = range(1, self.dimension + 1)
        return EnclosedState(
            self.bits,
            tuple(sum(series.centres[i][: order + 1]) for i in coordinates),
            tuple(sum(series.radii[i][: order + 1]) for i in coordinates),
        )


def _ball(value: Fraction, bits: int) -> tuple[int, int]:
    low, high = enclose(value, bits)
    return low, high - low


def _contains(outer: EnclosedState, inner: EnclosedState) -> bool:
    pairs = zip(outer.centre, outer.radius, inner.centre, inner.radius, strict=True)
    return all(abs(c - a) + s <= r for c, r, a, s in pairs)


def _inflated(box: EnclosedState) -> EnclosedState:
    """A quarter wider, so that the next image can fall inside."""
    return EnclosedState(box.bits, box.centre, tuple(r + r // 4 + 2 for r in box.radius))
