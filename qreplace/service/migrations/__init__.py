"""Alembic migrations of the study store; ``open_database`` runs them, there is no ini file."""
