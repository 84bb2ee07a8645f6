"""`memory_stale`: entries whose code changed, and entries that have not been used for long."""

from __future__ import annotations

from typing import Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tier, Tool
from commonplace.kernel.clock import iso
from commonplace.memory.anchors import AnchorVerdict
from commonplace.memory.code.protocol import LastChange
from commonplace.memory.model import Entry, EntryUsage
from commonplace.memory.results import AnchoredEntry, StaleCode
from commonplace.memory.service import MemoryService
from commonplace.memory.tools.anchors import StaleAnchorOutput
from commonplace.memory.tools.guard import guarded
from commonplace.memory.tools.shapes import DateTime, EntrySummary, summary


class MemoryStaleInput(Arguments):
    days: int | None = Field(
        None,
        ge=1,
        le=36_500,
        description="Days without a read or a change; default from the settings (90).",
    )
    limit: int = Field(20, ge=1, le=200, description="Most entries of each list.")
    reason: Literal["any", "unused", "code"] = Field(
        "any", description="Only unused entries, or only those whose code changed or is gone."
    )


class StaleEntry(EntrySummary):
    last_accessed: DateTime | None
    access_count: int


class StaleCodeEntry(EntrySummary):
    anchors: list[StaleAnchorOutput]


class MemoryStaleOutput(TypedDict):
    entries: list[StaleEntry]
    total: int
    days: int
    code: NotRequired[list[StaleCodeEntry]]
    code_total: NotRequired[int]
    code_compared: NotRequired[int]


def stale_tool(service: MemoryService) -> Tool:
    """Build `memory_stale`."""

    async def handler(context: Context, arguments: MemoryStaleInput) -> MemoryStaleOutput:
        tenant = context.auth.tenant
        output: MemoryStaleOutput = {
            "entries": [],
            "total": 0,
            "days": arguments.days or service.policy.stale_days,
        }
        if arguments.reason != "code":
            stale = await service.stale(tenant, arguments.days, arguments.limit)
            unread = EntryUsage()
            output["entries"] = [
                _row(entry, stale.usage.get(entry.id, unread)) for entry in stale.entries
            ]
            output["total"] = stale.total
        if arguments.reason != "unused":
            code = await service.anchors.stale(tenant, arguments.limit)
            output["code"] = [_code_row(row, code) for row in code.entries]
            output["code_total"] = code.total
            output["code_compared"] = code.compared
        return output

    return Tool(
        name="memory_stale",
        toolset="memory",
        title="Stale entries",
        description="Active entries whose code changed or is gone (`code`), and those not read or "
        "changed for long (`entries`).",
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


def _code_row(row: AnchoredEntry, code: StaleCode) -> StaleCodeEntry:
    return {
        **summary(row.entry),
        "anchors": [
            _anchor_row(verdict, code.commits.get(verdict.anchor))
            for verdict in row.verdicts
            if verdict.is_stale
        ],
    }


def _anchor_row(verdict: AnchorVerdict, change: LastChange | None) -> StaleAnchorOutput:
    anchor = verdict.anchor
    output: StaleAnchorOutput = {
        "place": anchor.place,
        "state": verdict.state.value,
        "repository": anchor.repository,
    }
    if verdict.now and verdict.now != anchor.place:
        output["now"] = verdict.now
    if change is not None:
        output["commit"] = change.commit or "not committed"
        if change.date:
            output["committed_at"] = change.date
    return output
