"""`capture_list` and `capture_show`: what was proposed."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.context.capture.model import ProposalKind, ProposalState
from commonplace.context.capture.service import CaptureService
from commonplace.context.errors import PROPOSAL_NOT_FOUND
from commonplace.context.tools.capture.shapes import (
    KindName,
    ProposalOutput,
    StateName,
    show_proposal,
)
from commonplace.dispatch.tool import Arguments, Context, Tier, Tool
from commonplace.kernel.json_types import JsonObject

MAX_LIMIT = 200
MAX_ID = 64


class CaptureListInput(Arguments):
    state: StateName = Field("pending", description="What became of them.")
    kind: KindName | None = Field(None, description="Only lessons or only rules.")
    limit: int = Field(50, ge=1, le=MAX_LIMIT, description="Most results.")
    offset: int = Field(0, ge=0, le=1_000_000, description="Skip this many.")


class CaptureListOutput(TypedDict):
    items: list[ProposalOutput]
    total: int
    has_more: bool
    counts: dict[str, dict[str, int]]


class CaptureShowInput(Arguments):
    id: str = Field(
        max_length=MAX_ID, description="Of the proposal, or its first 4 characters or more."
    )


def list_tool(service: Callable[[], CaptureService]) -> Tool:
    """Build `capture_list`."""

    async def handler(ctx: Context, args: CaptureListInput) -> JsonObject:
        kind = None if args.kind is None else ProposalKind(args.kind)
        capture = service()
        page = await capture.page(
            ctx.auth, ProposalState(args.state), kind, args.limit, args.offset
        )
        counts = await capture.counts(ctx.auth)
        return {
            "items": [show_proposal(proposal) for proposal in page.items],
            "total": page.total,
            "has_more": page.has_more,
            "counts": {
                state.value: {of_kind.value: count for of_kind, count in kinds.items()}
                for state, kinds in counts.items()
            },
        }

    return Tool(
        name="capture_list",
        toolset="context",
        title="List proposals of captures",
        description="Lessons and rules that were proposed from sessions, newest first.",
        input=CaptureListInput,
        output=CaptureListOutput,
        handler=handler,
        tier=Tier.EXTENDED,
    )


def show_tool(service: Callable[[], CaptureService]) -> Tool:
    """Build `capture_show`."""

    async def handler(ctx: Context, args: CaptureShowInput) -> JsonObject:
        return show_proposal(await service().show(ctx.auth, args.id))

    return Tool(
        name="capture_show",
        toolset="context",
        title="Show a proposal of a capture",
        description="One proposal: what it says, why it was proposed, and what is similar.",
        input=CaptureShowInput,
        output=ProposalOutput,
        handler=handler,
        tier=Tier.EXTENDED,
        errors=(PROPOSAL_NOT_FOUND,),
    )
