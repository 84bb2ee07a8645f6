"""The `oas_walk_schemas` and `oas_walk_refs` tools."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import BeforeValidator, Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Context, Tool
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.walk.refs import RefFilter
from commonplace.openapi.engine.walk.schemas import SchemaFilter
from commonplace.openapi.service import OpenApiService
from commonplace.openapi.tools.spec import OptionalText
from commonplace.openapi.tools.walk.definition import (
    GROUPED,
    WalkInput,
    WalkOutput,
    lower_text,
    show_walk,
    walk_tool,
)


class WalkSchemasInput(WalkInput):
    name: OptionalText = Field(
        None,
        max_length=400,
        description="Component or property name; * and ? are wildcards; any case.",
    )
    type: OptionalText = Field(
        None,
        max_length=100,
        description="Exact type (object, array, string, ...); not part of a type list.",
    )
    component: bool = Field(False, description="Only schemas inside components or definitions.")
    inline: bool = Field(False, description="Only schemas outside components.")
    named: bool = Field(
        False, description="Only the components themselves, without what is nested in them."
    )
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


def walk_schemas_tool(service: OpenApiService) -> Tool:
    """Build `oas_walk_schemas`."""

    async def walk(ctx: Context, args: WalkSchemasInput) -> JsonObject:
        where = SchemaFilter(args.name, args.type, args.component, args.inline, args.named)
        result = await service.walk_schemas(ctx.auth, args.spec.spec, args.query(), where)
        return show_walk(result, details="schemas")

    return walk_tool(
        "schemas",
        "Query schemas",
        "List or count schemas, also nested ones, by name, type or place. component=true "
        "restricts to components.",
        WalkSchemasInput,
        SchemasOutput,
        walk,
    )


class WalkRefsInput(WalkInput):
    target: OptionalText = Field(
        None, max_length=2000, description="Reference; * and ? are wildcards, e.g. *schemas/Pet."
    )
    node_type: OptionalText = Field(
        None,
        max_length=40,
        description="schema, parameter, response, requestBody, header, link, example, pathItem, "
        "securityScheme, ...",
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


def walk_refs_tool(service: OpenApiService) -> Tool:
    """Build `oas_walk_refs`."""

    async def walk(ctx: Context, args: WalkRefsInput) -> JsonObject:
        where = RefFilter(args.target, args.node_type)
        result = await service.walk_refs(ctx.auth, args.spec.spec, args.query(), where)
        return show_walk(result, details="details", summaries="refs")

    return walk_tool(
        "refs",
        "Query references",
        "List $ref targets with how often they are used, or every place that uses one "
        "(detail=true).",
        WalkRefsInput,
        RefsOutput,
        walk,
    )
