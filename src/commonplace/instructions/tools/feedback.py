"""Tools for feedback: submit, list, get, update, stats and health."""

from __future__ import annotations

from dataclasses import asdict
from typing import Literal, NotRequired

from pydantic import Field, field_validator
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Context, Nothing, Tier, Tool
from commonplace.instructions.engine.summary import count_fitting_values
from commonplace.instructions.engine.times import parse_time
from commonplace.instructions.service import InstructionsService
from commonplace.instructions.store.feedback import FeedbackFilter, FeedbackStorage
from commonplace.instructions.tools.shapes import Answer, CamelInput, threaded
from commonplace.kernel.auth import Scope
from commonplace.kernel.json_types import JsonObject

FeedbackType = Literal[
    "issue",
    "status",
    "security",
    "feature-request",
    "bug-report",
    "performance",
    "usability",
    "other",
]
FeedbackSeverity = Literal["low", "medium", "high", "critical"]
FeedbackStatus = Literal["new", "acknowledged", "in-progress", "resolved", "closed"]
LIST_MAX = 200
RECENT_NAMES = {1: "last24h", 7: "last7d", 30: "last30d"}


def tools(service: InstructionsService) -> tuple[Tool, ...]:
    """Return the tools of this module."""
    return (
        submit_tool(service),
        list_tool(service),
        get_tool(service),
        update_tool(service),
        stats_tool(service),
        health_tool(service),
    )


class FeedbackSubmitInput(CamelInput):
    type: FeedbackType
    severity: FeedbackSeverity = "medium"
    title: str = Field(
        min_length=1, max_length=10_000, description="At most 200 characters. A longer one is cut."
    )
    description: str = Field(
        min_length=1,
        max_length=100_000,
        description="At most 2000 characters. A longer one is cut.",
    )
    context: JsonObject | None = Field(
        default=None, description="Such as reproEntry. Anything that helps."
    )
    metadata: JsonObject | None = None
    tags: list[str] | None = Field(default=None, max_length=100, description="At most 10.")


class FeedbackSubmitOutput(TypedDict):
    success: bool
    feedbackId: str
    timestamp: str
    message: str


def submit_tool(service: InstructionsService) -> Tool:
    """`feedback_submit`"""

    def handle(ctx: Context, args: FeedbackSubmitInput) -> Answer:
        entry = args.model_dump(by_alias=True, exclude_none=True)
        record = service.feedback.submit(ctx.auth, entry)
        return {
            "success": True,
            "feedbackId": record["id"],
            "timestamp": record["timestamp"],
            "message": "Thank you. feedback/get shows what became of it.",
        }

    return Tool(
        name="feedback_submit",
        toolset="instructions",
        title="Submit feedback",
        description="Tell the operators what is wrong, missing or good.",
        input=FeedbackSubmitInput,
        output=FeedbackSubmitOutput,
        handler=threaded(service, handle),
        bare=("feedback/submit",),
        read_only=False,
        idempotent=False,
    )


class FeedbackSinceInput(CamelInput):
    since: str | None = Field(
        default=None, max_length=40, description="Not before this ISO 8601 time."
    )

    @field_validator("since")
    @classmethod
    def _is_time(cls, since: str | None) -> str | None:
        if since is not None and parse_time(since) is None:
            raise ValueError("must be an ISO 8601 time")
        return since


class FeedbackListInput(FeedbackSinceInput):
    type: FeedbackType | None = Field(default=None, description="Only this kind.")
    severity: FeedbackSeverity | None = Field(default=None, description="Only this severity.")
    status: FeedbackStatus | None = Field(default=None, description="Only this status.")
    tags: list[str] | None = Field(default=None, max_length=100, description="Any of these labels.")
    limit: int = Field(default=50, description="Most entries, 1 to 200.")
    offset: int = Field(default=0, ge=0, description="Entries to skip.")


class FeedbackListOutput(TypedDict):
    entries: list[JsonObject]
    total: int
    limit: int
    offset: int
    hasMore: bool


def list_tool(service: InstructionsService) -> Tool:
    """`feedback_list`"""

    def handle(ctx: Context, args: FeedbackListInput) -> Answer:
        limit = max(1, min(args.limit, LIST_MAX))
        condition = FeedbackFilter(args.type, args.severity, args.status, args.since, args.tags)
        page = service.feedback.list_entries(ctx.auth, condition, limit, args.offset)
        entries = page.entries
        if ctx.compact and "limit" not in args.model_fields_set:
            entries = entries[: count_fitting_values(entries)]
        return {
            "entries": entries,
            "total": page.total,
            "limit": limit,
            "offset": args.offset,
            "hasMore": args.offset + len(entries) < page.total,
        }

    return Tool(
        name="feedback_list",
        toolset="instructions",
        title="List feedback",
        description="Feedback, newest first.",
        input=FeedbackListInput,
        output=FeedbackListOutput,
        handler=threaded(service, handle),
        tier=Tier.EXTENDED,
        bare=("feedback/list",),
    )


class FeedbackGetInput(CamelInput):
    id: str = Field(min_length=1, max_length=100, description="The feedback's id.")


class FeedbackEntryOutput(TypedDict, total=False):
    entry: JsonObject
    notFound: bool
    id: str
    hint: str
    success: bool


def get_tool(service: InstructionsService) -> Tool:
    """`feedback_get`"""

    def handle(ctx: Context, args: FeedbackGetInput) -> Answer:
        entry = service.feedback.get(ctx.auth, args.id)
        return {"entry": entry} if entry else _not_found(args.id)

    return Tool(
        name="feedback_get",
        toolset="instructions",
        title="Get feedback",
        description="One feedback entry by id.",
        input=FeedbackGetInput,
        output=FeedbackEntryOutput,
        handler=threaded(service, handle),
        tier=Tier.EXTENDED,
        bare=("feedback/get",),
    )


def _not_found(id_: str) -> JsonObject:
    return {"notFound": True, "id": id_, "hint": "feedback/list shows the ids."}


class FeedbackUpdateInput(FeedbackGetInput):
    status: FeedbackStatus | None = Field(default=None, description="Its new status.")
    metadata: JsonObject | None = Field(default=None, description="Merged into what it has.")


def update_tool(service: InstructionsService) -> Tool:
    """`feedback_update`"""

    def handle(ctx: Context, args: FeedbackUpdateInput) -> Answer:
        entry = service.feedback.update(ctx.auth, args.id, args.status, args.metadata)
        if entry is None:
            return {"success": False, **_not_found(args.id)}
        return {"success": True, "entry": entry}

    return Tool(
        name="feedback_update",
        toolset="instructions",
        title="Update feedback",
        description="Set the status of a feedback entry, or add to its metadata.",
        input=FeedbackUpdateInput,
        output=FeedbackEntryOutput,
        handler=threaded(service, handle),
        tier=Tier.EXTENDED,
        bare=("feedback/update",),
        read_only=False,
        scope=Scope.WRITE,
    )


class FeedbackStatsOutput(TypedDict):
    stats: JsonObject
    storageInfo: JsonObject


def stats_tool(service: InstructionsService) -> Tool:
    """`feedback_stats`"""

    def handle(ctx: Context, args: FeedbackSinceInput) -> Answer:
        counts = service.feedback.count(ctx.auth, args.since)
        stats = {
            "total": counts.total,
            "byType": counts.by_type,
            "bySeverity": counts.by_severity,
            "byStatus": counts.by_status,
            "recentActivity": {RECENT_NAMES[days]: count for days, count in counts.recent.items()},
        }
        storage = service.feedback.storage(ctx.auth)
        return {"stats": stats, "storageInfo": _show_storage(storage)}

    return Tool(
        name="feedback_stats",
        toolset="instructions",
        title="Feedback statistics",
        description="How much feedback there is, by kind, severity, status and age.",
        input=FeedbackSinceInput,
        output=FeedbackStatsOutput,
        handler=threaded(service, handle),
        tier=Tier.EXTENDED,
        bare=("feedback/stats",),
    )


def _show_storage(storage: FeedbackStorage) -> JsonObject:
    shown = asdict(storage)
    shown["maxEntries"] = shown.pop("max_entries")
    shown["sizeBytes"] = shown.pop("size_bytes")
    return shown


class FeedbackHealthOutput(TypedDict):
    status: str
    timestamp: str
    storage: JsonObject
    summary: NotRequired[JsonObject]


def health_tool(service: InstructionsService) -> Tool:
    """`feedback_health`"""

    def handle(ctx: Context, args: Nothing) -> Answer:
        storage = service.feedback.storage(ctx.auth)
        return {
            "status": "ok" if storage.accessible and storage.writable else "degraded",
            "timestamp": service.now(),
            "storage": _show_storage(storage),
        }

    return Tool(
        name="feedback_health",
        toolset="instructions",
        title="Feedback storage",
        description="Whether feedback can be stored.",
        input=Nothing,
        output=FeedbackHealthOutput,
        handler=threaded(service, handle),
        tier=Tier.EXTENDED,
        bare=("feedback/health",),
    )
