"""The HTTP transport: Streamable HTTP at /mcp, bare JSON-RPC at /rpc, health for machines.

Plain tool calls are answered by the core in one JSON body; sessions, streams and everything else by
the SDK.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from commonplace.dispatch.error_table import (
    CALL_CANCELLED,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    RESOURCE_LIMIT,
    numbers_of,
)
from commonplace.dispatch.pipeline import Outcome
from commonplace.dispatch.registry import Selection
from commonplace.dispatch.tool import SILENT
from commonplace.edge.authenticate import challenge
from commonplace.edge.core import (
    BATCH_VERSION,
    HANDSHAKE_VERSIONS,
    LATEST_HANDSHAKE,
    STATELESS_VERSION,
    VERSION_KEY,
    Core,
    with_client,
)
from commonplace.edge.http.reach import HttpOptions, preflight, refusal, shared
from commonplace.edge.http.streams import serve_while_valid
from commonplace.edge.intake import Incoming, Refused
from commonplace.edge.jsonrpc import (
    InvalidMessage,
    Message,
    RequestId,
    RpcError,
    encode_error,
    encode_result,
    message,
    rpc_error,
)
from commonplace.edge.product import Product
from commonplace.edge.stdio.connection import MAX_BATCH
from commonplace.kernel.auth import AuthContext
from commonplace.kernel.errors import CALL_RATE_LIMITED, SHUTTING_DOWN, CommonplaceError, Kind

if TYPE_CHECKING:
    from starlette.types import Message as AsgiMessage
    from starlette.types import Receive, Scope, Send

    from commonplace.edge.sdk.server import SdkSessions

log = logging.getLogger("commonplace.edge.http")

JSON_HEADERS = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
NO_STORE = {"Cache-Control": "no-store"}
STATUS_OF_RPC = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    METHOD_NOT_FOUND: 404,
    RESOURCE_LIMIT: 413,
    INTERNAL_ERROR: 500,
}


class SlowBody(Exception):
    """The body did not arrive in time."""


def build_app(product: Product, options: HttpOptions | None = None) -> Starlette:
    """The ASGI application. The console and other extras come in through `options.routes`."""
    options = options or HttpOptions()
    core = Core(product)
    endpoint = McpEndpoint(core, options)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await endpoint.close()
            for stop in options.on_stop:
                await stop()

    async def healthz(request: Request) -> Response:
        return JSONResponse({"status": "ok", "version": product.version})

    async def readyz(request: Request) -> Response:
        options.draining.asked()
        if options.draining.begun:
            error = CommonplaceError(
                SHUTTING_DOWN,
                "The server is stopping.",
                hint="Send new calls to another server.",
                retryable=True,
            )
            return JSONResponse(
                {"status": "unavailable", "error": error.as_dict()}, status_code=503
            )
        try:
            report = await product.ready() if product.ready is not None else {}
        except CommonplaceError as error:
            return JSONResponse(
                {"status": "unavailable", "error": error.as_dict()}, status_code=503
            )
        return JSONResponse({"status": "ready", **report})

    return Starlette(
        routes=[
            Route("/mcp", endpoint=endpoint),
            Route("/rpc", endpoint=RpcEndpoint(core, options), methods=["POST", "OPTIONS"]),
            Route("/healthz", healthz),
            Route("/readyz", readyz),
            *options.routes,
        ],
        lifespan=lifespan,
    )


class McpEndpoint:
    """POST, GET and DELETE of /mcp."""

    def __init__(self, core: Core, options: HttpOptions) -> None:
        self._core = core
        self._options = options
        self._manager: SdkSessions | None = None
        self._manager_lock = asyncio.Lock()
        self._stop = asyncio.Event()
        self._host: asyncio.Task[None] | None = None
        self._in_flight: dict[
            tuple[str, str, RequestId], asyncio.Task[Outcome]
        ] = {}  # by tenant, session and request

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = _headers(scope)
        send = shared(headers, self._options, send)
        refused = refusal(headers, self._options, scope.get("scheme", "http")) or preflight(
            scope["method"], headers, self._options, "GET, POST, DELETE"
        )
        if refused is not None:
            return await refused(scope, receive, send)
        try:
            auth = self._core.product.authenticate(headers)
        except CommonplaceError as error:
            return await unauthorized(error)(scope, receive, send)
        selection, read_only = requested_selection(headers, self._core.product.selection)
        scope["commonplace.request"] = (auth, selection, read_only)
        if scope["method"] != "POST":
            return await self._sdk(scope, receive, send)
        incoming = self._core.incoming(auth.key_id or auth.tenant)
        try:
            await read_body(receive, incoming, self._options.connections.body_seconds)
            answer = (
                await self._answer(headers, incoming, auth, selection, read_only)
                if _json(headers)
                else None
            )
            body = incoming.raw if answer is None else b""
        except Refused as refused_body:
            return await not_taken(refused_body)(scope, receive, send)
        except SlowBody:
            return await Response(status_code=408)(scope, receive, send)
        finally:
            incoming.close()
        if answer is None:
            await self._sdk(scope, _replay(_for_sdk(body), receive), send)
        elif answer[1]:
            await _send_json(send, *answer)
        else:
            await Response(status_code=answer[0])(scope, receive, send)
        return None

    async def _answer(
        self,
        headers: Mapping[str, str],
        body: Incoming,
        auth: AuthContext,
        selection: Selection,
        read_only: bool,
    ) -> tuple[int, bytes] | None:
        """Status and whole answer where the core can give them, else None: the SDK then judges
        the request from the start.
        """
        try:
            value = await body.decode(self._core.decoders) if body.is_large else body.decode_small()
            if isinstance(value, list):
                return await self._batch(headers, value, auth, selection, read_only)
            one = message(value)
        except InvalidMessage as invalid:
            if not body.is_large and invalid.error.code == PARSE_ERROR:
                return None
            self._core.product.observer.count("malformed")
            return STATUS_OF_RPC[invalid.error.code], encode_error(
                invalid.request_id, invalid.error
            )
        answer = await self._one(headers, one, auth, selection, read_only, body)
        return None if answer is None else (200, answer)

    async def _batch(
        self,
        headers: Mapping[str, str],
        values: list[Any],
        auth: AuthContext,
        selection: Selection,
        read_only: bool,
    ) -> tuple[int, bytes]:
        """One array of answers, in order.

        Batches existed in one protocol version only, whose clients name none in a header.
        """
        session = headers.get("mcp-session-id")
        if headers.get("mcp-protocol-version", BATCH_VERSION) != BATCH_VERSION or not self._alive(
            headers, session, auth
        ):
            reason = (
                f"batches exist in sessions of protocol {BATCH_VERSION} only; send one "
                f"message at a time"
            )
            raise InvalidMessage(RpcError(INVALID_REQUEST, f"Invalid Request: {reason}"))
        if not values:
            raise InvalidMessage(RpcError(INVALID_REQUEST, "Invalid Request: the batch is empty"))
        if len(values) > MAX_BATCH:
            raise InvalidMessage(
                RpcError(
                    RESOURCE_LIMIT,
                    f"A batch holds at most {MAX_BATCH} messages.",
                    {"limit": MAX_BATCH},
                )
            )
        answers: list[bytes] = []
        for value in values:
            try:
                one = message(value)
            except InvalidMessage as invalid:
                answers.append(encode_error(invalid.request_id, invalid.error))
                continue
            answer = await self._one(headers, one, auth, selection, read_only)
            if answer is None and one.is_request:
                alone = RpcError(
                    INVALID_REQUEST,
                    f"Invalid Request: {str(one.method)[:64]} cannot be batched here; send it "
                    f"alone",
                )
                answer = encode_error(one.id, alone)
            if answer is not None:
                answers.append(answer)
        return (200, b"[" + b",".join(answers) + b"]") if answers else (202, b"")

    async def _one(
        self,
        headers: Mapping[str, str],
        one: Message,
        auth: AuthContext,
        selection: Selection,
        read_only: bool,
        body: Incoming | None = None,
    ) -> bytes | None:
        if one.method == "notifications/cancelled":
            self._cancel(headers, one, auth)
            return None
        if (
            one.id is None
            or one.method not in ("tools/call", "tools/list", "ping")
            or not _ordinary(headers, one)
        ):
            return None
        stateless = self._stateless(headers, one)
        large = body is not None and body.is_large
        session = headers.get("mcp-session-id")
        if not stateless and not self._alive(headers, session, auth):
            return None
        try:
            if one.method == "ping":
                return None if stateless else encode_result(one.id, b"{}")
            if one.method == "tools/list":
                return encode_result(
                    one.id, self._core.list_tools(one.params, selection, stateless)
                )
            if not large and self._core.needs_channel(one.params):
                return None
            if large and body is not None:
                # from here the core answers; without progress, which is optional: the SDK would
                # decode it all again
                body.drop()
            started = self._core.start_call(
                one.params, auth, SILENT, read_only=read_only, selection=selection
            )
            outcome = (
                started
                if isinstance(started, Outcome)
                else await self._run(started, (auth.apikey_hash, session or "", one.id))
            )
            return encode_result(one.id, self._core.encode_call(outcome, stateless))
        except RpcError as error:
            return None if stateless and not large else encode_error(one.id, error)

    async def _run(self, work: Any, key: tuple[str, str, RequestId]) -> Outcome:
        task: asyncio.Task[Outcome] = asyncio.get_running_loop().create_task(work)
        self._in_flight[key] = task
        try:
            return await task
        except asyncio.CancelledError:
            if task.cancelled() or task.done():
                raise RpcError(CALL_CANCELLED, "The call was cancelled.") from None
            task.cancel()
            raise
        finally:
            if self._in_flight.get(key) is task:
                del self._in_flight[key]

    def _cancel(self, headers: Mapping[str, str], one: Message, auth: AuthContext) -> None:
        """Cancel a call of the caller's own tenant. To any other, the session does not exist."""
        session = headers.get("mcp-session-id")
        wanted = one.params.get("requestId") if isinstance(one.params, dict) else None
        if session and isinstance(wanted, (str, int, float)):
            task = self._in_flight.get((auth.apikey_hash, session, wanted))
            if task is not None:
                task.cancel()

    def _stateless(self, headers: Mapping[str, str], one: Message) -> bool:
        """Whether this is a stateless request without a fault.

        One with a fault is the SDK's to name.
        """
        if headers.get("mcp-protocol-version") != STATELESS_VERSION or "\n" in headers.get(
            "duplicated", ""
        ):
            return False
        params = one.params
        meta = params.get("_meta") if isinstance(params, dict) else None
        if not isinstance(meta, dict) or VERSION_KEY not in meta or isinstance(one.id, float):
            return False
        try:
            self._core.check_envelope(meta)
        except RpcError:
            return False
        if headers.get("mcp-method") != one.method or any(
            name.startswith("mcp-param-") for name in headers
        ):
            return False
        return one.method != "tools/call" or headers.get("mcp-name") == params.get("name")

    def _alive(self, headers: Mapping[str, str], session: str | None, auth: AuthContext) -> bool:
        """Whether the SDK holds this session for this caller; using it keeps it from going idle."""
        if (
            session is None
            or self._manager is None
            or headers.get("mcp-protocol-version", LATEST_HANDSHAKE) not in HANDSHAKE_VERSIONS
        ):
            return False
        return self._manager.holds(session, auth)

    async def _sdk(self, scope: Scope, receive: Receive, send: Send) -> None:
        manager = self._manager or await self._start_manager()
        scope["headers"] = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        open_stream = False  # whether an answer began and its end is still owed

        async def sending(message: AsgiMessage) -> None:
            nonlocal open_stream
            open_stream = message["type"] == "http.response.start" or message.get(
                "more_body", False
            )
            await send(message)

        headers, (auth, *_) = _headers(scope), scope["commonplace.request"]
        try:
            await serve_while_valid(
                lambda until: manager.serve(scope, until, sending),
                receive,
                lambda: self._is_valid(headers, auth),
            )
        except CommonplaceError as error:
            return await unauthorized(error)(scope, receive, send)
        if (
            open_stream
        ):  # the server stops, and the SDK leaves its stream; the client is told that it ended
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        return None

    def _is_valid(self, headers: Mapping[str, str], auth: AuthContext) -> bool:
        """Whether the key of an open request is still one, of the same tenant."""
        try:
            return self._core.product.authenticate(headers).apikey_hash == auth.apikey_hash
        except CommonplaceError:
            return False

    async def _start_manager(self) -> SdkSessions:
        """Import the SDK off the event loop, and keep its task group in a task of its own."""
        async with self._manager_lock:
            if self._manager is None:
                from commonplace.edge.sdk.server import SdkSessions

                manager = await asyncio.to_thread(SdkSessions, self._core)
                started = asyncio.Event()

                async def host() -> None:
                    async with manager.run():
                        started.set()
                        await self._stop.wait()

                self._host = asyncio.create_task(host())
                await started.wait()
                self._manager = manager
            return self._manager

    async def close(self) -> None:
        self._stop.set()
        if self._host is not None:
            await asyncio.wait({self._host}, timeout=5)


def _for_sdk(body: bytes) -> bytes:
    """Return the body of a request as the SDK takes it."""
    if b"initialize" not in body or b"clientInfo" in body:
        return body
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return body
    return orjson.dumps(with_client(value)) if isinstance(value, dict) else body


class RpcEndpoint:
    """POST /rpc: one bare JSON-RPC request, no MCP around it."""

    def __init__(self, core: Core, options: HttpOptions) -> None:
        self._core = core
        self._options = options

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = _headers(scope)
        send = shared(headers, self._options, send)
        refused = refusal(headers, self._options, scope.get("scheme", "http")) or preflight(
            scope["method"], headers, self._options, "POST"
        )
        if refused is None and scope["method"] != "POST":
            refused = Response(status_code=405, headers={"Allow": "POST"})
        if refused is not None:
            return await refused(scope, receive, send)
        try:
            auth = self._core.product.authenticate(headers)
        except CommonplaceError as error:
            return await unauthorized(error)(scope, receive, send)
        if not _json(headers):
            return await not_json()(scope, receive, send)
        incoming = self._core.incoming(auth.key_id or auth.tenant)
        try:
            await read_body(receive, incoming, self._options.connections.body_seconds)
            status, answer, more = await self._answer(
                incoming, auth, *requested_selection(headers, self._core.product.selection)
            )
        except Refused as refused_body:
            return await not_taken(refused_body)(scope, receive, send)
        except SlowBody:
            return await Response(status_code=408)(scope, receive, send)
        finally:
            incoming.close()
        await Response(answer, status, more, "application/json" if answer else None)(
            scope, receive, send
        )
        return None

    async def _answer(
        self, body: Incoming, auth: AuthContext, selection: Selection, read_only: bool
    ) -> tuple[int, bytes | None, dict[str, str]]:
        """Status, body and headers of the answer."""
        try:
            one = message(
                await body.decode(self._core.decoders) if body.is_large else body.decode_small()
            )
            body.drop()
        except InvalidMessage as invalid:
            self._core.product.observer.count("malformed")
            return (
                STATUS_OF_RPC[invalid.error.code],
                encode_error(invalid.request_id, invalid.error),
                NO_STORE,
            )
        if not one.is_request:
            return 202, None, {}
        assert one.id is not None
        assert one.method is not None
        if one.method in ("shutdown", "exit"):
            return (
                200,
                encode_result(one.id, b"null"),
                NO_STORE,
            )  # a connectionless caller has nothing of its own to end
        try:
            started = self._core.start_bare(
                one.method, one.params, auth, read_only=read_only, selection=selection
            )
            outcome = started if isinstance(started, Outcome) else await started
            if outcome.error is not None:
                wait = retry_after(outcome.error) | NO_STORE
                return (
                    numbers_of(outcome.error).http_status,
                    encode_error(one.id, rpc_error(outcome.error)),
                    wait,
                )
            return 200, encode_result(one.id, self._core.encode_bare(outcome)), NO_STORE
        except RpcError as error:
            return STATUS_OF_RPC.get(error.code, 400), encode_error(one.id, error), NO_STORE


def requested_selection(headers: Mapping[str, str], served: Selection) -> tuple[Selection, bool]:
    """Apply the X-MCP-* headers, which narrow what this request lists and may call, and never
    widen what the server offers.
    """
    toolsets, tools = _names(headers.get("x-mcp-toolsets")), _names(headers.get("x-mcp-tools"))
    exclude = _names(headers.get("x-mcp-exclude-tools")) or frozenset()
    read_only = any(
        value.strip().lower() in ("1", "true", "yes", "on")
        for value in headers.get("x-mcp-readonly", "").split(",")
    )
    if toolsets is None and tools is None and not exclude and not read_only:
        return served, False
    if toolsets is None and tools is None:
        return replace(
            served, exclude=served.exclude | exclude, read_only=served.read_only or read_only
        ), read_only
    within = replace(
        served, all_tiers=True
    )  # a tool that is named may be an extended one of what is served
    return Selection(
        toolsets, tools, exclude, read_only, served.all_tiers, served.renamed, within
    ), read_only


def unauthorized(error: CommonplaceError) -> Response:
    headers = retry_after(error)
    if (
        error.code.kind is Kind.UNAUTHENTICATED or error.code is CALL_RATE_LIMITED
    ):  # a refused request learns how to authenticate even when it must wait
        headers["WWW-Authenticate"] = challenge(error)
    body = encode_error(None, rpc_error(error))
    return Response(
        body,
        status_code=numbers_of(error).http_status,
        media_type="application/json",
        headers=headers,
    )


def retry_after(error: CommonplaceError) -> dict[str, str]:
    """The header that says when to come back, in whole seconds and never too early."""
    seconds = error.details.get("retry_after_seconds")
    return {} if seconds is None else {"Retry-After": str(max(1, math.ceil(seconds)))}


def not_json() -> Response:
    """Refuse a body that a foreign page could send without asking: forms and plain text (CSRF)."""
    error = RpcError(INVALID_REQUEST, "Invalid Request: send Content-Type: application/json")
    return Response(encode_error(None, error), status_code=415, media_type="application/json")


def not_taken(refused: Refused) -> Response:
    """The answer to a body that was refused before it was decoded: too large, too complex, or
    too many at once.
    """
    status = STATUS_OF_RPC.get(refused.error.code, 503)
    headers = {"Retry-After": "1"} if status == 503 else {}
    return Response(
        encode_error(refused.request_id, refused.error),
        status_code=status,
        media_type="application/json",
        headers=headers,
    )


async def read_body(receive: Receive, incoming: Incoming, seconds: float) -> None:
    """Take in the request's body, bounded in size, structure and time.

    Raises Refused and SlowBody.
    """
    try:
        async with asyncio.timeout(seconds):
            while (event := await receive())["type"] == "http.request":
                incoming.add(event.get("body", b""))
                if not event.get("more_body"):
                    break
    except TimeoutError:
        raise SlowBody from None


def _ordinary(headers: Mapping[str, str], one: Message) -> bool:
    """JSON that may be answered with JSON.

    What is odd about any other request is for the SDK to say.
    """
    accepted = headers.get("accept", "")
    return (
        _json(headers)
        and ("application/json" in accepted or "*/*" in accepted)
        and not isinstance(one.params, list)
    )


def _json(headers: Mapping[str, str]) -> bool:
    return headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"


def _replay(body: bytes, receive: Receive) -> Receive:
    """Give a body that was read to the next reader."""
    pending = [body]

    async def replayed() -> AsgiMessage:
        if pending:
            return {"type": "http.request", "body": pending.pop(), "more_body": False}
        return await receive()

    return replayed


async def _send_json(send: Send, status: int, body: bytes) -> None:
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [*JSON_HEADERS, (b"content-length", b"%d" % len(body))],
        }
    )
    await send({"type": "http.response.body", "body": body})


def _headers(scope: Scope) -> dict[str, str]:
    """Lower-case names, last value wins; a header that routes must not stand twice, so a second
    one is marked.

    Lists are joined.
    """
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1")
        if key in headers and key in ("mcp-protocol-version", "mcp-method", "mcp-name"):
            headers["duplicated"] = "\n"
        text = value.decode("latin-1").strip(
            " \t"
        )  # the fast parser leaves the optional whitespace on
        headers[key] = (
            f"{headers[key]},{text}" if key.startswith("x-mcp-") and key in headers else text
        )
    return headers


def _names(value: str | None) -> frozenset[str] | None:
    return (
        None
        if value is None
        else frozenset(name.strip() for name in value.split(",") if name.strip())
    )
