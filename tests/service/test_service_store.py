"""The store: whole answers or none, checked bytes, migrations."""

from __future__ import annotations

import dataclasses
import errno
import os
import threading
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from service_client import SPEC, Client, Stub, answer, everything_in
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from qreplace.errors import InputError
from qreplace.exact.document import sha256_hex
from qreplace.service.store import Blobs, StudyStore
from qreplace.service.store.blobs import StoreDamaged
from qreplace.service.store.database import migration_config, open_database, writing
from qreplace.service.store.tables import METADATA

STUDY = "ab" * 32


@pytest.fixture
def store(tmp_path: Path) -> StudyStore:
    return StudyStore(tmp_path / "store")


def test_put_is_idempotent(store: StudyStore) -> None:
    first = store.put(answer(STUDY, title="first"))
    assert store.put(answer(STUDY, title="second")) == first
    assert store.find(STUDY) == first
    assert store.find(STUDY, "0.0.0") is None
    assert store.blobs.read(first.spec_sha256) == answer(STUDY).spec


def test_an_answer_cut_short_gives_way(store: StudyStore) -> None:
    """A later answer replaces it, a complete one is never replaced (design rule 7)."""
    cut = store.put(dataclasses.replace(answer(STUDY, title="cut short"), complete=False))
    assert not cut.complete
    again = store.put(dataclasses.replace(answer(STUDY, title="again"), complete=False))
    assert again.title == "again"
    whole = store.put(answer(STUDY, title="whole"))
    assert whole.complete
    assert store.find(STUDY) == whole
    assert store.put(dataclasses.replace(answer(STUDY), complete=False)) == whole
    assert [study.title for study in store.page(10).studies] == ["whole"]


def test_blobs_are_named_by_their_digest(store: StudyStore, tmp_path: Path) -> None:
    store.put(answer(STUDY))
    for path, data in everything_in(tmp_path / "store").items():
        digest = sha256_hex(data)
        assert path == f"{digest[:2]}/{digest}"


@pytest.mark.parametrize("failing", range(8))
def test_a_full_disk_leaves_nothing(
    client: Client, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    """Whichever blob cannot be written, the answer is absent and so are its other blobs."""
    client.post({**SPEC, "search": {"depths": [3]}})
    before = everything_in(client.folder)
    write, calls = os.fsync, iter(range(1000))

    def full(handle: int) -> None:
        if next(calls) == failing:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(handle)

    monkeypatch.setattr("qreplace.service.store.blobs.os.fsync", full)
    assert client.post(SPEC).status_code == 500
    monkeypatch.undo()
    assert everything_in(client.folder) == before
    assert len(client.get("/v1/studies").json()["studies"]) == 1
    assert client.post(SPEC).status_code == 201


def test_shared_blobs_survive_a_failure(store: StudyStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only blobs that the failed answer brought are removed."""
    kept = store.put(answer(STUDY))
    changed = answer("cd" * 32)
    write = Blobs.write

    def failing(blobs: Blobs, data: bytes) -> tuple[str, bool]:
        if data == changed.files["report.md"]:
            raise OSError(errno.EIO, "Input/output error")
        return write(blobs, data)

    monkeypatch.setattr(Blobs, "write", failing)
    with pytest.raises(OSError, match="Input/output"):
        store.put(changed)
    monkeypatch.undo()
    for name in answer(STUDY).files:
        digest = store.digest(kept, name)
        assert digest is not None and store.blobs.read(digest) == answer(STUDY).files[name]


def test_damaged_blobs_are_noticed_and_mended(client: Client, tmp_path: Path) -> None:
    study = client.post(SPEC).json()["study"]
    url = f"/v1/studies/{study}/bundle.zip"
    digest = client.get(url).headers["etag"].strip('"')
    path = client.folder / "blobs" / digest[:2] / digest
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    response = client.get(url)
    assert response.status_code == 500 and digest not in response.text
    path.unlink()
    assert client.get(url).status_code == 500
    Blobs(client.folder / "blobs").write(whole)
    assert client.get(url).content == whole


def test_a_blob_that_rotted_is_written_anew(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    digest, new = blobs.write(b"data")
    assert new and blobs.write(b"data") == (digest, False)
    (tmp_path / digest[:2] / digest).write_bytes(b"dat")
    with pytest.raises(StoreDamaged, match="other bytes"):
        blobs.read(digest)
    assert blobs.write(b"data") == (digest, True)
    assert blobs.read(digest) == b"data"


@pytest.mark.parametrize("name", ["../../etc/passwd", "", "a" * 63, "A" * 64, "/" + "a" * 63])
def test_only_digests_are_paths(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreDamaged, match="no SHA-256"):
        Blobs(tmp_path).read(name)


def test_interrupted_writes_are_swept(tmp_path: Path) -> None:
    StudyStore(tmp_path).close()
    leftover = tmp_path / "blobs" / "incoming" / "tmpabc"
    leftover.write_bytes(b"half")
    StudyStore(tmp_path).close()
    assert not leftover.exists()


def test_many_threads_and_two_stores_put_one_answer(tmp_path: Path) -> None:
    """The write lock holds across connections, so one of them writes and the others find it."""
    stores = [StudyStore(tmp_path), StudyStore(tmp_path)]
    rows: list[object] = []

    def put(number: int) -> None:
        rows.append(stores[number % 2].put(answer(STUDY)))

    threads = [threading.Thread(target=put, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(rows) == 12 and len(set(rows)) == 1
    assert len(stores[0].page(10).studies) == 1


def test_pragmas_hold(tmp_path: Path) -> None:
    engine = open_database(tmp_path / "db.sqlite")
    with engine.connect() as connection:
        values = {
            name: connection.execute(text(f"PRAGMA {name}")).scalar_one()
            for name in ("journal_mode", "foreign_keys", "synchronous")
        }
    assert values == {"journal_mode": "wal", "foreign_keys": 1, "synchronous": 2}
    with pytest.raises(IntegrityError), writing(engine) as connection:
        connection.execute(text("INSERT INTO files VALUES (7, 'a', 'b')"))


def test_migrations_make_the_tables(tmp_path: Path) -> None:
    engine = open_database(tmp_path / "db.sqlite")
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []


def test_migrations_go_back_and_forth(tmp_path: Path) -> None:
    engine = open_database(tmp_path / "db.sqlite")
    with writing(engine) as connection:
        command.downgrade(migration_config(connection), "base")
        names = connection.execute(text("SELECT name FROM sqlite_master WHERE type='table'"))
        assert "studies" not in names.scalars().all()
        command.upgrade(migration_config(connection), "head")
        assert connection.execute(text("SELECT count(*) FROM studies")).scalar_one() == 0


def test_a_store_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    StudyStore(tmp_path).close()
    with writing(open_database(tmp_path / "qreplace.sqlite")) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(InputError, match="cannot be brought to this version") as caught:
        StudyStore(tmp_path)
    assert "newer qreplace" in caught.value.remedy


def test_a_store_that_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InputError, match="cannot be opened") as caught:
        StudyStore(tmp_path / "file")
    assert "QREPLACE_DATA_DIR" in caught.value.remedy
    (tmp_path / "qreplace.sqlite").write_bytes(b"this is no database" * 100)
    with pytest.raises(InputError, match="cannot be opened"):
        StudyStore(tmp_path)


def test_readiness_is_about_writing(store: StudyStore, tmp_path: Path) -> None:
    assert store.ready()
    (tmp_path / "store" / "blobs" / "incoming").rmdir()
    assert not store.ready()
    (tmp_path / "store" / "blobs" / "incoming").mkdir()
    assert store.ready()
    with writing(store._engine) as connection:
        connection.execute(text("DROP TABLE studies"))
    assert not store.ready()


def test_a_stub_service_shares_a_store(tmp_path: Path) -> None:
    """Two services over one folder see each other's answers."""
    one, two = (Client(tmp_path, Stub()) for _ in range(2))
    study = one.post(SPEC).json()["study"]
    assert two.get(f"/v1/studies/{study}").status_code == 200
    assert two.post(SPEC).status_code == 200
    one.close()
    two.close()
