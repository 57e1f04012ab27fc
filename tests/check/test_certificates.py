"""Shipped certificates are whole and hold, asked the way a stranger would ask."""

from __future__ import annotations

import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from qreplace import load_spec
from qreplace.check.__main__ import check_claim_file
from qreplace.claims import claim_kind, read_claim
from qreplace.exact.document import sha256_hex
from qreplace.question.model import read_question
from qreplace.question.subject import Subject

ROOT = Path(__file__).parents[2]
CERTIFICATES = ROOT / "certificates"
CASES = sorted(path.parent for path in CERTIFICATES.glob("*/digests.txt"))
CLAIMS = sorted(CERTIFICATES.glob("*/claims/*.json"))


def named(path: Path) -> str:
    return str(path.relative_to(CERTIFICATES))


def test_there_are_cases() -> None:
    lifted = {"maximum-norm", "token-norm", "frozen-grid"}
    worked = {"hjb-worked", "support-worked", "compositional-worked"}
    assert lifted | worked | {"matrix-matching"} <= {case.name for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=named)
def test_every_file_has_its_digest(case: Path) -> None:
    lines = (case / "digests.txt").read_text("utf-8").splitlines()
    digests = dict(line.split("  ")[::-1] for line in lines)
    found = {
        path.relative_to(case).as_posix(): sha256_hex(path.read_bytes())
        for path in case.rglob("*")
        if path.is_file() and path.name != "digests.txt"
    }
    assert digests == found


@pytest.mark.parametrize("claim", CLAIMS, ids=named)
def test_every_claim_is_accepted_by_the_command(claim: Path) -> None:
    case = claim.parents[1]
    arguments = [str(claim), "--question", str(case / "question.json")]
    if (case / "arrays").is_dir():
        arguments += ["--arrays", str(case / "arrays")]
    command = [sys.executable, "-S", "-m", "qreplace.check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"accepted: {claim_kind(read_claim(claim.read_bytes()))}\n")


def ends(case: str, claim: str) -> tuple[str | None, str | None]:
    folder = CERTIFICATES / case
    question = read_question((folder / "question.json").read_bytes())
    report = check_claim_file((folder / "claims" / claim).read_bytes(), question, {})
    return report.lower, report.upper


def test_what_the_cases_show() -> None:
    lower, upper = ends("maximum-norm", "affine_lp-0.json")
    assert lower == upper
    lower, upper = ends("token-norm", "affine_lp-0.json")
    assert lower != upper
    assert ends("frozen-grid", "affine_lp-0.json") == ("0", "0")
    assert ends("frozen-grid", "schedule_error-1.json") == (None, "0")
    assert ends("frozen-grid", "frozen-2.json") == ("1/2", "1/2")


def test_what_the_worked_cases_show() -> None:
    """theory T7.4: the value is exactly 1, by a value function and by the control that attains it.

    The two coupled integrators really miss by ``sqrt(2) (3 - 20 (e^(1/20) - 1)) = 2.79247...``.
    """
    assert ends("hjb-worked", "hjb_sos-0.json") == ("1", None)
    assert ends("hjb-worked", "relaxed_control-1.json") == (None, "1")
    assert ends("hjb-worked", "hjb_sos-2.json") == ("1", None)
    assert ends("hjb-worked", "relaxed_control-3.json") == (None, "1")
    assert ends("support-worked", "support-0.json") == ("1/2", None)
    assert ends("support-worked", "relaxed_control-1.json") == (None, "1/2")
    assert ends("compositional-worked", "compositional-0.json") == ("79/30", None)
    assert ends("compositional-worked", "relaxed_control-1.json") == (None, "13963/5000")


def test_what_the_matrix_case_shows() -> None:
    """Matching depth 8 on the disk; comparator and depth-7 minimum bracketed to 1e-5 (T8.4)."""
    least, most = exact_ends("matrix-matching", "pwa_supremum-0.json")
    assert most - least < Fraction(1, 10**5)
    for depth in range(1, 8):
        lower, _ = exact_ends("matrix-matching", f"schedule_minimum-{depth + 2}.json")
        assert lower > most
    _, upper = exact_ends("matrix-matching", "pwa_supremum-1.json")
    assert upper < least
    _, best = exact_ends("matrix-matching", "pwa_supremum-2.json")
    assert best - lower < Fraction(1, 10**5)
    witnesses, _ = exact_ends("matrix-matching", "schedule_minimum-10.json")
    assert abs(witnesses - Fraction("0.02553769")) < Fraction(5, 10**9)


def test_the_matrix_case_is_the_example() -> None:
    """The claims serve the question that the example asks: their subject is its problem."""
    question = read_question((CERTIFICATES / "matrix-matching/question.json").read_bytes())
    example = load_spec(ROOT / "examples/matrix-matching.yaml").question
    digests = {Subject(asked, {}).problem_digest(0) for asked in (question, example)}
    assert len(digests) == 1


def exact_ends(case: str, claim: str) -> tuple[Fraction, Fraction]:
    """The ends as numbers; a missing one is worse than any."""
    lower, upper = ends(case, claim)
    return Fraction(lower or "-1e9"), Fraction(upper or "1e9")


@pytest.mark.parametrize("case", CASES, ids=named)
def test_the_text_names_every_claim(case: Path) -> None:
    text = (case / "README.md").read_text("utf-8")
    listed = re.findall(r"`(claims/[^`]+)`", text)
    assert sorted(listed) == sorted(
        path.relative_to(case).as_posix() for path in case.glob("claims/*.json")
    )
