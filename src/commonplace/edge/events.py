"""A short memory of what was streamed, so that a client that lost its connection can go on where it was.

Event ids are random: knowing one's own says nothing about another session's."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

MAX_EVENTS = 2_000


@dataclass(frozen=True, slots=True)
class Event:
    """The shape the SDK hands to its replay callback."""

    message: Any
    event_id: str | None = None


class RecentEvents:
    """The SDK's event store, bounded."""

    def __init__(self, max_events: int = MAX_EVENTS) -> None:
        self._max_events = max_events
        self._events: OrderedDict[str, tuple[str, Any]] = OrderedDict()

    async def store_event(self, stream_id: str, message: Any) -> str:
        event_id = secrets.token_urlsafe(16)
        self._events[event_id] = (stream_id, message)
        while len(self._events) > self._max_events:
            self._events.popitem(last=False)
        return event_id

    async def replay_events_after(self, last_event_id: str, send_callback: Callable[[Any], Awaitable[None]]) -> str | None:
        last = self._events.get(last_event_id)
        if last is None:
            return None
        stream_id = last[0]
        ids = list(self._events)
        for event_id in ids[ids.index(last_event_id) + 1 :]:
            stream, message = self._events[event_id]
            if stream == stream_id and message is not None:
                await send_callback(Event(message, event_id))
        return stream_id
