"""The finder of channels: which functionals it sees, what it chooses, what it says otherwise."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction

import pytest
from corpora.exposed_channel import subject as corpus_subject
from dynamic_questions import affine_question, forcing, polynomial_question
from lifted_questions import L1, L2, LINF, block_l2, weighted_l1, weighted_linf

from qreplace.check.exposed_channel import check
from qreplace.claims.exposed_channel import ExposedChannelClaim
from qreplace.errors import ProducerFailed
from qreplace.produce.channel_spaces import channel_spaces, of_affine, of_polynomial
from qreplace.produce.exposed_channel import applies, produce
from qreplace.question.model import Norm
from qreplace.question.subject import Subject

NONE = "no functional that moves by labels alone decides an open depth"


def produced(
    about: Subject, depths: Sequence[int], exceeds: Fraction | int | str
) -> list[ExposedChannelClaim]:
    """Claims that the checker accepts, each above what they have to exceed."""
    claims = list(produce(about, 0, depths, Fraction(exceeds)))
    for claim in claims:
        assert check(about, claim) and claim.lower > Fraction(exceeds)
    return claims


def test_one_claim_covers_every_depth_that_the_fixed_teacher_misses() -> None:
    """1/1000 is exceeded at depths 1 to 5 from above the target and at 6 to 44 from below it."""
    about = corpus_subject("channel-teacher")
    (claim,) = produced(about, range(1, 45), "1/1000")
    assert (claim.first, claim.last, claim.searched) == (1, 44, 0)
    assert list(claim.labels) == [0, 1] and claim.rate == 1


def test_ranges_end_where_the_bound_does() -> None:
    about = corpus_subject("channel-teacher")
    # The error is 0.0057 at depth 5, 0.0016 at 6 and 0.0066 at 7.
    first, second = produced(about, range(1, 20), "1/200")
    assert (first.first, first.last) == (1, 5)
    assert (second.first, second.last) == (7, 19)
    # Holes of the grid are covered with the depths around them.
    (sparse,) = produced(about, [7, 11, 19], "1/200")
    assert (sparse.first, sparse.last) == (7, 19)


def test_inside_the_ends_only_a_search_tells() -> None:
    about = corpus_subject("channel-counts")
    found = produced(about, range(2, 10), "1/100")
    assert [(c.first, c.last) for c in found] == [(3, 3), (5, 5), (7, 7), (9, 9)]
    assert [c.lower for c in found] == [Fraction(1, 2 * d) for d in (3, 5, 7, 9)]
    assert all(c.searched == c.first for c in found)


NORMS: list[Norm] = [
    LINF, L1, L2, block_l2(1), weighted_linf("1/2", 3), weighted_l1(2, "1/3"),
]  # fmt: skip


@pytest.mark.parametrize("norm", NORMS, ids=lambda norm: norm.kind)
def test_the_functional_of_a_depth_separates_in_every_norm(norm: Norm) -> None:
    """At least as well as the better coordinate does."""
    about = Subject(
        affine_question([[0, 0], [2, 0], [0, 1], [2, 1]], [3, 2], rate="-1/2", norm=norm), {}
    )
    (claim,) = produced(about, [3], 0)
    shallow = max(_coordinate_bound(about, i) for i in (0, 1))
    assert claim.lower >= shallow - Fraction(1, 10**6)


def _coordinate_bound(about: Subject, index: int) -> Fraction:
    """What one coordinate shows: three steps of ``x' = q - x / 2`` reach ``2 q (1 - (5/6)^3)``."""
    reach = 2 * (1 - Fraction(5, 6) ** 3) * (2, 1)[index]
    norm = about.question.norm
    weights = getattr(norm, "weights", (Fraction(1), Fraction(1)))
    return ((3, 2)[index] - reach) * weights[index]


def test_corners_need_more_than_coordinates() -> None:
    """Two atoms on the axes: their mixtures stay below z1 + z2 = const, coordinates see no miss."""
    about = Subject(affine_question([[1, 0], [0, 1]], ["1/2", "1/2"], rate=-1, norm=L1), {})
    (claim,) = produced(about, [20], "1/10")
    assert claim.witness.vector.indices == (0, 1)
    assert claim.witness.vector.numerators[0] == claim.witness.vector.numerators[1]
    # 1 - (1 - (19/20)^20) in the l1 norm, all but the rounding of the enclosure.
    assert 0 <= Fraction(19, 20) ** 20 - claim.lower < Fraction(1, 10**30)


def test_eigenvectors_of_a_full_matrix() -> None:
    """A = P diag(-1, -3, turning) P^-1 has two rational left eigenvectors, and no other."""
    matrix = [[-2, 1, 0, 0], [1, -2, 0, 0], [0, 0, 0, 1], [1, 0, -2, 0]]
    about = Subject(
        affine_question([[1, 0, 0, 0], [0, 1, 1, 0]], [3, -3, 0, 0], state_matrix=matrix, norm=L1),
        {},
    )
    spaces = channel_spaces(of_affine(about.affine(0)))
    assert [space.rate for space in spaces] == [3, 1]
    assert [len(space.rows or []) for space in spaces] == [1, 1]
    (claim,) = produced(about, range(1, 30), 1)
    assert (claim.first, claim.last) in ((1, 29), (2, 29))
    assert claim.witness.vector.indices == (0, 1)


def test_random_eigenvectors_are_found_exactly() -> None:
    draw = random.Random(3)
    for _ in range(10):
        k, m = draw.randint(-3, 3), draw.randint(-3, 3)
        rates = [Fraction(-draw.randint(1, 9), 3), Fraction(draw.randint(1, 5), 2)]
        # Rows (1, k) and (m, 1 + k m) of a unimodular P: A = P^-1 diag(rates) P.
        p = [[1, k], [m, 1 + k * m]]
        back = [[1 + k * m, -k], [-m, 1]]
        matrix = [
            [sum(back[i][r] * rates[r] * p[r][j] for r in (0, 1)) for j in (0, 1)] for i in (0, 1)
        ]
        about = Subject(
            affine_question([[1, 0], [0, 1]], [40, 50], state_matrix=matrix, norm=LINF), {}
        )
        spaces = channel_spaces(of_affine(about.affine(0)))
        assert sorted(-space.rate for space in spaces) == sorted(rates)
        assert produced(about, [2, 3], "1/100")


def test_parts_that_depend_on_time_are_avoided() -> None:
    forced = [forcing((0, [[0, 1], [0, 1]])), forcing((0, [[1, 0]]), ("1/2", [[1, 3]]))]
    about = Subject(affine_question(forced, [1, 0], rate=-1, norm=LINF), {})
    (claim,) = produced(about, range(1, 9), "1/10")
    assert claim.witness.vector.indices == (0,) and list(claim.labels) == [0, 1]
    assert not applies(corpus_subject("channel-jump"), 0)


def test_polynomials_have_the_channels_of_their_linear_part() -> None:
    about = corpus_subject("channel-product")
    (space,) = channel_spaces(of_polynomial(about.polynomial(0)))
    assert space.rate == 1 and space.rows == [[Fraction(1), Fraction(0)]]
    (claim,) = produced(about, range(6, 30), "1/1000")
    assert claim.tube is None and claim.mode_defect == 0


def test_a_coordinate_that_is_nearly_a_channel_brings_its_tube() -> None:
    question = polynomial_question(
        [["-z1 + z2^2/16", "1 - z2"], ["1 - z1 - z2^2/16", "-z2"]], [1, 0], norm=LINF
    )
    about = Subject(question, {})
    (claim,) = [c for c in produced(about, range(3, 40), "1/4") if c.tube is not None]
    assert (claim.first, claim.last) == (3, 39)
    assert claim.mode_defect == Fraction(1, 32)
    assert claim.labels == (Fraction(1, 32), Fraction(31, 32))


def test_what_is_not_found_is_said() -> None:
    teacher = corpus_subject("channel-teacher")
    with pytest.raises(ProducerFailed, match=NONE):
        produced(teacher, range(6, 20), 1)
    # Nothing shows that the second coordinate stays bounded, and none is a channel.
    product = polynomial_question(
        [["z1*z2", "z1^2 + 9"], ["1 + z2", "z2^2 + 9"]], [1, 1], norm=LINF
    )
    with pytest.raises(ProducerFailed, match=NONE):
        produced(Subject(product, {}), range(1, 4), "1/10")
    turning = Subject(
        affine_question([[1, 0], [0, 1]], [9, 9], state_matrix=[[0, 1], [-1, 0]], norm=LINF), {}
    )
    assert not applies(turning, 0)
    with pytest.raises(ProducerFailed, match="moves by labels and one rate"):
        produced(turning, [1], 0)
    wide = [[int(i == j) for j in range(60)] for i in range(60)]
    large = Subject(affine_question([[1] * 60], [2] * 60, state_matrix=wide, norm=LINF), {})
    assert not applies(large, 0)
