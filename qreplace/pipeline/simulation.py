"""A study's own arithmetic, run: claims give the schedule, the execution block the registers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from qreplace.errors import InputError
from qreplace.pipeline import certify
from qreplace.pipeline.lifted import Progress
from qreplace.question.subject import Subject
from qreplace.simulate.outcome import Outcome, arithmetic_outcome
from qreplace.simulate.runs import run_study
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
    return arithmetic_outcome(run_study(subject, claims, depths, chosen, loaded.labels.title))
