"""The eight walk tools: queries over the parts of a document."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, NotRequired

from pydantic import BeforeValidator, Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tool
from commonplace.kernel.json_types import JsonObject
from commonplace.openapi.engine.document.index import has_external_path_items, index_document
from commonplace.openapi.engine.walk.query import Query, Walk
from commonplace.openapi.errors import ANSWER_TOO_LARGE, SPEC_INPUT
from commonplace.openapi.service import OpenApiService
from commonplace.openapi.tools.spec import READING, OptionalText, SpecInput


def _lowered(value: Any) -> Any:
    if isinstance(value, str):
        return value.strip().lower() or None
    return value


PATH = (
    "Path pattern: * is one segment, ** any number, e.g. /users/* or /repos/**/issues; "
    "without a slash * is any text: *users*."
)
METHOD = "HTTP method (get, post, ...), any case."
EXTENSION = "Filter by extension: x-name (it is there) or x-name=value, e.g. x-internal=true."
GROUPED = "Return {key, count} groups instead of items, largest first."


class WalkInput(Arguments):
    spec: SpecInput = Field(description="The OAS document: exactly one of file, url, content, ref.")
    detail: bool = Field(
        False, description="Return full objects instead of summaries (default limit 25)."
    )
    resolve_refs: bool = Field(
        False, description="Replace $ref pointers by what they name in the output."
    )
    limit: int | None = Field(
        None, ge=0, description="Max results (default 100; 25 in detail mode; at most 1000)."
    )
    offset: int = Field(0, ge=0, description="Skip the first N results.")
    extension: OptionalText = Field(None, max_length=400, description=EXTENSION)

    def query(self) -> Query:
        group_by = getattr(self, "group_by", None)
        return Query(
            self.detail,
            self.resolve_refs,
            self.limit or None,
            self.offset,
            group_by,
            self.extension,
        )


class WalkOperationsInput(WalkInput):
    method: OptionalText = Field(None, max_length=40, description=METHOD)
    path: OptionalText = Field(None, max_length=2000, description=PATH)
    tag: OptionalText = Field(None, max_length=400, description="Only operations with this tag.")
    operation_id: OptionalText = Field(
        None, max_length=400, description="Only the operation with this operationId."
    )
    deprecated: bool = Field(False, description="Only deprecated operations.")
    group_by: Annotated[Literal["tag", "method"] | None, BeforeValidator(_lowered)] = Field(
        None, description=GROUPED
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
    group_by: Annotated[Literal["type", "location"] | None, BeforeValidator(_lowered)] = Field(
        None, description=GROUPED
    )


class WalkParametersInput(WalkInput):
    name: OptionalText = Field(
        None,
        max_length=400,
        description="Parameter name, any case; $ref parameters are resolved for this.",
    )
    in_: OptionalText = Field(
        None,
        alias="in",
        max_length=40,
        description="Location: query, header, path, cookie; $ref parameters are resolved for this.",
    )
    path: OptionalText = Field(None, max_length=2000, description=PATH)
    method: OptionalText = Field(None, max_length=40, description=METHOD)
    group_by: Annotated[Literal["location", "name"] | None, BeforeValidator(_lowered)] = Field(
        None, description=GROUPED
    )


class WalkResponsesInput(WalkInput):
    status: OptionalText = Field(None, max_length=40, description="Status code: 200, 4xx, default.")
    path: OptionalText = Field(None, max_length=2000, description=PATH)
    method: OptionalText = Field(None, max_length=40, description=METHOD)
    group_by: Annotated[Literal["status_code", "method"] | None, BeforeValidator(_lowered)] = Field(
        None, description=GROUPED
    )


class WalkHeadersInput(WalkInput):
    name: OptionalText = Field(
        None, max_length=400, description="Header name; * and ? are wildcards; any case."
    )
    path: OptionalText = Field(None, max_length=2000, description=PATH)
    method: OptionalText = Field(None, max_length=40, description=METHOD)
    status: OptionalText = Field(None, max_length=40, description="Status code: 200, 4xx, default.")
    component: bool = Field(False, description="Only headers inside components.")
    group_by: Annotated[Literal["name", "status_code"] | None, BeforeValidator(_lowered)] = Field(
        None, description=GROUPED
    )


class WalkSecurityInput(WalkInput):
    name: OptionalText = Field(None, max_length=400, description="Scheme name, any case.")
    type: OptionalText = Field(
        None, max_length=40, description="apiKey, http, oauth2, openIdConnect, mutualTLS, basic."
    )
    group_by: Annotated[Literal["type"] | None, BeforeValidator(_lowered)] = Field(
        None, description=GROUPED
    )


class WalkPathsInput(WalkInput):
    path: OptionalText = Field(None, max_length=2000, description=PATH)
    group_by: Annotated[Literal["segment"] | None, BeforeValidator(_lowered)] = Field(
        None, description=GROUPED
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
    group_by: Annotated[Literal["node_type"] | None, BeforeValidator(_lowered)] = Field(
        None, description=GROUPED
    )


class Group(TypedDict):
    key: str
    count: int


class WalkOutput(TypedDict):
    total: int
    matched: int
    returned: int
    groups: NotRequired[list[Group]]
    truncated: NotRequired[bool]
    next_offset: NotRequired[int]
    circular_refs: NotRequired[list[str]]
    unresolved_refs: NotRequired[list[str]]
    refs_left: NotRequired[list[str]]


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
    operation: dict[str, Any]


class OperationsOutput(WalkOutput):
    webhook_operations: NotRequired[int]
    callback_operations: NotRequired[int]
    summaries: NotRequired[list[OperationSummary]]
    operations: NotRequired[list[OperationDetail]]


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
    schema: dict[str, Any]


class SchemasOutput(WalkOutput):
    summaries: NotRequired[list[SchemaSummary]]
    schemas: NotRequired[list[SchemaDetail]]


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
    parameter: dict[str, Any]


class ParametersOutput(WalkOutput):
    summaries: NotRequired[list[ParameterSummary]]
    parameters: NotRequired[list[ParameterDetail]]


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
    response: dict[str, Any]


class ResponsesOutput(WalkOutput):
    summaries: NotRequired[list[ResponseSummary]]
    responses: NotRequired[list[ResponseDetail]]


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
    header: dict[str, Any]


class HeadersOutput(WalkOutput):
    summaries: NotRequired[list[HeaderSummary]]
    headers: NotRequired[list[HeaderDetail]]


SecuritySummary = TypedDict(
    "SecuritySummary",
    {"name": str, "type": str, "in": NotRequired[str], "description": NotRequired[str]},
)


class SecurityDetail(TypedDict):
    name: str
    security_scheme: dict[str, Any]


class SecurityOutput(WalkOutput):
    summaries: NotRequired[list[SecuritySummary]]
    schemes: NotRequired[list[SecurityDetail]]


class PathSummary(TypedDict):
    path: str
    method_count: int
    summary: NotRequired[str]
    callback: NotRequired[str]


class PathDetail(TypedDict):
    path: str
    callback: NotRequired[str]
    path_item: dict[str, Any]


class PathsOutput(WalkOutput):
    summaries: NotRequired[list[PathSummary]]
    paths: NotRequired[list[PathDetail]]


class RefSummary(TypedDict):
    ref: str
    count: int


class RefDetail(TypedDict):
    ref: str
    source_path: str
    node_type: str
    value: NotRequired[Any]


class RefsOutput(WalkOutput):
    refs: NotRequired[list[RefSummary]]
    details: NotRequired[list[RefDetail]]


def walk_tools(service: OpenApiService) -> list[Tool]:
    def tool(
        kind: str,
        title: str,
        description: str,
        input_: type[WalkInput],
        output: Any,
        ask: Callable[[Walk, Any], JsonObject],
    ) -> Tool:
        async def handler(ctx: Context, args: WalkInput) -> JsonObject:
            document = await service.document(args.spec.spec, ctx.auth)

            def work() -> JsonObject:
                seen = document
                if kind != "refs" and (args.resolve_refs or has_external_path_items(document)):
                    seen, made = service.bundle_document(document)
                    if made is not None and made.unresolved:
                        answer = ask(
                            Walk(
                                seen,
                                index_document(seen),
                                service.inliner(seen),
                                args.query(),
                                service.answer_bytes,
                            ),
                            args,
                        )
                        return {
                            **answer,
                            "unresolved_refs": sorted(
                                {*answer.get("unresolved_refs", ()), *made.unresolved}
                            )[:100],
                        }
                return ask(
                    Walk(
                        seen,
                        index_document(seen),
                        service.inliner(seen),
                        args.query(),
                        service.answer_bytes,
                    ),
                    args,
                )

            return await service.run(ctx.auth, work)

        return Tool(
            name=f"oas_walk_{kind}",
            toolset="openapi",
            title=title,
            description=description,
            input=input_,
            output=output,
            handler=handler,
            aliases=(f"walk_{kind}",),
            open_world=True,
            field_codes={"spec": SPEC_INPUT},
            errors=(*READING, ANSWER_TOO_LARGE),
            message_first=True,
        )

    return [
        tool(
            "operations",
            "Query operations",
            "List or count operations by method, path pattern, tag, operationId, deprecation or "
            "extension. "
            "Summaries by default; detail=true for whole operations.",
            WalkOperationsInput,
            OperationsOutput,
            lambda walk, args: walk.operations(
                method=args.method,
                path=args.path,
                tag=args.tag,
                operation_id=args.operation_id,
                deprecated=args.deprecated,
            ),
        ),
        tool(
            "schemas",
            "Query schemas",
            "List or count schemas, also nested ones, by name, type or place. component=true "
            "restricts to components.",
            WalkSchemasInput,
            SchemasOutput,
            lambda walk, args: walk.schemas(
                name=args.name,
                type_=args.type,
                component=args.component,
                inline=args.inline,
                named=args.named,
            ),
        ),
        tool(
            "parameters",
            "Query parameters",
            "List or count parameters by location, name, path or method.",
            WalkParametersInput,
            ParametersOutput,
            lambda walk, args: walk.parameters(
                name=args.name, location=args.in_, path=args.path, method=args.method
            ),
        ),
        tool(
            "responses",
            "Query responses",
            "List or count responses by status code (200, 4xx, default), path or method.",
            WalkResponsesInput,
            ResponsesOutput,
            lambda walk, args: walk.responses(
                status=args.status, path=args.path, method=args.method
            ),
        ),
        tool(
            "headers",
            "Query headers",
            "List or count response headers by name, path, method or status; component=true for "
            "shared ones.",
            WalkHeadersInput,
            HeadersOutput,
            lambda walk, args: walk.headers(
                name=args.name,
                path=args.path,
                method=args.method,
                status=args.status,
                component=args.component,
            ),
        ),
        tool(
            "security",
            "Query security schemes",
            "List security schemes by name or type.",
            WalkSecurityInput,
            SecurityOutput,
            lambda walk, args: walk.security(name=args.name, type_=args.type),
        ),
        tool(
            "paths",
            "Query paths",
            "List or count path items by pattern (* one segment, ** any number).",
            WalkPathsInput,
            PathsOutput,
            lambda walk, args: walk.paths(path=args.path),
        ),
        tool(
            "refs",
            "Query references",
            "List $ref targets with how often they are used, or every place that uses one "
            "(detail=true).",
            WalkRefsInput,
            RefsOutput,
            lambda walk, args: walk.refs(target=args.target, node_type=args.node_type),
        ),
    ]
