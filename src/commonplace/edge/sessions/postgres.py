"""Shared sessions in PostgreSQL."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence

from commonplace.edge.sessions.limit import session_limit
from commonplace.edge.sessions.model import ResourceSubscription, SessionRecord, SharedEvent
from commonplace.storage.postgres.connection import PostgresConnection
from commonplace.storage.postgres.database import PostgresDatabase
from commonplace.storage.postgres.listener import PostgresListener
from commonplace.storage.postgres.migrations import SchemaComponent
from commonplace.storage.queries import load_postgres_queries

SCHEMA = SchemaComponent("sessions", "commonplace.edge.sessions")
CHANNEL = "mcp_sessions"
IDLE_SECONDS = 1800.0  # a session that no server used for this long ends
KEPT_SECONDS = 300.0  # events and messages are for clients that reconnect at once
BUSY_SECONDS = 45.0  # three times the interval in which servers renew
STANDALONE_STREAM = "_GET_stream"  # the SDK's name for the stream of GET
_QUERIES = load_postgres_queries("commonplace.edge.sessions")


class PostgresSessionStore:
    """Sessions that all servers of a database share."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def add(self, record: SessionRecord, limit: int) -> None:
        values = {
            "id": record.id,
            "owner": record.owner,
            "key_name": record.key_name,
            "opening": record.opening,
        }

        def work(connection: PostgresConnection) -> None:
            row = connection.execute(_QUERIES["count_sessions"], values).fetchone()
            excess = (row[0] if row else 0) + 1 - limit
            if excess > 0:
                ended = connection.execute(
                    _QUERIES["end_oldest_idle"], {**values, "excess": excess}
                ).fetchall()
                if len(ended) < excess:
                    raise session_limit(limit)
                _announce_ends(connection, [row[0] for row in ended])
            connection.execute(_QUERIES["add_session"], values)

        await self._database.write(work, lock=f"sessions {record.key_name}")

    async def find(self, session_id: str) -> SessionRecord | None:
        row = await self._database.read(
            lambda connection: connection.execute(
                _QUERIES["find_session"], {"id": session_id}
            ).fetchone()
        )
        return SessionRecord(*row) if row is not None else None

    async def remove(self, session_id: str) -> None:
        def work(connection: PostgresConnection) -> None:
            ended = connection.execute(_QUERIES["remove_session"], {"id": session_id}).fetchall()
            _announce_ends(connection, [row[0] for row in ended])

        await self._database.write(work)

    async def renew(self, used: Sequence[str], busy: Sequence[str]) -> None:
        if not used and not busy:
            return
        values = {
            "used": sorted({*used, *busy}),
            "busy": list(busy),
            "busy_seconds": BUSY_SECONDS,
        }
        await self._database.write(
            lambda connection: connection.execute(_QUERIES["renew_sessions"], values) and None
        )

    async def find_missing(self, session_ids: Sequence[str]) -> list[str]:
        if not session_ids:
            return []
        rows = await self._database.read(
            lambda connection: connection.execute(
                _QUERIES["missing_sessions"], {"ids": list(session_ids)}
            ).fetchall()
        )
        return [row[0] for row in rows]

    async def expire(self) -> None:
        def work(connection: PostgresConnection) -> None:
            ended = connection.execute(
                _QUERIES["expire_sessions"], {"idle_seconds": IDLE_SECONDS}
            ).fetchall()
            _announce_ends(connection, [row[0] for row in ended])
            connection.execute(_QUERIES["expire_events"], {"seconds": KEPT_SECONDS})
            connection.execute(_QUERIES["expire_messages"], {"seconds": KEPT_SECONDS})

        await self._database.write(work)

    async def add_events(self, events: Sequence[SharedEvent]) -> None:
        rows = [
            {
                "session_id": event.session_id,
                "stream": event.stream,
                "event_id": event.event_id,
                "message": event.message,
            }
            for event in events
        ]
        standalone = {event.session_id for event in events if event.stream == STANDALONE_STREAM}

        def work(connection: PostgresConnection) -> None:
            connection.executemany(_QUERIES["add_event"], rows)
            for session_id in sorted(standalone):
                connection.execute(_QUERIES["notify"], {"text": f"event {session_id}"})

        await self._database.write(work)

    async def find_event(self, session_id: str, event_id: str) -> tuple[str, int] | None:
        row = await self._database.read(
            lambda connection: connection.execute(
                _QUERIES["find_event"], {"session_id": session_id, "event_id": event_id}
            ).fetchone()
        )
        return (row[0], row[1]) if row is not None else None

    async def find_last_event(self, session_id: str, stream: str) -> int:
        row = await self._database.read(
            lambda connection: connection.execute(
                _QUERIES["last_event"], {"session_id": session_id, "stream": stream}
            ).fetchone()
        )
        return int(row[0]) if row is not None else 0

    async def events_after(self, session_id: str, stream: str, number: int) -> list[SharedEvent]:
        values = {"session_id": session_id, "stream": stream, "number": number}
        rows = await self._database.read(
            lambda connection: connection.execute(_QUERIES["events_after"], values).fetchall()
        )
        return [
            SharedEvent(session_id, stream, event_id, message, number)
            for number, event_id, message in rows
        ]

    async def send(self, session_id: str, message: str) -> None:
        def work(connection: PostgresConnection) -> None:
            row = connection.execute(
                _QUERIES["add_message"], {"session_id": session_id, "message": message}
            ).fetchone()
            number = row[0] if row else 0
            connection.execute(_QUERIES["notify"], {"text": f"message {session_id} {number}"})

        await self._database.write(work)

    async def read_message(self, number: int) -> str | None:
        row = await self._database.read(
            lambda connection: connection.execute(
                _QUERIES["read_message"], {"number": number}
            ).fetchone()
        )
        return row[0] if row is not None else None

    async def subscribe(self, subscription: ResourceSubscription, limit: int) -> bool:
        values = _subscription_row(subscription)

        def work(connection: PostgresConnection) -> bool:
            row = connection.execute(_QUERIES["count_subscriptions"], values).fetchone()
            if row is not None and row[0] >= limit:
                return False
            connection.execute(_QUERIES["subscribe"], values)
            return True

        return await self._database.write(work, lock=f"session {subscription.session_id}")

    async def unsubscribe(self, session_id: str, uri: str) -> None:
        values = _subscription_row(ResourceSubscription(session_id, uri, ""))
        await self._database.write(
            lambda connection: connection.execute(_QUERIES["unsubscribe"], values) and None
        )

    async def find_subscriptions(self, session_ids: Sequence[str]) -> list[ResourceSubscription]:
        values = {"session_ids": list(session_ids)}
        rows = await self._database.read(
            lambda connection: connection.execute(_QUERIES["find_subscriptions"], values).fetchall()
        )
        return [ResourceSubscription(row[0], json.loads(row[1]), row[2]) for row in rows]

    async def note_fingerprint(self, subscription: ResourceSubscription, fingerprint: str) -> bool:
        values = {
            **_subscription_row(subscription),
            "known": subscription.fingerprint,
            "fingerprint": fingerprint,
        }
        row = await self._database.write(
            lambda connection: connection.execute(_QUERIES["note_fingerprint"], values).fetchone()
        )
        return row is not None

    async def is_running(self, server_id: str) -> bool:
        key = {"key": f"{CHANNEL} {server_id}"}
        row = await self._database.read(
            lambda connection: connection.execute(_QUERIES["is_free"], key).fetchone()
        )
        return row is not None and not row[0]

    def listen(
        self, server_id: str, received: Callable[[str], None], connected: Callable[[], None]
    ) -> PostgresListener:
        lock = f"{CHANNEL} {server_id}"
        return PostgresListener(self._database, CHANNEL, received, connected, lock)


def _subscription_row(subscription: ResourceSubscription) -> dict[str, str]:
    """Return the columns; the address as JSON, because a text has no NUL in PostgreSQL."""
    address = json.dumps(subscription.uri)
    return {
        "session_id": subscription.session_id,
        "digest": hashlib.sha256(address.encode()).hexdigest(),
        "address": address,
        "fingerprint": subscription.fingerprint,
    }


def _announce_ends(connection: PostgresConnection, session_ids: Sequence[str]) -> None:
    for session_id in session_ids:
        connection.execute(_QUERIES["notify"], {"text": f"ended {session_id}"})
