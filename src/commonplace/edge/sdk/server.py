"""The official SDK behind the core: whatever `core.py` does not serve, answered from the same
pipeline.

The only importer of `mcp`. It costs most of a second and 40 MB, so nothing here runs before a
client needs it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
from collections import Counter
from collections.abc import Callable, Mapping, MutableMapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

import orjson

from commonplace.dispatch.error_table import INTERNAL_ERROR, INVALID_REQUEST
from commonplace.dispatch.registry import Selection
from commonplace.dispatch.tool import ClientChannel
from commonplace.edge.core import HANDSHAKE_VERSIONS, LIST_TTL_MS, STATELESS_VERSION, Core
from commonplace.edge.jsonrpc import Message, RequestId, RpcError, encode_error
from commonplace.kernel.auth import AuthContext
from commonplace.kernel.errors import NOT_AVAILABLE, SESSION_LIMIT, CommonplaceError

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server

log = logging.getLogger("commonplace.edge.sdk")

SCOPE_KEY = "commonplace.request"  # where http.py leaves (auth, selection, read_only) for handlers
MAX_SESSIONS = 10_000
SESSION_IDLE_SECONDS = 1800.0


def build_server(core: Core, stdio_auth: AuthContext | None) -> Server[Any]:
    """The SDK's low-level server over our registry and pipeline."""
    from mcp.server.caching import CacheHint
    from mcp.server.lowlevel import Server
    from mcp.shared.exceptions import MCPError

    product = core.product

    def caller(ctx: ServerRequestContext[Any, Any]) -> tuple[AuthContext, Selection, bool]:
        if ctx.request is not None:
            auth, selection, read_only = ctx.request.scope[SCOPE_KEY]
            return auth, selection, read_only
        assert stdio_auth is not None
        return stdio_auth, product.selection, False

    async def list_tools(ctx: ServerRequestContext[Any, Any], params: Any) -> Any:
        try:
            return orjson.loads(
                core.list_tools(
                    ctx.params, caller(ctx)[1], ctx.protocol_version == STATELESS_VERSION
                )
            )
        except RpcError as error:
            raise MCPError(error.code, error.message, error.data) from None

    async def call_tool(ctx: ServerRequestContext[Any, Any], params: Any) -> Any:
        auth, selection, read_only = caller(ctx)
        try:
            channel = SdkChannel(ctx)
            started = core.start_call(
                ctx.params,
                auth,
                channel,
                read_only=read_only,
                selection=selection,
                meta={"mcp": ctx},
            )
            outcome = started if not asyncio.iscoroutine(started) else await started
            return orjson.loads(
                b"".join(core.encode_call(outcome, ctx.protocol_version == STATELESS_VERSION))
            )
        except RpcError as error:
            raise MCPError(error.code, error.message, error.data) from None

    extra: Mapping[str, Any] = product.features.handlers() if product.features else {}
    middleware = extra.get("middleware", ())
    server: Server[Any] = Server(
        product.name,
        version=product.version,
        title=product.title,
        instructions=product.instructions,
        cache_hints={
            "tools/list": CacheHint(LIST_TTL_MS, "private"),
            **extra.get("cache_hints", {}),
        },
        get_tool_input_schema=lambda name: _schema_of(core, name),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        **{key: value for key, value in extra.items() if key.startswith("on_")},
    )
    server.middleware.extend(middleware)
    return server


def _schema_of(core: Core, name: str) -> Mapping[str, Any] | None:
    """Only hand-written schemas can mirror arguments into headers; ours never do."""
    try:
        return core.registry.tool(name).input_schema
    except CommonplaceError:
        return None


class SdkChannel(ClientChannel):
    """A handler's way to the client through an SDK session."""

    def __init__(self, ctx: ServerRequestContext[Any, Any]) -> None:
        self._ctx = ctx

    async def progress(
        self, done: float, total: float | None = None, message: str | None = None
    ) -> None:
        await self._ctx.session.report_progress(done, total, message)

    async def log(self, level: str, data: Any, logger: str | None = None) -> None:
        await self._ctx.session.send_log_message(
            level,  # type: ignore[arg-type]
            data,
            logger,
            related_request_id=self._ctx.request_id,
        )

    async def request(self, method: str, params: Mapping[str, Any]) -> Any:
        from mcp.shared.exceptions import NoBackChannelError
        from mcp.shared.message import ServerMessageMetadata
        from mcp_types import (
            CreateMessageResult,
            ElicitResult,
            ListRootsResult,
            server_request_adapter,
        )

        results: dict[str, Any] = {
            "sampling/createMessage": CreateMessageResult,
            "elicitation/create": ElicitResult,
            "roots/list": ListRootsResult,
        }
        request = server_request_adapter.validate_python({"method": method, "params": dict(params)})
        try:
            answer = await self._ctx.session.send_request(
                request,
                results[method],
                metadata=ServerMessageMetadata(related_request_id=self._ctx.request_id),
            )
        except NoBackChannelError:
            raise CommonplaceError(
                NOT_AVAILABLE, f"This client cannot answer {method} here.", hint="Use a session."
            ) from None
        return answer.model_dump(by_alias=True, mode="json", exclude_none=True)


def _encoded(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:  # an integer beyond 64 bits, an id for one
        return json.dumps(value, separators=(",", ":")).encode()


class SdkPeer:
    """The SDK serving one duplex connection.

    Messages wait until its import, in a thread, is done.
    """

    def __init__(
        self,
        core: Core,
        auth: AuthContext,
        send: Callable[[bytes], None],
        initialize: dict[str, Any] | None,
        on_answer: Callable[[], None],
    ) -> None:
        self._core = core
        self._auth = auth
        self._send = send
        self._initialize = initialize
        self._on_answer = on_answer
        self._inbox: asyncio.Queue[Message | None] = asyncio.Queue()
        self._pending: dict[RequestId, Callable[[bytes], None]] = {}
        self._quiet = asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self._run())

    def feed(self, one: Message, send: Callable[[bytes], None] | None) -> None:
        if one.is_request and one.id is not None:
            self._pending[one.id] = send or self._send
            self._quiet.clear()
        self._inbox.put_nowait(one)

    @property
    def ended(self) -> bool:
        return self._task.done()

    @property
    def pending(self) -> int:
        """How many requests wait for their answer."""
        return len(self._pending)

    async def settled(self, grace_seconds: float) -> None:
        """Let what is under way be answered."""
        if self._pending:
            waiting = asyncio.ensure_future(self._quiet.wait())
            await asyncio.wait(
                {waiting, self._task}, timeout=grace_seconds, return_when=asyncio.FIRST_COMPLETED
            )
            waiting.cancel()

    async def close(self, grace_seconds: float) -> None:
        """The same, then end the session."""
        await self.settled(grace_seconds)
        self._inbox.put_nowait(None)
        await asyncio.wait({self._task}, timeout=grace_seconds)
        if not self._task.done():
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=1.0)

    async def _run(self) -> None:
        try:
            await asyncio.to_thread(
                build_server, self._core, self._auth
            )  # the import, off the event loop
            await self._serve()
        except Exception:
            log.exception("the SDK side of this connection failed")
        finally:
            failed = RpcError(
                INTERNAL_ERROR, "Internal error", {"message": "The connection's session ended."}
            )
            for request_id in tuple(self._pending):
                self._answer(request_id, encode_error(request_id, failed))

    async def _serve(self) -> None:
        import anyio

        server = build_server(self._core, self._auth)
        to_server, inbound = anyio.create_memory_object_stream[Any](64)
        outbound, from_server = anyio.create_memory_object_stream[Any](64)
        async with anyio.create_task_group() as group:
            group.start_soon(self._pump_in, to_server)
            group.start_soon(self._pump_out, from_server)
            options = server.create_initialization_options()
            await server.run(inbound, outbound, options)
            group.cancel_scope.cancel()

    async def _pump_in(self, to_server: Any) -> None:
        from mcp.shared.message import SessionMessage
        from mcp_types import jsonrpc_message_adapter
        from pydantic import ValidationError

        async with to_server:
            if self._initialize is not None:
                for replayed in (
                    self._initialize,
                    {"jsonrpc": "2.0", "method": "notifications/initialized"},
                ):
                    await to_server.send(
                        SessionMessage(jsonrpc_message_adapter.validate_python(replayed))
                    )
            while (one := await self._inbox.get()) is not None:
                try:
                    await to_server.send(
                        SessionMessage(jsonrpc_message_adapter.validate_python(one.raw))
                    )
                except ValidationError:
                    if (
                        one.is_request and one.id is not None
                    ):  # a malformed response is owed nothing
                        self._answer(
                            one.id,
                            encode_error(one.id, RpcError(INVALID_REQUEST, "Invalid Request")),
                        )

    async def _pump_out(self, from_server: Any) -> None:
        replayed = self._initialize.get("id") if self._initialize is not None else None
        async with from_server:
            async for item in from_server:
                dumped = item.message.model_dump(by_alias=True, mode="json", exclude_none=True)
                line = _encoded(dumped)
                request_id = dumped.get("id")
                if "method" in dumped or request_id is None:
                    self._send(line)
                elif (
                    replayed is not None
                    and request_id == replayed
                    and request_id not in self._pending
                ):
                    replayed = None  # the client has had its answer to initialize from the core
                else:
                    self._answer(request_id, line)

    def _answer(self, request_id: RequestId, line: bytes) -> None:
        self._pending.pop(request_id, self._send)(line)
        self._on_answer()
        if not self._pending:
            self._quiet.set()


def _opens_session(scope: Mapping[str, Any]) -> bool:
    """Whether a request would make the SDK open a session: a handshake's POST that names none."""
    headers = {
        name: value
        for name, value in scope["headers"]
        if name in (b"mcp-session-id", b"mcp-protocol-version")
    }
    version = headers.get(b"mcp-protocol-version", b"").decode("latin-1")
    return (
        scope["method"] == "POST"
        and b"mcp-session-id" not in headers
        and (not version or version in HANDSHAKE_VERSIONS)
    )


def _idle_deadline(transport: Any) -> float:
    """When a session ends for being idle; infinity while a request of it is being served."""
    return math.inf if transport.idle_scope is None else float(transport.idle_scope.deadline)


class SdkSessions:
    """The SDK's Streamable HTTP: sessions, event streams, resumption.

    Host and Origin are checked before it.

    A session belongs to the tenant that opened it; to any other it does not exist.
    """

    def __init__(self, core: Core) -> None:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
        from mcp.server.transport_security import TransportSecuritySettings

        from commonplace.edge.sdk.events import RecentEvents

        self._manager = StreamableHTTPSessionManager(
            build_server(core, None),
            event_store=RecentEvents(),  # type: ignore[arg-type]  # the SDK's interface, without importing it there
            retry_interval=500,
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            max_request_body_size=core.product.max_message_bytes,
            session_idle_timeout=SESSION_IDLE_SECONDS,
            max_sessions=MAX_SESSIONS,
        )

        self._limit = core.product.max_sessions_per_key
        self._sessions: dict[
            str, dict[str, None]
        ] = {}  # ids of sessions by the key that opened them, oldest first
        self._opening: Counter[str] = Counter()

    def run(self) -> AbstractAsyncContextManager[None]:
        return self._manager.run()

    async def serve(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
        from mcp.server.auth.provider import AccessToken

        auth: AuthContext = scope[SCOPE_KEY][0]
        scope["user"] = AuthenticatedUser(
            AccessToken(token="", client_id=auth.apikey_hash, scopes=[])
        )
        if _opens_session(scope):
            await self._open(auth.key_id or auth.apikey_hash, scope, receive, send)
        else:
            await self._manager.handle_request(scope, receive, send)

    async def _open(
        self, key: str, scope: MutableMapping[str, Any], receive: Any, send: Any
    ) -> None:
        """Open a session, for which the key's oldest idle one may have to end.

        Raises SESSION_LIMIT where all are in use.
        """
        sessions = self._sessions.setdefault(key, {})
        await self._make_room(key, sessions)

        async def sending(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                opened = next(
                    (
                        value
                        for name, value in message["headers"]
                        if name.lower() == b"mcp-session-id"
                    ),
                    None,
                )
                if opened is not None:
                    sessions[opened.decode("latin-1")] = None
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

    def holds(self, session: str, auth: AuthContext) -> bool:
        """Whether this caller's session is open; asking keeps it from going idle."""
        transport = self._manager._server_instances.get(session)
        owner = self._manager._session_owners.get(session)
        if (
            transport is None
            or transport.is_terminated
            or owner is None
            or owner["client_id"] != auth.apikey_hash
        ):
            return False
        idle, timeout = transport.idle_scope, self._manager.session_idle_timeout
        if idle is not None and timeout is not None and not idle.cancel_called:
            idle.deadline = max(idle.deadline, asyncio.get_running_loop().time() + timeout)
        return True
