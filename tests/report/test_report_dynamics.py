"""Reports on systems with dynamics: every kind's line, what was tried, what stands in the way."""

from __future__ import annotations

import dataclasses
import json
from fractions import Fraction
from typing import Any

import pytest
from dynamic_examples import (
    ONE,
    ONE_OF_EACH,
    TURNING,
    TWO,
    affine_claim,
    blocks,
    context_of,
    document_of,
    field_constants,
    gram_claim,
    observable,
    relaxed,
    schedule,
    support,
    value_function,
    worked_example,
)
from html_reader import Element, only, read_html
from report_examples import HOSTILE, LIFTED, changed, study_of, with_tolerance

from qreplace.claims import KINDS, Claim
from qreplace.claims.frozen import FrozenClaim
from qreplace.decision import words as decision_words
from qreplace.decision.plan import CLAIMED_ORDER, ORDER_RULE
from qreplace.report import render
from qreplace.report.attempts import attempt_rows
from qreplace.report.claim_words import about
from qreplace.report.context import Attempt, Outcome
from qreplace.report.explain import explain
from qreplace.report.references import references
from qreplace.report.summary import floor_checked, weakest_words
from qreplace.report.terminal import MAX_LINES, WIDTH, render_terminal
from qreplace.report.words import CLAIMS, ENDS, short_not_shown

ABOUT = {
    "affine_dynamics": "support function of a functional of 2 coordinates, limit of large depth; "
    "control of 2 pieces",
    "perturbed": "atoms within 0.142858 of a nominal affine system, limit of large depth",
    "hjb_sos": "degree 2 value function, limit of large depth",
    "compositional": "2 blocks; coupling costs 0.458334 of the squared error, most of all block "
    "(z2) by block (z1): 0.333334",
    "support": "degree 1 bound of a functional of 1 coordinate, limit of large depth",
    "observable": "2 common functionals, limit of large depth",
    "relaxed_control": "relaxed control of 1 piece, 8 steps of order 6",
    "operator_norm": "l2 norm of the weights of atom 3: at most 1.33334 (by definiteness)",
    "field_constants": "at most B 1.33334, L 1.66667, m -0.666666 for steps up to 0.666666, "
    "V 0.333334, differences of atoms 2.33334; tube margin at least 0.666666",
}
ABOUT |= {
    "pwa_supremum": "one schedule over every witness at depth 2",
    "schedule_minimum": "every schedule, 3 prefixes at 1 input, at depth 3",
    "count_minimum": "every choice of counts, 2 parts, at depth 4",
    "net_floor": "every control over 2 steps at 1 input; one control over 1 step, limit of large "
    "depth",
    "lattice": "codes of every schedule at depths 3 to 9 (by intervals): state -4..5, "
    "increment -1..2, carry -8..8, accumulator 0..7",
    "exposed_channel": "every schedule along a functional of 1 coordinate with 2 labels at depths "
    "3 to 40, labels off by at most 0.142858",
}
QUESTION_OF = {"compositional": TWO, "affine_dynamics": TURNING}


def flat(text: str) -> str:
    return " ".join(text.split())


def page_of(question: Any, claims: list[Claim], **context: Any) -> list[Element]:
    files = render(document_of(question, claims), context_of(question, claims, **context),
                   figures=False)  # fmt: skip
    return read_html(files["report.html"])


def attempt(engine: str, outcome: Outcome, detail: str = "", **ends: Any) -> Attempt:
    kept = int(outcome in ("kept", "stopped"))
    return Attempt(engine, 0, outcome, detail, ends.get("lower"), ends.get("upper"), kept, 1.234)


# --- every kind -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_its_words(kind: str) -> None:
    limit = decision_words.NOT_SHOWN_BY_KIND[kind]
    assert limit.startswith(f"{kind}: ")
    assert short_not_shown(limit) != limit
    assert CLAIMS[kind]
    assert weakest_words(f"{kind} lower end (interval_certified)") == (
        f"lower end of {ENDS[kind]} (certified by interval enclosure)"
    )


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_with_an_end_has_words_for_reasons(kind: str) -> None:
    fields = {field.name for field in dataclasses.fields(KINDS[kind])}
    if "lower" in fields:
        assert kind in decision_words._LOWER
    if fields & {"upper", "error"}:
        assert kind in decision_words._UPPER


def test_there_is_an_example_of_every_new_kind() -> None:
    old = {"affine_lp", "schedule_error", "frozen"}
    assert set(ONE_OF_EACH) == set(ABOUT) == KINDS.keys() - old


@pytest.mark.parametrize("kind", ONE_OF_EACH)
def test_every_kind_has_its_line_and_its_limit(kind: str) -> None:
    question, claim = QUESTION_OF.get(kind, ONE), ONE_OF_EACH[kind]
    context = context_of(question, [claim])
    assert about(claim, context)[1] == ABOUT[kind]
    text = only(page_of(question, [claim]), "section", id="claims").text
    assert ABOUT[kind][1:] in text
    assert "Not more than that:" in text
    markdown = render(document_of(question, [claim]), context, figures=False)["report.md"].decode()
    assert ABOUT[kind].split("(")[0].strip() in markdown
    shown = flat(explain(document_of(question, [claim]), context))
    assert f"1 × {CLAIMS[kind]}" in shown


def test_claims_at_a_depth_say_so_and_stand_in_its_order() -> None:
    context = context_of(ONE, [])
    at_eight = value_function("1 - z1", 1, 0, depth=8)
    assert about(at_eight, context) == (8, "degree 1 value function at depth 8")
    assert about(observable(1, depth=4), context) == (4, "1 common functional at depth 4")
    assert about(schedule(1, (0, 3), (1, 2)), context) == (5, "schedule at depth 5, 2 runs")
    assert about(support(depth=3), context)[1].endswith("at depth 3")
    claims = [value_function("1 - z1", 1, 0, depth=d) for d in (16, 2)]
    text = only(page_of(ONE, [*claims, worked_example()]), "section", id="claims").text
    places = [text.index(words) for words in ("limit of large", "at depth 2", "at depth 16")]
    assert places == sorted(places)


def test_metadata_bits_and_unknown_claims() -> None:
    coded = dataclasses.replace(worked_example(), code=3)
    assert about(coded, context_of(ONE, []))[1].endswith(", 3 metadata bits")
    assert about(None, context_of(ONE, [])) == (0, "")


def test_the_costliest_coupling_uses_the_names_and_the_horizon() -> None:
    question = dataclasses.replace(TWO, horizon=Fraction(3))
    text = about(blocks(), context_of(question, [], states=("mass", "heat")))[1]
    assert "coupling costs 1.375 of the squared error" in text
    assert text.endswith("most of all block (heat) by block (mass): 1")


def test_a_block_that_pays_for_itself_or_nobody() -> None:
    claim, zero = blocks(), Fraction(0)
    first, second = claim.blocks
    own = dataclasses.replace(second, coupling=(zero, Fraction(1, 2)))
    inward = dataclasses.replace(claim, blocks=(first, own))
    assert "by what its local field leaves out: 0.5" in about(inward, context_of(TWO, []))[1]
    free = dataclasses.replace(
        claim, blocks=tuple(dataclasses.replace(b, coupling=(zero, zero)) for b in claim.blocks)
    )
    assert about(free, context_of(TWO, []))[1] == (
        "2 blocks; coupling costs 0 of the squared error"
    )


def test_the_terminal_holds_every_kind() -> None:
    claims = list(ONE_OF_EACH.values())
    text = render_terminal(document_of(TWO, claims), context_of(TWO, claims))
    assert len(text.split("\n")) <= MAX_LINES
    assert max(map(len, text.split("\n"))) <= WIDTH


# --- whether the floor is checked -----------------------------------------------------------------

FROZEN = FrozenClaim("qreplace/claim/frozen/v1", "a" * 64, 0, 4, Fraction(1), Fraction(1))


@pytest.mark.parametrize(
    ("claim", "checked"),
    [
        (worked_example(), True),
        (support(), True),
        (relaxed(1, (1, (1, 0))), True),
        (affine_claim(lower=Fraction(1)), True),
        (schedule(1, (0, 4)), False),
        (value_function("1", 1, 1, depth=4), False),
        (affine_claim(lower=Fraction(1), depth=4), False),
        (observable(), False),
        (FROZEN, False),
    ],
)
def test_a_floor_is_checked_when_a_claim_about_it_has_its_end(claim: Claim, checked: bool) -> None:
    document = document_of(ONE, [claim], bracket=(1, 1))
    assert floor_checked(document, context_of(ONE, [claim])) is checked


def test_without_the_claims_at_hand_their_kind_tells() -> None:
    context = context_of(ONE, [])
    assert floor_checked(document_of(ONE, [worked_example()], bracket=(1, 1)), context)
    assert not floor_checked(document_of(ONE, [FROZEN], bracket=(1, 1)), context)
    assert not floor_checked(document_of(ONE, [worked_example()]), context)


# --- the obstruction ------------------------------------------------------------------------------


def obstructed(question: Any, claim: Claim, kind: str, *entries: tuple[int, str]) -> dict[str, Any]:
    document = document_of(question, [claim], bracket=(1, None))
    heaviest = [
        {"coordinate": place, "witness": 0, "output": place, "weight": weight}
        for place, weight in entries
    ]
    document["obstruction"] = {
        "claim": kind, "lower": str(getattr(claim, "lower", 1)), "tolerance": "1/2",
        "missed_by": "1/2", "coordinates": len(entries), "witnesses": [], "heaviest": heaviest,
    }  # fmt: skip
    return document


@pytest.mark.parametrize("kind", ["hjb_sos", "compositional", "affine_dynamics", "something_new"])
def test_an_obstruction_without_a_functional_has_no_table(kind: str) -> None:
    files = render(obstructed(ONE, worked_example(), kind), context_of(ONE, []), figures=False)
    elements = read_html(files["report.html"])
    section = only(elements, "section", id="obstruction")
    assert "Every control misses the target by at least 1" in section.text
    assert "missed by at least 0.5" in section.text
    assert not [e for e in elements if e.attributes.get("aria-label") == "Heaviest coordinates"]
    part = files["report.md"].decode().split("## What stands in the way")[1].split("\n## ")[0]
    assert "|" not in part
    assert "missed by at least 0.5" in flat(
        explain(obstructed(ONE, worked_example(), kind), context_of(ONE, []))
    )


@pytest.mark.parametrize(
    ("kind", "claim"), [("affine_dynamics", affine_claim()), ("observable", observable())]
)
def test_an_obstruction_names_the_coordinates_of_its_functional(kind: str, claim: Any) -> None:
    document = obstructed(TWO, claim, kind, (0, "1/2"), (1, "-1/2"))
    context = context_of(TWO, [claim], states=("mass", "heat"))
    section = only(
        read_html(render(document, context, figures=False)["report.html"]), "section",
        id="obstruction",
    ).text  # fmt: skip
    assert "It weighs 2 coordinates." in section
    assert "mass" in section
    assert "heat" in section
    assert "50.0 %" in section
    assert "witness" not in section.lower()


def test_an_obstruction_at_one_depth_says_nothing_of_others() -> None:
    discrete = value_function("1 - z1", 1, 1, depth=8)
    document = obstructed(ONE, discrete, "hjb_sos")
    page = render(document, context_of(ONE, [discrete]), figures=False)["report.html"]
    text = only(read_html(page), "section", id="obstruction").text
    assert "Every schedule of depth 8 misses the target by at least 1" in text
    assert "Every control" not in text


@pytest.mark.parametrize(
    ("order", "words"),
    [(CLAIMED_ORDER, "a claim below holds it in full"), (ORDER_RULE, "counts and order above")],
)
def test_a_long_schedule_says_where_it_is(order: str, words: str) -> None:
    plan = {
        "depth": 8192, "metadata_bits": 0, "weights": None, "counts": [8192, 0], "schedule": None,
        "order": order, "error": "1/2", "atoms": [{"index": 0, "sha256": "c" * 64, "uses": 8192}],
    }  # fmt: skip
    document = {**document_of(ONE, []), "plan": plan}
    page = render(document, context_of(ONE, []), figures=False)["report.html"]
    assert words in only(read_html(page), "section", id="plan").text


# --- what was tried -------------------------------------------------------------------------------

TRIED = [
    attempt("observable", "failed", "the atoms agree on no functional"),
    attempt("moment", "stopped", "300 seconds ran out", lower=Fraction(1, 3)),
    attempt("relaxed_control", "kept", upper=Fraction(2, 3)),
    attempt("support", "no_better", lower=Fraction(1, 7)),
    attempt("compositional", "not_tried", "the bracket is already narrow"),
]


def test_every_attempt_is_a_row_with_its_gain_and_its_obstacle() -> None:
    table = only(page_of(ONE, [], attempts=TRIED), "section", id="attempts").text
    for piece in ("failed", "stopped", "300 seconds ran out", "0.333333", "0.666667", "0.142857",
                  "checked, but others are tighter", "already narrow", "1.23"):  # fmt: skip
        assert piece in table
    assert table.count("1.23") == len(TRIED) - 1  # what was not tried took no time
    context = context_of(ONE, [], attempts=TRIED)
    markdown = render(document_of(ONE, []), context, figures=False)["report.md"].decode()
    part = markdown.split("## What was tried")[1].split("\n## ")[0]
    assert part.count("\n| ") == len(TRIED) + 2  # and two lines of header
    told = flat(explain(document_of(ONE, []), context))
    assert "(moment): stopped, at least 0.333333, 1.23 s; 300 seconds ran out." in told


@pytest.mark.parametrize("tried", [[], [attempt("affine_lp", "kept")]])
def test_a_study_without_more_than_one_attempt_shows_no_table(tried: list[Attempt]) -> None:
    elements = page_of(ONE, [], attempts=tried)
    assert not [e for e in elements if e.attributes.get("id") == "attempts"]
    context = context_of(ONE, [], attempts=tried)
    assert (
        b"What was tried" not in render(document_of(ONE, []), context, figures=False)["report.md"]
    )
    assert "What was tried" not in explain(document_of(ONE, []), context)


@pytest.mark.parametrize("outcome", ["failed", "stopped"])
def test_a_single_attempt_that_did_not_go_through_is_shown(outcome: Outcome) -> None:
    elements = page_of(ONE, [], attempts=[attempt("moment", outcome, "memory ran out")])
    assert "memory ran out" in only(elements, "section", id="attempts").text


def test_details_of_attempts_are_escaped() -> None:
    tried = [attempt("moment", "failed", HOSTILE), attempt(HOSTILE[:60], "kept")]
    files = render(document_of(ONE, []), context_of(ONE, [], attempts=tried), figures=False)
    elements = read_html(files["report.html"])
    assert "script" not in {e.tag for e in elements}
    assert "alert(1)" in only(elements, "section", id="attempts").text
    assert "<script>" not in files["report.md"].decode()


def test_json_lists_the_attempts_of_the_document() -> None:
    document = {**document_of(ONE, []), "attempts": [{"engine": "moment", "lower": "1/3"}]}
    loaded = json.loads(render(document, context_of(ONE, []), figures=False)["report.json"])
    assert loaded["attempts"] == [{"engine": "moment", "lower": "1/3"}]
    keys = list(loaded)
    assert keys.index("claims") < keys.index("attempts") < keys.index("weakest")


def test_a_lifted_study_that_its_floor_decides_has_one_attempt_and_no_table() -> None:
    found = study_of(with_tolerance(LIFTED, "1/10"))
    files = render(found.document(), found.report_context(), figures=False)
    assert len(found.attempts) == 1
    assert b'id="attempts"' not in files["report.html"]


def test_exact_searches_of_counts_show_among_the_attempts() -> None:
    """Untimed, as everything of a lifted study."""
    found = study_of(changed(LIFTED))
    files = render(found.document(), found.report_context(), figures=False)
    assert [a.engine for a in found.attempts] == ["affine_lp", "count_minimum"]
    assert [row.seconds for row in attempt_rows(found.attempts)] == ["", ""]
    assert b'id="attempts"' in files["report.html"]


# --- references -----------------------------------------------------------------------------------


def keys(claims: list[Claim], attempts: list[Attempt] | None = None) -> set[str]:
    found = references(document_of(ONE, claims), claims, attempts or [])
    return {reference.key for reference in found} - {"qr2026"}


def test_a_claim_names_what_its_own_proof_rests_on() -> None:
    assert keys([support()]) == {"lasserre2008"}
    assert keys([worked_example()]) == {"lasserre2008", "moore2009"}
    assert keys([gram_claim()]) == {"lasserre2008", "moore2009", "peyrl2008"}
    assert keys([field_constants()]) == {"moore2009"}
    assert keys([affine_claim()]) == {"moore2009"}
    assert keys([relaxed(1, (1, (1, 0)))]) == {"nedialkov1999", "makino2003"}
    assert keys([schedule(1, (0, 2))]) == keys([observable()]) == set()


def test_solvers_are_named_when_this_run_called_them() -> None:
    kept, skipped = attempt("moment", "kept"), attempt("moment", "not_tried")
    assert keys([], [kept]) == {"diamond2016", "goulart2024"}
    assert keys([], [skipped, attempt("observable", "kept")]) == set()
    second = attempt("support", "kept", "Clarabel stalled; SCS took over")
    assert keys([], [second]) == {"diamond2016", "goulart2024", "odonoghue2016"}


def test_lower_ends_at_depths_name_solvers_for_value_functions_only() -> None:
    tried = [attempt("lower_at_depths", "kept")]
    assert keys([affine_claim(depth=4)], tried) == {"moore2009"}
    assert "goulart2024" in keys([value_function("1", 1, 1, depth=4)], tried)
