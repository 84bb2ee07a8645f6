"""Lines of a byte stream: small ones at once, large ones decoded off the event loop."""

from __future__ import annotations

from typing import Protocol

from commonplace.edge.core import Core
from commonplace.edge.intake import SMALL_BYTES, IncomingMessage, MessageRefused
from commonplace.edge.jsonrpc import InvalidMessage
from commonplace.kernel.json_types import Json


class LineReceiver(Protocol):
    """Takes lines, and never raises."""

    def receive_line(self, line: bytes) -> None: ...

    def receive_value(self, value: Json) -> None:
        """Take the decoded value of a large line."""
        ...

    def refuse(self, error: InvalidMessage | MessageRefused) -> None:
        """Answer a line that could not be decoded."""
        ...


class LineReader:
    """Feed it bytes; its receiver gets every complete line, in order.

    The undecoded bytes of large lines are counted under `quota_name`.
    """

    def __init__(self, core: Core, receiver: LineReceiver, quota_name: str = "stdio") -> None:
        self._core = core
        self._quota_name = quota_name
        self._receiver = receiver
        self._incoming: IncomingMessage | None = None  # a line of which more is to come
        self._waiting: IncomingMessage | None = None  # a large line that is to be decoded
        self._rest = bytearray()  # what came after it
        self._discarding = False

    @property
    def is_waiting(self) -> bool:
        """Whether a large line waits for `decode_waiting`; until then `feed` only keeps bytes."""
        return self._waiting is not None

    def feed(self, data: bytes) -> None:
        """Take bytes, and pass on every complete line up to the first large one."""
        if self._waiting is not None:
            self._rest += data
            return
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            if self._incoming is None and not self._discarding and end - start <= SMALL_BYTES:
                self._receiver.receive_line(data[start:end])
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

    def finish(self) -> None:
        """End the input: a last line without a newline still counts."""
        if self._incoming is not None:
            self._end_line()

    async def decode_waiting(self) -> None:
        """Decode the large line that waits, then go on with what came after it."""
        while (incoming := self._waiting) is not None:
            try:
                value = await incoming.decode(self._core.decoders)
                incoming.drop()
                self._receiver.receive_value(value)
            except (InvalidMessage, MessageRefused) as error:
                self._receiver.refuse(error)
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
            self._incoming = self._core.begin_message(self._quota_name)
        try:
            for begin in range(0, len(part), SMALL_BYTES):
                self._incoming.add(
                    part[begin : begin + SMALL_BYTES] if len(part) > SMALL_BYTES else part
                )
        except MessageRefused as refused:
            self._discarding = True
            self._incoming.close()
            self._incoming = None
            self._receiver.refuse(refused)

    def _end_line(self) -> None:
        incoming, self._incoming = self._incoming, None
        if self._discarding:
            self._discarding = False
        elif incoming is not None and incoming.is_large:
            self._waiting = incoming
        elif incoming is not None:
            self._receiver.receive_line(incoming.raw)
