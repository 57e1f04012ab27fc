"""Certificate documents: data only, one kind a file.

``KINDS`` is the explicit registry; a test walks it and demands schema, prose and corpus for each.
"""

from __future__ import annotations

from typing import Any

from qreplace.claims.affine_dynamics import AffineDynamicsClaim
from qreplace.claims.affine_lp import AffineLPClaim
from qreplace.claims.compositional import CompositionalClaim
from qreplace.claims.count_minimum import CountMinimumClaim
from qreplace.claims.exposed_channel import ExposedChannelClaim
from qreplace.claims.field_constants import FieldConstantsClaim
from qreplace.claims.frozen import FrozenClaim
from qreplace.claims.hjb_sos import HjbSosClaim
from qreplace.claims.lattice import LatticeClaim
from qreplace.claims.net_floor import NetFloorClaim
from qreplace.claims.observable import ObservableClaim
from qreplace.claims.operator_norm import OperatorNormClaim
from qreplace.claims.perturbed import PerturbedClaim
from qreplace.claims.pwa_supremum import PwaSupremumClaim
from qreplace.claims.relaxed_control import RelaxedControlClaim
from qreplace.claims.schedule_error import ScheduleErrorClaim
from qreplace.claims.schedule_minimum import ScheduleMinimumClaim
from qreplace.claims.support import SupportClaim
from qreplace.errors import Malformed
from qreplace.exact.codec import decode, encode
from qreplace.exact.document import canonical_bytes, read_json, sha256_hex

Claim = (
    AffineLPClaim
    | ScheduleErrorClaim
    | FrozenClaim
    | AffineDynamicsClaim
    | PerturbedClaim
    | HjbSosClaim
    | CompositionalClaim
    | SupportClaim
    | ObservableClaim
    | RelaxedControlClaim
    | OperatorNormClaim
    | FieldConstantsClaim
    | PwaSupremumClaim
    | ScheduleMinimumClaim
    | CountMinimumClaim
    | NetFloorClaim
    | LatticeClaim
    | ExposedChannelClaim
)

KINDS: dict[str, type[Claim]] = {
    "affine_lp": AffineLPClaim,
    "schedule_error": ScheduleErrorClaim,
    "frozen": FrozenClaim,
    "affine_dynamics": AffineDynamicsClaim,
    "perturbed": PerturbedClaim,
    "hjb_sos": HjbSosClaim,
    "compositional": CompositionalClaim,
    "support": SupportClaim,
    "observable": ObservableClaim,
    "relaxed_control": RelaxedControlClaim,
    "operator_norm": OperatorNormClaim,
    "field_constants": FieldConstantsClaim,
    "pwa_supremum": PwaSupremumClaim,
    "schedule_minimum": ScheduleMinimumClaim,
    "count_minimum": CountMinimumClaim,
    "net_floor": NetFloorClaim,
    "lattice": LatticeClaim,
    "exposed_channel": ExposedChannelClaim,
}

MAX_CLAIM_BYTES = 32 * 1024 * 1024


def claim_kind(claim: Claim) -> str:
    """The registered name of a claim's kind."""
    return claim.format.split("/")[2]


def claim_bytes(claim: Claim) -> bytes:
    """The canonical JSON of a claim."""
    return canonical_bytes(encode(claim))


def claim_digest(claim: Claim) -> str:
    """SHA-256 of the canonical JSON of a claim."""
    return sha256_hex(claim_bytes(claim))


def read_claim(data: bytes) -> Claim:
    """Parse a claim of any registered kind; raises ``Malformed`` with a JSON Pointer."""
    document = read_json(data, max_bytes=MAX_CLAIM_BYTES, what="claim")
    if not isinstance(document, dict):
        raise Malformed("a claim is a JSON object")
    kind = _kind_of(document.get("format"))
    claim = decode(KINDS[kind], document)
    if claim_bytes(claim) != data:
        raise Malformed("the claim is not in canonical form")
    return claim


def _kind_of(form: Any) -> str:
    parts = form.split("/") if isinstance(form, str) else []
    if len(parts) != 4 or parts[:2] != ["qreplace", "claim"]:
        raise Malformed("needed a format like qreplace/claim/affine_lp/v1", pointer="/format")
    kind, version = parts[2], parts[3]
    if kind not in KINDS:
        known = ", ".join(KINDS)
        raise Malformed(f"unknown claim kind {kind[:40]!r}; known are {known}", pointer="/format")
    if version != "v1":
        raise Malformed(f"claim kind {kind} has version v1 only", pointer="/format")
    return kind
