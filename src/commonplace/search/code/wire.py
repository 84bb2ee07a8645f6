"""Messages between the process that indexes and the one that parses.

A request is the language and the source, an answer the structure as JSON. The parent checks what
it reads: the other process has parsed hostile text.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import orjson

from commonplace.search.code.structure import Structure

if TYPE_CHECKING:
    from pydantic import TypeAdapter


class MalformedAnswerError(ValueError):
    """The answer is not a structure of the source."""


def encode_request(language: str, source: bytes) -> bytes:
    return language.encode() + b"\n" + source


def decode_request(request: bytes) -> tuple[str, bytes]:
    language, _, source = request.partition(b"\n")
    return language.decode(), source


def encode_answer(structure: Structure) -> bytes:
    return orjson.dumps(structure)


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


@cache
def _answers() -> TypeAdapter[Structure]:
    from pydantic import TypeAdapter  # not needed by the process that parses

    return TypeAdapter(Structure)
