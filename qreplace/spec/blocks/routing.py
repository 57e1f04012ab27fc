"""Routing: none, frozen, prescribed events or events driven by the state (theory T6)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from qreplace.spec.blocks.objective import NormSpec
from qreplace.spec.premises import Norm, NormRate, Score, ScorePerNorm, ScoreSlope, Time
from qreplace.spec.values import Block, bare, kinds, tag

MAX_EVENTS = 1024


class NoRoutingSpec(Block):
    """There is no router."""

    kind: Literal["none"]


class FrozenSpec(Block):
    """T6.4: a score margin on the whole path."""

    kind: Literal["frozen"]
    margin: Score | None = None
    score_error: Score | None = None
    score_lipschitz: ScorePerNorm | None = None
    norm: NormSpec | None = None


class RouteEventSpec(Block):
    """One event of the target route: when, how steeply and how far about it, and what jumps."""

    time: Time
    slope: ScoreSlope
    jump: NormRate
    gap_error: Score
    gap_lipschitz: ScorePerNorm
    isolation: Score
    neighbourhood: Time


class PrescribedEventSpec(Block):
    """A time at which every atom may jump, whatever the state."""

    time: Time
    jump: NormRate


_Events = Annotated[tuple[RouteEventSpec, ...], Field(min_length=1, max_length=MAX_EVENTS)]


class PrescribedSpec(Block):
    """T6.5: event times known in advance."""

    kind: Literal["prescribed"]
    events: Annotated[tuple[PrescribedEventSpec, ...], Field(min_length=1, max_length=MAX_EVENTS)]
    norm: NormSpec | None = None


class StateDependentSpec(Block):
    """T6.1: events driven by the state."""

    kind: Literal["state_dependent"]
    events: _Events
    score_error: Score | None = None
    score_lipschitz: ScorePerNorm | None = None
    outer_isolation: Score | None = None
    oracle_error: Norm | None = None
    norm: NormSpec | None = None


RoutingSpec = Annotated[
    Annotated[NoRoutingSpec, tag("none")]
    | Annotated[FrozenSpec, tag("frozen")]
    | Annotated[PrescribedSpec, tag("prescribed")]
    | Annotated[StateDependentSpec, tag("state_dependent")],
    kinds("none", "frozen", "prescribed", "state_dependent"),
    bare("none", "frozen"),
]
