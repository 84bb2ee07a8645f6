"""The `oas_generate` tool: code from a document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NotRequired

from pydantic import ConfigDict, Field, field_validator
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tool
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.json_types import JsonObject
from commonplace.openapi.errors import (
    ANSWER_TOO_LARGE,
    FOREIGN_FILE,
    INVALID_SPEC,
    SPEC_INPUT,
    WRITE_FAILED,
)
from commonplace.openapi.results import GenerateResult
from commonplace.openapi.service import ANSWER_LIMIT_BYTES, OpenApiService
from commonplace.openapi.tools.delivery import output_scope
from commonplace.openapi.tools.spec import DOCUMENT, READING, OptionalText, SpecInput

if TYPE_CHECKING:
    from commonplace.openapi.engine.generate.model import Notice


def _require_output_dir(schema: JsonObject) -> None:
    """Publish `output_dir` as required, as the contract does.

    Callers who want the files in the answer pass it empty.
    """
    schema["required"] = [*schema.get("required", ()), "output_dir"]


class GenerateInput(Arguments):
    model_config = ConfigDict(json_schema_extra=_require_output_dir)

    spec: SpecInput = Field(description=DOCUMENT)
    output_dir: OptionalText = Field(
        None,
        max_length=4096,
        description='"" only with include_files. Folder for the generated files.',
    )
    package_name: str = Field("api", max_length=60)
    client: bool = False
    server: bool = Field(False, description="Go only. An interface with routing and validation.")
    types: bool = True
    language: Literal["go", "python"] = "go"
    include_files: bool = Field(False, description="Return the files.")

    @field_validator("package_name")
    @classmethod
    def _check_package_name(cls, value: str) -> str:
        from commonplace.openapi.engine.generate.run import is_package_name

        if value and not is_package_name(value):
            raise ValueError("package_name must be a lower-case identifier and not a keyword")
        return value or "api"


class GeneratedFileOutput(TypedDict):
    name: str
    size: int
    content: NotRequired[str]


class GenerateWarningOutput(TypedDict):
    path: str
    message: str
    severity: str


class GenerateOutput(TypedDict):
    success: bool
    language: str
    package_name: str
    output_dir: NotRequired[str]
    file_count: int
    files: list[GeneratedFileOutput]
    removed: NotRequired[list[str]]
    generated_types: int
    generated_operations: int
    warning_count: int
    critical_count: int
    warnings: NotRequired[list[GenerateWarningOutput]]


def generate_tool(service: OpenApiService) -> Tool:
    """Build `oas_generate`."""

    async def generate(ctx: Context, args: GenerateInput) -> GenerateOutput:
        _check_arguments(args)
        result = await service.generate(
            ctx.auth,
            args.spec.spec,
            args.output_dir,
            language=args.language,
            package_name=args.package_name,
            client=args.client,
            server=args.server,
            most_bytes=ANSWER_LIMIT_BYTES if args.include_files else None,
        )
        return _show_result(args, result)

    return Tool(
        name="oas_generate",
        toolset="openapi",
        title="Generate code",
        description=(
            "Generate code from an OpenAPI document: Go types, client and server with the "
            "standard library, or Python models (pydantic) and client (httpx)."
        ),
        input=GenerateInput,
        output=GenerateOutput,
        handler=generate,
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
        large=True,
    )


def _check_arguments(args: GenerateInput) -> None:
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


def _show_result(args: GenerateInput, result: GenerateResult) -> GenerateOutput:
    critical = sum(warning.critical for warning in result.warnings)
    output: GenerateOutput = {
        "success": True,
        "language": args.language,
        "package_name": args.package_name,
        "file_count": len(result.files),
        "files": [
            _show_file(name, text, args.include_files) for name, text in result.files.items()
        ],
        "generated_types": result.type_count,
        "generated_operations": result.operation_count,
        "warning_count": len(result.warnings) - critical,
        "critical_count": critical,
    }
    if result.warnings:
        output["warnings"] = [_show_warning(warning) for warning in result.warnings[:100]]
    if result.output_dir is not None:
        output["output_dir"] = result.output_dir
    if result.removed:
        output["removed"] = list(result.removed)
    return output


def _show_file(name: str, text: str, include: bool) -> GeneratedFileOutput:
    output: GeneratedFileOutput = {"name": name, "size": len(text.encode())}
    if include:
        output["content"] = text
    return output


def _show_warning(warning: Notice) -> GenerateWarningOutput:
    return {
        "path": warning.path,
        "message": warning.message,
        "severity": "critical" if warning.critical else "warning",
    }
