"""The SDK's sessions inside the HTTP server, started by the first request that needs them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from commonplace.edge.core import Core
from commonplace.edge.http.responses import unauthorized
from commonplace.edge.http.streams import serve_while_valid
from commonplace.edge.request import ProtocolEra, Request
from commonplace.kernel.errors import CommonplaceError

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

    from commonplace.edge.sdk.sessions import SdkSessions

STOP_SECONDS = 5


class SdkHost:
    """Serves what the core does not: handshakes, event streams, and whatever is unusual."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._sessions: SdkSessions | None = None
        self._lock = asyncio.Lock()
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def holds_session(self, request: Request) -> bool:
        """Whether the request belongs to an open session of its caller, which stays awake by it."""
        return (
            request.session is not None
            and self._sessions is not None
            and request.era is ProtocolEra.HANDSHAKE
            and self._sessions.holds(request.session, request.caller)
        )

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

    def _is_valid(self, request: Request) -> bool:
        """Whether the key of an open request is still valid, and of the same tenant."""
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

                sessions = await asyncio.to_thread(SdkSessions, self._core)
                started = asyncio.Event()

                async def run() -> None:
                    async with sessions.run():
                        started.set()
                        await self._stop.wait()

                self._task = asyncio.create_task(run())
                await started.wait()
                self._sessions = sessions
            return self._sessions
