"""Tools that maintain the whole catalogue: reload, groom, repair and enrich."""

from __future__ import annotations

from typing import NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Context, Tier, Tool
from commonplace.instructions.engine.groom import GroomMode
from commonplace.instructions.errors import HASH_MISMATCH
from commonplace.instructions.results.writing import RewriteResult
from commonplace.instructions.service import InstructionsService
from commonplace.instructions.tools.add import WRITE_ERRORS
from commonplace.instructions.tools.compact import cut_lists
from commonplace.instructions.tools.shapes import (
    Answer,
    CamelInput,
    ClientCopyInput,
    WriteInput,
    client_copies,
    threaded,
)
from commonplace.instructions.tools.transfer import InstructionDiffOutput, show_difference
from commonplace.kernel.auth import Scope
from commonplace.kernel.json_types import JsonObject


def tools(service: InstructionsService) -> tuple[Tool, ...]:
    """Return the tools of this module."""
    return (
        reload_tool(service),
        groom_tool(service),
        repair_tool(service),
        enrich_tool(service),
    )


class InstructionReloadOutput(TypedDict):
    reloaded: bool
    hash: str
    count: int


def reload_tool(service: InstructionsService) -> Tool:
    """`instructions_reload`"""

    def handle(ctx: Context, args: WriteInput) -> Answer:
        state = service.reload(ctx.auth, args.expected_hash)
        return {"reloaded": True, "hash": state.catalogue_hash, "count": state.count}

    return Tool(
        name="instructions_reload",
        toolset="instructions",
        title="Reload the catalogue",
        description="Read every file again.",
        input=WriteInput,
        output=InstructionReloadOutput,
        handler=threaded(service, handle),
        tier=Tier.EXTENDED,
        bare=("instructions/reload",),
        read_only=False,
        scope=Scope.WRITE,
        writes_catalogue=True,
        errors=(HASH_MISMATCH,),
    )


class GroomModeInput(CamelInput):
    dry_run: bool = Field(default=False, description="Report only.")
    merge_duplicates: bool = Field(default=False, description="Merge entries with the same body.")
    remove_deprecated: bool = Field(
        default=False, description="Delete deprecated entries whose replacement exists."
    )
    normalize_categories: bool = Field(
        default=True, description="Lower-case, sort and de-duplicate categories."
    )
    purge_legacy_scopes: bool = Field(
        default=False, description="Take scope:* tokens out of the files."
    )
    update_hashes: bool = Field(default=True, description="Correct stored hashes.")


class InstructionGroomInput(WriteInput):
    mode: GroomModeInput = Field(default_factory=GroomModeInput, description="What to do.")


class InstructionGroomOutput(TypedDict):
    previousHash: str
    hash: str
    scanned: int
    repairedHashes: int
    normalizedCategories: int
    deprecatedRemoved: int
    duplicatesMerged: int
    usagePruned: int
    filesRewritten: int
    purgedScopes: int
    dryRun: bool
    notes: list[str]
    performanceMs: float


def groom_tool(service: InstructionsService) -> Tool:
    """`instructions_groom`"""

    def handle(ctx: Context, args: InstructionGroomInput) -> Answer:
        mode = GroomMode(**args.mode.model_dump())
        result = service.groom(ctx.auth, mode, args.expected_hash)
        return {
            "previousHash": result.previous_hash,
            "hash": result.catalogue_hash,
            "scanned": result.scanned,
            "repairedHashes": result.repaired_hashes,
            "normalizedCategories": result.normalized_categories,
            "deprecatedRemoved": result.deprecated_removed,
            "duplicatesMerged": result.duplicates_merged,
            "usagePruned": result.usage_pruned,
            "filesRewritten": result.files_rewritten,
            "purgedScopes": result.purged_scopes,
            "dryRun": result.dry_run,
            "notes": result.notes,
            "performanceMs": result.elapsed_ms,
        }

    return Tool(
        name="instructions_groom",
        toolset="instructions",
        title="Groom the catalogue",
        description="Correct hashes, normalise categories, merge duplicates, drop deprecated "
        "entries; dryRun only reports.",
        input=InstructionGroomInput,
        output=InstructionGroomOutput,
        handler=threaded(service, handle),
        tier=Tier.EXTENDED,
        bare=("instructions/groom",),
        read_only=False,
        destructive=True,
        scope=lambda args: Scope.READ if args.mode.dry_run else Scope.WRITE,
        writes_catalogue=lambda args: not args.mode.dry_run,
        errors=WRITE_ERRORS,
    )


class InstructionRepairInput(WriteInput):
    client_hash: str | None = Field(
        default=None, max_length=200, description="Answer like diff: the hash the client has."
    )
    known: list[ClientCopyInput] | None = Field(
        default=None, max_length=100_000, description="Answer like diff: what the client has."
    )

    @property
    def only_compares(self) -> bool:
        """Tell whether the call changes nothing."""
        return self.client_hash is not None or self.known is not None


def repair_tool(service: InstructionsService) -> Tool:
    """`instructions_repair`"""

    def handle(ctx: Context, args: InstructionRepairInput) -> Answer:
        if args.only_compares:
            return show_difference(
                service.diff(ctx.auth, args.client_hash, client_copies(args.known))
            )
        result = service.repair(ctx.auth, args.expected_hash)
        answer: JsonObject = {
            "repaired": len(result.updated),
            "updated": result.updated,
            "hash": result.catalogue_hash,
        }
        return {**answer, "notes": result.notes} if result.notes else answer

    return Tool(
        name="instructions_repair",
        toolset="instructions",
        title="Repair stored hashes",
        description="Correct hashes that do not match their bodies; with clientHash "
        "or known it only compares, like diff.",
        input=InstructionRepairInput,
        output=InstructionDiffOutput,
        output_schema={
            "type": "object",
            "properties": {
                "hash": {"type": "string"},
                "repaired": {"type": "integer"},
                "updated": {"type": "array"},
            },
        },
        handler=threaded(service, handle),
        tier=Tier.EXTENDED,
        bare=("instructions/repair",),
        read_only=False,
        scope=lambda args: Scope.READ if args.only_compares else Scope.WRITE,
        writes_catalogue=lambda args: not args.only_compares,
        errors=WRITE_ERRORS,
    )


class InstructionEnrichOutput(TypedDict):
    enriched: int
    updated: list[str]
    rewritten: int
    skipped: list[str]
    note: NotRequired[str]
    hash: str
    notes: NotRequired[list[str]]


def enrich_tool(service: InstructionsService) -> Tool:
    """`instructions_enrich`"""

    def show(result: RewriteResult) -> JsonObject:
        answer: JsonObject = {
            "enriched": len(result.updated),
            "updated": result.updated,
            "rewritten": len(result.updated),
            "skipped": result.skipped,
            "hash": result.catalogue_hash,
        }
        return {**answer, "notes": result.notes} if result.notes else answer

    def handle(ctx: Context, args: WriteInput) -> Answer:
        answer = show(service.enrich(ctx.auth, args.expected_hash))
        if not ctx.compact:
            return answer
        names = ("updated", "skipped", "notes")
        return cut_lists(answer, names, "instructions/enrich lists all.", 100)

    return Tool(
        name="instructions_enrich",
        toolset="instructions",
        title="Enrich stored files",
        description="Write missing governance fields into the files; owner rules replace unowned.",
        input=WriteInput,
        output=InstructionEnrichOutput,
        handler=threaded(service, handle),
        tier=Tier.EXTENDED,
        bare=("instructions/enrich",),
        read_only=False,
        scope=Scope.WRITE,
        writes_catalogue=True,
        errors=WRITE_ERRORS,
    )
