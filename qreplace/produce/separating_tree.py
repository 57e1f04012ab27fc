"""Branch and bound over controls: functionals that separate the target, cell by cell (T7.11)."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from qreplace.claims.net_floor import NetFunctional, NetLower
from qreplace.errors import ProducerFailed
from qreplace.exact.rational import round_down
from qreplace.produce.linear_program import Floats
from qreplace.produce.mixed_model import MixedModel
from qreplace.question.controlled import Cell, Controlled, MixedSteps, whole_simplex
from qreplace.question.maps import rational_point

FUNCTIONAL_BITS = 24
NEGLIGIBLE = 1e-6
DISTANCE_BITS = 64
LAST_STEP = 0.125
"""A cell of the last step matters this much: nothing reads the states it leads to."""
MAX_HALVINGS = 38

Entries = tuple[tuple[int, tuple[int, ...]], ...]


@dataclass(eq=False)
class Node:
    """Cells of controls, the best functional known for them, and what became of them."""

    cells: tuple[Cell, ...]
    functional: Entries
    value: Fraction
    split: int | None = None
    halves: list[Node] = field(default_factory=list)


class SeparatingTree:
    """A tree for one number of steps; ``grow`` goes on where it stopped."""

    def __init__(self, model: MixedModel, steps: MixedSteps) -> None:
        self.model = model
        self.steps = steps
        self.exact = Controlled(model.problem, model.own_norm, steps, model.points)
        self.nodes = 0
        atoms = len(model.problem.fields)
        self._order = 0
        cells = (whole_simplex(atoms),) * steps.count
        self.root = self._node(cells, None)
        self._open: list[tuple[Fraction, int, Node]] = []
        self._push(self.root)

    @property
    def distance(self) -> Fraction:
        """Every control misses by so much: the smallest value of a leaf."""
        return self._open[0][0] if self._open else self.root.value

    def grow(self, nodes: int, goal: Fraction, stop: float | None = None) -> None:
        """Halve the worst cells until there are so many nodes, or the distance is the goal.

        ``stop`` is a reading of the monotonic clock at which it ends as well.
        """
        while self.nodes < nodes and self._open and self.distance < goal:
            if stop is not None and time.monotonic() >= stop:
                return
            _, _, node = self._open[0]
            step = self._split(node)
            if step is None:
                return
            heapq.heappop(self._open)
            node.split = step
            for half in node.cells[step].halves():
                cells = (*node.cells[:step], half, *node.cells[step + 1 :])
                child = self._node(cells, node)
                node.halves.append(child)
                self._push(child)

    def _push(self, node: Node) -> None:
        self._order += 1
        heapq.heappush(self._open, (node.value, self._order, node))

    def _split(self, node: Node) -> int | None:
        """The step whose cell spreads the later states most; ``None`` when all are points."""
        best, found = 0.0, None
        for step, cell in enumerate(node.cells):
            if cell.denominator >= 1 << MAX_HALVINGS or len(cell.vertices) == 1:
                continue
            corners = np.array(cell.vertices, dtype=np.float64) / cell.denominator
            width = float(np.ptp(corners, axis=0).max())
            score = width * (len(node.cells) - 1 - step + LAST_STEP)
            if score > best * (1 + 1e-9):
                best, found = score, step
        return found

    def _node(self, cells: tuple[Cell, ...], parent: Node | None) -> Node:
        self.nodes += 1
        for step, cell in enumerate(cells):
            if self.exact.cell(step) is not cell:
                self.exact.set_cell(step, cell)
        best: tuple[Fraction, Entries] = (Fraction(0), ())
        for functional in self._proposals(cells, parent):
            value = round_down(self.exact.error_lower(functional), DISTANCE_BITS)
            if value > best[0]:
                best = value, functional
        return Node(cells, best[1], best[0])

    def _proposals(self, cells: Sequence[Cell], parent: Node | None) -> Iterator[Entries]:
        """The multiplier at the middle of the cells, and what served the cells around them."""
        if parent is not None and parent.functional:
            yield parent.functional
        vertices = np.array([np.array(c.vertices, dtype=np.float64) / c.denominator for c in cells])
        middle = vertices.mean(axis=1)
        around = self.model.linearized(middle, 1, float(self.steps.step))
        try:
            mixture = self.model.nearest(around, middle, vertices)
        except ProducerFailed:
            return
        found = self._entries(mixture.functional)
        if found:
            yield found

    def _entries(self, functional: Floats) -> Entries:
        """In integers, without the inputs that hardly count."""
        rows = functional.reshape(len(self.model.points), -1)
        largest = float(np.abs(rows).max(initial=0.0))
        if not 0 < largest < np.inf:
            return ()
        scaled = np.where(np.abs(rows) > NEGLIGIBLE * largest, rows / largest, 0.0)
        whole = np.rint(scaled * (1 << FUNCTIONAL_BITS)).astype(np.int64)
        return tuple(
            (index, tuple(int(x) for x in row)) for index, row in enumerate(whole) if row.any()
        )

    def lower(self) -> NetLower | None:
        """The tree as a claim's lower side; ``None`` where it separates nothing."""
        if self.distance <= 0:
            return None
        leaves: dict[Entries, int] = {}
        tree: list[int] = []
        pending = [self.root]
        while pending:
            node = pending.pop()
            if node.split is None:
                tree.append(leaves.setdefault(node.functional, len(leaves)))
            else:
                tree.append(-1 - node.split)
                pending += reversed(node.halves)
        used = sorted({index for functional in leaves for index, _ in functional})
        place = {index: position for position, index in enumerate(used)}
        return NetLower(
            steps=self.steps.count,
            points=tuple(rational_point(self.model.points[index]) for index in used),
            functionals=tuple(
                NetFunctional(
                    tuple(place[index] for index, _ in functional),
                    tuple(row for _, row in functional),
                )
                for functional in leaves
            ),
            distance=self.distance,
            tree=tuple(tree),
        )
