"""Studies and their files."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the two tables."""
    op.create_table(
        "studies",
        sa.Column("seq", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("engine", sa.String(64), nullable=False),
        sa.Column("verdict", sa.String(64), nullable=False),
        sa.Column("title", sa.String, nullable=False),
        sa.Column("created", sa.String(32), nullable=False),
        sa.Column("bundle_sha256", sa.String(64), nullable=False),
        sa.Column("spec_sha256", sa.String(64), nullable=False),
        sa.Column("document_sha256", sa.String(64), nullable=False),
        sa.UniqueConstraint("id", "engine", name="one_answer_per_engine"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "files",
        sa.Column(
            "study_seq",
            sa.Integer,
            sa.ForeignKey("studies.seq", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("name", sa.String(128), primary_key=True),
        sa.Column("sha256", sa.String(64), nullable=False),
    )
    op.create_index("files_by_digest", "files", ["sha256"])


def downgrade() -> None:
    """Drop them; the blobs stay."""
    op.drop_table("files")
    op.drop_table("studies")
