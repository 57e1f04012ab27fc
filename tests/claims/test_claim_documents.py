"""Claim documents: canonical bytes, digests, and the registry."""

from __future__ import annotations

from fractions import Fraction

import corpora
import pytest
from corpus_claims import ACCEPTED_CLAIMS
from hypothesis import given
from hypothesis import strategies as st

from qreplace.claims import (
    KINDS,
    MAX_CLAIM_BYTES,
    Claim,
    claim_bytes,
    claim_digest,
    claim_kind,
    read_claim,
)
from qreplace.claims.affine_lp import AffineLPClaim
from qreplace.claims.frozen import FrozenClaim
from qreplace.claims.functional import SparseVector
from qreplace.claims.schedule_error import ScheduleErrorClaim
from qreplace.errors import Malformed
from qreplace.exact.document import sha256_hex

NUMBERS = st.fractions()
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=70)
VECTORS = st.builds(
    SparseVector,
    NUMBERS,
    st.lists(st.integers(), max_size=4).map(tuple),
    st.lists(NUMBERS, max_size=4).map(tuple),
)
CLAIMS = st.one_of(
    st.builds(
        AffineLPClaim,
        st.just("qreplace/claim/affine_lp/v1"),
        TEXTS,
        st.integers(),
        st.sampled_from(["optimal_basis", "refined_basis", "rounded", "tangent_cuts"]),
        VECTORS,
        VECTORS,
        st.lists(NUMBERS, max_size=3).map(tuple),
        NUMBERS,
        NUMBERS,
    ),
    st.builds(
        ScheduleErrorClaim,
        st.just("qreplace/claim/schedule_error/v1"),
        TEXTS,
        st.integers(),
        st.lists(st.integers(), max_size=5).map(tuple),
        NUMBERS,
    ),
    st.builds(
        FrozenClaim,
        st.just("qreplace/claim/frozen/v1"),
        TEXTS,
        st.integers(),
        st.integers(),
        NUMBERS,
        NUMBERS,
    ),
)


@given(CLAIMS)
def test_reading_inverts_writing(claim: Claim) -> None:
    """Any claim of the right shape is data; whether it holds is the checker's business."""
    data = claim_bytes(claim)
    assert read_claim(data) == claim
    assert claim_digest(claim) == sha256_hex(data)


@pytest.mark.parametrize("kind", KINDS)
def test_reading_inverts_writing_for_every_kind(kind: str) -> None:
    """Claims of the corpus, those that hold and those that do not."""
    held = [claim for name, _, claim in [*ACCEPTED_CLAIMS, *corpora.ACCEPTED] if name == kind]
    refused = [claim for name, _, claim, _, _ in corpora.REJECTED if name == kind]
    assert held
    for claim in [*held, *refused]:
        data = claim_bytes(claim)
        assert read_claim(data) == claim
        assert claim_digest(claim) == sha256_hex(data)


@given(CLAIMS, st.data())
def test_no_other_bytes_are_the_same_claim(claim: Claim, data: st.DataObject) -> None:
    text = claim_bytes(claim)
    position = data.draw(st.integers(0, len(text)))
    space = data.draw(st.sampled_from([b" ", b"\n", b"\t"]))
    try:
        changed = read_claim(text[:position] + space + text[position:])
    except Malformed:
        return
    assert changed != claim  # inside a text the space belongs to the claim


def test_the_registry_is_walked_by_name() -> None:
    accepted = [*ACCEPTED_CLAIMS, *corpora.ACCEPTED]
    assert {claim_kind(claim) for _, _, claim in accepted} == set(KINDS)
    for kind, _, claim in accepted:
        assert claim_kind(claim) == kind
        assert type(claim) is KINDS[kind]
        assert claim.format == f"qreplace/claim/{kind}/v1"


def test_oversized_claims_are_not_parsed() -> None:
    with pytest.raises(Malformed, match="at most"):
        read_claim(b"[" * (MAX_CLAIM_BYTES + 1))


@pytest.mark.parametrize("text", [b"[]", b"3", b'"qreplace/claim/frozen/v1"', b"null", b"{}"])
def test_other_documents(text: bytes) -> None:
    with pytest.raises(Malformed, match=r"is a JSON object|needed a format like"):
        read_claim(text)


def test_huge_numbers_are_written_but_not_read() -> None:
    long = Fraction(1, 3**10_000)
    claim = FrozenClaim("qreplace/claim/frozen/v1", "", 0, 1, long, long)
    with pytest.raises(Malformed, match="at most 4000"):
        read_claim(claim_bytes(claim))
