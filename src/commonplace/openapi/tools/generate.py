"""`generate`: code from a document."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from pydantic import ConfigDict, Field, field_validator
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tool
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.openapi.engine.generate.run import FILE_NAMES, Generated, generate, is_package_name
from commonplace.openapi.errors import (
    ANSWER_TOO_LARGE,
    FOREIGN_FILE,
    INVALID_SPEC,
    SPEC_INPUT,
    WRITE_FAILED,
)
from commonplace.openapi.service import OpenApiService
from commonplace.openapi.store.output import write_package
from commonplace.openapi.tools.spec import READING, OptionalText, SpecInput
from commonplace.openapi.tools.writing import ANSWER_LIMIT_BYTES, in_thread, output_scope, whole


def _require_output_dir(schema: dict[str, Any]) -> None:
    """Publish `output_dir` as required, as the contract does; callers who want the files in the
    answer pass it empty.
    """
    schema["required"] = [*schema.get("required", ()), "output_dir"]


class GenerateInput(Arguments):
    model_config = ConfigDict(json_schema_extra=_require_output_dir)

    spec: SpecInput = Field(description="The OAS document: exactly one of file, url, content, ref.")
    output_dir: OptionalText = Field(
        None,
        max_length=4096,
        description="Folder for the generated files; empty only with include_files.",
    )
    package_name: str = Field(
        "api",
        max_length=60,
        description="Package name (default: api): lower-case letters, digits and _.",
    )
    client: bool = Field(False, description="Generate an HTTP client.")
    server: bool = Field(
        False, description="Generate a server interface with routing and validation (Go)."
    )
    types: bool = Field(
        True,
        description="Generate type definitions. Client and server are made of them, so they come "
        "with both.",
    )
    language: Literal["go", "python"] = Field(
        "go", description="go (standard library only) or python (pydantic models, httpx client)."
    )
    include_files: bool = Field(
        False, description="Return the files in the answer, for callers without a folder."
    )

    @field_validator("package_name")
    @classmethod
    def _identifier(cls, value: str) -> str:
        if value and not is_package_name(value):
            raise ValueError("package_name must be a lower-case identifier that is no keyword")
        return value or "api"


class GeneratedFile(TypedDict):
    name: str
    size: int
    content: NotRequired[str]


class GenerateWarning(TypedDict):
    path: str
    message: str
    severity: str


class GenerateOutput(TypedDict):
    success: bool
    language: str
    package_name: str
    output_dir: NotRequired[str]
    file_count: int
    files: list[GeneratedFile]
    removed: NotRequired[list[str]]
    generated_types: int
    generated_operations: int
    warning_count: int
    critical_count: int
    warnings: NotRequired[list[GenerateWarning]]


def generate_tool(service: OpenApiService) -> Tool:
    async def handle(ctx: Context, args: GenerateInput) -> dict[str, Any]:
        if not args.output_dir and not args.include_files:
            raise CommonplaceError(
                INVALID_ARGUMENT,
                "output_dir is required.",
                hint="Name a folder, or set include_files to get the files in the answer.",
                details={"field": "output_dir"},
            )
        if not (args.types or args.client or args.server):
            raise CommonplaceError(
                INVALID_ARGUMENT,
                "Nothing to generate.",
                hint="Set types, client or server.",
                details={"field": "types"},
            )
        if args.server and args.language == "python":
            raise CommonplaceError(
                INVALID_ARGUMENT,
                "There is no server for Python.",
                hint="Set client, or language go.",
                details={"field": "server"},
            )
        document = await service.document(args.spec.spec, ctx.auth)

        def work() -> dict[str, Any]:
            made = generate(
                whole(service, document),
                document.family,
                language=args.language,
                package_name=args.package_name,
                client=args.client,
                server=args.server,
            )
            return _answer(service, args, made)

        return await in_thread(service, ctx, work, document)

    return Tool(
        name="oas_generate",
        toolset="openapi",
        title="Generate code",
        description=(
            "Generate code from an OpenAPI document. Go, standard library only: types, client, "
            "server interface with "
            "routing and validation. "
            "Python: pydantic models and an httpx client. Writes to output_dir, or returns the "
            "files with include_files."
        ),
        input=GenerateInput,
        output=GenerateOutput,
        handler=handle,
        aliases=("generate",),
        read_only=False,
        open_world=True,
        scope=output_scope,
        field_codes={"spec": SPEC_INPUT},
        errors=(
            *READING,
            INVALID_SPEC,
            INVALID_ARGUMENT,
            FOREIGN_FILE,
            ANSWER_TOO_LARGE,
            WRITE_FAILED,
        ),
        message_first=True,
    )


def _answer(service: OpenApiService, args: GenerateInput, made: Generated) -> dict[str, Any]:
    sizes = {name: len(text.encode()) for name, text in made.files.items()}
    total = sum(sizes.values())
    if args.include_files and total > ANSWER_LIMIT_BYTES:
        raise CommonplaceError(
            ANSWER_TOO_LARGE,
            f"The files have {total} bytes; an answer holds {ANSWER_LIMIT_BYTES}.",
            hint="Pass output_dir instead of include_files, or generate types only.",
            details={"bytes": total, "limit_bytes": ANSWER_LIMIT_BYTES},
        )
    critical = sum(warning.critical for warning in made.warnings)
    answer: dict[str, Any] = {
        "success": True,
        "language": args.language,
        "package_name": args.package_name,
        "file_count": len(made.files),
        "files": [
            {"name": name, "size": sizes[name], **({"content": text} if args.include_files else {})}
            for name, text in made.files.items()
        ],
        "generated_types": made.types,
        "generated_operations": made.operations,
        "warning_count": len(made.warnings) - critical,
        "critical_count": critical,
    }
    if made.warnings:
        answer["warnings"] = [
            {
                "path": one.path,
                "message": one.message,
                "severity": "critical" if one.critical else "warning",
            }
            for one in made.warnings[:100]
        ]
    if args.output_dir:
        answer["output_dir"], removed = write_package(
            service.access, args.output_dir, made.files, FILE_NAMES[args.language]
        )
        if removed:
            answer["removed"] = removed
    return answer
