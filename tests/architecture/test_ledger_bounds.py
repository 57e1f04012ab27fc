"""No bound of a ledger is ever crossed by direct evaluation, and none is vacuous (theory T10)."""

from __future__ import annotations

import numpy as np
import pytest
from ledger_cases import CASES, quotients

SLACK = 1e-9
REACHED = {
    "activation, Lipschitz": 0.999,
    "activation, values": 0.999,
    "norm layer, Lipschitz": 0.95,
    "norm layer, two points": 0.99,
    "norm layer, error": 0.9,
    "norm layer, output": 0.99,
    "softmax, l1 change": 0.99,
    "linear layer, error": 0.99,
    "scores, Lipschitz": 0.999,
    "attention, bound": 0.9,
    "attention, Lipschitz": 0.6,
    "attention, error": 0.6,
    "attention, aligned errors": 0.999,
    "MLP, bound": 0.9,
    "MLP, Lipschitz": 0.6,
    "MLP, error": 0.6,
    "MLP, aligned errors": 0.999,
    "MLP, aligned slopes": 0.999,
    "mixture, Lipschitz": 0.4,
    "mixture, error": 0.3,
    "mixture, jump": 0.3,
    "block, B": 0.4,
    "block, L_z": 0.05,
    "block, eta_G": 0.2,
    "block, errors of scales": 0.99,
}
"""How near the cases come: a test whose cases stay far below a bound would not see it break."""


@pytest.mark.parametrize("name", CASES)
def test_no_case_is_above_its_bound_and_some_come_near(name: str) -> None:
    found = quotients(name)
    assert np.isfinite(found).all()
    assert found.max() <= 1 + SLACK
    assert found.max() >= REACHED[name]


def test_there_are_more_than_ten_thousand_cases() -> None:
    assert set(REACHED) == set(CASES)
    names = ("norm layer, error", "linear layer, error", "attention, error", "MLP, error",
             "block, B", "block, L_z", "block, eta_G")  # fmt: skip
    assert sum(quotients(name).size for name in names) > 10_000
