"""The SDK's Streamable HTTP: sessions, event streams, resumption."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Iterator, MutableMapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from commonplace.edge.core import Core
from commonplace.edge.request import ProtocolEra, Request
from commonplace.edge.sdk.events import (
    STANDALONE_STREAM,
    RecentEvents,
    SessionEventStore,
    shared_message,
)
from commonplace.edge.sdk.following import SharedSubscriptions
from commonplace.edge.sdk.local_posts import post_locally, read_opening
from commonplace.edge.sdk.server import REQUEST_KEY, build_server
from commonplace.edge.sessions.directory import SessionDirectory
from commonplace.edge.sessions.limit import session_limit
from commonplace.edge.sessions.model import SessionRecord
from commonplace.kernel.auth import AuthContext

if TYPE_CHECKING:
    from mcp.server.streamable_http import StreamableHTTPServerTransport
    from starlette.types import Receive, Scope, Send

MAX_SESSIONS = 10_000
SESSION_IDLE_SECONDS = 1800.0
RETRY_MS = 500


class SdkSessions:
    """Sessions by the key that opened them; Host and Origin are checked before.

    A session belongs to the tenant that opened it; to any other it does not exist. With a
    directory, sessions of other servers are opened here again when a request needs them.
    """

    def __init__(self, core: Core, directory: SessionDirectory | None = None) -> None:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
        from mcp.server.transport_security import TransportSecuritySettings

        self._security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        self._subscriptions = self._follow_resources(core, directory)
        self._manager = StreamableHTTPSessionManager(
            build_server(core, None, self._subscriptions),
            security_settings=self._security,
            max_request_body_size=core.product.max_message_bytes,
            session_idle_timeout=SESSION_IDLE_SECONDS,
            max_sessions=MAX_SESSIONS,
        )
        self._limit = core.product.max_sessions_per_key
        self._sessions: dict[str, dict[str, None]] = {}  # by key: ids of sessions, oldest first
        self._opening: Counter[str] = Counter()
        self._events = RecentEvents()
        self._directory = directory
        self._reopening: dict[str, asyncio.Lock] = {}
        self._delivered: dict[str, int] = {}  # by session: last event of other servers sent to GET

    def run(self) -> AbstractAsyncContextManager[None]:
        return self._manager.run()

    async def serve(self, request: Request, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. Raises SESSION_LIMIT."""
        _sign(scope, request.caller.apikey_hash)
        scope[REQUEST_KEY] = request
        if _opens_session(request, scope["method"]):
            await self._open(request, scope, receive, send)
            return
        session_id = request.session
        if self._directory is not None and session_id and request.era is ProtocolEra.HANDSHAKE:
            record = await self._directory.find(session_id, request.caller.apikey_hash)
            if record is None:
                await self.discard(session_id)
            elif scope["method"] == "DELETE":
                await self._directory.end(session_id)
                await self.discard(session_id)
                await _answer_deleted(send)
                return
            else:
                await self._reopen(record, scope)
                if scope["method"] == "GET":
                    self._delivered[session_id] = await self._directory.store.find_last_event(
                        session_id, STANDALONE_STREAM
                    )
                    if self._subscriptions is not None:
                        with self._subscriptions.stream(session_id, request):
                            await self._manager.handle_request(scope, receive, send)
                        return
        await self._manager.handle_request(scope, receive, send)

    def _follow_resources(
        self, core: Core, directory: SessionDirectory | None
    ) -> SharedSubscriptions | None:
        offering = core.product.offering
        if directory is None or offering is None:
            return None
        return SharedSubscriptions(
            core, offering.find_fingerprint, directory.store, self._send_updated
        )

    async def _send_updated(self, session_id: str, uri: str) -> None:
        """Send a notification to the GET stream of a session, as the SDK does."""
        from mcp.shared.message import SessionMessage
        from mcp_types import JSONRPCNotification

        transport = self._manager._server_instances.get(session_id)
        if transport is not None and transport._write_stream is not None:
            method, params = "notifications/resources/updated", {"uri": uri}
            message = JSONRPCNotification(jsonrpc="2.0", method=method, params=params)
            await transport._write_stream.send(SessionMessage(message))

    async def _open(self, request: Request, scope: Scope, receive: Receive, send: Send) -> None:
        """Open a session, for which the key's oldest idle one may have to end."""
        opening, receive = await read_opening(receive)
        key = request.caller.key_id or request.caller.apikey_hash
        if opening is None or len(self._manager._server_instances) >= MAX_SESSIONS:
            await self._manager.handle_request(scope, receive, send)  # it words the refusal
            return
        record = SessionRecord(uuid4().hex, request.caller.apikey_hash, key, opening)
        if self._directory is not None:
            await self._directory.open(record, self._limit)
            if not await self._start(record, scope, receive, send):
                await self._directory.end(record.id)
            return
        sessions = self._sessions.setdefault(key, {})
        await self._make_room(key, sessions)
        self._opening[key] += 1
        try:
            if await self._start(record, scope, receive, send):
                sessions[record.id] = None
        finally:
            self._opening[key] -= 1
            if not self._opening[key]:
                del self._opening[key]
                if not sessions:
                    self._sessions.pop(key, None)

    async def _start(
        self, record: SessionRecord, scope: Scope, receive: Receive, send: Send
    ) -> bool:
        """Let the SDK begin a session and answer its initialize request."""
        from mcp.server.auth.middleware.bearer_auth import authorization_context
        from mcp.server.streamable_http import StreamableHTTPServerTransport

        transport = StreamableHTTPServerTransport(
            mcp_session_id=record.id,
            # it has the interface of the SDK's class, without importing it
            event_store=SessionEventStore(  # type: ignore[arg-type]
                self._events, record.id, self._directory
            ),
            security_settings=self._security,
            retry_interval=RETRY_MS,
            idle_timeout=SESSION_IDLE_SECONDS,
        )
        manager = self._manager
        manager._session_owners[record.id] = authorization_context(scope["user"])
        manager._server_instances[record.id] = transport
        accepted = False

        async def sending(message: MutableMapping[str, Any]) -> None:
            nonlocal accepted
            if message["type"] == "http.response.start":
                accepted = message["status"] < 400
            await send(message)

        await manager._serve_opening_request(transport, scope, receive, sending)
        return accepted

    async def _reopen(self, record: SessionRecord, scope: Scope) -> None:
        """Open a session of another server here, by its own initialize request."""
        instances = self._manager._server_instances
        if record.id in instances:
            return
        lock = self._reopening.setdefault(record.id, asyncio.Lock())
        try:
            async with lock:
                if record.id in instances:
                    return
                if len(instances) >= MAX_SESSIONS:
                    await self._drop_idle()
                post = post_locally(scope, record.id, record.opening.encode())
                await self._start(record, *post)
                initialized = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
                await self._manager.handle_request(*post_locally(scope, record.id, initialized))
        finally:
            if not lock.locked():
                self._reopening.pop(record.id, None)

    async def _make_room(self, key: str, sessions: dict[str, None]) -> None:
        """Forget closed sessions, and end idle ones until one more is allowed."""
        open_now = self._manager._server_instances
        for session in [session for session in sessions if session not in open_now]:
            del sessions[session]
        while len(sessions) + self._opening[key] >= self._limit:
            idle = [(_idle_deadline(open_now[session]), session) for session in sessions]
            idle = [entry for entry in idle if math.isfinite(entry[0])]
            if not idle:
                raise session_limit(self._limit)
            oldest = min(idle)[1]
            del sessions[oldest]
            await self.discard(oldest)

    async def _drop_idle(self) -> None:
        """Close the session that was idle for longest here; other servers still know it."""
        open_now = self._manager._server_instances
        idle = min((_idle_deadline(transport), session) for session, transport in open_now.items())
        if math.isfinite(idle[0]):
            await self.discard(idle[1])

    async def discard(self, session_id: str) -> None:
        """Close a session on this server."""
        self._delivered.pop(session_id, None)
        transport = self._manager._server_instances.get(session_id)
        if transport is not None:
            await self._manager._discard_session(session_id, transport)

    async def deliver(self, session_id: str) -> None:
        """Send events of other servers to the open GET stream of a session."""
        from mcp.server.streamable_http import EventMessage

        transport = self._manager._server_instances.get(session_id)
        stream = transport._request_streams.get(STANDALONE_STREAM) if transport else None
        delivered = self._delivered.get(session_id)
        if stream is None or delivered is None or self._directory is None:
            return
        for event in await self._directory.store.events_after(
            session_id, STANDALONE_STREAM, delivered
        ):
            if self._delivered.get(session_id, event.number) >= event.number:
                continue  # sent meanwhile
            self._delivered[session_id] = event.number
            if self._events.find(session_id, event.event_id) is None:  # not of this server
                await stream[0].send(EventMessage(shared_message(event), event.event_id))

    async def receive(self, owner: str, session_id: str, body: bytes) -> None:
        """Take in a client's message that another server received."""
        if session_id in self._manager._server_instances:
            scope: Scope = {"type": "http", "http_version": "1.1", "path": "/mcp", "headers": []}
            _sign(scope, owner)
            await self._manager.handle_request(*post_locally(scope, session_id, body))

    def busy(self) -> Iterator[str]:
        """Yield the sessions with a request or a stream on this server."""
        for session_id, transport in list(self._manager._server_instances.items()):
            if math.isinf(_idle_deadline(transport)):
                yield session_id

    def holds(self, session: str, caller: AuthContext) -> bool:
        """Tell whether this session of the caller is open; asking keeps it from going idle."""
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


def _sign(scope: Scope, owner: str) -> None:
    """Tell the SDK who sends a request: sessions belong to the tenant."""
    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
    from mcp.server.auth.provider import AccessToken

    token = AccessToken(token="", client_id=owner, scopes=[])
    scope["user"] = AuthenticatedUser(token)


def _opens_session(request: Request, method: str) -> bool:
    """Tell whether the SDK would open a session: for a POST of a handshake that names none."""
    return (
        method == "POST"
        and request.session is None
        and (request.era is ProtocolEra.HANDSHAKE or not request.version)
    )


def _idle_deadline(transport: StreamableHTTPServerTransport) -> float:
    """Return when a session ends for being idle; infinity while it serves a request."""
    return math.inf if transport.idle_scope is None else float(transport.idle_scope.deadline)


async def _answer_deleted(send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})
