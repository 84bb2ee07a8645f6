"""The `oas_overlay_apply` and `oas_overlay_validate` tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, NotRequired

from pydantic import Field, model_validator
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tool
from commonplace.openapi.errors import (
    FOREIGN_FILE,
    INVALID_OVERLAY,
    INVALID_SPEC,
    OVERLAY_TARGET_UNMATCHED,
    SPEC_INPUT,
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
from commonplace.openapi.tools.spec import DOCUMENT, READING, OptionalText, SpecInput

if TYPE_CHECKING:
    from commonplace.openapi.engine.overlay.apply import OverlayChange
    from commonplace.openapi.engine.overlay.validate import OverlayFinding

MOST_ITEMS = 1000


class OverlayApplyInput(Arguments):
    spec: SpecInput = Field(description=DOCUMENT)
    overlay: SpecInput = Field(
        description="Overlay document: exactly one of these. Version 1.0 or 1.1."
    )
    dry_run: bool = Field(
        False,
        description="Only show what actions match. Nothing is written or returned as document.",
    )
    strict: bool = Field(False, description="Fail on targets without a match.")
    output: OptionalText = Field(None, max_length=4096, description=OUTPUT)
    overwrite: bool = Field(False, description=OVERWRITE)


class OverlayChangeOutput(TypedDict):
    action_index: int
    target: str
    operation: str
    match_count: int
    description: NotRequired[str]


class OverlayApplyOutput(DeliveryOutput):
    actions_applied: int
    actions_skipped: int
    changes: list[OverlayChangeOutput]
    warning_count: int
    warnings: list[str]
    summary: str


class OverlayValidateInput(Arguments):
    spec: SpecInput | None = Field(None, description="Overlay document: exactly one of these.")
    overlay: SpecInput | None = Field(None, description="Same as spec.")

    @model_validator(mode="after")
    def _check_source(self) -> OverlayValidateInput:
        if (self.spec is None) == (self.overlay is None):
            raise ValueError("the overlay is needed once, as spec")
        return self

    @property
    def source(self) -> SpecInput:
        """Return the overlay, under either of its names."""
        source = self.spec or self.overlay
        assert source is not None  # checked above
        return source


class OverlayFindingOutput(TypedDict):
    path: str
    message: str


class OverlayValidateOutput(TypedDict):
    valid: bool
    version: str
    title: str
    action_count: int
    error_count: int
    errors: list[OverlayFindingOutput]
    warning_count: int
    warnings: list[OverlayFindingOutput]


def overlay_apply_tool(service: OpenApiService) -> Tool:
    """Build `oas_overlay_apply`."""

    async def apply(ctx: Context, args: OverlayApplyInput) -> OverlayApplyOutput:
        delivery = Delivery(args.output, include=not args.output, overwrite=args.overwrite)
        result = await service.overlay_apply(
            ctx.auth,
            args.spec.spec,
            args.overlay.spec,
            None if args.dry_run else delivery,
            strict=args.strict,
        )
        return {
            "actions_applied": result.applied_count,
            "actions_skipped": result.skipped_count,
            "changes": [_show_change(change) for change in result.changes[:MOST_ITEMS]],
            "warning_count": len(result.warnings),
            "warnings": list(result.warnings[:200]),
            "summary": f"{result.applied_count} of {len(result.changes)} actions "
            f"{'would apply' if args.dry_run else 'applied'}.",
            **show_delivery(result.delivered),
        }

    return Tool(
        name="oas_overlay_apply",
        toolset="openapi",
        title="Apply an overlay",
        description=(
            "Apply an Overlay (1.0, 1.1; JSONPath by RFC 9535) to an OpenAPI document. Comments "
            "and key order stay."
        ),
        input=OverlayApplyInput,
        output=OverlayApplyOutput,
        handler=apply,
        aliases=("overlay_apply",),
        read_only=False,
        open_world=True,
        scope=output_scope,
        field_codes={"spec": SPEC_INPUT, "overlay": SPEC_INPUT},
        errors=(
            *READING,
            INVALID_SPEC,
            INVALID_OVERLAY,
            OVERLAY_TARGET_UNMATCHED,
            FOREIGN_FILE,
            WRITE_FAILED,
        ),
        message_first=True,
        large=True,
    )


def overlay_validate_tool(service: OpenApiService) -> Tool:
    """Build `oas_overlay_validate`."""

    async def validate(ctx: Context, args: OverlayValidateInput) -> OverlayValidateOutput:
        report = await service.overlay_validate(ctx.auth, args.source.spec)
        return {
            "valid": report.valid,
            "version": report.version,
            "title": report.title,
            "action_count": report.action_count,
            "error_count": len(report.errors),
            "errors": [_show_finding(finding) for finding in report.errors[:MOST_ITEMS]],
            "warning_count": len(report.warnings),
            "warnings": [_show_finding(finding) for finding in report.warnings[:MOST_ITEMS]],
        }

    return Tool(
        name="oas_overlay_validate",
        toolset="openapi",
        title="Validate an overlay",
        description="Check an Overlay document (1.0, 1.1): structure and JSONPath syntax.",
        input=OverlayValidateInput,
        output=OverlayValidateOutput,
        handler=validate,
        aliases=("overlay_validate",),
        open_world=True,
        field_codes={"spec": SPEC_INPUT, "overlay": SPEC_INPUT},
        errors=(*READING,),
        message_first=True,
    )


def _show_change(change: OverlayChange) -> OverlayChangeOutput:
    output: OverlayChangeOutput = {
        "action_index": change.action_index,
        "target": change.target,
        "operation": change.operation,
        "match_count": change.match_count,
    }
    if change.description:
        output["description"] = change.description
    return output


def _show_finding(finding: OverlayFinding) -> OverlayFindingOutput:
    return {"path": finding.path, "message": finding.message}
