"""The texts of a specification that are for people and outside the question."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from qreplace.spec.blocks import constants as c
from qreplace.spec.blocks import dictionary as d
from qreplace.spec.blocks import floor as f
from qreplace.spec.model import Spec


@dataclass(frozen=True, slots=True)
class AtomLabel:
    """What the specification calls an atom, and how it says the atom was made."""

    name: str
    recipe: str


@dataclass(frozen=True, slots=True)
class Labels:
    """Texts for people; nothing here is part of the question or of its identifier.

    ``premises`` holds descriptions by the premise's path in the question, such as
    ``synthesis.field_bound``. ``code_atoms`` are the atoms of each metadata budget that has its
    own dictionary. ``mixing_weights`` are those said to attain a declared upper end. ``states`` are
    the names of a polynomial system's coordinates, in order; empty for other systems.
    """

    title: str
    notes: str
    target: str
    architecture: str
    checkpoint: str
    atoms: tuple[AtomLabel, ...]
    code_atoms: dict[int, tuple[AtomLabel, ...]]
    premises: dict[str, str]
    mixing_weights: tuple[Fraction, ...]
    states: tuple[str, ...] = ()


def labels(spec: Spec, premises: dict[str, str]) -> Labels:
    """The texts of a specification; ``premises`` are the descriptions gathered while lowering."""
    system, target, floor = spec.system, spec.target, spec.structural_floor
    codes = spec.metadata.codes if isinstance(spec.metadata, c.CodesSpec) else ()
    listed = spec.dictionary if isinstance(spec.dictionary, d.ListedDictionarySpec) else None
    declared = target if isinstance(target, d.DeclaredTargetSpec) else None
    return Labels(
        title=spec.title,
        notes=spec.notes,
        target=target.name,
        architecture=declared.architecture if declared else "",
        checkpoint=declared.checkpoint if declared else "",
        atoms=_atom_labels(listed),
        code_atoms={code.bits: _atom_labels(code.dictionary) for code in codes},
        premises=premises,
        mixing_weights=(floor.weights or ()) if isinstance(floor, f.DeclaredFloorSpec) else (),
        states=system.names if isinstance(system, d.PolynomialSystemSpec) else (),
    )


def _atom_labels(spec: d.ListedDictionarySpec | None) -> tuple[AtomLabel, ...]:
    if spec is None:
        return ()
    return tuple(AtomLabel(atom.name, atom.recipe) for atom in spec.atoms)
