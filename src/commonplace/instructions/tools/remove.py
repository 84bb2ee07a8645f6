"""Tool that removes instructions."""

from __future__ import annotations

from typing import NotRequired

from pydantic import Field, model_validator
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Context, Tier, Tool
from commonplace.instructions.errors import (
    CATALOGUE_UNWRITABLE,
    CONFIRMATION_REQUIRED,
    REMOVE_MISSING,
)
from commonplace.instructions.results.writing import RemovalResult
from commonplace.instructions.service import InstructionsService
from commonplace.instructions.tools.add import WRITE_ERRORS
from commonplace.instructions.tools.shapes import Answer, WriteInput, threaded
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
    hash: str


def tools(service: InstructionsService) -> tuple[Tool, ...]:
    """Return the tool `instructions_remove`."""

    def handle(ctx: Context, args: InstructionRemoveInput) -> Answer:
        ids = [*args.ids, *([args.id] if args.id is not None else [])]
        options = RemovalOptions(args.confirm, args.cascade, args.missing_ok, args.expected_hash)
        return _show(service.remove(ctx.auth, ids, options))

    return (
        Tool(
            name="instructions_remove",
            toolset="instructions",
            title="Remove instructions",
            description="Delete instructions by id; instructions_restore brings them back. More "
            "than 10 need confirm.",
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
            errors=(*WRITE_ERRORS, CONFIRMATION_REQUIRED, REMOVE_MISSING),
        ),
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
    return answer


def _show_failure(id_: str, error: Exception) -> dict[str, str]:
    code = error.code if isinstance(error, CommonplaceError) else CATALOGUE_UNWRITABLE
    return {"id": id_, "error": str(error)[:300], "code": code.name}
