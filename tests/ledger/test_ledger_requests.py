"""Block descriptions: what is accepted, what is refused and in which words, the schema."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ledger_kit import BLOCK, EXPERTS, LINEAR, NORM, changed, ledger, routed

from qreplace.errors import SpecError
from qreplace.ledger.request import ledger_schema, read_request, request_id

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "schemas" / "ledger.v1.json"


def written(tree: Any) -> bytes:
    return json.dumps(tree).encode()


def identity(tree: Any) -> str:
    return request_id(read_request(written(tree), "b", "json")[0])


def test_the_shipped_schema_is_the_models() -> None:
    text = json.dumps(ledger_schema(), indent=2, ensure_ascii=False) + "\n"
    assert SCHEMA.read_text("utf-8") == text
    jsonschema.Draft202012Validator.check_schema(ledger_schema())


@pytest.mark.parametrize("tree", [BLOCK, routed()])
def test_what_is_accepted_fits_the_schema(tree: Any, tmp_path: Path) -> None:
    jsonschema.Draft202012Validator(ledger_schema()).validate(tree)
    ledger(tmp_path, tree)


def test_every_key_is_explained() -> None:
    prose = (ROOT / "schemas" / "ledger.v1.md").read_text("utf-8")
    quoted = " ".join(re.findall(r"`([^`]+)`", prose))
    named = set(re.findall(r"[a-z_0-9]+", quoted))
    schema = ledger_schema()
    for definition in (schema, *schema["$defs"].values()):
        assert set(definition.get("properties", {})) - named == set()


def test_the_id_drops_texts_for_people_and_nothing_else() -> None:
    told = changed(BLOCK, {"title": "mine", "notes": "something"})
    assert identity(told) == identity(BLOCK)
    long = changed(BLOCK, {"attention/scale": {"value": "0.25"}})
    assert identity(long) == identity(BLOCK)
    for path, value in (("tube/radius", 4), ("attention/query", {**LINEAR, "error": "1/50"}),
                        ("mlp/activation", "silu"), ("unstated_errors", None)):  # fmt: skip
        assert identity(changed(BLOCK, {path: value})) != identity(BLOCK)


def amount(value: Any, norm: str) -> dict[str, Any]:
    return {"value": value, "evidence": "diagnostic", "source": "s", "norm": norm}


@pytest.mark.parametrize(("changes", "pointer", "words"), [
    ({"norm": "linf"}, "/norm", "needed token_l2_inf, received the text 'linf'"),
    ({"mlp/upp": 1}, "/mlp/upp", "unknown key 'upp'. Did you mean 'up'?"),
    ({"attention": None, "mlp": None}, "", "needed attention, mlp or experts"),
    ({"experts": EXPERTS}, "/experts", "needed mlp or experts, received both"),
    ({"dimensions/key": None}, "/dimensions", "missing key 'key'"),
    ({"dimensions/hidden": None}, "/dimensions", "missing key 'hidden'"),
    ({"dimensions/key_heads": 3}, "/dimensions/key_heads", "has to divide heads"),
    ({"attention/norm": {**NORM, "beta": None}}, "/attention/norm", "missing key 'beta'"),
    ({"attention/norm": {**NORM, "eps": 0}}, "/attention/norm/eps", "needed eps above 0"),
    ({"attention/norm": "none", "tube": {}}, "/tube", "missing key 'radius'"),
    ({"tube/lower_radius": 5}, "/tube/lower_radius", "needed a lower radius of at most 3"),
    ({"unstated_errors": None}, "/mlp/norm", "missing key 'arithmetic_error': a bound, or exact"),
    ({"attention/query": [LINEAR]}, "/attention/query", "needed 2 layers, one a head, received 1"),
    ({"mlp/up": {"weights": [[1]]}}, "/mlp/up", "needed executed or quantize beside weights"),
    ({"mlp/up": {"weights": [[1]], "executed": "exact"}}, "/mlp/up",
     "needed 8 x 4 weights, received 1 x 1"),
    ({"mlp/up/bias": {"vector": [1], "executed": "exact"}}, "/mlp/up/bias", "needed 8 entries"),
    ({"mlp/up/bias": {"vector": [1] * 8, "executed": "exact"}, "mlp/up/bias_error": 1},
     "/mlp/up/bias_error", "beside a vector"),
    ({"mlp/up/norm": {"value": 1, "evidence": "unavailable", "source": "s"}}, "/mlp/up/norm",
     "needed a number that is known"),
    ({"mlp/up/norm": amount(3, "linf")}, "/mlp/up/norm/norm",
     "needed the l2 operator norm, received linf. Multiply by 2.828428 (rounded up): the bound is"
     " then 8.485282"),
    ({"mlp/up/error": amount(3, "largest_entry")}, "/mlp/up/error/norm", "Multiply by 5.656855"),
    ({"mlp/up/bias": amount(3, "l1")}, "/mlp/up/bias/norm", "Multiply by 1 (rounded up)"),
    ({"mlp/norm/gamma": amount(3, "l2")}, "/mlp/norm/gamma/norm", "needed the largest entry"),
    ({"attention/score_error": amount(3, "l2")}, "/attention/score_error/norm",
     "needed a number without a norm"),
])  # fmt: skip
def test_refusals_name_the_place_and_the_remedy(
    changes: dict[str, Any], pointer: str, words: str, tmp_path: Path
) -> None:
    tree = changed(BLOCK, changes)
    with pytest.raises(SpecError) as caught:
        ledger(tmp_path, tree)
    found = [problem for problem in caught.value.problems if problem.pointer == pointer]
    assert any(words in problem.message for problem in found), caught.value.problems


def test_a_slope_in_another_norm_needs_the_number_of_tokens(tmp_path: Path) -> None:
    tree = changed(routed(), {"experts/expert/lipschitz": amount(3, "token_frobenius")})
    with pytest.raises(SpecError, match="State tokens"):
        ledger(tmp_path, tree)
    with pytest.raises(SpecError, match=r"Multiply by 4 \(rounded up\): the bound is then 12"):
        ledger(tmp_path, changed(tree, {"tokens": 16}))


def test_a_norm_that_is_the_ledgers_own_is_accepted(tmp_path: Path) -> None:
    plain = ledger(tmp_path, BLOCK).ledger.block
    stated = changed(BLOCK, {"mlp/up/norm": amount(1, "l2"), "mlp/norm/gamma": amount(1, "linf")})
    assert ledger(tmp_path, stated).ledger.block == plain


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    tree = changed(BLOCK, {"mlp/up/norm": amount(3, "linf"), "attention/query": [LINEAR]})
    with pytest.raises(SpecError) as caught:
        ledger(tmp_path, tree)
    assert len(caught.value.problems) == 2


@pytest.mark.parametrize(("data", "words"), [
    (b"[1]", "needed a block description"),
    (b"{", "invalid"),
    (b"\xff", "UTF-8"),
])  # fmt: skip
def test_what_is_no_description_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(SpecError) as caught:
        read_request(data, "b", "json" if data == b"{" else None)
    assert words in str(caught.value) or caught.value.problems


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    from qreplace.ledger.outcome import run

    with pytest.raises(SpecError, match="readable block description"):
        run(tmp_path / "absent.yaml")
