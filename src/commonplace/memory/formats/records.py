"""An entry and a link as JSON records: the core of the archive and of the JSON-lines export.

Field names are Rekall's.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from commonplace.kernel.clock import iso
from commonplace.memory.formats.batch import Batch, EntryBuilder, tags_of, text_of
from commonplace.memory.model import Entry, EntryUsage, Link
from commonplace.memory.text import parse_moment


def entry_record(entry: Entry, usage: EntryUsage | None) -> dict[str, Any]:
    return {
        "id": entry.id,
        "title": entry.title,
        "type": entry.type.value,
        "content": entry.content,
        "project": entry.project,
        "tags": list(entry.tags),
        "confidence": entry.confidence,
        "status": entry.status.value,
        "superseded_by": entry.superseded_by,
        "created_at": iso(entry.created_at),
        "updated_at": iso(entry.updated_at),
        "memory_type": entry.memory_type.value,
        "last_accessed": iso(usage.last_accessed) if usage and usage.last_accessed else None,
        "access_count": usage.access_count if usage else 0,
        "context": entry.context,
    }


def read_entry_record(record: Mapping[str, Any], builder: EntryBuilder, context: str = "") -> Entry:
    return builder.entry(
        text_of(record, "title"),
        text_of(record, "content"),
        id_=record.get("id"),
        type_=record.get("type"),
        tags=tags_of(record.get("tags")),
        project=record.get("project"),
        confidence=record.get("confidence", 2),  # Rekall's own default, where a record names none
        status=record.get("status"),
        memory_type=record.get("memory_type"),
        context=text_of(record, "context") or context,
        created=record.get("created_at"),
        updated=record.get("updated_at"),
        superseded_by=record.get("superseded_by"),
    )


def note_record(batch: Batch, entry_id: str, record: Mapping[str, Any], now: datetime) -> None:
    """What a record says beside its entry: accesses, and that its status is its own."""
    count = record.get("access_count")
    last = record.get("last_accessed")
    if isinstance(count, int) and count > 0 and isinstance(last, str):
        batch.usage[entry_id] = EntryUsage(count, parse_moment(last, now))
    if record.get("status"):
        batch.with_status.add(entry_id)


def link_record(link: Link) -> dict[str, Any]:
    return {
        "id": link.id,
        "source_id": link.source_id,
        "target_id": link.target_id,
        "relation_type": link.relation.value,
        "created_at": iso(link.created_at),
    }


def read_link_record(record: Mapping[str, Any], builder: EntryBuilder) -> Link:
    return builder.link(
        text_of(record, "source_id"),
        text_of(record, "target_id"),
        record.get("relation_type"),
        record.get("created_at"),
    )
