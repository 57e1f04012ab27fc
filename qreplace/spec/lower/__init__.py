"""From a valid specification and its arrays to the canonical question, and the texts for people.

Lowering decides nothing: every contradiction has been found before. What is omitted becomes
``None`` (unavailable); ``none`` and ``exact`` become ``Absent`` (design rule 4).
"""

from __future__ import annotations

from qreplace.question import model as q
from qreplace.spec.blocks.piecewise import PiecewiseSystemSpec
from qreplace.spec.lower.asked import (
    dictionary,
    domain,
    initial,
    norm,
    objective,
    system,
    target,
)
from qreplace.spec.lower.budget import FloorBudget, budget
from qreplace.spec.lower.context import Lowering
from qreplace.spec.lower.known import floor, metadata, synthesis, tube
from qreplace.spec.lower.labels import AtomLabel, Labels, labels
from qreplace.spec.lower.run import execution, routing, search
from qreplace.spec.model import Spec
from qreplace.spec.resolve import Resolved

__all__ = ["AtomLabel", "FloorBudget", "Labels", "budget", "lower"]


def lower(spec: Spec, resolved: Resolved) -> tuple[q.Question, Labels]:
    """The question that a valid specification asks, and its texts."""
    inputs = spec.system.inputs if isinstance(spec.system, PiecewiseSystemSpec) else 0
    context = Lowering(resolved, inputs)
    study_norm = norm(spec.objective.norm)
    question = q.Question(
        format=q.FORMAT,
        objective=objective(spec, study_norm, context),
        scope=spec.objective.scope,
        norm=study_norm,
        domain=domain(spec.objective.domain, context),
        horizon=spec.horizon.value,
        system=system(spec.system, context),
        initial=initial(spec, context),
        tube=tube(spec.tube, context),
        target=target(spec.target, context),
        dictionary=dictionary(spec.dictionary, ("dictionary",), context),
        floor=floor(spec, context),
        synthesis=synthesis(spec, context),
        metadata=metadata(spec.metadata, context),
        execution=execution(spec.execution, context),
        routing=routing(spec.routing, context),
        search=search(spec),
        costs=q.Costs(
            codebook=spec.costs.codebook,
            metadata_bit=spec.costs.metadata_bit,
            schedule_bit=spec.costs.schedule_bit,
            step=spec.costs.step,
        ),
        certificates=tuple(
            q.Certificate(item.claim, item.sha256, item.required) for item in spec.certificates
        ),
    )
    return question, labels(spec, context.premises)
