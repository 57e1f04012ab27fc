"""Writes the small shipped certificates: ``python tests/check/make_certificates.py [CASE ..]``.

One folder a case under ``certificates/``: ``question.json``, ``claims/<kind>-<n>.json``, a
``README.md`` with the propositions in words, and ``digests.txt`` for ``sha256sum --check``. Where
claims come from the producers, their numbers may differ from machine to machine; what is checked in
is what counts. The worked ones are written out by hand (``worked_certificates``), and the paper's
matrix instance has a file of its own (``matrix_certificate``).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import matrix_certificate
import worked_certificates
from lifted_questions import LINF, alpha_of, block_l2, make_question, write_back

from qreplace.check.__main__ import check_claim_file
from qreplace.check.frozen import frozen_step_rule
from qreplace.claims import Claim, claim_bytes, claim_kind
from qreplace.exact.document import sha256_hex
from qreplace.produce.affine_lp import produce as produce_bracket
from qreplace.produce.frozen import produce as produce_frozen
from qreplace.produce.schedule_error import ScheduleProducer
from qreplace.question.frozen_start import frozen_start
from qreplace.question.model import Emulation, Question
from qreplace.question.subject import Subject

CERTIFICATES = Path(__file__).parents[2] / "certificates"

TEXTS = {
    "maximum-norm": "Six signed 3-bit atoms on twelve coordinates in the maximum norm: the floor "
    "is known exactly, the two ends are the same rational.",
    "token-norm": "Five atoms on three tokens of four coordinates, error = the largest l2 norm of "
    "a token: tangent cuts leave a bracket far narrower than anyone measures.",
    "frozen-grid": "Exact execution meets the target at depth 4; written back to a grid of cells "
    "1/8 the same dictionary never moves from depth 17 on, so more depth makes it worse.",
    **worked_certificates.TEXTS,
    **matrix_certificate.TEXTS,
}

PROOFS = {**worked_certificates.PROOFS, **matrix_certificate.PROOFS}


def small_integers(count: int, length: int, seed: int) -> list[list[int]]:
    """Signed 3-bit codes by a multiplicative rule; no random module, so no version of one."""
    value, rows = seed, []
    for _ in range(count):
        row = []
        for _ in range(length):
            value = value * 48271 % 2147483647
            row.append(value % 8 - 4)
        rows.append(row)
    return rows


def cases() -> dict[str, tuple[Question, list[Claim]]]:
    """Question and claims of every case."""
    target = [Fraction(n, 16) for n in small_integers(1, 12, 7)[0]]
    maximum = make_question(target, small_integers(6, 12, 11), LINF)
    tokens = make_question(target, small_integers(5, 12, 23), block_l2(4))
    grid = make_question(
        ["1/2", "1/4"],
        [[1, 0], [0, 1], [0, 0]],
        LINF,
        objective=Emulation("emulation", Fraction(1, 10)),
        execution=write_back("1/8"),
    )
    frozen = Subject(grid, {})
    start = frozen_start(frozen, 0)
    no_go = produce_frozen(frozen, 0, start, frozen_step_rule(frozen, start))
    if no_go is None:
        raise LookupError("the grid no longer freezes")
    return {
        "maximum-norm": (maximum, _bracket_and_schedules(maximum, (8, 64))),
        "token-norm": (tokens, _bracket_and_schedules(tokens, (16,))),
        "frozen-grid": (grid, [*_bracket_and_schedules(grid, (4,)), no_go]),
        **worked_certificates.cases(),
        **matrix_certificate.cases(),
    }


def _bracket_and_schedules(question: Question, depths: Sequence[int]) -> list[Claim]:
    subject = Subject(question, {})
    floor = produce_bracket(subject, 0)
    atoms = len(subject.lifted(0).atoms)
    producer = ScheduleProducer(subject, 0, alpha_of(floor, atoms))
    return [floor, *(producer.produce(depth) for depth in depths)]


def files(name: str, question: Question, claims: Sequence[Claim]) -> dict[str, bytes]:
    """The files of one case."""
    made = {"question.json": question.to_bytes()}
    lines = [f"# {name}", "", TEXTS[name], ""]
    for number, claim in enumerate(claims):
        path = f"claims/{claim_kind(claim)}-{number}.json"
        made[path] = claim_bytes(claim)
        report = check_claim_file(made[path], question, {})
        lines.append(f"- `{path}`: {report.proposition}.")
    if name in PROOFS:
        lines += ["", PROOFS[name]]
    first = next(path for path in made if path.startswith("claims/"))
    lines += ["", "Check one, from this folder, with the standard library only:", ""]
    lines += ["```", f"python -m qreplace.check {first} --question question.json", "```", ""]
    made["README.md"] = "\n".join(lines).encode()
    digests = [f"{sha256_hex(data)}  {path}\n" for path, data in sorted(made.items())]
    made["digests.txt"] = "".join(digests).encode()
    return made


def main() -> None:
    """Write the named cases, or every one."""
    wanted = sys.argv[1:]
    for name, (question, claims) in cases().items():
        if wanted and name not in wanted:
            continue
        for path, data in files(name, question, claims).items():
            place = CERTIFICATES / name / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)


if __name__ == "__main__":
    main()
