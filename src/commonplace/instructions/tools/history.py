"""Tools for the past of an instruction: history and restore."""

from __future__ import annotations

from pydantic import Field, model_validator
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Context, Tier, Tool
from commonplace.instructions.archive_service import ArchiveService
from commonplace.instructions.errors import (
    BACKUP_NOT_FOUND,
    CHANGE_NOT_FOUND,
    INSTRUCTION_NOT_FOUND,
    REVIEW_REQUIRED,
)
from commonplace.instructions.results.review import BackupRestoration
from commonplace.instructions.results.writing import HistoryChange, InstructionHistory
from commonplace.instructions.review_service import ReviewService
from commonplace.instructions.service import InstructionsService
from commonplace.instructions.tools.add import WRITE_ERRORS, InstructionAddOutput, show_written
from commonplace.instructions.tools.compact import cut_history
from commonplace.instructions.tools.shapes import (
    Answer,
    FullInput,
    WriteInput,
    show_difference,
    show_event,
    threaded,
)
from commonplace.kernel.auth import Scope
from commonplace.kernel.json_types import JsonObject


def tools(service: InstructionsService) -> tuple[Tool, ...]:
    """Return the tools of this module."""
    return history_tool(service), restore_tool(service)


class InstructionHistoryInput(FullInput):
    id: str = Field(min_length=1, max_length=400, description="The instruction's id.")
    limit: int = Field(default=20, ge=1, le=50, description="Most changes shown.")


class InstructionHistoryOutput(TypedDict, total=False):
    id: str
    exists: bool
    notFound: bool
    changeLog: list[JsonObject]
    count: int
    changes: list[JsonObject]
    reviews: list[JsonObject]
    note: str


def history_tool(service: InstructionsService) -> Tool:
    """`instructions_history`"""

    reviews = ReviewService(service.parts_of)

    def handle(ctx: Context, args: InstructionHistoryInput) -> Answer:
        answer = _show_history(service.history(ctx.auth, args.id, args.limit))
        events = reviews.events(ctx.auth, args.id)
        if events:
            answer["reviews"] = [show_event(event) for event in events[-args.limit :][::-1]]
        return answer if not ctx.compact or args.full else cut_history(answer)

    return Tool(
        name="instructions_history",
        toolset="instructions",
        title="History of an instruction",
        description="Change log and every recorded change: author, time and difference.",
        input=InstructionHistoryInput,
        output=InstructionHistoryOutput,
        handler=threaded(service, handle),
        tier=Tier.EXTENDED,
    )


def _show_history(history: InstructionHistory) -> JsonObject:
    if not history.exists and not history.total:
        empty: JsonObject = {"changes": [], "count": 0, "changeLog": []}
        return {"id": history.id[:200], "notFound": True, **empty}
    return {
        "id": history.id,
        "exists": history.exists,
        "changeLog": history.change_log,
        "count": history.total,
        "changes": [_show_change(change) for change in history.changes],
    }


def _show_change(change: HistoryChange) -> JsonObject:
    return {
        "change": change.number,
        "at": change.at,
        "action": change.action,
        "by": change.by,
        **({"agent": change.agent} if change.agent is not None else {}),
        "version": change.version,
        "diff": show_difference(change.difference),
    }


class InstructionRestoreInput(WriteInput):
    id: str | None = Field(
        default=None, min_length=1, max_length=400, description="The instruction's id."
    )
    change: int | None = Field(
        default=None, ge=1, description="Number of the change to undo; the latest when absent."
    )
    backup: str | None = Field(
        default=None,
        max_length=100,
        description="Instead of id: bring back what a bulk removal deleted; instructions_removed "
        "lists the backups.",
    )

    @model_validator(mode="after")
    def _require_one(self) -> InstructionRestoreInput:
        if (self.id is None) == (self.backup is None):
            raise ValueError("give id, or backup")
        return self


class InstructionRestoreOutput(InstructionAddOutput, total=False):
    restored: bool
    removed: bool
    change: int
    backup: str
    ids: list[str]
    present: list[str]
    errors: list[dict[str, str]]


def restore_tool(service: InstructionsService) -> Tool:
    """`instructions_restore`"""

    kept = ArchiveService(service.parts_of)

    def handle(ctx: Context, args: InstructionRestoreInput) -> Answer:
        if args.id is None:
            assert args.backup is not None
            return _show_restoration(kept.restore_backup(ctx.auth, args.backup))
        result = service.restore(ctx.auth, args.id, args.change, expected_hash=args.expected_hash)
        if result.written is not None:
            return {**show_written(result.written), "restored": True, "change": result.change}
        return {
            "id": result.id,
            "restored": True,
            "removed": True,
            "change": result.change,
            "hash": result.catalogue_hash,
        }

    return Tool(
        name="instructions_restore",
        toolset="instructions",
        title="Restore an instruction",
        description=(
            "Undo the latest change or removal of an instruction, also one by hand, or the "
            "one numbered by instructions_history; or bring back a backup of a bulk removal."
        ),
        input=InstructionRestoreInput,
        output=InstructionRestoreOutput,
        handler=threaded(service, handle),
        tier=Tier.EXTENDED,
        read_only=False,
        idempotent=False,
        scope=Scope.WRITE,
        writes_catalogue=True,
        errors=(
            *WRITE_ERRORS,
            CHANGE_NOT_FOUND,
            INSTRUCTION_NOT_FOUND,
            BACKUP_NOT_FOUND,
            REVIEW_REQUIRED,
        ),
    )


def _show_restoration(result: BackupRestoration) -> JsonObject:
    return {
        "backup": result.name,
        "restored": bool(result.restored),
        "ids": result.restored,
        "present": result.present,
        "errors": [{"id": id_, "error": error} for id_, error in sorted(result.failures.items())],
        "hash": result.catalogue_hash,
    }
