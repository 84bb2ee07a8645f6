"""What a relay remembers of a client's conversation, to continue it with another server.

The handshake, subscriptions and the log level are repeated to a new server. Requests without an
answer are repeated if that is safe; the client gets an error for the others.
"""

from __future__ import annotations

import json
import re

TYPE_CHECKING = False  # importing it costs a megabyte
if TYPE_CHECKING:
    from collections.abc import Iterator

    from commonplace.kernel.json_types import Json, JsonObject

KEPT_BYTES = 64 * 1024  # of a line; longer ones are passed on in parts and cannot be repeated
MOST_KEPT_BYTES = 4 * 1024 * 1024  # of all lines that could be repeated
MOST_REQUESTS = 4_096
MOST_SUBSCRIPTIONS = 1_000
RESUME_PREFIX = "commonplace-resume-"
GENERATION_PREFIX = "commonplace-server-"
ERROR = "SERVER_RESTARTED"
ERROR_CODE = -32005
STOPPING = "commonplace/stopping"  # notification of a server that ends on purpose
MESSAGE = "The local server ended before it answered; whether the call took effect is not known."
HINT = "A new server is running. Read the state, then try again."

_PAIR = re.compile(
    rb'\s*"(jsonrpc|id|method)"\s*:\s*("(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*|null)\s*(,|\})'
)
_LAST_ID = re.compile(
    rb'[,{]\s*"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?[0-9]+)\s*'
    rb'(?:,\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*)*\}\s*\Z'
)


class PendingRequest:
    """A request without an answer; `line` is None if it is too long to be repeated."""

    __slots__ = ("batch", "id", "line", "method", "name", "repeated")

    def __init__(self, request_id: Json, method: str, name: str, line: bytes | None) -> None:
        self.id = request_id
        self.method = method
        self.name = name
        self.line = line
        self.batch: tuple[str, ...] = ()
        self.repeated = False


def leading_members(head: bytes) -> JsonObject:
    """Return the members `jsonrpc`, `id` and `method` that a message begins with."""
    members: JsonObject = {}
    start = head.find(b"{") + 1
    if not start or head[: start - 1].strip():
        return members
    while (pair := _PAIR.match(head, start)) is not None:
        members[pair[1].decode()] = json.loads(pair[2])
        start = pair.end()
        if pair[3] == b"}":
            break
    return members


class Conversation:
    """The state of one client, seen from the lines of both sides."""

    def __init__(self) -> None:
        self.pending: dict[str, PendingRequest] = {}
        self.is_leaving = False  # the client sent exit
        self.server_stopped = False  # on purpose: a new one is not needed before the next request
        self.generation = 0  # how often the server was replaced
        self._kept_bytes = 0
        self._initialize: bytes | None = None
        self._initialized = False
        self._log_level: bytes | None = None
        self._subscriptions: dict[str, bytes] = {}
        self._resumed = 0

    @property
    def needs_server(self) -> bool:
        """Whether something waits for a server without a further word of the client."""
        return bool(self.pending or (self._subscriptions and not self.server_stopped))

    @property
    def is_stateless(self) -> bool:
        """Whether the client made no handshake."""
        return self._initialize is None

    def take_client_line(self, line: bytes) -> bytes | None:
        """Note a whole line of the client; return what to pass on, or None to drop it."""
        if not line.strip():
            return line
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return line  # the server says what is wrong with it
        if isinstance(message, list):
            self._note_batch(message)
        elif isinstance(message, dict):
            if "method" not in message and "id" in message:
                return self._route_answer(message, line)
            self._note(message, line)
        return line

    def take_long_line(self, head: bytes, tail: bytes) -> str | None:
        """Note the request of a line that was not kept; return its key."""
        members = leading_members(head)
        if "id" not in members and (last := _LAST_ID.search(tail)) is not None:
            members["id"] = json.loads(last[1])
        request_id = members.get("id")
        if request_id is None:
            return None
        method = members.get("method")
        self._add(PendingRequest(request_id, method or "tools/call", "", None))
        return _key(request_id)

    def take_server_line(self, line: bytes) -> bytes | None:
        """Note a whole line of the server; return what to pass on, or None to drop it."""
        if line.lstrip()[:1] == b"[":
            return self._take_batch_answer(line)
        members = leading_members(line[:1024])
        request_id = members.get("id")
        if "method" in members:
            if members["method"] == STOPPING:
                self.server_stopped = True
                return None
            if request_id is not None and self.generation:
                message = json.loads(line)
                message["id"] = f"{GENERATION_PREFIX}{self.generation}:{json.dumps(request_id)}"
                return _encode(message)
            return line
        if isinstance(request_id, str) and request_id.startswith(RESUME_PREFIX):
            return None
        self.note_answer(request_id)
        return line

    def note_answer(self, request_id: Json) -> None:
        """Forget a request that was answered."""
        self._drop(_key(request_id))

    def requests(self) -> list[list[str]]:
        """Return method and tool of each pending request, in order."""
        return [[request.method, request.name] for request in self.pending.values()]

    def resume(self, safe: list[bool]) -> tuple[list[bytes], list[bytes]]:
        """Continue with a new server: return lines for it, and answers for the client.

        `safe` says of each pending request whether it may be repeated.
        """
        self.generation += 1
        self.server_stopped = False
        lines = list(self._handshake())
        answers: list[bytes] = []
        for request, is_safe in zip(tuple(self.pending.values()), safe, strict=False):
            if is_safe and request.line is not None and not request.repeated:
                request.repeated = True
                lines.append(request.line)
            else:
                answers.append(self.fail(request))
        return lines, answers

    def fail(self, request: PendingRequest) -> bytes:
        """Return the error of a request that is not repeated, as a line."""
        self._drop(_key(request.id))
        if request.method != "tools/call":
            data = {"code": ERROR, "retryable": True, "suggestion": HINT}
            error = {"code": ERROR_CODE, "message": MESSAGE, "data": data}
            return _encode({"jsonrpc": "2.0", "id": request.id, "error": error})
        told = {"code": ERROR, "message": MESSAGE, "hint": HINT, "details": {}, "retryable": True}
        text = json.dumps({"error": told}, separators=(",", ":"))
        result: JsonObject = {"content": [{"type": "text", "text": text}], "isError": True}
        if self.is_stateless:
            result["resultType"] = "complete"
        return _encode({"jsonrpc": "2.0", "id": request.id, "result": result})

    def _handshake(self) -> Iterator[bytes]:
        """Yield the lines that bring a new server to the state of the old one."""
        if self._initialize is not None and not self._is_pending(self._initialize):
            yield self._renumber(self._initialize)
            if self._initialized:
                yield b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
        for line in (self._log_level, *self._subscriptions.values()):
            if line is not None and not self._is_pending(line):
                yield self._renumber(line)

    def _is_pending(self, line: bytes) -> bool:
        return any(request.line == line for request in self.pending.values())

    def _renumber(self, line: bytes) -> bytes:
        message = json.loads(line)
        self._resumed += 1
        message["id"] = f"{RESUME_PREFIX}{self._resumed}"
        return _encode(message)

    def _note(self, message: JsonObject, line: bytes) -> None:
        method, params = message.get("method"), message.get("params")
        if not isinstance(method, str):
            return
        params = params if isinstance(params, dict) else {}
        if method == "exit":
            self.is_leaving = True
        elif method == "notifications/cancelled":
            self._drop(_key(params.get("requestId")))
        elif method == "notifications/initialized":
            self._initialized = True
        if message.get("id") is None:
            return
        if method == "initialize":
            self._initialize = line
        elif method == "logging/setLevel":
            self._log_level = line
        elif method in ("resources/subscribe", "resources/unsubscribe"):
            self._note_subscription(method, params.get("uri"), line)
        name = params.get("name")
        name = name if isinstance(name, str) else ""
        self._add(PendingRequest(message["id"], method, name, line))

    def _note_subscription(self, method: str, uri: Json, line: bytes) -> None:
        if not isinstance(uri, str):
            return
        self._subscriptions.pop(uri, None)
        if method == "resources/subscribe" and len(self._subscriptions) < MOST_SUBSCRIPTIONS:
            self._subscriptions[uri] = line

    def _note_batch(self, messages: list[Json]) -> None:
        members = [
            message
            for message in messages
            if isinstance(message, dict) and message.get("id") is not None and "method" in message
        ]
        batch = tuple(_key(message["id"]) for message in members)
        for message in members:
            request = PendingRequest(message["id"], str(message["method"]), "", None)
            request.batch = batch
            self._add(request)

    def _take_batch_answer(self, line: bytes) -> bytes:
        """Forget the requests of a batch: its answers come together."""
        request_id = leading_members(line.lstrip()[1:1024]).get("id")
        request = self.pending.get(_key(request_id))
        for key in request.batch if request is not None else ():
            self._drop(key)
        return line

    def _route_answer(self, message: JsonObject, line: bytes) -> bytes | None:
        """Return an answer of the client with the id that the present server chose."""
        request_id = message["id"]
        if not self.generation:
            return line
        prefix = f"{GENERATION_PREFIX}{self.generation}:"
        if not isinstance(request_id, str) or not request_id.startswith(prefix):
            return None  # it answers a server that has ended
        message["id"] = json.loads(request_id[len(prefix) :])
        return _encode(message)

    def _add(self, request: PendingRequest) -> None:
        self._drop(_key(request.id))
        if len(self.pending) >= MOST_REQUESTS:
            return
        if request.line is not None:
            if self._kept_bytes + len(request.line) > MOST_KEPT_BYTES:
                request.line = None
            else:
                self._kept_bytes += len(request.line)
        self.pending[_key(request.id)] = request

    def _drop(self, key: str) -> None:
        request = self.pending.pop(key, None)
        if request is not None and request.line is not None:
            self._kept_bytes -= len(request.line)


def _key(request_id: Json) -> str:
    """Return a key that tells 1 from "1"."""
    return json.dumps(request_id)


def _encode(message: JsonObject) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"
