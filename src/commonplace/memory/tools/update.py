"""`memory_update`: correct an entry."""

from __future__ import annotations

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tier, Tool
from commonplace.kernel.auth import Scope, Tenant
from commonplace.memory.anchors import CodeAnchor
from commonplace.memory.errors import (
    ANCHOR_NOT_FOUND,
    DUPLICATE_ENTRY,
    ENTRY_NOT_FOUND,
    ENTRY_TOO_LARGE,
    INVALID_ANCHOR,
    INVALID_ENTRY_TYPE,
    SECRET_REFUSED,
)
from commonplace.memory.model import EntryChanges, EntryStatus, EntryType, MemoryType
from commonplace.memory.service import MemoryService
from commonplace.memory.text import TITLE_CHARACTERS
from commonplace.memory.tools.anchors import MOST_ANCHORS, AnchorInput, read_anchor_inputs
from commonplace.memory.tools.guard import guarded
from commonplace.memory.tools.shapes import (
    EntrySummary,
    MemoryTypeName,
    StatusName,
    TypeName,
    summary,
)


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
    anchors: list[AnchorInput] | None = Field(
        None,
        max_length=MOST_ANCHORS,
        description="New anchors, replacing the old ones; without a hash: the code of today.",
    )


class MemoryUpdateOutput(TypedDict):
    entry: EntrySummary
    changed: list[str]
    revisions: int


def update_tool(service: MemoryService) -> Tool:
    """Build `memory_update`."""

    async def handler(context: Context, arguments: MemoryUpdateInput) -> MemoryUpdateOutput:
        changes = EntryChanges(
            type=EntryType(arguments.type) if arguments.type else None,
            title=arguments.title,
            content=arguments.content,
            tags=None if arguments.tags is None else tuple(arguments.tags),
            project=arguments.project,
            confidence=arguments.confidence,
            memory_type=MemoryType(arguments.memory_type) if arguments.memory_type else None,
            status=EntryStatus(arguments.status) if arguments.status else None,
            anchors=await _read_anchors(service, context.auth.tenant, arguments),
        )
        updated = await service.update(context.auth.tenant, arguments.id, changes)
        return {
            "entry": summary(updated.entry),
            "changed": sorted(updated.changed),
            "revisions": updated.revisions,
        }

    return Tool(
        name="memory_update",
        toolset="memory",
        title="Correct an entry",
        description="Correct, retag or retire an entry. Old versions stay in its history.",
        input=MemoryUpdateInput,
        output=MemoryUpdateOutput,
        handler=guarded(handler),
        tier=Tier.EXTENDED,
        read_only=False,
        scope=Scope.WRITE,
        field_codes={"type": INVALID_ENTRY_TYPE, "anchors": INVALID_ANCHOR},
        errors=(
            ENTRY_NOT_FOUND,
            INVALID_ENTRY_TYPE,
            SECRET_REFUSED,
            ENTRY_TOO_LARGE,
            DUPLICATE_ENTRY,
            INVALID_ANCHOR,
            ANCHOR_NOT_FOUND,
        ),
        redact=frozenset({"content"}),
    )


async def _read_anchors(
    service: MemoryService, tenant: Tenant, arguments: MemoryUpdateInput
) -> tuple[CodeAnchor, ...] | None:
    """Make the new anchors; one that names no repository is of the entry's project."""
    if arguments.anchors is None:
        return None
    repository = arguments.project
    if not repository and any(not anchor.repository for anchor in arguments.anchors):
        entry = await service.find(tenant, arguments.id)
        repository = entry.project or service.anchors.repository
    return read_anchor_inputs(arguments.anchors, repository)
