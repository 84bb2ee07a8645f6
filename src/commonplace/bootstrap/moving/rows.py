"""Bring the proposals and the context feedback of a data folder into the database of a team."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from commonplace.bootstrap.move_in import MovedPart, require_same
from commonplace.storage.migrations import load_migrations
from commonplace.storage.postgres.connection import PostgresConnection
from commonplace.storage.postgres.database import PostgresDatabase

Rows = dict[str, dict[str, str | int]]
GROUP_SIZE = 500  # rows that share a transaction


class RowMover:
    """A `Mover` of rows of a SQLite file, which keep their tenant and their key.

    The queries `all_rows` and `add_row` name the columns; the first two are tenant and key.
    """

    required: Final = False

    def __init__(
        self,
        part: str,
        database: PostgresDatabase,
        *,
        file: str,
        component: str,
        package: str,
        columns: Sequence[str],
        queries: tuple[Mapping[str, str], Mapping[str, str]],
    ) -> None:
        """`queries` are those of SQLite and of PostgreSQL."""
        self.part = part
        self._database = database
        self._file = file
        self._component = component
        self._package = package
        self._columns = columns
        self._of_sqlite, self._of_postgres = queries

    def lacking(self, data: Path) -> Sequence[str]:
        """Name the rows that the database lacks."""
        stored = self._stored()
        return [name for name in self._read(data) if name not in stored]

    def move(self, data: Path, progress: Callable[[int, int], None]) -> MovedPart:
        """Store the rows that the database lacks; those that it has are left as they are."""
        rows, before = self._read(data), self._stored()
        new = [row for name, row in rows.items() if name not in before]
        for start in range(0, len(new), GROUP_SIZE):
            self._add(new[start : start + GROUP_SIZE])
            progress(min(start + GROUP_SIZE, len(new)), len(new))
        stored = {name: _hash(row) for name, row in self._stored().items()}
        sent = {name: _hash(row) for name, row in rows.items()}
        kept = tuple(name for name in sent if name in before and stored[name] != sent[name])
        checked = {name: digest for name, digest in sent.items() if name not in kept}
        return MovedPart(
            self.part,
            found=len(rows),
            added=len(new),
            present=len(rows) - len(new) - len(kept),
            kept=kept,
            digest=require_same(self.part, stored, checked),
        )

    def _add(self, rows: Sequence[Mapping[str, str | int]]) -> None:
        def work(connection: PostgresConnection) -> None:
            for row in rows:
                connection.execute(self._of_postgres["add_row"], row)

        self._database.write_now(work)

    def _stored(self) -> Rows:
        return self._named(
            self._database.read_now(
                lambda connection: connection.execute(self._of_postgres["all_rows"]).fetchall()
            )
        )

    def _read(self, data: Path) -> Rows:
        path = data / self._file
        if not path.is_file():
            return {}
        from commonplace.storage.sqlite.database import Database
        from commonplace.storage.sqlite.migrations import migrate

        database = Database(path)
        try:
            migrations = load_migrations(self._package, "migrations/sqlite")
            migrate(database, self._component, migrations)
            return self._named(list(database.reader().execute(self._of_sqlite["all_rows"])))
        finally:
            database.close()

    def _named(self, rows: Sequence[Sequence[str | int]]) -> Rows:
        return {f"{row[0]} {row[1]}": dict(zip(self._columns, row, strict=True)) for row in rows}


def proposal_mover(database: PostgresDatabase) -> RowMover:
    """Return the mover of the capture queue, with what was decided."""
    from commonplace.context.capture.store import postgres, sqlite

    return RowMover(
        "captured proposals",
        database,
        file=sqlite.DATABASE,
        component="capture",
        package="commonplace.context.capture",
        columns=("tenant", "id", "kind", "state", "created_at", "updated_at", "document"),
        queries=(sqlite.QUERIES, postgres.QUERIES),
    )


def context_feedback_mover(database: PostgresDatabase) -> RowMover:
    """Return the mover of what was said about items of context packs."""
    from commonplace.context.store import postgres, sqlite

    return RowMover(
        "context feedback",
        database,
        file=sqlite.DATABASE,
        component="context",
        package="commonplace.context",
        columns=("tenant", "ref", "used", "useless", "updated_at"),
        queries=(sqlite.QUERIES, postgres.QUERIES),
    )


def _hash(row: Mapping[str, str | int]) -> str:
    return hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest()
