"""The whole specification, ``qreplace/spec/v1``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from qreplace.spec.blocks.array import ArraySpec
from qreplace.spec.blocks.constants import MetadataSpec, SynthesisSpec, TubeSpec
from qreplace.spec.blocks.dictionary import DictionarySpec, SystemSpec, TargetSpec
from qreplace.spec.blocks.execution import ExecutionSpec
from qreplace.spec.blocks.floor import FloorSpec
from qreplace.spec.blocks.objective import ObjectiveSpec
from qreplace.spec.blocks.routing import RoutingSpec
from qreplace.spec.blocks.search import CertificateSpec, CostsSpec, SearchSpec
from qreplace.spec.premises import Duration, duration
from qreplace.spec.values import Block, Text, choose, tag

FORMAT: Literal["qreplace/spec/v1"] = "qreplace/spec/v1"
MAX_CERTIFICATES = 4096

InitialWord = Literal["zero", "from_input"]


def _initial_kind(value: object) -> str | None:
    return "word" if isinstance(value, str) else "array"


InitialSpec = Annotated[
    Annotated[InitialWord, tag("word")] | Annotated[ArraySpec, tag("array")],
    choose("zero, from_input or an array", _initial_kind),
]


class Spec(Block):
    """A question for qreplace and the premises it may use."""

    format: Literal["qreplace/spec/v1"]
    title: Text = ""
    notes: Text = ""
    objective: ObjectiveSpec
    system: SystemSpec
    horizon: Duration = Field(default_factory=lambda: duration(1), json_schema_extra={"default": 1})
    initial_state: InitialSpec | None = None
    tube: TubeSpec | None = None
    target: TargetSpec
    dictionary: DictionarySpec
    structural_floor: FloorSpec | None = None
    synthesis: SynthesisSpec | None = None
    metadata: MetadataSpec | None = None
    execution: ExecutionSpec | None = None
    routing: RoutingSpec | None = None
    search: SearchSpec
    costs: CostsSpec = Field(default_factory=CostsSpec, json_schema_extra={"default": {}})
    certificates: Annotated[tuple[CertificateSpec, ...], Field(max_length=MAX_CERTIFICATES)] = ()
