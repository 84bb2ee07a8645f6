"""Frames between a process and its worker: a length, then so many bytes."""

from __future__ import annotations

import struct
from collections.abc import Callable

FRAME = struct.Struct(">I")
MAX_ANSWER_BYTES = 64_000_000


def frame(body: bytes) -> bytes:
    return FRAME.pack(len(body)) + body


def read_exactly(read: Callable[[int], bytes], size: int) -> bytes | None:
    """Return `size` bytes, or None at the end of the stream."""
    parts = []
    while size:
        part = read(size)
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
