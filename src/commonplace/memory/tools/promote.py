"""`memory_promote`: a rule of the shared catalogue from lessons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, NotRequired

from pydantic import Field, model_validator
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tier, Tool
from commonplace.dispatch.warnings import describe_hidden
from commonplace.kernel.auth import Scope
from commonplace.kernel.clock import utc_now
from commonplace.kernel.errors import NOT_AVAILABLE, CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.memory.errors import ENTRY_NOT_FOUND, SECRET_REFUSED, SUGGESTION_NOT_FOUND
from commonplace.memory.service import MemoryService
from commonplace.memory.tools.guard import guarded
from commonplace.memory.tools.shapes import EntryRef
from commonplace.memory.use_cases.promotion.draft import RuleDraft
from commonplace.memory.use_cases.promotion.lessons import AnchorCheck, StaleLessons
from commonplace.memory.use_cases.promotion.submission import Promotion, RuleCatalogue, RulePreview

SHOWN_TEXTS = ("title", "body", "description", "owner")
LONG_BODY = 50_000  # characters, where the catalogue warns of a rule too
SUBMIT_TOOL = "instructions_review_submit"  # who may not use it may not promote


class MemoryPromoteInput(Arguments):
    entries: list[str] = Field(
        default_factory=list, max_length=50, description="Ids of the lessons, or prefixes."
    )
    suggestion: str | None = Field(
        None, max_length=64, description="Id of a generalisation, instead of entries."
    )
    id: str = Field("", max_length=120, description="Id of the rule; default from its title.")
    title: str = Field("", max_length=200, description="Default: that of the lesson.")
    body: str = Field("", max_length=100_000, description="Default: the text of the lessons.")
    description: str = Field("", max_length=600, description="When it applies, in a sentence.")
    owner: str = Field("", max_length=200, description="Default: you.")
    applies_to: list[str] = Field(
        default_factory=list, max_length=50, description="Globs of the files it is about."
    )
    languages: list[str] = Field(default_factory=list, max_length=25)
    categories: list[str] = Field(
        default_factory=list, max_length=25, description="Default: the tags of the lessons."
    )
    requirement: Literal["mandatory", "critical", "recommended", "optional"] = "recommended"
    priority: int = Field(50, ge=1, le=100, description="1 is highest.")
    preview_hash: str | None = Field(
        None, max_length=64, description="Of the preview that you saw: submits it for review."
    )

    @model_validator(mode="after")
    def _require_lessons(self) -> MemoryPromoteInput:
        if bool(self.entries) == (self.suggestion is not None):
            raise ValueError("give entries or a suggestion")
        return self

    def draft(self) -> RuleDraft:
        """Return what is given of the rule."""
        return RuleDraft(
            self.id,
            self.title,
            self.body,
            self.description,
            self.owner,
            tuple(self.applies_to),
            tuple(self.languages),
            tuple(self.categories),
            self.requirement,
            self.priority,
        )


class PromotedLesson(EntryRef):
    stale: NotRequired[str]


class MemoryPromoteOutput(TypedDict):
    rule: JsonObject
    lessons: int
    sources: list[PromotedLesson]
    preview_hash: str
    submitted: bool
    status: NotRequired[str]
    review_hash: NotRequired[str]
    promoted: NotRequired[list[str]]
    secrets_masked: NotRequired[list[str]]
    warnings: NotRequired[list[str]]
    hint: str


def promote_tool(service: MemoryService, rules: Callable[[], RuleCatalogue] | None = None) -> Tool:
    """Build `memory_promote`; without rules it answers NOT_AVAILABLE."""

    async def handler(context: Context, arguments: MemoryPromoteInput) -> MemoryPromoteOutput:
        if rules is None:
            raise CommonplaceError(NOT_AVAILABLE, "This server has no catalogue of rules.")
        judge = StaleLessons(service.store, (AnchorCheck(service.anchors),))
        promotion = Promotion(service.store, judge, rules(), utc_now, service.policy.secrets)
        draft = arguments.draft()
        seen = await promotion.preview(context.auth, arguments.entries, arguments.suggestion, draft)
        answer = _show(seen)
        if arguments.preview_hash is None:
            return answer
        submitted = await promotion.submit(context.auth, seen, arguments.preview_hash)
        answer |= {
            "submitted": True,
            "status": submitted.status,
            "hint": f"{submitted.id} waits for a review: instructions_review_show.",
        }
        if submitted.review_hash is not None:
            answer["review_hash"] = submitted.review_hash
        return answer

    return Tool(
        name="memory_promote",
        toolset="memory",
        title="From lesson to rule",
        description="Draft a rule from lessons and show what every tenant would read; with "
        "preview_hash submit it for review.",
        input=MemoryPromoteInput,
        output=MemoryPromoteOutput,
        handler=guarded(handler),
        tier=Tier.EXTENDED,
        read_only=False,
        idempotent=False,
        scope=lambda args: Scope.READ if args.preview_hash is None else Scope.WRITE,
        writes_catalogue=lambda args: args.preview_hash is not None,
        reaches=_reach,
        errors=(ENTRY_NOT_FOUND, SUGGESTION_NOT_FOUND, SECRET_REFUSED, NOT_AVAILABLE),
        redact=frozenset({"body"}),
    )


def _reach(arguments: Mapping[str, Json]) -> tuple[str, ...]:
    return (SUBMIT_TOOL,) if arguments.get("preview_hash") is not None else ()


def _show(seen: RulePreview) -> MemoryPromoteOutput:
    sources: list[PromotedLesson] = []
    for entry in seen.sources:
        source: PromotedLesson = {"id": entry.id, "title": entry.title}
        if entry.id in seen.doubts:
            source["stale"] = seen.doubts[entry.id].reason
        sources.append(source)
    output: MemoryPromoteOutput = {
        "rule": seen.rule,
        "lessons": len(seen.sources),
        "sources": sources,
        "preview_hash": seen.hash,
        "submitted": False,
        "hint": "Nothing is published yet. Every tenant would read this text; of the lessons they "
        "see the number only. Send the same arguments with preview_hash to submit it.",
    }
    if seen.promoted:
        output["promoted"] = list(seen.promoted)
        output["hint"] += (
            f" A rule comes from these lessons already: {', '.join(seen.promoted)}. Change that "
            "one unless you need a second."
        )
    if seen.masked:
        output["secrets_masked"] = list(seen.masked)
    warnings = [*describe_hidden({name: seen.rule.get(name, "") for name in SHOWN_TEXTS})]
    if (length := len(seen.draft.body)) > LONG_BODY:
        warnings.append(f"The body has {length} characters; agents read shorter rules better.")
    if warnings:
        output["warnings"] = warnings
    return output
