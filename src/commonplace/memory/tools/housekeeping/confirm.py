"""`memory_confirm`: report that an entry helped, or that it was wrong."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tier, Tool
from commonplace.kernel.auth import Scope
from commonplace.memory.errors import ENTRY_NOT_FOUND, SECRET_REFUSED
from commonplace.memory.housekeeping import UseOutcome
from commonplace.memory.service import MemoryService
from commonplace.memory.tools.guard import guarded
from commonplace.memory.use_cases.housekeeping import NOTE_CHARACTERS


class MemoryConfirmInput(Arguments):
    id: str = Field(description="Id of the entry, or a prefix of 5 or more characters.")
    outcome: Literal["confirmed", "refuted"] = Field(
        "confirmed", description="It helped, or it was wrong."
    )
    note: str = Field("", max_length=NOTE_CHARACTERS, description="Why, in a sentence.")


class MemoryConfirmOutput(TypedDict):
    id: str
    title: str
    confidence: int
    strength: float
    confirmed: int
    refuted: int


def confirm_tool(service: MemoryService) -> Tool:
    """Build `memory_confirm`."""

    async def handler(context: Context, arguments: MemoryConfirmInput) -> MemoryConfirmOutput:
        entry, usage, reliability = await service.housekeeping.report_use(
            context.auth.tenant, arguments.id, UseOutcome(arguments.outcome), arguments.note
        )
        return {
            "id": entry.id,
            "title": entry.title,
            "confidence": entry.confidence,
            "strength": reliability.strength,
            "confirmed": usage.confirmed,
            "refuted": usage.refuted,
        }

    return Tool(
        name="memory_confirm",
        toolset="memory",
        title="Confirm or refute an entry",
        description="Report that an entry helped or was wrong. Its strength moves, its confidence "
        "stays.",
        input=MemoryConfirmInput,
        output=MemoryConfirmOutput,
        handler=guarded(handler),
        tier=Tier.EXTENDED,
        read_only=False,
        idempotent=False,
        scope=Scope.WRITE,
        errors=(ENTRY_NOT_FOUND, SECRET_REFUSED),
        redact=frozenset({"note"}),
    )
