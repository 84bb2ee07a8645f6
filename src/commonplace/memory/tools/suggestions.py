"""`rekall_suggest_links` and `rekall_suggest_generalize`: list pending suggestions."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tool
from commonplace.kernel.clock import iso
from commonplace.memory.model import Entry, Suggestion
from commonplace.memory.service import MemoryService
from commonplace.memory.tools.guard import guarded
from commonplace.memory.tools.shapes import DateTime, EntryRef


class SuggestInput(Arguments):
    limit: int = Field(10, ge=1, le=50)


class PairSuggestion(TypedDict):
    id: str
    entry_a: EntryRef
    entry_b: EntryRef
    score: float
    reason: str
    created_at: DateTime
    suggestion_type: str


class SuggestLinksOutput(TypedDict):
    suggestions: list[PairSuggestion]
    total_pending: int


class ClusterSuggestion(TypedDict):
    id: str
    entries: list[EntryRef]
    score: float
    reason: str
    created_at: DateTime


class SuggestGeneralizeOutput(TypedDict):
    suggestions: list[ClusterSuggestion]
    total_pending: int


def suggest_links_tool(service: MemoryService) -> Tool:
    """Build `rekall_suggest_links`."""

    async def handler(context: Context, arguments: SuggestInput) -> SuggestLinksOutput:
        pending = await service.pending_pairs(context.auth.tenant, arguments.limit)
        return {
            "suggestions": [_pair(pair, pending.entries) for pair in pending.suggestions],
            "total_pending": pending.total,
        }

    return Tool(
        name="rekall_suggest_links",
        toolset="memory",
        title="Pending link suggestions",
        description="Pairs of entries that seem to belong together, say the same, or contradict "
        "each other (both sides quoted).",
        input=SuggestInput,
        output=SuggestLinksOutput,
        handler=guarded(handler),
    )


def suggest_generalize_tool(service: MemoryService) -> Tool:
    """Build `rekall_suggest_generalize`."""

    async def handler(context: Context, arguments: SuggestInput) -> SuggestGeneralizeOutput:
        pending = await service.pending_clusters(context.auth.tenant, arguments.limit)
        return {
            "suggestions": [_cluster(each, pending.entries) for each in pending.suggestions],
            "total_pending": pending.total,
        }

    return Tool(
        name="rekall_suggest_generalize",
        toolset="memory",
        title="Pending generalisation suggestions",
        description="Groups of three or more episodic entries about the same thing that could "
        "become one pattern.",
        input=SuggestInput,
        output=SuggestGeneralizeOutput,
        handler=guarded(handler),
    )


def _pair(suggestion: Suggestion, entries: Mapping[str, Entry]) -> PairSuggestion:
    first, second = suggestion.entry_ids
    return {
        "id": suggestion.id,
        "entry_a": _ref(first, entries),
        "entry_b": _ref(second, entries),
        "score": suggestion.score,
        "reason": suggestion.reason,
        "created_at": iso(suggestion.created_at),
        "suggestion_type": suggestion.type.value,
    }


def _cluster(suggestion: Suggestion, entries: Mapping[str, Entry]) -> ClusterSuggestion:
    return {
        "id": suggestion.id,
        "entries": [_ref(id_, entries) for id_ in suggestion.entry_ids],
        "score": suggestion.score,
        "reason": suggestion.reason,
        "created_at": iso(suggestion.created_at),
    }


def _ref(id_: str, entries: Mapping[str, Entry]) -> EntryRef:
    return {"id": id_, "title": entries[id_].title if id_ in entries else ""}
