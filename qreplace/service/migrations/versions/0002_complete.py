"""Whether an answer is complete, or a budget cut an attempt short."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Every answer so far ran to its end."""
    op.add_column(
        "studies", sa.Column("complete", sa.Boolean, nullable=False, server_default=sa.true())
    )


def downgrade() -> None:
    """Forget it."""
    op.drop_column("studies", "complete")
