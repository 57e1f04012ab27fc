"""The state's coordinates as reports name them; given names are the author's texts."""

from __future__ import annotations

import math

from qreplace.exact.polynomial_text import state_names as plain_names
from qreplace.question.model import (
    DeclaredSystem,
    LinearTarget,
    PolynomialSystem,
    PwaSystem,
    Question,
    VectorTarget,
)
from qreplace.report.context import ReportContext
from qreplace.report.text import one_line

LONGEST_NAME = 24


def state_names(context: ReportContext) -> tuple[str, ...]:
    """One name a coordinate, on one line and not long; ``z1 .. zn`` where none is given."""
    dimension = state_dimension(context.question)
    given = context.labels.states
    if len(given) == dimension:
        return tuple(one_line(name, LONGEST_NAME) for name in given)
    return tuple(plain_names(dimension)[1:])


def state_dimension(question: Question) -> int:
    """The number of coordinates as the shapes in the question say it; 0 where they do not."""
    system, target = question.system, question.target
    if isinstance(system, (DeclaredSystem, PolynomialSystem, PwaSystem)):
        return system.dimension
    if isinstance(target, VectorTarget):
        return math.prod(target.values.shape)
    if not isinstance(target, LinearTarget):
        return 0
    inputs = question.domain.inputs
    return target.weights.shape[0] * inputs.shape[0] if inputs is not None else 0
