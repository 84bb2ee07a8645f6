"""The SDK's sessions inside the HTTP server, started by the first request that needs them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING

from commonplace.edge.core import Core
from commonplace.edge.http.responses import unauthorized
from commonplace.edge.http.streams import serve_while_valid
from commonplace.edge.request import ProtocolEra, Request
from commonplace.edge.sessions.directory import SessionDirectory, SessionEvents
from commonplace.edge.sessions.model import SessionRecord
from commonplace.kernel.errors import CommonplaceError

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

    from commonplace.edge.sdk.sessions import SdkSessions

STOP_SECONDS = 5


class SdkHost:
    """Serves what the core does not: handshakes, event streams, and whatever is unusual."""

    def __init__(self, core: Core, directory: SessionDirectory | None = None) -> None:
        self._core = core
        self._directory = directory
        self._sessions: SdkSessions | None = None
        self._lock = asyncio.Lock()
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._following = False
        self._received: Callable[[SessionRecord, str], Awaitable[None]] = _ignore

    def holds_session(self, request: Request) -> bool:
        """Whether the request belongs to an open session of its caller, which stays awake by it."""
        held = (
            request.session is not None
            and self._sessions is not None
            and request.era is ProtocolEra.HANDSHAKE
            and self._sessions.holds(request.session, request.caller)
        )
        if held and self._directory is not None and request.session is not None:
            self._directory.note_use(request.session)
        return held

    async def finds_session(self, request: Request) -> bool:
        """Whether the request belongs to an open session, which another server may have opened."""
        if self.holds_session(request):
            return True
        if (
            self._directory is None
            or not request.session
            or request.era is not ProtocolEra.HANDSHAKE
        ):
            return False
        self._follow(self._directory)
        return await self._directory.find(request.session, request.caller.apikey_hash) is not None

    def on_message(self, received: Callable[[SessionRecord, str], Awaitable[None]]) -> None:
        """Call this with a client's messages that other servers received."""
        self._received = received

    async def receive(self, owner: str, session_id: str, body: bytes) -> None:
        """Give such a message to the SDK."""
        if self._sessions is not None:
            await self._sessions.receive(owner, session_id, body)

    async def serve(self, request: Request, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the SDK answer; end its stream when the key of the caller is revoked."""
        sessions = self._sessions or await self._start()
        scope["headers"] = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        is_open = False  # whether an answer began and its end has not been sent

        async def sending(message: Message) -> None:
            nonlocal is_open
            is_open = message["type"] == "http.response.start" or message.get("more_body", False)
            await send(message)

        try:
            await serve_while_valid(
                lambda until: sessions.serve(request, scope, until, sending),
                receive,
                lambda: self._is_valid(request),
            )
        except CommonplaceError as error:
            return await unauthorized(error)(scope, receive, send)
        if is_open:  # the server stops and the SDK abandons its stream: tell the client
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        return None

    async def close(self) -> None:
        self._stop.set()
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=STOP_SECONDS)
        if self._directory is not None:
            await self._directory.close()

    def _is_valid(self, request: Request) -> bool:
        """Tell whether the key of an open request is still valid, and of the same tenant."""
        try:
            caller = self._core.product.authenticate(request.headers)
        except CommonplaceError:
            return False
        return caller.apikey_hash == request.caller.apikey_hash

    async def _start(self) -> SdkSessions:
        """Import the SDK off the event loop, and keep its task group in a task of its own."""
        async with self._lock:
            if self._sessions is None:
                from commonplace.edge.sdk.sessions import SdkSessions

                sessions = await asyncio.to_thread(SdkSessions, self._core, self._directory)
                started = asyncio.Event()

                async def run() -> None:
                    async with sessions.run():
                        started.set()
                        await self._stop.wait()

                self._task = asyncio.create_task(run())
                await started.wait()
                self._sessions = sessions
                if self._directory is not None:
                    self._follow(self._directory)
            return self._sessions

    def _follow(self, directory: SessionDirectory) -> None:
        """Follow what happens to sessions on other servers, from the first one on."""
        if not self._following:
            self._following = True
            directory.start(SessionEvents(self._end, self._received, self._deliver, self._busy))

    async def _end(self, session_id: str) -> None:
        if self._sessions is not None:
            await self._sessions.discard(session_id)

    async def _deliver(self, session_id: str) -> None:
        if self._sessions is not None:
            await self._sessions.deliver(session_id)

    def _busy(self) -> Iterable[str]:
        return self._sessions.busy() if self._sessions is not None else ()


async def _ignore(record: SessionRecord, message: str) -> None:
    return None
