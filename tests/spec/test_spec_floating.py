"""Grids by the name of a floating format (theory T4.12): what they lower to, what is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, get_args

import pytest
from spec_examples import DECLARED, changed, load, problems

from qreplace.errors import Malformed
from qreplace.exact.block_formats import number_format
from qreplace.question import model as q
from qreplace.spec.blocks.execution import FormatName


def block(grid: dict[str, Any], **more: Any) -> dict[str, Any]:
    own = {"semantics": "write_back", "grid": grid, "overflow": "saturate", **more}
    return changed(DECLARED, execution=own)


def lowered(grid: dict[str, Any], **more: Any) -> Any:
    return load(block(grid, **more)).question.execution


@pytest.mark.parametrize(("grid", "step"), [
    ({"format": "bf16", "limit": 1, "rounding": "nearest"}, Fraction(1, 256)),
    ({"format": "bf16", "limit": "3/2", "rounding": "nearest"}, Fraction(1, 256)),
    ({"format": "bf16", "limit": 1, "rounding": "directed"}, Fraction(1, 128)),
    ({"format": "bf16", "limit": 1, "rounding": "stochastic"}, Fraction(1, 128)),
    ({"format": "e4m3", "limit": 448, "rounding": "nearest"}, Fraction(16)),
    ({"format": "e2m1", "limit": "1/4", "rounding": "nearest"}, Fraction(1, 4)),
    ({"format": "mxfp4", "limit": "7.9", "rounding": "nearest"}, Fraction(19, 10)),
    ({"format": "mxfp8_e4m3", "limit": 256, "rounding": "nearest"}, Fraction(32)),
])  # fmt: skip
def test_the_step_is_the_largest_rounding_error(grid: dict[str, Any], step: Fraction) -> None:
    wanted = q.Grid(q.DepthRule(step, 0), "floating", Fraction(grid["limit"]))
    assert lowered(grid).grid == wanted
    assert lowered(grid, overflow="wrap").grid == wanted


def test_a_carry_may_be_floating() -> None:
    grid = {"format": "e4m3", "limit": 1, "rounding": "nearest"}
    carry = {"grid": {"format": "bf16", "limit": "1/8", "rounding": "stochastic"}}
    execution = lowered(grid, semantics="error_feedback", carry=carry)
    assert execution.grid.step == q.DepthRule(Fraction(1, 16), 0)
    assert execution.carry == q.Grid(q.DepthRule(Fraction(1, 1024), 0), "floating", Fraction(1, 8))


@pytest.mark.parametrize("name", get_args(FormatName))
def test_every_offered_name_is_a_format(name: str) -> None:
    execution = lowered({"format": name, "limit": 1, "rounding": "nearest"})
    radius = number_format(name).write_back_radius(Fraction(1))
    assert execution.grid == q.Grid(q.DepthRule(radius, 0), "floating", Fraction(1))


NEAREST = {"rounding": "nearest"}


@pytest.mark.parametrize(("grid", "words"), [
    ({"format": "bf16", **NEAREST}, "needed limit beside format"),
    ({"format": "bf16", "limit": 1, "step": "1/8", **NEAREST},
     "needed one of step, bits and format, received step and format"),
    ({"format": "bf16", "limit": 1, "bits": 8, **NEAREST}, "received bits and format"),
    (NEAREST, "received none of them"),
    ({"format": "e4m3", "limit": 449, **NEAREST}, "a limit that e4m3 holds, at most 448"),
    ({"format": "nvfp4", "limit": 1, **NEAREST}, "format"),
    ({"format": "e8m0", "limit": 1, **NEAREST}, "format"),
    ({"format": "bf16", "limit": 1, "rounding": "floating"}, "rounding"),
])  # fmt: skip
def test_a_grid_that_says_too_much_or_too_little(grid: dict[str, Any], words: str) -> None:
    found = problems(block(grid))
    assert len(found) == 1
    assert words in f"{found[0].pointer} {found[0].message}"


@pytest.mark.parametrize("overflow", ["unbounded", {"kind": "registers", "on_overflow": "wrap",
                                                    "state_bits": 8}])  # fmt: skip
def test_a_format_has_a_range_that_can_overflow(overflow: Any) -> None:
    grid = {"format": "bf16", "limit": 1, "rounding": "nearest"}
    assert len(problems(block(grid, overflow=overflow))) == 1


@pytest.mark.parametrize(("power", "limit"), [(1, Fraction(1)), (0, None)])
def test_a_question_refuses_floating_rounding_without_a_range(power: int, limit: Any) -> None:
    with pytest.raises(Malformed, match="a fixed step, within a half range"):
        q.Grid(q.DepthRule(Fraction(1, 256), power), "floating", limit)
