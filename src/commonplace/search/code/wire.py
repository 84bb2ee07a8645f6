"""Messages between the process that indexes and the one that parses: frames of JSON and bytes.

A request is the language and the source, an answer the structure as JSON. The parent checks what
it reads: the other process has parsed hostile text.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import orjson

from commonplace.search.code.structure import Structure

if TYPE_CHECKING:
    from pydantic import TypeAdapter

HEADER = struct.Struct(">HI")  # bytes of the language, bytes of the source
ANSWER = struct.Struct(">I")
MAX_ANSWER_BYTES = 64_000_000


class MalformedAnswerError(ValueError):
    """The answer is not a structure of the source."""


def encode_request(language: str, source: bytes) -> bytes:
    name = language.encode()
    return HEADER.pack(len(name), len(source)) + name + source


def encode_answer(structure: Structure) -> bytes:
    body = orjson.dumps(structure)
    return ANSWER.pack(len(body)) + body


def decode_answer(body: bytes, size: int) -> Structure:
    """Return the structure of a source of `size` bytes; MalformedAnswerError."""
    try:
        structure = _answers().validate_json(body)
    except ValueError as error:
        raise MalformedAnswerError("the answer of the parser cannot be read") from error
    reached = 0
    for span in structure.spans:
        if span.start != reached or span.end <= span.start:
            raise MalformedAnswerError("the chunks of the parser do not cover the text")
        reached = span.end
    if structure.spans and reached != size:
        raise MalformedAnswerError("the chunks of the parser do not cover the text")
    return structure


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


@cache
def _answers() -> TypeAdapter[Structure]:
    from pydantic import TypeAdapter  # not needed by the process that parses

    return TypeAdapter(Structure)
