"""The `oas_walk_operations` and `oas_walk_paths` tools."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import BeforeValidator, Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Context, Tool
from commonplace.kernel.json_types import JsonObject
from commonplace.openapi.engine.walk.operations import OperationFilter
from commonplace.openapi.service import OpenApiService
from commonplace.openapi.tools.spec import OptionalText
from commonplace.openapi.tools.walk.definition import (
    GROUPED,
    METHOD,
    PATH,
    WalkInput,
    WalkOutput,
    lower_text,
    show_walk,
    walk_tool,
)


class WalkOperationsInput(WalkInput):
    method: OptionalText = Field(None, max_length=40, description=METHOD)
    path: OptionalText = Field(None, max_length=2000, description=PATH)
    tag: OptionalText = Field(None, max_length=400, description="Only operations with this tag.")
    operation_id: OptionalText = Field(
        None, max_length=400, description="Only the operation with this operationId."
    )
    deprecated: bool = Field(False, description="Only deprecated operations.")
    group_by: Annotated[Literal["tag", "method"] | None, BeforeValidator(lower_text)] = Field(
        None, description=GROUPED
    )


class OperationSummary(TypedDict):
    method: str
    path: str
    operation_id: NotRequired[str]
    summary: NotRequired[str]
    tags: NotRequired[list[str]]
    deprecated: NotRequired[bool]
    callback: NotRequired[str]
    webhook: NotRequired[bool]


class OperationDetail(TypedDict):
    method: str
    path: str
    callback: NotRequired[str]
    webhook: NotRequired[bool]
    operation: JsonObject


class OperationsOutput(WalkOutput):
    webhook_operations: NotRequired[int]
    callback_operations: NotRequired[int]
    summaries: NotRequired[list[OperationSummary]]
    operations: NotRequired[list[OperationDetail]]


def walk_operations_tool(service: OpenApiService) -> Tool:
    """Build `oas_walk_operations`."""

    async def walk(ctx: Context, args: WalkOperationsInput) -> JsonObject:
        where = OperationFilter(
            args.method, args.path, args.tag, args.operation_id, args.deprecated
        )
        result = await service.walk_operations(ctx.auth, args.spec.spec, args.query(), where)
        return show_walk(result, details="operations")

    return walk_tool(
        "operations",
        "Query operations",
        "List or count operations by method, path pattern, tag, operationId, deprecation or "
        "extension. "
        "Summaries by default; detail=true for whole operations.",
        WalkOperationsInput,
        OperationsOutput,
        walk,
    )


class WalkPathsInput(WalkInput):
    path: OptionalText = Field(None, max_length=2000, description=PATH)
    group_by: Annotated[Literal["segment"] | None, BeforeValidator(lower_text)] = Field(
        None, description=GROUPED
    )


class PathSummary(TypedDict):
    path: str
    method_count: int
    summary: NotRequired[str]
    callback: NotRequired[str]


class PathDetail(TypedDict):
    path: str
    callback: NotRequired[str]
    path_item: JsonObject


class PathsOutput(WalkOutput):
    summaries: NotRequired[list[PathSummary]]
    paths: NotRequired[list[PathDetail]]


def walk_paths_tool(service: OpenApiService) -> Tool:
    """Build `oas_walk_paths`."""

    async def walk(ctx: Context, args: WalkPathsInput) -> JsonObject:
        result = await service.walk_paths(ctx.auth, args.spec.spec, args.query(), args.path)
        return show_walk(result, details="paths")

    return walk_tool(
        "paths",
        "Query paths",
        "List or count path items by pattern (* one segment, ** any number).",
        WalkPathsInput,
        PathsOutput,
        walk,
    )
