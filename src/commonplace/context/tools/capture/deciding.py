"""`capture_edit`, `capture_accept` and `capture_reject`: the decision of a person."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.context.capture.model import (
    CONTENT_CHARACTERS,
    MOST_TAGS,
    PROJECT_CHARACTERS,
    TITLE_CHARACTERS,
    LessonType,
    ProposalKind,
)
from commonplace.context.capture.service import CaptureService, ProposalEdit
from commonplace.context.errors import PROPOSAL_DECIDED, PROPOSAL_NOT_FOUND, PROPOSAL_REFUSED
from commonplace.context.tools.capture.reading import CaptureShowInput
from commonplace.context.tools.capture.shapes import (
    KindName,
    LessonTypeName,
    ProposalOutput,
    show_proposal,
)
from commonplace.dispatch.tool import Context, Tier, Tool
from commonplace.kernel.auth import Scope
from commonplace.kernel.errors import TOOL_EXCLUDED, CommonplaceError
from commonplace.kernel.json_types import JsonObject

_WRITERS = {ProposalKind.LESSON: "rekall_add", ProposalKind.RULE: "instructions_add"}


class CaptureEditInput(CaptureShowInput):
    kind: KindName | None = Field(None, description="Make it a lesson or a rule.")
    type: LessonTypeName | None = Field(None, description="Of a lesson.")
    title: str | None = Field(
        None, max_length=TITLE_CHARACTERS, description="At most 100 characters."
    )
    content: str | None = Field(None, max_length=CONTENT_CHARACTERS, description="What it says.")
    tags: list[str] | None = Field(None, max_length=MOST_TAGS, description="Replace the tags.")
    project: str | None = Field(
        None, max_length=PROJECT_CHARACTERS, description="Of a lesson; empty for all."
    )


class CaptureAcceptOutput(TypedDict):
    proposal: ProposalOutput
    result: str
    created: bool
    similar: list[str]
    contradicts: list[str]
    notes: list[str]


def edit_tool(service: Callable[[], CaptureService]) -> Tool:
    """Build `capture_edit`."""

    async def handler(ctx: Context, args: CaptureEditInput) -> JsonObject:
        edit = ProposalEdit(
            None if args.kind is None else ProposalKind(args.kind),
            None if args.type is None else LessonType(args.type),
            args.title,
            args.content,
            None if args.tags is None else tuple(args.tags),
            args.project,
        )
        return show_proposal(await service().edit(ctx.auth, args.id, edit))

    return Tool(
        name="capture_edit",
        toolset="context",
        title="Edit a proposal of a capture",
        description="Change what a pending proposal says, or whether it is a lesson or a rule.",
        input=CaptureEditInput,
        output=ProposalOutput,
        handler=handler,
        tier=Tier.EXTENDED,
        read_only=False,
        scope=Scope.WRITE,
        errors=(PROPOSAL_NOT_FOUND, PROPOSAL_DECIDED),
        redact=frozenset({"content"}),
    )


def accept_tool(service: Callable[[], CaptureService]) -> Tool:
    """Build `capture_accept`. A rule needs what `instructions_add` needs."""

    async def handler(ctx: Context, args: CaptureShowInput) -> JsonObject:
        capture = service()
        proposal = await capture.show(ctx.auth, args.id)
        _check(ctx, proposal.text.kind)
        accepted, result = await capture.accept(ctx.auth, proposal.id)
        return {
            "proposal": show_proposal(accepted),
            "result": result.ref,
            "created": result.created,
            "similar": list(result.similar),
            "contradicts": list(result.contradicts),
            "notes": list(result.notes),
        }

    tool = Tool(
        name="capture_accept",
        toolset="context",
        title="Accept a proposal of a capture",
        description="Add a proposed lesson to memory, or a proposed rule to the instructions as a "
        "draft, which needs the mutation switch. The answer names similar and contradicting "
        "lessons.",
        input=CaptureShowInput,
        output=CaptureAcceptOutput,
        handler=handler,
        tier=Tier.EXTENDED,
        read_only=False,
        scope=Scope.WRITE,
        errors=(PROPOSAL_NOT_FOUND, PROPOSAL_DECIDED, PROPOSAL_REFUSED),
    )
    of_rules = replace(tool, writes_catalogue=True)

    def _check(ctx: Context, kind: ProposalKind) -> None:
        """Refuse what the caller could not add directly."""
        if not ctx.permits(_WRITERS[kind]):
            raise CommonplaceError(
                TOOL_EXCLUDED,
                f"{_WRITERS[kind]} is excluded here, so a {kind} cannot be accepted.",
                hint="Accept it on a server that offers it, or on the command line.",
            )
        if kind is ProposalKind.RULE:
            ctx.admit(of_rules)

    return tool


def reject_tool(service: Callable[[], CaptureService]) -> Tool:
    """Build `capture_reject`."""

    async def handler(ctx: Context, args: CaptureShowInput) -> JsonObject:
        return show_proposal(await service().reject(ctx.auth, args.id))

    return Tool(
        name="capture_reject",
        toolset="context",
        title="Reject a proposal of a capture",
        description="Reject a pending proposal; it is not proposed again.",
        input=CaptureShowInput,
        output=ProposalOutput,
        handler=handler,
        tier=Tier.EXTENDED,
        read_only=False,
        scope=Scope.WRITE,
        errors=(PROPOSAL_NOT_FOUND, PROPOSAL_DECIDED),
    )
