"""The walk tools of parameters, responses, headers and security schemes."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import BeforeValidator, Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Context, Tool
from commonplace.kernel.json_types import JsonObject
from commonplace.openapi.engine.walk.parts import (
    HeaderFilter,
    ParameterFilter,
    ResponseFilter,
    SecurityFilter,
)
from commonplace.openapi.engine.walk.rows import (
    HeaderRow,
    ParameterRow,
    ResponseRow,
    SecuritySchemeRow,
)
from commonplace.openapi.service import OpenApiService
from commonplace.openapi.tools.spec import OptionalText
from commonplace.openapi.tools.walk.definition import (
    GROUPED,
    PATH,
    STATUS,
    WalkInput,
    WalkOutput,
    WireRows,
    drop_empty,
    lower_text,
    show_walk,
    walk_tool,
)


class WalkParametersInput(WalkInput):
    name: OptionalText = Field(None, max_length=400)
    in_: OptionalText = Field(
        None,
        alias="in",
        max_length=40,
        description="Such as query, header, path, cookie. Resolves $ref parameters, as name does.",
    )
    path: OptionalText = Field(None, max_length=2000, description=PATH)
    method: OptionalText = Field(None, max_length=40)
    group_by: Annotated[Literal["location", "name"] | None, BeforeValidator(lower_text)] = Field(
        None, description=GROUPED
    )


ParameterSummary = TypedDict(
    "ParameterSummary",
    {
        "name": str,
        "in": str,
        "path": NotRequired[str],
        "method": NotRequired[str],
        "required": NotRequired[bool],
        "type": NotRequired[str],
        "ref": NotRequired[str],
    },
)


class ParameterDetail(TypedDict):
    name: str
    path: NotRequired[str]
    method: NotRequired[str]
    parameter: JsonObject


class ParametersOutput(WalkOutput):
    summaries: NotRequired[list[ParameterSummary]]
    parameters: NotRequired[list[ParameterDetail]]


def _summarise_parameter(row: ParameterRow) -> JsonObject:
    return {"name": row.name, "in": row.location} | drop_empty(
        {
            "path": row.path,
            "method": row.method,
            "required": row.required,
            "type": row.type,
            "ref": row.ref,
        }
    )


def _show_parameter(row: ParameterRow) -> JsonObject:
    place = drop_empty({"path": row.path, "method": row.method})
    return {"name": row.name, **place, "parameter": row.parameter}


PARAMETER_ROWS = WireRows(_summarise_parameter, _show_parameter, "parameters")


def walk_parameters_tool(service: OpenApiService) -> Tool:
    """Build `oas_walk_parameters`."""

    async def walk(ctx: Context, args: WalkParametersInput) -> JsonObject:
        where = ParameterFilter(args.name, args.in_, args.path, args.method)
        result = await service.walk_parameters(ctx.auth, args.spec.spec, args.query(), where)
        return show_walk(result, PARAMETER_ROWS)

    return walk_tool(
        "parameters",
        "Query parameters",
        "List or count parameters.",
        WalkParametersInput,
        ParametersOutput,
        walk,
    )


class WalkResponsesInput(WalkInput):
    status: OptionalText = Field(None, max_length=40, description=STATUS)
    path: OptionalText = Field(None, max_length=2000, description=PATH)
    method: OptionalText = Field(None, max_length=40)
    group_by: Annotated[Literal["status_code", "method"] | None, BeforeValidator(lower_text)] = (
        Field(None, description=GROUPED)
    )


class ResponseSummary(TypedDict):
    status: str
    path: NotRequired[str]
    method: NotRequired[str]
    name: NotRequired[str]
    description: NotRequired[str]
    ref: NotRequired[str]


class ResponseDetail(TypedDict):
    status: str
    path: NotRequired[str]
    method: NotRequired[str]
    name: NotRequired[str]
    response: JsonObject


class ResponsesOutput(WalkOutput):
    summaries: NotRequired[list[ResponseSummary]]
    responses: NotRequired[list[ResponseDetail]]


def _show_response_place(row: ResponseRow) -> JsonObject:
    place = drop_empty({"path": row.path, "method": row.method, "name": row.name})
    return {"status": row.status, **place}


def _summarise_response(row: ResponseRow) -> JsonObject:
    optional = drop_empty({"description": row.description, "ref": row.ref})
    return {**_show_response_place(row), **optional}


def _show_response(row: ResponseRow) -> JsonObject:
    return {**_show_response_place(row), "response": row.response}


RESPONSE_ROWS = WireRows(_summarise_response, _show_response, "responses")


def walk_responses_tool(service: OpenApiService) -> Tool:
    """Build `oas_walk_responses`."""

    async def walk(ctx: Context, args: WalkResponsesInput) -> JsonObject:
        where = ResponseFilter(args.status, args.path, args.method)
        result = await service.walk_responses(ctx.auth, args.spec.spec, args.query(), where)
        return show_walk(result, RESPONSE_ROWS)

    return walk_tool(
        "responses",
        "Query responses",
        "List or count responses.",
        WalkResponsesInput,
        ResponsesOutput,
        walk,
    )


class WalkHeadersInput(WalkInput):
    name: OptionalText = Field(None, max_length=400, description="* and ? match any.")
    path: OptionalText = Field(None, max_length=2000, description=PATH)
    method: OptionalText = Field(None, max_length=40)
    status: OptionalText = Field(None, max_length=40, description=STATUS)
    component: bool = Field(False, description="Only in components.")
    group_by: Annotated[Literal["name", "status_code"] | None, BeforeValidator(lower_text)] = Field(
        None, description=GROUPED
    )


class HeaderSummary(TypedDict):
    name: str
    path: NotRequired[str]
    method: NotRequired[str]
    status: NotRequired[str]
    description: NotRequired[str]
    required: NotRequired[bool]
    deprecated: NotRequired[bool]
    ref: NotRequired[str]


class HeaderDetail(TypedDict):
    name: str
    path: NotRequired[str]
    method: NotRequired[str]
    status: NotRequired[str]
    header: JsonObject


class HeadersOutput(WalkOutput):
    summaries: NotRequired[list[HeaderSummary]]
    headers: NotRequired[list[HeaderDetail]]


def _show_header_place(row: HeaderRow) -> JsonObject:
    place = drop_empty({"path": row.path, "method": row.method, "status": row.status})
    return {"name": row.name, **place}


def _summarise_header(row: HeaderRow) -> JsonObject:
    optional = {
        "description": row.description,
        "required": row.required,
        "deprecated": row.deprecated,
        "ref": row.ref,
    }
    return {**_show_header_place(row), **drop_empty(optional)}


def _show_header(row: HeaderRow) -> JsonObject:
    return {**_show_header_place(row), "header": row.header}


HEADER_ROWS = WireRows(_summarise_header, _show_header, "headers")


def walk_headers_tool(service: OpenApiService) -> Tool:
    """Build `oas_walk_headers`."""

    async def walk(ctx: Context, args: WalkHeadersInput) -> JsonObject:
        where = HeaderFilter(args.name, args.path, args.method, args.status, args.component)
        result = await service.walk_headers(ctx.auth, args.spec.spec, args.query(), where)
        return show_walk(result, HEADER_ROWS)

    return walk_tool(
        "headers",
        "Query headers",
        "List or count response headers.",
        WalkHeadersInput,
        HeadersOutput,
        walk,
    )


class WalkSecurityInput(WalkInput):
    name: OptionalText = Field(None, max_length=400)
    type: OptionalText = Field(
        None, max_length=40, description="apiKey, http, oauth2, openIdConnect, mutualTLS or basic."
    )
    group_by: Annotated[Literal["type"] | None, BeforeValidator(lower_text)] = Field(
        None, description=GROUPED
    )


SecuritySummary = TypedDict(
    "SecuritySummary",
    {"name": str, "type": str, "in": NotRequired[str], "description": NotRequired[str]},
)


class SecurityDetail(TypedDict):
    name: str
    security_scheme: JsonObject


class SecurityOutput(WalkOutput):
    summaries: NotRequired[list[SecuritySummary]]
    schemes: NotRequired[list[SecurityDetail]]


def _summarise_scheme(row: SecuritySchemeRow) -> JsonObject:
    optional = drop_empty({"in": row.location, "description": row.description})
    return {"name": row.name, "type": row.type, **optional}


def _show_scheme(row: SecuritySchemeRow) -> JsonObject:
    return {"name": row.name, "security_scheme": row.security_scheme}


SCHEME_ROWS = WireRows(_summarise_scheme, _show_scheme, "schemes")


def walk_security_tool(service: OpenApiService) -> Tool:
    """Build `oas_walk_security`."""

    async def walk(ctx: Context, args: WalkSecurityInput) -> JsonObject:
        where = SecurityFilter(args.name, args.type)
        result = await service.walk_security(ctx.auth, args.spec.spec, args.query(), where)
        return show_walk(result, SCHEME_ROWS)

    return walk_tool(
        "security",
        "Query security schemes",
        "List or count security schemes.",
        WalkSecurityInput,
        SecurityOutput,
        walk,
    )
