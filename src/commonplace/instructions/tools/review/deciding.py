"""Tools that submit a change for review, comment on it, and decide it."""

from __future__ import annotations

from typing import Literal, NotRequired

from pydantic import Field, model_validator
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Context, Tier, Tool
from commonplace.instructions.errors import (
    INSTRUCTION_NOT_FOUND,
    INVALID_INSTRUCTION,
    OWN_CHANGE,
    REVIEW_NOT_FOUND,
    REVIEW_REQUIRED,
)
from commonplace.instructions.results.review import ReviewOutcome
from commonplace.instructions.review_service import ReviewService
from commonplace.instructions.service import InstructionsService
from commonplace.instructions.tools.add import WRITE_ERRORS
from commonplace.instructions.tools.shapes import Answer, CamelInput, WriteInput, threaded
from commonplace.kernel.auth import Scope
from commonplace.kernel.json_types import JsonObject

MAX_NOTE = 10_000


class ReviewOutcomeOutput(TypedDict):
    id: str
    action: str
    status: str
    proposed: bool
    reviewHash: NotRequired[str]
    governanceHash: NotRequired[str]
    version: NotRequired[str]
    hash: str


def _show_outcome(outcome: ReviewOutcome) -> JsonObject:
    shown: JsonObject = {
        "id": outcome.id,
        "action": outcome.action,
        "status": outcome.status,
        "proposed": outcome.proposed,
        "reviewHash": outcome.review_hash,
        "governanceHash": outcome.governance_hash,
        "version": outcome.version,
        "hash": outcome.catalogue_hash,
    }
    return {name: value for name, value in shown.items() if value is not None}


class ReviewSubmitInput(WriteInput):
    id: str = Field(min_length=1, max_length=400, description="The instruction's id.")
    entry: JsonObject | None = Field(
        default=None,
        description="Fields to change, or a new instruction; a draft needs none.",
    )
    note: str = Field(default="", max_length=MAX_NOTE, description="What the change is for.")


def submit_tool(service: InstructionsService, reviews: ReviewService) -> Tool:
    """`instructions_review_submit`"""

    def handle(ctx: Context, args: ReviewSubmitInput) -> Answer:
        submitted = reviews.submit(
            ctx.auth, args.id, args.entry, note=args.note, expected_hash=args.expected_hash
        )
        return _show_outcome(submitted)

    return Tool(
        name="instructions_review_submit",
        toolset="instructions",
        title="Submit for review",
        description="Ask for a review of a draft, or propose a change of an approved instruction; "
        "its approved text stays in effect until somebody approves the change.",
        input=ReviewSubmitInput,
        output=ReviewOutcomeOutput,
        handler=threaded(service, handle),
        tier=Tier.EXTENDED,
        read_only=False,
        idempotent=False,
        scope=Scope.WRITE,
        writes_catalogue=True,
        errors=(*WRITE_ERRORS, INSTRUCTION_NOT_FOUND, INVALID_INSTRUCTION),
    )


class ReviewCommentInput(CamelInput):
    id: str = Field(min_length=1, max_length=400, description="The instruction's id.")
    text: str = Field(min_length=1, max_length=MAX_NOTE, description="The comment.")


def comment_tool(service: InstructionsService, reviews: ReviewService) -> Tool:
    """`instructions_review_comment`"""

    def handle(ctx: Context, args: ReviewCommentInput) -> Answer:
        return _show_outcome(reviews.comment(ctx.auth, args.id, args.text))

    return Tool(
        name="instructions_review_comment",
        toolset="instructions",
        title="Comment on a review",
        description="Say something about a change that waits for a review.",
        input=ReviewCommentInput,
        output=ReviewOutcomeOutput,
        handler=threaded(service, handle),
        tier=Tier.EXTENDED,
        read_only=False,
        idempotent=False,
        scope=Scope.WRITE,
        writes_catalogue=True,
        errors=(*WRITE_ERRORS, REVIEW_NOT_FOUND),
    )


class ReviewDecideInput(CamelInput):
    id: str = Field(min_length=1, max_length=400, description="The instruction's id.")
    decision: Literal["approve", "return", "withdraw"] = Field(
        description="approve: put it into effect; return: send it back to its author; withdraw: "
        "drop it."
    )
    review_hash: str | None = Field(
        default=None,
        max_length=128,
        description="The reviewHash of what you saw; needed to approve.",
    )
    note: str = Field(default="", max_length=MAX_NOTE, description="Why.")

    @model_validator(mode="after")
    def _require_hash(self) -> ReviewDecideInput:
        if self.decision == "approve" and self.review_hash is None:
            raise ValueError("give the reviewHash of instructions_review_show to approve")
        return self


def decide_tool(service: InstructionsService, reviews: ReviewService) -> Tool:
    """`instructions_review_decide`"""

    def handle(ctx: Context, args: ReviewDecideInput) -> Answer:
        decided = reviews.decide(
            ctx.auth, args.id, args.decision, review_hash=args.review_hash, note=args.note
        )
        return _show_outcome(decided)

    return Tool(
        name="instructions_review_decide",
        toolset="instructions",
        title="Decide a review",
        description="Approve a change under your name, send it back, or drop it. Refused if the "
        "text is not the one whose reviewHash you give, or if you wrote it and four eyes are "
        "required.",
        input=ReviewDecideInput,
        output=ReviewOutcomeOutput,
        handler=threaded(service, handle),
        tier=Tier.EXTENDED,
        read_only=False,
        idempotent=False,
        scope=Scope.WRITE,
        writes_catalogue=True,
        errors=(*WRITE_ERRORS, REVIEW_NOT_FOUND, REVIEW_REQUIRED, OWN_CHANGE),
    )
