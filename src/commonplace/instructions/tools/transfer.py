"""Tools that move instructions in and out: import, export and diff."""

from __future__ import annotations

from typing import Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Context, Tier, Tool
from commonplace.instructions.results.reading import ClientDifference
from commonplace.instructions.results.writing import ImportFailure, ImportResult
from commonplace.instructions.service import InstructionsService
from commonplace.instructions.tools.add import WRITE_ERRORS
from commonplace.instructions.tools.compact import cut_lists
from commonplace.instructions.tools.shapes import (
    Answer,
    CamelInput,
    ClientCopyInput,
    InstructionItem,
    WriteInput,
    client_copies,
    threaded,
)
from commonplace.instructions.use_cases.importing import EntryImportOptions
from commonplace.kernel.auth import Scope
from commonplace.kernel.json_types import JsonArray, JsonObject

MAX_WARNINGS = 50


def tools(service: InstructionsService) -> tuple[Tool, ...]:
    """Return the tools of this module."""
    return diff_tool(service), export_tool(service), import_tool(service)


class InstructionDiffInput(CamelInput):
    client_hash: str | None = Field(
        default=None, max_length=200, description="Catalogue hash the client has."
    )
    known: list[ClientCopyInput] | None = Field(
        default=None, max_length=100_000, description="What the client has, for a precise answer."
    )


class InstructionDiffOutput(TypedDict, total=False):
    hash: str
    upToDate: bool
    added: list[InstructionItem]
    updated: list[InstructionItem]
    removed: list[str]
    changed: list[InstructionItem]
    repaired: int
    notes: list[str]
    metadataMayDiffer: bool


def diff_tool(service: InstructionsService) -> Tool:
    """`instructions_diff`"""

    def handle(ctx: Context, args: InstructionDiffInput) -> Answer:
        return show_difference(service.diff(ctx.auth, args.client_hash, client_copies(args.known)))

    return Tool(
        name="instructions_diff",
        toolset="instructions",
        title="Difference to a client's copy",
        description="What changed since the client's hash, or precisely against the ids and "
        "hashes it knows.",
        input=InstructionDiffInput,
        output=InstructionDiffOutput,
        handler=threaded(service, handle),
        tier=Tier.EXTENDED,
        bare=("instructions/diff",),
    )


def show_difference(difference: ClientDifference) -> JsonObject:
    """Spell the difference to a client's copy."""
    if difference.up_to_date:
        return {"upToDate": True, "hash": difference.catalogue_hash}
    if difference.changed is not None:
        return {"hash": difference.catalogue_hash, "changed": difference.changed}
    answer: JsonObject = {
        "hash": difference.catalogue_hash,
        "added": difference.added,
        "updated": difference.updated,
        "removed": difference.removed,
    }
    if difference.metadata_may_differ:
        answer["metadataMayDiffer"] = True
    return answer


class InstructionExportInput(CamelInput):
    ids: list[str] | None = Field(
        default=None, max_length=100_000, description="Only these; all when absent."
    )
    meta_only: bool = Field(default=False, description="Omit the bodies.")


class InstructionExportOutput(TypedDict):
    hash: str
    count: int
    items: list[InstructionItem]


def export_tool(service: InstructionsService) -> Tool:
    """`instructions_export`"""

    def handle(ctx: Context, args: InstructionExportInput) -> Answer:
        listing = service.export(ctx.auth, args.ids)
        items: JsonArray = list(listing.items)
        if args.meta_only:
            items = [
                {name: value for name, value in item.whole().items() if name != "body"}
                for item in listing.items
            ]
        return {"hash": listing.catalogue_hash, "count": len(items), "items": items}

    return Tool(
        name="instructions_export",
        toolset="instructions",
        title="Export instructions",
        description="All instructions, or some by id, with or without bodies.",
        input=InstructionExportInput,
        output=InstructionExportOutput,
        handler=threaded(service, handle),
        tier=Tier.EXTENDED,
        bare=("instructions/export",),
    )


class InstructionImportInput(WriteInput):
    entries: JsonArray = Field(
        max_length=100_000, description="The instructions; id and body at least."
    )
    mode: Literal["skip", "overwrite", "merge"] = Field(
        default="skip", description="What to do with ids that exist."
    )
    should_validate: bool = Field(
        default=True, alias="validate", description="False skips checks of values, not of ids."
    )
    batch_size: int | None = Field(default=None, ge=1, description="Files written at a time.")


class ImportFailureOutput(TypedDict):
    index: int
    id: NotRequired[str]
    error: str
    code: str


class InstructionImportOutput(TypedDict):
    note: NotRequired[str]
    hash: str
    imported: int
    skipped: int
    overwritten: int
    total: int
    errors: list[ImportFailureOutput]
    warnings: NotRequired[list[JsonObject]]
    processingTimeMs: float


def import_tool(service: InstructionsService) -> Tool:
    """`instructions_import`"""

    def handle(ctx: Context, args: InstructionImportInput) -> Answer:
        options = EntryImportOptions(
            args.mode, args.should_validate, args.batch_size, args.expected_hash
        )
        imported = service.import_entries(ctx.auth, args.entries, options, ctx.report)
        answer = _show_import(imported)
        if not ctx.compact:
            return answer
        return cut_lists(answer, ("errors",), f"{len(answer['errors'])} entries failed.")

    return Tool(
        name="instructions_import",
        toolset="instructions",
        title="Import instructions",
        description="Add or change many instructions; each is checked on its own and errors "
        "carry its place in the list.",
        input=InstructionImportInput,
        output=InstructionImportOutput,
        handler=threaded(service, handle),
        tier=Tier.EXTENDED,
        bare=("instructions/import",),
        read_only=False,
        scope=Scope.WRITE,
        writes_catalogue=True,
        errors=WRITE_ERRORS,
    )


def _show_import(result: ImportResult) -> JsonObject:
    answer: JsonObject = {
        "hash": result.catalogue_hash,
        "imported": result.imported,
        "skipped": result.skipped,
        "overwritten": result.overwritten,
        "total": result.total,
        "errors": [_show_failure(failure) for failure in result.failures],
        "processingTimeMs": result.elapsed_ms,
    }
    if result.warnings:
        answer["warnings"] = [
            {"index": warning.index, "id": warning.id, "warning": warning.warning}
            for warning in result.warnings[:MAX_WARNINGS]
        ]
    return answer


def _show_failure(failure: ImportFailure) -> ImportFailureOutput:
    shown: ImportFailureOutput = {
        "index": failure.index,
        "error": f"{failure.error}: {failure.hint}"[:500],
        "code": failure.error.replace(" ", "_"),
    }
    if failure.id is not None:
        shown["id"] = failure.id[:200]
    return shown
