"""Side files: attachments, folders that are left, links, digests, types and damaged files."""

from __future__ import annotations

import io
import json
import os
import struct
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save
from spec_examples import DECLARED, LIFTED, changed, load, problems

from qreplace.errors import InputError, SpecError
from qreplace.exact.document import sha256_hex
from qreplace.question.arrays import exact_values, read_npy
from qreplace.question.model import StoredArray, VectorTarget
from qreplace.question.safetensors import read_safetensors, widen_bf16
from qreplace.spec import load_spec


def npy(values: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, values)
    return stream.getvalue()


HALVES = npy(np.array([0.5, 0.25], dtype="<f4"))
DIGEST = sha256_hex(HALVES)


def with_file(path: str, sha256: str = DIGEST, **more: Any) -> dict[str, Any]:
    values = {"path": path, "sha256": sha256, **more}
    return changed(LIFTED, target={"kind": "vector", "values": values})


def test_an_attachment_by_name_or_by_digest() -> None:
    for files in ({"a.npy": HALVES}, {DIGEST: HALVES}):
        loaded = load(with_file("a.npy"), files)
        assert loaded.question.target == VectorTarget(
            "vector", StoredArray("stored", DIGEST, "float32", (2,))
        )
        assert loaded.arrays == {DIGEST: HALVES}


def test_no_file_system_without_a_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.npy").write_bytes(HALVES)
    (problem,) = problems(with_file("a.npy"))
    assert "as an attachment" in problem.message
    assert problem.pointer == "/target/values"


def test_an_attachment_that_is_not_what_its_digest_says() -> None:
    (problem,) = problems(with_file("a.npy"), {DIGEST: HALVES + b"x"})
    assert sha256_hex(HALVES + b"x") in problem.message


def test_stored_bytes_are_canonical_whatever_the_header() -> None:
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"
    header += b" " * (118 + 64 - len(header) - 1) + b"\n"
    padded = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + HALVES[-8:]
    loaded = load(with_file("a.npy", sha256_hex(padded)), {"a.npy": padded})
    assert loaded.arrays == {DIGEST: HALVES}


@pytest.mark.parametrize(
    "path",
    ["../a.npy", "x/../../a.npy", "/a.npy", "C:/a.npy", "x\\a.npy", "a\u0000.npy", ".."],
)
def test_unsafe_paths(path: str) -> None:
    (problem,) = problems(with_file(path), {path: HALVES})
    assert "inside the specification's folder" in problem.message


def test_links_that_lead_out_are_refused(tmp_path: Path) -> None:
    inside = tmp_path / "in"
    inside.mkdir()
    (tmp_path / "out.npy").write_bytes(HALVES)
    (inside / "kept.npy").write_bytes(HALVES)
    (inside / "out.npy").symlink_to(tmp_path / "out.npy")
    (inside / "near.npy").symlink_to(inside / "kept.npy")
    spec = inside / "s.json"
    spec.write_text(json.dumps(with_file("near.npy")))
    assert DIGEST in load_spec(spec).arrays
    spec.write_text(json.dumps(with_file("out.npy")))
    with pytest.raises(SpecError, match="leads out of it"):
        load_spec(spec)


def test_a_loop_of_links_and_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "b.npy").symlink_to(tmp_path / "a.npy")
    (tmp_path / "a.npy").symlink_to(tmp_path / "b.npy")
    os.mkfifo(tmp_path / "pipe.npy")
    for name in ("a.npy", "pipe.npy"):
        (tmp_path / "s.json").write_text(json.dumps(with_file(name)))
        with pytest.raises(SpecError, match="needed"):
            load_spec(tmp_path / "s.json")


def test_a_missing_specification(tmp_path: Path) -> None:
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(SpecError, match="needed a readable specification"):
            load_spec(path)


def test_certificates_are_read_or_merely_announced(tmp_path: Path) -> None:
    claim = b'{"kind": "lean_claim"}'
    digest = sha256_hex(claim)
    listed = [
        {"claim": "lean_claim", "path": "c.json", "sha256": digest, "required": True},
        {"claim": "operator_norm", "sha256": "0" * 64},
        {"claim": "lattice"},
    ]
    loaded = load(changed(DECLARED, certificates=listed), {"c.json": claim})
    assert loaded.certificates == {digest: claim}
    assert [c.sha256 for c in loaded.question.certificates] == [digest, "0" * 64, None]
    (problem,) = problems(
        changed(DECLARED, certificates=[{"claim": "lattice", "path": "c.json"}]), {"c.json": claim}
    )
    assert digest in problem.message


# --- safetensors --------------------------------------------------------------------------------

TENSORS = {
    "f4": np.array([[0.5, -1.25], [3.0, 1e-30]], dtype="<f4"),
    "f2": np.array([0.5, -1.25, 6e-8], dtype="<f2"),
    "f8": np.array([1e-300, 2.5], dtype="<f8"),
    "i1": np.array([-128, 127], dtype="i1"),
    "u2": np.array([[[65535]]], dtype="<u2"),
    "i8": np.array([-(2**63)], dtype="<i8"),
}


@pytest.mark.parametrize("name", sorted(TENSORS))
def test_safetensors_holds_what_npy_holds(name: str) -> None:
    read = read_safetensors(save(TENSORS), name)
    assert read.to_npy() == npy(TENSORS[name])
    assert exact_values(read) == exact_values(read_npy(npy(TENSORS[name])))


@given(st.lists(st.integers(0, 2**16 - 1).filter(lambda bits: bits & 0x7F80 != 0x7F80)))
def test_bfloat16_is_widened_exactly(patterns: list[int]) -> None:
    wide = widen_bf16(struct.pack(f"<{len(patterns)}H", *patterns))
    assert struct.unpack(f"<{len(patterns)}I", wide) == tuple(bits << 16 for bits in patterns)


def test_bfloat16_in_a_specification() -> None:
    entry = {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}
    header = json.dumps({"w": entry}).encode()
    data = struct.pack("<Q", len(header)) + header + struct.pack("<2H", 0x3F80, 0xBFC0)
    loaded = load(with_file("x.safetensors", sha256_hex(data), tensor="w"), {"x.safetensors": data})
    (stored,) = loaded.arrays.values()
    values = exact_values(read_npy(stored))
    assert [Fraction(n, values.denominator) for n in values.numerators] == [1, Fraction(-3, 2)]


def damaged() -> dict[str, bytes]:
    def file(header: Any, data: bytes = b"\0" * 8) -> bytes:
        text = json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + data

    good = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
    return {
        "empty": b"",
        "header length": struct.pack("<Q", 10**12) + b"{}",
        "header": struct.pack("<Q", 4) + b"{]x}",
        "list": file([]),
        "no tensor": file({"v": good}),
        "offsets": file({"w": {**good, "data_offsets": [0, 16]}}),
        "reversed": file({"w": {**good, "data_offsets": [8, 0]}}),
        "shape": file({"w": {**good, "shape": [-2]}}),
        "huge shape": file({"w": {**good, "shape": [2**40, 2**40]}}),
        "size": file({"w": {**good, "shape": [3]}}),
        "dtype": file({"w": {**good, "dtype": "F8_E4M3"}}),
        "entry": file({"w": 3}),
        "odd": file({"w": {"dtype": "BF16", "shape": [1], "data_offsets": [0, 3]}}),
        "twice": struct.pack("<Q", 14) + b'{"w":1,"w":1} ',
    }


@pytest.mark.parametrize("case", sorted(damaged()))
def test_damaged_safetensors(case: str) -> None:
    with pytest.raises(InputError):
        read_safetensors(damaged()[case], "w")


def test_a_safetensors_file_needs_a_tensor_name() -> None:
    data = save(TENSORS)
    (problem,) = problems(with_file("x.safetensors", sha256_hex(data)), {"x.safetensors": data})
    assert "name of a tensor" in problem.message
