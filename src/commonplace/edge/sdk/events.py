"""Recent events of streams, so that a client that lost its connection can resume.

Event ids are random: a client cannot guess those of other sessions.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from operator import itemgetter

from commonplace.kernel.lru import LruCache

MAX_EVENTS = 2_000
MAX_EVENT_BYTES = 16 * 1024 * 1024
COUNTED_VALUES = 1_000


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """An event in the shape that the SDK's replay callback takes."""

    message: object
    event_id: str | None = None


class RecentEvents:
    """An event store for the SDK, bounded in events and characters. The newest event is kept."""

    def __init__(self, max_events: int = MAX_EVENTS, max_bytes: int = MAX_EVENT_BYTES) -> None:
        self._events: LruCache[str, tuple[str, object, int]] = LruCache(
            max_events, max_size=max_bytes, size_of=itemgetter(2)
        )

    async def store_event(self, stream_id: str, message: object) -> str:
        event_id = secrets.token_urlsafe(16)
        self._events.put(event_id, (stream_id, message, _text_size(message)))
        return event_id

    async def replay_events_after(
        self, last_event_id: str, send_callback: Callable[[StreamEvent], Awaitable[None]]
    ) -> str | None:
        last = self._events.peek(last_event_id)
        if last is None:
            return None
        stream_id = last[0]
        ids = self._events.keys()
        for event_id in ids[ids.index(last_event_id) + 1 :]:
            event = self._events.peek(event_id)
            if event is None:  # dropped while earlier events were sent
                continue
            stream, message, _ = event
            if stream == stream_id and message is not None:
                await send_callback(StreamEvent(message, event_id))
        return stream_id


def _text_size(message: object) -> int:
    """Estimate the characters of a message: those of its strings, and a few for each value."""
    waiting = [getattr(message, "root", message)]
    size, counted = 0, 0
    while waiting and counted < COUNTED_VALUES:
        value = waiting.pop()
        counted += 1
        size += 64
        if isinstance(value, str):
            size += len(value)
        elif isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, (list, tuple)):
            waiting.extend(value)
        elif hasattr(value, "__dict__"):
            waiting.extend(vars(value).values())
    return size
