"""`rekall_suggest_links`, `rekall_suggest_generalize`, and the decision on what they list."""

from __future__ import annotations

from typing import Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tool
from commonplace.kernel.auth import Scope
from commonplace.kernel.clock import iso
from commonplace.memory.errors import SUGGESTION_NOT_FOUND
from commonplace.memory.model import Entry, Suggestion, SuggestionType
from commonplace.memory.service import MemoryService
from commonplace.memory.tools.guard import handled
from commonplace.memory.tools.shapes import EntryRef, Moment
from commonplace.memory.use_cases.suggestions import CLUSTERS, PAIRS


class SuggestInput(Arguments):
    limit: int = Field(10, ge=1, le=50, description="Most suggestions.")


class PairSuggestion(TypedDict):
    id: str
    entry_a: EntryRef
    entry_b: EntryRef
    score: float
    reason: str
    created_at: Moment
    suggestion_type: str


class SuggestLinksOutput(TypedDict):
    suggestions: list[PairSuggestion]
    total_pending: int


class ClusterSuggestion(TypedDict):
    id: str
    entries: list[EntryRef]
    score: float
    reason: str
    created_at: Moment


class SuggestGeneralizeOutput(TypedDict):
    suggestions: list[ClusterSuggestion]
    total_pending: int


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


class RejectOutput(TypedDict):
    rejected: bool
    suggestion_id: str


def suggestion_tools(service: MemoryService) -> tuple[Tool, ...]:
    async def suggest_links(context: Context, arguments: SuggestInput) -> dict[str, Any]:
        found, total, entries = await service.suggestions.pending(
            context.auth.tenant, PAIRS, arguments.limit
        )
        return {
            "suggestions": [_pair(suggestion, entries) for suggestion in found],
            "total_pending": total,
        }

    async def suggest_generalize(context: Context, arguments: SuggestInput) -> dict[str, Any]:
        found, total, entries = await service.suggestions.pending(
            context.auth.tenant, CLUSTERS, arguments.limit
        )
        return {
            "suggestions": [_cluster(suggestion, entries) for suggestion in found],
            "total_pending": total,
        }

    async def accept(context: Context, arguments: DecideInput) -> dict[str, Any]:
        suggestion, link = await service.suggestions.accept(
            context.auth.tenant, arguments.suggestion_id
        )
        if link is None:
            command = "rekall generalize " + " ".join(suggestion.entry_ids)
            action = "Accepted; run the command to draft the pattern from its sources"
        else:
            command, action = None, f"Created a {link.relation.value} link"
        return {
            "accepted": True,
            "suggestion_type": suggestion.type.value,
            "action_taken": action,
            "link_created": None
            if link is None
            else {
                "source_id": link.source_id,
                "target_id": link.target_id,
                "relation_type": link.relation.value,
            },
            "generalize_command": command,
        }

    async def reject(context: Context, arguments: DecideInput) -> dict[str, Any]:
        suggestion = await service.suggestions.reject(context.auth.tenant, arguments.suggestion_id)
        return {"rejected": True, "suggestion_id": suggestion.id}

    return (
        Tool(
            name="rekall_suggest_links",
            toolset="memory",
            title="Pending link suggestions",
            description="Pairs of entries that seem to belong together, and pairs that "
            "contradict each other (both sides quoted).",
            input=SuggestInput,
            output=SuggestLinksOutput,
            handler=handled(suggest_links),
        ),
        Tool(
            name="rekall_suggest_generalize",
            toolset="memory",
            title="Pending generalisation suggestions",
            description="Groups of three or more episodic entries that tell of the same thing "
            "and could become one pattern.",
            input=SuggestInput,
            output=SuggestGeneralizeOutput,
            handler=handled(suggest_generalize),
        ),
        Tool(
            name="rekall_accept_suggestion",
            toolset="memory",
            title="Accept a suggestion",
            description="Accept a suggestion: creates the link, or returns the command that "
            "drafts the general pattern.",
            input=DecideInput,
            output=AcceptOutput,
            handler=handled(accept),
            read_only=False,
            idempotent=False,
            scope=Scope.WRITE,
            errors=(SUGGESTION_NOT_FOUND,),
        ),
        Tool(
            name="rekall_reject_suggestion",
            toolset="memory",
            title="Reject a suggestion",
            description="Reject a suggestion. It never appears again.",
            input=DecideInput,
            output=RejectOutput,
            handler=handled(reject),
            read_only=False,
            idempotent=False,
            scope=Scope.WRITE,
            errors=(SUGGESTION_NOT_FOUND,),
        ),
    )


def _pair(suggestion: Suggestion, entries: dict[str, Entry]) -> dict[str, Any]:
    first, second = suggestion.entry_ids
    return {
        "id": suggestion.id,
        "entry_a": _named(first, entries),
        "entry_b": _named(second, entries),
        "score": suggestion.score,
        "reason": suggestion.reason,
        "created_at": iso(suggestion.created_at),
        "suggestion_type": SuggestionType(suggestion.type).value,
    }


def _cluster(suggestion: Suggestion, entries: dict[str, Entry]) -> dict[str, Any]:
    return {
        "id": suggestion.id,
        "entries": [_named(id_, entries) for id_ in suggestion.entry_ids],
        "score": suggestion.score,
        "reason": suggestion.reason,
        "created_at": iso(suggestion.created_at),
    }


def _named(id_: str, entries: dict[str, Entry]) -> dict[str, str]:
    return {"id": id_, "title": entries[id_].title if id_ in entries else ""}
