"""SQLite through SQLAlchemy: write-ahead log, foreign keys, explicit transactions, migrations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event

from qreplace.errors import InputError

LOCK_SECONDS = 30
"""How long a writer waits for another one."""

_WRITES = "qreplace_writes"


def open_database(path: Path) -> Engine:
    """The database at ``path``, made and migrated when needed.

    Raises ``InputError`` when it was written by a newer version of this package.
    """
    engine = create_engine(
        URL.create("sqlite", database=str(path)), connect_args={"timeout": LOCK_SECONDS}
    )
    event.listen(engine, "connect", _on_connect)
    event.listen(engine, "begin", _on_begin)
    _migrate(engine)
    return engine


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that holds the write lock from its start, across processes."""
    connection = engine.connect().execution_options(**{_WRITES: True})
    with connection, connection.begin():
        yield connection


def _on_connect(connection: Any, record: Any) -> None:
    connection.isolation_level = None  # the driver begins nothing by itself
    cursor = connection.cursor()
    for setting in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {setting}")
    cursor.close()


def _on_begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _migrate(engine: Engine) -> None:
    from alembic import command
    from alembic.util.exc import CommandError

    with writing(engine) as connection:
        try:
            command.upgrade(migration_config(connection), "head")
        except CommandError as error:
            raise InputError(
                f"the study store cannot be brought to this version: {error}",
                remedy="It was probably written by a newer qreplace: use that, or another folder.",
            ) from None


def migration_config(connection: Connection) -> Any:
    """Alembic's configuration for a connection; nothing is read from an ini file."""
    from alembic.config import Config

    config = Config()
    folder = Path(__file__).resolve().parent.parent / "migrations"
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config
