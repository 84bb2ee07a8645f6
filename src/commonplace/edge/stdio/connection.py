"""One client on one duplex byte stream: who answers which method."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from commonplace.dispatch.call import Outcome
from commonplace.dispatch.error_table import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND
from commonplace.edge.core import Core, Started
from commonplace.edge.intake import MessageRefused
from commonplace.edge.jsonrpc import (
    InvalidMessage,
    Message,
    RequestId,
    RpcError,
    decode,
    encode_error,
    encode_result,
    internal_error,
    parse_message,
    rpc_error,
)
from commonplace.edge.offered import OFFERED, answer_offered
from commonplace.edge.progress import ProgressChannel
from commonplace.edge.protocol import (
    BATCH_VERSION,
    STATELESS_VERSION,
    UNSUPPORTED_VERSION,
    check_batch,
    check_envelope,
    envelope_of,
    name_client,
)
from commonplace.edge.request import Request
from commonplace.edge.results import encode_bare
from commonplace.edge.stdio.answers import BatchAnswers, Send
from commonplace.edge.stdio.in_flight import CallsInFlight
from commonplace.kernel.auth import AuthContext
from commonplace.kernel.errors import SHUTTING_DOWN, CommonplaceError
from commonplace.kernel.json_types import Json, JsonArray, JsonObject

if TYPE_CHECKING:
    from commonplace.edge.sdk.peer import SdkPeer

log = logging.getLogger("commonplace.edge")
T = TypeVar("T")

STATELESS_METHODS = frozenset({"server/discover", "subscriptions/listen"})
SUBSCRIPTIONS = frozenset({"resources/subscribe", "resources/unsubscribe", "subscriptions/listen"})
SDK_METHODS = STATELESS_METHODS | {
    "completion/complete",
    "logging/setLevel",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "resources/unsubscribe",
}
"""What the SDK's server answers besides our own methods; a test compares it with the SDK."""
WATCHED_FRAMES = 8
SHUTDOWN_SECONDS = 60.0
DEFECT = internal_error("The server failed on this request.")


class Connection:
    """Answers lines. It never raises: every request and every malformed line gets an answer."""

    def __init__(
        self,
        core: Core,
        send: Send,
        on_exit: Callable[[], None],
        caller: AuthContext | None = None,
    ) -> None:
        product = core.product
        self._core = core
        self._send = send
        self._on_exit = on_exit
        self._observer = product.observer
        self._frames_watched = WATCHED_FRAMES if self._observer.watches_frames else 0
        self._request = Request(
            replace(caller or product.stdio_auth(), agent=True), product.selection
        )
        self._version: str | None = None
        self._stateless = False
        self._initialize: JsonObject | None = None
        self._stopping = False
        self._sdk: SdkPeer | None = None
        self.calls = CallsInFlight(
            product.max_in_flight, lambda: self._sdk.pending if self._sdk is not None else 0
        )

    def receive_line(self, line: bytes) -> None:
        if not line or line.isspace():
            return
        if self._frames_watched:
            self._frames_watched -= 1
            # a line is handled before the bytes after it are kept, so nothing is buffered
            begins = line[:1].decode("latin-1")
            self._observer.event(
                "init:frame", {"bytes": len(line), "buffered": 0, "begins": begins}
            )
        try:
            value = decode(line)
        except InvalidMessage as invalid:
            self.refuse(invalid)
            return
        self.receive_value(value)

    def receive_value(self, value: Json) -> None:
        try:
            if isinstance(value, list):
                self._answer_batch(value)
            else:
                self._receive(parse_message(value), self._send)
        except InvalidMessage as invalid:
            self.refuse(invalid)

    def refuse(self, error: InvalidMessage | MessageRefused) -> None:
        if isinstance(error, InvalidMessage):
            self._observer.count("malformed")
        self._send(encode_error(error.request_id, error.error))

    async def drain(self, grace_seconds: float) -> None:
        """Let running calls finish, then cancel the rest and close the SDK."""
        await self.calls.drain(grace_seconds)
        if self._sdk is not None:
            await self._sdk.close(grace_seconds)

    def _answer_batch(self, values: JsonArray) -> None:
        """Answer a batch; outside of its protocol version an array is an invalid request."""
        if self._version != BATCH_VERSION:
            raise InvalidMessage(
                RpcError(
                    INVALID_REQUEST,
                    f"Invalid Request: batches exist in protocol {BATCH_VERSION} only",
                )
            )
        check_batch(values)
        answers = BatchAnswers(self._send)
        for value in values:
            try:
                message = parse_message(value)
                if message.method == "initialize":
                    raise InvalidMessage(
                        RpcError(INVALID_REQUEST, "Invalid Request: initialize cannot be batched"),
                        message.id,
                    )
                if message.is_request:
                    answers.expected += 1
                self._receive(message, answers)
            except InvalidMessage as invalid:
                answers.expected += 1
                answers(encode_error(invalid.request_id, invalid.error))
        answers.close()

    def _receive(self, message: Message, send: Send) -> None:
        if message.method is None:
            self._forward(message)
        elif message.id is None:
            self._receive_notification(message)
        elif self._stopping and message.method != "exit":
            refused = CommonplaceError(
                SHUTTING_DOWN,
                "The server is shutting down.",
                hint="Send exit, or start a new server.",
            )
            send(encode_error(message.id, rpc_error(refused)))
        else:
            try:
                self._answer_request(message, message.id, message.method, send)
            except RpcError as error:
                send(encode_error(message.id, error))
            except CommonplaceError as error:
                send(encode_error(message.id, rpc_error(error)))
            except Exception:  # a defect must not end the connection, nor leave a client waiting
                log.exception("request %s failed", message.method[:128])
                send(encode_error(message.id, DEFECT))

    def _receive_notification(self, message: Message) -> None:
        if message.method == "exit":
            self._on_exit()
            return
        if message.method == "notifications/cancelled":
            params = message.params
            request_id = params.get("requestId") if isinstance(params, dict) else None
            if isinstance(request_id, (str, int, float)) and self.calls.cancel(request_id):
                return
        elif message.method == "notifications/initialized":
            self._observer.event("handshake:initialized", {"negotiated": self._version})
        if self._sdk is not None:
            self._forward(message)

    def _answer_request(
        self, message: Message, request_id: RequestId, method: str, send: Send
    ) -> None:
        params = message.params
        if method == "tools/call":
            self._call_tool(message, request_id, send)
        elif method == "tools/list":
            self._enter_era(params)
            listed = self._core.list_tools(params, self._request.selection, self._stateless)
            send(encode_result(request_id, listed))
        elif method == "initialize":
            self._handshake(message, request_id, send)
        elif method == "ping":
            if self._stateless or envelope_of(params) is not None:
                self._enter_era(params)
                raise RpcError(
                    METHOD_NOT_FOUND, "Method not found: protocol 2026-07-28 has no ping", method
                )
            send(encode_result(request_id, b"{}"))
        elif self._core.registry.is_bare(method):
            started = self._core.start_bare(self._request, method, params)
            self._settle(started, request_id, send, encode_bare)
        elif method == "shutdown":
            self._stopping = True
            self.calls.start(self._shut_down(request_id, send), None)
        elif method == "exit":
            send(encode_result(request_id, b"null"))
            self._on_exit()
        elif method in SDK_METHODS:
            self._answer_feature(message, request_id, send)
        else:
            self._core.registry.bare(method)  # raises, and names the nearest method

    def _call_tool(self, message: Message, request_id: RequestId, send: Send) -> None:
        """Run a call; only a tool that asks the client back needs a session of the SDK."""
        params = message.params
        self._enter_era(params)
        tool = self._core.find_tool(params)
        if tool is not None and tool.interactive:
            self._forward(message, send)
            return
        channel = ProgressChannel(self._send, params)
        started = self._core.start_call(self._request, params, tool, channel)
        self._settle(started, request_id, send, self._encode_call)

    def _handshake(self, message: Message, request_id: RequestId, send: Send) -> None:
        params = message.params
        requested = params.get("protocolVersion") if isinstance(params, dict) else None
        if self._stateless:
            data: JsonObject = {"supported": [STATELESS_VERSION]}
            if isinstance(requested, str):
                data["requested"] = requested
            raise RpcError(
                UNSUPPORTED_VERSION,
                "This connection is stateless: each request carries its version; do not send "
                "initialize.",
                data,
            )
        self._version, payload = self._core.initialize(params)
        self._initialize = name_client(message.raw)
        send(encode_result(request_id, payload))
        self._observer.event(
            "handshake:initialize", {"requested": requested, "negotiated": self._version}
        )

    def _answer_feature(self, message: Message, request_id: RequestId, send: Send) -> None:
        """Answer a method beside tools: the core where it can, else a session of the SDK."""
        product, method = self._core.product, message.method or ""
        is_early = (
            self._version is None and not self._stateless and envelope_of(message.params) is None
        )
        if is_early and (not product.has_more_than_tools or method in STATELESS_METHODS):
            raise RpcError(METHOD_NOT_FOUND, "Method not found", method)
        self._enter_era(message.params)
        if product.features is not None:
            self._forward(message, send)
        elif method == "server/discover" and self._stateless:
            send(encode_result(request_id, self._core.discover()))
        elif product.offering is not None and method in OFFERED:
            answer = answer_offered(
                self._core, self._request, method, message.params, stateless=self._stateless
            )
            self._answer_later(answer, request_id, send, bytes)
        elif product.offering is not None and method in SUBSCRIPTIONS:
            self._forward(message, send)
        else:
            raise RpcError(METHOD_NOT_FOUND, "Method not found", method)

    def _enter_era(self, params: Json) -> None:
        """Check that a request fits the connection: its handshake, or an envelope of its own."""
        envelope = envelope_of(params)
        if self._version is not None:
            if envelope is not None:
                raise RpcError(
                    INVALID_REQUEST,
                    "This connection made the handshake; requests with a stateless envelope need "
                    "their own.",
                )
            return
        if envelope is None:
            raise RpcError(INVALID_PARAMS, "Invalid request: send initialize first.", "")
        check_envelope(envelope)
        if not self._stateless:
            self._stateless = True
            self._observer.event("handshake:stateless", {"version": STATELESS_VERSION})

    def _settle(
        self,
        started: Started,
        request_id: RequestId,
        send: Send,
        encode: Callable[[Outcome], bytes | list[bytes]],
    ) -> None:
        """Send the answer of a call, now or when it is done."""
        if isinstance(started, Outcome):
            send(encode_result(request_id, encode(started)))
            return
        self._answer_later(started, request_id, send, encode)

    def _answer_later(
        self,
        work: Coroutine[Any, Any, T],
        request_id: RequestId,
        send: Send,
        encode: Callable[[T], bytes | list[bytes]],
    ) -> None:
        task = self.calls.start(_answer(work, request_id, send, encode), request_id)
        if isinstance(send, BatchAnswers):
            task.add_done_callback(lambda done: send.drop_cancelled() if done.cancelled() else None)

    def _encode_call(self, outcome: Outcome) -> list[bytes]:
        return self._core.encode_call(outcome, self._stateless)

    async def _shut_down(self, request_id: RequestId, send: Send) -> None:
        await self.calls.wait_for_others()
        if self._sdk is not None:
            await self._sdk.wait_for_answers(SHUTDOWN_SECONDS)
        send(encode_result(request_id, b"null"))

    def _forward(self, message: Message, send: Send | None = None) -> None:
        """Hand a message to the SDK; its session begins with the first request."""
        if isinstance(message.id, float) and message.is_request:
            raise RpcError(
                INVALID_REQUEST, 'Invalid Request: "id" must be a string or an integer here'
            )
        if self._sdk is not None and self._sdk.ended:
            # it failed, and its requests are answered; the next one gets a new session
            self._sdk = None
        if self._sdk is None:
            if not message.is_request:
                return
            from commonplace.edge.sdk.peer import SdkPeer

            self._sdk = SdkPeer(
                self._core, self._request, self._send, self._initialize, self.calls.update_room
            )
        self._sdk.feed(message, send)
        self.calls.update_room()


async def _answer(
    work: Coroutine[Any, Any, T],
    request_id: RequestId,
    send: Send,
    encode: Callable[[T], bytes | list[bytes]],
) -> None:
    try:
        send(encode_result(request_id, encode(await work)))
    except RpcError as error:
        send(encode_error(request_id, error))
    except Exception:  # above all an output that cannot be encoded; the client gets an answer
        log.exception("request %s failed", request_id)
        send(encode_error(request_id, DEFECT))
