"""Taking in messages: how large they may be, how much structure they may have, and how much of
them may wait undecoded.

Small messages are decoded at once. Larger ones are scanned while they arrive, refused as early as
possible, and decoded in a thread of their own, in slices: nobody else waits for them.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import orjson

from commonplace.dispatch.error_table import PARSE_ERROR, RESOURCE_LIMIT
from commonplace.edge.jsonrpc import InvalidMessage, RequestId, RpcError, decode, rpc_error
from commonplace.kernel.errors import SERVER_BUSY, CommonplaceError
from commonplace.kernel.json.slices import decode_string, fill, without_strings
from commonplace.kernel.json.structure import StructureError, StructureScan

SMALL_BYTES = 64 * 1024  # decoded at once, without a scan
PEEK_BYTES = 8 * 1024
OTHER_METHODS_BYTES = 1024 * 1024  # what no tool takes: handshakes, listings, notifications

_TOKEN = re.compile(rb'\s*(?:("(?:[^"\\]|\\.)*")|([{}\[\],:])|([^\s"{}\[\],:]+))', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What the receiver of a message takes: its size, and long texts as UTF-8 bytes where that
    saves memory.
    """

    most_bytes: int
    takes_bytes: bool = False
    name: str = "This server"


Accepts = Callable[[str | None, str | None], Acceptance]
"""What a method, and with tools/call a tool, takes. Both are None while they are not known."""


@dataclass(slots=True)
class UndecodedBytes:
    """How many bytes of messages wait to be decoded: in all and for each caller."""

    most: int
    most_per_caller: int
    total: int = 0
    by_caller: Counter[str] = field(default_factory=Counter)

    def take(self, caller: str, size: int) -> None:
        if self.total + size > self.most or self.by_caller[caller] + size > self.most_per_caller:
            self.by_caller += Counter()  # drop callers that have nothing
            raise MessageRefused(rpc_error(_busy()))
        self.total += size
        self.by_caller[caller] += size

    def give(self, caller: str, size: int) -> None:
        self.total -= size
        self.by_caller[caller] -= size
        if self.by_caller[caller] <= 0:
            del self.by_caller[caller]


class MessageRefused(Exception):
    """A message that is not taken in. `request_id` is given where it was read."""

    def __init__(self, error: RpcError, request_id: RequestId | None = None) -> None:
        super().__init__(error.message)
        self.error = error
        self.request_id = request_id


class IncomingMessage:
    """One message while it arrives. `close` gives its bytes back to the budget."""

    __slots__ = (
        "_accepts",
        "_budget",
        "_caller",
        "_chunks",
        "_limit",
        "_peeked",
        "_request_id",
        "_scan",
        "_taken",
        "size",
    )

    def __init__(self, accepts: Accepts, budget: UndecodedBytes, caller: str) -> None:
        self._accepts = accepts
        self._budget = budget
        self._caller = caller
        self._chunks: list[bytes] = []
        self._scan: StructureScan | None = None
        self._limit = accepts(None, None)
        self._peeked = False
        self._request_id: RequestId | None = None
        self._taken = 0
        self.size = 0

    @property
    def is_large(self) -> bool:
        return self._scan is not None

    def add(self, chunk: bytes) -> None:
        """Take the next bytes.

        Raises MessageRefused as soon as it is clear that the message cannot be served.
        """
        if not chunk:
            return
        self._chunks.append(chunk)
        self.size += len(chunk)
        if self.size <= SMALL_BYTES:
            return
        if not self._peeked:
            self._peek()
        if self.size > self._limit.most_bytes:
            raise self._too_large(self._limit)
        self._budget.take(self._caller, self.size - self._taken)
        self._taken = self.size
        self._count(chunk)

    def decode_small(self) -> Any:
        """The value of a message that is not large."""
        return decode(self.raw)

    @property
    def raw(self) -> bytes:
        """The whole text. It is joined once."""
        if len(self._chunks) != 1:
            self._chunks = [b"".join(self._chunks)]
        return self._chunks[0]

    async def decode(self, pool: ThreadPoolExecutor) -> Any:
        """The value of a message of any size. Raises InvalidMessage and MessageRefused."""
        if self._scan is None:
            return self.decode_small()
        return await asyncio.get_running_loop().run_in_executor(
            pool, self._decode_large, self._scan
        )

    def drop(self) -> None:
        """Forget the text; what was decoded from it stays."""
        self._chunks = [b""]
        self.close()

    def close(self) -> None:
        if self._taken:
            self._budget.give(self._caller, self._taken)
            self._taken = 0

    def _decode_large(self, scan: StructureScan) -> Any:
        raw = self.raw
        skeleton, named = without_strings(raw, scan.long_strings)
        if len(skeleton) <= SMALL_BYTES:
            value = decode(skeleton)
        else:
            try:
                value = orjson.loads(skeleton)
            except orjson.JSONDecodeError as wrong:
                raise InvalidMessage.unreadable(str(wrong)[:200]) from None
        method, name, request_id = _addressed(value)
        accepted = self._accepts(method, name)
        self._request_id = request_id
        if self.size > accepted.most_bytes:
            raise self._too_large(accepted)
        if not named:
            return value
        texts: dict[str, Any] = {}
        for label, place in named.items():
            try:
                text = decode_string(raw, *place, as_bytes=accepted.takes_bytes)
            except orjson.JSONDecodeError as wrong:
                raise InvalidMessage.unreadable(str(wrong)[:200], request_id) from None
            texts[label] = text
        return fill(value, texts)

    def _peek(self) -> None:
        self._peeked = True
        head = b"".join(self._chunks)[:PEEK_BYTES]
        method, name, self._request_id = peek(head)
        if method is not None and (method != "tools/call" or name is not None):
            self._limit = self._accepts(method, name)

    def _count(self, chunk: bytes) -> None:
        try:
            if self._scan is None:
                self._scan = StructureScan()
                for earlier in self._chunks[:-1]:
                    self._scan.feed(earlier)
            for start in range(0, len(chunk), SMALL_BYTES):
                self._scan.feed(chunk[start : start + SMALL_BYTES])
        except StructureError as error:
            if error.limit == "levels":  # no decoder follows it: as with a text that is not JSON
                raise MessageRefused(
                    RpcError(PARSE_ERROR, "Parse error", {"message": str(error)})
                ) from None
            told = {"limit": error.limit, "most": error.most}
            message = (
                f"The message is too complex: {error}. Send large documents as one string, "
                f"or in parts."
            )
            raise MessageRefused(
                RpcError(RESOURCE_LIMIT, message, told), self._request_id
            ) from None

    def _too_large(self, accepted: Acceptance) -> MessageRefused:
        limit = accepted.most_bytes
        if accepted.name == "This server":
            return MessageRefused(too_large(limit), self._request_id)
        message = f"{accepted.name} takes messages of at most {limit} bytes."
        return MessageRefused(
            RpcError(RESOURCE_LIMIT, message, {"limit_bytes": limit}), self._request_id
        )


def _busy() -> CommonplaceError:
    return CommonplaceError(
        SERVER_BUSY,
        "Too many large messages are arriving at once.",
        hint="Wait a second, then send this one again.",
        details={"retry_after_seconds": 1},
        retryable=True,
    )


def too_large(limit: int) -> RpcError:
    return RpcError(
        RESOURCE_LIMIT, f"The message is larger than {limit} bytes.", {"limit_bytes": limit}
    )


def peek(head: bytes) -> tuple[str | None, str | None, RequestId | None]:
    """Method, tool name and id of a message, as far as its first bytes tell them."""
    found: dict[tuple[str, ...], Any] = {}
    path: list[str | None] = []  # the key under which each open object stands; None for arrays
    key: str | None = None
    expects_key = False
    position = 0
    while (token := _TOKEN.match(head, position)) is not None:
        position = token.end()
        text, mark, scalar = token.groups()
        if mark in (b"{", b"["):
            path.append(key if mark == b"{" else None)
            expects_key, key = mark == b"{", None
        elif mark in (b"}", b"]"):
            if not path:
                break
            path.pop()
            key = None
        elif mark == b",":
            expects_key, key = True, None
        elif text is not None and expects_key and len(path) <= 2:
            key, expects_key = _text(text), False
        elif (
            text is not None or (scalar is not None and position < len(head))
        ) and key is not None:
            if len(path) == 1:
                found[(key,)] = _text(text if text is not None else scalar)
            elif len(path) == 2 and path[1] == "params":
                found[("params", key)] = _text(text if text is not None else scalar)
    method, name, request_id = (
        found.get(("method",)),
        found.get(("params", "name")),
        found.get(("id",)),
    )
    return (
        method if isinstance(method, str) else None,
        name if isinstance(name, str) else None,
        request_id
        if isinstance(request_id, (str, int)) and not isinstance(request_id, bool)
        else None,
    )


def _text(raw: bytes) -> Any:
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None


def _addressed(value: Any) -> tuple[str | None, str | None, RequestId | None]:
    """Method, tool and id of a decoded message; the method is empty where it has none, so that
    it counts as small.
    """
    if not isinstance(value, dict):
        return (None, None, None) if isinstance(value, list) else ("", None, None)
    method, params, request_id = value.get("method"), value.get("params"), value.get("id")
    name = params.get("name") if isinstance(params, dict) else None
    readable = (
        request_id
        if isinstance(request_id, (str, int, float)) and not isinstance(request_id, bool)
        else None
    )
    return (
        (method if isinstance(method, str) else ""),
        (name if isinstance(name, str) else None),
        readable,
    )
