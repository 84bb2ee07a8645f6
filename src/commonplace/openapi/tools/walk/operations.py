"""The `oas_walk_operations` and `oas_walk_paths` tools."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import BeforeValidator, Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Context, Tool
from commonplace.kernel.json_types import JsonObject
from commonplace.openapi.engine.walk.operations import OperationFilter
from commonplace.openapi.engine.walk.rows import OperationRow, PathRow
from commonplace.openapi.service import OpenApiService
from commonplace.openapi.tools.spec import OptionalText
from commonplace.openapi.tools.walk.definition import (
    GROUPED,
    PATH,
    WalkInput,
    WalkOutput,
    WireRows,
    drop_empty,
    lower_text,
    show_walk,
    walk_tool,
)


class WalkOperationsInput(WalkInput):
    method: OptionalText = Field(None, max_length=40)
    path: OptionalText = Field(None, max_length=2000, description=PATH)
    tag: OptionalText = Field(None, max_length=400)
    operation_id: OptionalText = Field(None, max_length=400)
    deprecated: bool = Field(False, description="Only deprecated ones.")
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


def _summarise_operation(row: OperationRow) -> JsonObject:
    return {"method": row.method, "path": row.path} | drop_empty(
        {
            "operation_id": row.operation_id,
            "summary": row.summary,
            "tags": list(row.tags),
            "deprecated": row.deprecated,
            "callback": row.callback,
            "webhook": row.webhook,
        }
    )


def _show_operation(row: OperationRow) -> JsonObject:
    place = drop_empty({"callback": row.callback, "webhook": row.webhook})
    return {"method": row.method, "path": row.path, **place, "operation": row.operation}


OPERATION_ROWS = WireRows(_summarise_operation, _show_operation, "operations")


def walk_operations_tool(service: OpenApiService) -> Tool:
    """Build `oas_walk_operations`."""

    async def walk(ctx: Context, args: WalkOperationsInput) -> JsonObject:
        where = OperationFilter(
            args.method, args.path, args.tag, args.operation_id, args.deprecated
        )
        result = await service.walk_operations(ctx.auth, args.spec.spec, args.query(), where)
        return show_walk(result, OPERATION_ROWS)

    return walk_tool(
        "operations",
        "Query operations",
        "List or count operations of an API.",
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


def _summarise_path(row: PathRow) -> JsonObject:
    optional = drop_empty({"summary": row.summary, "callback": row.callback})
    return {"path": row.path, "method_count": row.method_count, **optional}


def _show_path(row: PathRow) -> JsonObject:
    return {
        "path": row.path,
        **drop_empty({"callback": row.callback}),
        "path_item": row.path_item,
    }


PATH_ROWS = WireRows(_summarise_path, _show_path, "paths")


def walk_paths_tool(service: OpenApiService) -> Tool:
    """Build `oas_walk_paths`."""

    async def walk(ctx: Context, args: WalkPathsInput) -> JsonObject:
        result = await service.walk_paths(ctx.auth, args.spec.spec, args.query(), args.path)
        return show_walk(result, PATH_ROWS)

    return walk_tool(
        "paths",
        "Query paths",
        "List or count paths.",
        WalkPathsInput,
        PathsOutput,
        walk,
    )
