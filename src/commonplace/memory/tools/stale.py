"""`memory_stale`: entries that have not been used for long."""

from __future__ import annotations

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tier, Tool
from commonplace.kernel.clock import iso
from commonplace.memory.model import Entry, EntryUsage
from commonplace.memory.service import MemoryService
from commonplace.memory.tools.guard import guarded
from commonplace.memory.tools.shapes import DateTime, EntrySummary, summary


class MemoryStaleInput(Arguments):
    days: int | None = Field(
        None,
        ge=1,
        le=36_500,
        description="Days without a read or a change; default from the settings (90).",
    )
    limit: int = Field(20, ge=1, le=200, description="Most entries.")


class StaleEntry(EntrySummary):
    last_accessed: DateTime | None
    access_count: int


class MemoryStaleOutput(TypedDict):
    entries: list[StaleEntry]
    total: int
    days: int


def stale_tool(service: MemoryService) -> Tool:
    """Build `memory_stale`."""

    async def handler(context: Context, arguments: MemoryStaleInput) -> MemoryStaleOutput:
        stale = await service.stale(context.auth.tenant, arguments.days, arguments.limit)
        unread = EntryUsage()
        return {
            "entries": [_row(entry, stale.usage.get(entry.id, unread)) for entry in stale.entries],
            "total": stale.total,
            "days": stale.days,
        }

    return Tool(
        name="memory_stale",
        toolset="memory",
        title="Stale entries",
        description="Active entries not read or changed for long.",
        input=MemoryStaleInput,
        output=MemoryStaleOutput,
        handler=guarded(handler),
        tier=Tier.EXTENDED,
    )


def _row(entry: Entry, usage: EntryUsage) -> StaleEntry:
    return {
        **summary(entry),
        "last_accessed": iso(usage.last_accessed) if usage.last_accessed else None,
        "access_count": usage.access_count,
    }
