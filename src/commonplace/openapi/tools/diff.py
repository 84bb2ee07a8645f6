"""`diff`: what changed between two documents, and whether it breaks clients."""

from __future__ import annotations

import asyncio
from typing import Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tool
from commonplace.openapi.engine.diff.collector import summarize_changes
from commonplace.openapi.engine.diff.compare import diff
from commonplace.openapi.engine.diff.rules import BREAKING, ApiChange, Level
from commonplace.openapi.engine.walk.query import DEFAULT_LIMIT, MAX_LIMIT
from commonplace.openapi.errors import SPEC_INPUT
from commonplace.openapi.model import ApiDocument
from commonplace.openapi.service import OpenApiService
from commonplace.openapi.tools.spec import READING, SpecInput


class DiffInput(Arguments):
    base: SpecInput = Field(
        description="The original document: exactly one of file, url, content, ref."
    )
    revision: SpecInput = Field(
        description="The revised document: exactly one of file, url, content, ref."
    )
    breaking_only: bool = Field(False, description="Only show changes that break clients.")
    no_info: bool = Field(False, description="Leave informational changes out.")
    literal: bool = Field(
        False, description="Across OpenAPI versions, also count differences of format as breaking."
    )
    limit: int | None = Field(
        None,
        ge=0,
        description="Max changes to return (default 100, at most 1000); counts are of all.",
    )
    offset: int = Field(0, ge=0, description="Skip the first N changes.")


class ChangeOutput(TypedDict):
    severity: Literal["critical", "error", "warning", "info"]
    type: Literal["added", "removed", "modified"]
    path: str
    message: str
    rule: str
    directions: NotRequired[list[str]]
    operations: NotRequired[list[str]]
    operation_count: NotRequired[int]


class DiffOutput(TypedDict):
    total_changes: int
    breaking_count: int
    warning_count: int
    info_count: int
    returned: int
    changes: list[ChangeOutput]
    summary: str


def diff_tool(service: OpenApiService) -> Tool:
    async def handler(ctx: Context, args: DiffInput) -> dict[str, Any]:
        base, revision = await asyncio.gather(
            service.document(args.base.spec, ctx.auth),
            service.document(args.revision.spec, ctx.auth),
        )
        return await service.run(ctx.auth, lambda: answer(service, base, revision, args))

    return Tool(
        name="oas_diff",
        toolset="openapi",
        title="Compare two API descriptions",
        description=(
            "Compare two OpenAPI documents by meaning and say which changes break clients: "
            "critical and error break, "
            "warning may, info does not. Narrowed requests and widened responses break. "
            "breaking_only=true for release checks."
        ),
        input=DiffInput,
        output=DiffOutput,
        handler=handler,
        aliases=("diff",),
        open_world=True,
        field_codes={"base": SPEC_INPUT, "revision": SPEC_INPUT},
        errors=READING,
        message_first=True,
    )


def answer(
    service: OpenApiService, base: ApiDocument, revision: ApiDocument, args: DiffInput
) -> dict[str, Any]:
    base, revision = service.bundle_document(base)[0], service.bundle_document(revision)[0]
    changes = diff(
        base, revision, service.resolver(base), service.resolver(revision), literal=args.literal
    )
    if args.breaking_only:
        changes = [change for change in changes if change.level in BREAKING]
    if args.no_info:
        changes = [change for change in changes if change.level is not Level.INFO]
    page = changes[args.offset : args.offset + min(args.limit or DEFAULT_LIMIT, MAX_LIMIT)]
    return {
        "total_changes": len(changes),
        "breaking_count": sum(1 for change in changes if change.level in BREAKING),
        "warning_count": sum(1 for change in changes if change.level is Level.WARNING),
        "info_count": sum(1 for change in changes if change.level is Level.INFO),
        "returned": len(page),
        "changes": [shown(change) for change in page],
        "summary": summarize_changes(changes),
    }


def shown(change: ApiChange) -> dict[str, Any]:
    output: dict[str, Any] = {
        "severity": change.level.value,
        "type": change.rule.kind.value,
        "path": change.path,
        "message": change.message,
        "rule": change.rule.id,
    }
    if change.directions:
        output["directions"] = [direction.value for direction in change.directions]
    if change.operations:
        output["operations"] = list(change.operations)
        output["operation_count"] = change.operation_count
    return output
