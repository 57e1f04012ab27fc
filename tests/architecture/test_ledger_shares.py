"""Shares add up to eta_G, halving never hurts, exact components cost nothing (theory T10.4)."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_blocks import block_part, mixture_part, norm_part

from qreplace.architecture.field import Branch, TransformerBlock
from qreplace.architecture.moe import StatedExpert
from qreplace.architecture.norms import NormLayer, Tube
from qreplace.architecture.rounding import (
    BITS,
    root_above,
    root_below,
    root_sum_square,
    softmax_error,
    upper,
)
from qreplace.architecture.shares import costs
from qreplace.errors import InputError

ZERO = Fraction(0)
POSITIVE = st.fractions(min_value=Fraction(1, 10**6), max_value=10**6)


def blocks() -> list[TransformerBlock]:
    """Blocks of both kinds, and one with a mixture."""
    rng = np.random.default_rng(5)
    found = [
        block_part(rng, 4, "noise" if k % 2 else "rounding", 0.5).numbers(Tube(Fraction(3)))
        for k in range(4)
    ]
    mixture = replace(mixture_part(rng, 4).numbers(), gating="softmax", score_error=Fraction(1, 9))
    own = Branch(mixture, norm_part(rng, 4).numbers(), scale_error=Fraction(1, 100))
    return [*found, TransformerBlock({"experts": own}, Tube())]


BLOCKS = blocks()


@pytest.mark.parametrize("block", BLOCKS)
def test_shares_add_up_exactly_and_none_is_negative(block: TransformerBlock) -> None:
    found = costs(block)
    assert sum(cost.share for cost in found) == block.field_error() > 0
    assert all(cost.share >= 0 for cost in found)
    assert [cost.link.component for cost in found] == [link.component for link in block.chain()]


@pytest.mark.parametrize("block", BLOCKS)
def test_halving_buys_what_deciding_again_says(block: TransformerBlock) -> None:
    for cost in costs(block):
        name = cost.link.component
        errors = [
            block.with_errors(name, factor).field_error()
            for factor in (ZERO, Fraction(1, 2), Fraction(3, 4), Fraction(1))
        ]
        assert errors == sorted(errors)
        assert cost.gain == errors[3] - errors[1] >= 0


@pytest.mark.parametrize("block", BLOCKS)
def test_without_own_errors_nothing_errs(block: TransformerBlock) -> None:
    for link in block.chain():
        block = block.with_errors(link.component, ZERO)
    assert block.field_error() == 0
    assert all(link.leaving == 0 for link in block.chain())


@pytest.mark.parametrize("block", BLOCKS)
def test_the_branches_add_up_and_the_separate_form_is_never_smaller(
    block: TransformerBlock,
) -> None:
    ends = [link.leaving for link in block.chain() if link.component.endswith(".scale")]
    assert sum(ends) <= block.field_error() <= sum(ends) * (1 + Fraction(1, 2**60))
    for branch in block.branches.values():
        executed = branch.scale + branch.scale_error
        lost = branch.scale_error * branch.operator.bound(branch.norm.bound(block.tube))
        separate = executed * branch.separate_error(block.tube) + lost
        assert branch.error(block.tube)[0] <= upper(separate)


def test_variation_is_that_of_the_scales() -> None:
    block = BLOCKS[0]
    assert block.time_variation() == 0
    own = block.branches["mlp"]
    drifting = replace(own, scale_variation=own.scale / 3)
    block = replace(block, branches={"mlp": drifting})
    expected = block.field_bound() / 3
    assert abs(block.time_variation() / expected - 1) <= Fraction(1, 2**60)


def test_stated_experts_bound_whatever_the_radius() -> None:
    expert = StatedExpert(Fraction(2), Fraction(3), Fraction(1, 10))
    mixture = replace(mixture_part(np.random.default_rng(1), 3).numbers(), expert=expert)
    one = replace(mixture, gating="one_hot", active=1, score_error=Fraction(1), weight_error=ZERO)
    norm = NormLayer("rms_norm", 3, Fraction(1, 4))
    block = TransformerBlock({"experts": Branch(one, norm)}, Tube())
    assert (block.field_bound(), block.state_lipschitz()) == (2, 6)
    assert 0 <= block.field_error() - Fraction(1, 10) < Fraction(1, 2**60)
    assert one.jump(Fraction(1)) == 4


def test_a_norm_layer_without_eps_needs_a_lower_radius() -> None:
    bare = NormLayer("layer_norm", 4)
    with pytest.raises(InputError, match="eps above 0 or a lower radius"):
        bare.lipschitz(Tube())
    assert bare.lipschitz(Tube(None, Fraction(4))) == Fraction(1, 2)
    with pytest.raises(InputError, match=r"tube\.radius"):
        NormLayer("none", 4).bound(Tube())
    assert NormLayer("none", 4).bound(Tube(Fraction(7))) == 7
    with pytest.raises(InputError, match="lower radius of at most 1"):
        Tube(Fraction(1), Fraction(2))
    assert bare.bound(Tube(ZERO)) == 0


@given(value=POSITIVE)
def test_rounding_is_upward_and_small(value: Fraction) -> None:
    assert value <= upper(value) <= value * (1 + Fraction(1, 2 ** (BITS - 2)))
    assert root_below(value) ** 2 <= value <= root_above(value) ** 2
    assert root_above(value) ** 2 <= value * (1 + Fraction(1, 2**60))
    assert root_sum_square([value, value]) ** 2 >= 2 * value * value
    big = value * 2**200
    assert big <= upper(big) <= big * (1 + Fraction(1, 2 ** (BITS - 2)))


@given(value=st.fractions(min_value=0, max_value=70, max_denominator=10**9))
def test_softmax_error_is_the_tanh_rounded_up(value: Fraction) -> None:
    with mpmath.workdps(50):
        x = mpmath.mpf(value.numerator) / value.denominator
        found = softmax_error(value)
        bound = mpmath.mpf(found.numerator) / found.denominator
        assert 2 * mpmath.tanh(x / 2) <= bound <= 2 * mpmath.tanh(x / 2) + mpmath.mpf(2) ** -60
    assert found <= min(2, upper(value))
