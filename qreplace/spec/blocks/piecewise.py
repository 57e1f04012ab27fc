"""Piecewise-affine maps of an input: system, region, atoms, and maps given whole (theory T8)."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, StrictInt, model_validator
from pydantic_core import CoreSchema, core_schema

from qreplace.question.model import MAX_ATOMS
from qreplace.question.piecewise import MAX_INPUTS, MAX_PWA_STEPS, MAX_PWA_WIDTH
from qreplace.spec.blocks.array import ArraySpec, ThresholdsSpec
from qreplace.spec.blocks.atom import NamedAtomSpec
from qreplace.spec.findings import needed, shown
from qreplace.spec.values import Block, Exact, Positive, Text, choose, fault, integer, tag

# --- the inputs ---------------------------------------------------------------------------------


class BallRegionSpec(Block):
    """``||y - center||_2 <= radius``, about the origin by default; a disk is a ball of 2 inputs."""

    kind: Literal["ball", "disk"]
    radius: Positive
    center: ArraySpec | None = None


class BoxRegionSpec(Block):
    """``lower <= y <= upper``, a number an input each."""

    kind: Literal["box"]
    lower: ArraySpec
    upper: ArraySpec


class PolygonRegionSpec(Block):
    """A convex polygon of two inputs by its corners, shape n x 2, counterclockwise."""

    kind: Literal["polygon"]
    vertices: ArraySpec


class PolytopeRegionSpec(Block):
    """``normals y <= offsets``: shapes m x p and m; bounded and with interior points."""

    kind: Literal["polytope"]
    normals: ArraySpec
    offsets: ArraySpec


_REGIONS = ("ball", "disk", "box", "polygon", "polytope")


def _region_kind(value: Any) -> str | None:
    kind = value.get("kind") if isinstance(value, dict) else None
    if kind not in _REGIONS:
        return None
    return "ball" if kind == "disk" else str(kind)


RegionSpec = Annotated[
    Annotated[BallRegionSpec, tag("ball")]
    | Annotated[BoxRegionSpec, tag("box")]
    | Annotated[PolygonRegionSpec, tag("polygon")]
    | Annotated[PolytopeRegionSpec, tag("polytope")],
    choose("one of the kinds " + ", ".join(_REGIONS), _region_kind),
]


class PiecewiseSystemSpec(Block):
    """``z' = G_j(z)(y)`` for every input y, fields piecewise affine in state and input (T8.1).

    ``inputs`` is the length p of an input, ``dimension`` the length d of the state and output.
    """

    kind: Literal["piecewise"]
    inputs: Annotated[StrictInt, integer(1, MAX_INPUTS)]
    dimension: Annotated[StrictInt, integer(1, MAX_PWA_WIDTH)]
    region: RegionSpec | None = None

    @model_validator(mode="after")
    def _two_inputs(self) -> PiecewiseSystemSpec:
        kind = self.region.kind if self.region is not None else ""
        if kind in ("disk", "polygon") and self.inputs != 2:
            remedy = {"disk": "Use a ball.", "polygon": "Use a polytope or a box."}[kind]
            received = f"a {kind} with inputs: {self.inputs}"
            raise fault(
                needed(f"2 inputs for a {kind}", received, remedy), at=("region",), code="shape"
            )
        return self


# --- atoms --------------------------------------------------------------------------------------


class PiecewiseAtomSpec(NamedAtomSpec):
    """``G(z)(y) = V phi(W y + S z + b) + A z - leak z + c`` (T8.1 with V = I and leak 1).

    ``input_weights`` W, ``state_weights`` S, ``bias`` b, ``output_weights`` V, ``state_matrix`` A,
    ``offset`` c; what is left out is zero, V the identity. ``leak`` left out is 1 for
    ``soft_threshold`` and in the layers of a network, else 0.
    """

    kind: Literal["piecewise"] = "piecewise"
    activation: Literal["soft_threshold", "relu", "identity"]
    input_weights: ArraySpec | None = None
    state_weights: ArraySpec | None = None
    bias: ArraySpec | None = None
    thresholds: ThresholdsSpec | None = None
    output_weights: ArraySpec | None = None
    state_matrix: ArraySpec | None = None
    leak: Exact | None = None
    offset: ArraySpec | None = None

    @model_validator(mode="after")
    def _thresholds_with_their_activation(self) -> PiecewiseAtomSpec:
        soft = self.activation == "soft_threshold"
        if soft and self.thresholds is None:
            message = "missing key 'thresholds': soft_threshold needs one, or one a coordinate"
            raise fault(message, code="missing-key")
        if not soft and self.thresholds is not None:
            message = needed("no thresholds: only soft_threshold has them", self.activation)
            raise fault(message, at=("thresholds",), code="contradiction")
        if self.input_weights is None and self.state_weights is None:
            message = needed("input_weights, state_weights or both", "neither")
            raise fault(message, code="missing-key")
        return self


# --- schedules ----------------------------------------------------------------------------------


class Steps(NamedTuple):
    """The atom of each step, the first step first, and whether digits said so."""

    atoms: tuple[int, ...]
    digits: bool


MAX_DIGIT_ATOMS = 10


def _steps(value: Any) -> Steps:
    """A text of digits, blanks between them at will, or a list of numbers."""
    if type(value) is str:
        for position, character in enumerate(value, 1):
            if character not in "0123456789 ":
                received = f"{character!r} at character {position}"
                raise fault(needed("a digit a step, such as 0010", received))
        found = tuple(map(int, value.replace(" ", "")))
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            if type(entry) is not int or entry < 0:
                raise fault(needed("the number of an atom, from 0", shown(entry)), at=(index,))
        found = tuple(value)
    else:
        what = "the steps as a text of digits or a list of numbers"
        raise fault(needed(what, shown(value), 'Put digits in quotes, as in "0010".'), code="type")
    if not 1 <= len(found) <= MAX_PWA_STEPS:
        raise fault(needed(f"1 to {MAX_PWA_STEPS} steps", str(len(found))), code="count")
    return Steps(found, isinstance(value, str))


STEPS_SCHEMA: dict[str, Any] = {
    "anyOf": [
        {"type": "string", "pattern": r"^[0-9 ]*[0-9][0-9 ]*$"},
        {
            "type": "array",
            "items": {"type": "integer", "minimum": 0},
            "minItems": 1,
            "maxItems": MAX_PWA_STEPS,
        },
    ],
    "description": (
        "The atom of each step, the first step first, counted from 0: a text of digits for at "
        f"most {MAX_DIGIT_ATOMS} atoms, or a list of numbers; at most {MAX_PWA_STEPS} steps."
    ),
}


class _StepsReader:
    """The annotation behind ``steps``."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(_steps)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return STEPS_SCHEMA


StepsSpec = Annotated[Steps, _StepsReader()]


def unknown_step(steps: Steps, count: int) -> tuple[tuple[str | int, ...], str] | None:
    """Where below a schedule, and why, its steps do not fit ``count`` atoms; else ``None``."""
    if steps.digits and count > MAX_DIGIT_ATOMS:
        received = f"digits with {count} atoms"
        wanted = f"a list of numbers where there are more than {MAX_DIGIT_ATOMS} atoms"
        return ("steps",), needed(wanted, received)
    for index, atom in enumerate(steps.atoms):
        if atom >= count:
            known = "0, the only atom" if count == 1 else f"an atom from 0 to {count - 1}"
            where = ("steps",) if steps.digits else ("steps", index)
            return where, needed(f"{known}, at step {index + 1}", str(atom)[:20])
    return None


# --- maps given whole ---------------------------------------------------------------------------

MapAtoms = Annotated[tuple[PiecewiseAtomSpec, ...], Field(min_length=1, max_length=MAX_ATOMS)]


class ScheduleSpec(Block):
    """Euler steps of the atoms that ``steps`` names, from the initial state: horizon / depth each.

    The atoms are the map's own, whatever the dictionary holds.
    """

    kind: Literal["schedule"]
    name: Text = ""
    atoms: MapAtoms
    steps: StepsSpec

    @model_validator(mode="after")
    def _known_atoms(self) -> ScheduleSpec:
        wrong = unknown_step(self.steps, len(self.atoms))
        if wrong is not None:
            raise fault(wrong[1], at=wrong[0], code="contradiction")
        return self


class NetworkSpec(Block):
    """Layer after layer ``z <- V phi(W y + S z + b) + (A + I - leak I) z + c``."""

    kind: Literal["network"]
    name: Text = ""
    layers: Annotated[tuple[PiecewiseAtomSpec, ...], Field(min_length=1, max_length=MAX_PWA_STEPS)]


def _atoms_kind(value: Any) -> str:
    return "word" if isinstance(value, str) else "atoms"


class ComparatorScheduleSpec(Block):
    """A schedule of atoms of its own, or, with ``atoms: target``, of those of the target."""

    kind: Literal["schedule"]
    name: Text = ""
    atoms: Annotated[
        Annotated[Literal["target"], tag("word")] | Annotated[MapAtoms, tag("atoms")],
        choose("target or a list of atoms", _atoms_kind),
    ]
    steps: StepsSpec

    @model_validator(mode="after")
    def _known_atoms(self) -> ComparatorScheduleSpec:
        wrong = None if self.atoms == "target" else unknown_step(self.steps, len(self.atoms))
        if wrong is not None:
            raise fault(wrong[1], at=wrong[0], code="contradiction")
        return self


MapSpec = ScheduleSpec | NetworkSpec | ComparatorScheduleSpec
