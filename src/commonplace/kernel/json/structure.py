"""Limit the structure of JSON text before it is decoded, chunk by chunk as it arrives.

A decoder holds the interpreter lock from the first byte to the last, and `[{},{},...]` takes 25
times its size in memory. The scan uses only `bytes` methods, which run at memory speed, and each
call handles one chunk: other threads never wait longer than that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate

_BRACKETS = b"{}[]"
_NOT_BRACKETS = bytes(set(range(256)) - set(_BRACKETS))
_STEP = [0] * 256
for _opening in b"{[":
    _STEP[_opening] = 1
for _closing in b"}]":
    _STEP[_closing] = -1
LONG_STRING_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class StructureLimits:
    """How much structure a text may have. The length of strings does not count."""

    containers: int = 100_000
    values: int = 500_000
    depth: int = 512


class StructureError(Exception):
    """The text has more structure than allowed. `limit` names the limit, `most` is its value."""

    def __init__(self, limit: str, most: int) -> None:
        super().__init__(
            f"the JSON text has more than {most} {limit}"
            if limit != "levels"
            else f"it nests deeper than {most} levels"
        )
        self.limit = limit
        self.most = most


@dataclass(slots=True)
class StructureScan:
    """The state of a scan between two chunks. Invalid JSON is left to the decoder."""

    limits: StructureLimits = field(default_factory=StructureLimits)
    size: int = 0
    containers: int = 0
    values: int = 0
    depth: int = 0
    # Offsets of the opening and the closing quote.
    long_strings: list[tuple[int, int]] = field(default_factory=list)
    _in_string: bool = False
    _string_start: int = 0
    _escape: bytes = b""  # a backslash at the end of the last chunk that escapes what follows

    def feed(self, chunk: bytes) -> None:
        """Count the structure of the next chunk.

        Raises StructureError as soon as a limit is exceeded.
        """
        escaped_start = bool(self._escape)
        plain = self._without_escapes(chunk)
        if b'"' in plain:
            parts = plain.split(b'"')
            outside = b"".join(parts[1::2] if self._in_string else parts[0::2])
            self._record_strings(chunk, len(parts) - 1, escaped_start)
        else:
            outside = b"" if self._in_string else plain
        self.size += len(chunk)
        if outside:
            self._count(outside)

    def _without_escapes(self, chunk: bytes) -> bytes:
        """Remove `\\\\` and `\\"`, so that every quote that is left opens or closes a string."""
        text = self._escape + chunk if self._escape else chunk
        self._escape = b""
        if b"\\" not in text:
            return text
        plain = text.replace(b"\\\\", b"").replace(b'\\"', b"")
        if plain.endswith(b"\\"):
            self._escape = b"\\"
            return plain[:-1]
        return plain

    def _record_strings(self, chunk: bytes, quotes: int, escaped_start: bool) -> None:
        """Record where long strings begin and end.

        Only the first and the last quote of a chunk can belong to one.
        """
        if self._in_string and self.size - self._string_start >= LONG_STRING_BYTES:
            self.long_strings.append(
                (self._string_start, self.size + _first_quote(chunk, escaped_start))
            )
        if (quotes % 2 == 1) != self._in_string:
            self._in_string = True
            self._string_start = self.size + _last_quote(chunk, escaped_start)
        else:
            self._in_string = False

    def _count(self, outside: bytes) -> None:
        limits = self.limits
        opened = outside.count(b"{") + outside.count(b"[")
        self.containers += opened
        self.values += opened + outside.count(b",")
        if self.containers > limits.containers:
            raise StructureError("objects and arrays", limits.containers)
        if self.values > limits.values:
            raise StructureError("values", limits.values)
        brackets = outside.translate(None, _NOT_BRACKETS)
        if brackets:
            depths = list(accumulate(map(_STEP.__getitem__, brackets), initial=self.depth))
            self.depth = depths[-1]
            if max(depths) > limits.depth:
                raise StructureError("levels", limits.depth)


def _first_quote(chunk: bytes, escaped_start: bool) -> int:
    """Return the offset of the first quote that is not escaped. There must be one."""
    position = chunk.find(b'"')
    while _is_escaped(chunk, position, escaped_start):
        position = chunk.find(b'"', position + 1)
    return position


def _last_quote(chunk: bytes, escaped_start: bool) -> int:
    position = chunk.rfind(b'"')
    while _is_escaped(chunk, position, escaped_start):
        position = chunk.rfind(b'"', 0, position)
    return position


def _is_escaped(chunk: bytes, position: int, escaped_start: bool) -> bool:
    """Tell whether an odd number of backslashes precedes a position."""
    first = position
    while first > 0 and chunk[first - 1] == 0x5C:
        first -= 1
    return (position - first + (first == 0 and escaped_start)) % 2 == 1
