"""Tools of reviews: the queue, one review, submit, comment and decide."""

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
from commonplace.instructions.results.review import ReviewDetails, ReviewItem, ReviewOutcome
from commonplace.instructions.review_service import ReviewService
from commonplace.instructions.service import InstructionsService
from commonplace.instructions.tools.add import WRITE_ERRORS
from commonplace.instructions.tools.compact import cut_body, cut_difference
from commonplace.instructions.tools.shapes import (
    Answer,
    CamelInput,
    FullInput,
    WriteInput,
    show_event,
    threaded,
)
from commonplace.kernel.auth import Scope
from commonplace.kernel.json_types import JsonObject

MAX_NOTE = 10_000
COMPACT_EVENTS = 30


def tools(service: InstructionsService) -> tuple[Tool, ...]:
    """Return the tools of this module."""
    reviews = ReviewService(service.parts_of)
    return (
        list_tool(service, reviews),
        show_tool(service, reviews),
        submit_tool(service, reviews),
        comment_tool(service, reviews),
        decide_tool(service, reviews),
    )


class ReviewListInput(CamelInput):
    state: Literal["review", "draft", "all"] = Field(
        default="review",
        description="review: waits for a decision; draft: waits for its author.",
    )
    limit: int = Field(default=25, ge=1, le=500, description="Most items.")
    offset: int = Field(default=0, ge=0, description="Items to skip.")


class ReviewListOutput(TypedDict):
    count: int
    items: list[JsonObject]


def list_tool(service: InstructionsService, reviews: ReviewService) -> Tool:
    """`instructions_review_list`"""

    def handle(ctx: Context, args: ReviewListInput) -> Answer:
        state = None if args.state == "all" else args.state
        found = reviews.queue(ctx.auth, state, limit=args.limit, offset=args.offset)
        return {"count": found.total, "items": [_show_item(item) for item in found.items]}

    return Tool(
        name="instructions_review_list",
        toolset="instructions",
        title="Review queue",
        description="Drafts and proposed changes that wait for a review, longest waiting first.",
        input=ReviewListInput,
        output=ReviewListOutput,
        handler=threaded(service, handle),
        tier=Tier.EXTENDED,
    )


def _show_item(item: ReviewItem) -> JsonObject:
    shown: JsonObject = {
        "id": item.id,
        "title": item.title,
        "kind": item.kind,
        "state": item.state,
        "reviewHash": item.hash,
        "owner": item.owner,
        "classification": item.classification,
        "categories": list(item.categories),
        "fourEyes": item.four_eyes,
        "submittedBy": item.submitted_by,
        "submittedAt": item.submitted_at,
        "comments": item.comments,
    }
    return {name: value for name, value in shown.items() if value is not None}


class ReviewShowInput(FullInput):
    id: str = Field(min_length=1, max_length=400, description="The instruction's id.")


class ReviewShowOutput(TypedDict):
    id: str
    title: str
    kind: str
    state: str
    reviewHash: str
    owner: str
    classification: str
    categories: list[str]
    fourEyes: bool
    submittedBy: NotRequired[str]
    submittedAt: NotRequired[str]
    comments: int
    authors: list[str]
    mayApprove: bool
    refusal: NotRequired[str]
    approved: NotRequired[JsonObject]
    proposed: JsonObject
    diff: JsonObject
    events: list[JsonObject]


def show_tool(service: InstructionsService, reviews: ReviewService) -> Tool:
    """`instructions_review_show`"""

    def handle(ctx: Context, args: ReviewShowInput) -> Answer:
        answer = _show_details(reviews.show(ctx.auth, args.id))
        if not ctx.compact or args.full:
            return answer
        texts = ("approved", "proposed")
        shown: JsonObject = {name: cut_body(answer[name]) for name in texts if name in answer}
        events = answer["events"][-COMPACT_EVENTS:]
        return {**answer, **shown, "diff": cut_difference(answer["diff"]), "events": events}

    return Tool(
        name="instructions_review_show",
        toolset="instructions",
        title="Show a review",
        description="A change that waits: the last approved text, the proposed one, their "
        "difference, the comments, and the reviewHash that a decision needs.",
        input=ReviewShowInput,
        output=ReviewShowOutput,
        handler=threaded(service, handle),
        tier=Tier.EXTENDED,
        errors=(REVIEW_NOT_FOUND,),
    )


def _show_details(review: ReviewDetails) -> JsonObject:
    difference: JsonObject = {
        "fields": {
            name: {"from": before, "to": after}
            for name, (before, after) in review.difference.fields.items()
        },
        "bodyDiff": review.difference.body_diff,
    }
    if review.difference.truncated:
        difference["bodyDiffTruncated"] = True
    answer: JsonObject = {
        **_show_item(review.item),
        "authors": list(review.authors),
        "mayApprove": not review.refusal,
        "proposed": review.proposed,
        "diff": difference,
        "events": [show_event(event) for event in review.events],
    }
    if review.refusal:
        answer["refusal"] = review.refusal
    if review.approved is not None:
        answer["approved"] = review.approved
    return answer


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
