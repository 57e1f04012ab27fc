"""``python -m qreplace.check``: exit codes, what it prints, and what it may import."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from bundle_kit import HONEST
from make_corpus import CORPUS

from qreplace.check import __main__ as checker
from qreplace.errors import QReplaceError

ROOT = Path(__file__).parents[2]
QUESTIONS = CORPUS / "accepted" / "question"
CLAIMS = CORPUS / "accepted" / "affine_lp"


def run(*arguments: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    command = [sys.executable, "-m", "qreplace.check", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundles") / "lifted.zip"
    path.write_bytes(HONEST["lifted"]())
    return path


def test_an_accepted_bundle(bundle: Path) -> None:
    done = run(bundle)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "accepted: bundle"
    assert "verdict: certified_impossible (finite_witness_certified)" in lines
    assert any(line.startswith("not shown: affine_lp") for line in lines)
    assert lines[-1] == "note: hashes show consistency, not authorship"


def test_an_accepted_bundle_as_json(bundle: Path) -> None:
    done = run(bundle, "--json")
    document = json.loads(done.stdout)
    assert list(document) == ["kind", "proposition", "lower", "upper", "evidence", "notes"]
    assert document["lower"] == document["upper"] == "6858525843/2785017856"


def test_exit_codes_of_refused_bundles(tmp_path: Path) -> None:
    for name, code, word in (
        ("rejected/bundle/study.zip", 4, "rejected: "),
        ("malformed/bundle/duplicate.zip", 3, "malformed: "),
    ):
        done = run(CORPUS / name)
        assert (done.returncode, done.stdout) == (code, "")
        assert done.stderr.startswith(word) and done.stderr.count("\n") == 1
        as_json = run(CORPUS / name, "--json")
        assert as_json.returncode == code
        assert json.loads(as_json.stdout)["error"] == word.rstrip(": ")
    for path in (tmp_path / "absent.zip", tmp_path):
        done = run(path)
        assert done.returncode == 3 and "cannot be read" in done.stderr


def test_claims_with_their_question() -> None:
    done = run(CLAIMS / "l2-edge--tangent.json", "--question", QUESTIONS / "l2-edge.json")
    assert done.returncode == 0
    assert (
        "proposition: the structural floor is at least 0.35 and at most 0.353554, l2 norm, on the "
        "witnesses"
    ) in done.stdout
    schedule = CORPUS / "accepted" / "schedule_error" / "linf-edge--uneven.json"
    done = run(schedule, "--question", QUESTIONS / "linf-edge.json")
    assert "the ideal error is at most 0.416667 at depth 3, linf norm" in done.stdout
    frozen = CORPUS / "accepted" / "frozen" / "frozen-grid--first-depth.json"
    done = run(frozen, "--question", QUESTIONS / "frozen-grid.json", "--json")
    document = json.loads(done.stdout)
    assert document["kind"] == "frozen" and document["lower"] == "3/4"
    assert "at every depth from 9 on" in document["proposition"]


def test_claims_with_side_arrays(bundle: Path) -> None:
    claim = CLAIMS / "quantized-lift--width-0.json"
    question = QUESTIONS / "quantized-lift.json"
    assert run(claim, "--question", question, "--arrays", QUESTIONS / "arrays").returncode == 0
    assert run(claim, "--question", bundle).returncode == 0
    missing = run(claim, "--question", question)
    assert missing.returncode == 3 and "is missing" in missing.stderr
    nowhere = run(claim, "--question", question, "--arrays", claim)
    assert nowhere.returncode == 3 and "is not a folder of arrays" in nowhere.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((CLAIMS / "linf-edge--width-0.json",), 3, "A claim needs --question"),
        ((CLAIMS / "linf-edge--width-0.json", "--question", QUESTIONS / "l1-edge.json"), 4, (
            "about another question"
        )),
        ((QUESTIONS / "l1-edge.json", "--question", QUESTIONS / "l1-edge.json"), 3, (
            "needed a format like"
        )),
        ((CLAIMS / "linf-edge--width-0.json", "--question", CLAIMS / "l1-edge--width-0.json"), 3, (
            "unknown key"
        )),
        ((CORPUS / "accepted/bundle/lifted.zip", "--question", QUESTIONS / "l1-edge.json"), 3, (
            "holds its own question"
        )),
        ((), 2, "the following arguments are required: file"),
    ],
    ids=["no question", "other question", "a question", "no such question", "both", "nothing"],
)  # fmt: skip
def test_wrong_uses(arguments: tuple[str | Path, ...], code: int, words: str) -> None:
    done = run(*arguments)
    assert done.returncode == code and done.stdout == ""
    assert words in done.stderr


def test_a_fault_of_ours_is_neither_accepted_nor_rejected(
    bundle: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for fault in (ValueError, KeyError, RecursionError, MemoryError, ZeroDivisionError, TypeError):

        def broken(data: bytes, fault: type[Exception] = fault) -> None:
            raise fault("unforeseen")

        monkeypatch.setattr(checker, "check_bundle", broken)
        assert checker.main([str(bundle)]) == 5
        printed = capsys.readouterr()
        assert printed.out == "" and f"failed: {fault.__name__}" in printed.err

    def unnamed(data: bytes) -> None:
        raise QReplaceError("an engine failed")

    monkeypatch.setattr(checker, "check_bundle", unnamed)
    assert checker.main([str(bundle)]) == 5


PROBE = """
import sys
before = set(sys.modules)
import qreplace.check
from qreplace.check.__main__ import main
code = main([sys.argv[1]])
loaded = {name.partition('.')[0] for name in set(sys.modules) - before}
print(sorted(loaded - set(sys.stdlib_module_names)))
sys.exit(code)
"""


@pytest.mark.parametrize("isolated", [False, True])
def test_checking_imports_the_standard_library_only(bundle: Path, isolated: bool) -> None:
    flags = ["-S"] if isolated else []  # without site-packages nothing else could be imported
    command = [sys.executable, *flags, "-c", PROBE, str(bundle)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "['qreplace']"


def test_huge_and_deep_claims(tmp_path: Path) -> None:
    good = (CLAIMS / "linf-edge--width-0.json").read_text("utf-8")
    for text, words in (
        (good.replace('"lower":"1/4"', f'"lower":"{"9" * 10**6}"'), "a number of 1000000"),
        (good.replace('"lower":"1/4"', f'"lower":{"9" * 10**6}'), "an integer of 1000000 digits"),
        (good.replace('"lower":"1/4"', '"lower":' + "[" * 10**5 + "]" * 10**5), "nests deeper"),
        (good.replace('"code":0', '"code":-' + "9" * 3999), "no dictionary at this code"),
        ('{"a":' * 60 + "1" + "}" * 60, "needed a format like"),
        (" " * (33 * 1024 * 1024), "at most 33554432 are read"),
    ):
        path = tmp_path / "claim.json"
        path.write_text(text, "utf-8")
        assert checker.main([str(path), "--question", str(QUESTIONS / "linf-edge.json")]) in (3, 4)
        done = run(path, "--question", QUESTIONS / "linf-edge.json")
        assert words in done.stderr and done.returncode in (3, 4)
