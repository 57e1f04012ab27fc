"""Routed runs: the target's route given (oracle), and the executed router's own (theory T6).

    y_{k+1} = y_k + h G_{sigma_k}^{m*(t_k)}(t_k, y_k)          oracle
    x_{k+1} = x_k + h G_{sigma_k}^{m_hat(t_k, x_k)}(t_k, x_k)  implemented

``m*`` is the support of the target's scores along the target's path ``z*``; ``m_hat`` that of the
implemented scores at the executed state. Both start at ``z*(0)``. Distances are in the linf norm.

``plain`` is the reference, in binary64 or in exact rationals by the same lines; ``route`` is its
compiled twin in binary64, bit for bit the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic

from qreplace.errors import InputError
from qreplace.simulate.model import require_schedule
from qreplace.simulate.routed_model import Affine, N, Routed, members

if TYPE_CHECKING:
    from qreplace.simulate.routed_kernels import Compiled

MAX_WORK = 1_000_000_000
"""Steps times what one step multiplies, of one run."""
MAX_STORED = 50_000_000
"""Steps times coordinates of one run."""


@dataclass(frozen=True, eq=False)
class Runs(Generic[N]):
    """The two runs along one target path. States are D + 1 rows, supports D numbers of bits."""

    target: Any
    target_supports: Any
    oracle: Any
    states: Any
    supports: Any
    mismatches: tuple[int, ...]
    """The steps at which the executed support is not the target's, ascending."""
    oracle_error: N
    """``max_k ||y_k - z*(t_k)||``: delta_D, measured."""
    state_error: N
    """``max_k ||x_k - z*(t_k)||``, which theory T6.1 bounds by E_bar."""


# --- the plain reference --------------------------------------------------------------------------


def values(own: Affine[N], time: N, state: Sequence[N]) -> list[N]:
    """``matrix z + offset + drift t``, added up in this order."""
    found = []
    for row, offset, drift in zip(own.matrix, own.offset, own.drift, strict=True):
        total = offset
        for entry, coordinate in zip(row, state, strict=True):
            total = total + entry * coordinate
        found.append(total + drift * time)
    return found


def top(scores: Sequence[N], count: int) -> int:
    """The support of the ``count`` largest scores; among equal ones the lowest index wins."""
    support = 0
    for _ in range(count):
        best = -1
        for e, score in enumerate(scores):
            if not support >> e & 1 and (best < 0 or score > scores[best]):
                best = e
        support |= 1 << best
    return support


def field(system: Routed[N], atom: int, support: int, time: N, state: Sequence[N]) -> list[N]:
    """``G_j^m(t, z)``: the gated mean of the support's experts."""
    chosen = members(support)
    found = [system.gates[chosen[0]] * value for value in
             values(system.atoms[atom][chosen[0]], time, state)]  # fmt: skip
    weight = system.gates[chosen[0]]
    for e in chosen[1:]:
        gate = system.gates[e]
        own = values(system.atoms[atom][e], time, state)
        found = [total + gate * value for total, value in zip(found, own, strict=True)]
        weight = weight + gate
    return [total / weight for total in found]


def supports_plain(system: Routed[N], states: Sequence[Sequence[N]], step: N) -> list[int]:
    """The target's supports at ``t_k = k h``, one a state."""
    return [
        top(values(system.scores, step * k, state), system.top_k) for k, state in enumerate(states)
    ]


def run_plain(
    system: Routed[N],
    schedule: Sequence[int],
    errors: Sequence[Sequence[N]] | None,
    given: Sequence[int] | None,
) -> tuple[list[list[N]], list[int]]:
    """States and supports of one run: on ``given`` supports, or on its own implemented ones."""
    step = system.horizon / len(schedule)
    state = list(system.initial)
    states, supports = [state], []
    for k, atom in enumerate(schedule):
        time = step * k
        if given is not None:
            support = given[k]
        else:
            scores = values(system.implemented, time, state)
            if errors is not None:
                scores = [s + e for s, e in zip(scores, errors[k], strict=True)]
            support = top(scores, system.top_k)
        moved = field(system, atom, support, time, state)
        state = [z + step * g for z, g in zip(state, moved, strict=True)]
        states.append(state)
        supports.append(support)
    return states, supports


def plain(
    system: Routed[N],
    schedule: Sequence[int],
    target: Sequence[Sequence[N]],
    errors: Sequence[Sequence[N]] | None = None,
) -> Runs[N]:
    """Both runs by the plain reference; ``target`` are the D + 1 states ``z*(t_k)``.

    ``errors``, D rows of one number an expert, are added to the implemented scores. Raises
    ``InputError`` for shapes that do not fit and for runs that are too long.
    """
    require(system, schedule, target, errors)
    step = system.horizon / len(schedule)
    wanted = supports_plain(system, target[:-1], step)
    oracle, _ = run_plain(system, schedule, None, wanted)
    states, supports = run_plain(system, schedule, errors, None)
    return Runs(
        target=target,
        target_supports=wanted,
        oracle=oracle,
        states=states,
        supports=supports,
        mismatches=tuple(
            k for k, (a, b) in enumerate(zip(wanted, supports, strict=True)) if a != b
        ),
        oracle_error=furthest(oracle, target),
        state_error=furthest(states, target),
    )


def furthest(one: Sequence[Sequence[N]], other: Sequence[Sequence[N]]) -> N:
    """The largest linf distance of two paths at the same times."""
    return max(
        abs(a - b)
        for own, aim in zip(one, other, strict=True)
        for a, b in zip(own, aim, strict=True)
    )


# --- the compiled twin ----------------------------------------------------------------------------


def route(system: Routed[float], schedule: Any, target: Any, errors: Any = None) -> Runs[float]:
    """``plain`` in binary64, compiled; arrays are (D + 1, q) and (D, experts).

    Raises ``InputError`` as ``plain`` does, and where a state leaves binary64.
    """
    from qreplace.simulate.routed_kernels import Compiled

    require(system, schedule, target, errors)
    return route_compiled(Compiled(system), schedule, target, errors)


def route_compiled(own: Compiled, schedule: Any, target: Any, errors: Any = None) -> Runs[float]:
    """``route`` for a system that is lowered once and for data that ``require`` has seen."""
    import numpy as np

    path = np.ascontiguousarray(target, dtype=np.float64)
    step = own.horizon / len(schedule)
    wanted = own.supports(path[:-1], step)
    oracle, _ = own.run(schedule, None, wanted)
    states, supports = own.run(schedule, errors, None)
    if not (np.isfinite(states).all() and np.isfinite(oracle).all()):
        raise InputError("the routed run leaves the range of binary64: a state is not finite")
    return Runs(
        target=path,
        target_supports=wanted,
        oracle=oracle,
        states=states,
        supports=supports,
        mismatches=tuple(int(k) for k in np.flatnonzero(wanted != supports)),
        oracle_error=float(np.abs(oracle - path).max()),
        state_error=float(np.abs(states - path).max()),
    )


def fine_path(system: Routed[float], steps: int) -> tuple[Any, Any]:
    """The path of a one-atom system (``routed_model.mixed``) in many steps, and its supports.

    (steps + 1, q) and (steps,). An Euler path: it is within a multiple of 1 / steps of the target.
    """
    import numpy as np

    from qreplace.simulate.routed_kernels import Compiled

    schedule = np.zeros(steps, dtype=np.int64)
    require_size(system, steps)
    return Compiled(system).run(schedule, None, None)


# --- what is refused ------------------------------------------------------------------------------


def require_size(system: Routed[N], depth: int) -> None:
    """Refuse a run whose states or whose work would be too much."""
    q, experts = system.dimension, system.experts
    work = depth * (experts * q + system.top_k * q * q)
    if depth * q > MAX_STORED or work > MAX_WORK:
        raise InputError(
            f"a routed run of {depth} steps, {q} coordinates and {experts} experts is too long; "
            f"needed at most {MAX_WORK} multiplications and {MAX_STORED} stored numbers"
        )


def require(system: Routed[N], schedule: Any, target: Any, errors: Any) -> None:
    """Refuse data that does not fit the system, before anything runs."""
    require_schedule(schedule, len(system.atoms))
    depth = len(schedule)
    require_size(system, depth)
    if not _shaped(target, depth + 1, system.dimension):
        raise InputError(
            f"the target path needs {depth + 1} states of {system.dimension} coordinates"
        )
    if any(a != b for a, b in zip(target[0], system.initial, strict=True)):
        raise InputError("the target path starts elsewhere than the system")
    if errors is not None and not _shaped(errors, depth, system.experts):
        raise InputError(
            f"the score errors need {depth} rows of {system.experts} numbers, one an expert"
        )


def _shaped(data: Any, rows: int, columns: int) -> bool:
    shape = getattr(data, "shape", None)
    if shape is not None:
        return bool(shape == (rows, columns))
    return len(data) == rows and all(len(row) == columns for row in data)


def noise_rows(depth: int, experts: int, amplitude: float, seed: int) -> Any:
    """Score errors of ``[-amplitude, amplitude)``, the same everywhere: (D, experts) binary64.

    Entry (k, e) is ``amplitude (u / 2^52 - 1)`` with u the upper 53 bits of ``draw(seed, k, e)``.
    """
    import numpy as np

    from qreplace.simulate.draws import mix

    base = np.uint64(mix(seed & ((1 << 64) - 1)))
    rows = _mixed(base ^ np.arange(depth, dtype=np.uint64))
    found = _mixed(rows[:, np.newaxis] ^ np.arange(experts, dtype=np.uint64))
    return amplitude * ((found >> np.uint64(11)).astype(np.float64) / 2.0**52 - 1.0)


def _mixed(words: Any) -> Any:
    """``draws.mix`` of every word."""
    import numpy as np

    from qreplace.simulate.draws import FIRST, GOLDEN, SECOND

    words = words + np.uint64(GOLDEN)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(FIRST)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(SECOND)
    return words ^ (words >> np.uint64(31))
