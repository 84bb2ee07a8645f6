"""The change table: journal and history of the shared catalogue."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import orjson
from psycopg import errors

from commonplace.instructions.fields import stored_form
from commonplace.instructions.model import Author, Instruction, InstructionChange, RecordedChange
from commonplace.instructions.store.history import KEEP_BYTES
from commonplace.instructions.store.postgres import QUERIES
from commonplace.instructions.store.postgres.lease import busy
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import Json
from commonplace.storage.errors import STORAGE_BUSY, STORAGE_DAMAGED, STORAGE_UNAVAILABLE
from commonplace.storage.postgres.connection import PostgresConnection
from commonplace.storage.postgres.database import PostgresDatabase
from commonplace.storage.postgres.errors import unavailable

DOUBT_SECONDS = 5.0  # how long a commit without an answer is tried again
PAUSE_SECONDS = 0.1
TRIM_EVERY = 100  # changes
_NOTIFY = "SELECT pg_notify(%(channel)s, '')"


@dataclass(frozen=True, slots=True)
class RecordedRow:
    """A change with its number, and the instruction that it replaces."""

    change: InstructionChange
    replaced: Instruction | None
    sequence: int

    @property
    def id(self) -> str:
        """Return the id of the entry."""
        return self.change.id

    @property
    def content(self) -> bytes | None:
        """Return the bytes to store; None for a removal."""
        return None if self.change.after is None else self.change.content


class ChangeTable:
    """Stores changes under consecutive numbers, each exactly once."""

    def __init__(self, database: PostgresDatabase, channel: str, agent: str | None) -> None:
        self._database = database
        self._channel = channel
        self._agent = agent

    def store_entries(self, rows: Sequence[RecordedRow], author: Author, at: str) -> int:
        """Store changes of entries with their history; return their time in ns.

        Raises CATALOGUE_BUSY if another server used one of the numbers, STORAGE_UNAVAILABLE if the
        database did not confirm.
        """
        modified_ns = time.time_ns()
        token = secrets.token_hex(16)
        written = [(row.id, row.content, row.sequence) for row in rows if row.content is not None]
        removed = [row.id for row in rows if row.content is None]
        recorded = {
            **self._author(author, at, token, "entry"),
            "sequences": [row.sequence for row in rows],
            "ids": [row.id for row in rows],
            "actions": [row.change.action for row in rows],
            "befores": [_document(row.replaced) for row in rows],
            "afters": [_document(row.change.after) for row in rows],
        }

        def work(connection: PostgresConnection) -> None:
            connection.execute(QUERIES["record_changes"], recorded)
            if removed:
                connection.execute(QUERIES["delete_entries"], {"ids": removed})
            if written:
                stored = connection.execute(
                    QUERIES["put_entries"],
                    {
                        "ids": [id_ for id_, _, _ in written],
                        "contents": [content for _, content, _ in written],
                        "times": [modified_ns] * len(written),
                        "sequences": [sequence for _, _, sequence in written],
                    },
                )
                _compare(dict(stored.fetchall()), {id_: content for id_, content, _ in written})
            self._finish(connection, rows[0].sequence, rows[-1].sequence)

        self._store(work, rows[0].sequence, token)
        return modified_ns

    def store_document(
        self,
        name: str,
        before: bytes | None,
        after: bytes | None,
        sequence: int,
        author: Author,
        at: str,
    ) -> None:
        """Store a configuration document, or delete it if `after` is None."""
        token = secrets.token_hex(16)
        recorded = {
            **self._author(author, at, token, "document"),
            "sequences": [sequence],
            "ids": [name],
            "actions": ["remove" if after is None else "put"],
            "befores": [before],
            "afters": [after],
        }

        def work(connection: PostgresConnection) -> None:
            connection.execute(QUERIES["record_changes"], recorded)
            if after is None:
                connection.execute(QUERIES["delete_document"], {"name": name})
            else:
                connection.execute(
                    QUERIES["put_document"],
                    {
                        "name": name,
                        "content": after,
                        "time": time.time_ns(),
                        "sequence": sequence,
                    },
                )
            self._finish(connection, sequence, sequence)

        self._store(work, sequence, token)

    def history(self, id_: str) -> list[RecordedChange]:
        """Return the recorded changes of an instruction, oldest first."""
        rows = self._database.read_now(
            lambda connection: connection.execute(QUERIES["history"], {"id": id_}).fetchall()
        )
        return [
            RecordedChange(
                number,
                at,
                action,
                author,
                tenant,
                agent,
                None if before is None else orjson.loads(before),
                None if after is None else orjson.loads(after),
                has_after=True,
            )
            for number, (at, action, author, tenant, agent, before, after) in enumerate(rows, 1)
        ]

    def _author(self, author: Author, at: str, token: str, kind: str) -> dict[str, Json]:
        return {
            "kind": kind,
            "at": at,
            "author": author.label,
            "tenant": author.tenant,
            "agent": self._agent,
            "token": token,
        }

    def _finish(self, connection: PostgresConnection, first: int, last: int) -> None:
        """Shorten long histories from time to time, and notify the other servers."""
        if first // TRIM_EVERY != (last + 1) // TRIM_EVERY:
            since = first - TRIM_EVERY
            connection.execute(QUERIES["trim"], {"since": since, "keep": KEEP_BYTES})
        connection.execute(_NOTIFY, {"channel": self._channel})

    def _store(self, work: Callable[[PostgresConnection], None], sequence: int, token: str) -> None:
        """Run a transaction until the database confirmed it.

        Its numbers can be used once. So a transaction whose answer was lost is repeated, and if
        its first number is taken, the token tells by whom.
        """
        give_up_at = time.monotonic() + DOUBT_SECONDS
        while True:
            try:
                try:
                    self._database.write_now(work)
                except errors.UniqueViolation as taken:
                    if self._token_of(sequence) != token:
                        raise busy() from taken
                return
            except CommonplaceError as failed:
                if failed.code not in (STORAGE_UNAVAILABLE, STORAGE_BUSY):
                    raise
                if time.monotonic() > give_up_at:
                    raise unavailable(
                        "The database did not confirm the change; it may have been made."
                    ) from failed
            time.sleep(PAUSE_SECONDS)

    def _token_of(self, sequence: int) -> str | None:
        row = self._database.read_now(
            lambda connection: connection.execute(
                QUERIES["token"], {"sequence": sequence}
            ).fetchone()
        )
        return None if row is None else str(row[0])


def _document(entry: Instruction | None) -> bytes | None:
    """Return the form of an entry that the history keeps."""
    return None if entry is None else orjson.dumps(stored_form(entry.document))


def _compare(stored: Mapping[str, bytes], sent: Mapping[str, bytes]) -> None:
    """Raise STORAGE_DAMAGED unless the database holds what was sent."""
    for id_, content in sent.items():
        if bytes(stored.get(id_, b"")) != hashlib.sha256(content).digest():
            raise CommonplaceError(
                STORAGE_DAMAGED,
                f"The database stored other bytes of {id_} than it was sent; nothing was changed.",
                hint="Ask the operator to check the database server.",
            )
