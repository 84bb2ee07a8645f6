"""`rekall_accept_suggestion` and `rekall_reject_suggestion`."""

from __future__ import annotations

from typing import NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tool
from commonplace.kernel.auth import Scope
from commonplace.memory.errors import DUPLICATE_ENTRY, SUGGESTION_NOT_FOUND
from commonplace.memory.model import RelationType
from commonplace.memory.results import AcceptResult
from commonplace.memory.service import MemoryService
from commonplace.memory.tools.guard import guarded
from commonplace.memory.tools.shapes import EntryRef, entry_ref


class DecideInput(Arguments):
    suggestion_id: str = Field(description="Id of the suggestion.")


class LinkCreated(TypedDict):
    source_id: str
    target_id: str
    relation_type: NotRequired[str]


class AcceptOutput(TypedDict):
    accepted: bool
    suggestion_type: str
    action_taken: str
    link_created: LinkCreated | None
    generalize_command: str | None
    merged_into: NotRequired[EntryRef]


class RejectOutput(TypedDict):
    rejected: bool
    suggestion_id: str


def accept_tool(service: MemoryService) -> Tool:
    """Build `rekall_accept_suggestion`."""

    async def handler(context: Context, arguments: DecideInput) -> AcceptOutput:
        return _show_accepted(
            await service.accept_suggestion(context.auth.tenant, arguments.suggestion_id)
        )

    return Tool(
        name="rekall_accept_suggestion",
        toolset="memory",
        title="Accept a suggestion",
        description="Accept a suggestion: create the link, merge duplicates, or get the command "
        "that drafts the pattern.",
        input=DecideInput,
        output=AcceptOutput,
        handler=guarded(handler),
        read_only=False,
        idempotent=False,
        scope=Scope.WRITE,
        errors=(SUGGESTION_NOT_FOUND, DUPLICATE_ENTRY),
    )


def _show_accepted(result: AcceptResult) -> AcceptOutput:
    link = result.link
    output: AcceptOutput = {
        "accepted": True,
        "suggestion_type": result.suggestion.type.value,
        "action_taken": "Accepted; run the command to draft the pattern from its sources",
        "link_created": None,
        "generalize_command": None,
    }
    if link is None:
        output["generalize_command"] = "rekall generalize " + " ".join(result.suggestion.entry_ids)
    else:
        output["action_taken"] = f"Created a {link.relation.value} link"
        if result.merge is not None:
            output["merged_into"] = entry_ref(result.merge.kept)
            output["action_taken"] = (
                f"Merged {result.merge.other.id} into {result.merge.kept.id}; the first is "
                "obsolete and leads there, both histories stay"
            )
        if link.relation is RelationType.CONTRADICTS:
            older, newer = sorted(link.ends)  # ids begin with the time
            output["action_taken"] += (
                "; if one of them holds, let it supersede the other: rekall_link("
                f"source_id={newer}, target_id={older}, relation_type=supersedes), or the other "
                "way round"
            )
        output["link_created"] = {
            "source_id": link.source_id,
            "target_id": link.target_id,
            "relation_type": link.relation.value,
        }
    return output


def reject_tool(service: MemoryService) -> Tool:
    """Build `rekall_reject_suggestion`."""

    async def handler(context: Context, arguments: DecideInput) -> RejectOutput:
        rejected = await service.reject_suggestion(context.auth.tenant, arguments.suggestion_id)
        return {"rejected": True, "suggestion_id": rejected.id}

    return Tool(
        name="rekall_reject_suggestion",
        toolset="memory",
        title="Reject a suggestion",
        description="Reject a suggestion for good.",
        input=DecideInput,
        output=RejectOutput,
        handler=guarded(handler),
        read_only=False,
        idempotent=False,
        scope=Scope.WRITE,
        errors=(SUGGESTION_NOT_FOUND,),
    )
