"""API keys in PostgreSQL: one registry for all servers of a team.

A server answers from memory. It learns of changes by NOTIFY and also asks twice a second, so a
revoked key is refused everywhere within a second. While the database cannot be reached, the keys
that were last known stay valid for `grace_seconds`; after that every key is refused with
STORAGE_UNAVAILABLE, because a revocation might have been missed.
"""

from __future__ import annotations

import hmac
import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

import psycopg

from commonplace.kernel.auth import Scope, Tenant
from commonplace.kernel.clock import Clock, iso, utc_now
from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.credentials.key_records import (
    KEY_FORM,
    NO_HASH,
    KeyRecord,
    hash_token,
    make_key,
    new_token,
    unknown_key,
    validate_tenant_name,
)
from commonplace.storage.credentials.last_use import LastUses
from commonplace.storage.postgres.connection import PostgresConnection
from commonplace.storage.postgres.database import PostgresDatabase
from commonplace.storage.postgres.errors import describe_for_log, unavailable
from commonplace.storage.queries import load_postgres_queries

log = logging.getLogger("commonplace.storage")

CHANNEL = "commonplace_keys"
POLL_SECONDS = 0.5
RETRY_SECONDS = 0.5
GRACE_SECONDS = 60.0
QUERIES = load_postgres_queries("commonplace.storage.credentials")
TIMES = ("created_at", "rotated_at", "revoked_at", "expires_at", "last_used_at")

Result = TypeVar("Result")


class PostgresKeys:
    """A `KeyRegistry` in PostgreSQL. A command reads the table; a server follows it."""

    def __init__(
        self,
        database: PostgresDatabase,
        *,
        clock: Clock = utc_now,
        grace_seconds: float = GRACE_SECONDS,
    ) -> None:
        self._database = database
        self._clock = clock
        self._grace_seconds = grace_seconds
        self._serving = False
        self._lock = threading.Lock()
        self._watch: KeyWatch | None = None
        self._uses: LastUses | None = None

    def find(self, token: str) -> KeyRecord | None:
        form = KEY_FORM.fullmatch(token)
        record = self._read(form[1]) if form else None
        expected = record.hash if record is not None else NO_HASH
        matches = hmac.compare_digest(hash_token(token), expected)
        if not matches or record is None or record.state(self._clock()) != "active":
            return None
        if self._uses is not None:
            self._uses.note(record.id)
        return record

    def all(self) -> list[KeyRecord]:
        return self._database.read_now(
            lambda connection: [
                _record(row) for row in connection.execute(QUERIES["read_keys"], {"revision": -1})
            ]
        )

    def tenants(self) -> frozenset[Tenant]:
        watch = self._watched()
        if watch is not None:
            return frozenset(record.tenant for record in watch.keys().values())
        return frozenset(
            self._database.read_now(
                lambda connection: [
                    Tenant(row[0]) for row in connection.execute(QUERIES["read_key_tenants"])
                ]
            )
        )

    def add(
        self,
        tenant: str,
        label: str,
        scope: Scope,
        *,
        description: str = "",
        expires_at: str | None = None,
        may_read: Collection[str] = (),
    ) -> tuple[KeyRecord, str]:
        while True:
            record, token = make_key(
                tenant, label, scope, self._clock(), description, expires_at, may_read
            )
            if self.restore([record]):  # otherwise the random id is taken
                return record, token

    def rotate(self, key_id: str) -> tuple[KeyRecord, str]:
        token, now = new_token(key_id), iso(self._clock())
        return self._change_key(
            key_id, lambda key: replace(key, hash=hash_token(token), rotated_at=now)
        ), token

    def revoke(self, key_id: str) -> KeyRecord:
        now = iso(self._clock())
        return self._change_key(
            key_id, lambda key: key if key.revoked_at else replace(key, revoked_at=now)
        )

    def move_tenant(self, old: str, new: str) -> int:
        target = validate_tenant_name(new)

        def move(connection: PostgresConnection, revision: int) -> int:
            values = {"old": old, "new": target, "revision": revision}
            return len(connection.execute(QUERIES["move_keys"], values).fetchall())

        return self._change(move)

    def delete_tenant(self, tenant: str) -> int:
        def delete(connection: PostgresConnection, revision: int) -> int:
            return len(connection.execute(QUERIES["delete_keys"], {"tenant": tenant}).fetchall())

        return self._change(delete, deletions=1)

    def restore(self, records: Iterable[KeyRecord]) -> int:
        rows = [_as_row(record) for record in records]

        def add(connection: PostgresConnection, revision: int) -> int:
            added = [
                connection.execute(QUERIES["add_key"], {**row, "revision": revision})
                for row in rows
            ]
            return sum(cursor.fetchone() is not None for cursor in added)

        return self._change(add)

    def start(self) -> None:
        self._serving = True

    def close(self) -> None:
        with self._lock:
            self._serving = False
            watch, self._watch = self._watch, None
            uses, self._uses = self._uses, None
        if watch is not None:
            watch.stop()
        if uses is not None:
            uses.close()

    def _read(self, key_id: str) -> KeyRecord | None:
        watch = self._watched()
        if watch is not None:
            return watch.keys().get(key_id)
        row = self._database.read_now(
            lambda connection: connection.execute(QUERIES["read_key"], {"id": key_id}).fetchone()
        )
        return _record(row) if row is not None else None

    def _watched(self) -> KeyWatch | None:
        """Return the keys in memory, which a server reads when it first needs one."""
        if self._watch is not None or not self._serving:
            return self._watch
        with self._lock:
            if self._watch is None and self._serving:
                watch = KeyWatch(self._database, self._grace_seconds)
                watch.start()
                self._uses = LastUses(self._write_uses, clock=self._clock)
                self._watch = watch
            return self._watch

    def _change_key(self, key_id: str, changed: Callable[[KeyRecord], KeyRecord]) -> KeyRecord:
        def change(connection: PostgresConnection, revision: int) -> KeyRecord:
            row = connection.execute(QUERIES["read_key"], {"id": key_id}).fetchone()
            if row is None:
                raise unknown_key(key_id)
            record = changed(_record(row))
            connection.execute(QUERIES["change_key"], {**_as_row(record), "revision": revision})
            return record

        return self._change(change)

    def _change(
        self, work: Callable[[PostgresConnection, int], Result], deletions: int = 0
    ) -> Result:
        """Run a change under the next revision, and announce it with its commit."""

        def unit(connection: PostgresConnection) -> Result:
            row = connection.execute(
                QUERIES["change_revision"], {"deletions": deletions}
            ).fetchone()
            assert row is not None
            result = work(connection, int(row[0]))
            connection.execute(QUERIES["announce_change"])
            return result

        return self._database.write_now(unit)

    def _write_uses(self, uses: Mapping[str, str]) -> None:
        rows = [
            {"id": key_id, "used_at": datetime.fromisoformat(used)}
            for key_id, used in sorted(uses.items())  # in one order, so that servers do not block
        ]
        self._database.write_now(
            lambda connection: connection.executemany(QUERIES["note_use"], rows)
        )


@dataclass(frozen=True, slots=True)
class KeySnapshot:
    """The keys of one moment."""

    keys: Mapping[str, KeyRecord]
    revision: int = -1
    generation: int = -1
    confirmed_at: float = float("-inf")  # monotonic


class KeyWatch:
    """All keys in memory, brought up to date by a thread with a connection of its own."""

    def __init__(self, database: PostgresDatabase, grace_seconds: float) -> None:
        self._database = database
        self._grace_seconds = grace_seconds
        self._snapshot = KeySnapshot({})
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="key-watch", daemon=True)

    def start(self) -> None:
        """Read the keys, then follow changes. Raises STORAGE_UNAVAILABLE."""
        self._database.read_now(self._refresh)
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stopping.set()
        self._thread.join()

    def keys(self) -> Mapping[str, KeyRecord]:
        """Return the keys by id. Raises STORAGE_UNAVAILABLE if they may be out of date."""
        snapshot = self._snapshot
        if time.monotonic() - snapshot.confirmed_at > self._grace_seconds:
            raise unavailable("Keys cannot be checked, because the database cannot be reached.")
        return snapshot.keys

    def _follow(self) -> None:
        while not self._stopping.is_set():
            try:
                with self._database.connect() as raw:
                    raw.execute(f"LISTEN {CHANNEL}")
                    connection = PostgresConnection(raw)
                    while not self._stopping.is_set():
                        self._refresh(connection)
                        for _ in raw.notifies(timeout=POLL_SECONDS, stop_after=1):
                            pass
            except CommonplaceError:  # it is logged where it is raised
                self._stopping.wait(RETRY_SECONDS)
            except psycopg.Error as failed:
                log.warning("keys are not followed now: %s", describe_for_log(failed))
                self._stopping.wait(RETRY_SECONDS)

    def _refresh(self, connection: PostgresConnection) -> None:
        """Read what changed since the last time; everything if keys were deleted."""
        known, now = self._snapshot, time.monotonic()
        row = connection.execute(QUERIES["read_revision"]).fetchone()
        revision, generation = (int(row[0]), int(row[1])) if row is not None else (0, 0)
        keys = known.keys
        if (revision, generation) != (known.revision, known.generation):
            added_only = generation == known.generation and revision > known.revision
            since = known.revision if added_only else -1
            rows = connection.execute(QUERIES["read_keys"], {"revision": since}).fetchall()
            changed = {record.id: record for record in map(_record, rows)}
            keys = {**keys, **changed} if added_only else changed
        self._snapshot = KeySnapshot(keys, revision, generation, now)


def _record(row: tuple[Any, ...]) -> KeyRecord:
    key_id, tenant, label, scope, digest, *rest = row
    created, rotated, revoked, expires, description, used, may_read = rest
    return KeyRecord(
        key_id,
        Tenant(tenant),
        label,
        Scope(scope),
        digest,
        iso(created),
        rotated_at=_text(rotated),
        revoked_at=_text(revoked),
        expires_at=_text(expires),
        description=description,
        last_used_at=_text(used),
        may_read=tuple(may_read),
    )


def _text(moment: datetime | None) -> str | None:
    return iso(moment) if moment is not None else None


def _as_row(record: KeyRecord) -> dict[str, Any]:
    row: dict[str, Any] = asdict(record)
    row["scope"] = record.scope.value
    row["may_read"] = list(record.may_read)
    for name in TIMES:
        row[name] = datetime.fromisoformat(row[name]) if row[name] is not None else None
    return row
