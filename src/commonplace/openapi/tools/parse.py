"""The `oas_parse` tool: a summary of a document, or the whole of it."""

from __future__ import annotations

from typing import NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tool
from commonplace.kernel.json_types import JsonObject
from commonplace.openapi.engine.document.summary import (
    DocumentSummary,
    RenderedPart,
    ServerSummary,
)
from commonplace.openapi.errors import ANSWER_TOO_LARGE, SPEC_INPUT
from commonplace.openapi.service import OpenApiService
from commonplace.openapi.tools.spec import DOCUMENT, READING, SpecInput


class ParseInput(Arguments):
    spec: SpecInput = Field(description=DOCUMENT)
    full: bool = Field(
        False,
        description="Return the whole document. Descriptions are not cut; use pointer for a part.",
    )
    resolve_refs: bool = Field(False, description="With full.")
    pointer: str | None = Field(
        None,
        max_length=4096,
        description="With full: JSON pointer of a part. Such as /components/schemas/Pet.",
    )


class ServerOutput(TypedDict):
    url: str
    description: NotRequired[str]


class ParseOutput(TypedDict):
    version: str
    title: str
    description: NotRequired[str]
    path_count: int
    operation_count: int
    webhook_count: NotRequired[int]
    schema_count: int
    servers: NotRequired[list[ServerOutput]]
    tags: NotRequired[list[str]]
    format: str
    full_document: NotRequired[str]
    circular_refs: NotRequired[list[str]]
    unresolved_refs: NotRequired[list[str]]
    refs_left: NotRequired[list[str]]


def parse_tool(service: OpenApiService) -> Tool:
    """Build `oas_parse`."""

    async def parse(ctx: Context, args: ParseInput) -> JsonObject:
        result = await service.parse(
            ctx.auth,
            args.spec.spec,
            full=args.full,
            resolve_refs=args.resolve_refs,
            pointer=args.pointer,
        )
        output = _show_summary(result.summary)
        if result.full is not None:
            output |= _show_text(result.full)
        return output

    return Tool(
        name="oas_parse",
        toolset="openapi",
        title="Parse an API description",
        description=(
            "Summarise an OpenAPI document (2.0 to 3.2): version, title, counts, servers, tags. "
            "Start here, then query parts with oas_walk_*."
        ),
        input=ParseInput,
        output=ParseOutput,
        handler=parse,
        aliases=("parse",),
        open_world=True,
        field_codes={"spec": SPEC_INPUT},
        errors=(*READING, ANSWER_TOO_LARGE),
        message_first=True,
        large=True,
    )


def _show_summary(summary: DocumentSummary) -> JsonObject:
    optional = ("description", "servers", "tags", "webhook_count")
    fields = {
        "version": summary.version,
        "title": summary.title,
        "description": summary.description,
        "path_count": summary.path_count,
        "operation_count": summary.operation_count,
        "webhook_count": summary.webhook_count,
        "schema_count": summary.schema_count,
        "servers": [_show_server(server) for server in summary.servers],
        "tags": list(summary.tags),
        "format": summary.format,
    }
    return {name: value for name, value in fields.items() if value or name not in optional}


def _show_server(server: ServerSummary) -> ServerOutput:
    if not server.description:
        return {"url": server.url}
    return {"url": server.url, "description": server.description}


def _show_text(part: RenderedPart) -> JsonObject:
    notes = {
        "circular_refs": part.circular_refs,
        "unresolved_refs": part.unresolved_refs,
        "refs_left": part.refs_left,
    }
    return {"full_document": part.text} | {name: refs for name, refs in notes.items() if refs}
