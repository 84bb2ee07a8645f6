"""Tools that count uses of instructions: track and hotset."""

from __future__ import annotations

from pydantic import Field, field_validator, model_validator
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Context, Tier, Tool
from commonplace.instructions.engine.usage import ReportedUse
from commonplace.instructions.results.analysis import UseRecord
from commonplace.instructions.service import InstructionsService
from commonplace.instructions.tools.shapes import Answer, CamelInput, check_time, threaded
from commonplace.kernel.json_types import JsonObject

HOTSET_DEFAULT, HOTSET_MAX = 10, 100


def tools(service: InstructionsService) -> tuple[Tool, ...]:
    """Return the tools of this module."""
    return track_tool(service), hotset_tool(service)


class UsageContextInput(CamelInput):
    user_id: str | None = Field(default=None, max_length=200)
    workspace_id: str | None = Field(default=None, max_length=200)
    session_id: str | None = Field(default=None, max_length=200)
    timestamp: str | None = Field(default=None, max_length=40, description="ISO 8601.")

    @field_validator("timestamp")
    @classmethod
    def _is_time(cls, moment: str | None) -> str | None:
        return check_time(moment)


class UsageMetricsInput(CamelInput):
    execution_time: float | None = Field(
        default=None, ge=0, strict=True, allow_inf_nan=False, description="Milliseconds."
    )
    success: bool | None = Field(default=None, strict=True)
    error_code: str | None = Field(default=None, max_length=200)


class UsageTrackInput(CamelInput):
    id: str | None = Field(default=None, min_length=1, max_length=400)
    instruction_id: str | None = Field(
        default=None,
        min_length=1,
        max_length=400,
        description="Instead of id, with context and metrics.",
    )
    context: UsageContextInput | None = None
    metrics: UsageMetricsInput | None = None

    @model_validator(mode="after")
    def _require_one_id(self) -> UsageTrackInput:
        if (self.id is None) == (self.instruction_id is None):
            raise ValueError("give id, or instructionId with context and metrics")
        return self

    def use(self) -> ReportedUse:
        """Return the reported context and metrics, in contract spelling."""
        context, metrics = (
            model.model_dump(by_alias=True, exclude_none=True) if model else {}
            for model in (self.context, self.metrics)
        )
        return ReportedUse(context, metrics)


class UsageTrackOutput(TypedDict, total=False):
    id: str
    usageCount: int
    lastUsedAt: str
    rateLimited: bool
    notFound: bool
    featureDisabled: bool
    tracked: bool
    sessionId: str
    aggregatedCount: int


def track_tool(service: InstructionsService) -> Tool:
    """`usage_track`"""

    def handle(ctx: Context, args: UsageTrackInput) -> Answer:
        if args.id is not None:
            if not service.usage_enabled:
                return {"featureDisabled": True}
            return _show_use(args.id, service.track_use(ctx.auth, args.id))
        assert args.instruction_id is not None
        use = args.use()
        session = str(use.context.get("sessionId") or "")
        untracked: JsonObject = {"tracked": False, "sessionId": session, "aggregatedCount": 0}
        if not service.usage_enabled:
            return {**untracked, "featureDisabled": True}
        record = service.track_use(ctx.auth, args.instruction_id, use)
        return {**untracked, "notFound": True} if record is None else _show_report(record, session)

    return Tool(
        name="usage_track",
        toolset="instructions",
        title="Track a use",
        description="Count that an instruction was used, and how it went.",
        input=UsageTrackInput,
        output=UsageTrackOutput,
        handler=threaded(service, handle),
        bare=("usage/track",),
        read_only=False,
        idempotent=False,
    )


def _show_use(id_: str, record: UseRecord | None) -> JsonObject:
    """Spell a use as docs/reference/contracts/instructions.md#contract-001 does."""
    if record is None:
        return {"notFound": True, "id": id_[:200]}
    answer: JsonObject = {
        "id": record.id,
        "usageCount": record.count,
        "lastUsedAt": record.last_used,
    }
    return {**answer, "rateLimited": True} if record.rate_limited else answer


def _show_report(record: UseRecord, session: str) -> JsonObject:
    """Spell a use with context (docs/reference/contracts/instructions.md#contract-000)."""
    answer: JsonObject = {
        "tracked": not record.rate_limited,
        "sessionId": session,
        "aggregatedCount": record.count,
    }
    return {**answer, "rateLimited": True} if record.rate_limited else answer


class UsageHotsetInput(CamelInput):
    limit: int = Field(default=HOTSET_DEFAULT, description="Most items, 1 to 100.")


class HotsetItemOutput(TypedDict):
    id: str
    usageCount: int
    lastUsedAt: str


class UsageHotsetOutput(TypedDict):
    hash: str
    count: int
    limit: int
    items: list[HotsetItemOutput]


def hotset_tool(service: InstructionsService) -> Tool:
    """`usage_hotset`"""

    def handle(ctx: Context, args: UsageHotsetInput) -> Answer:
        found = service.hot_set(ctx.auth, max(1, min(args.limit, HOTSET_MAX)))
        return {
            "hash": found.catalogue_hash,
            "count": len(found.items),
            "limit": found.limit,
            "items": [
                {"id": item.id, "usageCount": item.count, "lastUsedAt": item.last_used}
                for item in found.items
            ],
        }

    return Tool(
        name="usage_hotset",
        toolset="instructions",
        title="Most used instructions",
        description="Instructions ranked by frequency and recency of use.",
        input=UsageHotsetInput,
        output=UsageHotsetOutput,
        handler=threaded(service, handle),
        tier=Tier.EXTENDED,
        bare=("usage/hotset",),
    )
