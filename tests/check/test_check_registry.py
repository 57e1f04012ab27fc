"""Which kinds of claim a piecewise-affine question may have."""

from __future__ import annotations

import dataclasses

import corpora
import pytest
from corpus_claims import ACCEPTED_CLAIMS
from lifted_questions import LINF
from piecewise_questions import atom, box, pwa_question, reference

from qreplace.check.registry import ABOUT_PIECEWISE, CHECKERS, check_claim
from qreplace.claims import KINDS
from qreplace.errors import Rejected
from qreplace.question.subject import Subject

EXAMPLES = {kind: claim for kind, _, claim in [*ACCEPTED_CLAIMS, *corpora.ACCEPTED]}
READS_STATE = atom([[1]], [["1/4"]])


def subject() -> Subject:
    """Atoms that read the state, so that no affine dynamics at witnesses say it all."""
    return Subject(
        pwa_question(
            [READS_STATE], reference([READS_STATE], [0]), dimension=1, inputs=1,
            region=box([-1], [1]), norm=LINF, witnesses=[[1]],
        ), {},
    )  # fmt: skip


def test_every_kind_has_a_checker() -> None:
    assert set(CHECKERS) == set(KINDS) and set(ABOUT_PIECEWISE) <= set(KINDS)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ABOUT_PIECEWISE])
def test_claims_about_other_systems_are_refused(kind: str) -> None:
    about = subject()
    claim = dataclasses.replace(EXAMPLES[kind], subject=about.problem_digest(0), code=0)
    with pytest.raises(Rejected, match="is not about piecewise-affine maps"):
        check_claim(about, claim)


@pytest.mark.parametrize("kind", ["affine_dynamics", "observable"])
def test_maps_that_read_the_state_are_no_affine_dynamics(kind: str) -> None:
    about = subject()
    claim = dataclasses.replace(EXAMPLES[kind], subject=about.problem_digest(0), code=0)
    with pytest.raises(Rejected):
        check_claim(about, claim)
