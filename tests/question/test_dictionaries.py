"""The bottleneck distance of dictionaries against every matching."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import pytest

from qreplace.errors import InputError
from qreplace.question.dictionaries import bottleneck


@pytest.mark.parametrize("seed", range(60))
def test_no_matching_is_better(seed: int) -> None:
    rng = random.Random(seed)
    n = rng.randint(1, 6)
    costs = [[Fraction(rng.randint(0, 12), rng.randint(1, 3)) for _ in range(n)] for _ in range(n)]
    value, matching = bottleneck(costs)
    assert sorted(matching) == list(range(n))
    assert max(costs[i][j] for i, j in enumerate(matching)) == value
    assert value == min(
        max(costs[i][j] for i, j in enumerate(order)) for order in itertools.permutations(range(n))
    )


def test_the_order_of_the_atoms_does_not_count() -> None:
    atoms = [Fraction(k) for k in range(40)]
    shuffled = atoms[:]
    random.Random(1).shuffle(shuffled)
    costs = [[abs(a - b) for b in shuffled] for a in atoms]
    value, matching = bottleneck(costs)
    assert value == 0
    assert [shuffled[j] for j in matching] == atoms


def test_unequal_dictionaries_are_refused() -> None:
    with pytest.raises(InputError, match="one size"):
        bottleneck([[Fraction(1)], [Fraction(2)]])
    with pytest.raises(InputError, match="one size"):
        bottleneck([])
