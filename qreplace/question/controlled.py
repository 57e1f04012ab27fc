"""Mixed steps of piecewise-affine systems at single inputs, enclosed in integers (theory T7.11).

**Steps.** Write ``G_j(z) = F_j(z) - mu z``. Over one of N intervals of length h a relaxed control
moves z to ``e^{-mu h} z + int e^{-mu (h-s)} sum_j alpha_j(s) F_j(z(s)) ds``. With F_j frozen at the
start that is the mixed step ``z + w sum_j a_j G_j(z)`` of ``w = (1 - e^{-mu h}) / mu``, a the
average of the control with the weight ``e^{-mu (h-s)}``, a point of the simplex again (exponential
Euler; ``mu = 0`` is Euler with ``w = h``). Freezing costs at most
``lip(F) B int e^{-mu (h-s)} s ds = lip(F) B (h - w) / mu``; the step's own Lipschitz constant
``kappa(w)`` carries it to the end. The leak itself costs nothing, so the defect falls with
``||V|| ||S|| + ||A||`` where QR Table 9 has ``L``.

**States** are intervals of integers in units of ``2**-STATE_BITS``, rounded outward, one step after
the other. A *cell* is a simplex of controls by its vertices; one step's states under all of its
controls lie in the hull over its vertices.

**Separation.** For a functional p_N of the last states, and any p_k before,
``p_N z_N = p_0 z_0 + sum_k (p_{k+1} z_{k+1} - p_k z_k)``, and each term is at most its largest
value over the vertices of the step's cell and the box of z_k. Bends are bounded above by lines on
the range of what they read; p_k is the mean slope, so that what is left is the spread of the box
times what the atoms' slopes differ by. With the target's value that bounds
``max_i ||F*(y_i) - z_N(y_i)||`` from below, for every control of the cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import mul

from qreplace.errors import InputError
from qreplace.exact.fixed_point import exponential
from qreplace.exact.rational import round_up
from qreplace.exact.roots import sqrt_bounds
from qreplace.question.atom_sizes import AtomSizes
from qreplace.question.invariant_balls import PwaConstants
from qreplace.question.maps import Matrix, Point, Vector
from qreplace.question.model import L1Norm, LinfNorm, Norm, WeightedL1Norm, WeightedLinfNorm
from qreplace.question.norms import block_size, norm_bounds
from qreplace.question.piecewise import Activation
from qreplace.question.piecewise_problem import Field, PwaProblem

ZERO = Fraction(0)
STATE_BITS = 64
COSTATE_BITS = 48
SLOPE_BITS = 24
STEP_BITS = 80
MAX_WORK = 200_000_000
"""Most products of integers of the states' length in one claim: about a minute of one core."""
POINT_STEPS = 64
"""The constants at one input take about as long as so many steps."""
STEP_OVERHEAD = 30
"""One step of one atom takes about as long as so many products, beside its own."""
DEFECT_BITS = 128
MAX_EXPONENT = 64


# --- time steps ------------------------------------------------------------------------------


@dataclass(frozen=True)
class MixedSteps:
    """``count`` mixed steps of size ``step`` and how far they end from relaxed states."""

    count: int
    step: Fraction
    defect: Fraction


def frozen_lipschitz(problem: PwaProblem, norm: Norm) -> tuple[Fraction, Fraction]:
    """``(mu, lip)``: the smallest leak, if positive, and a Lipschitz constant of ``G_j + mu z``."""
    mu = max(min(field.atom.leak for field in problem.fields), ZERO)
    return mu, max(AtomSizes(field, norm).jacobian_norm(mu) for field in problem.fields)


def mixed_steps(
    constants: PwaConstants, frozen: tuple[Fraction, Fraction], count: int
) -> MixedSteps:
    """The steps and their defect at the inputs of the constants (module docstring).

    Raises ``InputError`` where growth is too large to enclose.
    """
    mu, lipschitz = frozen
    horizon = constants.horizon
    h = horizon / count
    low = high = h
    if mu * h > MAX_EXPONENT or max(constants.lipschitz, ZERO) * horizon > 16 * MAX_EXPONENT:
        raise InputError("the leak or the growth rate over the horizon is too large to enclose")
    late = h * h / 2
    if mu > 0:
        bits = STEP_BITS + 2 * max(0, mu.denominator.bit_length() - mu.numerator.bit_length()) + 64
        ends = exponential(-mu * h, bits)
        low, high = ((1 - Fraction(end, 1 << bits)) / mu for end in reversed(ends))
        high = min(high, h)
        late = min(late, (h - low) / mu)
    step = Fraction((low.numerator << STEP_BITS) // low.denominator, 1 << STEP_BITS)
    speed = constants.relaxed_speed
    each = lipschitz * speed * late + (high - step) * speed
    factor = constants.step_factor(step)
    total = ZERO
    for _ in range(count):
        total = round_up(factor * total + each, DEFECT_BITS)
    return MixedSteps(count, step, total)


# --- cells of controls -----------------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """A simplex of controls: ``vertices[r][j] / denominator`` is the weight of atom j."""

    vertices: tuple[Vector, ...]
    denominator: int

    def halves(self) -> tuple[Cell, Cell]:
        """The two halves along the longest edge, the first of them if several are.

        The first half keeps the edge's lower vertex. Raises ``InputError`` for a single point.
        """
        found, longest = None, 0
        for a, one in enumerate(self.vertices):
            for b in range(a + 1, len(self.vertices)):
                length = sum((x - y) ** 2 for x, y in zip(one, self.vertices[b], strict=True))
                if length > longest:
                    found, longest = (a, b), length
        if found is None:
            raise InputError("a single control has no halves")
        a, b = found
        middle = tuple(map(sum, zip(self.vertices[a], self.vertices[b], strict=True)))
        doubled = [tuple(2 * x for x in vertex) for vertex in self.vertices]
        first, second = list(doubled), list(doubled)
        first[b], second[a] = middle, middle
        return Cell(tuple(first), 2 * self.denominator), Cell(tuple(second), 2 * self.denominator)


def whole_simplex(atoms: int) -> Cell:
    """Every control."""
    return Cell(tuple(tuple(int(i == j) for j in range(atoms)) for i in range(atoms)), 1)


# --- one step --------------------------------------------------------------------------------


@dataclass(frozen=True)
class AtomStep:
    """``z + w G(z)`` in integers: ``(carry Z + output Phi + offset) / divisor`` in state units.

    ``Phi`` is the activation of ``u = base + state Z``, over ``inner`` times the state unit.
    """

    activation: Activation
    thresholds: Vector
    state: Matrix
    output: Matrix
    carry: Matrix
    offset: Vector
    divisor: int


def atom_step(field: Field, step: Fraction) -> AtomStep:
    """The step of one atom."""
    over = field.outer * field.inner
    inner = step.numerator * field.inner
    return AtomStep(
        activation=field.atom.activation,
        thresholds=tuple(x << STATE_BITS for x in field.thresholds),
        state=field.state_weights,
        output=tuple(tuple(step.numerator * x for x in row) for row in field.output),
        carry=tuple(
            tuple(inner * x + (step.denominator * over if i == j else 0) for j, x in enumerate(row))
            for i, row in enumerate(field.drift)
        ),
        offset=tuple((inner * x) << STATE_BITS for x in field.offset),
        divisor=step.denominator * over,
    )


@dataclass(frozen=True)
class Image:
    """What one atom makes of a box of states: the box after its step, and what its bends read."""

    low: list[int]
    high: list[int]
    read_low: list[int]
    read_high: list[int]


Base = tuple[list[int], list[int]]
"""``W y + b`` of one atom, enclosed."""


def base_of(field: Field, point: Point) -> Base:
    """What an atom reads of the input."""
    t = point[-1]
    exact = [
        (sum(map(mul, row, point)) + b * t) << STATE_BITS
        for row, b in zip(field.input_weights, field.bias, strict=True)
    ]
    return [x // t for x in exact], [-(-x // t) for x in exact]


def image(atom: AtomStep, base: Base, low: Sequence[int], high: Sequence[int]) -> Image:
    """One atom's step from a box of states."""
    read_low, read_high = [], []
    for row, a, b in zip(atom.state, *base, strict=True):
        down, up = _range(row, low, high)
        read_low.append(a + down)
        read_high.append(b + up)
    bent_low = _activate(atom, read_low)
    bent_high = _activate(atom, read_high)
    found_low, found_high = [], []
    for carry, output, offset in zip(atom.carry, atom.output, atom.offset, strict=True):
        down, up = _range(carry, low, high)
        more_down, more_up = _range(output, bent_low, bent_high)
        found_low.append((down + more_down + offset) // atom.divisor)
        found_high.append(-(-(up + more_up + offset) // atom.divisor))
    return Image(found_low, found_high, read_low, read_high)


def step_cost(problem: PwaProblem) -> int:
    """About how many products, of states' length, one step at one input takes."""
    size = problem.dimension
    atoms = len(problem.fields)
    work = 2 * atoms**2 * size + STEP_OVERHEAD * atoms
    for field in problem.fields:
        numbers = [x for rows in (field.output, field.drift) for row in rows for x in row]
        largest = max((abs(x).bit_length() for x in numbers), default=0)
        bits = STEP_BITS + largest + field.outer.bit_length() + 2 * field.inner.bit_length()
        work += (4 * len(field.bias) * size + 3 * size**2) * (1 + bits // 512)
    return work


def net_cost(problem: PwaProblem, steps: int) -> int:
    """About how many products one input of a net takes: its constants, the target, the steps."""
    return target_cost(problem) + (POINT_STEPS + steps) * step_cost(problem)


def target_cost(problem: PwaProblem) -> int:
    """About how many products, of states' length, the target at one input takes."""
    total = 0
    for step in problem.target.steps:
        size, width = len(step.offset), len(step.bias)
        before = len(step.carry[0]) if step.carry else 0
        products = width * (problem.inputs + before) + size * (width + before)
        total += products * (1 + step.next_unit.bit_length() // 512)
    return total


def _range(row: Sequence[int], low: Sequence[int], high: Sequence[int]) -> tuple[int, int]:
    down = up = 0
    for x, a, b in zip(row, low, high, strict=True):
        if x > 0:
            down += x * a
            up += x * b
        elif x:
            down += x * b
            up += x * a
    return down, up


def _activate(atom: AtomStep, values: Sequence[int]) -> list[int]:
    return [
        _bent(atom.activation, u, atom.thresholds[k] if atom.thresholds else 0)
        for k, u in enumerate(values)
    ]


def _bent(activation: Activation, u: int, level: int) -> int:
    if activation == "soft_threshold":
        return u - level if u > level else u + level if u < -level else 0
    return max(u, 0) if activation == "relu" else u


def hull(cell: Cell, images: Sequence[Image]) -> tuple[list[int], list[int]]:
    """A box with the states after one step under every control of a cell."""
    lows = list(zip(*(i.low for i in images), strict=True))
    highs = list(zip(*(i.high for i in images), strict=True))
    under = cell.denominator
    low = [min(sum(map(mul, v, row)) for v in cell.vertices) // under for row in lows]
    high = [-(-max(sum(map(mul, v, row)) for v in cell.vertices) // under) for row in highs]
    return low, high


# --- a separating functional -----------------------------------------------------------------


@dataclass(frozen=True)
class Upper:
    """``p . (z + w G(z)) <= slopes . z + constant`` on a box, in costate and state units."""

    slopes: list[int]
    constant: int


def upper_line(
    atom: AtomStep, base: Base, costate: Sequence[int], seen: Image, high: Sequence[int]
) -> Upper:
    """A linear upper bound of a costate along one atom's step from a box with upper ends ``high``.

    Rounding the slopes down leaves parts in [0, 1) of each coordinate to the constant.
    """
    size = len(high)
    slopes = [
        sum(p * row[b] for p, row in zip(costate, atom.carry, strict=True)) << SLOPE_BITS
        for b in range(size)
    ]
    constant = sum(map(mul, costate, atom.offset)) << SLOPE_BITS
    for k, (down, up) in enumerate(zip(seen.read_low, seen.read_high, strict=True)):
        weight = sum(p * row[k] for p, row in zip(costate, atom.output, strict=True))
        if not weight:
            continue
        level = atom.thresholds[k] if atom.thresholds else 0
        slope, gap = _line(atom.activation, down, up, level, weight)
        constant += gap + max(weight * slope * base[0][k], weight * slope * base[1][k])
        if slope:
            for b, s in enumerate(atom.state[k]):
                slopes[b] += weight * slope * s
    unit = atom.divisor << SLOPE_BITS
    return Upper(
        [x // unit for x in slopes],
        -(-constant // unit) + sum(x for x in high if x > 0),
    )


def _line(activation: Activation, down: int, up: int, level: int, weight: int) -> tuple[int, int]:
    """A slope s, and ``max weight (phi(u) - s u)`` on the range, both over ``2**SLOPE_BITS``."""
    ends = [(u, _bent(activation, u, level)) for u in (down, up)]
    if down == up:
        inside = activation == "identity" or (
            abs(down) > level if activation == "soft_threshold" else down > 0
        )
        slope = int(inside) << SLOPE_BITS
    else:
        slope = ((ends[1][1] - ends[0][1]) << SLOPE_BITS) // (up - down)
    if activation != "identity":
        for kink in {level, -level}:
            if down < kink < up:
                ends.append((kink, _bent(activation, kink, level)))
    return slope, max(weight * ((phi << SLOPE_BITS) - slope * u) for u, phi in ends)


def dual_norm_upper(norm: Norm, vector: Sequence[int]) -> Fraction:
    """An upper bound of the dual norm of an integer functional of one input's state."""
    sizes = [abs(x) for x in vector]
    if isinstance(norm, LinfNorm):
        return Fraction(sum(sizes))
    if isinstance(norm, L1Norm):
        return Fraction(max(sizes))
    if isinstance(norm, (WeightedLinfNorm, WeightedL1Norm)):
        scaled = [x / w for x, w in zip(sizes, norm.weights, strict=True)]
        return sum(scaled, ZERO) if isinstance(norm, WeightedLinfNorm) else max(scaled)
    block = block_size(norm, len(sizes))
    parts = (sizes[start : start + block] for start in range(0, len(sizes), block))
    return sum((sqrt_bounds(Fraction(sum(map(mul, p, p))))[1] for p in parts), ZERO)


Functional = Sequence[tuple[int, Vector]]
"""Entries of a functional: the index of an input, and d integers for its state."""


@dataclass
class _Stage:
    """A box of states before a step, with every atom's image of it."""

    low: list[int]
    high: list[int]
    images: list[Image]


class Controlled:
    """Enclosures of the mixed steps at given inputs, under cells of controls that may change."""

    def __init__(
        self, problem: PwaProblem, norm: Norm, steps: MixedSteps, points: Sequence[Point]
    ) -> None:
        self.norm = norm
        self.steps = steps
        self.problem = problem
        self.atoms = [atom_step(field, steps.step) for field in problem.fields]
        self.points = points
        self._targets: dict[int, tuple[Fraction, ...]] = {}
        self._bases: dict[int, list[Base]] = {}
        self._known: dict[int, list[_Stage]] = {}
        self._cells = [whole_simplex(len(problem.fields))] * steps.count

    def cell(self, step: int) -> Cell:
        """The cell of controls at a step."""
        return self._cells[step]

    def set_cell(self, step: int, cell: Cell) -> None:
        """Put another cell there: what later steps made of the old one is forgotten."""
        self._cells[step] = cell
        for stages in self._known.values():
            del stages[step + 1 :]

    def _base(self, index: int) -> list[Base]:
        if index not in self._bases:
            point = self.points[index]
            self._bases[index] = [base_of(field, point) for field in self.problem.fields]
        return self._bases[index]

    def _stages(self, index: int) -> list[_Stage]:
        """The boxes before every step at one input, with images; only what is new is computed."""
        stages = self._known.setdefault(index, [])
        bases = self._base(index)
        if not stages:
            unit = self.problem.initial_unit
            start = [x << STATE_BITS for x in self.problem.initial]
            self._stage(stages, bases, [x // unit for x in start], [-(-x // unit) for x in start])
        while len(stages) < self.steps.count:
            low, high = hull(self._cells[len(stages) - 1], stages[-1].images)
            self._stage(stages, bases, low, high)
        return stages

    def _stage(
        self, stages: list[_Stage], bases: Sequence[Base], low: list[int], high: list[int]
    ) -> None:
        images = [
            image(atom, base, low, high) for atom, base in zip(self.atoms, bases, strict=True)
        ]
        stages.append(_Stage(low, high, images))

    def target(self, index: int) -> tuple[Fraction, ...]:
        """The target at one input."""
        if index not in self._targets:
            self._targets[index] = self.problem.target.value(self.points[index])
        return self._targets[index]

    def forget(self, index: int) -> None:
        """Keep nothing of one input: nets have many."""
        self._targets.pop(index, None)
        self._known.pop(index, None)
        self._bases.pop(index, None)

    def error_upper(self, index: int) -> Fraction:
        """A bound of ``||F*(y) - z_N(y)||`` at one input for every control of the cells."""
        low, high = hull(self._cells[-1], self._stages(index)[-1].images)
        sizes = []
        for a, b, y in zip(low, high, self.target(index), strict=True):
            aim = y.numerator << STATE_BITS
            sizes.append(max(b - aim // y.denominator, -(-aim // y.denominator) - a))
        return norm_bounds(self.norm, sizes, 1 << STATE_BITS)[1]

    def error_lower(self, functional: Functional) -> Fraction:
        """A lower bound of ``max_i ||F*(y_i) - z_N(y_i)||`` for every control of the cells.

        From ``(lambda F* - sup lambda z_N) / ||lambda||_*``; 0 where that is negative, or for a
        functional that vanishes.
        """
        size = sum((dual_norm_upper(self.norm, row) for _, row in functional), ZERO)
        if not size:
            return ZERO
        aim = sum((sum(map(mul, row, self.target(i)), ZERO) for i, row in functional), ZERO)
        return max(ZERO, (aim - self.support_upper(functional)) / size)

    def support_upper(self, functional: Functional) -> Fraction:
        """An upper bound of ``lambda . z_N`` for every control of the cells."""
        costates = [[x << COSTATE_BITS for x in row] for _, row in functional]
        indices = [i for i, _ in functional]
        total = 0
        for step in reversed(range(self.steps.count)):
            cell = self._cells[step]
            worst = [0] * len(cell.vertices)
            for place, index in enumerate(indices):
                costates[place], terms = self._back(cell, index, step, costates[place])
                worst = [a + b for a, b in zip(worst, terms, strict=True)]
            total += -(-max(worst) // cell.denominator)
        unit = self.problem.initial_unit
        start = sum(sum(map(mul, p, self.problem.initial)) for p in costates) << STATE_BITS
        return Fraction(total - (-start // unit), 1 << (STATE_BITS + COSTATE_BITS))

    def _back(
        self, cell: Cell, index: int, step: int, costate: list[int]
    ) -> tuple[list[int], list[int]]:
        """The costate before a step, and for every vertex what the step adds, times denominator."""
        stage = self._stages(index)[step]
        lines = [
            upper_line(atom, base, costate, seen, stage.high)
            for atom, base, seen in zip(self.atoms, self._base(index), stage.images, strict=True)
        ]
        rows = list(zip(*(line.slopes for line in lines), strict=True))
        constants = [line.constant for line in lines]
        slopes = [[sum(map(mul, v, row)) for row in rows] for v in cell.vertices]
        share = len(cell.vertices) * cell.denominator
        before = [sum(column) // share for column in zip(*slopes, strict=True)]
        terms = []
        for vertex, row in zip(cell.vertices, slopes, strict=True):
            value = sum(map(mul, vertex, constants))
            for x, p, a, b in zip(row, before, stage.low, stage.high, strict=True):
                rest = x - p * cell.denominator
                value += rest * (b if rest > 0 else a)
            terms.append(value)
        return before, terms
