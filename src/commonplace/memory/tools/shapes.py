"""Wire shapes that several tools of memory share."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import WithJsonSchema
from typing_extensions import TypedDict

from commonplace.kernel.clock import iso
from commonplace.memory.model import Entry

# Closed sets of the contract; a test compares them with the enums of the model.
TypeName = Literal["bug", "pattern", "decision", "pitfall", "config", "reference"]
RelationName = Literal["related", "supersedes", "derived_from", "contradicts"]
MemoryTypeName = Literal["episodic", "semantic"]
StatusName = Literal["active", "obsolete"]

DateTime = Annotated[str, WithJsonSchema({"type": "string", "format": "date-time"})]


class EntryRef(TypedDict):
    id: str
    title: str


class EntrySummary(TypedDict):
    """An entry in a list: everything but its text."""

    id: str
    type: str
    title: str
    tags: list[str]
    project: str | None
    confidence: int
    status: str
    memory_type: str
    created_at: DateTime
    updated_at: DateTime
    superseded_by: NotRequired[str]


def entry_ref(entry: Entry) -> EntryRef:
    """Return the id and title of an entry."""
    return {"id": entry.id, "title": entry.title}


def summary(entry: Entry) -> EntrySummary:
    """Return everything of an entry but its text."""
    output: EntrySummary = {
        "id": entry.id,
        "type": entry.type.value,
        "title": entry.title,
        "tags": list(entry.tags),
        "project": entry.project,
        "confidence": entry.confidence,
        "status": entry.status.value,
        "memory_type": entry.memory_type.value,
        "created_at": iso(entry.created_at),
        "updated_at": iso(entry.updated_at),
    }
    if entry.superseded_by:
        output["superseded_by"] = entry.superseded_by
    return output
