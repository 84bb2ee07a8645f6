"""`convert`: a document in another version of OpenAPI."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, NotRequired

from pydantic import Field, field_validator
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tool
from commonplace.openapi.engine.convert.chain import PATCH, convert
from commonplace.openapi.engine.convert.consequences import name_breaking_changes
from commonplace.openapi.engine.convert.issues import Issue
from commonplace.openapi.engine.validate.structure import check_structure
from commonplace.openapi.errors import FOREIGN_FILE, INVALID_SPEC, SPEC_INPUT, WRITE_FAILED
from commonplace.openapi.model import SUPPORTED, ApiDocument, Family
from commonplace.openapi.service import OpenApiService
from commonplace.openapi.tools.spec import READING, OptionalText, SpecInput
from commonplace.openapi.tools.writing import (
    LIMIT,
    OFFSET,
    OVERWRITE,
    Once,
    deliver,
    in_thread,
    output_scope,
    page,
    text_for,
    whole,
)

MOST_FAULTS = 1000
_TARGET = re.compile(r"(2\.0|3\.[012])(\.\d{1,2})?")


class ConvertInput(Arguments):
    spec: SpecInput = Field(description="The OAS document: exactly one of file, url, content, ref.")
    target: str = Field(
        max_length=20,
        description="Target version: 2.0, 3.0, 3.1 or 3.2; an exact one such as 3.1.2 is "
        "declared as given.",
    )
    output: OptionalText = Field(
        None, max_length=4096, description="File path to write the converted document to."
    )
    overwrite: bool = Field(False, description=OVERWRITE)
    limit: int | None = Field(None, ge=1, description=LIMIT)
    offset: int = Field(0, ge=0, description=OFFSET)

    @field_validator("target")
    @classmethod
    def _known(cls, value: str) -> str:
        found = _TARGET.fullmatch(value.strip())
        if found is None or (found[1] == "2.0" and found[2]):
            raise ValueError(f"target must be one of {', '.join(SUPPORTED)}")
        return value.strip()


class ConvertIssue(TypedDict):
    severity: str
    path: str
    message: str


class ConvertOutput(TypedDict):
    source_version: str
    target_version: str
    document_version: str
    success: bool
    issue_count: int
    critical_count: int
    warning_count: int
    info_count: int
    returned: int
    issues: list[ConvertIssue]
    written_to: NotRequired[str]
    document: NotRequired[str]
    document_omitted: NotRequired[str]


def _faults(document: ApiDocument) -> Iterator[Issue]:
    """What is wrong with a document that is converted to its own version, and so stays as it is."""
    for finding in islice(check_structure(document), MOST_FAULTS):
        yield Issue(
            "critical",
            finding.pointer,
            f"The document breaks its version and was not repaired: {finding.message}",
        )


def convert_tool(service: OpenApiService) -> Tool:
    async def handle(ctx: Context, args: ConvertInput) -> dict[str, Any]:
        document = await service.document(args.spec.spec, ctx.auth)

        def work() -> dict[str, Any]:
            family = Family(args.target[:3])
            exact = args.target if len(args.target) > 3 else None
            data = whole(service, document)
            result = convert(data, document.family, family, exact)
            result = name_breaking_changes(document, data, result, family)
            if family is document.family:
                result = replace(result, issues=(*result.issues, *_faults(document)))
            counts = {
                name: sum(issue.severity == name for issue in result.issues)
                for name in ("critical", "warning", "info")
            }
            ranked = sorted(
                result.issues,
                key=lambda issue: ("critical", "warning", "info").index(issue.severity),
            )
            issues = page([issue.as_dict() for issue in ranked], args.limit, args.offset)
            answer: dict[str, Any] = {
                "source_version": document.version,
                "target_version": args.target,
                "document_version": str(
                    result.document.get("openapi", result.document.get("swagger", PATCH[family]))
                ),
                "success": counts["critical"] == 0,
                "issue_count": len(result.issues),
                "critical_count": counts["critical"],
                "warning_count": counts["warning"],
                "info_count": counts["info"],
                "returned": len(issues),
                "issues": issues,
            }
            text = Once(lambda: text_for(result.document, document, args.output))
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
        name="oas_convert",
        toolset="openapi",
        title="Convert an API description",
        description=(
            "Convert an OpenAPI document between versions 2.0, 3.0, 3.1 and 3.2. The result is "
            "valid in its version; what could not be "
            "expressed is an issue (info: a choice, warning: lossy, critical: impossible) with "
            "its path. success means no critical issue."
        ),
        input=ConvertInput,
        output=ConvertOutput,
        handler=handle,
        aliases=("convert",),
        read_only=False,
        open_world=True,
        scope=output_scope,
        field_codes={"spec": SPEC_INPUT},
        errors=(*READING, INVALID_SPEC, FOREIGN_FILE, WRITE_FAILED),
        message_first=True,
    )
