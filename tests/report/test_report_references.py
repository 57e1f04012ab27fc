"""Only the publications of the methods that a study used are printed."""

from __future__ import annotations

import pytest
from report_examples import VERDICTS, study

from qreplace.report.references import REFERENCES, references


def keys(verdict: str) -> set[str]:
    found = study(verdict)
    return {r.key for r in references(found.document(), found.claims)}


@pytest.mark.parametrize("verdict", VERDICTS)
def test_every_report_names_the_theory(verdict: str) -> None:
    assert "qr2026" in keys(verdict)


def test_a_computed_floor_names_its_solvers_and_a_plan_its_order() -> None:
    assert keys("certified_feasible") == {"qr2026", "tijdeman1980", "huangfu2018", "flint"}


def test_a_declared_study_names_no_solver() -> None:
    assert keys("conditionally_feasible") == {"qr2026"}


def test_keys_are_unique_and_entries_complete() -> None:
    assert len({r.key for r in REFERENCES}) == len(REFERENCES)
    for reference in REFERENCES:
        assert reference.title in str(reference)
        assert reference.identifier
        assert reference.used_for
