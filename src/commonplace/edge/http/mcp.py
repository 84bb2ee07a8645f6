"""The endpoint /mcp: the core answers plain calls in one JSON body, the SDK all the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import orjson
from starlette.responses import Response

from commonplace.dispatch.call import Outcome
from commonplace.dispatch.error_table import CALL_CANCELLED, INVALID_REQUEST, PARSE_ERROR
from commonplace.dispatch.tool import SILENT, ClientChannel
from commonplace.edge.core import Core, needs_channel
from commonplace.edge.http.body import read_body, replay
from commonplace.edge.http.responses import STATUS_OF_RPC, send_json, unauthorized
from commonplace.edge.http.routing import MessageRouter
from commonplace.edge.http.sdk_host import SdkHost
from commonplace.edge.http.streams import AnswerStream
from commonplace.edge.intake import IncomingMessage
from commonplace.edge.jsonrpc import (
    InvalidMessage,
    Message,
    RequestId,
    RpcError,
    encode_error,
    encode_result,
    parse_message,
)
from commonplace.edge.progress import ProgressChannel
from commonplace.edge.protocol import (
    BATCH_VERSION,
    check_batch,
    check_envelope,
    envelope_of,
    name_client,
)
from commonplace.edge.request import ProtocolEra, Request
from commonplace.edge.sessions.directory import SessionDirectory
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import JsonArray

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

CORE_METHODS = frozenset({"tools/call", "tools/list", "ping"})


class Delegation(Enum):
    """The part that answers requests the core does not."""

    TO_SDK = auto()


TO_SDK: Literal[Delegation.TO_SDK] = Delegation.TO_SDK
"""The SDK judges the request from the start."""


class WholeAnswer(NamedTuple):
    """Status and body of an answer of the core; the body may be empty."""

    status: int
    body: bytes


class LargeRequest(NamedTuple):
    """A request that only the core decodes, and the stream of its answer."""

    incoming: IncomingMessage
    stream: AnswerStream


class McpEndpoint:
    """POST, GET and DELETE of /mcp."""

    def __init__(
        self,
        core: Core,
        sdk: SdkHost,
        body_seconds: float,
        directory: SessionDirectory | None = None,
    ) -> None:
        self._core = core
        self._sdk = sdk
        self._body_seconds = body_seconds
        # by tenant, session and request
        self._in_flight: dict[tuple[str, str, RequestId], asyncio.Task[Outcome]] = {}
        self._router = (
            MessageRouter(directory, sdk, self._cancel) if directory is not None else None
        )

    async def __call__(self, request: Request, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            return await self._sdk.serve(request, scope, receive, send)
        incoming = self._core.begin_message(request.quota_name)
        stream = AnswerStream(send)
        try:
            await read_body(receive, incoming, self._body_seconds)
            answer = await self._answer(request, incoming, stream)
            body = incoming.raw if answer is TO_SDK else b""
        except CommonplaceError as error:  # the sessions of the team cannot be read
            return await unauthorized(error)(scope, receive, send)
        finally:
            incoming.close()
        if answer is TO_SDK:
            await self._sdk.serve(request, scope, replay(_for_sdk(body), receive), send)
        elif stream.is_open:
            await stream.end(answer.body)
        elif answer.body:
            await send_json(send, answer.status, answer.body)
        else:
            await Response(status_code=answer.status)(scope, receive, send)
        return None

    async def _answer(
        self, request: Request, incoming: IncomingMessage, stream: AnswerStream
    ) -> WholeAnswer | Literal[Delegation.TO_SDK]:
        if not request.is_json:
            return TO_SDK
        try:
            value = (
                await incoming.decode(self._core.decoders)
                if incoming.is_large
                else incoming.decode_small()
            )
            if isinstance(value, list):
                return await self._answer_batch(request, value)
            message = parse_message(value)
        except InvalidMessage as invalid:
            if not incoming.is_large and invalid.error.code == PARSE_ERROR:
                return TO_SDK
            self._core.product.observer.count("malformed")
            status = STATUS_OF_RPC[invalid.error.code]
            return WholeAnswer(status, encode_error(invalid.request_id, invalid.error))
        if message.method is None and self._router is not None:
            return WholeAnswer(202, b"") if await self._router.route(request, message) else TO_SDK
        large = LargeRequest(incoming, stream) if incoming.is_large else None
        answer = await self._answer_message(request, message, large)
        return TO_SDK if answer is TO_SDK else WholeAnswer(200, answer)

    async def _answer_batch(self, request: Request, values: JsonArray) -> WholeAnswer:
        """Answer a batch with one array, in order.

        Batches existed in one protocol version only, whose clients name none in a header.
        """
        if request.version not in (None, BATCH_VERSION) or not await self._sdk.finds_session(
            request
        ):
            reason = (
                f"batches exist in sessions of protocol {BATCH_VERSION} only; send one "
                f"message at a time"
            )
            raise InvalidMessage(RpcError(INVALID_REQUEST, f"Invalid Request: {reason}"))
        check_batch(values)
        answers: list[bytes] = []
        for value in values:
            try:
                message = parse_message(value)
            except InvalidMessage as invalid:
                answers.append(encode_error(invalid.request_id, invalid.error))
                continue
            answer = await self._answer_message(request, message)
            if answer is not TO_SDK:
                answers.append(answer)
            elif message.is_request:
                reason = f"{str(message.method)[:64]} cannot be batched here; send it alone"
                error = RpcError(INVALID_REQUEST, f"Invalid Request: {reason}")
                answers.append(encode_error(message.id, error))
        return (
            WholeAnswer(200, b"[" + b",".join(answers) + b"]") if answers else WholeAnswer(202, b"")
        )

    async def _answer_message(
        self, request: Request, message: Message, large: LargeRequest | None = None
    ) -> bytes | Literal[Delegation.TO_SDK]:
        if message.method == "notifications/cancelled":
            await self._cancel_call(request, message)
            return TO_SDK
        if (
            message.id is None
            or message.method not in CORE_METHODS
            or not request.accepts_json
            or isinstance(message.params, list)
        ):
            return TO_SDK
        stateless = _is_stateless(request, message)
        if not (
            stateless or self._sdk.holds_session(request) or await self._sdk.finds_session(request)
        ):
            return TO_SDK
        try:
            if message.method == "ping":
                return TO_SDK if stateless else encode_result(message.id, b"{}")
            if message.method == "tools/list":
                listed = self._core.list_tools(message.params, request.selection, stateless)
                return encode_result(message.id, listed)
            return await self._call_tool(request, message, message.id, stateless, large)
        except RpcError as error:
            # the SDK words the faults of a stateless request; a large one it would decode again
            return TO_SDK if stateless and large is None else encode_error(message.id, error)

    async def _call_tool(
        self,
        request: Request,
        message: Message,
        request_id: RequestId,
        stateless: bool,
        large: LargeRequest | None,
    ) -> bytes | Literal[Delegation.TO_SDK]:
        tool = self._core.find_tool(message.params)
        channel: ClientChannel = SILENT
        if large is not None:
            # the core answers, and sends progress: the SDK would decode the message again
            large.incoming.drop()
            if request.accepts_events:
                channel = ProgressChannel(large.stream.notify, message.params)
        elif needs_channel(message.params, tool):
            return TO_SDK
        started = self._core.start_call(request, message.params, tool, channel)
        outcome = (
            started
            if isinstance(started, Outcome)
            else await self._run(started, request, request_id)
        )
        return encode_result(request_id, self._core.encode_call(outcome, stateless))

    async def _run(
        self, work: Coroutine[Any, Any, Outcome], request: Request, request_id: RequestId
    ) -> Outcome:
        """Run a call that its client may cancel. Raises RpcError where it did."""
        key = (request.caller.apikey_hash, request.session or "", request_id)
        task = asyncio.get_running_loop().create_task(work)
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

    async def _cancel_call(self, request: Request, message: Message) -> None:
        """Cancel a call of the caller's own tenant. To any other, the session does not exist."""
        params = message.params
        request_id = params.get("requestId") if isinstance(params, dict) else None
        if request.session and isinstance(request_id, (str, int, float)):
            if self._router is not None:
                await self._router.announce_cancellation(request, message)
            self._cancel(request.caller.apikey_hash, request.session, request_id)

    def _cancel(self, owner: str, session_id: str, request_id: RequestId) -> None:
        task = self._in_flight.get((owner, session_id, request_id))
        if task is not None:
            task.cancel()


def _is_stateless(request: Request, message: Message) -> bool:
    """Tell whether this is a valid stateless request; the SDK reports the faults of others."""
    if request.era is not ProtocolEra.STATELESS or request.ambiguous:
        return False
    params = message.params
    envelope = envelope_of(params)
    if envelope is None or isinstance(message.id, float):
        return False
    try:
        check_envelope(envelope)
    except RpcError:
        return False
    headers = request.headers
    if headers.get("mcp-method") != message.method or any(
        name.startswith("mcp-param-") for name in headers
    ):
        return False
    return message.method != "tools/call" or headers.get("mcp-name") == params.get("name")


def _for_sdk(body: bytes) -> bytes:
    """Return the body of a request as the SDK takes it: a handshake names its client."""
    if b"initialize" not in body or b"clientInfo" in body:
        return body
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return body
    return orjson.dumps(name_client(value)) if isinstance(value, dict) else body
