"""What each session of a client was given, in PostgreSQL: any server of a team can answer."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import TypeVar

from commonplace.context.delivery.event import HookEvent
from commonplace.context.delivery.sessions import (
    EXPIRES_SECONDS,
    MAX_SESSIONS,
    SessionState,
    decode_state,
    encode_state,
    session_key,
)
from commonplace.storage.postgres.connection import PostgresConnection
from commonplace.storage.postgres.database import PostgresDatabase
from commonplace.storage.queries import load_postgres_queries

Result = TypeVar("Result")
QUERIES = load_postgres_queries("commonplace.context.delivery", "hook_sessions.sql")


class SharedSessions:
    """Implements `HookSessions`. Bounded for each tenant, as a data folder is."""

    def __init__(
        self,
        database: PostgresDatabase,
        now: Callable[[], float] = time.time,
        max_sessions: int = MAX_SESSIONS,
    ) -> None:
        self._database = database
        self._now = now
        self._max_sessions = max_sessions

    def peek(self, tenant: str, event: HookEvent) -> SessionState:
        """Return the state of a session; another server may be about to change it."""
        found = self._database.read_now(lambda connection: self._find(connection, tenant, event))
        return found or SessionState()

    def update(
        self, tenant: str, event: HookEvent, work: Callable[[SessionState], Result]
    ) -> Result:
        """Change the state of a session in a transaction; return what `work` returns."""

        def unit(connection: PostgresConnection) -> Result:
            found = self._find(connection, tenant, event)
            state = found or SessionState()
            result = work(state)
            now = self._now()
            values = {"tenant": tenant, "id": session_key(event), "now": _micros(now)}
            connection.execute(
                QUERIES["put_hook_session"], {**values, "state": encode_state(state)}
            )
            if found is None:
                connection.execute(
                    QUERIES["drop_old_hook_sessions"],
                    {
                        "tenant": tenant,
                        "oldest": _micros(now - EXPIRES_SECONDS),
                        "most": self._max_sessions,
                    },
                )
            return result

        lock = f"hook session {tenant} {session_key(event)}"
        return self._database.write_now(unit, lock=lock)

    def delete_tenant(self, tenant: str) -> None:
        """Forget the sessions of a tenant."""
        self._database.write_now(
            lambda connection: (
                connection.execute(QUERIES["delete_hook_sessions"], {"tenant": tenant}) and None
            )
        )

    def move_tenant(self, old: str, new: str) -> None:
        """Give the sessions of a tenant to another name."""

        def unit(connection: PostgresConnection) -> None:
            connection.execute(QUERIES["delete_hook_sessions"], {"tenant": new})
            connection.execute(QUERIES["move_hook_sessions"], {"tenant": old, "new": new})

        self._database.write_now(unit)

    def _find(
        self, connection: PostgresConnection, tenant: str, event: HookEvent
    ) -> SessionState | None:
        values = {
            "tenant": tenant,
            "id": session_key(event),
            "oldest": _micros(self._now() - EXPIRES_SECONDS),
        }
        row = connection.execute(QUERIES["get_hook_session"], values).fetchone()
        return None if row is None else decode_state(json.loads(row[0]))


def _micros(seconds: float) -> int:
    return int(seconds * 1_000_000)
