"""The codebook example: what one target needs, and what the family needs."""

from __future__ import annotations

from pathlib import Path

import pytest

import qreplace
from qreplace.errors import SpecError
from qreplace.report import render
from qreplace.spec import load_spec

SOURCE = Path(__file__).parents[2] / "examples" / "metadata-codebook.yaml"
TEXT = SOURCE.read_text("utf-8")


def test_more_metadata_needs_less_depth_and_too_little_never_does() -> None:
    found = qreplace.decide(SOURCE).decision
    assert found["verdict"] == "conditionally_feasible"
    works = {row["depth"]: row["metadata_bits"] for row in found["depths"]
             if row["verdict"] == "conditionally_feasible"}  # fmt: skip
    assert {bits for depth, bits in works.items() if depth < 28} == {64}
    assert min(works) == 12
    assert works[28] == 32
    assert "2^s points" in found["best"]["radii"]["metadata"]["formula"]
    assert "targets" not in found["declared"] and "covering_constant" not in found["declared"]


def test_the_report_separates_the_family_from_the_target(tmp_path: Path) -> None:
    study = qreplace.decide(SOURCE)
    files = render(study.document(), study.report_context(), figures=False)
    for name in ("report.md", "report.html"):
        text = files[name].decode()
        assert "This family, not this target" in text
        assert "With 8 metadata bits no depth below 16 serves the whole family." in text
    # However large the family, the verdict about the one target stays.
    more = tmp_path / "more.yaml"
    more.write_text(TEXT.replace("1000000000000", "1" + "0" * 60), "utf-8")
    other = qreplace.decide(more)
    assert other.verdict == study.verdict
    assert other.decision["best"] == study.decision["best"]
    text = render(other.document(), other.report_context(), figures=False)["report.md"].decode()
    assert "With 64 metadata bits no depth below 68 serves" in text


@pytest.mark.parametrize(("change", "words"), [
    (("half_width: 1/2}", "half_width: -1/2}"), "at least 0"),
    (("entries: 2", "entries: 0"), "at least 1"),
    (("family: {kind: codebook, entries: 2, dimension: 4, half_width: 1/2}", "constant: 1"),
     "dimension, or a family"),
    (("  family: {kind", "  constant: 1\n  family: {kind"), "no constant beside a family"),
    (("{kind: codebook, entries: 2, dimension: 4, half_width: 1/2}",
      "{kind: scales, low: 2, high: 1, count: 3}"), "low at most high"),
    (("value: 1000000000000", "value: 0"), "above 0"),
])  # fmt: skip
def test_a_family_that_is_none_is_told(tmp_path: Path, change: tuple[str, str], words: str) -> None:
    assert change[0] in TEXT
    path = tmp_path / "study.yaml"
    path.write_text(TEXT.replace(*change, 1), "utf-8")
    with pytest.raises(SpecError) as caught:
        load_spec(path)
    assert any(words in problem.message for problem in caught.value.problems), caught.value.problems
