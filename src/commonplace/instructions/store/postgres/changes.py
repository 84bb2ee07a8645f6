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
from commonplace.instructions.model import Instruction, RecordedChange, RemovedInstruction
from commonplace.instructions.store.history import KEEP_BYTES
from commonplace.instructions.store.postgres import QUERIES
from commonplace.instructions.store.postgres.lease import busy
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import Json
from commonplace.storage.errors import STORAGE_BUSY, STORAGE_DAMAGED, STORAGE_UNAVAILABLE
from commonplace.storage.postgres.connection import PostgresConnection
from commonplace.storage.postgres.database import PostgresDatabase
from commonplace.storage.postgres.errors import commit_unknown

DOUBT_SECONDS = 5.0  # how long a commit without an answer is tried again
PAUSE_SECONDS = 0.1
TRIM_EVERY = 100  # changes
_NOTIFY = "SELECT pg_notify(%(channel)s, '')"


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """A row of the change table."""

    sequence: int
    id: str
    at: str
    action: str
    author: str
    tenant: str | None
    agent: str | None
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True, slots=True)
class EntryRow:
    """A row of an entry as it will be stored; `content` is None for a removal."""

    id: str
    content: bytes | None
    modified_ns: int
    sequence: int


class ChangeTable:
    """Stores changes under consecutive numbers, each exactly once."""

    def __init__(self, database: PostgresDatabase, channel: str) -> None:
        self._database = database
        self._channel = channel

    def store_entries(self, entries: Sequence[EntryRow], recorded: Sequence[HistoryRow]) -> None:
        """Store entries with the history rows of their changes.

        Raises CATALOGUE_BUSY if another server used one of the numbers, STORAGE_UNAVAILABLE if the
        database did not confirm.
        """
        written = {row.id: row.content for row in entries if row.content is not None}
        kept = [row for row in entries if row.content is not None]
        removed = [row.id for row in entries if row.content is None]

        def work(connection: PostgresConnection) -> None:
            if removed:
                connection.execute(QUERIES["delete_entries"], {"ids": removed})
            if written:
                stored = connection.execute(
                    QUERIES["put_entries"],
                    {
                        "ids": [row.id for row in kept],
                        "contents": [row.content for row in kept],
                        "times": [row.modified_ns for row in kept],
                        "sequences": [row.sequence for row in kept],
                    },
                )
                _compare(dict(stored.fetchall()), written)

        self._store(work, "entry", recorded)

    def store_document(self, recorded: HistoryRow, modified_ns: int) -> None:
        """Store the configuration document of a change, or delete it."""

        def work(connection: PostgresConnection) -> None:
            if recorded.after is None:
                connection.execute(QUERIES["delete_document"], {"name": recorded.id})
                return
            row = {
                "name": recorded.id,
                "content": recorded.after,
                "time": modified_ns,
                "sequence": recorded.sequence,
            }
            connection.execute(QUERIES["put_document"], row)

        self._store(work, "document", [recorded])

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

    def removed(self) -> list[RemovedInstruction]:
        """Return the last change of every recorded instruction that is not stored."""
        rows = self._database.read_now(
            lambda connection: connection.execute(QUERIES["removed_entries"]).fetchall()
        )
        return [
            RemovedInstruction(id_, at, action, author, tenant, orjson.loads(before))
            for id_, at, action, author, tenant, before in rows
            if before is not None
        ]

    def known(self, ids: Sequence[str], kind: str = "entry") -> set[str]:
        """Return those of these ids that the catalogue has, or had before they were removed."""
        rows = self._database.read_now(
            lambda connection: connection.execute(
                QUERIES["known_ids"], {"ids": list(ids), "kind": kind}
            ).fetchall()
        )
        return {id_ for (id_,) in rows}

    def _finish(self, connection: PostgresConnection, first: int, last: int) -> None:
        """Shorten long histories from time to time, and notify the other servers."""
        if first // TRIM_EVERY != (last + 1) // TRIM_EVERY:
            since = first - TRIM_EVERY
            connection.execute(QUERIES["trim"], {"since": since, "keep": KEEP_BYTES})
        connection.execute(_NOTIFY, {"channel": self._channel})

    def _store(
        self,
        change: Callable[[PostgresConnection], None],
        kind: str,
        recorded: Sequence[HistoryRow],
    ) -> None:
        """Run a transaction until the database confirmed it.

        Its numbers can be used once. So a transaction whose answer was lost is repeated, and if
        its first number is taken, the token tells by whom.
        """
        sequence, token = recorded[0].sequence, secrets.token_hex(16)
        rows = {"kind": kind, "token": token, **_columns(recorded)}

        def work(connection: PostgresConnection) -> None:
            connection.execute(QUERIES["record_changes"], rows)
            change(connection)
            self._finish(connection, sequence, recorded[-1].sequence)

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
                    raise commit_unknown() from failed
            time.sleep(PAUSE_SECONDS)

    def _token_of(self, sequence: int) -> str | None:
        row = self._database.read_now(
            lambda connection: connection.execute(
                QUERIES["token"], {"sequence": sequence}
            ).fetchone()
        )
        return None if row is None else str(row[0])


def encode_document(entry: Instruction | None) -> bytes | None:
    """Return the form of an entry that the history keeps."""
    return None if entry is None else orjson.dumps(stored_form(entry.document))


def _columns(rows: Sequence[HistoryRow]) -> dict[str, Json]:
    return {
        "sequences": [row.sequence for row in rows],
        "ids": [row.id for row in rows],
        "times": [row.at for row in rows],
        "actions": [row.action for row in rows],
        "authors": [row.author for row in rows],
        "tenants": [row.tenant for row in rows],
        "agents": [row.agent for row in rows],
        "befores": [row.before for row in rows],
        "afters": [row.after for row in rows],
    }


def _compare(stored: Mapping[str, bytes], sent: Mapping[str, bytes]) -> None:
    """Raise STORAGE_DAMAGED unless the database holds what was sent."""
    for id_, content in sent.items():
        if bytes(stored.get(id_, b"")) != hashlib.sha256(content).digest():
            raise CommonplaceError(
                STORAGE_DAMAGED,
                f"The database stored other bytes of {id_} than it was sent; nothing was changed.",
                hint="Ask the operator to check the database server.",
            )
