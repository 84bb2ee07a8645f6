"""The `oas_fix` tool: repair common faults of a document."""

from __future__ import annotations

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tool
from commonplace.openapi.errors import FOREIGN_FILE, INVALID_SPEC, SPEC_INPUT, WRITE_FAILED
from commonplace.openapi.model import Delivery, PageRequest
from commonplace.openapi.service import OpenApiService
from commonplace.openapi.tools.delivery import (
    LIMIT,
    OUTPUT,
    OVERWRITE,
    DeliveryOutput,
    output_scope,
    show_delivery,
)
from commonplace.openapi.tools.spec import DOCUMENT, READING, OptionalText, SpecInput

MOST_ERRORS = 100


class FixInput(Arguments):
    spec: SpecInput = Field(description=DOCUMENT)
    dry_run: bool = Field(False, description="Preview, write nothing.")
    include_document: bool = False
    output: OptionalText = Field(None, max_length=4096, description=OUTPUT)
    overwrite: bool = Field(False, description=OVERWRITE)
    fix_duplicate_operationids: bool = False
    fix_schema_names: bool = Field(
        False, description="Such as Response[User]. Renames them, with all references."
    )
    prune: bool = Field(False, description="Remove empty paths and unused schemas.")
    prune_paths: bool = False
    prune_schemas: bool = False
    stub_missing_refs: bool = False
    limit: int | None = Field(None, ge=1, description=LIMIT)
    offset: int = Field(0, ge=0)


class FixItemOutput(TypedDict):
    type: str
    path: str
    description: str


class RemainingErrorOutput(TypedDict):
    path: str
    message: str


class FixOutput(DeliveryOutput):
    version: str
    fix_count: int
    returned: int
    fixes: list[FixItemOutput]
    error_count: int
    errors: list[RemainingErrorOutput]


def fix_tool(service: OpenApiService) -> Tool:
    """Build `oas_fix`."""

    async def fix(ctx: Context, args: FixInput) -> FixOutput:
        from commonplace.openapi.engine.fix import FixOptions

        options = FixOptions(
            duplicate_operation_ids=args.fix_duplicate_operationids,
            schema_names=args.fix_schema_names,
            prune=args.prune,
            prune_paths=args.prune_paths,
            prune_schemas=args.prune_schemas,
            stub_missing_refs=args.stub_missing_refs,
        )
        delivery = Delivery(
            None if args.dry_run else args.output, args.include_document, args.overwrite
        )
        result = await service.fix(ctx.auth, args.spec.spec, options, delivery)
        fixes = PageRequest(args.limit, args.offset).of(result.fixes)
        return {
            "version": result.version,
            "fix_count": len(result.fixes),
            "returned": len(fixes),
            "fixes": [
                {"type": fix.type, "path": fix.path, "description": fix.description}
                for fix in fixes
            ],
            "error_count": len(result.remaining),
            "errors": [
                {"path": finding.pointer, "message": finding.message}
                for finding in result.remaining[:MOST_ERRORS]
            ],
            **show_delivery(result.delivered),
        }

    return Tool(
        name="oas_fix",
        toolset="openapi",
        title="Fix an API description",
        description=(
            "Repair an OpenAPI document: path parameters always, the rest on request. Comments "
            "and key order stay."
        ),
        input=FixInput,
        output=FixOutput,
        handler=fix,
        aliases=("fix",),
        read_only=False,
        open_world=True,
        scope=output_scope,
        field_codes={"spec": SPEC_INPUT},
        errors=(*READING, INVALID_SPEC, FOREIGN_FILE, WRITE_FAILED),
        message_first=True,
        large=True,
    )
