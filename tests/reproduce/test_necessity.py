"""The enumerated converses: what the table says, and that a wrong formula would be told."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

import qreplace.reproduce.necessity as module
from qreplace.errors import InputError
from qreplace.reproduce import reproduce
from qreplace.reproduce.table import Row


def rows(depth: int) -> dict[str, Row]:
    return {row.quantity: row for row in reproduce("necessity", {"depth": depth}).rows}


def test_the_table_at_a_small_depth() -> None:
    found = rows(5)
    for depth in range(2, 6):
        own = found[f"E_D, fixed teacher, D = {depth}"]
        assert own.agrees and own.interval is not None and own.interval.lower is not None
        least = min(
            abs(math.fsum(q * (1 - 1 / depth) ** (depth - 1 - k) / depth
                          for k, q in enumerate(schedule)) - 1 + math.exp(-1))
            for schedule in itertools.product((0, 1), repeat=depth)
        )  # fmt: skip
        assert abs(float(own.interval.lower) - least) < 1e-12
        assert found[f"E_D, two tokens, D = {depth}"].agrees
    assert "E_D, fixed teacher, D = 6" not in found
    assert found["lam T = 2, D = 8: a best schedule"].here == "01111111"


def test_the_signed_ray_allows_a_scale_that_is_not_the_digests() -> None:
    own = rows(2)["a that all four published numbers allow"].interval
    assert own is not None and own.lower is not None and own.upper is not None
    assert Fraction("1.2834") < own.lower < own.upper < Fraction("1.2840")
    # With a in between, every published number comes out.
    a = (own.lower + own.upper) / 2
    for gap, published in module.RAY:
        value = a * Fraction(gap) / 2 * Fraction(127, 128) ** 127
        assert abs(value - Fraction(published)) <= Fraction(1, 20_000)


def test_a_formula_that_is_off_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def off(amplitude: Fraction, depth: int) -> tuple[Fraction, Fraction]:
        value = amplitude / (2 * depth)
        return value, value

    monkeypatch.setattr(module, "teacher_error", off)
    assert not reproduce("necessity", {"depth": 3}).agrees
    monkeypatch.undo()
    monkeypatch.setattr(module, "attention_least", lambda *_: 0.1)
    assert not reproduce("necessity", {"depth": 3}).agrees


@pytest.mark.parametrize("depth", [1, 15])
def test_depths_have_limits(depth: int) -> None:
    with pytest.raises(InputError, match="2 to 14"):
        reproduce("necessity", {"depth": depth})
