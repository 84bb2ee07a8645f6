"""Entries and links as JSON records, with the field names of Rekall.

The archive and the JSON-lines export share them.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from commonplace.kernel.clock import iso
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.memory.formats.batch import Batch, EntryBuilder, tags_of, text_of
from commonplace.memory.model import Entry, EntryUsage, Link
from commonplace.memory.text import parse_moment


def entry_record(entry: Entry, usage: EntryUsage | None) -> JsonObject:
    """Return an entry and its accesses as a record."""
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


def read_entry_record(
    record: Mapping[str, Json], builder: EntryBuilder, context: str = ""
) -> Entry:
    """Make an entry from a record."""
    return builder.entry(
        text_of(record, "title"),
        text_of(record, "content"),
        id_=record.get("id"),
        type_=record.get("type"),
        tags=tags_of(record.get("tags")),
        project=record.get("project"),
        confidence=record.get("confidence", 2),  # the default of Rekall
        status=record.get("status"),
        memory_type=record.get("memory_type"),
        context=text_of(record, "context") or context,
        created=record.get("created_at"),
        updated=record.get("updated_at"),
        superseded_by=record.get("superseded_by"),
    )


def note_record(batch: Batch, entry_id: str, record: Mapping[str, Json], now: datetime) -> None:
    """Note the accesses of a record, and whether it has a status."""
    count = record.get("access_count")
    last = record.get("last_accessed")
    if isinstance(count, int) and count > 0 and isinstance(last, str):
        batch.usage[entry_id] = EntryUsage(count, parse_moment(last, now))
    if record.get("status"):
        batch.with_status.add(entry_id)


def link_record(link: Link) -> JsonObject:
    """Return a link as a record."""
    return {
        "id": link.id,
        "source_id": link.source_id,
        "target_id": link.target_id,
        "relation_type": link.relation.value,
        "created_at": iso(link.created_at),
    }


def read_link_record(record: Mapping[str, Json], builder: EntryBuilder) -> Link:
    """Make a link from a record."""
    return builder.link(
        text_of(record, "source_id"),
        text_of(record, "target_id"),
        record.get("relation_type"),
        record.get("created_at"),
    )
