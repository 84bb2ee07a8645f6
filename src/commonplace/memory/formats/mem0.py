"""Memories that mem0 returns from `get_all` or exports."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import orjson

from commonplace.kernel.json_types import JsonObject
from commonplace.memory.errors import INVALID_IMPORT, failure
from commonplace.memory.formats.batch import (
    Batch,
    EntryBuilder,
    list_of,
    read_bounded,
    tags_of,
    text_of,
)
from commonplace.memory.model import Entry
from commonplace.memory.text import TITLE_CHARACTERS

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n")


def read_mem0(path: Path, builder: EntryBuilder) -> Batch:
    """Read memories with their metadata; relations between names are reported as a problem."""
    try:
        value = orjson.loads(read_bounded(path))
    except orjson.JSONDecodeError as error:
        raise failure(INVALID_IMPORT, f"{path.name} is not JSON: {error}.") from error
    named = [value.get("results"), value.get("memories")] if isinstance(value, dict) else [value]
    lists = [item for item in named if isinstance(item, list)]
    if not lists:
        raise failure(
            INVALID_IMPORT,
            f"{path.name} has no memories: expected a list, or an object with `results`.",
        )
    batch = Batch()
    records = max(lists, key=len)
    if not records:
        batch.problems.append(f"{path.name} has no memories: there is nothing to import")
    if isinstance(value, dict) and (relations := list_of(value.get("relations"))):
        batch.problems.append(
            f"{len(relations)} relations skipped: mem0 relates names, not memories"
        )
    for number, record in enumerate(records, start=1):
        if not isinstance(record, dict) or not text_of(record, "memory", "text", "data"):
            batch.problems.append(f"memory {number}: no text")
            continue
        batch.add(f"memory {number}", partial(_entry, record, builder))
    return batch


def _entry(record: JsonObject, builder: EntryBuilder) -> Entry:
    text = text_of(record, "memory", "text", "data")
    metadata = record["metadata"] if isinstance(record.get("metadata"), dict) else {}
    tag_fields = (
        record.get("categories"),
        metadata.get("categories"),
        metadata.get("tags"),
        metadata.get("category"),
    )
    tags = [tag for value in tag_fields for tag in tags_of(value)]
    first = _SENTENCE.split(text.strip(), maxsplit=1)[0]
    return builder.entry(
        first[:TITLE_CHARACTERS],
        text,
        type_=metadata.get("type"),
        tags=tags,
        project=metadata.get("project") or record.get("app_id"),
        memory_type=metadata.get("memory_type", "semantic"),  # mem0 keeps facts, not events
        created=record.get("created_at"),
        updated=record.get("updated_at"),
    )
