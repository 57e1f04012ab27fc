"""The bundle container: a canonical ZIP of canonical members (design rules 3 and 7).

Members are stored, not deflated, in sorted order with a fixed time; ``manifest.json`` names every
other member with its SHA-256. The same members always give the same bytes, so anything hidden in
the container itself (comments, times, extra fields, gaps) shows as a difference.
"""

from __future__ import annotations

import io
import re
import struct
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from qreplace.errors import Malformed, Rejected
from qreplace.exact.document import canonical_bytes, read_json, sha256_hex

FORMAT = "qreplace/bundle/v1"
MAX_BUNDLE_BYTES = 1 << 30
MAX_MEMBERS = 100_000
MEMBER_PATTERN = r"(question|verdict)\.json|claims/[0-9a-f]{64}\.json|arrays/[0-9a-f]{64}\.npy"
_NAME = re.compile(rf"manifest\.json|{MEMBER_PATTERN}")
_DAMAGED = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    NotImplementedError,  # versions and methods that zipfile does not know
    RuntimeError,  # encrypted members
    ValueError,  # offsets before the start, names that are not UTF-8
    struct.error,
    EOFError,
    OSError,
)
_TIME = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Bundle:
    """The members of a bundle, each already shown to have the digest its manifest names."""

    engine: str
    study: str
    question: bytes
    verdict: bytes
    claims: dict[str, bytes]
    """Claim documents by SHA-256, in the order of their digests."""
    arrays: dict[str, bytes]
    """Canonical ``.npy`` files by SHA-256."""


def write_bundle(
    *,
    engine: str,
    study: str,
    question: bytes,
    verdict: bytes,
    claims: Mapping[str, bytes],
    arrays: Mapping[str, bytes],
) -> bytes:
    """The canonical bytes of a bundle."""
    members = {"question.json": question, "verdict.json": verdict}
    members.update({f"claims/{digest}.json": data for digest, data in claims.items()})
    members.update({f"arrays/{digest}.npy": data for digest, data in arrays.items()})
    manifest = canonical_bytes(
        {
            "format": FORMAT,
            "engine": engine,
            "study": study,
            "members": {name: sha256_hex(data) for name, data in members.items()},
        }
    )
    return _container({"manifest.json": manifest, **members})


def _container(members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(members):
            info = zipfile.ZipInfo(name, _TIME)
            info.compress_type = zipfile.ZIP_STORED
            info.create_system = 3
            info.external_attr = 0o644 << 16
            archive.writestr(info, members[name])
    return buffer.getvalue()


def read_bundle(data: bytes) -> Bundle:
    """Read a bundle and check its container and digests.

    Raises ``Malformed`` when it is no bundle at all, ``Rejected`` when a member, the manifest or
    the container was changed. Matching digests prove nothing about the content.
    """
    members = _members(data)
    manifest_bytes = members.pop("manifest.json", None)
    if manifest_bytes is None:
        raise Malformed("the bundle has no manifest.json")
    manifest = _read_manifest(manifest_bytes)
    listed = manifest["members"]
    for name in sorted(members.keys() | listed.keys()):
        if name not in members:
            raise Rejected(f"the member {name} is listed in the manifest but missing")
        if name not in listed:
            raise Rejected(f"the member {name} is not listed in the manifest")
        if sha256_hex(members[name]) != listed[name]:
            raise Rejected(f"the member {name} does not have the SHA-256 that the manifest names")
    if _container({"manifest.json": manifest_bytes, **members}) != data:
        raise Rejected("the ZIP container is not the canonical one for its members")
    for name in ("question.json", "verdict.json"):
        if name not in members:
            raise Malformed(f"the bundle has no {name}")
    return Bundle(
        engine=manifest["engine"],
        study=manifest["study"],
        question=members["question.json"],
        verdict=members["verdict.json"],
        claims=_folder(members, "claims/", ".json"),
        arrays=_folder(members, "arrays/", ".npy"),
    )


def _members(data: bytes) -> dict[str, bytes]:
    if len(data) > MAX_BUNDLE_BYTES:
        raise Malformed(f"the bundle has {len(data)} bytes; at most {MAX_BUNDLE_BYTES} are read")
    members: dict[str, bytes] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            if len(entries) > MAX_MEMBERS:
                raise Malformed(f"the bundle has more than {MAX_MEMBERS} members")
            room = len(data)
            for entry in entries:
                _check_entry(entry, members)
                room -= entry.file_size
                if room < 0:  # overlapping members: a small file that unpacks to a huge one
                    raise Malformed("the members are larger than the bundle that should hold them")
                members[entry.filename] = _content(archive, entry)
    except _DAMAGED as error:
        reason = str(error) or type(error).__name__
        raise Malformed(f"the bundle is not a readable ZIP file: {reason}") from None
    return members


def _content(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    try:
        return archive.read(entry)
    except zipfile.BadZipFile as error:  # its header or checksum disagrees with the directory
        raise Rejected(f"the member {entry.filename} was changed: {error}") from None


def _check_entry(entry: zipfile.ZipInfo, seen: Mapping[str, bytes]) -> None:
    name = entry.filename
    if name in seen:
        raise Malformed(f"the bundle holds two members named {name[:100]!r}")
    if not _NAME.fullmatch(name):
        raise Malformed(f"the bundle holds a member with a foreign name {name[:100]!r}")
    if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size:
        raise Malformed(f"the member {name} is compressed; bundles store their members")


def _read_manifest(data: bytes) -> dict[str, Any]:
    manifest = read_json(data, what="manifest")
    shape = {"format": str, "engine": str, "study": str, "members": dict}
    if not isinstance(manifest, dict) or set(manifest) != set(shape):
        raise Malformed("the manifest has other keys than format, engine, study and members")
    for key, kind in shape.items():
        if not isinstance(manifest[key], kind):
            raise Malformed("a manifest entry has the wrong type", pointer=f"/{key}")
    if manifest["format"] != FORMAT:
        raise Malformed(f"needed format {FORMAT}", pointer="/format")
    if canonical_bytes(manifest) != data:
        raise Rejected("the manifest is not in canonical form")
    return manifest


def _folder(members: Mapping[str, bytes], prefix: str, suffix: str) -> dict[str, bytes]:
    found = {}
    for name in sorted(members):
        if name.startswith(prefix):
            digest = name[len(prefix) : -len(suffix)]
            if sha256_hex(members[name]) != digest:
                raise Rejected(f"the member {name} is not named by its SHA-256")
            found[digest] = members[name]
    return found
