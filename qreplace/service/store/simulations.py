"""Stored simulations: the files of a finished one, by request and engine."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, Engine, insert, select

from qreplace.service.store.blobs import Blobs
from qreplace.service.store.database import writing
from qreplace.service.store.tables import SIMULATION_FILES


class SimulationStore:
    """Results, in the database and blob folder of the studies; safe to use from threads."""

    def __init__(self, engine: Engine, blobs: Blobs) -> None:
        self._engine = engine
        self.blobs = blobs

    def put(self, simulation: str, version: str, files: Mapping[str, bytes]) -> None:
        """Store all files of a finished simulation or none; what is stored already stays."""
        with writing(self._engine) as connection:
            if _digest(connection, simulation, version, None) is not None:
                return
            rows = [
                {
                    "simulation": simulation,
                    "engine": version,
                    "name": name,
                    "sha256": self.blobs.write(data)[0],
                }
                for name, data in sorted(files.items())
            ]
            connection.execute(insert(SIMULATION_FILES), rows)
            connection.commit()

    def digest(self, simulation: str, version: str, name: str) -> str | None:
        """The SHA-256 of a file of a simulation, or ``None`` where there is none."""
        with self._engine.connect() as connection:
            return _digest(connection, simulation, version, name)

    def files(self, simulation: str, version: str) -> dict[str, str]:
        """Name and SHA-256 of every file of a finished simulation, sorted; empty for another."""
        table = SIMULATION_FILES.c
        query = select(table.name, table.sha256).where(
            table.simulation == simulation, table.engine == version
        )
        with self._engine.connect() as connection:
            return dict(sorted((name, digest) for name, digest in connection.execute(query)))


def _digest(connection: Connection, simulation: str, version: str, name: str | None) -> str | None:
    """A file of a simulation; any of them without a name."""
    table = SIMULATION_FILES.c
    query = select(table.sha256).where(table.simulation == simulation, table.engine == version)
    if name is not None:
        query = query.where(table.name == name)
    return connection.execute(query.limit(1)).scalar_one_or_none()
