"""Exposed channels among the attempts: before single depths, and only where something is open."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from dynamic_questions import affine_question, polynomial_question
from lifted_questions import LINF

from qreplace.claims import claim_bytes
from qreplace.claims.exposed_channel import ExposedChannelClaim
from qreplace.errors import ProducerFailed
from qreplace.pipeline import attempts
from qreplace.pipeline.attempts import Produced, attempt_budget, produce_claims
from qreplace.pipeline.engines import TASKS
from qreplace.pipeline.worker import Answer, Task
from qreplace.question.model import DepthRange, Emulation, Question, Search
from qreplace.question.subject import Subject
from qreplace.spec import FloorBudget

TEACHER = "0.632120558827"
"""Just below 1 - 1/e."""


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks without a process of their own: which of them run is the point here."""

    def run(subject: Subject, task: Task) -> Answer:
        answer = Answer()
        try:
            for claim in TASKS[task.name](subject, task.bits, task.limits):
                answer.claims.append(claim_bytes(claim))
        except ProducerFailed as error:
            answer.failed = str(error)
        return answer

    monkeypatch.setattr(attempts, "run", run)


def produced_for(question: Question) -> Produced:
    limits = attempt_budget(FloorBudget(None, None, None), FloorBudget(120, 4096, None))
    return produce_claims(Subject(question, {}), limits, lambda *_: None)


def asked(tolerance: str, depths: tuple[int, int]) -> dict[str, Any]:
    return {
        "objective": Emulation("emulation", Fraction(tolerance)),
        "search": Search((DepthRange(*depths, 1),), (0,)),
        "norm": LINF,
    }


def channels(produced: Produced) -> list[ExposedChannelClaim]:
    return [c for c in produced.claims.values() if isinstance(c, ExposedChannelClaim)]


def test_one_claim_excludes_what_a_zero_floor_leaves_open() -> None:
    question = affine_question([[0], [1]], [TEACHER], rate=-1, **asked("1/40", (1, 9)))
    produced = produced_for(question)
    assert produced.floor_ends(0)[0] == 0
    (claim,) = channels(produced)
    assert (claim.first, claim.last) == (1, 7)  # E_7 = 0.0280, E_8 = 0.0243
    order = [attempt.engine for attempt in produced.attempts]
    assert order.index("affine_dynamics") < order.index("exposed_channel")
    assert order.index("exposed_channel") < order.index("schedules")
    assert "lower_at_depths" not in order


def test_polynomials_have_channels_too() -> None:
    """The first coordinate is the teacher; nothing is known to bring the second one to 9."""
    atoms = [["-z1", "z1*z2"], ["1 - z1", "z1*z2 + 1"]]
    question = polynomial_question(atoms, [TEACHER, "1/2"], engine="relaxed_control",
                                   **asked("1/40", (3, 6)))  # fmt: skip
    (claim,) = channels(produced_for(question))
    assert (claim.first, claim.last) == (3, 6)
    assert claim.witness.vector.indices == (0,)


def test_a_search_that_finds_nothing_is_reported() -> None:
    question = affine_question([[0], [1]], ["1/2"], rate=-1, **asked("1/1000", (9, 9)))
    tried = {attempt.engine: attempt for attempt in produced_for(question).attempts}
    assert tried["exposed_channel"].outcome == "failed"
    assert "decides an open depth" in tried["exposed_channel"].detail


def test_nothing_is_tried_where_nothing_is_open_or_no_functional_serves() -> None:
    turning = affine_question([[1, 0], [0, 1]], [1, 1], state_matrix=[[0, 1], [-1, 0]],
                              **asked("1/1000", (2, 2)))  # fmt: skip
    roomy = affine_question([[0], [1]], [TEACHER], rate=-1, **asked("9", (4, 4)))
    for question in (turning, roomy):
        tried = [attempt.engine for attempt in produced_for(question).attempts]
        assert "exposed_channel" not in tried
