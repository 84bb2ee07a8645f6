"""The `oas_convert` tool: a document in another version of OpenAPI."""

from __future__ import annotations

import re

from pydantic import Field, field_validator
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tool
from commonplace.openapi.errors import FOREIGN_FILE, INVALID_SPEC, SPEC_INPUT, WRITE_FAILED
from commonplace.openapi.model import SUPPORTED, Delivery, PageRequest
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

_TARGET = re.compile(r"(2\.0|3\.[012])(\.\d{1,2})?")


class ConvertInput(Arguments):
    spec: SpecInput = Field(description=DOCUMENT)
    target: str = Field(
        max_length=20,
        description="2.0, 3.0, 3.1 or 3.2. An exact one such as 3.1.2 is declared as given.",
    )
    output: OptionalText = Field(None, max_length=4096, description=OUTPUT)
    overwrite: bool = Field(False, description=OVERWRITE)
    limit: int | None = Field(None, ge=1, description=LIMIT)
    offset: int = Field(0, ge=0)

    @field_validator("target")
    @classmethod
    def _check_target(cls, value: str) -> str:
        match = _TARGET.fullmatch(value.strip())
        if match is None or (match[1] == "2.0" and match[2]):
            raise ValueError(f"target must be one of {', '.join(SUPPORTED)}")
        return value.strip()


class ConvertIssueOutput(TypedDict):
    severity: str
    path: str
    message: str


class ConvertOutput(DeliveryOutput):
    source_version: str
    target_version: str
    document_version: str
    success: bool
    issue_count: int
    critical_count: int
    warning_count: int
    info_count: int
    returned: int
    issues: list[ConvertIssueOutput]


def convert_tool(service: OpenApiService) -> Tool:
    """Build `oas_convert`."""

    async def convert(ctx: Context, args: ConvertInput) -> ConvertOutput:
        delivery = Delivery(args.output, include=not args.output, overwrite=args.overwrite)
        result = await service.convert(ctx.auth, args.spec.spec, args.target, delivery)
        issues = PageRequest(args.limit, args.offset).of(result.issues)
        return {
            "source_version": result.source_version,
            "target_version": args.target,
            "document_version": result.document_version,
            "success": result.count("critical") == 0,
            "issue_count": len(result.issues),
            "critical_count": result.count("critical"),
            "warning_count": result.count("warning"),
            "info_count": result.count("info"),
            "returned": len(issues),
            "issues": [
                {"severity": issue.severity, "path": issue.path, "message": issue.message}
                for issue in issues
            ],
            **show_delivery(result.delivered),
        }

    return Tool(
        name="oas_convert",
        toolset="openapi",
        title="Convert an API description",
        description=(
            "Convert an OpenAPI document to another version. What could not be expressed is an "
            "issue: info a choice, warning lossy, critical impossible."
        ),
        input=ConvertInput,
        output=ConvertOutput,
        handler=convert,
        aliases=("convert",),
        read_only=False,
        open_world=True,
        scope=output_scope,
        field_codes={"spec": SPEC_INPUT},
        errors=(*READING, INVALID_SPEC, FOREIGN_FILE, WRITE_FAILED),
        message_first=True,
        large=True,
    )
