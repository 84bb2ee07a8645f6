"""Messages while they arrive: bounded in size, in structure, and in bytes that wait undecoded.

Small messages are decoded at once. Larger ones are scanned while they arrive, refused as early as
possible, and decoded in a thread of their own, so that other clients do not wait for them.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import orjson

from commonplace.dispatch.error_table import PARSE_ERROR, RESOURCE_LIMIT
from commonplace.edge.jsonrpc import InvalidMessage, RequestId, RpcError, decode, rpc_error
from commonplace.edge.message_address import PEEK_BYTES, address_of, peek
from commonplace.kernel.errors import SERVER_BUSY, CommonplaceError
from commonplace.kernel.json.slices import decode_string, fill, without_strings
from commonplace.kernel.json.structure import StructureError, StructureScan
from commonplace.kernel.json_types import Json

SMALL_BYTES = 64 * 1024  # decoded at once, without a scan
OTHER_METHODS_BYTES = 1024 * 1024  # what no tool takes: handshakes, listings, notifications


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What a method or tool accepts: a size, and whether long texts may come as UTF-8 bytes."""

    most_bytes: int
    takes_bytes: bool = False
    name: str = "This server"


Accepts = Callable[[str | None, str | None], Acceptance]
"""The limits of a method and, with tools/call, a tool. Both are None while they are unknown."""


@dataclass(slots=True)
class UndecodedBytes:
    """A budget for bytes that wait to be decoded: in all, and for each caller."""

    most: int
    most_per_caller: int
    total: int = 0
    by_caller: Counter[str] = field(default_factory=Counter)

    def take(self, caller: str, size: int) -> None:
        """Count bytes. Raises MessageRefused where the budget is used up."""
        if self.total + size > self.most or self.by_caller[caller] + size > self.most_per_caller:
            self.by_caller += Counter()  # drop callers without bytes
            raise MessageRefused(rpc_error(_busy()))
        self.total += size
        self.by_caller[caller] += size

    def give_back(self, caller: str, size: int) -> None:
        self.total -= size
        self.by_caller[caller] -= size
        if self.by_caller[caller] <= 0:
            del self.by_caller[caller]


class MessageRefused(Exception):
    """A message that is refused undecoded. `request_id` is set where it could be read."""

    def __init__(self, error: RpcError, request_id: RequestId | None = None) -> None:
        super().__init__(error.message)
        self.error = error
        self.request_id = request_id


class IncomingMessage:
    """A message while it arrives. `close` gives its bytes back to the budget."""

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
        """Take the next bytes. Raises MessageRefused as soon as the message is known to be bad."""
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

    @property
    def raw(self) -> bytes:
        """The whole text, joined at first use."""
        if len(self._chunks) != 1:
            self._chunks = [b"".join(self._chunks)]
        return self._chunks[0]

    def decode_small(self) -> Json:
        """Return the value of a message that is not large. Raises InvalidMessage."""
        return decode(self.raw)

    async def decode(self, pool: ThreadPoolExecutor) -> Json:
        """Return the value of a message of any size. Raises InvalidMessage and MessageRefused."""
        if self._scan is None:
            return self.decode_small()
        return await asyncio.get_running_loop().run_in_executor(
            pool, self._decode_large, self._scan
        )

    def drop(self) -> None:
        """Release the text and its bytes in the budget."""
        self._chunks = [b""]
        self.close()

    def close(self) -> None:
        if self._taken:
            self._budget.give_back(self._caller, self._taken)
            self._taken = 0

    def _decode_large(self, scan: StructureScan) -> Json:
        raw = self.raw
        skeleton, named = without_strings(raw, scan.long_strings)
        if len(skeleton) <= SMALL_BYTES:
            value = decode(skeleton)
        else:
            try:
                value = orjson.loads(skeleton)
            except orjson.JSONDecodeError as wrong:
                raise InvalidMessage.unreadable(str(wrong)[:200]) from None
        address = address_of(value)
        accepted = self._accepts(address.method, address.tool)
        self._request_id = address.request_id
        if self.size > accepted.most_bytes:
            raise self._too_large(accepted)
        if not named:
            return value
        texts: dict[str, str | bytes] = {}
        for label, place in named.items():
            try:
                text = decode_string(raw, *place, as_bytes=accepted.takes_bytes)
            except orjson.JSONDecodeError as wrong:
                raise InvalidMessage.unreadable(str(wrong)[:200], address.request_id) from None
            texts[label] = text
        return fill(value, texts)

    def _peek(self) -> None:
        self._peeked = True
        address = peek(b"".join(self._chunks)[:PEEK_BYTES])
        self._request_id = address.request_id
        if address.method is not None and (
            address.method != "tools/call" or address.tool is not None
        ):
            self._limit = self._accepts(address.method, address.tool)

    def _count(self, chunk: bytes) -> None:
        try:
            if self._scan is None:
                self._scan = StructureScan()
                for earlier in self._chunks[:-1]:
                    self._scan.feed(earlier)
            for start in range(0, len(chunk), SMALL_BYTES):
                self._scan.feed(chunk[start : start + SMALL_BYTES])
        except StructureError as error:
            if error.limit == "levels":  # too deep for any decoder, so it counts as no JSON
                raise MessageRefused(
                    RpcError(PARSE_ERROR, "Parse error", {"message": str(error)})
                ) from None
            data = {"limit": error.limit, "most": error.most}
            message = (
                f"The message is too complex: {error}. Send large documents as one string, "
                f"or in parts."
            )
            raise MessageRefused(
                RpcError(RESOURCE_LIMIT, message, data), self._request_id
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
