"""What Alembic runs: migrations on the connection, and inside the transaction, of its caller."""

from __future__ import annotations

from alembic import context

from qreplace.service.store.tables import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
with context.begin_transaction():
    context.run_migrations()
