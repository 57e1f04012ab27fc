"""The real engine over HTTP: the same study, the same bytes, exact numbers."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy
import pytest
from service_client import SPEC, Client, spec

import qreplace
from qreplace.check.__main__ import check_bundle
from qreplace.exact.document import sha256_hex

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


def test_same_study_as_python(engine: Client, tmp_path: Path) -> None:
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(SPEC))
    study = qreplace.decide(path)
    response = engine.post(SPEC)
    assert response.status_code == 201
    assert response.json() == json.loads(json.dumps(study.document()))
    assert response.headers["location"] == f"/v1/studies/{study.id}"
    bundle = engine.get(f"/v1/studies/{study.id}/bundle.zip").content
    assert bundle == study.bundle
    assert sha256_hex(bundle) == response.json()["bundle_sha256"]


def test_yaml_and_json_are_the_same_study(engine: Client) -> None:
    text = (EXAMPLES / "declared-transformer.yaml").read_bytes()
    studies = {
        engine.post_bytes(text, media).json()["study"]
        for media in ("application/yaml", "application/x-yaml", "text/yaml; charset=utf-8")
    }
    assert studies == {qreplace.decide(EXAMPLES / "declared-transformer.yaml").id}
    as_yaml = b"\xef\xbb\xbf# the same question\n" + json.dumps(spec(title="Other")).encode()
    assert (
        engine.post_bytes(as_yaml, "text/yaml").json()["study"] == engine.post(SPEC).json()["study"]
    )


@pytest.mark.parametrize(
    ("written", "exact"),
    [
        ("0.1", "1/10"),
        ("1e-30", "1/1" + "0" * 30),
        ("0.1000000000000000055511151231257827", "1000000000000000055511151231257827/1" + "0" * 34),
        ('"1/3"', "1/3"),
    ],
)
def test_numbers_stay_exact_through_the_body(engine: Client, written: str, exact: str) -> None:
    body = json.dumps(SPEC).replace('"3/20"', written).encode()
    document = engine.post(body).json()
    assert document["tolerance"]["lo"] == exact
    as_yaml = engine.post_bytes(body, "application/yaml").json()
    assert as_yaml["study"] == document["study"]


def test_reports_and_figures_are_there(engine: Client) -> None:
    study = engine.post(SPEC).json()["study"]
    base = f"/v1/studies/{study}"
    document = engine.get(base).json()
    assert engine.get(f"{base}/report.json").json() == document
    page = engine.get(f"{base}/report.html")
    assert "<script" not in page.text and document["study"] in page.text
    rows = list(csv.DictReader(io.StringIO(engine.get(f"{base}/report.csv").text)))
    assert [int(row["depth"]) for row in rows] == [row["depth"] for row in document["depths"]]
    assert engine.get(f"{base}/report.md").text.startswith("#")
    for name in ("interval", "frontier"):
        assert b"<svg" in engine.get(f"{base}/figures/{name}.svg").content
        assert engine.get(f"{base}/figures/{name}.png").content.startswith(b"\x89PNG")


def test_negotiated_representations_are_the_reports(engine: Client) -> None:
    study = engine.post(SPEC).json()["study"]
    base = f"/v1/studies/{study}"
    for media, suffix in (("text/html", "html"), ("text/markdown", "md"), ("text/csv", "csv")):
        chosen = engine.get(base, accept=media)
        assert chosen.headers["content-type"] == f"{media}; charset=utf-8"
        assert chosen.headers["vary"] == "Accept"
        assert chosen.content == engine.get(f"{base}/report.{suffix}").content


def test_the_offline_checker_accepts_the_bundle(engine: Client) -> None:
    study = engine.post(SPEC).json()["study"]
    report = check_bundle(engine.get(f"/v1/studies/{study}/bundle.zip").content)
    assert report.kind == "bundle"


def _npy(rows: list[list[int]]) -> bytes:
    buffer = io.BytesIO()
    numpy.save(buffer, numpy.array(rows, dtype=numpy.int8))
    return buffer.getvalue()


def _side_file_spec(**files: bytes) -> dict[str, object]:
    """Targets and atoms that are one-column maps of a single witness, each in a side file."""
    named = {
        name: {"path": f"data/{name}.npy", "sha256": sha256_hex(data)}
        for name, data in files.items()
    }
    atoms = [
        {"kind": "linear_map", "name": name, "weights": named[name]}
        for name in files
        if name != "target"
    ]
    return spec(
        objective={
            "kind": "emulation",
            "tolerance": "1/4",
            "norm": "linf",
            "domain": {"kind": "witnesses", "inputs": [[1]]},
        },
        target={"kind": "linear_map", "name": "target", "weights": named["target"]},
        dictionary={"bits": 4, "learned": False, "atoms": atoms},
    )


FILES = {"target": _npy([[1], [1]]), "left": _npy([[2], [0]]), "right": _npy([[0], [2]])}


def test_attachments_by_name_and_by_digest(engine: Client, tmp_path: Path) -> None:
    tree = _side_file_spec(**FILES)
    data = json.dumps(tree).encode()
    by_name = [("file", (f"data/{name}.npy", body, None)) for name, body in FILES.items()]
    by_digest = [(f"a{i}", ("other", body, None)) for i, body in enumerate(FILES.values())][:1]
    by_digest += [(f"b{i}", (f"{i}", body, None)) for i, body in enumerate(FILES.values())][1:]
    first = engine.post_parts(*by_name, ("spec", ("s.json", data, "application/json")))
    assert first.status_code == 201, first.text
    second = engine.post_parts(("spec", (None, data, None)), *by_digest)
    assert second.status_code == 200, second.text
    (tmp_path / "data").mkdir()
    for name, body in FILES.items():
        (tmp_path / "data" / f"{name}.npy").write_bytes(body)
    (tmp_path / "spec.json").write_bytes(data)
    assert first.json()["study"] == qreplace.decide(tmp_path / "spec.json").id


def test_the_real_checkpoint_with_its_attachments(engine: Client) -> None:
    """The MiniLM layer, whose weights, codes, scales and witnesses come as 35 attachments."""
    folder = EXAMPLES / "minilm-attention-output"
    path = folder / "impossible.yaml"
    parts = [
        ("file", (file.relative_to(folder).as_posix(), file.read_bytes(), None))
        for file in sorted((folder / "data").glob("*.npy"))
    ]
    response = engine.post_parts(("spec", (path.name, path.read_bytes(), None)), *parts)
    assert response.status_code == 201, response.text
    assert response.json()["verdict"] == "certified_impossible"
    assert response.json()["study"] == qreplace.load_spec(path).question.study_id


@pytest.mark.parametrize("body", [b"changed", None], ids=["changed", "missing"])
def test_wrong_attachments(engine: Client, body: bytes | None) -> None:
    files = {**FILES} if body is None else {**FILES, "left": body}
    parts = [("f", (f"data/{name}.npy", data, None)) for name, data in files.items()]
    if body is None:
        parts = [part for part in parts if "left" not in str(part[1][0])]
    data = json.dumps(_side_file_spec(**FILES)).encode()
    response = engine.post_parts(("spec", ("s.json", data, None)), *parts)
    assert response.status_code == 422
    problem = response.json()
    assert problem["pointer"].startswith("/dictionary/atoms/0/weights")
    assert sha256_hex(FILES["left"]) in problem["detail"] or "data/left.npy" in problem["detail"]


def test_no_file_of_this_machine_is_read(engine: Client, tmp_path: Path) -> None:
    secret = tmp_path / "secret.npy"
    secret.write_bytes(FILES["left"])
    tree = _side_file_spec(**FILES)
    for path in (str(secret), "../secret.npy", "data/left.npy"):
        text = json.dumps(tree).replace("data/left.npy", path)
        response = engine.post_parts(
            ("spec", ("s.json", text.encode(), None)),
            ("f", ("x", FILES["target"], None)),
            ("g", ("y", FILES["right"], None)),
        )
        assert response.status_code == 422, response.text
        assert "attachment" in response.text or "inside the specification" in response.text


def test_a_rejected_claim(engine: Client) -> None:
    """A well-formed claim about another question is refused and nothing is stored."""
    other = engine.post(spec(title="asked first")).json()
    bundle = engine.get(f"/v1/studies/{other['study']}/bundle.zip").content
    from qreplace.claims.bundle import read_bundle

    digest, claim = next(iter(read_bundle(bundle).claims.items()))
    kind = json.loads(claim)["format"].split("/")[2]
    tree = spec(
        target={"kind": "vector", "values": ["1/3", "1/4"]},
        certificates=[{"claim": kind, "path": "claim.json", "sha256": digest}],
    )
    response = engine.post_parts(
        ("spec", ("s.json", json.dumps(tree).encode(), None)), ("c", ("claim.json", claim, None))
    )
    assert response.status_code == 422
    assert response.json()["type"] == "/problems/rejected"
