"""The common-lattice verifier: every sequence of a registered grid against every bound (T4.10).

Scalar increments ``v_k = delta c_k`` and a coarse step ``Delta = m delta`` make error feedback an
exact integer recurrence: ``p = c + r``, ``q`` the rounded ``p / m``, ``z += q``, ``r = p - m q``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from qreplace.errors import InputError, QReplaceError
from qreplace.simulate.documents import columns
from qreplace.simulate.draws import draw
from qreplace.simulate.labels import Basis, label, statement
from qreplace.simulate.model import ROUNDINGS, Rounding
from qreplace.simulate.rounding import code_range, round_quotient

REGISTERED_CODE, REGISTERED_DEPTH = 8, 5
REGISTERED_RATIOS = (1, 2, 3, 4, 8)
REGISTERED_TRIALS = 500
MAX_SEQUENCES = 1_000_000_000
MAX_RATIO = 4096
TRIAL_DIMENSION, TRIAL_DEPTH, TRIAL_CODE, TRIAL_START = 16, 256, 1000, 50
FIRST_CODE = 4 + TRIAL_DIMENSION
"""The channel of a trial's first code; those before it shape the trial."""

CHECKS = (
    "residual",
    "pre_round",
    "increment_register",
    "state_register",
    "widths",
    "conservation",
    "terminal_recovery",
)
"""What is checked on every sequence, at each of its steps; the last one at its end."""

Progress = Callable[[str, int, int], None]


class Falsified(QReplaceError):
    """A bound that a sequence crosses."""

    code = "falsified"
    exit_code = 1
    title = "A bound was falsified"


@dataclass(frozen=True, slots=True)
class Bounds:
    """Theory T4.10 for one ratio, code limit and rounding; codes, inclusive."""

    residual: int
    pre_round: int
    increment: int
    ratio: int
    code_limit: int
    directed: int
    """``floor(m / 2)`` to nearest, ``m - 1`` directed."""

    def state(self, start: int, steps: int) -> int:
        """The largest state code after so many steps: ``|z_0| + (k V + m/2) / m``, whole."""
        # In halves: to nearest the slack is m/2, which floor(m/2) would undercut for odd m.
        slack = self.ratio if self.directed == self.ratio // 2 else 2 * self.directed
        return abs(start) + (2 * steps * self.code_limit + slack) // (2 * self.ratio)

    def widths(self, start: int, steps: int) -> dict[str, int]:
        """Sufficient signed widths of every register."""
        return {
            "residual": signed_width(self.residual),
            "pre_round": signed_width(self.pre_round),
            "increment": signed_width(self.increment),
            "state": signed_width(self.state(start, steps)),
        }


def signed_width(magnitude: int) -> int:
    """``1 + ceil(log2(M + 1))``: bits that hold every code from -M to M."""
    return 1 + magnitude.bit_length()


def bounds_for(ratio: int, code_limit: int, rounding: Rounding = "nearest_even") -> Bounds:
    """The bounds of theory T4.10; raises ``InputError`` for a ratio that is no whole number."""
    if not isinstance(ratio, int) or not 1 <= ratio <= MAX_RATIO:
        raise InputError(
            f"the lattice ratio is {ratio}; needed a whole number from 1 to {MAX_RATIO}",
            remedy="The coarse step must be a whole multiple of the fine one.",
        )
    slack = ratio // 2 if rounding in ("nearest_even", "nearest_away") else ratio - 1
    return Bounds(
        residual=slack,
        pre_round=code_limit + slack,
        increment=(code_limit + 2 * slack) // ratio,
        ratio=ratio,
        code_limit=code_limit,
        directed=slack,
    )


@dataclass
class Tally:
    """What a run of the verifier counted, and the largest magnitude that each register held."""

    sequences: int = 0
    checks: dict[str, int] = field(default_factory=lambda: dict.fromkeys(CHECKS, 0))
    largest: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("residual", "pre_round", "increment", "state"), 0)
    )

    def add(self, other: Tally) -> None:
        """Take in another tally."""
        self.sequences += other.sequences
        for name, count in other.checks.items():
            self.checks[name] += count
        for name, value in other.largest.items():
            self.largest[name] = max(self.largest[name], value)


def check_sequence(
    codes: Sequence[int],
    bounds: Bounds,
    rounding: Rounding,
    tally: Tally,
    start: int = 0,
    draws: Callable[[int], int] = lambda step: 0,
) -> tuple[int, int]:
    """Run one sequence and check every bound at every step; the final state and residual.

    The plain reference of the compiled tree. Raises ``Falsified`` with the sequence.
    """
    ratio, z, r, total = bounds.ratio, start, 0, 0
    for step, c in enumerate(codes, start=1):
        p = c + r
        q = round_quotient(p, ratio, rounding, draws(step))
        z, r, total = z + q, p - ratio * q, total + c
        most = bounds.state(start, step)
        _require("residual", abs(r), bounds.residual, codes, step, bounds, tally)
        _require("pre_round", abs(p), bounds.pre_round, codes, step, bounds, tally)
        _require("increment_register", abs(q), bounds.increment, codes, step, bounds, tally)
        _require("state_register", abs(z), most, codes, step, bounds, tally)
        _require_widths(z, r, p, q, bounds.widths(start, step), codes, step, bounds, tally)
        off = ratio * (z - start) + r - total
        _require("conservation", abs(off), 0, codes, step, bounds, tally)
        for name, value in (("residual", r), ("pre_round", p), ("increment", q), ("state", z)):
            tally.largest[name] = max(tally.largest[name], abs(value))
    # From the registers alone: the sum, and with it the exact real endpoint.
    recovered = ratio * (z - start) + r
    wrong = recovered != sum(codes) or (ratio == 1 and r != 0)
    _require("terminal_recovery", int(wrong), 0, codes, len(codes), bounds, tally)
    tally.sequences += 1
    return z, r


def _require(
    name: str, value: int, limit: int, codes: Sequence[int], step: int, bounds: Bounds, tally: Tally
) -> None:
    tally.checks[name] += 1
    if value > limit:
        raise falsified(name, value, limit, list(codes), step, bounds.ratio)


def _require_widths(
    z: int, r: int, p: int, q: int, widths: dict[str, int],
    codes: Sequence[int], step: int, bounds: Bounds, tally: Tally,
) -> None:  # fmt: skip
    tally.checks["widths"] += 1
    for name, value in (("residual", r), ("pre_round", p), ("increment", q), ("state", z)):
        low, high = code_range(widths[name])
        if not low <= value <= high:
            raise falsified(f"width of {name}", value, high, list(codes), step, bounds.ratio)


def falsified(
    name: str, value: int, limit: int, codes: Sequence[int], step: int, ratio: int
) -> Falsified:
    """The error that prints the sequence."""
    return Falsified(
        f"ratio {ratio}: {name} is {value} at step {step}, the bound is {limit}; "
        f"the sequence is {list(codes)}"
    )


def sequences(code_limit: int, depth: int) -> Iterator[tuple[int, ...]]:
    """Every sequence of codes in ``[-code_limit, code_limit]`` of that length."""
    return itertools.product(range(-code_limit, code_limit + 1), repeat=depth)


def verify_plain(
    max_code: int, max_depth: int, ratio: int, rounding: Rounding = "nearest_even"
) -> Tally:
    """Every sequence of the grid from scratch; slow, and the reference."""
    tally = Tally()
    for n in range(1, max_code + 1):
        bounds = bounds_for(ratio, n, rounding)
        for depth in range(1, max_depth + 1):
            for codes in sequences(n, depth):
                check_sequence(codes, bounds, rounding, tally)
    return tally


def verify_grid(
    max_code: int,
    max_depth: int,
    ratio: int,
    rounding: Rounding = "nearest_even",
    bounds: Callable[[int, int, Rounding], Bounds] = bounds_for,
) -> Tally:
    """The same, compiled: a tree in which every node is a sequence, one for each n.

    A sequence's checks at all but its last step are those of its prefix, which is a node too; so
    each node checks its own last step and its end, and no check of any sequence is left out.
    """
    from qreplace.simulate.lattice_kernels import walk

    total = Tally()
    for n in range(1, max_code + 1):
        total.add(walk(n, max_depth, ratio, rounding, bounds(ratio, n, rounding)))
    return total


def verify_trials(
    count: int, seed: int, ratios: Sequence[int], rounding: Rounding = "nearest_even"
) -> Tally:
    """Randomized multidimensional trials: each coordinate of each is checked as a sequence is."""
    from qreplace.simulate.lattice_kernels import follow, trial_codes

    total = Tally()
    for trial in range(count):
        shape = trial_shape(seed, trial, ratios)
        bounds = bounds_for(shape.ratio, shape.limit, rounding)
        codes = trial_codes(seed, trial, shape)
        for row, start in zip(codes, shape.starts, strict=True):
            total.add(follow(row, bounds, rounding, start))
    total.sequences = count
    return total


@dataclass(frozen=True, slots=True)
class TrialShape:
    """What a randomized trial is about; its codes come from the same generator."""

    depth: int
    limit: int
    ratio: int
    starts: list[int]


def trial_shape(seed: int, trial: int, ratios: Sequence[int]) -> TrialShape:
    """Dimension, depth, code limit, ratio and starts from the counter-based generator."""

    def pick(channel: int, count: int) -> int:
        return draw(seed, trial, channel) % count

    q = 1 + pick(0, TRIAL_DIMENSION)
    return TrialShape(
        depth=1 + pick(1, TRIAL_DEPTH),
        limit=1 + pick(2, TRIAL_CODE),
        ratio=ratios[pick(3, len(ratios))],
        starts=[pick(4 + i, 2 * TRIAL_START + 1) - TRIAL_START for i in range(q)],
    )


def trial_code(seed: int, trial: int, shape: TrialShape, row: int, step: int) -> int:
    """One code of a trial, in ``[-limit, limit]``; the reference of ``trial_codes``."""
    channel = FIRST_CODE + row * TRIAL_DEPTH + step
    return draw(seed, trial, channel) % (2 * shape.limit + 1) - shape.limit


@dataclass(frozen=True)
class LatticeReport:
    """What was verified: the grid for each ratio, and the trials."""

    max_code: int
    max_depth: int
    rounding: Rounding
    grids: dict[int, Tally]
    trials: Tally
    seed: int

    @property
    def sequences(self) -> int:
        """Sequences of the grid, as counted; the same for every ratio."""
        return next(iter(self.grids.values())).sequences

    @property
    def basis(self) -> Basis:
        """What the grid shows."""
        ratios = ", ".join(map(str, self.grids))
        return Basis(
            "exhaustive",
            f"the {self.sequences} scalar sequences of codes up to {self.max_code} and lengths up "
            f"to {self.max_depth}, for each of the lattice ratios {ratios}",
        )

    def document(self) -> dict[str, Any]:
        """What ``--json`` prints; every count is the counter's."""
        return {
            "kind": "lattice",
            "max_code": self.max_code,
            "max_depth": self.max_depth,
            "rounding": self.rounding,
            "sequences": self.sequences,
            "ratios": [self._grid(ratio, tally) for ratio, tally in self.grids.items()],
            "checks_per_sequence": list(CHECKS),
            "evidence": label(self.basis).value,
            "basis": statement(self.basis),
            "trials": {
                "count": self.trials.sequences,
                "seed": self.seed,
                "checks": dict(self.trials.checks),
                "evidence": label(Basis("measured", "randomized trials")).value,
            },
        }

    def _grid(self, ratio: int, tally: Tally) -> dict[str, Any]:
        return {
            "ratio": ratio,
            "sequences": tally.sequences,
            "checks": dict(tally.checks),
            "registers": {
                name: {
                    "largest": tally.largest[name],
                    "bound": limit,
                    "attained": tally.largest[name] == limit,
                    "width": signed_width(limit),
                }
                for name, limit in self.limits(ratio).items()
            },
        }

    def limits(self, ratio: int) -> dict[str, int]:
        """The bounds at the largest code and depth of the grid."""
        bounds = bounds_for(ratio, self.max_code, self.rounding)
        return {
            "residual": bounds.residual,
            "pre_round": bounds.pre_round,
            "increment": bounds.increment,
            "state": bounds.state(0, self.max_depth),
        }

    def premises(self) -> str:
        """Registers for a specification, one block a ratio, in fine cells of 1.

        The widths are theory T4.10's, sufficient; a study recomputes them as a ``lattice`` claim.
        """
        mode = "nearest" if self.rounding.startswith("nearest") else "directed"
        blocks = []
        for ratio in self.grids:
            width = {name: signed_width(limit) for name, limit in self.limits(ratio).items()}
            blocks.append(
                f"# ratio {ratio}, fine codes up to {self.max_code}, up to {self.max_depth} steps\n"
                "execution:\n"
                "  semantics: error_feedback\n"
                f'  grid: {{step: "{ratio}", rounding: {mode}}}\n'
                f'  carry: {{grid: {{step: "1", rounding: {mode}}}}}\n'
                "  field_error: exact\n"
                "  initial_error: exact\n"
                f"  overflow: {{kind: registers, on_overflow: wrap, state_bits: {width['state']}, "
                f"increment_bits: {width['increment']}, carry_bits: {width['residual']}}}\n"
            )
        return "---\n".join(blocks)

    def text(self) -> str:
        """The report for a terminal."""
        header = ["ratio", "sequences", "checks", "residual", "pre-round", "increment", "state"]
        cells = []
        for ratio, tally in self.grids.items():
            limits = self.limits(ratio)
            seen = [f"{tally.largest[name]} of {limit}" for name, limit in limits.items()]
            cells.append([str(ratio), f"{tally.sequences:,}", f"{sum(tally.checks.values()):,}",
                          *seen])  # fmt: skip
        lines = [
            f"Common lattice (theory T4.10), {self.rounding}: every sequence of codes up to "
            f"{self.max_code}, lengths up to {self.max_depth}",
            "largest code of each register, of its bound",
            "",
            *columns(header, cells),
            "",
            f"{sum(t.sequences for t in self.grids.values()):,} sequences, and "
            f"{self.trials.sequences} randomized multidimensional trials (seed {self.seed}): "
            "every bound held",
            f"label of the grid: {label(self.basis).value}, for this grid only",
        ]
        return "\n".join(lines)


def verify(
    max_code: int = REGISTERED_CODE,
    max_depth: int = REGISTERED_DEPTH,
    ratios: Sequence[int] = REGISTERED_RATIOS,
    trials: int = REGISTERED_TRIALS,
    seed: int = 0,
    rounding: Rounding = "nearest_even",
    progress: Progress | None = None,
) -> LatticeReport:
    """Verify the grid for every ratio, then the trials.

    Raises ``Falsified`` with the sequence when a bound does not hold, ``InputError`` before
    anything runs for a grid that is empty or too large.
    """
    _require_grid(max_code, max_depth, ratios, rounding)
    grids: dict[int, Tally] = {}
    for done, ratio in enumerate(ratios):
        if progress is not None:
            progress("ratios", done, len(ratios) + 1)
        grids[ratio] = verify_grid(max_code, max_depth, ratio, rounding)
    tested = verify_trials(trials, seed, ratios, rounding)
    if progress is not None:
        progress("ratios", len(ratios) + 1, len(ratios) + 1)
    return LatticeReport(max_code, max_depth, rounding, grids, tested, seed)


def _require_grid(max_code: int, max_depth: int, ratios: Sequence[int], rounding: Rounding) -> None:
    if max_code < 1 or max_depth < 1:
        raise InputError("the grid is empty; needed a code limit and a depth of at least 1")
    size = sum((2 * n + 1) ** max_depth for n in range(1, max_code + 1))
    if max_depth > 64 or size > MAX_SEQUENCES:
        raise InputError(f"the grid has more than {MAX_SEQUENCES} sequences")
    if rounding not in ROUNDINGS or rounding == "stochastic":
        raise InputError("the grid is verified for nearest_even, nearest_away, toward_zero, floor")
    if not ratios or len(set(ratios)) != len(ratios):
        raise InputError("needed at least one lattice ratio, each once")
    for ratio in ratios:
        bounds_for(ratio, max_code, rounding)
