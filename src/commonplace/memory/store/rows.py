"""Convert entries, links and suggestions to database rows and back, in every dialect."""

from __future__ import annotations

from datetime import UTC, datetime

import orjson

from commonplace.kernel.auth import Tenant
from commonplace.kernel.clock import iso
from commonplace.kernel.json_types import Json
from commonplace.memory.anchors import anchor_record, read_anchor
from commonplace.memory.model import (
    Decision,
    Entry,
    EntryStatus,
    EntryType,
    Link,
    MemoryType,
    RelationType,
    Suggestion,
    SuggestionType,
)
from commonplace.storage.relational import Row

RowValues = dict[str, object]


def entry_row(tenant: Tenant, entry: Entry) -> RowValues:
    """Return the row of an entry."""
    return {"tenant": tenant, "id": entry.id, "digest": entry.digest, **entry_fields(entry)}


def entry_fields(entry: Entry) -> RowValues:
    """Return every field but the id as JSON values; the history stores them too."""
    return {
        "type": entry.type.value,
        "title": entry.title,
        "content": entry.content,
        "tags": as_json(entry.tags),
        "context": entry.context,
        "project": entry.project,
        "confidence": entry.confidence,
        "status": entry.status.value,
        "memory_type": entry.memory_type.value,
        "superseded_by": entry.superseded_by,
        "created_at": iso(entry.created_at),
        "updated_at": iso(entry.updated_at),
        "deleted_at": iso(entry.deleted_at) if entry.deleted_at else None,
        "anchors": as_json([anchor_record(anchor) for anchor in entry.anchors]),
    }


def read_entry(row: Row) -> Entry:
    """Make an entry from a row."""
    return Entry(
        id=row[0],
        type=EntryType(row[1]),
        title=row[2],
        content=row[3],
        tags=tuple(orjson.loads(row[4])),
        context=row[5],
        project=row[6],
        confidence=row[7],
        status=EntryStatus(row[8]),
        memory_type=MemoryType(row[9]),
        superseded_by=row[10],
        created_at=read_moment(row[11]),
        updated_at=read_moment(row[12]),
        deleted_at=read_moment(row[13]) if row[13] else None,
        anchors=tuple(map(read_anchor, orjson.loads(row[14]))),
    )


def link_row(tenant: Tenant, link: Link) -> RowValues:
    """Return the row of a link."""
    return {
        "tenant": tenant,
        "id": link.id,
        "source_id": link.source_id,
        "target_id": link.target_id,
        "relation": link.relation.value,
        "created_at": iso(link.created_at),
    }


def read_link(row: Row) -> Link:
    """Make a link from a row."""
    return Link(row[0], row[1], row[2], RelationType(row[3]), read_moment(row[4]))


def suggestion_row(tenant: Tenant, suggestion: Suggestion) -> RowValues:
    """Return the row of a suggestion."""
    return {
        "tenant": tenant,
        "id": suggestion.id,
        "type": suggestion.type.value,
        "key": suggestion.key,
        "entry_ids": as_json(suggestion.entry_ids),
        "score": suggestion.score,
        "reason": suggestion.reason,
        "decision": suggestion.decision.value,
        "created_at": iso(suggestion.created_at),
    }


def read_suggestion(row: Row) -> Suggestion:
    """Make a suggestion from a row."""
    return Suggestion(
        id=row[0],
        type=SuggestionType(row[1]),
        entry_ids=tuple(orjson.loads(row[2])),
        score=row[3],
        reason=row[4],
        created_at=read_moment(row[5]),
        decision=Decision(row[6]),
        resolved_at=read_moment(row[7]) if row[7] else None,
    )


def history_row(tenant: Tenant, before: Entry, action: str, moment: datetime) -> RowValues:
    """Return the row of an entry's state before a change."""
    anchors = [anchor_record(anchor) for anchor in before.anchors]
    state: RowValues = {**entry_fields(before), "tags": before.tags, "anchors": anchors}
    return {
        "tenant": tenant,
        "entry_id": before.id,
        "action": action,
        "changed_at": iso(moment),
        "before": as_json(state),
    }


def as_json(value: Json) -> str:
    """Encode a value for a JSON column or parameter."""
    return orjson.dumps(value).decode()


def read_moment(value: str | datetime) -> datetime:
    """Read a time: ISO text from SQLite, a time in the zone of the session from PostgreSQL."""
    return datetime.fromisoformat(value) if isinstance(value, str) else value.astimezone(UTC)
