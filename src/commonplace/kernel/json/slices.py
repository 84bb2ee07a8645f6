"""Decode large JSON text in slices, so that other threads run in between.

orjson holds the interpreter lock while it decodes: a second for 60 MB. Here the text is cut at
commas; each slice is completed with the brackets that are open around it, decoded separately, and
its values are merged. Memory and result are those of decoding at once.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence

import orjson

from commonplace.kernel.json_types import Json

SLICE_BYTES = 512 * 1024
STRING_SLICE_BYTES = 1024 * 1024

_MARK = f"cut-{secrets.token_hex(12)}"  # random in each process, so that no text contains it
_OPEN_OBJECT = b'{"' + _MARK.encode() + b'":'
_NOT_BRACKETS = bytes(set(range(256)) - set(b"{}[]"))
_TO_COMMA = re.compile(rb'(?:[^",]++|"(?:[^"\\]++|\\.)*+")*+,', re.DOTALL)
_STRING_END = re.compile(rb'(?:[^"\\]++|\\.)*+"', re.DOTALL)
_STRING_UNITS = re.compile(
    rb"(?:[^\\]++|\\[^u]|\\u(?![dD][89a-bA-B]).{4}|\\u[dD][89a-bA-B]..\\u.{4})*+", re.DOTALL
)  # a pair of surrogates is one unit
_CLOSING = {0x7B: b"}", 0x5B: b"]"}


class SliceError(ValueError):
    """The text is not JSON. `line` and `column` count from 1."""

    def __init__(self, problem: str, line: int, column: int) -> None:
        super().__init__(problem)
        self.problem = problem
        self.line = line
        self.column = column


def loads_in_slices(
    raw: bytes,
    *,
    slice_bytes: int = SLICE_BYTES,
    check: Callable[[int], None] | None = None,
    loads: Callable[[bytes], Json] = orjson.loads,
) -> Json:
    """Decode JSON text whose root is an object or an array; `loads` decodes each slice.

    `check` is called with the number of values found so far and may raise to stop. Raises
    SliceError for invalid JSON.
    """
    root: list[Json] = []
    spine: list[Json] = []  # the open containers, outermost first
    stack = b""  # their opening brackets
    values, start = 0, 0
    for end in _cuts(raw, slice_bytes):
        piece = raw[start:end]
        closed, opened, found = _structure(piece)
        values += found
        if check is not None:
            check(values)
        if end < len(raw) and (piece[-64:].rstrip() or piece.rstrip())[-1:] in (b"[", b"{"):
            raise _error("a comma after an opening bracket", raw, end, 0)
        # At the end nothing may be open.
        following = stack[: max(0, len(stack) - closed)] + opened if end < len(raw) else b""
        if end < len(raw) and not following:
            raise _error("text after the end of the document", raw, end, 0)
        partial = _decode_slice(loads, piece, stack, following, raw, start)
        if not start:
            root.append(partial)
            spine = _list_open_containers(partial, len(following))
        else:
            spine = _merge(spine, partial, len(following))
        stack, start = following, end + 1
    return root[0]


def _cuts(raw: bytes, slice_bytes: int) -> Iterator[int]:
    """Yield offsets of commas outside strings, about `slice_bytes` apart, and the end."""
    start, in_string = 0, False
    while len(raw) - start > slice_bytes:
        end = start + slice_bytes
        while end < len(raw) and raw[end - 1] == 0x5C:  # keep an escape sequence together
            end += 1
        block = raw[start:end]
        quotes = (
            block.replace(b"\\\\", b"").replace(b'\\"', b"").count(b'"')
            if b"\\" in block
            else block.count(b'"')
        )
        in_string = in_string != (quotes % 2 == 1)
        if in_string:
            closing = _STRING_END.match(raw, end)
            if closing is None:
                break
            end, in_string = closing.end(), False
        comma = _TO_COMMA.match(raw, end)
        if comma is None:
            break
        yield comma.end() - 1
        start = comma.end()
    yield len(raw)


def _structure(piece: bytes) -> tuple[int, bytes, int]:
    """Return the number of closed outer containers, the open brackets and the number of values."""
    plain = piece.replace(b"\\\\", b"").replace(b'\\"', b"") if b"\\" in piece else piece
    outside = b"".join(plain.split(b'"')[::2])
    values = outside.count(b",") + outside.count(b"{") + outside.count(b"[") + 1
    brackets = outside.translate(None, _NOT_BRACKETS)
    size = -1
    while size != len(brackets):
        size = len(brackets)
        brackets = brackets.replace(b"{}", b"").replace(b"[]", b"")
    opened = brackets.lstrip(b"}]")
    return len(brackets) - len(opened), opened, values


def _decode_slice(
    loads: Callable[[bytes], Json],
    piece: bytes,
    before: bytes,
    after: bytes,
    raw: bytes,
    start: int,
) -> Json:
    """Decode a slice within the containers around it.

    The first value of each container is the part of the slice that continues it.
    """
    prefix = b"".join(_OPEN_OBJECT if bracket == 0x7B else b"[" for bracket in before) + (
        b"0," if before else b""
    )
    suffix = b"".join(_CLOSING.get(bracket, b"") for bracket in reversed(after))
    try:
        return loads(b"".join((prefix, piece, suffix)))
    except json.JSONDecodeError as error:  # also the base of orjson's
        raise _error(
            error.msg,
            raw,
            start,
            len(piece),
            error.lineno,
            error.colno - (len(prefix) if error.lineno == 1 else 0),
        ) from None


def _error(
    problem: str, raw: bytes, start: int, length: int, line: int = 1, column: int = 1
) -> SliceError:
    lines = raw.count(b"\n", 0, start)
    if line == 1:
        line_start = raw.rfind(b"\n", 0, start) + 1
        within = len(raw[line_start:start].decode("utf-8", "replace"))
        column = min(max(1, column), length + 1) + within
    return SliceError(problem, lines + line, column)


def _list_open_containers(value: Json, depth: int) -> list[Json]:
    """Return the containers that a value leaves open: itself, its last value, and so on."""
    spine: list[Json] = []
    while len(spine) < depth:
        spine.append(value)
        if len(spine) < depth:
            value = next(reversed(value.values())) if type(value) is dict else value[-1]
    return spine


def _merge(spine: Sequence[Json], partial: Json, depth: int) -> list[Json]:
    """Add the values of a slice to the containers it continues; return the open containers."""
    open_now: list[Json] = []
    level: Json = partial
    for container in spine:
        if type(container) is dict:
            inner = level.pop(_MARK)
            last = next(reversed(level.values())) if level else None
            added = bool(level)
            container.update(level)
        else:
            inner = level[0]
            added = len(level) > 1
            last = level[-1]
            container.extend(level[1:])
        if len(open_now) < depth:
            open_now.append(container)
        if added:
            open_now += _list_open_containers(last, depth - len(open_now))
            depth = len(open_now)
        level = inner
    return open_now


def without_strings(
    raw: bytes, strings: Sequence[tuple[int, int]]
) -> tuple[bytes, dict[str, tuple[int, int]]]:
    """Replace long strings, given by the offsets of their quotes, by short names.

    Returns the text, and the offsets of the string behind each name.
    """
    named: dict[str, tuple[int, int]] = {}
    parts: list[bytes] = []
    start = 0
    for number, (opening, closing) in enumerate(strings):
        name = f"{_MARK}-{number}"
        parts += (raw[start : opening + 1], name.encode())
        named[name] = (opening + 1, closing)
        start = closing
    parts.append(raw[start:])
    return b"".join(parts), named


def decode_string(
    raw: bytes,
    start: int,
    end: int,
    *,
    as_bytes: bool = False,
    slice_bytes: int = STRING_SLICE_BYTES,
) -> str | bytes:
    """Decode the content of a JSON string in slices. Raises orjson.JSONDecodeError.

    `as_bytes`: return UTF-8, which takes a quarter of the memory if the text has an emoji.
    """
    pieces: list[str] = []
    encoded: list[bytes] = []
    while start < end:
        cut = min(end, start + slice_bytes)
        if cut < end:
            cut = _string_cut(raw, start, cut)
        piece: str = orjson.loads(b'"' + raw[start:cut] + b'"')
        if as_bytes:
            encoded.append(piece.encode())
        else:
            pieces.append(piece)
        start = cut
    return b"".join(encoded) if as_bytes else "".join(pieces)


def _string_cut(raw: bytes, start: int, cut: int) -> int:
    """Return the last offset up to `cut` that splits no character, escape or surrogate pair."""
    earliest = max(start + 1, cut - 4096)
    for place in range(cut, earliest, -1):
        if raw[place] & 0xC0 != 0x80 and b"\\" not in raw[max(start, place - 12) : place]:
            return place
    units = _STRING_UNITS.match(raw, start, cut)
    place = units.end() if units is not None else start
    while place > start and raw[place] & 0xC0 == 0x80:
        place -= 1
    return place if place > start else cut  # a broken escape: the decoder reports it


def fill(value: Json, texts: Mapping[str, Json]) -> Json:
    """Put the long strings back, as values or as keys."""
    holder = [value]
    containers: list[Json] = [holder]
    for container in containers:
        items = list(container.items()) if type(container) is dict else list(enumerate(container))
        for key, item in items:
            if type(item) is str:
                if item in texts:
                    container[key] = texts[item]
            elif type(item) is dict or type(item) is list:
                containers.append(item)
        if type(container) is dict and any(key in texts for key in container):
            renamed = [(texts.get(key, key), item) for key, item in container.items()]
            container.clear()
            container.update(renamed)
    return holder[0]
