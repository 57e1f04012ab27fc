"""A study's own arithmetic, run: claims give the schedule, the execution block the registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from qreplace.claims import Claim
from qreplace.errors import InputError
from qreplace.pipeline import certify
from qreplace.pipeline.lifted import Progress
from qreplace.question.subject import Subject
from qreplace.simulate.outcome import Outcome, arithmetic_outcome, switching_outcome
from qreplace.simulate.runs import run_study
from qreplace.simulate.study import study_weights
from qreplace.simulate.switching import Rule
from qreplace.spec import LoadedSpec, load_spec


def simulate_study(
    spec: str | Path | LoadedSpec,
    depths: Sequence[int],
    bits: int | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Run a study's system at its witnesses, at each depth with the schedule of its plan.

    ``bits`` names the dictionary; the smallest searched metadata budget without it. Raises
    ``InputError`` for a study whose arithmetic is not described well enough to run.
    """
    own = _certified(spec, bits, progress)
    return arithmetic_outcome(run_study(own.subject, own.claims, depths, own.bits, own.title))


def switch_study(
    spec: str | Path | LoadedSpec,
    depth: int,
    rules: Sequence[Rule],
    bits: int | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Switch the relaxed control that a study's claims hold, by each rule (theory T2, T3.3).

    Raises ``InputError`` for a study whose claims hold no control, and for one that searches no
    dictionary of so many ``bits``.
    """
    own = _certified(spec, bits, progress)
    weights, origin = study_weights(own.subject, own.claims, depth, own.bits)
    return switching_outcome(own.title, weights, rules, origin)


@dataclass(frozen=True, slots=True)
class _Certified:
    """A study, its claims, and the dictionary that was asked for."""

    subject: Subject
    claims: Sequence[Claim]
    bits: int
    title: str


def _certified(
    spec: str | Path | LoadedSpec, bits: int | None, progress: Progress | None
) -> _Certified:
    loaded = spec if isinstance(spec, LoadedSpec) else load_spec(spec)
    known = loaded.question.search.metadata_bits
    chosen = known[0] if bits is None else bits
    if chosen not in known:
        raise InputError(
            f"the study searches no dictionary at {chosen} metadata bits",
            remedy=f"It has {', '.join(map(str, known))}.",
        )
    subject = Subject(loaded.question, loaded.arrays)
    claims = certify(loaded, subject, progress=progress).claims
    return _Certified(subject, claims, chosen, loaded.labels.title)
