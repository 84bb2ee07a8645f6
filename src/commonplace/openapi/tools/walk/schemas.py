"""The `oas_walk_schemas` and `oas_walk_refs` tools."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import BeforeValidator, Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Context, Tool
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.walk.refs import RefFilter
from commonplace.openapi.engine.walk.rows import RefRow, SchemaRow
from commonplace.openapi.engine.walk.schemas import SchemaFilter
from commonplace.openapi.service import OpenApiService
from commonplace.openapi.tools.spec import OptionalText
from commonplace.openapi.tools.walk.definition import (
    GROUPED,
    WalkInput,
    WalkOutput,
    WireRows,
    drop_empty,
    lower_text,
    show_walk,
    walk_tool,
)


class WalkSchemasInput(WalkInput):
    name: OptionalText = Field(
        None,
        max_length=400,
        description="Of a component or property, with * and ?.",
    )
    type: OptionalText = Field(
        None,
        max_length=100,
        description="Exact type. Object, array, string and so on; not part of a type list.",
    )
    component: bool = Field(False, description="Only in components.")
    inline: bool = Field(False, description="Only outside components.")
    named: bool = Field(False, description="Components without nested schemas.")
    group_by: Annotated[Literal["type", "location"] | None, BeforeValidator(lower_text)] = Field(
        None, description=GROUPED
    )


class SchemaSummary(TypedDict):
    name: str
    type: NotRequired[str]
    location: Literal["component", "inline"]
    property_count: int
    required: NotRequired[list[str]]
    ref: NotRequired[str]


class SchemaDetail(TypedDict):
    name: str
    json_path: str
    is_component: bool
    schema: JsonObject


class SchemasOutput(WalkOutput):
    summaries: NotRequired[list[SchemaSummary]]
    schemas: NotRequired[list[SchemaDetail]]


def _summarise_schema(row: SchemaRow) -> JsonObject:
    return {
        "name": row.name,
        **drop_empty({"type": row.type}),
        "location": "component" if row.component else "inline",
        "property_count": row.property_count,
        **drop_empty({"required": list(row.required), "ref": row.ref}),
    }


def _show_schema(row: SchemaRow) -> JsonObject:
    return {
        "name": row.name,
        "json_path": row.json_path,
        "is_component": row.component,
        "schema": row.schema,
    }


SCHEMA_ROWS = WireRows(_summarise_schema, _show_schema, "schemas")


def walk_schemas_tool(service: OpenApiService) -> Tool:
    """Build `oas_walk_schemas`."""

    async def walk(ctx: Context, args: WalkSchemasInput) -> JsonObject:
        where = SchemaFilter(args.name, args.type, args.component, args.inline, args.named)
        result = await service.walk_schemas(ctx.auth, args.spec.spec, args.query(), where)
        return show_walk(result, SCHEMA_ROWS)

    return walk_tool(
        "schemas",
        "Query schemas",
        "List or count schemas, also nested ones.",
        WalkSchemasInput,
        SchemasOutput,
        walk,
    )


class WalkRefsInput(WalkInput):
    target: OptionalText = Field(
        None, max_length=2000, description="$ref with * and ?. Such as *schemas/Pet."
    )
    node_type: OptionalText = Field(
        None,
        max_length=40,
        description="Such as schema or requestBody. Also parameter, response, header, link, "
        "example, pathItem, securityScheme.",
    )
    group_by: Annotated[Literal["node_type"] | None, BeforeValidator(lower_text)] = Field(
        None, description=GROUPED
    )


class RefSummary(TypedDict):
    ref: str
    count: int


class RefDetail(TypedDict):
    ref: str
    source_path: str
    node_type: str
    value: NotRequired[Json]


class RefsOutput(WalkOutput):
    refs: NotRequired[list[RefSummary]]
    details: NotRequired[list[RefDetail]]


def _summarise_ref(row: RefRow) -> JsonObject:
    return {"ref": row.ref, "count": row.count}


def _show_ref(row: RefRow) -> JsonObject:
    return {"ref": row.ref, "source_path": row.source_path, "node_type": row.node_type}


def _show_resolved_ref(row: RefRow) -> JsonObject:
    return {**_show_ref(row), "value": row.value}


def walk_refs_tool(service: OpenApiService) -> Tool:
    """Build `oas_walk_refs`."""

    async def walk(ctx: Context, args: WalkRefsInput) -> JsonObject:
        where = RefFilter(args.target, args.node_type)
        result = await service.walk_refs(ctx.auth, args.spec.spec, args.query(), where)
        show_detail = _show_resolved_ref if args.resolve_refs else _show_ref
        return show_walk(result, WireRows(_summarise_ref, show_detail, "details", "refs"))

    return walk_tool(
        "refs",
        "Query references",
        "List $ref targets with their number of uses; detail=true lists every use.",
        WalkRefsInput,
        RefsOutput,
        walk,
    )
