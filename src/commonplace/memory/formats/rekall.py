"""Rekall's archive, a zip with a manifest and checksums, and its database.

Our archives also have links and decided suggestions.
"""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from pathlib import Path

import apsw
import orjson

from commonplace import __version__
from commonplace.kernel.clock import iso
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.memory.errors import INVALID_IMPORT, failure
from commonplace.memory.formats.batch import FILE_BYTES, Batch, EntryBuilder, text_of
from commonplace.memory.formats.records import (
    entry_record,
    link_record,
    note_record,
    note_suggestion,
    read_entry_record,
    read_link_record,
    suggestion_record,
)

FORMAT_VERSION = "1.0"
SQLITE_MAGIC = b"SQLite format 3\x00"
_ADDED = ("links.json", "suggestions.json")  # not in Rekall's own archives
_CONTEXT_BYTES = 1_000_000  # unpacked, of one entry


def write_archive(batch: Batch, path: Path, now: datetime) -> None:
    """Write an archive that Rekall can read; `files` has the checksum of every member."""
    types: dict[str, int] = {}
    for entry in batch.entries:
        types[entry.type.value] = types.get(entry.type.value, 0) + 1
    members = {
        "entries.json": _json(
            [entry_record(entry, batch.usage.get(entry.id)) for entry in batch.entries]
        ),
        "links.json": _json([link_record(link) for link in batch.links]),
        "suggestions.json": _json([suggestion_record(each) for each in batch.decided]),
    }
    checksums = {name: _checksum(content) for name, content in members.items()}
    manifest = {
        "format_version": FORMAT_VERSION,
        "created_at": iso(now),
        "rekall_version": f"commonplace {__version__}",
        "checksum": checksums["entries.json"],
        "files": checksums,
        "stats": {
            "entries_count": len(batch.entries),
            "projects": sorted({entry.project for entry in batch.entries if entry.project}),
            "types": types,
        },
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", _json(manifest))
        for name, content in members.items():
            archive.writestr(name, content)


def read_archive(path: Path, builder: EntryBuilder) -> Batch:
    """Read an archive; raises INVALID_IMPORT if a member does not match its checksum."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = {
                name: _member(archive, name) for name in ("manifest.json", "entries.json", *_ADDED)
            }
    except (zipfile.BadZipFile, OSError) as error:
        raise failure(INVALID_IMPORT, f"{path.name} is not a readable archive: {error}.") from error
    manifest = _parse(members["manifest.json"], "manifest.json", dict)
    if manifest.get("format_version") != FORMAT_VERSION:
        raise failure(
            INVALID_IMPORT,
            f"{path.name} has archive format {manifest.get('format_version')!r}; "
            f"{FORMAT_VERSION!r} is supported.",
        )
    expected = {"entries.json": manifest.get("checksum")}
    expected |= manifest["files"] if isinstance(manifest.get("files"), dict) else {}
    for name, checksum in expected.items():
        if _checksum(members.get(name) or b"") != checksum:
            raise failure(
                INVALID_IMPORT,
                f"{name} in {path.name} does not match its checksum: it was damaged or changed.",
                hint="Export it again.",
            )
    batch = Batch()
    for number, record in enumerate(_parse(members["entries.json"], "entries.json", list)):
        _add(batch, f"entry {number + 1}", record, builder)
    for record in _parse(members["links.json"] or b"[]", "links.json", list):
        if isinstance(record, dict):
            batch.links.append(read_link_record(record, builder))
    for number, record in enumerate(
        _parse(members["suggestions.json"] or b"[]", "suggestions.json", list), start=1
    ):
        note_suggestion(batch, f"suggestion {number}", record, builder)
    return batch


def read_database(path: Path, builder: EntryBuilder) -> Batch:
    """Read a database of any schema version; missing columns and tables count as empty."""
    batch = Batch()
    try:
        connection = apsw.Connection(
            _uri(path), flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        )
        tables = {
            row[0]
            for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        }
        if "entries" not in tables:
            raise failure(
                INVALID_IMPORT, f"{path.name} is not a Rekall database: it has no table `entries`."
            )
        tags: dict[str, list[str]] = {}
        for entry_id, tag in (
            connection.execute("SELECT entry_id, tag FROM tags ORDER BY rowid")
            if "tags" in tables
            else ()
        ):
            tags.setdefault(str(entry_id), []).append(str(tag))
        for record in _rows(connection, "SELECT * FROM entries ORDER BY created_at, id"):
            record["tags"] = tags.get(str(record.get("id")), [])
            _add(batch, f"entry {record.get('id')}", record, builder, _stored_context(record))
        for record in (
            _rows(connection, "SELECT * FROM links ORDER BY created_at, id")
            if "links" in tables
            else ()
        ):
            batch.links.append(read_link_record(record, builder))
    except apsw.Error as error:
        raise failure(
            INVALID_IMPORT, f"{path.name} is not a readable Rekall database: {error}."
        ) from error
    return batch


def _add(
    batch: Batch, where: str, record: object, builder: EntryBuilder, context: str = ""
) -> None:
    if not isinstance(record, dict):
        batch.problems.append(f"{where}: not an object")
        return
    entry = batch.add(where, partial(read_entry_record, record, builder, context))
    if entry is not None:
        note_record(batch, entry.id, record, builder.now)


def _rows(connection: apsw.Connection, query: str) -> list[JsonObject]:
    cursor = connection.execute(query)
    try:
        names = [column[0] for column in cursor.get_description()]
    except apsw.ExecutionCompleteError:  # no rows
        return []
    return [dict(zip(names, row, strict=True)) for row in cursor]


def _stored_context(record: Mapping[str, Json]) -> str:
    """Return the conversation, which versions store as text or JSON, compressed or not."""
    for name in ("context_blob", "context_compressed"):
        value = record.get(name)
        if isinstance(value, bytes):
            try:
                return _context_text(
                    zlib.decompressobj()
                    .decompress(value, _CONTEXT_BYTES)
                    .decode("utf-8", "replace")
                )
            except zlib.error:
                continue
    return _context_text(text_of(record, "context_structured"))


def _context_text(text: str) -> str:
    """Return the values of a structured context, one a line."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    if not isinstance(value, dict):
        return text
    lines = [
        ", ".join(map(str, item)) if isinstance(item, list) else str(item)
        for item in value.values()
        if item
    ]
    return "\n".join(lines)


def _member(archive: zipfile.ZipFile, name: str) -> bytes | None:
    try:
        info = archive.getinfo(name)
    except KeyError:
        if name in _ADDED:
            return None
        raise failure(INVALID_IMPORT, f"The archive has no {name}.") from None
    if info.file_size > FILE_BYTES:
        raise failure(INVALID_IMPORT, f"{name} is larger than {FILE_BYTES} bytes.")
    with archive.open(info) as stream:
        content = stream.read(FILE_BYTES + 1)
    if len(content) > FILE_BYTES:  # the header was wrong
        raise failure(INVALID_IMPORT, f"{name} is larger than {FILE_BYTES} bytes.")
    return content


def _parse(content: bytes | None, name: str, kind: type[Json]) -> Json:
    try:
        value = orjson.loads(content or b"")
    except orjson.JSONDecodeError as error:
        raise failure(INVALID_IMPORT, f"{name} is not JSON: {error}.") from error
    if not isinstance(value, kind):
        raise failure(
            INVALID_IMPORT, f"{name} is not a JSON {'object' if kind is dict else 'array'}."
        )
    return value


def _json(value: Json) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2)


def _checksum(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _uri(path: Path) -> str:
    """Return the address to open a database read-only.

    It is opened as immutable, which creates no files beside it, unless a journal is not merged yet.
    """
    beside = [path.with_name(path.name + suffix) for suffix in ("-wal", "-journal")]
    unfinished = any(file.exists() and file.stat().st_size for file in beside)
    escaped = str(path.absolute()).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return f"file:{escaped}?mode=ro" if unfinished else f"file:{escaped}?mode=ro&immutable=1"
