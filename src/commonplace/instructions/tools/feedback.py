"""Feedback of callers: submit, list, get, update, stats, health."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from pydantic import Field, field_validator
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Context, Nothing, Tier, Tool
from commonplace.instructions.engine.brief import fitting_values
from commonplace.instructions.engine.normalise import parse_time
from commonplace.instructions.service import Service
from commonplace.instructions.tools.shared import Answer, CamelArguments, threaded
from commonplace.kernel.auth import Scope

Type = Literal[
    "issue",
    "status",
    "security",
    "feature-request",
    "bug-report",
    "performance",
    "usability",
    "other",
]
Severity = Literal["low", "medium", "high", "critical"]
Status = Literal["new", "acknowledged", "in-progress", "resolved", "closed"]
LIST_MAX = 200


class SubmitArguments(CamelArguments):
    type: Type = Field(description="What kind of feedback.")
    severity: Severity = Field(default="medium", description="How serious.")
    title: str = Field(
        min_length=1, max_length=10_000, description="One line; cut at 200 characters."
    )
    description: str = Field(
        min_length=1, max_length=100_000, description="What happened; cut at 2000 characters."
    )
    context: dict[str, Any] | None = Field(
        default=None, description="Anything that helps, such as reproEntry."
    )
    metadata: dict[str, Any] | None = Field(default=None, description="Your own data.")
    tags: list[str] | None = Field(default=None, max_length=100, description="Labels; 10 are kept.")


class FeedbackFilter(CamelArguments):
    since: str | None = Field(
        default=None, max_length=40, description="Not before this ISO 8601 time."
    )

    @field_validator("since")
    @classmethod
    def _is_time(cls, since: str | None) -> str | None:
        if since is not None and parse_time(since) is None:
            raise ValueError("must be an ISO 8601 time")
        return since


class ListFeedback(FeedbackFilter):
    type: Type | None = Field(default=None, description="Only this kind.")
    severity: Severity | None = Field(default=None, description="Only this severity.")
    status: Status | None = Field(default=None, description="Only this status.")
    tags: list[str] | None = Field(default=None, max_length=100, description="Any of these labels.")
    limit: int = Field(default=50, description="Most entries, 1 to 200.")
    offset: int = Field(default=0, ge=0, description="Entries to leave out.")


class FeedbackId(CamelArguments):
    id: str = Field(min_length=1, max_length=100, description="The feedback's id.")


class UpdateFeedback(FeedbackId):
    status: Status | None = Field(default=None, description="Its new status.")
    metadata: dict[str, Any] | None = Field(default=None, description="Merged into what it has.")


class SubmitOutput(TypedDict):
    success: bool
    feedbackId: str
    timestamp: str
    message: str


class ListOutput(TypedDict):
    entries: list[dict[str, Any]]
    total: int
    limit: int
    offset: int
    hasMore: bool


class EntryOutput(TypedDict, total=False):
    entry: dict[str, Any]
    notFound: bool
    id: str
    hint: str
    success: bool


class StatsOutput(TypedDict):
    stats: dict[str, Any]
    storageInfo: dict[str, Any]


class HealthOutput(TypedDict):
    status: str
    timestamp: str
    storage: dict[str, Any]
    summary: NotRequired[dict[str, Any]]


def tools(service: Service) -> tuple[Tool, ...]:
    feedback = service.feedback

    def submit(ctx: Context, args: SubmitArguments) -> Answer:
        record = feedback.submit(args.model_dump(by_alias=True, exclude_none=True), ctx.auth.label)
        return {
            "success": True,
            "feedbackId": record["id"],
            "timestamp": record["timestamp"],
            "message": "Thank you. feedback/get shows what became of it.",
        }

    def list_(ctx: Context, args: ListFeedback) -> Answer:
        limit = max(1, min(args.limit, LIST_MAX))
        entries, total = feedback.select(
            args.model_dump(by_alias=True, exclude_none=True), limit, args.offset
        )
        if ctx.compact and "limit" not in args.model_fields_set:
            entries = entries[: fitting_values(entries)]
        return {
            "entries": entries,
            "total": total,
            "limit": limit,
            "offset": args.offset,
            "hasMore": args.offset + len(entries) < total,
        }

    def get(ctx: Context, args: FeedbackId) -> Answer:
        entry = feedback.get(args.id)
        return {"entry": entry} if entry else _missing(args.id)

    def update(ctx: Context, args: UpdateFeedback) -> Answer:
        entry = feedback.update(args.id, args.status, args.metadata, ctx.auth.label)
        return (
            {"success": True, "entry": entry} if entry else {"success": False, **_missing(args.id)}
        )

    def stats(ctx: Context, args: FeedbackFilter) -> Answer:
        return {"stats": feedback.stats(args.since), "storageInfo": feedback.storage()}

    def health(ctx: Context, args: Nothing) -> Answer:
        storage = feedback.storage()
        fine = storage["accessible"] and storage["writable"]
        return {
            "status": "ok" if fine else "degraded",
            "timestamp": service.now(),
            "storage": storage,
        }

    return (
        Tool(
            name="feedback_submit",
            toolset="instructions",
            title="Submit feedback",
            description="Tell the keepers of this server what is wrong, missing or good.",
            input=SubmitArguments,
            output=SubmitOutput,
            handler=threaded(service, submit),
            bare=("feedback/submit",),
            read_only=False,
            idempotent=False,
        ),
        Tool(
            name="feedback_list",
            toolset="instructions",
            title="List feedback",
            description="Feedback, newest first.",
            input=ListFeedback,
            output=ListOutput,
            handler=threaded(service, list_),
            tier=Tier.EXTENDED,
            bare=("feedback/list",),
        ),
        Tool(
            name="feedback_get",
            toolset="instructions",
            title="Get feedback",
            description="One feedback entry by id.",
            input=FeedbackId,
            output=EntryOutput,
            handler=threaded(service, get),
            tier=Tier.EXTENDED,
            bare=("feedback/get",),
        ),
        Tool(
            name="feedback_update",
            toolset="instructions",
            title="Update feedback",
            description="Set the status of a feedback entry, or add to its metadata.",
            input=UpdateFeedback,
            output=EntryOutput,
            handler=threaded(service, update),
            tier=Tier.EXTENDED,
            bare=("feedback/update",),
            read_only=False,
            scope=Scope.WRITE,
        ),
        Tool(
            name="feedback_stats",
            toolset="instructions",
            title="Feedback statistics",
            description="How much feedback there is, by kind, severity, status and age.",
            input=FeedbackFilter,
            output=StatsOutput,
            handler=threaded(service, stats),
            tier=Tier.EXTENDED,
            bare=("feedback/stats",),
        ),
        Tool(
            name="feedback_health",
            toolset="instructions",
            title="Feedback storage",
            description="Whether feedback can be stored.",
            input=Nothing,
            output=HealthOutput,
            handler=threaded(service, health),
            tier=Tier.EXTENDED,
            bare=("feedback/health",),
        ),
    )


def _missing(id_: str) -> dict[str, Any]:
    return {"notFound": True, "id": id_, "hint": "feedback/list shows the ids."}
