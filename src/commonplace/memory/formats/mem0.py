"""What mem0 returns from `get_all` or its export: memories with metadata, and relations between
names.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import orjson

from commonplace.memory.errors import INVALID_IMPORT, failure
from commonplace.memory.formats.batch import (
    Batch,
    EntryBuilder,
    kept,
    list_of,
    read_bounded,
    tags_of,
    text_of,
)
from commonplace.memory.model import Entry
from commonplace.memory.text import TITLE_CHARACTERS

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n")


def read_mem0(path: Path, builder: EntryBuilder) -> Batch:
    try:
        value = orjson.loads(read_bounded(path))
    except orjson.JSONDecodeError as broken:
        raise failure(INVALID_IMPORT, f"{path.name} is not JSON: {broken}.") from broken
    named = [value.get("results"), value.get("memories")] if isinstance(value, dict) else [value]
    lists = [held for held in named if isinstance(held, list)]
    if not lists:
        raise failure(
            INVALID_IMPORT,
            f"{path.name} holds no memories: expected a list, or an object with `results`.",
        )
    batch = Batch()
    records = max(lists, key=len)
    if not records:
        batch.problems.append(f"{path.name} holds no memories: there is nothing to import")
    if isinstance(value, dict) and (relations := list_of(value.get("relations"))):
        batch.problems.append(f"{len(relations)} relations: mem0 relates names, not memories")
    for number, record in enumerate(records, start=1):
        if not isinstance(record, dict) or not text_of(record, "memory", "text", "data"):
            batch.problems.append(f"memory {number}: no text")
            continue
        kept(batch, f"memory {number}", lambda record=record: _entry(record, builder))  # type: ignore[misc]
    return batch


def _entry(record: dict[str, Any], builder: EntryBuilder) -> Entry:
    text = text_of(record, "memory", "text", "data")
    metadata = record["metadata"] if isinstance(record.get("metadata"), dict) else {}
    held = (
        record.get("categories"),
        metadata.get("categories"),
        metadata.get("tags"),
        metadata.get("category"),
    )
    tags = [tag for value in held for tag in tags_of(value)]
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
