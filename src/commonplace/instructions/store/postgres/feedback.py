"""Feedback that the servers of a team share: a row per entry."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import orjson

from commonplace.instructions.store.feedback import KEEP, FeedbackStorage
from commonplace.instructions.store.postgres import QUERIES
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import JsonObject
from commonplace.storage.postgres.connection import PostgresConnection
from commonplace.storage.postgres.database import PostgresDatabase


class FeedbackTable:
    """Entries in PostgreSQL."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def read(self) -> list[JsonObject]:
        """Return all entries, oldest first."""
        rows = self._database.read_now(
            lambda connection: connection.execute(QUERIES["feedback"]).fetchall()
        )
        return [orjson.loads(content) for (content,) in rows]

    def append(self, entry: JsonObject, keep: int) -> None:
        """Store an entry, and delete the oldest ones beyond `keep`.

        An entry whose id is stored already is left as it is, so a repeated append is harmless.
        """

        def work(connection: PostgresConnection) -> None:
            connection.execute(QUERIES["feedback_lock"])
            _add(connection, entry)
            connection.execute(QUERIES["trim_feedback"], {"keep": keep})

        self._database.write_now(work)

    def restore(self, entries: Sequence[JsonObject]) -> None:
        """Store entries of another storage. The next `append` deletes those that are too many."""

        def work(connection: PostgresConnection) -> None:
            connection.execute(QUERIES["feedback_lock"])
            for entry in entries:
                _add(connection, entry)

        self._database.write_now(work)

    def replace(self, id_: str, change: Callable[[JsonObject], JsonObject]) -> JsonObject | None:
        """Replace an entry by its changed copy and return that; None if there is no such entry."""

        def work(connection: PostgresConnection) -> JsonObject | None:
            connection.execute(QUERIES["feedback_lock"])
            row = connection.execute(QUERIES["feedback_entry"], {"id": id_}).fetchone()
            if row is None:
                return None
            changed = change(orjson.loads(row[0]))
            connection.execute(QUERIES["put_feedback"], {"id": id_, "entry": orjson.dumps(changed)})
            return changed

        return self._database.write_now(work)

    def status(self) -> FeedbackStorage:
        """Return the state of the table."""
        try:
            row = self._database.read_now(
                lambda connection: connection.execute(QUERIES["feedback_size"]).fetchone()
            )
        except CommonplaceError:
            return FeedbackStorage(
                accessible=False, writable=False, entries=0, max_entries=KEEP, size_bytes=0
            )
        entries, size = row or (0, 0)
        return FeedbackStorage(
            accessible=True,
            writable=True,
            entries=int(entries),
            max_entries=KEEP,
            size_bytes=int(size),
        )


def _add(connection: PostgresConnection, entry: JsonObject) -> None:
    row = {
        "id": entry["id"],
        "at": str(entry.get("timestamp") or ""),
        "entry": orjson.dumps(entry),
    }
    connection.execute(QUERIES["add_feedback"], row)
