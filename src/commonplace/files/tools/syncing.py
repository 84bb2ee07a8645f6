"""file_sync_state, file_sync_apply: the two calls of a sync from another machine."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tier, Tool
from commonplace.files.engine.naming import check_source_path
from commonplace.files.engine.sync import SyncAction, SyncOutcome, SyncStep, SyncWrite
from commonplace.files.errors import PAYLOAD_TOO_LARGE, RESOURCE_BUSY
from commonplace.files.model import file_path
from commonplace.files.project_sync import MAX_PAGE, MAX_STEPS, ProjectView
from commonplace.files.service import FilesService
from commonplace.files.tools.shapes import COMMON_ERRORS, FIELD_CODES, PathName, ProjectName
from commonplace.kernel.auth import Scope
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError

Origin = Annotated[
    str,
    Field(
        pattern=r"^[0-9A-Za-z._:-]{1,128}$",
        description="Identity of the folder that is synchronised, chosen by the client.",
    ),
]


class FileSyncStateInput(Arguments):
    project: ProjectName
    origin: Origin
    after: str = Field(default="", max_length=512, description="next of the page before.")
    limit: int = Field(default=MAX_PAGE, ge=1, le=MAX_PAGE, description="Most files of a page.")


class SyncedFileOutput(TypedDict):
    path: str
    content_hash: str
    source_path: NotRequired[str]


class FileSyncStateOutput(TypedDict):
    files: list[SyncedFileOutput]
    brought: dict[str, str]
    brought_by_others: dict[str, str]
    max_file_bytes: int
    next: str | None


def file_sync_state_tool(service: Callable[[], FilesService]) -> Tool:
    async def state(ctx: Context, args: FileSyncStateInput) -> FileSyncStateOutput:
        view = await service().sync.view(
            ctx.auth, args.project, args.origin, args.after, args.limit
        )
        return {
            "files": _files_of(view),
            "brought": {str(path): digest for path, digest in view.own.items()},
            "brought_by_others": {str(path): digest for path, digest in view.others.items()},
            "max_file_bytes": view.max_file_bytes,
            "next": view.next,
        }

    return Tool(
        name="file_sync_state",
        toolset="files",
        title="State of a synchronised project",
        description="For `commonplace files sync --server`: the files of a project with their "
        "content hashes, and what syncs of this folder and of others brought, page by page; pass "
        "next as after for the following page.",
        input=FileSyncStateInput,
        output=FileSyncStateOutput,
        handler=state,
        tier=Tier.EXTENDED,
        field_codes=FIELD_CODES,
        errors=COMMON_ERRORS,
    )


def _files_of(view: ProjectView) -> list[SyncedFileOutput]:
    files: list[SyncedFileOutput] = []
    for file in view.files.values():
        row: SyncedFileOutput = {"path": file.path, "content_hash": file.content_hash}
        if file.provenance.source_path is not None:
            row["source_path"] = file.provenance.source_path
        files.append(row)
    return files


class FileSyncStepInput(Arguments):
    action: SyncAction = Field(
        description="put stores content, move renames source, delete deletes; adopt and forget "
        "only note that the folder has the file, or no longer has it."
    )
    path: PathName
    expected: str | None = Field(
        default=None,
        max_length=64,
        description="Content hash that the file (of a move: the source) must still have; null: "
        "there must be no file.",
    )
    content: str | None = Field(default=None, description="Text to store, for put.")
    source: str | None = Field(default=None, max_length=512, description="Path before a move.")
    source_path: str | None = Field(
        default=None, description="Original path of a file whose name is not legal here."
    )
    keep_replaced: bool = Field(
        default=False,
        strict=True,
        description="Keep the replaced version among the deleted files, for put.",
    )


class FileSyncApplyInput(Arguments):
    project: ProjectName
    origin: Origin
    steps: list[FileSyncStepInput] = Field(
        min_length=1,
        max_length=MAX_STEPS,
        description="Steps in order; together they carry at most the bytes of one file.",
    )
    take_over: bool = Field(
        default=False, strict=True, description="Other folders no longer own these files."
    )


class SyncRefusal(TypedDict):
    code: str
    message: str


class SyncOutcomeOutput(TypedDict):
    path: str
    outcome: str
    error: NotRequired[SyncRefusal]


class FileSyncApplyOutput(TypedDict):
    outcomes: list[SyncOutcomeOutput]


def file_sync_apply_tool(service: Callable[[], FilesService]) -> Tool:
    async def apply(ctx: Context, args: FileSyncApplyInput) -> FileSyncApplyOutput:
        writes = [_write_of(number, step) for number, step in enumerate(args.steps)]
        outcomes = await service().sync.apply(
            ctx.auth, args.project, args.origin, writes, takes_over=args.take_over
        )
        return {"outcomes": _outcomes_of(writes, outcomes)}

    return Tool(
        name="file_sync_apply",
        toolset="files",
        title="Apply steps of a sync",
        description="For `commonplace files sync --server`: do steps of a sync in one change and "
        "record what this folder brought. A step whose file is no longer as expected changes "
        "nothing (outcome changed). Sending the same steps again has no further effect.",
        input=FileSyncApplyInput,
        output=FileSyncApplyOutput,
        handler=apply,
        read_only=False,
        destructive=True,
        idempotent=True,
        scope=Scope.WRITE,
        tier=Tier.EXTENDED,
        field_codes=FIELD_CODES,
        errors=(*COMMON_ERRORS, RESOURCE_BUSY, PAYLOAD_TOO_LARGE, INVALID_ARGUMENT),
        redact=frozenset({"content"}),
    )


def _write_of(number: int, given: FileSyncStepInput) -> SyncWrite:
    """Return a step as the store does it; hashes are computed here, not believed."""
    path, action = file_path(given.path), given.action
    if (action is SyncAction.PUT) != (given.content is not None):
        raise _invalid(number, "content is for put, and put needs it")
    if (action is SyncAction.MOVE) != (given.source is not None):
        raise _invalid(number, "source is for move, and move needs it")
    if action in (SyncAction.MOVE, SyncAction.ADOPT) and given.expected is None:
        raise _invalid(number, f"{action} needs expected")
    content = (given.content or "").encode()
    source_path = check_source_path(path, given.source_path) if given.source_path else None
    step = SyncStep(
        action,
        path,
        given.expected,
        hashlib.sha256(content).hexdigest() if action is SyncAction.PUT else given.expected or "",
        file_path(given.source) if given.source is not None else None,
        given.keep_replaced,
    )
    return SyncWrite(step, content, source_path)


def _invalid(number: int, problem: str) -> CommonplaceError:
    return CommonplaceError(
        INVALID_ARGUMENT,
        f"steps[{number}]: {problem}.",
        hint="Use commonplace files sync --server.",
        details={"field": f"steps[{number}]"},
    )


def _outcomes_of(
    writes: Sequence[SyncWrite], outcomes: Sequence[SyncOutcome | CommonplaceError]
) -> list[SyncOutcomeOutput]:
    rows: list[SyncOutcomeOutput] = []
    for write, outcome in zip(writes, outcomes, strict=True):
        if isinstance(outcome, CommonplaceError):
            refusal: SyncRefusal = {"code": outcome.code.name, "message": outcome.message}
            rows.append({"path": write.step.path, "outcome": "refused", "error": refusal})
        else:
            rows.append({"path": write.step.path, "outcome": outcome.value})
    return rows


def syncing_tools(service: Callable[[], FilesService]) -> tuple[Tool, ...]:
    return (file_sync_state_tool(service), file_sync_apply_tool(service))
