"""The hierarchy: exact at every step, better with every step, and clear about what stopped it."""

from __future__ import annotations

from math import e

import numpy as np
import pytest
from dynamic_truth import affine_floor, endpoints
from lifted_questions import L2
from value_systems import BILINEAR, INTEGRATOR, STEPS, SWITCHED, accepted_lower, system

from qreplace.errors import ProducerFailed
from qreplace.produce.moment import MomentProducer, produce, proposed_control
from qreplace.produce.regions import NoRegion
from qreplace.produce.sos_program import Budget


def test_every_step_is_exact_and_the_best_is_kept() -> None:
    subject = system(INTEGRATOR, [1, 0])
    producer = MomentProducer(subject, 0)
    best = producer.best(2)
    assert [step.order for step in producer.steps] == [1, 2]
    values = [step.value for step in producer.steps]
    assert values == sorted(values) and best.value == values[-1]  # type: ignore[type-var]
    for step in producer.steps:
        assert step.value is not None and step.numerical is not None
        assert step.reason == ""
    truth = affine_floor(subject.polynomial(0), L2)
    assert truth - 0.002 < accepted_lower(subject, best.claim) < truth + 1e-5


def test_small_gains_end_an_unasked_hierarchy() -> None:
    """Degree 2 is already exact for ``x' = u``: nobody needs degree 6."""
    producer = MomentProducer(system(STEPS, [2]), 0)
    producer.best(None)
    assert [step.order for step in producer.steps] == [1, 2]


def test_the_questions_order_is_the_last() -> None:
    subject = system(SWITCHED, [2], order=1)
    claim = produce(subject, 0)
    assert claim.value_function.degree == 2
    assert 1.3 < accepted_lower(subject, claim) < 1 + 1 / e


def test_a_depth_has_its_own_hierarchy() -> None:
    """Four steps of ``x' = -x + u`` towards 2 end at ``1 - (3/4)^4`` at best."""
    subject = system(SWITCHED, [2])
    lower = accepted_lower(subject, produce(subject, 0, depth=4, order=2))
    assert 1.3163 < lower <= 2 - (1 - 0.75**4)


def test_steps_that_fail_are_named_and_the_rest_is_kept() -> None:
    """Order 2 exceeds the rows allowed; order 1 stands."""
    producer = MomentProducer(system(INTEGRATOR, [1, 0]), 0, budget=Budget(gram_rows=5))
    best = producer.best(2)
    assert best.reach.order == 1
    assert producer.steps[1].value is None
    assert "needs Gram matrices of 10 rows" in producer.steps[1].reason


def test_a_hierarchy_without_a_certificate_says_what_stopped_each_step() -> None:
    with pytest.raises(ProducerFailed) as caught:
        MomentProducer(system(INTEGRATOR, [1, 0]), 0, budget=Budget(gram_rows=3)).best(2)
    message = caught.value.message
    assert message.startswith("the hierarchy ends without an exact certificate: order 1: ")
    assert "order 2: " in message


def test_nothing_is_tried_again_without_a_region_or_time() -> None:
    escaping = MomentProducer(system([["1 + z1^2"], ["z1^2"]], [2], horizon=2), 0)
    with pytest.raises(ProducerFailed, match="no region"):
        escaping.best(4)
    assert len(escaping.steps) == 1
    assert issubclass(NoRegion, ProducerFailed)
    late = MomentProducer(system(SWITCHED, [2]), 0, budget=Budget(seconds=1e-3))
    with pytest.raises(ProducerFailed, match="time budget"):
        late.best(4)
    assert len(late.steps) == 1


@pytest.mark.parametrize(
    ("atoms", "target", "floor", "loss"),
    [
        (SWITCHED, [2], 1 + 1 / e, 1e-6),
        (INTEGRATOR, [1, 0], 0.68725, 0.02),
        (BILINEAR, [1, 1], 1.05102, 0.02),
    ],
)
def test_proposed_controls_end_near_the_floor(
    atoms: list[list[str]], target: list[int], floor: float, loss: float
) -> None:
    subject = system(atoms, target)
    weights = proposed_control(subject, 0, cells=16)
    assert weights.shape == (16, len(atoms))
    assert (weights >= 0).all()
    assert np.allclose(weights.sum(axis=1), 1)
    end = endpoints(subject.polynomial(0), weights[None])[0]
    assert np.linalg.norm(end - np.array(target)) <= floor + loss
