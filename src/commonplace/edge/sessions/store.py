"""What a store of shared sessions can do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from commonplace.edge.sessions.model import ResourceSubscription, SessionRecord, SharedEvent


class SessionListener(Protocol):
    """A running subscription to the changes of a store."""

    def start(self) -> None: ...

    def stop(self) -> None: ...


class SessionStore(Protocol):
    """Sessions, the recent events of their streams, and messages between servers."""

    async def add(self, record: SessionRecord, limit: int) -> None:
        """Add a session; idle ones of its key end for it above the limit.

        Raises SESSION_LIMIT if all of them are in use.
        """
        ...

    async def find(self, session_id: str) -> SessionRecord | None: ...

    async def remove(self, session_id: str) -> None:
        """End a session on all servers."""
        ...

    async def renew(self, used: Sequence[str], busy: Sequence[str]) -> None:
        """Note that sessions were used since the last time, and which of them are in use now."""
        ...

    async def find_missing(self, session_ids: Sequence[str]) -> list[str]:
        """Return those of the sessions that have ended."""
        ...

    async def expire(self) -> None:
        """Remove idle sessions, old events and old messages."""
        ...

    async def add_events(self, events: Sequence[SharedEvent]) -> None: ...

    async def find_event(self, session_id: str, event_id: str) -> tuple[str, int] | None:
        """Return the stream and the number of an event."""
        ...

    async def find_last_event(self, session_id: str, stream: str) -> int:
        """Return the number of the newest event of a stream, or 0."""
        ...

    async def events_after(
        self, session_id: str, stream: str, number: int
    ) -> list[SharedEvent]: ...

    async def send(self, session_id: str, message: str) -> None:
        """Send a client's message to the other servers."""
        ...

    async def read_message(self, number: int) -> str | None: ...

    async def subscribe(self, subscription: ResourceSubscription, limit: int) -> bool:
        """Let a session follow a resource; return False if it follows `limit` others already."""
        ...

    async def unsubscribe(self, session_id: str, uri: str) -> None: ...

    async def find_subscriptions(
        self, session_ids: Sequence[str]
    ) -> list[ResourceSubscription]: ...

    async def note_fingerprint(self, subscription: ResourceSubscription, fingerprint: str) -> bool:
        """Note a new state; return False if another server noted one since it was read."""
        ...

    async def is_running(self, server_id: str) -> bool:
        """Whether a server listens."""
        ...

    def listen(
        self, server_id: str, received: Callable[[str], None], connected: Callable[[], None]
    ) -> SessionListener:
        """Return the subscription of a server.

        Its texts are `ended ID`, `event ID` and `message ID NUMBER`.
        """
        ...
