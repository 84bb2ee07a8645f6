"""Our own tools, called by name and listed with --all-tools: list, update, delete and restore,
related, stale.
"""

from __future__ import annotations

from typing import Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tier, Tool
from commonplace.kernel.auth import Scope
from commonplace.kernel.clock import iso
from commonplace.memory.errors import (
    DUPLICATE_ENTRY,
    ENTRY_NOT_FOUND,
    ENTRY_TOO_LARGE,
    INVALID_ENTRY_TYPE,
    SECRET_REFUSED,
)
from commonplace.memory.model import EntryFilter, EntryStatus, EntryType, RelationType
from commonplace.memory.results import LinkGraph
from commonplace.memory.service import GRAPH_DEPTH, MemoryService
from commonplace.memory.text import TITLE_CHARACTERS
from commonplace.memory.tools.guard import handled
from commonplace.memory.tools.shapes import (
    EntrySummary,
    MemoryTypeName,
    Moment,
    RelationName,
    StatusName,
    TypeName,
    summary,
)


class MemoryListInput(Arguments):
    type: TypeName | None = Field(None, description="Only this type.")
    project: str | None = Field(None, description="Only this project.")
    tag: str | None = Field(None, description="Only entries with this tag.")
    status: StatusName | None = Field(None, description="Only active, or only obsolete entries.")
    deleted: bool = Field(
        False, description="List deleted entries instead; memory_delete restores them."
    )
    limit: int = Field(20, ge=1, le=200, description="Most entries.")
    offset: int = Field(0, ge=0, le=1_000_000, description="Entries to pass over.")


class MemoryListOutput(TypedDict):
    entries: list[EntrySummary]
    total: int
    has_more: bool


class MemoryUpdateInput(Arguments):
    id: str = Field(description="Id of the entry, or a prefix of 5 or more characters.")
    title: str | None = Field(None, max_length=TITLE_CHARACTERS, description="New title.")
    content: str | None = Field(None, description="New content.")
    tags: list[str] | None = Field(None, description="New tags, replacing the old ones.")
    type: TypeName | None = Field(None, description="New type.")
    project: str | None = Field(None, description="New project; empty for none.")
    confidence: int | None = Field(None, ge=0, le=5, description="New confidence (0 to 5).")
    memory_type: MemoryTypeName | None = Field(None, description="New memory type.")
    status: StatusName | None = Field(
        None, description="obsolete to retire it, active to bring it back."
    )


class MemoryUpdateOutput(TypedDict):
    entry: EntrySummary
    changed: list[str]
    revisions: int


class MemoryDeleteInput(Arguments):
    id: str = Field(description="Id of the entry, or a prefix of 5 or more characters.")
    restore: bool = Field(False, description="Bring a deleted entry back.")


class MemoryDeleteOutput(TypedDict):
    id: str
    title: str
    deleted: bool
    hint: NotRequired[str]


class MemoryRelatedInput(Arguments):
    id: str = Field(description="Id of the entry, or a prefix of 5 or more characters.")
    depth: int = Field(1, ge=1, le=GRAPH_DEPTH, description="Steps from the entry.")
    relation_type: RelationName | None = Field(None, description="Only links of this kind.")


class GraphNode(TypedDict):
    id: str
    type: str
    title: str
    status: str
    distance: int


class GraphEdge(TypedDict):
    source_id: str
    target_id: str
    relation_type: str


class MemoryRelatedOutput(TypedDict):
    entries: list[GraphNode]
    links: list[GraphEdge]
    truncated: bool


class MemoryStaleInput(Arguments):
    days: int | None = Field(
        None,
        ge=1,
        le=36_500,
        description="Not read or changed for so many days; default from the settings (90).",
    )
    limit: int = Field(20, ge=1, le=200, description="Most entries.")


class StaleEntry(EntrySummary):
    last_accessed: Moment | None
    access_count: int


class MemoryStaleOutput(TypedDict):
    entries: list[StaleEntry]
    total: int
    days: int


def extended_tools(service: MemoryService) -> tuple[Tool, ...]:
    async def list_entries(context: Context, arguments: MemoryListInput) -> dict[str, Any]:
        wanted = EntryFilter(
            type=EntryType(arguments.type) if arguments.type else None,
            project=arguments.project,
            tag=arguments.tag,
            status=EntryStatus(arguments.status) if arguments.status else None,
            deleted=arguments.deleted,
        )
        page = await service.browse(context.auth.tenant, wanted, arguments.limit, arguments.offset)
        more = arguments.offset + len(page.entries) < page.total
        return {
            "entries": [summary(entry) for entry in page.entries],
            "total": page.total,
            "has_more": more,
        }

    async def update(context: Context, arguments: MemoryUpdateInput) -> dict[str, Any]:
        changes = {
            name: value
            for name, value in arguments.model_dump(exclude={"id"}).items()
            if value is not None
        }
        entry, changed = await service.update(context.auth.tenant, arguments.id, changes)
        revisions = await service.history(context.auth.tenant, entry.id)
        return {"entry": summary(entry), "changed": sorted(changed), "revisions": len(revisions)}

    async def delete(context: Context, arguments: MemoryDeleteInput) -> dict[str, Any]:
        if arguments.restore:
            entry = await service.restore(context.auth.tenant, arguments.id)
            return {"id": entry.id, "title": entry.title, "deleted": False}
        entry = await service.delete(context.auth.tenant, arguments.id)
        return {
            "id": entry.id,
            "title": entry.title,
            "deleted": True,
            "hint": "memory_delete with restore=true brings it back",
        }

    async def related(context: Context, arguments: MemoryRelatedInput) -> dict[str, Any]:
        return graph(
            await service.related(context.auth.tenant, arguments.id, arguments.depth),
            RelationType(arguments.relation_type) if arguments.relation_type else None,
        )

    async def stale(context: Context, arguments: MemoryStaleInput) -> dict[str, Any]:
        entries, total, usage = await service.stale(
            context.auth.tenant, arguments.days, arguments.limit
        )
        rows = []
        for entry in entries:
            used = usage.get(entry.id)
            last = used.last_accessed if used else None
            rows.append(
                {
                    **summary(entry),
                    "last_accessed": iso(last) if last else None,
                    "access_count": used.access_count if used else 0,
                }
            )
        return {
            "entries": rows,
            "total": total,
            "days": arguments.days or service.policy.stale_days,
        }

    return (
        _tool(
            "memory_list",
            "List entries",
            "Entries, newest first, by type, project, tag or status.",
            MemoryListInput,
            MemoryListOutput,
            list_entries,
        ),
        _tool(
            "memory_update",
            "Correct an entry",
            "Correct, retag or retire an entry. What it was stays in its history.",
            MemoryUpdateInput,
            MemoryUpdateOutput,
            update,
            writes=True,
            errors=(
                ENTRY_NOT_FOUND,
                INVALID_ENTRY_TYPE,
                SECRET_REFUSED,
                ENTRY_TOO_LARGE,
                DUPLICATE_ENTRY,
            ),
            redact=frozenset({"content"}),
        ),
        _tool(
            "memory_delete",
            "Delete or restore an entry",
            "Take an entry out of sight; restore=true brings it back.",
            MemoryDeleteInput,
            MemoryDeleteOutput,
            delete,
            writes=True,
            destructive=True,
            frees_space=True,
            errors=(ENTRY_NOT_FOUND, DUPLICATE_ENTRY),
        ),
        _tool(
            "memory_related",
            "Entries around one",
            "The graph of links around an entry.",
            MemoryRelatedInput,
            MemoryRelatedOutput,
            related,
            errors=(ENTRY_NOT_FOUND,),
        ),
        _tool(
            "memory_stale",
            "Stale entries",
            "Active entries that nobody has read or changed for long.",
            MemoryStaleInput,
            MemoryStaleOutput,
            stale,
        ),
    )


def graph(found: LinkGraph, relation: RelationType | None = None) -> dict[str, Any]:
    nodes = [
        {
            "id": id_,
            "type": found.entries[id_].type.value,
            "title": found.entries[id_].title,
            "status": found.entries[id_].status.value,
            "distance": far,
        }
        for id_, far in found.distance.items()
    ]
    edges = [
        {
            "source_id": link.source_id,
            "target_id": link.target_id,
            "relation_type": link.relation.value,
        }
        for link in found.links
        if relation is None or link.relation is relation
    ]
    if relation is not None:
        ends = {end for edge in edges for end in (edge["source_id"], edge["target_id"])} | {
            found.root.id
        }
        nodes = [node for node in nodes if node["id"] in ends]
    nodes.sort(key=lambda node: (node["distance"], node["id"]))
    return {"entries": nodes, "links": edges, "truncated": found.truncated}


def _tool(
    name: str,
    title: str,
    description: str,
    input_: type[Arguments],
    output: Any,
    handler: Any,
    *,
    writes: bool = False,
    destructive: bool = False,
    frees_space: bool = False,
    errors: tuple[Any, ...] = (),
    redact: frozenset[str] = frozenset(),
) -> Tool:
    return Tool(
        name=name,
        toolset="memory",
        title=title,
        description=description,
        input=input_,
        output=output,
        handler=handled(handler),
        tier=Tier.EXTENDED,
        read_only=not writes,
        destructive=destructive,
        frees_space=frees_space,
        scope=Scope.WRITE if writes else Scope.READ,
        field_codes={"type": INVALID_ENTRY_TYPE} if "type" in input_.model_fields else {},
        errors=errors,
        redact=redact,
    )
