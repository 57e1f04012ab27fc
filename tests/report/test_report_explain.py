"""A verdict in words, and what differs between two studies."""

from __future__ import annotations

from fractions import Fraction

import pytest
from report_examples import LIFTED, VERDICTS, changed, study, study_of, with_tolerance

from qreplace.report.explain import WIDTH, explain, explain_difference
from qreplace.report.words import VERDICTS as WORDS


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("verdict", VERDICTS)
def test_the_explanation_has_question_answer_grounds_and_limits(verdict: str) -> None:
    found = study(verdict)
    text = explain(found.document(), found.report_context())
    headings = [line for line in text.split("\n") if line and not line.startswith(" ")]
    for heading in ("Question", "Answer", "Reason", "What it rests on", "What is not shown"):
        assert heading in headings
    assert f"{WORDS[verdict].headline} ({WORDS[verdict].label})" in flat(text)
    assert found.id in flat(text)
    assert max(len(line) for line in text.split("\n")) <= WIDTH


def test_an_impossible_study_says_by_how_much_and_that_depth_does_not_help() -> None:
    found = study("certified_impossible")
    text = flat(explain(found.document(), found.report_context()))
    assert "missed by at least 0.025" in text
    assert "more depth cannot" in text


def test_the_margin_is_that_of_the_depth_that_comes_closest() -> None:
    found = study("certified_impossible")
    document = found.document()
    allowed = Fraction(document["tolerance"]["hi"])
    for row, margin in zip(document["depths"], (Fraction(1, 2), *[Fraction(1, 8)] * 99),
                           strict=False):  # fmt: skip
        row["interval"]["lower"] = str(allowed + margin)
    assert len(document["depths"]) > 1
    text = flat(explain(document, found.report_context()))
    assert "missed by at least 0.125" in text and "0.5." not in text


def test_a_conditional_study_lists_its_premises_with_label_and_source() -> None:
    found = study("conditionally_feasible")
    text = flat(explain(found.document(), found.report_context()))
    assert "synthesis constant C = 0.1 (calibrated estimate, source: fitted to runs)" in text
    assert "Claims that prove the declared premises" in text


def test_two_equal_studies_have_no_difference() -> None:
    document = study("certified_feasible").document()
    text = explain_difference(document, document)
    assert text.split("\n") == [
        f"The same question (study {document['study'][:16]}).",
        "Verdict, numbers, premises and claims are the same.",
    ]


def test_another_tolerance_turns_the_verdict() -> None:
    one = study("certified_feasible").document()
    other = study("certified_impossible").document()
    text = flat(explain_difference(one, other))
    assert text.startswith("Two questions:")
    assert "Verdict: Yes (certified feasible) in A, No (certified impossible) in B." in text
    assert "Tolerance: 0.15 in A, 0.1 in B." in text
    assert "Best candidate: depth 8" in text
    assert "Floor:" not in text
    # At 0.15 depth 4 is too shallow by its counts; at 0.1 the floor itself excludes every depth.
    assert "Claims only in A: 1 × least error over all counts of one depth." in text
    assert "Claims only in B" not in text


def test_more_depths_and_claims_show_as_such() -> None:
    deeper = study_of(changed(LIFTED, search={"depths": [4, 8, 16]})).document()
    text = flat(explain_difference(study("certified_feasible").document(), deeper))
    assert "Reported depths: 2 in A, 3 in B." in text
    assert "Claims only in B: 1 × error of one schedule." in text


def test_declared_premises_of_one_study_are_named() -> None:
    text = flat(
        explain_difference(
            study("unresolved").document(), study("conditionally_feasible").document()
        )
    )
    assert "Declared, not proved, only in B: synthesis constant C." in text
    assert "smaller upper end in B: 4, 8." in text


def test_an_engine_upgrade_is_named() -> None:
    document = study_of(with_tolerance(LIFTED, "3/20")).document()
    text = explain_difference(document, {**document, "engine": "9.9.9"})
    assert f"Engine: {document['engine']} in A, 9.9.9 in B." in text
