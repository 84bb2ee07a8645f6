"""`context_feedback`: what was used of a pack, so that later packs are better."""

from __future__ import annotations

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.context.errors import PACK_NOT_FOUND
from commonplace.context.service import ContextService
from commonplace.dispatch.tool import Arguments, Context, Tier, Tool
from commonplace.kernel.json_types import JsonObject

MAX_REFS = 200


class ContextFeedbackInput(Arguments):
    pack_id: str = Field(max_length=64, description="Of the pack.")
    used: list[str] = Field(
        default_factory=list, max_length=MAX_REFS, description="References that helped."
    )
    useless: list[str] = Field(
        default_factory=list, max_length=MAX_REFS, description="References that did not."
    )


class ContextFeedbackOutput(TypedDict):
    counted: list[str]
    repeated: list[str]
    unknown: list[str]


def feedback_tool(service: ContextService) -> Tool:
    """Build `context_feedback`."""

    async def handler(ctx: Context, args: ContextFeedbackInput) -> JsonObject:
        result = await service.feedback(ctx.auth, args.pack_id, args.used, args.useless)
        return {
            "counted": list(result.counted),
            "repeated": list(result.repeated),
            "unknown": list(result.unknown),
        }

    return Tool(
        name="context_feedback",
        toolset="context",
        title="Feedback about a context pack",
        description="Say which references of a pack helped. Counts as a use of them, and moves "
        "them a little in later packs; each reference once for each pack.",
        input=ContextFeedbackInput,
        output=ContextFeedbackOutput,
        handler=handler,
        tier=Tier.EXTENDED,
        errors=(PACK_NOT_FOUND,),
    )
