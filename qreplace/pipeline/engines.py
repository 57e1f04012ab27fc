"""Engines by name: which apply to a system, in which order, and what each one produces.

A task is a generator: claims come out as they are found, so that what was found before a budget ran
out is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from qreplace.claims import Claim
from qreplace.errors import ProducerFailed
from qreplace.question.model import (
    AffineDynamicsSystem,
    ComputedFloor,
    L2Norm,
    PolynomialSystem,
    PwaAtom,
    PwaSystem,
    Question,
)
from qreplace.question.subject import Subject

if TYPE_CHECKING:
    from qreplace.produce.sos_program import Budget


@dataclass(frozen=True, slots=True)
class Limits:
    """What a task may spend, and the depths it is about when it is a finite-depth one.

    ``meets`` and ``exceeds`` are the errors, as exact text, up to which a depth is feasible and
    beyond which it is impossible: a task may stop once one of them is decided.
    """

    depths: tuple[int, ...] = ()
    seconds: float | None = None
    megabytes: int | None = None
    nodes: int | None = None
    meets: str | None = None
    exceeds: str | None = None


Produce = Callable[[Subject, int, Limits], Iterator[Claim]]
"""Called with subject, metadata bits and limits."""

CHEAP = ("affine_lp", "observable", "affine_dynamics", "relaxed_control", "perturbed")
"""Engines that are tried even where the bracket already decides: they take seconds."""

DISCRETE_ORDER = 2
DISCRETE_LIMIT = 6
"""Depths at which a discrete value function is asked for: each is a program of its own."""


def engines_for(question: Question, engine: str) -> tuple[str, ...]:
    """The engines to try, cheapest first: the requested one, or those that apply (theory T7)."""
    if engine != "auto":
        return (engine,)
    system = question.system
    if system.kind == "lifted_affine":
        return ("affine_lp",)
    if system.kind == "affine_dynamics":
        return ("observable", "affine_dynamics")
    if system.kind == "pwa":
        return _piecewise_engines(question)
    tried = ["observable", "relaxed_control", "perturbed"]
    small = isinstance(system, PolynomialSystem) and system.dimension <= 6
    if small:
        tried += ["support", "moment"]
    if not small or (isinstance(question.floor, ComputedFloor) and question.floor.blocks):
        tried.append("compositional")
    return tuple(tried)


def _piecewise_engines(question: Question) -> tuple[str, ...]:
    """Atoms that do not read the state make affine dynamics on the witnesses (theory T7.2)."""
    atoms = getattr(question.dictionary, "atoms", ())
    lifted = question.domain.inputs is not None and all(
        isinstance(atom, PwaAtom) and atom.state_weights is None for atom in atoms
    )
    return ("observable", "affine_dynamics", "net_floor") if lifted else ("net_floor",)


def constants_for(question: Question) -> tuple[str, ...]:
    """What is tried for the constants of a dynamic system: cheap, and every radius rests on it."""
    system = question.system
    if isinstance(system, PwaSystem):
        return ()  # recomputed from the atoms by the radii themselves
    coupled = isinstance(system, AffineDynamicsSystem) and system.matrix is not None
    if coupled and isinstance(question.norm, L2Norm):
        return ("field_constants", "operator_norm")
    return ("field_constants",)


def _observable(subject: Subject, bits: int, limits: Limits) -> Iterator[Claim]:
    from qreplace.produce.observable import produce

    yield produce(subject, bits)
    for depth in limits.depths:
        yield produce(subject, bits, depth)


def _affine_dynamics(subject: Subject, bits: int, limits: Limits) -> Iterator[Claim]:
    from qreplace.produce.affine_dynamics import produce

    yield produce(subject, bits)


def _perturbed(subject: Subject, bits: int, limits: Limits) -> Iterator[Claim]:
    from qreplace.produce.perturbed import produce

    yield produce(subject, bits)


def _relaxed_control(subject: Subject, bits: int, limits: Limits) -> Iterator[Claim]:
    from qreplace.produce.relaxed_control import produce

    yield produce(subject, bits)


def _hjb_sos(subject: Subject, bits: int, limits: Limits) -> Iterator[Claim]:
    from qreplace.produce.hjb_sos import produce

    yield produce(subject, bits, budget=_budget(limits))


def _moment(subject: Subject, bits: int, limits: Limits) -> Iterator[Claim]:
    from qreplace.produce.moment import hierarchy

    yield from hierarchy(subject, bits, budget=_budget(limits))


def _support(subject: Subject, bits: int, limits: Limits) -> Iterator[Claim]:
    from qreplace.produce.support import produce

    yield produce(subject, bits, budget=_budget(limits))


def _compositional(subject: Subject, bits: int, limits: Limits) -> Iterator[Claim]:
    from qreplace.produce.compositional import produce

    yield produce(subject, bits, budget=_budget(limits))


def _field_constants(subject: Subject, bits: int, limits: Limits) -> Iterator[Claim]:
    from qreplace.produce.field_constants import produce

    yield produce(subject, bits)


def _operator_norm(subject: Subject, bits: int, limits: Limits) -> Iterator[Claim]:
    from qreplace.produce.operator_norm import produce

    yield produce(subject, bits)


def _schedules(subject: Subject, bits: int, limits: Limits) -> Iterator[Claim]:
    """A good pure schedule at each depth (theory T7.8, T8.2)."""
    if isinstance(subject.question.system, PwaSystem):
        from qreplace.pipeline.piecewise import suprema

        yield from suprema(subject, bits, limits)
        return
    from qreplace.produce.pure_schedules import produce_schedule

    for depth in limits.depths:
        yield produce_schedule(subject, bits, depth)


def _lower_at_depths(subject: Subject, bits: int, limits: Limits) -> Iterator[Claim]:
    """Lower ends of E_D itself (theory T3.6, T8.4): over all schedules, by support function, or by
    value function.
    """
    if isinstance(subject.question.system, PwaSystem):
        from qreplace.pipeline.piecewise import minima

        yield from minima(subject, bits, limits)
        return
    if subject.question.system.kind == "affine_dynamics":
        from qreplace.produce.affine_dynamics import produce_at_depth

        for depth in limits.depths:
            yield produce_at_depth(subject, bits, depth)
        return
    yield from _value_functions_at(subject, bits, limits)


def _exposed_channel(subject: Subject, bits: int, limits: Limits) -> Iterator[Claim]:
    """Functionals that keep every schedule away over ranges of depths (theory T9)."""
    from qreplace.produce.exposed_channel import produce

    if limits.exceeds is not None:
        yield from produce(subject, bits, limits.depths, Fraction(limits.exceeds))


def has_channel(subject: Subject, bits: int) -> bool:
    """Whether a functional of the state moves by labels and one rate alone (theory T9.2)."""
    from qreplace.produce.exposed_channel import applies

    return applies(subject, bits)


def _value_functions_at(subject: Subject, bits: int, limits: Limits) -> Iterator[Claim]:
    """Discrete value functions, low orders first; a depth that is decided needs no higher one."""
    from qreplace.produce.hjb_sos import produce
    from qreplace.produce.region_search import requested_order

    enough = None if limits.exceeds is None else Fraction(limits.exceeds)
    pending = list(limits.depths[:DISCRETE_LIMIT])
    reasons: list[str] = []
    found = False
    for order in range(1, (requested_order(subject) or DISCRETE_ORDER) + 1):
        for depth in tuple(pending):
            try:
                claim = produce(subject, bits, order=order, depth=depth, budget=_budget(limits))
            except ProducerFailed as error:
                reasons.append(f"depth {depth}, order {order}: {error.message}")
                continue
            yield claim
            found = True
            if enough is not None and claim.lower > enough:
                pending.remove(depth)
    notes = [] if found else reasons[:1]
    if len(limits.depths) > DISCRETE_LIMIT:
        notes.append(f"value functions are formed at {DISCRETE_LIMIT} depths at most")
    if notes:
        raise ProducerFailed("; ".join(notes))


def _comparator(subject: Subject, bits: int, limits: Limits) -> Iterator[Claim]:
    from qreplace.pipeline.piecewise import comparator

    yield from comparator(subject, bits, limits)


def _least_error(subject: Subject, bits: int, limits: Limits) -> Iterator[Claim]:
    """The least error of all schedules as closely as it can be had, whatever the threshold."""
    from qreplace.pipeline.piecewise import minima

    yield from minima(subject, bits, replace(limits, exceeds=None))


def _net_floor(subject: Subject, bits: int, limits: Limits) -> Iterator[Claim]:
    from qreplace.pipeline.piecewise import net_floor

    yield from net_floor(subject, bits, limits)


def _budget(limits: Limits) -> Budget:
    """The budget of a semidefinite program: nodes are iterations of its solver."""
    from qreplace.produce.sos_program import Budget

    budget = Budget(seconds=limits.seconds, iterations=limits.nodes)
    if limits.megabytes is None:
        return budget
    return replace(budget, megabytes=limits.megabytes)


TASKS: dict[str, Produce] = {
    "observable": _observable,
    "affine_dynamics": _affine_dynamics,
    "perturbed": _perturbed,
    "relaxed_control": _relaxed_control,
    "hjb_sos": _hjb_sos,
    "moment": _moment,
    "support": _support,
    "compositional": _compositional,
    "field_constants": _field_constants,
    "operator_norm": _operator_norm,
    "schedules": _schedules,
    "lower_at_depths": _lower_at_depths,
    "exposed_channel": _exposed_channel,
    "comparator": _comparator,
    "least_error": _least_error,
    "net_floor": _net_floor,
}
