"""Recent events of streams, so that a client that lost its connection can resume.

Event ids are random: a client cannot guess those of other sessions.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from commonplace.edge.sessions.directory import SessionDirectory
from commonplace.edge.sessions.model import SharedEvent
from commonplace.kernel.lru import LruCache

MAX_EVENTS = 2_000
MAX_EVENT_BYTES = 16 * 1024 * 1024
COUNTED_VALUES = 1_000
STANDALONE_STREAM = "_GET_stream"  # the SDK's name for the stream of GET
OPENING_ID = "commonplace: open a session again"  # of initialize requests that a server replays
POLL_SECONDS = 0.1  # between looks for events of a call that runs on another server
ARRIVAL_SECONDS = 1.0  # an event may reach the client before it reaches the database
LOOK_SECONDS = 1.0  # between looks whether that server still runs
ENDED_SECONDS = 5.0  # a server that cannot be seen for this long has ended
FOLLOW_SECONDS = 600.0  # then the stream ends, and the client may resume again


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """An event in the shape that the SDK's replay callback takes."""

    message: object
    event_id: str | None = None


@dataclass(frozen=True, slots=True)
class RecentEvent:
    """An event of a session's stream in memory; `message` is None at the start of a stream."""

    session_id: str
    stream: str
    message: object
    size: int


SendEvent = Callable[[StreamEvent], Awaitable[None]]


class RecentEvents:
    """The events of all sessions of a server, bounded in number and characters."""

    def __init__(self, max_events: int = MAX_EVENTS, max_bytes: int = MAX_EVENT_BYTES) -> None:
        self._events: LruCache[str, RecentEvent] = LruCache(
            max_events, max_size=max_bytes, size_of=lambda event: event.size
        )

    def add(self, session_id: str, stream: str, message: object, server_id: str = "") -> str:
        event_id = server_id + secrets.token_urlsafe(16)
        self._events.put(event_id, RecentEvent(session_id, stream, message, _text_size(message)))
        return event_id

    def find(self, session_id: str, event_id: str) -> RecentEvent | None:
        """Return an event of this session; those of others do not exist for it."""
        event = self._events.peek(event_id)
        return event if event is not None and event.session_id == session_id else None

    async def replay(
        self, session_id: str, last: RecentEvent, last_id: str, send: SendEvent
    ) -> None:
        """Send what followed an event in its stream."""
        ids = self._events.keys()
        for event_id in ids[ids.index(last_id) + 1 :] if last_id in self._events else ():
            event = self.find(session_id, event_id)
            if event is None:  # of another session, or dropped while earlier events were sent
                continue
            if event.stream == last.stream and event.message is not None:
                await send(StreamEvent(event.message, event_id))


class SessionEventStore:
    """The event store of one session, in the interface of the SDK.

    With a directory, events reach the other servers too, and theirs can be replayed here.
    """

    def __init__(
        self, recent: RecentEvents, session_id: str, directory: SessionDirectory | None = None
    ) -> None:
        self._recent = recent
        self._session_id = session_id
        self._directory = directory

    async def store_event(self, stream_id: str, message: Any) -> str:
        if stream_id == OPENING_ID:
            return ""
        if self._directory is None:
            return self._recent.add(self._session_id, stream_id, message)
        if message is not None:
            _name_server(message, self._directory.server_id)
        server = f"{self._directory.server_id}."
        event_id = self._recent.add(self._session_id, stream_id, message, server)
        text = (
            None if message is None else message.model_dump_json(by_alias=True, exclude_unset=True)
        )
        self._directory.publish(self._session_id, stream_id, event_id, text)
        return event_id

    async def replay_events_after(self, last_event_id: str, send_callback: SendEvent) -> str | None:
        """Replay what followed an event. Return its stream if that goes on on this server."""
        last = self._recent.find(self._session_id, last_event_id)
        if last is not None and (self._directory is None or last.stream != STANDALONE_STREAM):
            await self._recent.replay(self._session_id, last, last_event_id, send_callback)
            return last.stream
        if self._directory is None:
            return None
        return await self._replay_shared(self._directory, last_event_id, send_callback)

    async def _replay_shared(
        self, directory: SessionDirectory, last_event_id: str, send: SendEvent
    ) -> str | None:
        """Replay events of other servers; follow a call that still runs there to its answer."""
        position = await self._find_shared(directory, last_event_id)
        if position is None:
            return None
        stream, number = position
        clock = asyncio.get_running_loop().time
        give_up_at, seen_at, looked_at = clock() + FOLLOW_SECONDS, clock(), clock()
        server_id = last_event_id.partition(".")[0]
        while True:
            events = await directory.store.events_after(self._session_id, stream, number)
            for event in events:
                number = event.number
                if event.message is not None:
                    message = shared_message(event)
                    await send(StreamEvent(message, event.event_id))
                    if not hasattr(message, "method"):
                        return None  # the answer was the last event of the stream
            if stream == STANDALONE_STREAM and not events:
                return stream
            if clock() > give_up_at:
                return None
            if clock() - looked_at > LOOK_SECONDS:
                looked_at = clock()
                if await directory.store.is_running(server_id):
                    seen_at = looked_at
                elif looked_at - seen_at > ENDED_SECONDS:
                    await send(StreamEvent(_ended_server(stream)))
                    return None
            await asyncio.sleep(POLL_SECONDS)

    async def _find_shared(
        self, directory: SessionDirectory, event_id: str
    ) -> tuple[str, int] | None:
        for _ in range(round(ARRIVAL_SECONDS / POLL_SECONDS)):
            position = await directory.store.find_event(self._session_id, event_id)
            if position is not None:
                return position
            await asyncio.sleep(POLL_SECONDS)
        return None


def shared_message(event: SharedEvent) -> Any:
    """Return the message of an event that another server stored."""
    from mcp_types import jsonrpc_message_adapter

    return jsonrpc_message_adapter.validate_json(event.message or "", by_name=False)


def _ended_server(stream: str) -> Any:
    """Return the answer of a call whose server ended; its stream is named by the request."""
    from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError

    text = "The server that ran this call has ended; what the call changed is not known."
    return JSONRPCError(
        jsonrpc="2.0",
        id=int(stream) if stream.isdigit() else stream,
        error=ErrorData(code=INTERNAL_ERROR, message=text),
    )


def _name_server(message: Any, server_id: str) -> None:
    """Put this server into the id of a request of it: its answer may arrive at any other."""
    if not hasattr(message, "method"):
        return
    if hasattr(message, "id"):
        message.id = f"{server_id}:{message.id}"
    elif message.method == "notifications/cancelled" and message.params:
        request_id = message.params.get("requestId")
        message.params = {**message.params, "requestId": f"{server_id}:{request_id}"}


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
