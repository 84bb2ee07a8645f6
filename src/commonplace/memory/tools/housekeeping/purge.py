"""`memory_purge`: remove the text of deleted entries and of earlier states for good."""

from __future__ import annotations

from typing import NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tier, Tool
from commonplace.kernel.auth import Scope
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.memory.errors import ENTRY_NOT_FOUND
from commonplace.memory.housekeeping import PurgeCounts
from commonplace.memory.service import MemoryService
from commonplace.memory.tools.guard import guarded

MOST_NAMED = 1_000


class MemoryPurgeInput(Arguments):
    ids: list[str] | None = Field(
        None,
        max_length=MOST_NAMED,
        description="Only these entries: ids or prefixes. One that is not deleted stays, without "
        "its earlier states.",
    )
    older_than_days: int | None = Field(
        None, ge=0, le=36_500, description="What was deleted or replaced longer ago; 0 is all."
    )
    history: bool = Field(True, description="Also earlier states of entries that stay.")
    dry_run: bool = Field(False, description="Count what would be purged; change nothing.")


class MemoryPurgeOutput(TypedDict):
    purged: int
    ids: list[str]
    revisions: int
    dry_run: bool
    hint: NotRequired[str]


def purge_tool(service: MemoryService) -> Tool:
    """Build `memory_purge`."""

    async def handler(context: Context, arguments: MemoryPurgeInput) -> MemoryPurgeOutput:
        if (not arguments.ids) == (arguments.older_than_days is None):
            raise CommonplaceError(
                INVALID_ARGUMENT,
                "Give either ids or older_than_days.",
                hint="older_than_days=0 purges everything that is deleted.",
                details={"field": "older_than_days"},
            )
        counts = await service.housekeeping.purge(
            context.auth.tenant,
            arguments.ids or (),
            arguments.older_than_days or 0,
            history=arguments.history,
            dry_run=arguments.dry_run,
        )
        return _output(counts, arguments.dry_run)

    return Tool(
        name="memory_purge",
        toolset="memory",
        title="Purge deleted text",
        description="Remove the text of deleted entries and of earlier states for good. dry_run "
        "counts.",
        input=MemoryPurgeInput,
        output=MemoryPurgeOutput,
        handler=guarded(handler),
        tier=Tier.EXTENDED,
        read_only=False,
        destructive=True,
        frees_space=True,
        scope=_needed_scope,
        errors=(ENTRY_NOT_FOUND, INVALID_ARGUMENT),
    )


def _needed_scope(arguments: MemoryPurgeInput) -> Scope:
    """Return the scope of a call; what is purged cannot be brought back, so it is an operator's."""
    return Scope.READ if arguments.dry_run else Scope.ADMIN


def _output(counts: PurgeCounts, dry_run: bool) -> MemoryPurgeOutput:
    output: MemoryPurgeOutput = {
        "purged": len(counts.entry_ids),
        "ids": list(counts.entry_ids[:MOST_NAMED]),
        "revisions": counts.revisions,
        "dry_run": dry_run,
    }
    hints = []
    if counts.kept:
        hints.append(
            f"Entries that are named and not deleted: {counts.kept}. They stay, without earlier "
            "states; to purge their text, memory_delete them first"
        )
    if not counts.is_overwritten:
        hints.append(
            "The text is removed; the free space that held it is overwritten later, because the "
            "database is being read: purge again to be sure"
        )
    if hints:
        output["hint"] = ". ".join(hints)
    return output
