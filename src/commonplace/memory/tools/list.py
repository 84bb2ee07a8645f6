"""`memory_list`: entries, newest first."""

from __future__ import annotations

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tier, Tool
from commonplace.memory.errors import INVALID_ENTRY_TYPE
from commonplace.memory.model import EntryFilter, EntryStatus, EntryType
from commonplace.memory.service import MemoryService
from commonplace.memory.tools.guard import guarded
from commonplace.memory.tools.shapes import EntrySummary, StatusName, TypeName, summary


class MemoryListInput(Arguments):
    type: TypeName | None = Field(None, description="Only this type.")
    project: str | None = Field(None, description="Only this project.")
    tag: str | None = Field(None, description="Only entries with this tag.")
    status: StatusName | None = Field(None, description="Only active, or only obsolete entries.")
    deleted: bool = Field(
        False, description="List deleted entries instead; memory_delete restores them."
    )
    limit: int = Field(20, ge=1, le=200, description="Most entries.")
    offset: int = Field(0, ge=0, le=1_000_000, description="Entries to skip.")


class MemoryListOutput(TypedDict):
    entries: list[EntrySummary]
    total: int
    has_more: bool


def list_tool(service: MemoryService) -> Tool:
    """Build `memory_list`."""

    async def handler(context: Context, arguments: MemoryListInput) -> MemoryListOutput:
        wanted = EntryFilter(
            type=EntryType(arguments.type) if arguments.type else None,
            project=arguments.project,
            tag=arguments.tag,
            status=EntryStatus(arguments.status) if arguments.status else None,
            deleted=arguments.deleted,
        )
        page = await service.browse(context.auth.tenant, wanted, arguments.limit, arguments.offset)
        return {
            "entries": [summary(entry) for entry in page.items],
            "total": page.total or 0,
            "has_more": page.has_more,
        }

    return Tool(
        name="memory_list",
        toolset="memory",
        title="List entries",
        description="Entries, newest first, by type, project, tag or status.",
        input=MemoryListInput,
        output=MemoryListOutput,
        handler=guarded(handler),
        tier=Tier.EXTENDED,
        field_codes={"type": INVALID_ENTRY_TYPE},
    )
