"""The sessions of all servers, as one server sees them.

A session that was found once is answered from memory. Its end on another server arrives as a
notification; whatever was missed is noticed by the next renewal.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from commonplace.edge.sessions.model import SessionRecord, SharedEvent
from commonplace.edge.sessions.store import SessionListener, SessionStore
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.lru import LruCache

log = logging.getLogger("commonplace.edge.sessions")

RENEW_SECONDS = 15.0
RENEWALS_PER_EXPIRY = 8  # idle sessions and old events are removed every two minutes
MAX_KNOWN = 20_000
MAX_WAITING_EVENTS = 5_000


@dataclass(frozen=True, slots=True)
class SessionEvents:
    """What a server does when something happens to its sessions elsewhere."""

    ended: Callable[[str], Awaitable[None]]
    received: Callable[[SessionRecord, str], Awaitable[None]]
    published: Callable[[str], Awaitable[None]]
    busy: Callable[[], Iterable[str]]


class SessionDirectory:
    """Finds, opens and ends sessions, and passes messages and events between servers."""

    def __init__(self, store: SessionStore) -> None:
        self.server_id = secrets.token_hex(6)
        self.store = store
        self._known: LruCache[str, SessionRecord] = LruCache(MAX_KNOWN)
        self._used: set[str] = set()
        self._events: SessionEvents | None = None
        self._listener: SessionListener | None = None
        self._waiting: deque[SharedEvent] = deque()
        self._written = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, events: SessionEvents) -> None:
        """Begin to follow the other servers. Call it inside the event loop."""
        if self._listener is not None:
            return
        loop = asyncio.get_running_loop()
        self._events = events
        self._listener = self.store.listen(
            self.server_id,
            lambda text: _call_soon(loop, self._handle, text),
            lambda: _call_soon(loop, self._spawn_check),
        )
        self._listener.start()
        self._spawn(self._keep_renewing())
        self._spawn(self._write_events())

    async def close(self) -> None:
        """Stop following, after the last events were written."""
        if self._listener is None:
            return
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with contextlib.suppress(CommonplaceError):
            await self._flush_events()
            await self._renew()
        await asyncio.to_thread(self._listener.stop)

    async def open(self, record: SessionRecord, limit: int) -> None:
        """Add a session. Raises SESSION_LIMIT."""
        await self._renew()
        await self.store.add(record, limit)
        self._known.put(record.id, record)

    async def find(self, session_id: str, owner: str) -> SessionRecord | None:
        """Return a session of this owner, and note that it is used."""
        record = self._known.get(session_id)
        if record is None:
            record = await self.store.find(session_id)
            if record is None:
                return None
            self._known.put(session_id, record)
        if record.owner != owner:
            return None
        self._used.add(session_id)
        return record

    def note_use(self, session_id: str) -> None:
        self._used.add(session_id)

    async def end(self, session_id: str) -> None:
        """End a session on all servers."""
        await self.store.remove(session_id)
        self._forget(session_id)

    async def send(self, session_id: str, message: str) -> None:
        """Pass a client's message to the other servers."""
        await self.store.send(session_id, message)

    def publish(self, session_id: str, stream: str, event_id: str, message: str | None) -> None:
        """Store an event for clients that resume on another server; it is written at once."""
        if len(self._waiting) >= MAX_WAITING_EVENTS:  # the database is away: keep the newest
            self._waiting.popleft()
        self._waiting.append(SharedEvent(session_id, stream, event_id, message))
        self._written.set()

    def _handle(self, text: str) -> None:
        kind, _, rest = text.partition(" ")
        session_id, _, number = rest.partition(" ")
        if kind == "ended":
            self._spawn(self._end_here(session_id))
        elif self._events is not None and session_id in self._known:
            if kind == "event":
                self._spawn(self._events.published(session_id))
            elif kind == "message" and number.isdigit():
                self._spawn(self._receive(session_id, int(number)))

    async def _receive(self, session_id: str, number: int) -> None:
        record, message = self._known.peek(session_id), await self.store.read_message(number)
        if record is not None and message is not None and self._events is not None:
            await self._events.received(record, message)

    async def _end_here(self, session_id: str) -> None:
        self._forget(session_id)
        if self._events is not None:
            await self._events.ended(session_id)

    def _forget(self, session_id: str) -> None:
        self._known.pop(session_id)
        self._used.discard(session_id)

    def _spawn_check(self) -> None:
        self._spawn(self._end_missing())

    async def _end_missing(self) -> None:
        for session_id in await self.store.find_missing(self._known.keys()):
            await self._end_here(session_id)

    async def _keep_renewing(self) -> None:
        renewals = 0
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            renewals += 1
            with contextlib.suppress(CommonplaceError):  # repeated soon
                await self._renew()
                await self._end_missing()
                if renewals % RENEWALS_PER_EXPIRY == 0:
                    await self.store.expire()

    async def _renew(self) -> None:
        busy = sorted(self._events.busy()) if self._events is not None else []
        used, self._used = self._used, set()
        try:
            await self.store.renew(sorted(used), busy)
        except CommonplaceError:
            self._used |= used
            raise

    async def _write_events(self) -> None:
        while True:
            await self._written.wait()
            try:
                await self._flush_events()
            except CommonplaceError as failed:
                log.warning("events of sessions were not shared: %s", failed.message)

    async def _flush_events(self) -> None:
        self._written.clear()
        while self._waiting:
            events = list(self._waiting)
            self._waiting.clear()
            await self.store.add_events(events)

    def _spawn(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(_logged(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _logged(work: Awaitable[None]) -> None:
    try:
        await work
    except CommonplaceError as failed:
        log.warning("a change of a shared session was not followed: %s", failed.message)


def _call_soon(loop: asyncio.AbstractEventLoop, work: Callable[..., None], *arguments: str) -> None:
    with contextlib.suppress(RuntimeError):  # the loop has ended
        loop.call_soon_threadsafe(work, *arguments)
