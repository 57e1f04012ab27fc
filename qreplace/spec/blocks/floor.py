"""The structural floor: asked to be computed, or declared (theory T7)."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import Field, StrictInt

from qreplace.question.floor import MAX_BLOCKS, MAX_ORDER, MAX_REGION, Engine
from qreplace.question.model import MAX_POLYNOMIAL_DIMENSION
from qreplace.spec.blocks.objective import NormSpec
from qreplace.spec.blocks.polynomial import PolynomialText, StateName
from qreplace.spec.premises import Norm
from qreplace.spec.values import Block, Exact, Shorthand, choose, integer, tag

ENGINE_NAMES: tuple[str, ...] = get_args(Engine)


class FloorBudgetSpec(Block):
    """What one attempt may spend: wall-clock seconds, memory, nodes or solver iterations."""

    seconds: Annotated[StrictInt, integer(1, 10**6)] | None = None
    megabytes: Annotated[StrictInt, integer(64, 10**6)] | None = None
    nodes: Annotated[StrictInt, integer(1, 10**9)] | None = None


class ComputedFloorSpec(Block):
    """Bracket the floor with this engine; ``auto`` tries those that apply, cheapest first.

    ``order`` is r of the moment-SOS hierarchy, ``region`` lists polynomials that are not negative
    along every trajectory, ``blocks`` are the states of each block of a compositional certificate.
    """

    compute: Engine
    order: Annotated[StrictInt, integer(1, MAX_ORDER)] | None = None
    region: Annotated[tuple[PolynomialText, ...], Field(max_length=MAX_REGION)] = ()
    blocks: Annotated[
        tuple[
            Annotated[
                tuple[StateName, ...],
                Field(min_length=1, max_length=MAX_POLYNOMIAL_DIMENSION),
            ],
            ...,
        ],
        Field(max_length=MAX_BLOCKS),
    ] = ()
    budget: FloorBudgetSpec | None = None


class DeclaredFloorSpec(Block):
    """A declared bracket. ``covers``: whether ``lower`` was shown for this dictionary or a family.

    ``weights`` are the mixing weights said to attain ``upper``: a simplex, one an atom.
    """

    lower: Norm | None = None
    upper: Norm | None = None
    covers: Literal["dictionary", "family"] = "dictionary"
    norm: NormSpec | None = None
    weights: Annotated[tuple[Exact, ...], Field(min_length=1)] | None = None


def _floor_kind(value: Any) -> str | None:
    if not isinstance(value, dict):
        return None
    if "compute" in value:
        return "compute"
    return "declared" if "lower" in value or "upper" in value else None


def _as_engine(value: Any) -> dict[str, Any] | None:
    return {"compute": value} if type(value) is str else None


FloorSpec = Annotated[
    Annotated[ComputedFloorSpec, tag("compute")] | Annotated[DeclaredFloorSpec, tag("declared")],
    choose("an object with compute, or with lower or upper", _floor_kind),
    Shorthand(
        "an engine such as auto, or an object with compute, or with lower or upper",
        _as_engine,
        {"enum": list(ENGINE_NAMES)},
    ),
]
