"""Files of finished simulations."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "simulation_files",
        sa.Column("simulation", sa.String(64), primary_key=True),
        sa.Column("engine", sa.String(64), primary_key=True),
        sa.Column("name", sa.String(128), primary_key=True),
        sa.Column("sha256", sa.String(64), nullable=False),
    )
    op.create_index("simulation_files_by_digest", "simulation_files", ["sha256"])


def downgrade() -> None:
    """Drop it; the blobs stay."""
    op.drop_table("simulation_files")
