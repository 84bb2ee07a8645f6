"""The `oas_diff` tool: what changed between two documents, and whether it breaks clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tool
from commonplace.openapi.errors import SPEC_INPUT
from commonplace.openapi.model import PageRequest
from commonplace.openapi.service import OpenApiService
from commonplace.openapi.tools.delivery import LIMIT
from commonplace.openapi.tools.spec import DOCUMENT, READING, SpecInput

if TYPE_CHECKING:
    from commonplace.openapi.engine.diff.rules import ApiChange


class ApiDiffInput(Arguments):
    base: SpecInput = Field(description=DOCUMENT)
    revision: SpecInput = Field(description=DOCUMENT)
    breaking_only: bool = False
    no_info: bool = False
    literal: bool = Field(False, description="Across versions, count format differences too.")
    limit: int | None = Field(
        None,
        ge=0,
        description=LIMIT,
    )
    offset: int = Field(0, ge=0)


class ApiChangeOutput(TypedDict):
    severity: Literal["critical", "error", "warning", "info"]
    type: Literal["added", "removed", "modified"]
    path: str
    message: str
    rule: str
    directions: NotRequired[list[str]]
    operations: NotRequired[list[str]]
    operation_count: NotRequired[int]


class ApiDiffOutput(TypedDict):
    total_changes: int
    breaking_count: int
    warning_count: int
    info_count: int
    returned: int
    changes: list[ApiChangeOutput]
    summary: str


def diff_tool(service: OpenApiService) -> Tool:
    """Build `oas_diff`."""

    async def diff(ctx: Context, args: ApiDiffInput) -> ApiDiffOutput:
        result = await service.diff(
            ctx.auth,
            args.base.spec,
            args.revision.spec,
            breaking_only=args.breaking_only,
            info=not args.no_info,
            literal=args.literal,
            page=PageRequest(args.limit, args.offset),
        )
        return {
            "total_changes": result.total,
            "breaking_count": result.breaking_count,
            "warning_count": result.warning_count,
            "info_count": result.info_count,
            "returned": len(result.changes),
            "changes": [_show_change(change) for change in result.changes],
            "summary": result.summary,
        }

    return Tool(
        name="oas_diff",
        toolset="openapi",
        title="Compare two API descriptions",
        description=(
            "Compare two OpenAPI documents by meaning: critical and error changes break clients, "
            "warning may, info does not."
        ),
        input=ApiDiffInput,
        output=ApiDiffOutput,
        handler=diff,
        aliases=("diff",),
        open_world=True,
        field_codes={"base": SPEC_INPUT, "revision": SPEC_INPUT},
        errors=READING,
        message_first=True,
        large=True,
    )


def _show_change(change: ApiChange) -> ApiChangeOutput:
    output: ApiChangeOutput = {
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
