"""Studies of dynamics that become certified end to end, with nothing declared (theory T11)."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import corpora.hjb_sos as hjb
import corpora.relaxed_control as controls
import jsonschema
import pytest
from declared_questions import bounded_variation, depths, quantized, tolerance
from dynamic_questions import affine_question
from lifted_questions import L2
from random_dynamics import length, minus, world

from qreplace.check import field_constants, hjb_sos, operator_norm, relaxed_control
from qreplace.check.bounds import Checked
from qreplace.claims import Claim, claim_kind
from qreplace.claims.affine_dynamics import AffineDynamicsClaim
from qreplace.claims.functional import Functional, SparseVector
from qreplace.claims.observable import ObservableClaim
from qreplace.claims.relaxed_control import ControlPiece
from qreplace.claims.verdict_schema import VERDICT
from qreplace.decision.controls import cell_averages, chairman, greedy, rounding_rule
from qreplace.decision.plan import obstruction, plan
from qreplace.decision.schedules import counts_of
from qreplace.decision.verdict import decide
from qreplace.produce.field_constants import produce
from qreplace.produce.operator_norm import produce as produce_norm
from qreplace.question import model as q
from qreplace.question.subject import Subject
from qreplace.radii.synthesis import half_l1_discrepancy

CHECKERS: dict[str, Any] = {
    "field_constants": field_constants.check,
    "hjb_sos": hjb_sos.check,
    "operator_norm": operator_norm.check,
    "relaxed_control": relaxed_control.check,
}


def verdict(question: q.Question, *claims: Claim) -> dict[str, Any]:
    """The decision on checked claims; its document keeps to the schema."""
    about = Subject(question, {})
    checked: list[Checked] = []
    for claim in claims:
        checked.extend(CHECKERS[claim_kind(claim)](about, claim))
    found = decide(about, claims, checked)
    jsonschema.validate({"format": "qreplace/verdict/v1", **found}, VERDICT)
    return found


def constants(question: q.Question, **options: Any) -> Claim:
    """A produced claim of constants."""
    return produce(Subject(question, {}), **options)


def asked(question: q.Question, eps: Fraction | str, **blocks: Any) -> q.Question:
    """The question with a tolerance."""
    return dataclasses.replace(
        question, objective=tolerance(eps), synthesis=q.ComputedSynthesis("computed"), **blocks
    )


DECAY = asked(hjb.QUESTIONS["hjb-decay"], "2/5", search=depths(1, 64))
"""x' = u - x, u in {0, 1}, target 2: at least 1 away, whatever the schedule."""
NEAR = asked(controls.QUESTIONS["ctl-decay"], "3/2", search=depths(1, 64))
"""The same with a tolerance above the floor 1 + 1/e = 1.3679."""


def test_impossible_with_nothing_declared() -> None:
    found = verdict(DECAY, hjb.DECAY, constants(DECAY))
    assert found["verdict"] == "certified_impossible" and found["declared"] == []
    assert found["impossible_from"] == 1
    assert found["evidence"] == "interval_certified"
    assert found["obstruction"] == {
        "claim": "hjb_sos",
        "lower": "1",
        "tolerance": "2/5",
        "missed_by": "3/5",
        "coordinates": 0,
        "witnesses": [],
        "heaviest": [],
    }
    kinds = {entry["kind"]: entry for entry in found["claims"]}
    assert kinds["field_constants"]["lower"] is None and kinds["field_constants"]["upper"] is None
    assert kinds["field_constants"]["evidence"] == "interval_certified"


def test_the_same_without_constants_or_without_a_floor_is_open() -> None:
    found = verdict(DECAY, hjb.DECAY)
    assert found["verdict"] == "unresolved"
    assert any("no checked claim gives the field's constants" in text for text in found["reasons"])
    assert verdict(DECAY, constants(DECAY))["verdict"] == "unresolved"


def test_declared_constants_make_it_conditional_and_claims_certified() -> None:
    declared = dataclasses.replace(
        DECAY, synthesis=bounded_variation(), tube=q.WholeSpaceTube("whole_space")
    )
    alone = verdict(declared, hjb.DECAY)
    assert alone["verdict"] == "conditionally_impossible"
    assert "field_bound" in alone["declared"]
    both = verdict(declared, hjb.DECAY, constants(declared))
    assert both["verdict"] == "certified_impossible" and both["declared"] == []


def test_a_tolerance_close_to_the_floor_is_missed_from_some_depth_on() -> None:
    close = asked(DECAY, "19/20", search=depths(1, 64))
    found = verdict(close, hjb.DECAY, constants(close))
    assert found["verdict"] == "certified_asymptotically_impossible"
    assert 1 < found["impossible_from"] < 40


def test_feasible_with_nothing_declared_and_a_schedule_that_does_it() -> None:
    found = verdict(NEAR, controls.DECAY, constants(NEAR))
    assert found["verdict"] == "certified_feasible" and found["declared"] == []
    chosen = found["plan"]
    depth = found["best"]["depth"]
    # The control is u = 1 throughout, so its rounding is too.
    assert chosen["weights"] == ["0", "1"] and chosen["counts"] == [0, depth]
    assert chosen["schedule"] == [1] * depth and "T2.2" in chosen["order"]
    true = 2 - (1 - (1 - Fraction(1, depth)) ** depth)
    assert true <= Fraction(chosen["error"]) <= Fraction(3, 2)
    assert [atom["uses"] for atom in chosen["atoms"]] == [depth]


def test_a_schedule_claim_of_the_depth_is_the_plan() -> None:
    only = dataclasses.replace(NEAR, search=depths(4, 4))
    found = verdict(only, controls.EULER, constants(only))
    assert found["verdict"] == "certified_feasible"
    assert found["plan"]["schedule"] == [1, 1, 1, 1] and found["plan"]["weights"] is None
    assert Fraction(found["plan"]["error"]) == controls.EULER.upper
    both = verdict(only, controls.EULER, controls.DECAY, constants(only))
    assert both["plan"]["counts"] == [0, 4] and both["plan"]["weights"] == ["0", "1"]


def test_executed_dynamics_are_certified_too() -> None:
    """Write-back on a fine grid widens both sides; on a coarse one nothing is shown."""
    fine = dataclasses.replace(NEAR, execution=quantized("write_back", Fraction(1, 1 << 12)))
    found = verdict(fine, controls.DECAY, constants(fine))
    assert found["verdict"] == "certified_feasible" and found["declared"] == []
    names = {name.split(":")[0] for name, r in found["best"]["radii"].items() if r["used"]}
    assert names == {"synthesis", "arithmetic"}
    fine = dataclasses.replace(DECAY, execution=quantized("error_feedback", Fraction(1, 1 << 8)))
    assert verdict(fine, hjb.DECAY, constants(fine))["verdict"] == "certified_impossible"
    coarse = dataclasses.replace(DECAY, execution=quantized("write_back", Fraction(1)))
    assert verdict(coarse, hjb.DECAY, constants(coarse))["verdict"] == "unresolved"


def test_constants_that_are_no_bounds_never_enter_a_bracket() -> None:
    found = verdict(DECAY, constants(DECAY))
    assert found["bracket"] is None
    matrix = affine_question(
        [[1, 0], [0, 1]], [1, 1], norm=L2, state_matrix=[[0, 1], [-1, 0]], search=depths(1, 4)
    )
    norm = produce_norm(Subject(matrix, {}))
    assert verdict(matrix, norm, constants(matrix))["bracket"] is None


# --- rounding a control ---------------------------------------------------------------------------


def pieces(*entries: tuple[str | int, Sequence[int]]) -> list[ControlPiece]:
    """Ends with integer weights over their sum."""
    return [
        ControlPiece(
            Fraction(end),
            SparseVector(
                Fraction(sum(weights)),
                tuple(j for j, w in enumerate(weights) if w),
                tuple(Fraction(w) for w in weights if w),
            ),
        )
        for end, weights in entries
    ]


def test_cell_averages_of_pieces_that_cross_cells() -> None:
    control = pieces(("3/4", (1, 0)), (2, (1, 3)))
    found = cell_averages(control, 2, Fraction(2), 4)
    quarter = Fraction(1, 4)
    # The second cell is [1/2, 1]: half of it each.
    assert found == [[1, 0], [Fraction(5, 8), Fraction(3, 8)]] + [[quarter, 3 * quarter]] * 2
    for depth in range(1, 9):
        rows = cell_averages(control, 2, Fraction(2), depth)
        assert len(rows) == depth and all(sum(row) == 1 for row in rows)
        mean = [sum(column, Fraction(0)) / depth for column in zip(*rows, strict=True)]
        assert mean == cell_averages(control, 2, Fraction(2), 1)[0]


@pytest.mark.parametrize("atoms", [1, 2, 3, 4, 6])
def test_the_rule_keeps_the_discrepancy_that_the_radius_assumes(atoms: int) -> None:
    """Half the l1 prefix discrepancy over controls that change at every piece."""
    _, rule = rounding_rule(atoms)
    assert rule is (chairman if atoms <= 3 else greedy)
    for seed, depth in itertools.product(range(6), (1, 5, 17)):
        ends = [Fraction(k + 1, 7) for k in range(7)]
        weights = [
            [(3 * j + 5 * k + seed * (j + k)) % 7 + int(j == k % atoms) for j in range(atoms)]
            for k in range(7)
        ]
        control = pieces(*((str(end), row) for end, row in zip(ends, weights, strict=True)))
        shares = cell_averages(control, atoms, Fraction(1), depth)
        balance = [Fraction(0)] * atoms
        for row, pick in zip(shares, rule(shares), strict=True):
            balance = [
                b + w - int(j == pick) for j, (b, w) in enumerate(zip(balance, row, strict=True))
            ]
            assert sum(map(abs, balance)) / 2 <= half_l1_discrepancy(atoms)


def test_the_planned_schedule_is_as_good_as_it_says() -> None:
    """A control that changes half way, rounded; its true endpoint error is within the plan's."""
    question = asked(
        affine_question([[1, 0], [0, 1], [0, 0]], ["1/3", "1/3"], norm=L2, rate=-1), "1/2"
    )
    about = Subject(question, {})
    system = world(about)
    witness = Functional(SparseVector(Fraction(1), (0,), (Fraction(1),)), (Fraction(1),))
    control = pieces(("1/2", (1, 1, 0)), (1, (1, 1, 1)))
    rows = [[0.5, 0.5, 0.0], [1 / 3] * 3]
    upper = length(L2, minus(system.relaxed(rows), [1 / 3, 1 / 3])) + 1e-6
    claim = AffineDynamicsClaim(
        format="qreplace/claim/affine_dynamics/v1",
        subject=about.problem_digest(0),
        code=0,
        depth=None,
        witness=witness,
        dominant=(),
        control=tuple(control),
        lower=Fraction(0),
        upper=Fraction(upper),
    )
    for depth in (3, 8, 24):
        rounding = Fraction(2, depth)  # above Q_D + P_D here; the true loss is less
        found = plan(about, [claim], depth, 0, rounding)
        assert found is not None and found["counts"] == counts_of(found["schedule"], 3)
        units = [[float(j == pick) for j in range(3)] for pick in found["schedule"]]
        true = length(L2, minus(system.euler(units)[-1], [1 / 3, 1 / 3]))
        assert true <= float(Fraction(found["error"]))
        assert found["weights"] == ["5/12", "5/12", "1/6"]
    assert plan(about, [claim], 8, 0, None) is None
    assert plan(about, [], 8, 0, Fraction(1)) is None


def test_an_obstruction_names_the_best_claim_about_every_depth() -> None:
    """A claim about one depth serves only where no other does; functionals are spelled out."""
    question = affine_question([[1, 0], [0, 1]], [3, 1], norm=L2, rate=-1)
    about = Subject(question, {})
    vector = SparseVector(Fraction(5), (0, 1), (Fraction(4), Fraction(-3)))

    def claim(lower: int, depth: int | None) -> ObservableClaim:
        return ObservableClaim(
            "qreplace/claim/observable/v1",
            about.problem_digest(0),
            0,
            depth,
            (),
            (),
            (),
            Functional(vector, (Fraction(1),)),
            Fraction(lower),
        )

    found = obstruction(about, [claim(2, None), claim(5, 3)], 0, Fraction(1))
    assert found is not None and found["lower"] == "2" and found["claim"] == "observable"
    assert found["coordinates"] == 2 and found["witnesses"] == [0]
    assert [entry["coordinate"] for entry in found["heaviest"]] == [0, 1]
    assert [entry["output"] for entry in found["heaviest"]] == [0, 1]
    found = obstruction(about, [claim(2, None), claim(5, 3)], 0, Fraction(3))
    assert found is not None and found["lower"] == "5"
    assert obstruction(about, [claim(2, None)], 0, Fraction(2)) is None
    assert obstruction(about, [claim(2, None)], 4, Fraction(1)) is None
