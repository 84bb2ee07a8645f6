"""Canonical bytes of an instruction: decoding, encoding, and checks of size and depth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from commonplace.instructions.engine.hashing import fingerprint
from commonplace.instructions.engine.normalise import (
    NotAnInstruction,
    ReadingRules,
    complete,
    fingerprint_of,
    identify,
    normalise,
    title_of,
)
from commonplace.instructions.errors import CATALOGUE_LIMIT
from commonplace.instructions.fields import (
    MAX_FILE_BYTES,
    MAX_LEVELS,
    is_archived,
    is_restricted,
    stored_form,
)
from commonplace.instructions.model import (
    Instruction,
    InstructionChange,
    document_of,
)
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_NO_FILE_TIME = 0.0  # documents to store carry their own times


def encode(document: Mapping[str, Json]) -> bytes:
    """Return the canonical bytes: fixed key order, two spaces of indentation, a final newline."""
    return _encode_stored(stored_form(document))


def _encode_stored(stored: Mapping[str, Json]) -> bytes:
    return orjson.dumps(stored, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def decode(content: bytes) -> JsonObject:
    """Return the JSON object in stored bytes. Raises NotAnInstruction."""
    try:
        raw = orjson.loads(content.removeprefix(_BYTE_ORDER_MARK))
    except orjson.JSONDecodeError as error:
        raise NotAnInstruction("parse", str(error)[:200]) from None
    if not isinstance(raw, dict):
        raise NotAnInstruction("schema", "the file does not hold one JSON object")
    return raw


def decode_or_empty(content: bytes | None) -> JsonObject:
    """Return the JSON object in stored bytes, or an empty one if there is none."""
    try:
        return decode(content or b"{}")
    except NotAnInstruction:
        return {}


def decode_any(content: bytes | None) -> Json:
    """Return the JSON value in stored bytes, or their first characters if it cannot be shown."""
    if content is None:
        return None
    try:
        raw = orjson.loads(content.removeprefix(_BYTE_ORDER_MARK))
        orjson.dumps(raw)  # orjson reads deeper nesting than it writes
    except (orjson.JSONDecodeError, TypeError):
        return {"text": content[:2000].decode(errors="replace")}
    return raw


def parse(id_: str, content: bytes, modified_at: float, rules: ReadingRules) -> Instruction:
    """Return the instruction in stored bytes; its document is parsed on first use.

    Raises NotAnInstruction.
    """
    if not content.strip():
        raise NotAnInstruction("empty", "the file is empty")
    raw = decode(content)
    if content.count(b"[") + content.count(b"{") > MAX_LEVELS:
        try:
            return normalise(raw, id_, modified_at, rules)
        except TypeError:  # orjson reads deeper nesting than it writes
            raise NotAnInstruction("schema", f"nested deeper than {MAX_LEVELS} levels") from None
    body = identify(raw, id_)
    unparsed = _StoredBytes(content, id_, modified_at, rules)
    return Instruction.unparsed(
        id_,
        body,
        fingerprint_of(raw, id_, rules),
        unparsed,
        restricted=is_restricted(raw),
        archived=is_archived(raw),
    )


@dataclass(frozen=True, slots=True)
class _StoredBytes:
    """Bytes that are known to hold an instruction."""

    content: bytes
    id: str
    modified_at: float
    rules: ReadingRules

    def parse(self) -> Instruction:
        return normalise(
            decode(self.content), self.id, self.modified_at, self.rules, known_fingerprint=""
        )

    def raw(self) -> JsonObject:
        return decode(self.content)

    def text(self) -> tuple[str, str]:
        raw = self.raw()
        return title_of(raw, self.id), raw["body"]


def prepare_change(document: JsonObject, action: str, rules: ReadingRules) -> InstructionChange:
    """Return the change that stores a document, normalised.

    Raises NotAnInstruction, or CATALOGUE_LIMIT if the file would be too large.
    """
    id_ = document["id"]
    completed, _, _ = complete(document, id_, _NO_FILE_TIME, rules)
    stored = stored_form(completed)
    content = _encode_within_limit(id_, stored)
    source_hash, governance_hash = completed["sourceHash"], completed["governanceHash"]
    instruction = Instruction(
        id_,
        document_of({**stored, "governanceHash": governance_hash}),
        source_hash,
        governance_hash,
        source_hash,
        fingerprint=fingerprint(stored),
        restricted=is_restricted(stored),
        archived=is_archived(stored),
    )
    return InstructionChange(id_, instruction, content, action)


def prepare_as_written(
    id_: str, document: Mapping[str, Json], action: str, rules: ReadingRules
) -> InstructionChange:
    """Return the change that stores a document with the values that normalisation would repair.

    Raises NotAnInstruction, or CATALOGUE_LIMIT if the file would be too large.
    """
    stored = stored_form(document)
    instruction = normalise(stored, id_, _NO_FILE_TIME, rules)
    content = _encode_within_limit(id_, stored)
    return InstructionChange(id_, instruction, content, action, as_written=True)


def _encode_within_limit(id_: str, stored: Mapping[str, Json]) -> bytes:
    content = _encode_stored(stored)
    if len(content) > MAX_FILE_BYTES:
        raise CommonplaceError(
            CATALOGUE_LIMIT,
            f"{id_}: the file would have {len(content)} bytes; the limit is {MAX_FILE_BYTES}.",
            hint="Split the instruction, or move long examples out of it.",
            details={"limit": "maxFileSize", "maximum": MAX_FILE_BYTES, "actual": len(content)},
        )
    return content
