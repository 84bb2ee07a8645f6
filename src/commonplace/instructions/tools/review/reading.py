"""Tools that show what waits for a review."""

from __future__ import annotations

from typing import Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Context, Tier, Tool
from commonplace.instructions.errors import REVIEW_NOT_FOUND
from commonplace.instructions.results.review import ReviewDetails, ReviewItem
from commonplace.instructions.review_service import ReviewService
from commonplace.instructions.service import InstructionsService
from commonplace.instructions.tools.compact import cut_body, cut_difference
from commonplace.instructions.tools.shapes import (
    Answer,
    CamelInput,
    FullInput,
    show_difference,
    show_event,
    threaded,
)
from commonplace.kernel.json_types import JsonObject

COMPACT_EVENTS = 30


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
    lessons: NotRequired[int]
    ownLessons: NotRequired[list[str]]
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
    answer: JsonObject = {
        **_show_item(review.item),
        "authors": list(review.authors),
        "mayApprove": not review.refusal,
        "proposed": review.proposed,
        "diff": show_difference(review.difference),
        "events": [show_event(event) for event in review.events],
    }
    if review.lessons:
        answer["lessons"] = review.lessons
    if review.own_lessons:
        answer["ownLessons"] = list(review.own_lessons)
    if review.refusal:
        answer["refusal"] = review.refusal
    if review.approved is not None:
        answer["approved"] = review.approved
    return answer
