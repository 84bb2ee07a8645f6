"""`overlay_apply` and `overlay_validate`."""

from __future__ import annotations

from typing import Any, NotRequired

from pydantic import Field, model_validator
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tool
from commonplace.kernel.errors import CommonplaceError
from commonplace.openapi.engine.overlay import apply_overlay, validate_overlay
from commonplace.openapi.errors import (
    FOREIGN_FILE,
    INVALID_OVERLAY,
    INVALID_SPEC,
    OVERLAY_TARGET_UNMATCHED,
    SPEC_INPUT,
    WRITE_FAILED,
)
from commonplace.openapi.service import OpenApiService
from commonplace.openapi.tools.spec import READING, OptionalText, SpecInput
from commonplace.openapi.tools.writing import (
    OVERWRITE,
    Once,
    changed_text,
    deliver,
    in_thread,
    output_scope,
    with_numbers,
)


class OverlayApplyInput(Arguments):
    spec: SpecInput = Field(description="The OAS document: exactly one of file, url, content, ref.")
    overlay: SpecInput = Field(
        description="The Overlay document (1.0 or 1.1): exactly one of file, url, content, ref."
    )
    dry_run: bool = Field(
        False,
        description="Preview: what each action matches; nothing is written or returned as "
        "document.",
    )
    strict: bool = Field(False, description="Fail if any target matches nothing.")
    output: OptionalText = Field(
        None, max_length=4096, description="File path to write the result to."
    )
    overwrite: bool = Field(False, description=OVERWRITE)


class OverlayChange(TypedDict):
    action_index: int
    target: str
    operation: str
    match_count: int
    description: NotRequired[str]


class OverlayApplyOutput(TypedDict):
    actions_applied: int
    actions_skipped: int
    changes: list[OverlayChange]
    warning_count: int
    warnings: list[str]
    summary: str
    written_to: NotRequired[str]
    document: NotRequired[str]
    document_omitted: NotRequired[str]


class OverlayValidateInput(Arguments):
    spec: SpecInput | None = Field(
        None, description="The Overlay document: exactly one of file, url, content, ref."
    )
    overlay: SpecInput | None = Field(
        None, description="The same as spec, under the reference's name."
    )

    @model_validator(mode="after")
    def _one(self) -> OverlayValidateInput:
        if (self.spec is None) == (self.overlay is None):
            raise ValueError("the overlay is needed once, as spec")
        return self

    @property
    def source(self) -> SpecInput:
        found = self.spec or self.overlay
        assert found is not None
        return found


class OverlayFinding(TypedDict):
    path: str
    message: str


class OverlayValidateOutput(TypedDict):
    valid: bool
    version: str
    title: str
    action_count: int
    error_count: int
    errors: list[OverlayFinding]
    warning_count: int
    warnings: list[OverlayFinding]


def overlay_tools(service: OpenApiService) -> list[Tool]:
    async def apply(ctx: Context, args: OverlayApplyInput) -> dict[str, Any]:
        document = await service.document(args.spec.spec, ctx.auth)
        tree = await service.tree(args.overlay.spec, ctx.auth)
        overlay = tree.data

        def work() -> dict[str, Any]:
            verdict = validate_overlay(overlay)
            if not verdict.valid:
                first = verdict.errors[0]
                raise CommonplaceError(
                    INVALID_OVERLAY,
                    f"The overlay is not valid: {first.path or '/'}: {first.message}",
                    hint="oas_overlay_validate lists everything that is wrong.",
                    details={"errors": [one.as_dict() for one in verdict.errors[:20]]},
                )
            made = apply_overlay(document.data, overlay, strict=args.strict)
            answer: dict[str, Any] = {
                "actions_applied": made.applied,
                "actions_skipped": made.skipped,
                "changes": [change.as_dict() for change in made.changes[:1000]],
                "warning_count": len(made.warnings),
                "warnings": made.warnings[:200],
                "summary": f"{made.applied} of {len(made.changes)} actions "
                f"{'would apply' if args.dry_run else 'applied'}.",
            }
            if not args.dry_run:
                text = Once(
                    lambda: changed_text(with_numbers(document, tree), made.document, args.output)
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

        return await in_thread(service, ctx, work, document)

    async def validate(ctx: Context, args: OverlayValidateInput) -> dict[str, Any]:
        overlay = (await service.tree(args.source.spec, ctx.auth)).data
        verdict = await in_thread(service, ctx, lambda: validate_overlay(overlay))
        return {
            "valid": verdict.valid,
            "version": verdict.version,
            "title": verdict.title,
            "action_count": verdict.action_count,
            "error_count": len(verdict.errors),
            "errors": [one.as_dict() for one in verdict.errors[:1000]],
            "warning_count": len(verdict.warnings),
            "warnings": [one.as_dict() for one in verdict.warnings[:1000]],
        }

    return [
        Tool(
            name="oas_overlay_apply",
            toolset="openapi",
            title="Apply an overlay",
            description=(
                "Apply an Overlay document (1.0, 1.1; JSONPath by RFC 9535) to an OpenAPI "
                "document. dry_run shows what each action "
                "matches; strict fails where a target matches nothing. Comments and key order of "
                "YAML stay."
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
        ),
        Tool(
            name="oas_overlay_validate",
            toolset="openapi",
            title="Validate an overlay",
            description="Check an Overlay document (1.0, 1.1) against its specification: "
            "structure, and JSONPath syntax by RFC 9535.",
            input=OverlayValidateInput,
            output=OverlayValidateOutput,
            handler=validate,
            aliases=("overlay_validate",),
            open_world=True,
            field_codes={"spec": SPEC_INPUT, "overlay": SPEC_INPUT},
            errors=(*READING,),
            message_first=True,
        ),
    ]
