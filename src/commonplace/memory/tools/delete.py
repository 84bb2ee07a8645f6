"""`memory_delete`: hide an entry, or bring it back."""

from __future__ import annotations

from typing import NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tier, Tool
from commonplace.kernel.auth import Scope
from commonplace.memory.errors import DUPLICATE_ENTRY, ENTRY_NOT_FOUND
from commonplace.memory.service import MemoryService
from commonplace.memory.tools.guard import guarded


class MemoryDeleteInput(Arguments):
    id: str = Field(description="Id of the entry, or a prefix of 5 or more characters.")
    restore: bool = Field(False, description="Bring a deleted entry back.")


class MemoryDeleteOutput(TypedDict):
    id: str
    title: str
    deleted: bool
    hint: NotRequired[str]


def delete_tool(service: MemoryService) -> Tool:
    """Build `memory_delete`."""

    async def handler(context: Context, arguments: MemoryDeleteInput) -> MemoryDeleteOutput:
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

    return Tool(
        name="memory_delete",
        toolset="memory",
        title="Delete or restore an entry",
        description="Delete an entry; restore=true brings it back.",
        input=MemoryDeleteInput,
        output=MemoryDeleteOutput,
        handler=guarded(handler),
        tier=Tier.EXTENDED,
        read_only=False,
        destructive=True,
        frees_space=True,
        scope=Scope.WRITE,
        errors=(ENTRY_NOT_FOUND, DUPLICATE_ENTRY),
    )
