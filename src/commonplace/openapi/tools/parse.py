"""`parse`: what is in a document, at a glance or whole."""

from __future__ import annotations

from typing import Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tool
from commonplace.openapi.engine.document.summary import (
    has_external_paths,
    render_document,
    summarize,
)
from commonplace.openapi.errors import ANSWER_TOO_LARGE, SPEC_INPUT
from commonplace.openapi.model import ApiDocument
from commonplace.openapi.service import OpenApiService
from commonplace.openapi.tools.spec import READING, SpecInput


class ParseInput(Arguments):
    spec: SpecInput = Field(description="The OAS document: exactly one of file, url, content, ref.")
    full: bool = Field(
        False,
        description="Also return the whole document, with descriptions untruncated. Large "
        "documents: use pointer.",
    )
    resolve_refs: bool = Field(
        False, description="Replace $ref pointers by what they name before returning (with full)."
    )
    pointer: str | None = Field(
        None,
        max_length=4096,
        description="With full: only this part, as a JSON pointer such as /components/schemas/Pet.",
    )


class Server(TypedDict):
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
    servers: NotRequired[list[Server]]
    tags: NotRequired[list[str]]
    format: str
    full_document: NotRequired[str]
    circular_refs: NotRequired[list[str]]
    unresolved_refs: NotRequired[list[str]]


def parse_tool(service: OpenApiService) -> Tool:
    async def parse(ctx: Context, args: ParseInput) -> dict[str, Any]:
        document = await service.document(args.spec.spec, ctx.auth)
        return await service.run(ctx.auth, lambda: _answer(service, document, args))

    return Tool(
        name="oas_parse",
        toolset="openapi",
        title="Parse an API description",
        description=(
            "Read an OpenAPI document (2.0, 3.0, 3.1, 3.2) and return its version, title, "
            "counts, servers and tags. "
            "Start here; then query parts with the oas_walk_* tools instead of asking for the "
            "full document."
        ),
        input=ParseInput,
        output=ParseOutput,
        handler=parse,
        aliases=("parse",),
        open_world=True,
        field_codes={"spec": SPEC_INPUT},
        errors=(*READING, ANSWER_TOO_LARGE),
        message_first=True,
    )


def _answer(service: OpenApiService, document: ApiDocument, args: ParseInput) -> dict[str, Any]:
    whole = service.bundle_document(document)[0] if has_external_paths(document) else document
    answer = summarize(document, whole, truncate=not args.full)
    if args.full:
        inliner = service.inliner(document) if args.resolve_refs else None
        answer |= render_document(document, inliner, args.pointer, service.answer_bytes)
    return answer
