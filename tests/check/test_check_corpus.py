"""The corpus of questions and claims: what is accepted, and why the rest is refused."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest
from make_corpus import CORPUS, documents

from qreplace.check import (
    bounds,
    cell_cover,
    functional,
    piecewise,
    piecewise_work,
    region,
    sums_of_squares,
    work,
)
from qreplace.check.bounds import ScopedBound, ScopedConstants, ScopedRegisters
from qreplace.check.registry import CHECKERS, check_claim
from qreplace.claims import KINDS, claim_bytes, read_claim
from qreplace.errors import Malformed, QReplaceError, Rejected
from qreplace.question.arrays import ArrayStore
from qreplace.question.model import read_question
from qreplace.question.subject import Subject

ERRORS: dict[str, type[QReplaceError]] = {"Rejected": Rejected, "Malformed": Malformed}


def listed(verdict: str, kind: str) -> list[str]:
    """The documents of one folder of the corpus, as relative paths."""
    found = (CORPUS / verdict / kind).glob("*.json")
    return sorted(str(path.relative_to(CORPUS)) for path in found)


def all_claims(verdict: str) -> list[str]:
    return [name for kind in KINDS for name in listed(verdict, kind)]


def arrays() -> ArrayStore:
    folder = CORPUS / "accepted" / "question" / "arrays"
    return {path.stem: path.read_bytes() for path in folder.glob("*.npy")}


def subject_of(name: str) -> Subject:
    """The question that a claim's file name begins with."""
    question = Path(name).name.removesuffix(".json").split("--")[0]
    data = (CORPUS / "accepted" / "question" / f"{question}.json").read_bytes()
    return Subject(read_question(data), arrays())


def expected(name: str) -> tuple[type[QReplaceError], str, str]:
    """Error class, pointer and words beside a refused document."""
    text = (CORPUS / f"{name}.expect").read_text("utf-8").rstrip("\n")
    error, pointer, words = text.split(" ", 2)
    return ERRORS[error], "" if pointer == "-" else pointer, words


@pytest.mark.parametrize("name", all_claims("accepted"))
def test_accepted_claims(name: str) -> None:
    data = (CORPUS / name).read_bytes()
    claim = read_claim(data)
    assert claim_bytes(claim) == data
    bounds = check_claim(subject_of(name), claim)
    assert bounds
    stated = {getattr(claim, field, None) for field in ("lower", "upper", "error")}
    values = {bound.value for bound in bounds if isinstance(bound, ScopedBound)}
    assert values <= stated
    assert values or all(isinstance(b, (ScopedConstants, ScopedRegisters)) for b in bounds)


@pytest.mark.parametrize("name", all_claims("rejected"))
def test_rejected_claims(name: str) -> None:
    claim = read_claim((CORPUS / name).read_bytes())
    error, pointer, words = expected(name)
    with pytest.raises(QReplaceError) as caught:
        check_claim(subject_of(name), claim)
    assert type(caught.value) is error
    assert words in caught.value.message
    assert caught.value.pointer == pointer


@pytest.mark.parametrize("name", all_claims("malformed"))
def test_malformed_claims(name: str) -> None:
    error, pointer, words = expected(name)
    with pytest.raises(QReplaceError) as caught:
        read_claim((CORPUS / name).read_bytes())
    assert type(caught.value) is error
    assert words in caught.value.message
    assert caught.value.pointer == pointer


@pytest.mark.parametrize("name", listed("accepted", "question"))
def test_accepted_questions(name: str) -> None:
    data = (CORPUS / name).read_bytes()
    assert read_question(data).to_bytes() == data


@pytest.mark.parametrize(
    "name", [*listed("rejected", "question"), *listed("malformed", "question")]
)
def test_refused_questions(name: str) -> None:
    error, pointer, words = expected(name)
    with pytest.raises(QReplaceError) as caught:
        read_question((CORPUS / name).read_bytes())
    assert type(caught.value) is error
    assert words in caught.value.message
    assert caught.value.pointer == pointer


def test_the_corpus_is_what_its_script_writes() -> None:
    folders = [CORPUS / v / k for v in ("accepted", "rejected", "malformed") for k in KINDS]
    folders += [CORPUS / v / "question" for v in ("accepted", "rejected", "malformed")]
    files = {
        str(path.relative_to(CORPUS)): path.read_bytes()
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert files == documents()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_checker_and_corpus(kind: str) -> None:
    assert set(CHECKERS) == set(KINDS)
    for verdict in ("accepted", "rejected", "malformed"):
        assert listed(verdict, kind)


CHECKER_MODULES = [importlib.import_module(f"qreplace.check.{kind}") for kind in KINDS]
SHARED_MODULES = [
    bounds,
    cell_cover,
    functional,
    piecewise,
    piecewise_work,
    region,
    sums_of_squares,
    work,
]


@pytest.mark.parametrize("module", CHECKER_MODULES, ids=lambda m: m.__name__)
def test_obligations_are_numbered_in_docstring_and_code(module: object) -> None:
    source = Path(str(module.__file__)).read_text("utf-8")  # type: ignore[attr-defined]
    docstring, code = source.split('"""', 2)[1:]
    numbered = re.findall(r"^(\d)\. ", docstring, flags=re.MULTILINE)
    assert numbered == [str(i + 1) for i in range(len(numbered))]
    assert set(re.findall(r"# (\d)$", code, flags=re.MULTILINE)) == set(numbered)


UNREACHABLE = {
    # Weak duality: no point and no witness that passed the other obligations can do this.
    "the lower end exceeds the upper end",
}
TOO_LARGE = {"the tree is too long"}
"""Reasons whose example would be a large document: they have a test of their own."""


def reasons_in(module: object) -> set[str]:
    """The literal reasons that a checker can give."""
    tree = ast.parse(Path(str(module.__file__)).read_text("utf-8"))  # type: ignore[attr-defined]
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            position = {"require": 1, "Rejected": 0}.get(node.func.id)
            if position is not None and len(node.args) > position:
                reason = node.args[position]
                if isinstance(reason, ast.Constant):
                    found.add(str(reason.value))
    return found


def test_every_reason_to_reject_has_an_example() -> None:
    given = set()
    for name in all_claims("rejected"):
        with pytest.raises(QReplaceError) as caught:
            check_claim(subject_of(name), read_claim((CORPUS / name).read_bytes()))
        given.add(caught.value.message)
    reasons = set().union(*map(reasons_in, [*CHECKER_MODULES, *SHARED_MODULES]))
    assert len(reasons) > 15
    assert reasons - given == UNREACHABLE | TOO_LARGE
