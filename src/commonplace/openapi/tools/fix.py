"""`fix`: repair common faults of a document."""

from __future__ import annotations

from typing import Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tool
from commonplace.openapi.engine.fix import FixOptions, fix, used_elsewhere
from commonplace.openapi.engine.index import index_of
from commonplace.openapi.errors import INVALID_SPEC, SPEC_INPUT, WRITE_FAILED
from commonplace.openapi.service import OpenApiService
from commonplace.openapi.tools.spec import READING, OptionalText, SpecInput
from commonplace.openapi.tools.writing import LIMIT, OFFSET, Once, changed_text, deliver, in_thread, output_scope, page


class FixInput(Arguments):
    spec: SpecInput = Field(description="The OAS document: exactly one of file, url, content, ref.")
    dry_run: bool = Field(False, description="Preview the fixes; nothing is written.")
    include_document: bool = Field(False, description="Include the fixed document in the answer.")
    output: OptionalText = Field(None, max_length=4096, description="File path to write the fixed document to.")
    fix_duplicate_operationids: bool = Field(False, description="Deduplicate operationId values: later ones get a number.")
    fix_schema_names: bool = Field(False, description="Rename generic schema names such as Response[User], with all references.")
    prune: bool = Field(False, description="Remove paths without operations and schemas that nothing refers to.")
    stub_missing_refs: bool = Field(False, description="Create stub schemas and responses for missing $ref targets.")
    limit: int | None = Field(None, ge=1, description=LIMIT)
    offset: int = Field(0, ge=0, description=OFFSET)


class FixItem(TypedDict):
    type: str
    path: str
    description: str


class FixOutput(TypedDict):
    version: str
    fix_count: int
    returned: int
    fixes: list[FixItem]
    written_to: NotRequired[str]
    document: NotRequired[str]
    document_omitted: NotRequired[str]


def fix_tool(service: OpenApiService) -> Tool:
    async def handle(ctx: Context, args: FixInput) -> dict[str, Any]:
        document = await service.document(args.spec.spec, ctx.auth)

        def work() -> dict[str, Any]:
            spread = (args.prune or args.fix_schema_names) and any(not node.ref.startswith("#") for node in index_of(document).refs)
            options = FixOptions(
                args.fix_duplicate_operationids,
                args.fix_schema_names,
                args.prune,
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
            }
            output = None if args.dry_run else args.output
            text = Once(lambda: changed_text(document, fixed.document, output))
            deliver(service, answer, text, output, include=args.include_document)
            return answer

        return await in_thread(work, document)

    return Tool(
        name="oas_fix",
        toolset="openapi",
        title="Fix an API description",
        description=(
            "Repair an OpenAPI document: undeclared and not-required path parameters always; on request duplicate operationIds, generic "
            "schema names, unused schemas and empty paths, missing $ref targets. Comments and key order stay. Use dry_run to preview."
        ),
        input=FixInput,
        output=FixOutput,
        handler=handle,
        aliases=("fix",),
        read_only=False,
        open_world=True,
        scope=output_scope,
        field_codes={"spec": SPEC_INPUT},
        errors=(*READING, INVALID_SPEC, WRITE_FAILED),
        message_first=True,
    )
