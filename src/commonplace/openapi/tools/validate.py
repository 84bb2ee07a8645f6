"""`validate`: what is wrong with a document, and how to mend it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tool
from commonplace.openapi.engine.document.index import index_document
from commonplace.openapi.engine.document.resolver import ReferenceResolver
from commonplace.openapi.engine.pointers import MISSING, lookup_pointer
from commonplace.openapi.engine.validate.findings import make_finding
from commonplace.openapi.engine.validate.report import (
    ValidationReport,
    add_lines,
    drop_suppressed,
    validate,
)
from commonplace.openapi.engine.validate.rules import ValidationFinding
from commonplace.openapi.engine.walk.query import DEFAULT_LIMIT, MAX_LIMIT
from commonplace.openapi.errors import SPEC_INPUT
from commonplace.openapi.model import ApiDocument
from commonplace.openapi.service import OpenApiService
from commonplace.openapi.tools.spec import READING, SpecInput


class ValidateInput(Arguments):
    spec: SpecInput = Field(description="The OAS document: exactly one of file, url, content, ref.")
    strict: bool = Field(
        False,
        description="Also apply rules beyond the specification; contradictions count as errors.",
    )
    no_warnings: bool = Field(False, description="Leave warnings out.")
    ignore: list[str] = Field(
        default_factory=list,
        max_length=200,
        description="Rules to ignore: rule, or rule:/pointer/pattern with * wildcards.",
    )
    limit: int | None = Field(
        None, ge=0, description="Max errors and max warnings to return (default 100, at most 1000)."
    )
    offset: int = Field(0, ge=0, description="Skip the first N errors and the first N warnings.")


class Issue(TypedDict):
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
    errors: list[Issue]
    warnings: list[Issue]
    suppressed_count: NotRequired[int]
    unchecked_count: NotRequired[int]
    note: NotRequired[str]


def validate_tool(service: OpenApiService) -> Tool:
    async def handler(ctx: Context, args: ValidateInput) -> dict[str, Any]:
        document = await service.document(args.spec.spec, ctx.auth)
        return await service.run(ctx.auth, lambda: answer(service, document, args))

    return Tool(
        name="oas_validate",
        toolset="openapi",
        title="Validate an API description",
        description=(
            "Check an OpenAPI document against the official schema of its version and the rules "
            "of the specification. "
            "Each error or warning has a rule id, JSON pointer, line and a way to mend it. "
            "oas_fix repairs some of them."
        ),
        input=ValidateInput,
        output=ValidateOutput,
        handler=handler,
        aliases=("validate",),
        open_world=True,
        field_codes={"spec": SPEC_INPUT},
        errors=READING,
        message_first=True,
    )


def answer(service: OpenApiService, document: ApiDocument, args: ValidateInput) -> dict[str, Any]:
    report = report_on(service, document, args)
    size = min(args.limit or DEFAULT_LIMIT, MAX_LIMIT)
    warnings = () if args.no_warnings else report.warnings
    pages = [
        list(findings[args.offset : args.offset + size]) for findings in (report.errors, warnings)
    ]
    placed = add_lines(document, [*pages[0], *pages[1]])
    errors, shown = placed[: len(pages[0])], placed[len(pages[0]) :]
    output: dict[str, Any] = {
        "valid": report.valid,
        "version": document.version,
        "error_count": len(report.errors),
        "warning_count": len(warnings),
        "returned": len(placed),
        "errors": [issue(finding) for finding in errors],
        "warnings": [issue(finding) for finding in shown],
    }
    if report.suppressed:
        output["suppressed_count"] = report.suppressed
    unchecked = [finding for finding in report.warnings if finding.rule.id == "ref-external"]
    if unchecked:
        output["unchecked_count"] = len(unchecked)
        output["note"] = (
            f"{len(unchecked)} references to other files were not followed, so what they lead to "
            f"was not checked. "
            f"The first: {unchecked[0].message}"
        )
    return output


def report_on(
    service: OpenApiService, document: ApiDocument, args: ValidateInput
) -> ValidationReport:
    """The findings on a document and on what it takes from other files.

    Those are named by the component they would become.
    """
    resolver = service.resolver(document)
    own = validate(document, resolver, strict=args.strict, ignore=args.ignore)
    whole, made = service.bundle_document(document)
    if made is None or whole.data is document.data:
        return own
    rest = validate(whole, service.resolver(whole), strict=args.strict, ignore=args.ignore)
    lost = list(
        drop_suppressed(
            whole, list(_lost(whole, service.resolver(whole), made.unresolved)), args.ignore
        )
    )

    def both(
        mine: Sequence[ValidationFinding], theirs: Sequence[ValidationFinding]
    ) -> list[ValidationFinding]:
        known = {(finding.rule.id, finding.pointer) for finding in mine}
        new = [one for one in theirs if (one.rule.id, one.pointer) not in known]
        return [*mine, *(_from_elsewhere(finding, made.origins, document) for finding in new)]

    return ValidationReport(
        both(own.errors, rest.errors),
        both(own.warnings, [*rest.warnings, *lost]),
        max(own.suppressed, rest.suppressed),
    )


def _lost(
    whole: ApiDocument, resolver: ReferenceResolver, unresolved: Sequence[str]
) -> Iterator[ValidationFinding]:
    """References of other files that lead nowhere from there, though the same words lead to
    something from the document itself.
    """
    for node in index_document(whole).refs if unresolved else ():
        if node.ref in unresolved and resolver.try_follow({"$ref": node.ref}) != {"$ref": node.ref}:
            yield make_finding(
                "ref-external",
                f"{node.place.pointer}/$ref",
                f"{node.ref} is in another file and was not checked.",
            )


def _from_elsewhere(
    finding: ValidationFinding, origins: Mapping[str, str], document: ApiDocument
) -> ValidationFinding:
    for pointer, origin in origins.items():
        if finding.pointer == pointer or finding.pointer.startswith(pointer + "/"):
            return replace(
                finding, message=f"{finding.message} It comes from {origin}.", elsewhere=True
            )
    # What a path item of another file holds stands under its path, where this document has only the
    # reference.
    return replace(finding, elsewhere=lookup_pointer(document.data, finding.pointer) is MISSING)


def issue(finding: ValidationFinding) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "path": finding.pointer,
        "message": finding.message,
        "severity": finding.severity.value,
        "rule": finding.rule.id,
        "fix": finding.rule.fix,
    }
    if finding.line is not None:
        shown["line"] = finding.line
    return shown
