"""Events of reviews that the servers of a team share: a row each."""

from __future__ import annotations

import orjson

from commonplace.instructions.engine.review.events import ReviewEvent
from commonplace.instructions.store.postgres import QUERIES
from commonplace.instructions.store.review.log import NewEvents
from commonplace.storage.postgres.connection import PostgresConnection
from commonplace.storage.postgres.database import PostgresDatabase

KEEP_EVENTS = 1000  # of one instruction


class ReviewTable:
    """Events in PostgreSQL, numbered in the order of the catalogue's writers."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def since(self, position: int) -> NewEvents:
        """Return the events after a number."""

        def read(connection: PostgresConnection) -> tuple[int, list[tuple[int, bytes]]]:
            row = connection.execute(QUERIES["newest_review"]).fetchone()
            newest = int(row[0]) if row is not None else 0
            after = position if newest >= position else 0
            if newest == position:
                return newest, []
            return newest, connection.execute(QUERIES["review_events"], {"after": after}).fetchall()

        newest, rows = self._database.read_now(read)
        events = [ReviewEvent.from_json(orjson.loads(content)) for _, content in rows]
        restored = newest < position  # an earlier state of the database
        return NewEvents(events, int(rows[-1][0]) if rows else newest, complete=restored)

    def append(self, event: ReviewEvent) -> None:
        """Store an event, and delete the oldest ones of a very long review."""
        row = {"id": event.id, "event": orjson.dumps(event.to_json())}

        def write(connection: PostgresConnection) -> None:
            connection.execute(QUERIES["add_review_event"], row)
            connection.execute(QUERIES["trim_review_events"], {"id": event.id, "keep": KEEP_EVENTS})

        self._database.write_now(write)
