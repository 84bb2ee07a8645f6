"""Lines of a byte stream: short ones whole, long ones in parts as they arrive."""

from __future__ import annotations

TYPE_CHECKING = False  # importing it costs a megabyte
if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD_BYTES = 8 * 1024
TAIL_BYTES = 1024

WHOLE, PART, LAST_PART = "whole", "part", "last part"


class LineSplitter:
    """Cuts bytes into lines; a line above `limit` bytes is not kept.

    `head` and `tail` are the ends of the long line that was passed on last.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self.is_inside_long_line = False
        self.head = self.tail = b""

    def feed(self, data: bytes) -> Iterator[tuple[str, bytes]]:
        """Yield pieces with their kind; whole lines and last parts end with a newline."""
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            yield self._end_line(data[start : end + 1])
            start = end + 1
        if start == len(data):
            return
        rest = data[start:]
        if self.is_inside_long_line:
            self._keep_tail(rest)
            yield PART, rest
            return
        self._buffer += rest
        if len(self._buffer) > self._limit:
            self.is_inside_long_line = True
            yield PART, self._take_long()

    def finish(self) -> Iterator[tuple[str, bytes]]:
        """Yield a last line without a newline."""
        if self._buffer or self.is_inside_long_line:
            yield self._end_line(b"")

    def _end_line(self, part: bytes) -> tuple[str, bytes]:
        if self.is_inside_long_line:
            self.is_inside_long_line = False
            self._keep_tail(part)
            return LAST_PART, part
        self._buffer += part
        if len(self._buffer) > self._limit:
            return LAST_PART, self._take_long()
        line = bytes(self._buffer)
        self._buffer = bytearray()
        return WHOLE, line

    def _take_long(self) -> bytes:
        begun = bytes(self._buffer)
        self._buffer = bytearray()
        self.head, self.tail = begun[:HEAD_BYTES], b""
        self._keep_tail(begun)
        return begun

    def _keep_tail(self, part: bytes) -> None:
        self.tail = (self.tail + part[-TAIL_BYTES:])[-TAIL_BYTES:]
