"""`memory_decide`: accept or reject many suggestions at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tier, Tool
from commonplace.kernel.auth import Scope
from commonplace.memory.housekeeping import MOST_DECIDED, BulkDecision, SuggestionFilter
from commonplace.memory.model import Decision, Entry, Suggestion, SuggestionType
from commonplace.memory.service import MemoryService
from commonplace.memory.tools.guard import guarded
from commonplace.memory.tools.shapes import EntryRef
from commonplace.memory.use_cases.decisions import SHOWN

SuggestionTypeName = Literal["link", "contradiction", "duplicate", "generalize"]
COMMANDS_SHOWN = 20


class MemoryDecideInput(Arguments):
    decision: Literal["accept", "reject"] = Field(description="What to decide about all of them.")
    types: list[SuggestionTypeName] | None = Field(
        None, description="Only these types.", max_length=4
    )
    min_score: float = Field(0.0, ge=0, le=1, description="Lowest score.")
    max_score: float = Field(1.0, ge=0, le=1, description="Highest score.")
    project: str | None = Field(None, description="Only if all entries are of this project.")
    ids: list[str] | None = Field(
        None, max_length=MOST_DECIDED, description="Only these suggestions."
    )
    dry_run: bool = Field(False, description="Count what would be decided; change nothing.")
    limit: int = Field(20, ge=0, le=SHOWN, description="Suggestions that a dry run shows.")


class PendingSuggestion(TypedDict):
    id: str
    type: str
    score: float
    reason: str
    entries: list[EntryRef]


class RefusedSuggestion(TypedDict):
    id: str
    reason: str


class MemoryDecideOutput(TypedDict):
    decision: str
    dry_run: bool
    matched: int
    matched_by_type: dict[str, int]
    decided: int
    links_created: int
    merged: int
    remaining: int
    suggestions: NotRequired[list[PendingSuggestion]]
    refused: NotRequired[list[RefusedSuggestion]]
    generalize_commands: NotRequired[list[str]]
    hint: NotRequired[str]


def decide_tool(service: MemoryService) -> Tool:
    """Build `memory_decide`."""

    async def handler(context: Context, arguments: MemoryDecideInput) -> MemoryDecideOutput:
        names = arguments.types or [type_.value for type_ in SuggestionType]
        wanted = SuggestionFilter(
            tuple(SuggestionType(name) for name in names),
            arguments.min_score,
            arguments.max_score,
            arguments.project,
            tuple(id_.strip().upper() for id_ in arguments.ids or ()),
        )
        if arguments.ids is not None and not arguments.ids:
            wanted = SuggestionFilter(types=())  # none were chosen
        decision = Decision.ACCEPTED if arguments.decision == "accept" else Decision.REJECTED
        result = await service.decide_suggestions(
            context.auth.tenant, wanted, decision, dry_run=arguments.dry_run
        )
        output = _output(result)
        if arguments.dry_run:
            shown = result.shown[: arguments.limit]
            output["suggestions"] = [_pending(each, result.entries) for each in shown]
        return output

    return Tool(
        name="memory_decide",
        toolset="memory",
        title="Decide many suggestions",
        description="Accept or reject all pending suggestions of some types, scores or a project. "
        "Accepted duplicates are merged. dry_run counts.",
        input=MemoryDecideInput,
        output=MemoryDecideOutput,
        handler=guarded(handler),
        tier=Tier.EXTENDED,
        read_only=False,
        idempotent=False,
        scope=_needed_scope,
    )


def _needed_scope(arguments: MemoryDecideInput) -> Scope:
    return Scope.READ if arguments.dry_run else Scope.WRITE


def _pending(suggestion: Suggestion, entries: Mapping[str, Entry]) -> PendingSuggestion:
    return {
        "id": suggestion.id,
        "type": suggestion.type.value,
        "score": suggestion.score,
        "reason": suggestion.reason,
        "entries": [
            {"id": id_, "title": entries[id_].title if id_ in entries else ""}
            for id_ in suggestion.entry_ids
        ],
    }


def _output(result: BulkDecision) -> MemoryDecideOutput:
    output: MemoryDecideOutput = {
        "decision": result.decision.value,
        "dry_run": result.dry_run,
        "matched": sum(result.matched.values()),
        "matched_by_type": {type_.value: count for type_, count in result.matched.items()},
        "decided": len(result.decided),
        "links_created": len(result.links),
        "merged": len(result.merged),
        "remaining": result.remaining,
    }
    if result.refused:
        output["refused"] = [
            {"id": id_, "reason": reason} for id_, reason in result.refused.items()
        ]
    clusters = [s for s in result.decided if s.type is SuggestionType.GENERALIZE]
    if clusters and result.decision is Decision.ACCEPTED:
        output["generalize_commands"] = [
            "rekall generalize " + " ".join(cluster.entry_ids)
            for cluster in clusters[:COMMANDS_SHOWN]
        ]
    if hint := _hint(result):
        output["hint"] = hint
    return output


def _hint(result: BulkDecision) -> str:
    """Say why a decision left some suggestions that matched."""
    reasons = []
    if result.decided_elsewhere:
        reasons.append(f"Decided elsewhere meanwhile: {result.decided_elsewhere}")
    if result.remaining and not result.dry_run:
        reasons.append(f"One call decides at most {MOST_DECIDED}; call again for the rest")
    return ". ".join(reasons)
