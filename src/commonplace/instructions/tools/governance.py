"""Tools for governance: hash, changes of governance fields, and reviews that are due."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Literal, NotRequired

from pydantic import Field, field_validator
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Context, Tier, Tool
from commonplace.instructions.engine.hashing import governance_record
from commonplace.instructions.errors import INVALID_INSTRUCTION
from commonplace.instructions.results.review import StaleRule
from commonplace.instructions.results.writing import GovernanceUpdate
from commonplace.instructions.review_service import ReviewService
from commonplace.instructions.service import InstructionsService
from commonplace.instructions.tools.add import WRITE_ERRORS
from commonplace.instructions.tools.shapes import (
    Answer,
    CamelInput,
    WriteInput,
    check_time,
    settle,
    threaded,
)
from commonplace.kernel.auth import Scope
from commonplace.kernel.json_types import JsonObject

UPDATED_FIELDS = (
    "owner",
    "status",
    "classification",
    "priorityTier",
    "lastReviewedAt",
    "nextReviewDue",
)
REVIEWED_FIELDS = (
    "id",
    "title",
    "owner",
    "status",
    "priorityTier",
    "lastReviewedAt",
    "nextReviewDue",
    "version",
    "sourceHash",
)


def tools(service: InstructionsService) -> tuple[Tool, ...]:
    """Return the tools of this module."""
    return governance_hash_tool(service), governance_update_tool(service), reviews_tool(service)


class GovernanceHashInput(CamelInput):
    include_items: bool = Field(
        default=False, description="Add each entry's governance record and hash."
    )


class GovernanceHashOutput(TypedDict):
    count: int
    governanceHash: str
    algorithm: str
    items: NotRequired[list[JsonObject]]


def governance_hash_tool(service: InstructionsService) -> Tool:
    """`instructions_governance_hash`"""

    def handle(ctx: Context, args: GovernanceHashInput) -> Answer:
        found = service.governance_hash(ctx.auth, include_entries=args.include_items)
        answer: JsonObject = {
            "count": found.count,
            "governanceHash": found.digest,
            "algorithm": "sha256",
        }
        if found.entries is not None:
            answer["items"] = [
                {
                    "id": entry.id,
                    "governance": governance_record(entry.document),
                    "hash": entry.governance_hash,
                }
                for entry in found.entries
            ]
        return answer

    return Tool(
        name="instructions_governance_hash",
        toolset="instructions",
        title="Governance hash",
        description="One hash over every instruction's governance metadata, stable across "
        "restarts.",
        input=GovernanceHashInput,
        output=GovernanceHashOutput,
        handler=threaded(service, handle),
        tier=Tier.EXTENDED,
        bare=("instructions/governanceHash",),
    )


class GovernanceUpdateInput(WriteInput):
    id: str = Field(min_length=1, max_length=400, description="The instruction's id.")
    patch: JsonObject = Field(
        default_factory=dict,
        description="owner, status, classification, priorityTier, lastReviewedAt, nextReviewDue, "
        "reviewIntervalDays or version.",
    )
    bump: Literal["none", "patch", "minor", "major"] = Field(
        default="none", description="Raise this part of the version."
    )
    owner: str | None = Field(
        default=None, max_length=200, description="Older form of patch.owner."
    )
    status: str | None = Field(
        default=None, max_length=40, description="Older form of patch.status."
    )
    last_reviewed_at: str | None = Field(
        default=None, max_length=40, description="Older form of patch.lastReviewedAt."
    )
    next_review_due: str | None = Field(
        default=None, max_length=40, description="Older form of patch.nextReviewDue."
    )

    def merge_patch(self) -> JsonObject:
        """Return the patch with the fields of the older form."""
        flat = self.model_dump(
            by_alias=True,
            exclude_none=True,
            include={"owner", "status", "last_reviewed_at", "next_review_due"},
        )
        return {**flat, **self.patch}


class GovernanceUpdateOutput(TypedDict, total=False):
    id: str
    previousVersion: str
    newVersion: str
    version: str
    changed: bool
    notFound: bool
    owner: str
    status: str
    hash: str
    governanceHash: str


def governance_update_tool(service: InstructionsService) -> Tool:
    """`instructions_governance_update`"""

    def show(update: GovernanceUpdate) -> JsonObject:
        document = update.entry.document
        return {
            "id": update.entry.id,
            "previousVersion": update.previous_version,
            "newVersion": document["version"],
            "version": document["version"],
            "changed": update.changed,
            **{name: document[name] for name in UPDATED_FIELDS if name in document},
            "hash": update.catalogue_hash,
            "governanceHash": update.entry.governance_hash,
        }

    def handle(ctx: Context, args: GovernanceUpdateInput) -> Answer:
        update = service.update_governance(
            ctx.auth,
            args.id,
            args.merge_patch(),
            bump=args.bump,
            expected_hash=args.expected_hash,
        )
        if update is None:
            return {"id": args.id[:200], "notFound": True, "changed": False}
        return show(update)

    return Tool(
        name="instructions_governance_update",
        toolset="instructions",
        title="Update governance",
        description="Change owner, status, classification, tier or review dates of an "
        "instruction, with a version bump if asked.",
        input=GovernanceUpdateInput,
        output=GovernanceUpdateOutput,
        handler=threaded(service, handle),
        tier=Tier.EXTENDED,
        bare=("instructions/governanceUpdate",),
        read_only=False,
        idempotent=False,
        scope=Scope.WRITE,
        writes_catalogue=True,
        errors=(*WRITE_ERRORS, INVALID_INSTRUCTION),
    )


class ReviewsDueInput(CamelInput):
    before: str | None = Field(
        default=None, max_length=40, description="Due before this ISO 8601 time; now when absent."
    )
    limit: int = Field(default=25, ge=1, le=500, description="Most items.")
    offset: int = Field(default=0, ge=0, description="Items to skip.")

    @field_validator("before")
    @classmethod
    def _is_time(cls, moment: str | None) -> str | None:
        return check_time(moment)


class StaleRuleOutput(TypedDict):
    id: str
    title: str
    owner: str
    status: str
    lessons: int
    stale: dict[str, int]
    ownLessons: NotRequired[dict[str, str]]


class ReviewsDueOutput(TypedDict):
    total: int
    due: int
    before: str
    items: list[JsonObject]
    counts: dict[str, dict[str, int]]
    staleLessons: list[StaleRuleOutput]


def _show_stale(rule: StaleRule) -> StaleRuleOutput:
    shown: StaleRuleOutput = {
        "id": rule.id,
        "title": rule.title,
        "owner": rule.owner,
        "status": rule.status,
        "lessons": rule.lessons,
        "stale": dict(rule.stale),
    }
    if rule.own:
        shown["ownLessons"] = dict(rule.own)
    return shown


def reviews_tool(service: InstructionsService) -> Tool:
    """`instructions_reviews`"""
    reviews = ReviewService(service.parts_of)

    def handle(ctx: Context, args: ReviewsDueInput) -> Answer:
        found = service.reviews_due(
            ctx.auth, before=args.before, limit=args.limit, offset=args.offset
        )
        items = [
            {name: item.get(name) for name in REVIEWED_FIELDS if item.get(name) is not None}
            for item in found.items
        ]
        return {
            "total": found.total,
            "due": found.due,
            "before": found.before,
            "items": items,
            "counts": found.counts,
        }

    find_due = threaded(service, handle)

    async def handler(ctx: Context, args: ReviewsDueInput) -> Answer:
        answer = await settle(find_due(ctx, args))
        assert isinstance(answer, Mapping)
        loop = asyncio.get_running_loop()
        rules = await loop.run_in_executor(service.executor, reviews.promoted, ctx.auth)
        stale: list[StaleRule] = []
        if rules and service.lessons is not None:
            from commonplace.instructions.use_cases.review.promoting import find_stale

            stale = await find_stale(rules, service.lessons, ctx.auth)
        return {**answer, "staleLessons": [_show_stale(rule) for rule in stale]}

    return Tool(
        name="instructions_reviews",
        toolset="instructions",
        title="Reviews due",
        description="Instructions due for review, longest overdue first, how many there are of "
        "each status, tier and owner, and those whose lessons no longer hold.",
        input=ReviewsDueInput,
        output=ReviewsDueOutput,
        handler=handler,
        tier=Tier.EXTENDED,
    )
