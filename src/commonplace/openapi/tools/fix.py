"""`fix`: repair common faults of a document."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tool
from commonplace.openapi.engine.document.index import index_document
from commonplace.openapi.engine.fix import FixOptions, fix, used_elsewhere
from commonplace.openapi.engine.validate.report import validate
from commonplace.openapi.errors import FOREIGN_FILE, INVALID_SPEC, SPEC_INPUT, WRITE_FAILED
from commonplace.openapi.model import ApiDocument
from commonplace.openapi.service import OpenApiService
from commonplace.openapi.tools.spec import READING, OptionalText, SpecInput
from commonplace.openapi.tools.writing import (
    LIMIT,
    OFFSET,
    OVERWRITE,
    Once,
    changed_text,
    deliver,
    in_thread,
    output_scope,
    page,
)

MOST_ERRORS = 100


class FixInput(Arguments):
    spec: SpecInput = Field(description="The OAS document: exactly one of file, url, content, ref.")
    dry_run: bool = Field(False, description="Preview the fixes; nothing is written.")
    include_document: bool = Field(False, description="Include the fixed document in the answer.")
    output: OptionalText = Field(
        None, max_length=4096, description="File path to write the fixed document to."
    )
    overwrite: bool = Field(False, description=OVERWRITE)
    fix_duplicate_operationids: bool = Field(
        False, description="Deduplicate operationId values: later ones get a number."
    )
    fix_schema_names: bool = Field(
        False,
        description="Rename generic schema names such as Response[User], with all references.",
    )
    prune: bool = Field(
        False, description="Remove paths without operations and schemas that nothing refers to."
    )
    prune_paths: bool = Field(False, description="Only remove paths without operations.")
    prune_schemas: bool = Field(False, description="Only remove schemas that nothing refers to.")
    stub_missing_refs: bool = Field(
        False, description="Create stub schemas and responses for missing $ref targets."
    )
    limit: int | None = Field(None, ge=1, description=LIMIT)
    offset: int = Field(0, ge=0, description=OFFSET)


class FixItem(TypedDict):
    type: str
    path: str
    description: str


class LeftError(TypedDict):
    path: str
    message: str


class FixOutput(TypedDict):
    version: str
    fix_count: int
    returned: int
    fixes: list[FixItem]
    error_count: int
    errors: list[LeftError]
    written_to: NotRequired[str]
    document: NotRequired[str]
    document_omitted: NotRequired[str]


def _left(service: OpenApiService, document: ApiDocument, data: dict[str, Any]) -> dict[str, Any]:
    """The errors that the fixes leave, the first hundred of them in full."""
    fixed = document if data is document.data else replace(document, data=data, derived={})
    errors = validate(fixed, service.resolver(fixed)).errors
    return {
        "error_count": len(errors),
        "errors": [
            {"path": finding.pointer, "message": finding.message}
            for finding in errors[:MOST_ERRORS]
        ],
    }


def fix_tool(service: OpenApiService) -> Tool:
    async def handle(ctx: Context, args: FixInput) -> dict[str, Any]:
        document = await service.document(args.spec.spec, ctx.auth)

        def work() -> dict[str, Any]:
            renames = args.prune or args.prune_schemas or args.fix_schema_names
            spread = renames and any(
                not node.ref.startswith("#") for node in index_document(document).refs
            )
            options = FixOptions(
                args.fix_duplicate_operationids,
                args.fix_schema_names,
                args.prune,
                args.prune_paths,
                args.prune_schemas,
                args.stub_missing_refs,
                used_elsewhere(document, service.resolver(document)) if spread else frozenset(),
            )
            fixed = fix(document.data, document.family, options)
            fixes = page([one.as_dict() for one in fixed.fixes], args.limit, args.offset)
            answer: dict[str, Any] = {
                "version": document.version,
                "fix_count": len(fixed.fixes),
                "returned": len(fixes),
                "fixes": fixes,
                **_left(service, document, fixed.document),
            }
            output = None if args.dry_run else args.output
            text = Once(lambda: changed_text(document, fixed.document, output))
            deliver(
                service,
                answer,
                text,
                output,
                include=args.include_document,
                overwrite=args.overwrite,
            )
            return answer

        return await in_thread(service, ctx, work, document)

    return Tool(
        name="oas_fix",
        toolset="openapi",
        title="Fix an API description",
        description=(
            "Repair an OpenAPI document: undeclared and not-required path parameters always; on "
            "request duplicate operationIds, generic "
            "schema names, unused schemas and empty paths, missing $ref targets. Comments and "
            "key order stay. Use dry_run to preview."
        ),
        input=FixInput,
        output=FixOutput,
        handler=handle,
        aliases=("fix",),
        read_only=False,
        open_world=True,
        scope=output_scope,
        field_codes={"spec": SPEC_INPUT},
        errors=(*READING, INVALID_SPEC, FOREIGN_FILE, WRITE_FAILED),
        message_first=True,
    )
