"""Attempts: engines in order, budgets, processes of their own, and what is reported of them."""

from __future__ import annotations

import json
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from dynamic_questions import affine_question, polynomial_question
from lifted_questions import LINF, make_question
from piecewise_questions import atom, box, pwa_question, reference

from qreplace.claims import claim_kind, read_claim
from qreplace.exact.document import sha256_hex
from qreplace.pipeline import attempts, decide, worker
from qreplace.pipeline.attempts import Produced, attempt_budget, produce_claims
from qreplace.pipeline.engines import TASKS, Limits, constants_for, engines_for
from qreplace.pipeline.worker import Answer, Task, run
from qreplace.question.model import ENGINES, ComputedFloor, DepthRange, Emulation, Question, Search
from qreplace.question.subject import Subject
from qreplace.spec import FloorBudget

NO_BUDGET = FloorBudget(None, None, None)
SWITCHED = [["-z1"], ["1 - z1"]]
"""x' = -x + u, u in {0, 1}."""


def silent(stage: str, done: int, total: int) -> None:
    """No progress."""


def switched(tolerance: str = "1/10", atoms: list[list[str]] = SWITCHED, **fields: Any) -> Question:
    """The switched scalar with target 2: the floor is 1 + 1/e, about 1.3679."""
    fields.setdefault("search", Search((DepthRange(1, 4, 1),), (0,)))
    objective = Emulation("emulation", Fraction(tolerance))
    return polynomial_question(atoms, [2], objective=objective, **fields)


def produced_for(question: Question, budget: FloorBudget = NO_BUDGET) -> Produced:
    limits = attempt_budget(budget, FloorBudget(120, 4096, None))
    return produce_claims(Subject(question, {}), limits, silent)


def test_every_engine_has_a_task() -> None:
    named = {engine for engines in ENGINES.values() for engine in engines}
    assert named - {"auto", "affine_lp"} <= TASKS.keys()


def test_auto_tries_what_applies_and_one_engine_stands_alone() -> None:
    lifted = make_question([1], [[0]])
    assert engines_for(lifted, "auto") == ("affine_lp",)
    assert engines_for(affine_question([[1]], [1]), "auto") == ("observable", "affine_dynamics")
    small = polynomial_question(SWITCHED, [2])
    assert "compositional" not in engines_for(small, "auto")
    blocks = polynomial_question([["z2", "1"]], [1, 1], blocks=[[0], [1]])
    assert engines_for(blocks, "auto")[-1] == "compositional"
    wide = polynomial_question([["1"] * 7], [1] * 7)
    assert engines_for(wide, "auto")[-1] == "compositional"
    assert "moment" not in engines_for(wide, "auto")
    for question in (lifted, small, blocks, wide):
        assert set(engines_for(question, "auto")) <= set(ENGINES[question.system.kind])
    assert engines_for(small, "support") == ("support",)


def test_the_operator_norm_of_coupled_states_is_certified_in_l2() -> None:
    rows = [[-1, 2], [0, -1]]
    coupled = affine_question([[1, 0], [0, 1]], [2, 2], state_matrix=rows)
    assert constants_for(coupled) == ("field_constants", "operator_norm")
    assert constants_for(switched()) == ("field_constants",)
    assert constants_for(affine_question([[1]], [1])) == ("field_constants",)
    produced = produced_for(coupled)
    tried = {attempt.engine: attempt.outcome for attempt in produced.attempts}
    assert tried["operator_norm"] == "kept"


def test_a_study_of_a_polynomial_system_brackets_its_floor() -> None:
    produced = produced_for(switched())
    lower, upper = produced.floor_ends(0)
    assert lower is not None
    assert upper is not None
    assert Fraction(1367, 1000) < lower <= upper < Fraction(1369, 1000)
    tried = {attempt.engine: attempt for attempt in produced.attempts}
    assert tried["field_constants"].outcome == "kept"
    assert tried["observable"].outcome == "failed"
    assert "observable" in tried["observable"].detail
    assert tried["relaxed_control"].upper == upper
    assert all(attempt.seconds >= 0 for attempt in produced.attempts)


def test_expensive_engines_stop_once_the_answer_is_known() -> None:
    """A floor that exceeds the tolerance needs no better lower end; else they are tried.

    x' = -x^3 + u: the floor is about 1.158, and a nearby affine system shows a little less.
    """
    cubic = [["-z1^3"], ["1 - z1^3"]]
    shallow = Search((DepthRange(1, 1, 1),), (0,))
    far = produced_for(switched("1/10", atoms=cubic, search=shallow))
    outcomes = {a.engine: a for a in far.attempts}
    assert outcomes["moment"].outcome == "not_tried"
    assert "exceeds the tolerance" in outcomes["moment"].detail
    affine_lower = outcomes["perturbed"].lower
    assert affine_lower is not None
    tolerance = str(affine_lower + Fraction(1, 100))
    near = produced_for(switched(tolerance, atoms=cubic, search=shallow))
    tried = {a.engine: a for a in near.attempts}
    assert tried["support"].outcome in ("kept", "no_better")
    lower, upper = near.floor_ends(0)
    assert lower is not None
    assert upper is not None
    assert affine_lower < lower <= upper


def test_a_narrow_bracket_needs_nothing_more() -> None:
    outcomes = {a.engine: a for a in produced_for(switched()).attempts}
    assert outcomes["moment"].outcome == "not_tried"
    assert "already narrow" in outcomes["moment"].detail


def test_surpassed_claims_are_dropped_and_said_to_be() -> None:
    produced = produced_for(switched("2"))
    floors = [
        (claim_kind(produced.claims[digest]), bound)
        for digest, bounds in produced.proved.items()
        for bound in bounds
        if getattr(bound, "quantity", "") == "relaxed_floor" and bound.side == "lower"
    ]
    by_evidence = {bound.evidence for _, bound in floors}
    assert len(floors) == len(by_evidence)
    reported = {attempt.outcome for attempt in produced.attempts}
    assert "kept" in reported


def test_a_named_engine_is_tried_alone() -> None:
    question = switched(engine="hjb_sos", order=1)
    produced = produced_for(question)
    assert [a.engine for a in produced.attempts][:2] == ["field_constants", "hjb_sos"]
    assert "moment" not in {a.engine for a in produced.attempts}
    lower, _ = produced.floor_ends(0)
    assert lower is not None
    assert 0 < lower < Fraction(1368, 1000)


def test_depths_that_radii_leave_open_get_claims_of_their_own() -> None:
    """E_1 of the switched scalar with target 2 is exactly 1: from 0 one step reaches 1."""
    produced = produced_for(switched("12/10"))
    at_one = [
        bound.value
        for bounds in produced.proved.values()
        for bound in bounds
        if getattr(bound, "quantity", "") == "ideal_error" and 1 in bound.depths
    ]
    assert Fraction(1) in at_one


# --- budgets --------------------------------------------------------------------------------------


def test_budgets_are_what_is_asked_within_the_ceiling() -> None:
    asked = FloorBudget(500, None, 7)
    assert attempt_budget(asked, None) == FloorBudget(500, attempts.DEFAULT_MEGABYTES, 7)
    ceiling = FloorBudget(60, 100, None)
    assert attempt_budget(asked, ceiling) == FloorBudget(60, 100, 7)
    assert attempt_budget(NO_BUDGET, None).seconds == attempts.DEFAULT_SECONDS
    assert attempt_budget(NO_BUDGET, FloorBudget(None, None, 3)).nodes == 3


HARD = polynomial_question(
    [
        ["z2*z3 - z1^3", "z1 - z2^3 + 1", "z1*z2 - z3^3"],
        ["z2*z3 - z1^3", "z1 - z2^3 - 1", "z1*z2 - z3^3"],
    ],
    [1, 1, 1],
    engine="moment",
    order=3,
)
"""Too large a program for a second or for little memory."""


def test_a_task_is_stopped_at_its_time_budget() -> None:
    answer = run(Subject(HARD, {}), Task("moment", 0, Limits((), 1, 4096)))
    assert answer.spent == "the time budget of 1 s"
    assert answer.seconds < 20


def test_a_task_is_held_to_its_memory_budget() -> None:
    answer = run(Subject(HARD, {}), Task("moment", 0, Limits((), 120, 64)))
    assert "memory budget" in answer.spent
    assert not answer.claims


def test_what_was_cut_short_is_among_the_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first screen says that a budget ended an attempt, the bundle does not know of clocks."""
    spent = Answer(spent="the time budget of 1 s", seconds=1.0)
    monkeypatch.setattr(attempts, "run", lambda subject, task: spent)
    study = decide(Path(__file__).parents[2] / "examples" / "switched-scalar.yaml")
    document = study.document()
    cut = [a for a in document["attempts"] if a["outcome"] == "stopped"]
    named = [reason for reason in document["reasons"] if "was cut short" in reason]
    assert cut
    assert len(cut) == len(named)
    assert not study.complete
    assert study.decision["reasons"] == document["reasons"][: len(document["reasons"]) - len(cut)]


def test_a_stopped_attempt_is_reported_and_not_complete() -> None:
    produced = produced_for(HARD, FloorBudget(1, None, None))
    stopped = [a for a in produced.attempts if a.engine == "moment"]
    assert [a.outcome for a in stopped] == ["stopped"]
    assert "time budget of 1 s ran out" in stopped[0].detail


def test_a_producer_that_ends_itself_in_time_is_stopped_too() -> None:
    """Its own clock runs a tenth ahead, so it says what stopped it, and the answer is not whole."""
    task = Task("moment", 0, Limits((), 4, 4096))
    assert worker._cut_itself_short(Answer(seconds=3.7), task)
    assert not worker._cut_itself_short(Answer(seconds=3.5), task)
    assert not worker._cut_itself_short(Answer(seconds=1e9), Task("moment", 0))


def test_what_was_found_before_the_end_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines of a child up to where it was cut; an unfinished line is dropped."""
    lines = b'{"claim": "one"}\n{"claim": "two"}\n{"cla'
    answer = worker._read(lines)
    assert answer.claims == [b"one", b"two"]
    assert worker._read(b'{"failed": "no"}\n{"done": true}\n').failed == "no"


def test_a_child_that_dies_says_so() -> None:
    answer = run(Subject(switched(), {}), Task("no such task", 0, Limits((), 60)))
    assert "ended with code 1" in answer.failed
    assert "KeyError" in answer.failed


def test_an_interrupt_ends_the_child(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    real = subprocess.Popen.communicate

    def interrupted(self: subprocess.Popen[bytes], *args: Any, **kwargs: Any) -> Any:
        if not started:
            started.append(self)
            raise KeyboardInterrupt
        return real(self, *args, **kwargs)

    monkeypatch.setattr(subprocess.Popen, "communicate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(Subject(switched(), {}), Task("observable", 0))
    assert started[0].returncode is not None


def test_the_child_prints_claims_as_json_lines() -> None:
    question = affine_question([["1/2", 1], ["1/2", -1]], [2, 0], norm=LINF, rate="-1")
    answer = run(Subject(question, {}), Task("observable", 0))
    assert answer.failed == ""
    claims = [read_claim(data) for data in answer.claims]
    assert [claim_kind(claim) for claim in claims] == ["observable"]


def test_a_claim_the_checker_refuses_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """A producer that lies changes nothing and is named."""
    question = affine_question([["1/2", 1], ["1/2", -1]], [2, 0], norm=LINF, rate="-1")
    subject = Subject(question, {})
    honest = run(subject, Task("observable", 0)).claims[0]
    tree = json.loads(honest)
    tree["lower"] = "1000"
    forged = json.dumps(tree, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    monkeypatch.setattr(attempts, "run", lambda subject, task: Answer(claims=[forged]))
    limits = attempt_budget(NO_BUDGET, None)
    produced = produce_claims(subject, limits, silent)
    assert not produced.claims
    assert sha256_hex(forged) not in produced.proved
    assert all(a.outcome == "failed" for a in produced.attempts)
    assert "the checker refused what it produced" in produced.attempts[0].detail


def test_codes_get_their_own_attempts() -> None:
    """A declared floor asks for nothing; a computed one asks at every budget with a dictionary."""
    assert isinstance(switched().floor, ComputedFloor)
    declared = switched(floor=None)
    assert produced_for(declared).attempts == []


# --- the worker's folder --------------------------------------------------------------------------


def test_modules_beside_the_specification_are_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "random.py").write_text("print('hi')\nraise SystemExit(7)\n")
    (tmp_path / "qreplace").mkdir()
    (tmp_path / "qreplace/__init__.py").write_text("raise SystemExit(8)\n")
    monkeypatch.chdir(tmp_path)
    answer = run(Subject(switched(), {}), Task("field_constants", 0))
    assert answer.claims and not answer.failed and not answer.spent


def test_a_line_that_is_no_answer_is_a_failure_not_a_crash() -> None:
    answer = worker._read(b'{"claim": "x"}\nhello\n{"done": true}\n')
    assert answer.claims == [b"x"] and "something else" in answer.failed


# --- piecewise-affine systems ---------------------------------------------------------------------


def soft_line(steps: int, tolerance: str, last: int, **fields: Any) -> Question:
    """Thresholds 0 and 1 on [-1, 1] against the same atom with threshold 1/2."""
    low = [atom([[1]], thresholds=[level]) for level in (0, 1)]
    target = reference([atom([[1]], thresholds=["1/2"])], [0] * steps)
    return pwa_question(
        low, target, dimension=1, inputs=1, region=box([-1], [1]), norm=LINF,
        objective=Emulation("emulation", Fraction(tolerance)),
        search=Search((DepthRange(1, last, 1),), (0,)), **fields,
    )  # fmt: skip


def engines_tried(produced: Produced) -> list[str]:
    return [a.engine for a in produced.attempts if a.outcome != "not_tried"]


def test_shallow_depths_decide_before_any_floor_is_asked_for() -> None:
    produced = produced_for(soft_line(1, "1/5", 2))
    assert engines_tried(produced) == ["schedules", "lower_at_depths"]
    assert {a.engine for a in produced.attempts if a.outcome == "not_tried"} == {"net_floor"}


def test_a_depth_that_works_ends_the_search_and_smaller_ones_are_excluded() -> None:
    # Zero is half of the target's largest value away: depth 1 errs by 1/2, depth 2 by less.
    produced = produced_for(soft_line(1, "9/20", 6))
    kinds = [(claim_kind(claim), claim) for claim in produced.claims.values()]
    suprema = [c for kind, c in kinds if kind == "pwa_supremum"]
    minima = [c for kind, c in kinds if kind == "schedule_minimum"]
    assert {len(c.map.schedule) for c in suprema} == {1, 2}  # type: ignore[union-attr]
    assert {c.depth for c in minima} == {1, 2}  # type: ignore[union-attr]
    # At the depth that works the least error itself is pinned, whatever the tolerance.
    (least,) = (c.lower for c in minima if c.depth == 2)  # type: ignore[union-attr]
    (largest,) = (c.upper for c in suprema if len(c.map.schedule) == 2)  # type: ignore[union-attr]
    assert largest is not None and largest - Fraction(1, 10**6) < least <= largest


def test_the_ends_of_several_depths_are_not_shown_as_one_bracket() -> None:
    produced = produced_for(soft_line(1, "1/5", 2))
    by_engine = {a.engine: a for a in produced.attempts}
    schedules, lower = by_engine["schedules"], by_engine["lower_at_depths"]
    assert schedules.lower is None and schedules.upper is not None
    assert lower.upper is None and lower.lower is not None
    assert lower.lower <= schedules.upper


def test_a_comparator_given_as_a_map_is_bracketed_first() -> None:
    soft = atom([[1]], thresholds=["1/2"])
    question = pwa_question(
        [atom([[1]], thresholds=["1/3"])], reference([soft], [0] * 8), dimension=1, inputs=1,
        region=box([-1], [1]), norm=LINF, comparator=reference([soft], [0]),
        search=Search((DepthRange(1, 2, 1),), (0,)),
    )  # fmt: skip
    produced = produced_for(question)
    assert engines_tried(produced)[0] == "comparator"
    own = next(a for a in produced.attempts if a.engine == "comparator")
    # The reference ends at (1 - (7/8)^8) S_{1/2}; one step at S_{1/2} itself.
    assert own.lower == own.upper == Fraction(7, 8) ** 8 / 2
