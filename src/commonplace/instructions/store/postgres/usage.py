"""Usage counters that the servers of a team share: each adds its uses to the rows."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence

import orjson

from commonplace.instructions.store.postgres import QUERIES
from commonplace.instructions.store.usage import PendingUses, StoredLines
from commonplace.kernel.json_types import JsonObject
from commonplace.storage.postgres.connection import PostgresConnection, Row
from commonplace.storage.postgres.database import PostgresDatabase

REMOVED = b"{}"  # stays as a row, so that other servers learn of the removal


class UsageTable:
    """Counters in PostgreSQL, and a copy of them in memory that `follow` keeps in step."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._lines: dict[str, JsonObject] = {}
        self._versions: dict[str, int] = {}  # the change that wrote each line
        self._unseen = False  # changes that `changed` has not returned yet
        self.change = 0

    def follow(self, connection: PostgresConnection) -> None:
        """Take over the rows that changed since the last time."""
        rows = connection.execute(QUERIES["usage_since"], {"known": self.change}).fetchall()
        self._merge(rows)
        self.change = max([self.change, *(int(change) for _, _, change in rows)])

    def _merge(self, rows: Sequence[Row]) -> StoredLines:
        """Take over rows unless the copy is newer; return all counters."""
        with self._lock:
            lines = dict(self._lines)
            for id_, line, change in rows:
                if change >= self._versions.get(id_, 0):
                    self._versions[id_] = change
                    _take_line(lines, id_, bytes(line))
            if rows:
                self._lines, self._unseen = lines, True
            return lines

    def reset(self) -> None:
        """Forget the copy, because the table was replaced by an older one."""
        with self._lock:
            self._lines, self._versions, self.change, self._unseen = {}, {}, 0, True

    def changed(self) -> StoredLines | None:
        """Return all counters if a server changed them since the last call, else None."""
        with self._lock:
            if not self._unseen:
                return None
            self._unseen = False
            return self._lines

    def read(self) -> StoredLines:
        """Return all counters as they are now."""
        self._database.read_now(self.follow)
        return self._lines

    def add(self, uses: PendingUses) -> StoredLines:
        """Add uses durably; return all counters."""

        def work(connection: PostgresConnection) -> list[Row]:
            lines = lock_lines(connection, list(uses.counts))
            uses.add_to(lines)
            return put_lines(connection, lines)

        return self._merge(self._database.write_now(work))

    def remove(self, ids: Iterable[str]) -> StoredLines:
        """Delete the counters of these ids; return the others."""
        removed: dict[str, JsonObject] = {id_: {} for id_ in ids}

        def work(connection: PostgresConnection) -> list[Row]:
            lock_lines(connection, [])
            return put_lines(connection, removed)

        return self._merge(self._database.write_now(work))


def lock_lines(connection: PostgresConnection, ids: Sequence[str]) -> dict[str, JsonObject]:
    """Become the only writer of the table until the transaction ends; return these counters."""
    connection.execute(QUERIES["usage_lock"])
    lines: dict[str, JsonObject] = {}
    if ids:
        for id_, line in connection.execute(QUERIES["usage_of"], {"ids": list(ids)}).fetchall():
            _take_line(lines, id_, bytes(line))
    return lines


def put_lines(connection: PostgresConnection, lines: Mapping[str, JsonObject]) -> list[Row]:
    """Store counters and return the rows. The caller holds the lock of the table."""
    contents = [orjson.dumps(line) for line in lines.values()]
    return connection.execute(
        QUERIES["put_usage"], {"ids": list(lines), "lines": contents}
    ).fetchall()


def _take_line(lines: dict[str, JsonObject], id_: str, content: bytes) -> None:
    if content == REMOVED:
        lines.pop(id_, None)
    else:
        lines[id_] = orjson.loads(content)
