"""Labels of simulated numbers: never more than what was run shows."""

from __future__ import annotations

import pytest

from qreplace.errors import InputError
from qreplace.premises import Evidence
from qreplace.simulate.labels import Basis, label, statement

ENUMERATED = "all 2^6 schedules of the registered system at depth 6"


def test_a_measured_worst_case_is_diagnostic() -> None:
    assert label(Basis("measured", "500 random runs")) is Evidence.DIAGNOSTIC


def test_an_exhaustive_one_is_certified_for_its_instance() -> None:
    basis = Basis("exhaustive", ENUMERATED)
    assert label(basis) is Evidence.FINITE_WITNESS_CERTIFIED
    assert statement(basis) == f"every case run of {ENUMERATED}"


def test_enumerating_in_floating_point_is_still_a_measurement() -> None:
    basis = Basis("exhaustive", ENUMERATED, exact=False)
    assert label(basis) is Evidence.DIAGNOSTIC
    assert "floating point" in statement(basis)


@pytest.mark.parametrize("evidence", [e for e in Evidence if e.certified])
def test_a_checked_claim_keeps_its_checkers_label(evidence: Evidence) -> None:
    assert label(Basis("checked", "registers", evidence=evidence)) is evidence


@pytest.mark.parametrize("evidence", [None, *(e for e in Evidence if not e.certified)])
def test_a_checked_basis_needs_a_certified_label(evidence: Evidence | None) -> None:
    with pytest.raises(InputError, match="certified label"):
        label(Basis("checked", "registers", evidence=evidence))
