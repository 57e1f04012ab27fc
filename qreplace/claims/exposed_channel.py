"""``exposed_channel``: one functional moves by labels and a rate alone (theory T9.1, T9.2)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from qreplace.claims.functional import Functional
from qreplace.claims.region import BoxPart


@dataclass(frozen=True, slots=True)
class ExposedChannelClaim:
    """``E_D >= lower`` (ideal, every schedule) at each depth from ``first`` to ``last``.

    ``witness`` is a functional l of dual norm at most 1 with ``l G_j(t, z) = labels[j] - rate l z``
    up to ``mode_defect``, on the ``tube`` that no Euler trajectory leaves; without one for every t
    and z, exactly. ``searched``: up to this depth every end of the channel is looked at, beyond it
    the closed form alone.
    """

    format: Literal["qreplace/claim/exposed_channel/v1"]
    subject: str
    code: int
    first: int
    last: int
    searched: int
    witness: Functional
    rate: Fraction
    labels: tuple[Fraction, ...]
    mode_defect: Fraction
    tube: BoxPart | None
    lower: Fraction
