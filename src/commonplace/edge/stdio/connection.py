"""One client on one duplex byte stream: framing, the in-flight table, cancellation, and who
answers which method.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from commonplace.dispatch.error_table import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    RESOURCE_LIMIT,
)
from commonplace.dispatch.pipeline import Outcome
from commonplace.dispatch.tool import ClientChannel
from commonplace.edge.core import (
    BATCH_VERSION,
    STATELESS_VERSION,
    UNSUPPORTED_VERSION,
    VERSION_KEY,
    Core,
    with_client,
)
from commonplace.edge.intake import SMALL_BYTES, Incoming, Refused
from commonplace.edge.jsonrpc import (
    InvalidMessage,
    Message,
    RequestId,
    RpcError,
    decode,
    encode_error,
    encode_notification,
    encode_result,
    message,
    rpc_error,
)
from commonplace.kernel.errors import NOT_AVAILABLE, SHUTTING_DOWN, CommonplaceError

if TYPE_CHECKING:
    from commonplace.edge.sdk.server import SdkPeer

log = logging.getLogger("commonplace.edge")

STATELESS_METHODS = frozenset(
    {"server/discover", "subscriptions/listen"}
)  # no method of a handshake's client
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
"""What the SDK's server answers besides our own methods; a test holds this against the SDK
itself.
"""
MAX_BATCH = 1000
WATCHED_FRAMES = 8
SHUTDOWN_SECONDS = 60.0


class Connection:
    """Feed it bytes; it sends whole lines.

    It never raises on input: every request and every malformed line gets an answer.
    """

    def __init__(
        self, core: Core, send: Callable[[bytes], None], on_exit: Callable[[], None]
    ) -> None:
        self._core = core
        self._send = send
        self._on_exit = on_exit
        self._observer = core.product.observer
        self._frames_watched = WATCHED_FRAMES if self._observer.watches_frames else 0
        self._auth = core.product.stdio_auth()
        self._incoming: Incoming | None = None  # a line of which more is to come
        self._waiting: Incoming | None = None  # a large line that is to be decoded
        self._rest = bytearray()  # what came after it
        self._discarding = False
        self._version: str | None = None
        self._stateless = False
        self._initialize: dict[str, Any] | None = None
        self._in_flight: dict[RequestId, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopping = False
        self._sdk: SdkPeer | None = None
        self._room = asyncio.Event()
        self._room.set()

    @property
    def crowded(self) -> bool:
        """Whether reading should pause: too many calls are under way."""
        return (
            len(self._tasks) + (self._sdk.pending if self._sdk is not None else 0)
            >= self._core.product.max_in_flight
        )

    async def room(self) -> None:
        await self._room.wait()

    @property
    def decodes(self) -> bool:
        """Whether a large line waits for `decode_waiting`; meanwhile `feed` only keeps what
        comes after it.
        """
        return self._waiting is not None

    def feed(self, data: bytes) -> None:
        """Take bytes, answer every complete line up to the first large one."""
        if self._waiting is not None:
            self._rest += data
            return
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            if self._incoming is None and not self._discarding and end - start <= SMALL_BYTES:
                self._line(data[start:end])
            else:
                self._take(data[start:end])
                self._end_line()
            start = end + 1
            if self._waiting is not None:
                break
        if self._waiting is not None:
            self._rest += data[start:]
        elif start < len(data):
            self._take(data[start:] if start else data)

    def finish_input(self) -> None:
        """The input ended: a last line without a newline still counts."""
        if self._incoming is not None:
            self._end_line()

    async def decode_waiting(self) -> None:
        """Decode the large line that waits, off the event loop, then go on with what came after
        it.
        """
        while (incoming := self._waiting) is not None:
            try:
                value = await incoming.decode(self._core.decoders)
                incoming.drop()
                self._value(value)
            except InvalidMessage as invalid:
                self._malformed(invalid)
            except Refused as refused:
                self._send(encode_error(refused.request_id, refused.error))
            finally:
                incoming.drop()
                self._waiting = None
            rest, self._rest = bytes(self._rest), bytearray()
            self.feed(rest)

    def _take(self, part: bytes) -> None:
        """Add to the line that arrives. The rest of a line that was refused is dropped."""
        if self._discarding:
            return
        if self._incoming is None:
            self._incoming = self._core.incoming("stdio")
        try:
            for begin in range(0, len(part), SMALL_BYTES):
                self._incoming.add(
                    part[begin : begin + SMALL_BYTES] if len(part) > SMALL_BYTES else part
                )
        except Refused as refused:
            self._discarding = True
            self._incoming.close()
            self._incoming = None
            self._send(encode_error(refused.request_id, refused.error))

    def _end_line(self) -> None:
        incoming, self._incoming = self._incoming, None
        if self._discarding:
            self._discarding = False
        elif incoming is not None and incoming.is_large:
            self._waiting = incoming
        elif incoming is not None:
            self._line(incoming.raw)

    async def drain(self, grace_seconds: float) -> None:
        """Let calls under way finish, then cancel what is left and close the SDK."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace_seconds)
        for task in tuple(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=1.0)
        if self._sdk is not None:
            await self._sdk.close(grace_seconds)

    def _line(self, line: bytes) -> None:
        if not line or line.isspace():
            return
        if self._frames_watched:
            self._frames_watched -= 1
            self._observer.event(
                "init:frame",
                {
                    "bytes": len(line),
                    "buffered": len(self._rest),
                    "begins": line[:1].decode("latin-1"),
                },
            )
        try:
            self._value(decode(line))
        except InvalidMessage as invalid:
            self._malformed(invalid)

    def _value(self, value: Any) -> None:
        if isinstance(value, list):
            self._batch(value)
        else:
            self._message(message(value), self._send)

    def _malformed(self, invalid: InvalidMessage) -> None:
        self._observer.count("malformed")
        self._send(encode_error(invalid.request_id, invalid.error))

    def _batch(self, values: list[Any]) -> None:
        """JSON-RPC batches existed in one protocol version only; elsewhere an array is an
        invalid request.
        """
        if self._version != BATCH_VERSION:
            raise InvalidMessage(
                RpcError(
                    INVALID_REQUEST,
                    f"Invalid Request: batches exist in protocol {BATCH_VERSION} only",
                )
            )
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
        answers = _Batch(self._send)
        for value in values:
            try:
                one = message(value)
                if one.method == "initialize":
                    raise InvalidMessage(
                        RpcError(INVALID_REQUEST, "Invalid Request: initialize cannot be batched"),
                        one.id,
                    )
                if one.is_request:
                    answers.expected += 1
                self._message(one, answers)
            except InvalidMessage as invalid:
                answers.expected += 1
                answers(encode_error(invalid.request_id, invalid.error))
        answers.close()

    def _message(self, one: Message, send: Callable[[bytes], None]) -> None:
        if one.method is None:
            self._forward(one)
        elif one.id is None:
            self._notification(one)
        elif self._stopping and one.method != "exit":
            refused = CommonplaceError(
                SHUTTING_DOWN,
                "The server is shutting down.",
                hint="Send exit, or start a new server.",
            )
            send(encode_error(one.id, rpc_error(refused)))
        else:
            try:
                self._request(one, one.id, send)
            except RpcError as error:
                send(encode_error(one.id, error))
            except CommonplaceError as error:
                send(encode_error(one.id, rpc_error(error)))
            except Exception:
                log.exception("request %s failed", (one.method or "")[:128])
                send(encode_error(one.id, _failed()))

    def _request(self, one: Message, request_id: RequestId, send: Callable[[bytes], None]) -> None:
        method, params = one.method, one.params
        assert method is not None
        if method == "tools/call":
            self._enter_era(params)
            if self._core.needs_channel(params) and self._interactive(params):
                self._forward(one, send)
                return
            channel = _Channel(self._send, params)
            self._settle(
                self._core.start_call(params, self._auth, channel),
                request_id,
                send,
                self._core_call,
            )
        elif method == "tools/list":
            self._enter_era(params)
            send(
                encode_result(
                    request_id,
                    self._core.list_tools(params, self._core.product.selection, self._stateless),
                )
            )
        elif method == "initialize":
            self._handshake(one, request_id, send)
        elif method == "ping":
            if self._stateless or _envelope(params) is not None:
                self._enter_era(params)
                raise RpcError(
                    METHOD_NOT_FOUND, "Method not found: protocol 2026-07-28 has no ping", method
                )
            send(encode_result(request_id, b"{}"))
        elif self._core.registry.is_bare(method):
            self._settle(
                self._core.start_bare(method, params, self._auth),
                request_id,
                send,
                self._core.encode_bare,
            )
        elif method == "shutdown":
            self._stopping = True
            self._own(self._shutdown(request_id, send), None)
        elif method == "exit":
            send(encode_result(request_id, b"null"))
            self._on_exit()
        elif method in SDK_METHODS:
            self._feature(one, request_id, send)
        else:
            self._core.registry.bare(method)  # raises, and names the nearest method

    def _handshake(
        self, one: Message, request_id: RequestId, send: Callable[[bytes], None]
    ) -> None:
        params = one.params
        requested = params.get("protocolVersion") if isinstance(params, dict) else None
        if self._stateless:
            unsupported: dict[str, Any] = {"supported": [STATELESS_VERSION]}
            if isinstance(requested, str):
                unsupported["requested"] = requested
            raise RpcError(
                UNSUPPORTED_VERSION,
                "This connection is stateless: requests carry their version, nobody says "
                "initialize",
                unsupported,
            )
        self._version, payload = self._core.initialize(params)
        self._initialize = with_client(one.raw)
        send(encode_result(request_id, payload))
        self._observer.event(
            "handshake:initialize", {"requested": requested, "negotiated": self._version}
        )

    def _feature(self, one: Message, request_id: RequestId, send: Callable[[bytes], None]) -> None:
        """What the SDK serves.

        Its session begins in the right era or not at all, and a product without features needs
        none.
        """
        early = self._version is None and _envelope(one.params) is None and not self._stateless
        plain = self._core.product.features is None
        discovery = one.method == "server/discover"
        if early and (plain or one.method in STATELESS_METHODS):
            raise RpcError(METHOD_NOT_FOUND, "Method not found", one.method)
        self._enter_era(one.params)
        if not plain:
            self._forward(one, send)
        elif discovery and self._stateless:
            send(encode_result(request_id, self._core.discover()))
        else:
            raise RpcError(METHOD_NOT_FOUND, "Method not found", one.method)

    def _core_call(self, outcome: Outcome) -> list[bytes]:
        return self._core.encode_call(outcome, self._stateless)

    def _interactive(self, params: dict[str, Any]) -> bool:
        """Progress we can send ourselves on a duplex stream; only asking the client back needs
        the SDK's session.
        """
        try:
            return self._core.registry.tool(params["name"]).interactive
        except (CommonplaceError, KeyError, TypeError):
            return False

    def _enter_era(self, params: Any) -> None:
        """A stateless request carries its version; a handshake connection has one.

        Anything else is too early.
        """
        envelope = _envelope(params)
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
        self._core.check_envelope(envelope)
        if not self._stateless:
            self._stateless = True
            self._observer.event("handshake:stateless", {"version": STATELESS_VERSION})

    def _settle(
        self,
        started: Outcome | Coroutine[Any, Any, Outcome],
        request_id: RequestId,
        send: Callable[[bytes], None],
        encode: Callable[[Outcome], bytes | list[bytes]],
    ) -> None:
        if isinstance(started, Outcome):
            send(encode_result(request_id, encode(started)))
        else:
            task = self._own(_answer(started, request_id, send, encode), request_id)
            if isinstance(send, _Batch):
                task.add_done_callback(lambda done: send.cancelled() if done.cancelled() else None)

    def _own(
        self, work: Coroutine[Any, Any, None], request_id: RequestId | None
    ) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        if request_id is not None:
            self._in_flight[request_id] = task
        self._watch_room()

        def forget(done: asyncio.Task[None]) -> None:
            self._tasks.discard(done)
            if request_id is not None and self._in_flight.get(request_id) is done:
                del self._in_flight[request_id]
            self._make_room()

        task.add_done_callback(forget)
        return task

    def _watch_room(self) -> None:
        if self.crowded:
            self._room.clear()

    def _make_room(self) -> None:
        if not self.crowded:
            self._room.set()

    def _notification(self, one: Message) -> None:
        if one.method == "exit":
            self._on_exit()
        elif one.method == "notifications/cancelled":
            wanted = one.params.get("requestId") if isinstance(one.params, dict) else None
            task = self._in_flight.get(wanted) if isinstance(wanted, (str, int, float)) else None
            if task is not None:
                asyncio.get_running_loop().call_soon(
                    task.cancel
                )  # after its first step: a task that never ran cannot clean up
            elif self._sdk is not None:
                self._forward(one)
        else:
            if one.method == "notifications/initialized":
                self._observer.event("handshake:initialized", {"negotiated": self._version})
            if self._sdk is not None:
                self._forward(one)

    async def _shutdown(self, request_id: RequestId, send: Callable[[bytes], None]) -> None:
        others = [task for task in self._tasks if task is not asyncio.current_task()]
        if others:
            await asyncio.wait(others)
        if self._sdk is not None:
            await self._sdk.settled(SHUTDOWN_SECONDS)
        send(encode_result(request_id, b"null"))

    def _forward(self, one: Message, send: Callable[[bytes], None] | None = None) -> None:
        """Hand a message to the SDK.

        Responses and notifications before it exists have nobody to go to.
        """
        if isinstance(one.id, float) and one.is_request:
            raise RpcError(
                INVALID_REQUEST, 'Invalid Request: "id" must be a string or an integer here'
            )
        if self._sdk is not None and self._sdk.ended:
            # its failure is logged and its requests are answered; the next one gets a session that
            # works
            self._sdk = None
        if self._sdk is None:
            if not one.is_request:
                return
            from commonplace.edge.sdk.server import SdkPeer

            self._sdk = SdkPeer(
                self._core, self._auth, self._send, self._initialize, self._make_room
            )
        self._sdk.feed(one, send)
        self._watch_room()


def _envelope(params: Any) -> dict[str, Any] | None:
    """The `_meta` of a request that names its protocol version."""
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta if isinstance(meta, dict) and VERSION_KEY in meta else None


class _Batch:
    """Collects the answers of one batch and sends them as one array."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send
        self._answers: list[bytes] = []
        self._closed = False
        self.expected = 0

    def __call__(self, answer: bytes) -> None:
        self._answers.append(answer)
        self._flush()

    def close(self) -> None:
        self._closed = True
        self._flush()

    def cancelled(self) -> None:
        """A member that its client cancelled owes no answer; the others still do."""
        self.expected -= 1
        self._flush()

    def _flush(self) -> None:
        if self._closed and self._answers and len(self._answers) >= self.expected:
            self._send(b"[" + b",".join(self._answers) + b"]")
            self._answers = []


class _Channel(ClientChannel):
    """Progress of one call on a duplex stream."""

    def __init__(self, send: Callable[[bytes], None], params: Any) -> None:
        self._send = send
        meta = params.get("_meta") if isinstance(params, dict) else None
        self._token = meta.get("progressToken") if isinstance(meta, dict) else None

    async def progress(
        self, done: float, total: float | None = None, message: str | None = None
    ) -> None:
        if self._token is None:
            return
        params: dict[str, Any] = {"progressToken": self._token, "progress": done}
        if total is not None:
            params["total"] = total
        if message is not None:
            params["message"] = message
        self._send(encode_notification("notifications/progress", params))

    async def log(self, level: str, data: Any, logger: str | None = None) -> None:
        return None

    async def request(self, method: str, params: Mapping[str, Any]) -> Any:
        raise CommonplaceError(
            NOT_AVAILABLE,
            f"{method} needs an interactive tool.",
            hint="Declare the tool interactive=True.",
        )


async def _answer(
    work: Coroutine[Any, Any, Outcome],
    request_id: RequestId,
    send: Callable[[bytes], None],
    encode: Callable[[Outcome], bytes | list[bytes]],
) -> None:
    try:
        send(encode_result(request_id, encode(await work)))
    except RpcError as error:
        send(encode_error(request_id, error))
    except (
        Exception
    ):  # an output that cannot be encoded, above all: the request still gets its answer
        log.exception("request %s failed", request_id)
        send(encode_error(request_id, _failed()))


def _failed() -> RpcError:
    return RpcError(
        INTERNAL_ERROR, "Internal error", {"message": "The server failed on this request."}
    )
