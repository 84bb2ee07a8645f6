"""The `oas_validate` tool: what is wrong with a document, and how to fix it."""

from __future__ import annotations

from typing import Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tool
from commonplace.openapi.engine.validate.rules import ValidationFinding
from commonplace.openapi.errors import SPEC_INPUT
from commonplace.openapi.model import PageRequest
from commonplace.openapi.service import OpenApiService
from commonplace.openapi.tools.delivery import LIMIT
from commonplace.openapi.tools.spec import DOCUMENT, READING, SpecInput


class ValidateInput(Arguments):
    spec: SpecInput = Field(description=DOCUMENT)
    strict: bool = Field(
        False,
        description="Rules beyond the specification. Contradictions count as errors.",
    )
    no_warnings: bool = False
    ignore: list[str] = Field(
        default_factory=list,
        max_length=200,
        description="rule, or rule:/pointer/pattern with *. Findings to leave out.",
    )
    limit: int | None = Field(None, ge=0, description=LIMIT)
    offset: int = Field(0, ge=0)


class ValidationFindingOutput(TypedDict):
    path: str
    message: str
    severity: Literal["error", "warning"]
    rule: str
    line: NotRequired[int]
    fix: str


class ValidateOutput(TypedDict):
    valid: bool
    version: str
    error_count: int
    warning_count: int
    returned: int
    errors: list[ValidationFindingOutput]
    warnings: list[ValidationFindingOutput]
    suppressed_count: NotRequired[int]
    unchecked_count: NotRequired[int]
    note: NotRequired[str]


def validate_tool(service: OpenApiService) -> Tool:
    """Build `oas_validate`."""

    async def validate(ctx: Context, args: ValidateInput) -> ValidateOutput:
        result = await service.validate(
            ctx.auth,
            args.spec.spec,
            strict=args.strict,
            warnings=not args.no_warnings,
            ignore=args.ignore,
            page=PageRequest(args.limit, args.offset),
        )
        output: ValidateOutput = {
            "valid": result.valid,
            "version": result.version,
            "error_count": result.error_count,
            "warning_count": result.warning_count,
            "returned": len(result.errors) + len(result.warnings),
            "errors": [_show_finding(finding) for finding in result.errors],
            "warnings": [_show_finding(finding) for finding in result.warnings],
        }
        if result.suppressed_count:
            output["suppressed_count"] = result.suppressed_count
        if result.unchecked:
            output["unchecked_count"] = len(result.unchecked)
            output["note"] = (
                f"{len(result.unchecked)} references to other files were not followed, so what "
                f"they lead to was not checked. The first: {result.unchecked[0].message}"
            )
        return output

    return Tool(
        name="oas_validate",
        toolset="openapi",
        title="Validate an API description",
        description=(
            "Check an OpenAPI document against the schema and rules of its version. Findings "
            "have rule, JSON pointer, line and a fix; oas_fix repairs some."
        ),
        input=ValidateInput,
        output=ValidateOutput,
        handler=validate,
        aliases=("validate",),
        open_world=True,
        field_codes={"spec": SPEC_INPUT},
        errors=READING,
        message_first=True,
        large=True,
    )


def _show_finding(finding: ValidationFinding) -> ValidationFindingOutput:
    output: ValidationFindingOutput = {
        "path": finding.pointer,
        "message": finding.message,
        "severity": finding.severity.value,
        "rule": finding.rule.id,
        "fix": finding.rule.fix,
    }
    if finding.line is not None:
        output["line"] = finding.line
    return output
