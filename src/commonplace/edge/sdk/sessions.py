"""The SDK's Streamable HTTP: sessions, event streams, resumption."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import MutableMapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from commonplace.edge.core import Core
from commonplace.edge.request import ProtocolEra, Request
from commonplace.edge.sdk.events import RecentEvents
from commonplace.edge.sdk.server import REQUEST_KEY, build_server
from commonplace.kernel.auth import AuthContext
from commonplace.kernel.errors import SESSION_LIMIT, CommonplaceError

if TYPE_CHECKING:
    from mcp.server.streamable_http import StreamableHTTPServerTransport
    from starlette.types import Receive, Scope, Send

MAX_SESSIONS = 10_000
SESSION_IDLE_SECONDS = 1800.0


class SdkSessions:
    """Sessions by the key that opened them; Host and Origin are checked before.

    A session belongs to the tenant that opened it; to any other it does not exist.
    """

    def __init__(self, core: Core) -> None:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
        from mcp.server.transport_security import TransportSecuritySettings

        self._manager = StreamableHTTPSessionManager(
            build_server(core, None),
            # it has the interface of the SDK's class, without importing it
            event_store=RecentEvents(),  # type: ignore[arg-type]
            retry_interval=500,
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            max_request_body_size=core.product.max_message_bytes,
            session_idle_timeout=SESSION_IDLE_SECONDS,
            max_sessions=MAX_SESSIONS,
        )

        self._limit = core.product.max_sessions_per_key
        self._sessions: dict[str, dict[str, None]] = {}  # by key: ids of sessions, oldest first
        self._opening: Counter[str] = Counter()

    def run(self) -> AbstractAsyncContextManager[None]:
        return self._manager.run()

    async def serve(self, request: Request, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. Raises SESSION_LIMIT."""
        from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
        from mcp.server.auth.provider import AccessToken

        caller = request.caller
        token = AccessToken(token="", client_id=caller.apikey_hash, scopes=[])
        scope["user"] = AuthenticatedUser(token)
        scope[REQUEST_KEY] = request
        if _opens_session(request, scope["method"]):
            await self._open(caller.key_id or caller.apikey_hash, scope, receive, send)
        else:
            await self._manager.handle_request(scope, receive, send)

    async def _open(self, key: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Open a session, for which the key's oldest idle one may have to end."""
        sessions = self._sessions.setdefault(key, {})
        await self._make_room(key, sessions)

        async def sending(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                for name, value in message["headers"]:
                    if name.lower() == b"mcp-session-id":
                        sessions[value.decode("latin-1")] = None
            await send(message)

        self._opening[key] += 1
        try:
            await self._manager.handle_request(scope, receive, sending)
        finally:
            self._opening[key] -= 1
            if not self._opening[key]:
                del self._opening[key]
                if not sessions:
                    self._sessions.pop(key, None)

    async def _make_room(self, key: str, sessions: dict[str, None]) -> None:
        """Forget closed sessions, and end idle ones until one more is allowed."""
        open_now = self._manager._server_instances
        for session in [session for session in sessions if session not in open_now]:
            del sessions[session]
        while len(sessions) + self._opening[key] >= self._limit:
            idle = [(_idle_deadline(open_now[session]), session) for session in sessions]
            idle = [entry for entry in idle if math.isfinite(entry[0])]
            if not idle:
                raise CommonplaceError(
                    SESSION_LIMIT,
                    f"This key has {self._limit} sessions, all of them in use.",
                    hint="End one with DELETE /mcp, or raise settings.limits.sessions_per_key.",
                    details={"limit": self._limit},
                    retryable=True,
                )
            oldest = min(idle)[1]
            del sessions[oldest]
            await self._manager._discard_session(oldest, open_now[oldest])

    def holds(self, session: str, caller: AuthContext) -> bool:
        """Whether this session of the caller is open; asking keeps it from going idle."""
        transport = self._manager._server_instances.get(session)
        owner = self._manager._session_owners.get(session)
        if (
            transport is None
            or transport.is_terminated
            or owner is None
            or owner["client_id"] != caller.apikey_hash
        ):
            return False
        idle, timeout = transport.idle_scope, self._manager.session_idle_timeout
        if idle is not None and timeout is not None and not idle.cancel_called:
            idle.deadline = max(idle.deadline, asyncio.get_running_loop().time() + timeout)
        return True


def _opens_session(request: Request, method: str) -> bool:
    """Whether the SDK would open a session: for a POST of a handshake that names none."""
    return (
        method == "POST"
        and request.session is None
        and (request.era is ProtocolEra.HANDSHAKE or not request.version)
    )


def _idle_deadline(transport: StreamableHTTPServerTransport) -> float:
    """Return when a session ends for being idle; infinity while it serves a request."""
    return math.inf if transport.idle_scope is None else float(transport.idle_scope.deadline)
