"""`join` and `bundle`: several documents, or several files, as one."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import BeforeValidator, Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tier, Tool
from commonplace.openapi.engine.document.bundle import bundle
from commonplace.openapi.engine.join.documents import Part, join
from commonplace.openapi.errors import (
    FOREIGN_FILE,
    INVALID_SPEC,
    JOIN_COLLISION,
    MIXED_VERSIONS,
    SPEC_INPUT,
    UNRESOLVED_REF,
    WRITE_FAILED,
)
from commonplace.openapi.model import METHODS, Family
from commonplace.openapi.service import OpenApiService
from commonplace.openapi.tools.spec import READING, OptionalText, SpecInput
from commonplace.openapi.tools.writing import (
    OVERWRITE,
    Once,
    deliver,
    in_thread,
    output_scope,
    text_for,
    whole,
    with_numbers,
)


def _absent(value: Any) -> Any:
    return None if value == "" else value


PathStrategy = Annotated[
    Literal["accept-left", "accept-right", "fail", "fail-on-paths"] | None, BeforeValidator(_absent)
]
SchemaStrategy = Annotated[
    Literal[
        "accept-left",
        "accept-right",
        "fail",
        "rename-left",
        "rename-right",
        "deduplicate",
        "deduplicate-or-rename",
        "fail-on-paths",
    ]
    | None,
    BeforeValidator(_absent),
]


class JoinInput(Arguments):
    specs: list[SpecInput] = Field(
        min_length=2,
        max_length=20,
        description="The documents to merge, 2 to 20; the left ones come first.",
    )
    path_strategy: PathStrategy = Field(
        None,
        description="What happens to paths that differ: fail (default; fail-on-paths too), "
        "accept-left or accept-right.",
    )
    schema_strategy: SchemaStrategy = Field(
        None,
        description=(
            "What happens to schemas and other components that differ: accept-left (default), "
            "accept-right, fail, rename-left, "
            "rename-right, deduplicate (equal ones merge, others fail), deduplicate-or-rename, "
            "fail-on-paths (only paths fail)."
        ),
    )
    semantic_dedup: bool = Field(
        False,
        description="Merge schemas that say the same under different names; references follow.",
    )
    output: OptionalText = Field(
        None, max_length=4096, description="File path to write the merged document to."
    )
    overwrite: bool = Field(False, description=OVERWRITE)


class JoinWarning(TypedDict):
    message: str


class JoinOutput(TypedDict):
    spec_count: int
    version: str
    path_count: int
    operation_count: int
    schema_count: int
    collision_count: int
    warning_count: int
    warnings: list[JoinWarning]
    summary: str
    written_to: NotRequired[str]
    document: NotRequired[str]
    document_omitted: NotRequired[str]


class BundleInput(Arguments):
    spec: SpecInput = Field(description="The OAS document that refers to other files: file or url.")
    output: OptionalText = Field(
        None, max_length=4096, description="File path to write the single document to."
    )
    overwrite: bool = Field(False, description=OVERWRITE)


class BundleOutput(TypedDict):
    version: str
    file_count: int
    files: list[str]
    imported_count: int
    written_to: NotRequired[str]
    document: NotRequired[str]
    document_omitted: NotRequired[str]


def join_tool(service: OpenApiService) -> Tool:
    async def handle(ctx: Context, args: JoinInput) -> dict[str, Any]:
        documents = [await service.document(one.spec, ctx.auth) for one in args.specs]

        def work() -> dict[str, Any]:
            parts = [
                Part(whole(service, one), one.version, one.family, one.name) for one in documents
            ]
            joined = join(
                parts,
                path_strategy=args.path_strategy or "fail",
                schema_strategy=args.schema_strategy or "accept-left",
                merge_duplicates=args.semantic_dedup,
            )
            data = joined.document
            paths = data.get("paths") or {}
            old = documents[0].family is Family.V20
            schemas = (
                data.get("definitions") if old else (data.get("components") or {}).get("schemas")
            )
            operations = sum(
                method in item
                for item in paths.values()
                if isinstance(item, dict)
                for method in METHODS
            )
            answer: dict[str, Any] = {
                "spec_count": len(documents),
                "version": documents[0].version,
                "path_count": sum(not name.startswith("x-") for name in paths),
                "operation_count": operations,
                "schema_count": len(schemas or {}),
                "collision_count": joined.collisions,
                "warning_count": len(joined.warnings),
                "warnings": [{"message": warning} for warning in joined.warnings[:200]],
            }
            answer["summary"] = (
                f"Joined {len(documents)} documents: {answer['path_count']} paths, "
                f"{answer['schema_count']} schemas, "
                f"{joined.collisions} collisions."
            )
            text = Once(
                lambda: text_for(data, with_numbers(documents[0], *documents[1:]), args.output)
            )
            deliver(
                service,
                answer,
                text,
                args.output,
                include=not args.output,
                overwrite=args.overwrite,
            )
            return answer

        return await in_thread(service, ctx, work, *documents)

    return Tool(
        name="oas_join",
        toolset="openapi",
        title="Join API descriptions",
        description=(
            "Merge 2 to 20 OpenAPI documents of one version into one. Equal components are "
            "recognised; for differing paths and schemas a "
            "strategy decides; references, operation ids, security and servers are kept true."
        ),
        input=JoinInput,
        output=JoinOutput,
        handler=handle,
        aliases=("join",),
        read_only=False,
        open_world=True,
        scope=output_scope,
        field_codes={"specs": SPEC_INPUT},
        errors=(*READING, INVALID_SPEC, MIXED_VERSIONS, JOIN_COLLISION, FOREIGN_FILE, WRITE_FAILED),
        message_first=True,
    )


def bundle_tool(service: OpenApiService) -> Tool:
    async def handle(ctx: Context, args: BundleInput) -> dict[str, Any]:
        document = await service.document(args.spec.spec, ctx.auth)

        def work() -> dict[str, Any]:
            made = bundle(document, service.resolver(document))
            answer: dict[str, Any] = {
                "version": document.version,
                "file_count": len(made.files),
                "files": [name.rsplit("/", 1)[-1] for name in made.files][:200],
                "imported_count": made.imported,
            }
            text = Once(lambda: text_for(made.document, document, args.output))
            deliver(
                service,
                answer,
                text,
                args.output,
                include=not args.output,
                overwrite=args.overwrite,
            )
            return answer

        return await in_thread(service, ctx, work, document)

    return Tool(
        name="oas_bundle",
        toolset="openapi",
        title="Bundle an API description",
        description="Turn an OpenAPI document that is spread over several files into one: what "
        "other files define becomes components.",
        input=BundleInput,
        output=BundleOutput,
        handler=handle,
        tier=Tier.EXTENDED,
        read_only=False,
        open_world=True,
        scope=output_scope,
        field_codes={"spec": SPEC_INPUT},
        errors=(*READING, INVALID_SPEC, UNRESOLVED_REF, FOREIGN_FILE, WRITE_FAILED),
        message_first=True,
    )
