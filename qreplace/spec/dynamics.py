"""Contradictions about what moves: the system against its target, atoms, floor and start.

Part of ``contradictions``; the same rules are refused again, without words for people, by the
question itself (``question/model.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from qreplace.exact.rational import format_rational
from qreplace.spec.blocks.constants import ComputedSynthesisSpec, DeclaredTubeSpec
from qreplace.spec.blocks.dictionary import (
    AffineDynamicsSpec,
    AtomSpec,
    CountedDictionarySpec,
    DeclaredSystemSpec,
    DeclaredTargetSpec,
    ForcingAtomSpec,
    LiftedAffineSpec,
    LinearTargetSpec,
    PolynomialAtomSpec,
    PolynomialSystemSpec,
    VectorAtomSpec,
)
from qreplace.spec.blocks.floor import ComputedFloorSpec
from qreplace.spec.blocks.objective import FullDomainSpec
from qreplace.spec.blocks.piecewise import (
    NetworkSpec,
    PiecewiseAtomSpec,
    PiecewiseSystemSpec,
    ScheduleSpec,
)
from qreplace.spec.checks import (
    Check,
    Findings,
    a_system,
    contradiction,
    engines_of,
    listed_dictionaries,
)
from qreplace.spec.findings import Finding, Location, needed
from qreplace.spec.model import Spec

_DYNAMIC = (AffineDynamicsSpec, PolynomialSystemSpec)
_FROM_ZERO = (LiftedAffineSpec, PiecewiseSystemSpec)
"""Start at zero where nothing is said."""
_OWN_CONSTANTS = (LiftedAffineSpec, PiecewiseSystemSpec)
"""Their data determine the constants of the synthesis radius."""


# --- data and horizon ---------------------------------------------------------------------------


def _given_data(spec: Spec) -> Findings:
    """Whatever is computed needs the target and the atoms themselves."""
    if isinstance(spec.system, DeclaredSystemSpec):
        return
    name = a_system(spec.system.kind)
    if isinstance(spec.target, DeclaredTargetSpec):
        yield contradiction(("target",), needed(f"a target with data for {name}", "a declared one"))
    if isinstance(spec.dictionary, CountedDictionarySpec):
        yield contradiction(("dictionary",), needed(f"the atoms of {name}", "only their number"))
    if isinstance(spec.system, PolynomialSystemSpec) and isinstance(spec.target, LinearTargetSpec):
        yield contradiction(
            ("target",), needed(f"a target of kind vector for {name}", spec.target.kind)
        )


def _witnesses_only(spec: Spec) -> Findings:
    if isinstance(spec.system, _DYNAMIC) and isinstance(spec.objective.domain, FullDomainSpec):
        yield contradiction(
            ("objective", "domain"),
            needed(
                f"the domain witnesses for {a_system(spec.system.kind)}",
                "the full domain",
                "It has one initial state and one target.",
            ),
        )


def _lifted_horizon(spec: Spec) -> Findings:
    if isinstance(spec.system, LiftedAffineSpec) and spec.horizon.value != 1:
        yield contradiction(
            ("horizon",),
            needed(
                "horizon 1 for a lifted_affine system",
                format_rational(spec.horizon.value),
                "Multiply the atoms by the horizon instead.",
            ),
        )


def _initial_state(spec: Spec) -> Findings:
    system, initial = spec.system, spec.initial_state
    if isinstance(system, _FROM_ZERO):
        allowed = "zero or an array"
    else:
        declared = isinstance(system, DeclaredSystemSpec)
        allowed = "zero, from_input or an array" if declared else "zero or an array"
        if initial is None:
            name = a_system(system.kind)
            message = f"missing key 'initial_state': {name} needs {allowed}"
            yield Finding((), message, "missing-key")
    if initial == "from_input" and not isinstance(system, DeclaredSystemSpec):
        yield contradiction(
            ("initial_state",), needed(f"{allowed} for {a_system(system.kind)}", "from_input")
        )


def _linear_inputs(spec: Spec) -> Findings:
    on_witnesses = isinstance(spec.target, LinearTargetSpec) and isinstance(
        spec.system, (LiftedAffineSpec, AffineDynamicsSpec)
    )
    if on_witnesses and spec.objective.domain.inputs is None:
        yield contradiction(
            ("objective", "domain"),
            needed("the witness inputs of a linear map (domain.inputs)", "none"),
        )


# --- atoms --------------------------------------------------------------------------------------


def _wanted_atoms(spec: Spec) -> tuple[str, tuple[str, ...]]:
    """What every atom must be, in words and as kinds; no kinds where the target is wrong."""
    maps = ("linear_map", "quantized_linear")
    if isinstance(spec.system, PiecewiseSystemSpec):
        return "a piecewise atom, as the system is piecewise", ("piecewise",)
    if isinstance(spec.target, (ScheduleSpec, NetworkSpec)):
        return "", ()
    if isinstance(spec.system, PolynomialSystemSpec):
        return "a polynomial field, as the system is polynomial", ("polynomial",)
    if isinstance(spec.target, LinearTargetSpec):
        return "a map of the witnesses, as the target is", maps
    if isinstance(spec.system, AffineDynamicsSpec):
        return "a vector or a forcing, as the target is a vector", ("vector", "forcing")
    if isinstance(spec.target, DeclaredTargetSpec):
        return "a vector or a map, whose values do not depend on time or state", ("vector", *maps)
    return "a vector, as the target is", ("vector",)


def _atom_kinds(spec: Spec) -> Findings:
    wanted, kinds = _wanted_atoms(spec)
    for location, dictionary in listed_dictionaries(spec):
        for index, atom in enumerate(dictionary.atoms):
            if kinds and atom.kind not in kinds:
                yield contradiction(
                    (*location, "atoms", index),
                    needed(wanted, f"an atom of kind {atom.kind}", _remedy(atom, spec)),
                )


def _remedy(atom: AtomSpec, spec: Spec) -> str:
    """Which system the atom would fit, where another one does."""
    if isinstance(atom, ForcingAtomSpec) and not isinstance(spec.system, AffineDynamicsSpec):
        return "Forcings belong to a system of kind affine_dynamics."
    if isinstance(atom, PolynomialAtomSpec):
        return "Polynomial fields belong to a system of kind polynomial."
    if isinstance(atom, PiecewiseAtomSpec):
        return "Piecewise atoms belong to a system of kind piecewise."
    if isinstance(atom, VectorAtomSpec) and isinstance(spec.system, PolynomialSystemSpec):
        return "Write each entry as a constant polynomial."
    return ""


def _field_lengths(spec: Spec) -> Findings:
    if not isinstance(spec.system, PolynomialSystemSpec):
        return
    names = spec.system.names
    for location, dictionary in listed_dictionaries(spec):
        for index, atom in enumerate(dictionary.atoms):
            if isinstance(atom, PolynomialAtomSpec) and len(atom.field) != len(names):
                yield contradiction(
                    (*location, "atoms", index, "field"),
                    needed(
                        f"{_polynomials(len(names))}, one a state ({_short(names)})",
                        str(len(atom.field)),
                    ),
                )


def _piece_starts(spec: Spec) -> Findings:
    """The pieces of a forcing follow one another from time 0."""
    for where, starts in _pieces(spec):
        for index, start in enumerate(starts):
            if index == 0 and start != 0:
                wanted = "a first piece that starts at time 0"
            elif index and start <= starts[index - 1]:
                wanted = f"a start after {format_rational(starts[index - 1])}"[:80]
            else:
                continue
            yield contradiction(
                (*where, index, "start"), needed(wanted, format_rational(start)[:40])
            )


def _pieces_within_horizon(spec: Spec) -> Findings:
    end = spec.horizon.value
    for where, starts in _pieces(spec):
        for index, start in enumerate(starts):
            if start >= end:
                yield contradiction(
                    (*where, index, "start"),
                    needed(
                        f"a start before the horizon {format_rational(end)}"[:80],
                        format_rational(start)[:40],
                    ),
                )


def _pieces(spec: Spec) -> Iterator[tuple[Location, list[Fraction]]]:
    for location, dictionary in listed_dictionaries(spec):
        for index, atom in enumerate(dictionary.atoms):
            if isinstance(atom, ForcingAtomSpec):
                starts = [piece.start.value for piece in atom.pieces]
                yield (*location, "atoms", index, "pieces"), starts


# --- constants ----------------------------------------------------------------------------------


def _computed_synthesis(spec: Spec) -> Findings:
    computed = isinstance(spec.synthesis, ComputedSynthesisSpec)
    own = isinstance(spec.system, _OWN_CONSTANTS)
    if own and spec.synthesis is not None and not computed:
        yield contradiction(
            ("synthesis",),
            needed(
                f"synthesis computed for {a_system(spec.system.kind)}",
                spec.synthesis.kind,
                "Its data determine the constants.",
            ),
        )
    if computed and isinstance(spec.system, DeclaredSystemSpec):
        yield contradiction(
            ("synthesis",),
            needed("a system with data for computed synthesis", "a declared system"),
        )


def _lifted_tube(spec: Spec) -> Findings:
    if isinstance(spec.system, LiftedAffineSpec) and isinstance(spec.tube, DeclaredTubeSpec):
        yield contradiction(
            ("tube",), needed("no tube for a lifted_affine system", "a declared one")
        )


# --- the requested floor ------------------------------------------------------------------------

_HINTS = {
    "order": ("auto", "hjb_sos", "moment", "support", "compositional"),
    "region": ("auto", "hjb_sos", "moment", "support"),
    "blocks": ("auto", "compositional"),
}
"""The engines that a hint means something to."""


def _engine(spec: Spec) -> Findings:
    floor, kind = spec.structural_floor, spec.system.kind
    if not isinstance(floor, ComputedFloorSpec) or floor.compute in engines_of(kind):
        return
    where = ("structural_floor", "compute")
    if not engines_of(kind):
        message = needed(
            f"a system with data for the engine {floor.compute}",
            a_system(kind),
            "Declare lower or upper instead.",
        )
    else:
        message = needed(
            f"an engine that applies to {a_system(kind)} ({', '.join(engines_of(kind))})",
            floor.compute,
        )
    yield contradiction(where, message)


def _hints(spec: Spec) -> Findings:
    """Order, region and blocks only where some engine uses them; a budget where one may be cut."""
    floor, system = spec.structural_floor, spec.system
    if not isinstance(floor, ComputedFloorSpec) or floor.compute not in engines_of(system.kind):
        return
    lifted, polynomial = (isinstance(system, s) for s in (LiftedAffineSpec, PolynomialSystemSpec))
    if lifted and floor.budget is not None:
        message = "no budget: the engine of a lifted_affine system ends by itself"
        yield contradiction(("structural_floor", "budget"), needed(message, "one"))
    for name, engines in _HINTS.items():
        value = getattr(floor, name)
        if value in (None, ()):
            continue
        # On affine dynamics `auto` tries no engine that has an order.
        apply = polynomial or (name == "order" and floor.compute != "auto")
        if floor.compute not in engines:
            wanted = f"no {name} for the engine {floor.compute}: only {_engines(engines)} use it"
        elif not apply or lifted:
            wanted = f"no {name} for {a_system(system.kind)} with the engine {floor.compute}"
        else:
            continue
        yield contradiction(("structural_floor", name), needed(wanted, "one"))


def _engines(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _blocks(spec: Spec) -> Findings:
    """Blocks name every state exactly once."""
    floor, system = spec.structural_floor, spec.system
    if not isinstance(floor, ComputedFloorSpec) or not floor.blocks:
        return
    if not isinstance(system, PolynomialSystemSpec):
        return  # found by ``_hints``
    where: Location = ("structural_floor", "blocks")
    seen: set[str] = set()
    for number, block in enumerate(floor.blocks):
        for index, name in enumerate(block):
            if name not in system.names:
                message = needed(f"the name of a state ({_short(system.names)})", name)
                yield contradiction((*where, number, index), message)
            elif name in seen:
                message = needed("every state in one block only", f"{name} a second time")
                yield contradiction((*where, number, index), message)
            seen.add(name)
    left = [name for name in system.names if name not in seen]
    if left:
        yield contradiction(where, needed("a block for every state", f"none for {_short(left)}"))


def _short(names: tuple[str, ...] | list[str]) -> str:
    shown = ", ".join(names[:12])
    return shown if len(names) <= 12 else f"{shown} and {len(names) - 12} more"


def _polynomials(count: int) -> str:
    return "1 polynomial" if count == 1 else f"{count} polynomials"


DYNAMICS_CHECKS: tuple[Check, ...] = (
    Check(("system", "target", "dictionary"), _given_data),
    Check(("system", "objective"), _witnesses_only),
    Check(("system", "horizon"), _lifted_horizon),
    Check(("system", "initial_state"), _initial_state),
    Check(("target", "system", "objective"), _linear_inputs),
    Check(("system", "target", "dictionary", "metadata"), _atom_kinds),
    Check(("system", "dictionary", "metadata"), _field_lengths),
    Check(("dictionary", "metadata"), _piece_starts),
    Check(("dictionary", "metadata", "horizon"), _pieces_within_horizon),
    Check(("system", "synthesis"), _computed_synthesis),
    Check(("system", "tube"), _lifted_tube),
    Check(("system", "structural_floor"), _engine),
    Check(("system", "structural_floor"), _hints),
    Check(("system", "structural_floor"), _blocks),
)
