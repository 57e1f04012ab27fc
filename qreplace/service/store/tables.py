"""The tables, as the newest migration leaves them (a test compares the two)."""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    true,
)

METADATA = MetaData()

STUDIES = Table(
    "studies",
    METADATA,
    Column("seq", Integer, primary_key=True, autoincrement=True),
    Column("id", String(64), nullable=False),
    Column("engine", String(64), nullable=False),
    Column("verdict", String(64), nullable=False),
    Column("title", String, nullable=False),
    Column("created", String(32), nullable=False),
    Column("bundle_sha256", String(64), nullable=False),
    Column("spec_sha256", String(64), nullable=False),
    Column("document_sha256", String(64), nullable=False),
    Column("complete", Boolean, nullable=False, server_default=true()),
    UniqueConstraint("id", "engine", name="one_answer_per_engine"),
    sqlite_autoincrement=True,
)
"""One answer a row. ``id`` names the question, ``id`` with ``engine`` the answer; ``seq`` is the
order in which answers came and what pages of the list point to. ``created`` is UTC (ISO 8601).
An answer that is not ``complete`` was cut short by a budget: asking again replaces it."""

FILES = Table(
    "files",
    METADATA,
    Column("study_seq", Integer, ForeignKey("studies.seq", ondelete="CASCADE"), primary_key=True),
    Column("name", String(128), primary_key=True),
    Column("sha256", String(64), nullable=False),
    Index("files_by_digest", "sha256"),
)
"""Reports and figures of an answer, by name."""

SIMULATION_FILES = Table(
    "simulation_files",
    METADATA,
    Column("simulation", String(64), primary_key=True),
    Column("engine", String(64), primary_key=True),
    Column("name", String(128), primary_key=True),
    Column("sha256", String(64), nullable=False),
    Index("simulation_files_by_digest", "sha256"),
)
"""Files of finished simulations; ``simulation`` is the SHA-256 of the canonical request."""
