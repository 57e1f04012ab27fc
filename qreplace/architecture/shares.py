"""Which component costs most, and what halving its own error would buy (theory T10.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from qreplace.architecture.chain import Link
from qreplace.architecture.field import TransformerBlock

HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Cost:
    """A component of the chain with what its own error adds to ``eta_G``.

    ``share`` is in units of the field. Errors multiply and saturate, so what a component adds
    depends on which others err already: it is the mean over two orders, components switched on
    from the first to the last and from the last to the first. Shares add up to ``eta_G`` exactly.
    ``gain`` is how much smaller ``eta_G`` gets when the component errs half as much and nothing
    else changes.
    """

    link: Link
    share: Fraction
    gain: Fraction


def costs(block: TransformerBlock) -> tuple[Cost, ...]:
    """The cost of every component, in the order of the chain."""
    chain = block.chain()
    names = [link.component for link in chain]
    total = block.field_error()
    forward = _marginals(block, names)
    backward = _marginals(block, names[::-1])[::-1]
    return tuple(
        Cost(
            link,
            (one + other) / 2,
            max(Fraction(0), total - block.with_errors(link.component, HALF).field_error()),
        )
        for link, one, other in zip(chain, forward, backward, strict=True)
    )


def _marginals(block: TransformerBlock, names: Sequence[str]) -> list[Fraction]:
    """What each component adds when it starts to err after those before it in ``names``."""
    added: list[Fraction] = []
    left = block.field_error()
    for name in reversed(names):
        block = block.with_errors(name, Fraction(0))
        rest = block.field_error()
        added.append(left - rest)
        left = rest
    return added[::-1]
