"""The questions that the tables ask: the shipped matrix instance, and soft-threshold maps.

All data are exact. What the paper does not give is chosen in the table's own module, which says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from qreplace.claims import Claim, read_claim
from qreplace.data import data_path
from qreplace.errors import NotFound
from qreplace.exact.fixed_point import exponential
from qreplace.question.arrays import inline_array
from qreplace.question.model import (
    FORMAT,
    AccuracyMatching,
    BoxRegion,
    ComputedFloor,
    ComputedSynthesis,
    Costs,
    DepthRange,
    Emulation,
    ExactExecution,
    FullDomain,
    InlineArray,
    LinfNorm,
    ListedDictionary,
    NetworkTarget,
    NoMetadata,
    NoRouting,
    PwaAtom,
    PwaMapData,
    PwaSystem,
    Question,
    Search,
    WholeSpaceTube,
    read_question,
)
from qreplace.question.subject import Subject

CASE = "matrix-matching"
BITS = 100
"""``alpha`` of the limit maps is rounded down to a multiple of ``2**-BITS``."""


def shipped_case(case: str = CASE) -> Path:
    """The folder of a shipped certificate; raises ``NotFound`` without it."""
    folder = data_path("certificates") / case
    if not (folder / "question.json").is_file():
        raise NotFound(f"the certificate {case} is not part of this installation")
    return folder


def shipped_question(case: str = CASE) -> Question:
    """The question of a shipped certificate."""
    return read_question((shipped_case(case) / "question.json").read_bytes())


def shipped_claims(case: str = CASE) -> list[Claim]:
    """The claims of a shipped certificate, by file name."""
    paths = sorted((shipped_case(case) / "claims").glob("*.json"))
    return [read_claim(path.read_bytes()) for path in paths]


def threshold_atom(
    gain: Fraction, threshold: Fraction, *, state: Fraction | None = None, leak: Fraction
) -> PwaAtom:
    """``S_threshold(gain y + state x) - leak x`` of one input and one coordinate (theory T8.1)."""
    return PwaAtom(
        "pwa",
        "soft_threshold",
        _matrix([[gain]]),
        None if state is None else _matrix([[state]]),
        None,
        _vector([threshold]),
        None,
        None,
        leak,
        None,
    )


def mixture(terms: Sequence[tuple[Fraction, Fraction]]) -> NetworkTarget:
    """The map ``sum_i weight_i S_{level_i}(y)`` of one input, from ``(weight, level)``."""
    count = len(terms)
    layer = PwaAtom(
        "pwa",
        "soft_threshold",
        _matrix([[Fraction(1)]] * count),
        None,
        None,
        _vector([level for _, level in terms]),
        _matrix([[weight for weight, _ in terms]]),
        None,
        Fraction(1),
        None,
    )
    return NetworkTarget("network", (layer,))


def scalar_subject(
    atoms: Sequence[PwaAtom],
    target: PwaMapData,
    reach: Fraction,
    witnesses: Sequence[Fraction],
    comparator: PwaMapData | None = None,
) -> Subject:
    """A question about maps of one input y with ``|y| <= reach``, one coordinate, horizon 1."""
    floor = ComputedFloor("compute", "auto")
    accuracy = Emulation("emulation", Fraction(1, 100))
    question = Question(
        format=FORMAT,
        objective=accuracy if comparator is None else _matching(comparator),
        scope="endpoint",
        norm=LinfNorm("linf"),
        domain=FullDomain("full", _matrix([[y] for y in witnesses]), None),
        horizon=Fraction(1),
        system=PwaSystem("pwa", 1, 1, BoxRegion("box", _vector([-reach]), _vector([reach]))),
        initial=None,
        tube=WholeSpaceTube("whole_space"),
        target=target,
        dictionary=ListedDictionary("listed", tuple(atoms), 4, learned=False, shared_schedule=True),
        floor=floor,
        synthesis=ComputedSynthesis("computed"),
        metadata=NoMetadata("none"),
        execution=ExactExecution("exact"),
        routing=NoRouting("none"),
        search=Search((DepthRange(1, 8, 1),), (0,)),
        costs=Costs(Fraction(0), Fraction(0), Fraction(1), Fraction(0)),
        certificates=(),
    )
    return Subject(question, {})


def mass(rate: Fraction) -> Fraction:
    """``(1 - e^{-rate}) / rate`` rounded down to ``2**-BITS``, for a rate above 0 (theory T7.7)."""
    _, above = exponential(-rate, 2 * BITS)
    below = (1 - Fraction(above, 1 << 2 * BITS)) / rate
    return Fraction((below.numerator << BITS) // below.denominator, 1 << BITS)


def _matching(comparator: PwaMapData) -> AccuracyMatching:
    return AccuracyMatching("accuracy_matching", comparator)


def _matrix(rows: Sequence[Sequence[Fraction]]) -> InlineArray:
    return inline_array((len(rows), len(rows[0])), [value for row in rows for value in row])


def _vector(values: Sequence[Fraction]) -> InlineArray:
    return inline_array((len(values),), list(values))
