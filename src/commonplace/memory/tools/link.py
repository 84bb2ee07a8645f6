"""`rekall_link`: link two entries."""

from __future__ import annotations

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tool
from commonplace.kernel.auth import Scope
from commonplace.memory.errors import (
    ENTRY_NOT_FOUND,
    INVALID_RELATION_TYPE,
    LINK_ALREADY_EXISTS,
    SELF_LINK_ERROR,
)
from commonplace.memory.model import RelationType
from commonplace.memory.service import MemoryService
from commonplace.memory.tools.guard import guarded
from commonplace.memory.tools.shapes import EntryRef, RelationName, entry_ref


class MemoryLinkInput(Arguments):
    source_id: str = Field(description="Id of the source entry.")
    target_id: str = Field(description="Id of the target entry.")
    relation_type: RelationName = Field(
        "related", description="supersedes makes the target obsolete."
    )


class MemoryLinkOutput(TypedDict):
    created: bool
    link_id: str
    source: EntryRef
    target: EntryRef
    relation_type: str


def link_tool(service: MemoryService) -> Tool:
    """Build `rekall_link`."""

    async def handler(context: Context, arguments: MemoryLinkInput) -> MemoryLinkOutput:
        linked = await service.link(
            context.auth.tenant,
            arguments.source_id,
            arguments.target_id,
            RelationType(arguments.relation_type),
        )
        return {
            "created": True,
            "link_id": linked.link.id,
            "source": entry_ref(linked.source),
            "target": entry_ref(linked.target),
            "relation_type": linked.link.relation.value,
        }

    return Tool(
        name="rekall_link",
        toolset="memory",
        title="Link two entries",
        description="Link two entries.",
        input=MemoryLinkInput,
        output=MemoryLinkOutput,
        handler=guarded(handler),
        read_only=False,
        idempotent=False,
        scope=Scope.WRITE,
        field_codes={"relation_type": INVALID_RELATION_TYPE},
        errors=(ENTRY_NOT_FOUND, INVALID_RELATION_TYPE, SELF_LINK_ERROR, LINK_ALREADY_EXISTS),
    )
