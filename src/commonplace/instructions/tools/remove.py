"""Tools that take instructions out of the catalogue, and list those that are out of it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Literal, NotRequired

from pydantic import Field, model_validator
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Context, Tier, Tool
from commonplace.instructions.archive_service import ArchiveService
from commonplace.instructions.errors import (
    CATALOGUE_UNWRITABLE,
    CONFIRMATION_REQUIRED,
    REMOVE_MISSING,
    REVIEW_REQUIRED,
)
from commonplace.instructions.results.writing import RemovalResult
from commonplace.instructions.service import InstructionsService
from commonplace.instructions.store.review.backups import BackupFacts
from commonplace.instructions.tools.add import WRITE_ERRORS
from commonplace.instructions.tools.shapes import Answer, CamelInput, WriteInput, threaded
from commonplace.instructions.use_cases.removing import RemovalOptions
from commonplace.kernel.auth import Scope
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import JsonObject


class InstructionRemoveInput(WriteInput):
    ids: list[str] = Field(default_factory=list, max_length=100_000, description="Ids to remove.")
    id: str | None = Field(default=None, max_length=400, description="A single id instead of ids.")
    confirm: bool = Field(default=False, description="Needed for more than 10.")
    cascade: bool = Field(default=False, description="Also remove what depends on them.")
    missing_ok: bool = Field(
        default=False, description="Accept missing ids, whatever the server's setting."
    )
    dry_run: bool = Field(default=False, description="Only say what would be removed.")

    @model_validator(mode="after")
    def _require_ids(self) -> InstructionRemoveInput:
        if not self.ids and self.id is None:
            raise ValueError("give ids (or id)")
        return self


class InstructionRemoveOutput(TypedDict):
    removed: int
    removedIds: list[str]
    missing: list[str]
    errorCount: int
    errors: list[dict[str, str]]
    cascadeRemovals: NotRequired[list[str]]
    dryRun: NotRequired[bool]
    wouldRemove: NotRequired[list[str]]
    backup: NotRequired[str]
    hash: str


def tools(service: InstructionsService) -> tuple[Tool, ...]:
    """Return the tools of this module."""
    kept = ArchiveService(service.parts_of)
    return remove_tool(service), archive_tool(service, kept), removed_tool(service, kept)


def remove_tool(service: InstructionsService) -> Tool:
    """`instructions_remove`"""

    def handle(ctx: Context, args: InstructionRemoveInput) -> Answer:
        ids = [*args.ids, *([args.id] if args.id is not None else [])]
        options = RemovalOptions(
            args.confirm, args.cascade, args.missing_ok, args.expected_hash, args.dry_run
        )
        return _show(service.remove(ctx.auth, ids, options))

    return Tool(
        name="instructions_remove",
        toolset="instructions",
        title="Remove instructions",
        description="Delete instructions by id; instructions_restore brings them back. More "
        "than 10 need confirm, and are saved in a backup first. dryRun only says what would be "
        "removed.",
        input=InstructionRemoveInput,
        output=InstructionRemoveOutput,
        handler=threaded(service, handle),
        tier=Tier.EXTENDED,
        bare=("instructions/remove",),
        read_only=False,
        frees_space=True,
        destructive=True,
        scope=Scope.WRITE,
        writes_catalogue=True,
        errors=(*WRITE_ERRORS, CONFIRMATION_REQUIRED, REMOVE_MISSING, REVIEW_REQUIRED),
    )


def _show(result: RemovalResult) -> JsonObject:
    answer: JsonObject = {
        "removed": len(result.removed) + len(result.cascaded or ()),
        "removedIds": result.removed,
        "missing": [id_[:200] for id_ in result.missing],
        "errorCount": len(result.failures),
        "errors": [_show_failure(id_, error) for id_, error in result.failures.items()],
        "hash": result.catalogue_hash,
    }
    if result.cascaded is not None:
        answer["cascadeRemovals"] = result.cascaded
    if result.dry_run:
        answer |= {"dryRun": True, "removed": 0, "removedIds": [], "wouldRemove": result.removed}
    if result.backup is not None:
        answer["backup"] = result.backup
    return answer


def _show_failure(id_: str, error: Exception) -> dict[str, str]:
    code = error.code if isinstance(error, CommonplaceError) else CATALOGUE_UNWRITABLE
    return {"id": id_, "error": str(error)[:300], "code": code.name}


class InstructionArchiveInput(WriteInput):
    ids: list[str] = Field(
        min_length=1, max_length=1000, description="Ids to archive, or to bring back."
    )
    restore: bool = Field(default=False, description="Bring archived instructions back.")


class InstructionArchiveOutput(TypedDict):
    archived: NotRequired[list[str]]
    restored: NotRequired[list[str]]
    unchanged: list[dict[str, str]]
    hash: str


def archive_tool(service: InstructionsService, kept: ArchiveService) -> Tool:
    """`instructions_archive`"""

    def handle(ctx: Context, args: InstructionArchiveInput) -> Answer:
        result = kept.archive(
            ctx.auth, args.ids, restore=args.restore, expected_hash=args.expected_hash
        )
        return {
            "restored" if args.restore else "archived": result.changed,
            "unchanged": [
                {"id": id_[:200], "reason": reason} for id_, reason in result.unchanged.items()
            ],
            "hash": result.catalogue_hash,
        }

    return Tool(
        name="instructions_archive",
        toolset="instructions",
        title="Archive instructions",
        description="Take instructions out of lists, search and hashes but keep them: "
        "instructions_get reads them with archived: true, and restore brings them back.",
        input=InstructionArchiveInput,
        output=InstructionArchiveOutput,
        handler=threaded(service, handle),
        tier=Tier.EXTENDED,
        read_only=False,
        scope=Scope.WRITE,
        writes_catalogue=True,
        errors=(*WRITE_ERRORS, REVIEW_REQUIRED),
    )


class InstructionRemovedInput(CamelInput):
    kind: Literal["removed", "archived", "backups"] = Field(
        default="removed",
        description="Removed instructions, archived ones, or backups of bulk removals.",
    )
    limit: int = Field(default=50, ge=1, le=500, description="Most items.")
    offset: int = Field(default=0, ge=0, description="Items to skip.")


class InstructionRemovedOutput(TypedDict):
    kind: str
    count: int
    items: list[JsonObject]


def removed_tool(service: InstructionsService, kept: ArchiveService) -> Tool:
    """`instructions_removed`"""

    def handle(ctx: Context, args: InstructionRemovedInput) -> Answer:
        page = slice(args.offset, args.offset + args.limit)
        if args.kind == "backups":
            backups = kept.backups(ctx.auth)
            shown = [_show_backup(facts) for facts in backups[page]]
            return {"kind": args.kind, "count": len(backups), "items": shown}
        find = kept.archived if args.kind == "archived" else kept.removed
        found = find(ctx.auth, limit=args.limit, offset=args.offset)
        items = [
            {name: value for name, value in asdict(item).items() if value is not None}
            for item in found.items
        ]
        return {"kind": args.kind, "count": found.total, "items": items}

    return Tool(
        name="instructions_removed",
        toolset="instructions",
        title="Removed instructions",
        description="Removed or archived instructions that can be brought back, newest first, or "
        "the backups that were made before bulk removals.",
        input=InstructionRemovedInput,
        output=InstructionRemovedOutput,
        handler=threaded(service, handle),
        tier=Tier.EXTENDED,
    )


def _show_backup(facts: BackupFacts) -> JsonObject:
    shown = asdict(facts)
    del shown["tenant"]
    return {"backup": shown.pop("name"), **shown}
