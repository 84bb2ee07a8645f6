"""Entries, links and decided suggestions as JSON records, with the field names of Rekall.

The archive and the JSON-lines export share them.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from commonplace.kernel.clock import iso
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.memory.anchors import anchor_record
from commonplace.memory.formats.batch import Batch, EntryBuilder, tags_of, text_of
from commonplace.memory.model import (
    Decision,
    Entry,
    EntryUsage,
    Link,
    Suggestion,
    SuggestionType,
)
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
        **usage_reports(usage),
        "anchors": [anchor_record(anchor) for anchor in entry.anchors],
    }


def usage_reports(usage: EntryUsage | None) -> JsonObject:
    """Return what users reported of an entry; nothing if nobody did."""
    if usage is None or not (usage.confirmed or usage.refuted):
        return {}
    last = usage.last_confirmed
    return {
        "confirmed": usage.confirmed,
        "refuted": usage.refuted,
        "last_confirmed": iso(last) if last else None,
    }


def read_usage(record: Mapping[str, Json], now: datetime) -> EntryUsage | None:
    """Return the accesses and reports in a record, if it has any."""
    counts = [record.get(name) for name in ("access_count", "confirmed", "refuted")]
    count, confirmed, refuted = (n if isinstance(n, int) and n > 0 else 0 for n in counts)
    last, last_confirmed = record.get("last_accessed"), record.get("last_confirmed")
    if not count or not last:
        return None
    return EntryUsage(
        count,
        parse_moment(str(last), now),
        confirmed,
        refuted,
        parse_moment(str(last_confirmed), now) if last_confirmed else None,
    )


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
        anchors=record.get("anchors"),
    )


def note_record(batch: Batch, entry_id: str, record: Mapping[str, Json], now: datetime) -> None:
    """Note the accesses of a record, and whether it has a status."""
    usage = read_usage(record, now)
    if usage is not None:
        batch.usage[entry_id] = usage
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


def suggestion_record(suggestion: Suggestion) -> JsonObject:
    """Return a decided suggestion as a record; its reason quotes entries and stays behind."""
    return {
        "id": suggestion.id,
        "suggestion_type": suggestion.type.value,
        "entry_ids": list(suggestion.entry_ids),
        "score": suggestion.score,
        "decision": suggestion.decision.value,
        "created_at": iso(suggestion.created_at),
        "resolved_at": iso(suggestion.resolved_at) if suggestion.resolved_at else None,
    }


def note_suggestion(batch: Batch, where: str, record: object, builder: EntryBuilder) -> None:
    """Add the decided suggestion that a record describes, or note why it is not valid."""
    try:
        batch.decided.append(_read_suggestion(record, builder))
    except (KeyError, TypeError, ValueError):
        batch.problems.append(f"{where}: not a decided suggestion")


def _read_suggestion(record: object, builder: EntryBuilder) -> Suggestion:
    if not isinstance(record, dict):
        raise TypeError("a record is an object")
    decision = Decision(record["decision"])
    if decision is Decision.PENDING:
        raise ValueError("a pending suggestion is not exported")
    score = float(record["score"])
    created = parse_moment(text_of(record, "created_at"), builder.now)
    return Suggestion(
        builder.new_id(),
        SuggestionType(record["suggestion_type"]),
        tuple(str(id_) for id_ in record["entry_ids"]),
        score if 0 <= score <= 1 else 0.0,
        "",
        created,
        decision,
        parse_moment(text_of(record, "resolved_at"), created),
    )
