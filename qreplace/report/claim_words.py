"""What each checked claim is about, in a few words; decimals are rounded to the safe side."""

from __future__ import annotations

from collections.abc import Sequence

from qreplace.claims import Claim
from qreplace.claims.affine_dynamics import AffineDynamicsClaim
from qreplace.claims.affine_lp import AffineLPClaim
from qreplace.claims.compositional import Block, CompositionalClaim
from qreplace.claims.count_minimum import CountMinimumClaim
from qreplace.claims.exposed_channel import ExposedChannelClaim
from qreplace.claims.field_constants import FieldConstantsClaim
from qreplace.claims.frozen import FrozenClaim
from qreplace.claims.hjb_sos import HjbSosClaim
from qreplace.claims.lattice import LatticeClaim
from qreplace.claims.net_floor import NetFloorClaim
from qreplace.claims.observable import ObservableClaim
from qreplace.claims.operator_norm import OperatorNormClaim
from qreplace.claims.perturbed import PerturbedClaim
from qreplace.claims.pwa_supremum import (
    BoxCover,
    CellCover,
    PwaSupremumClaim,
    ScheduleMap,
    WitnessCover,
)
from qreplace.claims.relaxed_control import PureSchedule, RelaxedControlClaim
from qreplace.claims.schedule_error import ScheduleErrorClaim
from qreplace.claims.schedule_minimum import BRANCH, ScheduleMinimumClaim
from qreplace.claims.support import SupportClaim
from qreplace.report.context import ReportContext
from qreplace.report.decimals import at_least, at_most
from qreplace.report.states import state_names
from qreplace.report.text import counted, in_row
from qreplace.report.words import in_words

_AT_DEPTHS = (
    ScheduleErrorClaim, FrozenClaim, LatticeClaim, PwaSupremumClaim, ExposedChannelClaim,
)  # fmt: skip
LIMIT = "limit of large depth"
"""What a claim without a depth is about: E_inf, infinitely fast switching."""


def about(claim: Claim | None, context: ReportContext) -> tuple[int, str]:
    """What a claim is about, and its place among those of its kind; empty for an unknown one."""
    if claim is None:
        return 0, ""
    place, words = _words(claim, context)
    bits = f", {counted(claim.code, 'metadata bit')}" if claim.code else ""
    return place, words + bits


def at_single_depth(claim: Claim | None) -> bool:
    """Whether a claim speaks about one schedule, one depth or one execution, not about E_inf."""
    if isinstance(claim, _AT_DEPTHS):
        return True
    if isinstance(claim, RelaxedControlClaim):
        return isinstance(claim.control, PureSchedule)
    return getattr(claim, "depth", None) is not None


def _words(claim: Claim, context: ReportContext) -> tuple[int, str]:
    match claim:
        case AffineLPClaim():
            return claim.code, in_words(claim.method)
        case ScheduleErrorClaim():
            depth = sum(claim.counts)
            return depth, f"depth {depth:,}"
        case FrozenClaim():
            return claim.first_depth, f"from depth {claim.first_depth:,} on"
        case AffineDynamicsClaim():
            return _affine_dynamics(claim)
        case PerturbedClaim():
            error = at_most(claim.field_error)
            return 0, f"atoms within {error} of a nominal affine system, {LIMIT}"
        case HjbSosClaim():
            degree = claim.value_function.degree
            return _at(claim.depth, f"degree {degree} value function")
        case SupportClaim():
            seen = counted(len(claim.witness.vector.indices), "coordinate")
            degree = claim.bound.degree
            return _at(claim.depth, f"degree {degree} bound of a functional of {seen}")
        case ObservableClaim():
            return _at(claim.depth, counted(len(claim.rows), "common functional"))
        case CompositionalClaim():
            return 0, _coupling(claim, context)
        case RelaxedControlClaim():
            return _control(claim)
        case OperatorNormClaim():
            return claim.index, _operator_norm(claim)
        case FieldConstantsClaim():
            return 0, _constants(claim)
        case PwaSupremumClaim():
            return _supremum(claim)
        case ScheduleMinimumClaim():
            leaves = sum(entry != BRANCH for entry in claim.tree)
            shown = f"{counted(leaves, 'prefix', 'prefixes')} at {_points(len(claim.points))}"
            return _at(claim.depth, f"every schedule, {shown},")
        case CountMinimumClaim():
            parts = sum(entry.kind != "split" for entry in claim.tree)
            return _at(claim.depth, f"every choice of counts, {counted(parts, 'part')},")
        case NetFloorClaim():
            return 0, _net(claim)
        case LatticeClaim():
            return claim.first_depth, _lattice(claim)
        case ExposedChannelClaim():
            return claim.first, _channel(claim)


def _lattice(claim: LatticeClaim) -> str:
    where = _between(claim.first_depth, claim.last_depth)
    ranges = ", ".join(f"{name} {own.lower}..{own.upper}" for name, own in claim.ranges.items())
    return f"codes of every schedule {where} (by {claim.method}): {ranges}"


def _channel(claim: ExposedChannelClaim) -> str:
    seen = counted(len(claim.witness.vector.indices), "coordinate")
    levels = counted(len(set(claim.labels)), "label")
    where = _between(claim.first, claim.last)
    words = f"every schedule along a functional of {seen} with {levels} {where}"
    if claim.mode_defect:
        words += f", labels off by at most {at_most(claim.mode_defect)}"
    return words


def _between(first: int, last: int) -> str:
    return f"at depth {first:,}" if first == last else f"at depths {first:,} to {last:,}"


def _at(depth: int | None, words: str) -> tuple[int, str]:
    if depth is None:
        return 0, f"{words}, {LIMIT}"
    return depth, f"{words} at depth {depth:,}"


def _affine_dynamics(claim: AffineDynamicsClaim) -> tuple[int, str]:
    seen = counted(len(claim.witness.vector.indices), "coordinate")
    place, words = _at(claim.depth, f"support function of a functional of {seen}")
    if claim.control:
        words += f"; control of {counted(len(claim.control), 'piece')}"
    return place, words


def _control(claim: RelaxedControlClaim) -> tuple[int, str]:
    control = claim.control
    if isinstance(control, PureSchedule):
        depth = sum(repeats for _, repeats in control.runs)
        return depth, f"schedule at depth {depth:,}, {counted(len(control.runs), 'run')}"
    pieces, steps = counted(len(control.pieces), "piece"), counted(sum(control.steps), "step")
    return 0, f"relaxed control of {pieces}, {steps} of order {control.order}"


def _operator_norm(claim: OperatorNormClaim) -> str:
    matrix = {
        "system": "the system’s matrix",
        "target": "the target’s weights",
        "atom": f"the weights of atom {claim.index:,}",
    }[claim.matrix]
    how = {"definite": "definiteness", "products": "row and column sums"}[claim.method]
    return f"l2 norm of {matrix}: at most {at_most(claim.value)} (by {how})"


def _supremum(claim: PwaSupremumClaim) -> tuple[int, str]:
    """The map, and over what its error is the largest."""
    cover = claim.cover
    where = "at one input"
    if isinstance(cover, CellCover):
        where = f"over {counted(len(cover.cells), 'cell')}"
    elif isinstance(cover, BoxCover):
        where = f"over {counted(cover.splits.count(-1), 'box', 'boxes')}"
    elif isinstance(cover, WitnessCover):
        where = "over every witness"
    if not isinstance(claim.map, ScheduleMap):
        return 0, f"the comparator {where}"
    return _at(len(claim.map.schedule), f"one schedule {where}")


def _net(claim: NetFloorClaim) -> str:
    parts = []
    if claim.below is not None:
        points = _points(len(claim.below.points))
        parts.append(f"every control over {counted(claim.below.steps, 'step')} at {points}")
    if claim.above is not None:
        parts.append(f"one control over {counted(len(claim.above.weights), 'step')}")
    return f"{'; '.join(parts)}, {LIMIT}"


def _points(count: int) -> str:
    return counted(count, "input")


def _constants(claim: FieldConstantsClaim) -> str:
    constants = [
        f"B {at_most(claim.field_bound)}",
        f"L {at_most(claim.state_lipschitz)}",
        f"m {at_most(claim.growth_rate)} for steps up to {at_least(claim.step_limit)}",
        f"V {at_most(claim.time_variation)}",
        f"differences of atoms {at_most(claim.difference_bound)}",
    ]
    return f"at most {', '.join(constants)}; tube margin at least {at_least(claim.margin)}"


# --- blocks and their coupling --------------------------------------------------------------------


def _coupling(claim: CompositionalClaim, context: ReportContext) -> str:
    """The loss ``T * sum of couplings`` and the coupling that costs most (theory T7.5)."""
    horizon = context.question.horizon
    budgets = [
        (budget, i, k)
        for i, block in enumerate(claim.blocks)
        for k, budget in enumerate(block.coupling)
    ]
    loss = at_most(horizon * sum(budget for budget, _, _ in budgets))
    words = f"{counted(len(claim.blocks), 'block')}; coupling costs {loss} of the squared error"
    costliest = max(budgets, default=None, key=lambda entry: (entry[0], -entry[1], -entry[2]))
    if costliest is None or costliest[0] <= 0:
        return words
    budget, i, k = costliest
    names = state_names(context)
    on, by = _block_name(claim.blocks[i], names), _block_name(claim.blocks[k], names)
    source = "what its local field leaves out" if i == k else f"block {by}"
    return f"{words}, most of all block {on} by {source}: {at_most(horizon * budget)}"


def _block_name(block: Block, names: Sequence[str]) -> str:
    own = [names[i] if i < len(names) else f"z{i + 1}" for i in block.coordinates]
    return f"({in_row(own)})"
