"""Read a transcript in any known form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO

import orjson

from commonplace.context.capture.reading.limits import (
    MOST_BYTES,
    MOST_LINE_BYTES,
    StepBuffer,
)
from commonplace.context.capture.reading.messages import RecordReader
from commonplace.context.capture.reading.plain import PlainReader, split_lines
from commonplace.context.capture.transcript import SessionTranscript
from commonplace.kernel.json_types import Json

_PROBED = 20  # lines with text that tell whether a file is JSON Lines
_MOST_PROBED = 2_000
_LEAST_RECORDS = 4  # one record in so many lines, and the others are broken
_RECORD_FIELDS = frozenset({"type", "role", "message", "payload"})
_MOST_DOCUMENT_BYTES = 16 * 1024 * 1024  # of messages in one JSON document


def read_file(file: BinaryIO, size: int, most_bytes: int = MOST_BYTES) -> SessionTranscript:
    """Read a transcript from a file; of a large one only its end."""
    is_cut = size > most_bytes
    if not is_cut and size <= _MOST_DOCUMENT_BYTES:
        return read_bytes(file.read(size))
    if is_cut:
        file.seek(size - most_bytes)
        file.readline(MOST_LINE_BYTES)  # the rest of a line
    return _read(_lines(file), is_cut)


def read_bytes(content: bytes) -> SessionTranscript:
    """Read a transcript that is in memory."""
    is_cut = len(content) > MOST_BYTES
    document = content.lstrip()[:1]
    if document in (b"[", b"{") and not is_cut:
        messages = _find_messages(content)
        if messages is not None:
            return _read_records(messages)
    return _read(iter(content[-MOST_BYTES:].splitlines(keepends=False)), is_cut)


def _find_messages(content: bytes) -> list[Json] | None:
    """Return the messages of one JSON document."""
    try:
        document: Json = orjson.loads(content)
    except orjson.JSONDecodeError:
        return None
    if isinstance(document, dict):
        for field in ("messages", "history", "conversation", "items"):
            if isinstance(listed := document.get(field), list):
                return listed
        return None
    return document if isinstance(document, list) else None


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file; one that is too long comes as its beginning."""
    while line := file.readline(MOST_LINE_BYTES):
        yield line
        while not line.endswith(b"\n") and len(line) == MOST_LINE_BYTES:
            line = file.readline(MOST_LINE_BYTES)


def _read(lines: Iterator[bytes], is_cut: bool) -> SessionTranscript:
    first: list[bytes] = []
    records = others = 0
    for line in lines:
        first.append(line)
        if line.strip():
            is_record = _is_record(_decode(line))
            records, others = records + is_record, others + (not is_record)
        if records + others >= _PROBED or len(first) >= _MOST_PROBED:
            break
    if records * _LEAST_RECORDS > others:
        return _read_json_lines(first, lines, is_cut)
    return _read_plain(first, lines, is_cut)


def _read_json_lines(first: list[bytes], rest: Iterator[bytes], is_cut: bool) -> SessionTranscript:
    steps = StepBuffer()
    reader = RecordReader(steps)
    unreadable = 0
    for lines in (first, rest):
        for line in lines:
            if not line.strip():
                continue
            record = _decode(line)
            if record is None or not reader.read(record):
                unreadable += 1
    reader.close()
    return SessionTranscript(
        steps.steps(), reader.session, reader.folder, unreadable, is_cut or steps.is_cut
    )


def _read_records(records: Iterable[Json]) -> SessionTranscript:
    steps = StepBuffer()
    reader = RecordReader(steps)
    unreadable = 0
    for record in records:
        if not isinstance(record, dict) or not reader.read(record):
            unreadable += 1
    reader.close()
    return SessionTranscript(steps.steps(), reader.session, reader.folder, unreadable, steps.is_cut)


def _read_plain(first: list[bytes], rest: Iterator[bytes], is_cut: bool) -> SessionTranscript:
    steps = StepBuffer()
    reader = PlainReader(steps)
    for lines in (first, rest):
        for line in lines:
            for text in split_lines(line.decode("utf-8", "replace").rstrip("\n")):
                reader.read(text)
    reader.close()
    return SessionTranscript(steps.steps(), is_cut=is_cut or steps.is_cut)


def _is_record(record: dict[str, Json] | None) -> bool:
    return record is not None and not _RECORD_FIELDS.isdisjoint(record)


def _decode(line: bytes) -> dict[str, Json] | None:
    """Return the object of a line; None for anything else, also for one nested too deeply."""
    try:
        record: Json = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return record if isinstance(record, dict) else None
