"""The corpora of the newer kinds of claim, one file a kind; ``make_corpus`` writes them all."""

from __future__ import annotations

from corpora import (
    affine_dynamics,
    compositional,
    count_minimum,
    exposed_channel,
    field_constants,
    hjb_sos,
    lattice,
    net_floor,
    observable,
    operator_norm,
    perturbed,
    pwa_supremum,
    relaxed_control,
    schedule_minimum,
    support,
)
from qreplace.claims import Claim
from qreplace.question.model import Question

_CORPORA = (
    affine_dynamics,
    perturbed,
    hjb_sos,
    compositional,
    support,
    observable,
    relaxed_control,
    operator_norm,
    field_constants,
    pwa_supremum,
    schedule_minimum,
    count_minimum,
    net_floor,
    lattice,
    exposed_channel,
)

QUESTIONS: dict[str, Question] = {
    name: question for corpus in _CORPORA for name, question in corpus.QUESTIONS.items()
}
ACCEPTED: list[tuple[str, str, Claim]] = [entry for corpus in _CORPORA for entry in corpus.ACCEPTED]
REJECTED: list[tuple[str, str, Claim, str, str]] = [
    entry for corpus in _CORPORA for entry in corpus.REJECTED
]
MALFORMED_FROM: dict[str, str] = dict(corpus.MALFORMED_FROM for corpus in _CORPORA)
