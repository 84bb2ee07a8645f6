"""Output shapes that several tools of memory share, and how values become them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import WithJsonSchema
from typing_extensions import TypedDict

from commonplace.kernel.clock import iso
from commonplace.memory.model import Entry

# Closed sets of the contract as inputs name them; the model's enums have the same values, which a
# test holds.
TypeName = Literal["bug", "pattern", "decision", "pitfall", "config", "reference"]
RelationName = Literal["related", "supersedes", "derived_from", "contradicts"]
MemoryTypeName = Literal["episodic", "semantic"]
StatusName = Literal["active", "obsolete"]


Moment = Annotated[str, WithJsonSchema({"type": "string", "format": "date-time"})]


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
    created_at: Moment
    updated_at: Moment
    superseded_by: NotRequired[str]


def entry_ref(entry: Entry) -> dict[str, Any]:
    return {"id": entry.id, "title": entry.title}


def summary(entry: Entry) -> dict[str, Any]:
    shown: dict[str, Any] = {
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
        shown["superseded_by"] = entry.superseded_by
    return shown
