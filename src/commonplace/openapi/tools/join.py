"""The `oas_join` and `oas_bundle` tools: several documents, or several files, as one."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tier, Tool
from commonplace.openapi.errors import (
    FOREIGN_FILE,
    INVALID_SPEC,
    JOIN_COLLISION,
    MIXED_VERSIONS,
    SPEC_INPUT,
    UNRESOLVED_REF,
    WRITE_FAILED,
)
from commonplace.openapi.model import Delivery
from commonplace.openapi.service import OpenApiService
from commonplace.openapi.tools.delivery import (
    OUTPUT,
    OVERWRITE,
    DeliveryOutput,
    output_scope,
    show_delivery,
)
from commonplace.openapi.tools.spec import READING, OptionalText, SpecInput, drop_empty_text

PathStrategy = Annotated[
    Literal["accept-left", "accept-right", "fail", "fail-on-paths"] | None,
    BeforeValidator(drop_empty_text),
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
    BeforeValidator(drop_empty_text),
]


class JoinInput(Arguments):
    specs: list[SpecInput] = Field(
        min_length=2,
        max_length=20,
        description="Exactly one field each. The left ones come first.",
    )
    path_strategy: PathStrategy = Field(
        None,
        description="Default fail. What happens to paths that differ; fail-on-paths fails too.",
    )
    schema_strategy: SchemaStrategy = Field(
        None,
        description=(
            "Default accept-left. What happens to schemas and other components that differ: "
            "deduplicate merges equal ones and fails on others, fail-on-paths lets only paths fail."
        ),
    )
    semantic_dedup: bool = Field(
        False,
        description="Merge equal schemas of different names.",
    )
    output: OptionalText = Field(None, max_length=4096, description=OUTPUT)
    overwrite: bool = Field(False, description=OVERWRITE)


class JoinWarningOutput(TypedDict):
    message: str


class JoinOutput(DeliveryOutput):
    spec_count: int
    version: str
    path_count: int
    operation_count: int
    schema_count: int
    collision_count: int
    warning_count: int
    warnings: list[JoinWarningOutput]
    summary: str


class BundleInput(Arguments):
    spec: SpecInput = Field(description="The OAS document that refers to other files: file or url.")
    output: OptionalText = Field(None, max_length=4096, description=OUTPUT)
    overwrite: bool = Field(False, description=OVERWRITE)


class BundleOutput(DeliveryOutput):
    version: str
    file_count: int
    files: list[str]
    imported_count: int


def join_tool(service: OpenApiService) -> Tool:
    """Build `oas_join`."""

    async def join(ctx: Context, args: JoinInput) -> JoinOutput:
        result = await service.join(
            ctx.auth,
            [source.spec for source in args.specs],
            Delivery(args.output, include=not args.output, overwrite=args.overwrite),
            path_strategy=args.path_strategy or "fail",
            schema_strategy=args.schema_strategy or "accept-left",
            merge_duplicates=args.semantic_dedup,
            report=ctx.report,
        )
        return {
            "spec_count": result.spec_count,
            "version": result.version,
            "path_count": result.path_count,
            "operation_count": result.operation_count,
            "schema_count": result.schema_count,
            "collision_count": result.collision_count,
            "warning_count": len(result.warnings),
            "warnings": [{"message": warning} for warning in result.warnings[:200]],
            "summary": (
                f"Joined {result.spec_count} documents: {result.path_count} paths, "
                f"{result.schema_count} schemas, {result.collision_count} collisions."
            ),
            **show_delivery(result.delivered),
        }

    return Tool(
        name="oas_join",
        toolset="openapi",
        title="Join API descriptions",
        description=(
            "Merge OpenAPI documents of one version into one. Strategies decide on paths and "
            "schemas that differ; references stay valid."
        ),
        input=JoinInput,
        output=JoinOutput,
        handler=join,
        aliases=("join",),
        read_only=False,
        open_world=True,
        scope=output_scope,
        field_codes={"specs": SPEC_INPUT},
        errors=(*READING, INVALID_SPEC, MIXED_VERSIONS, JOIN_COLLISION, FOREIGN_FILE, WRITE_FAILED),
        message_first=True,
        large=True,
    )


def bundle_tool(service: OpenApiService) -> Tool:
    """Build `oas_bundle`."""

    async def bundle(ctx: Context, args: BundleInput) -> BundleOutput:
        delivery = Delivery(args.output, include=not args.output, overwrite=args.overwrite)
        result = await service.bundle(ctx.auth, args.spec.spec, delivery)
        return {
            "version": result.version,
            "file_count": len(result.files),
            "files": [name.rsplit("/", 1)[-1] for name in result.files][:200],
            "imported_count": result.imported_count,
            **show_delivery(result.delivered),
        }

    return Tool(
        name="oas_bundle",
        toolset="openapi",
        title="Bundle an API description",
        description="Turn an OpenAPI document that is spread over several files into one: what "
        "other files define becomes components.",
        input=BundleInput,
        output=BundleOutput,
        handler=bundle,
        tier=Tier.EXTENDED,
        read_only=False,
        open_world=True,
        scope=output_scope,
        field_codes={"spec": SPEC_INPUT},
        errors=(*READING, INVALID_SPEC, UNRESOLVED_REF, FOREIGN_FILE, WRITE_FAILED),
        message_first=True,
        large=True,
    )
