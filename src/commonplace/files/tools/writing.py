"""file_write, file_edit, file_delete, file_rename, file_restore: change files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from pydantic import Field, model_validator
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tier, Tool
from commonplace.files.engine.edits import MOST_EDITS, TextEdit
from commonplace.files.errors import (
    ALREADY_EXISTS,
    CONTENT_CHANGED,
    EDIT_NOT_UNIQUE,
    INVALID_OFFSET,
    IS_DIRECTORY,
    NOT_DIRECTORY,
    NOT_EMPTY,
    NOT_FOUND,
    PAYLOAD_TOO_LARGE,
    PERMISSION_DENIED,
    QUOTA_EXCEEDED,
    RESOURCE_BUSY,
)
from commonplace.files.model import FileEntry, Provenance, WriteMode
from commonplace.files.service import FilesService
from commonplace.files.tools.shapes import (
    COMMON_ERRORS,
    FIELD_CODES,
    IfMatch,
    PathName,
    ProjectName,
    moment,
)
from commonplace.kernel.auth import Scope
from commonplace.kernel.errors import INVALID_ARGUMENT

MUTATION_ERRORS = (*COMMON_ERRORS, RESOURCE_BUSY)
STORING_ERRORS = (
    *MUTATION_ERRORS,
    IS_DIRECTORY,
    PAYLOAD_TOO_LARGE,
    QUOTA_EXCEEDED,
    CONTENT_CHANGED,
    INVALID_ARGUMENT,
)
MAX_RESTORED_SHOWN = 100


def _entry_fields(entry: FileEntry) -> tuple[int, str, str]:
    return entry.size, moment(entry.updated_at), entry.content_hash or ""


class FileWriteInput(Arguments):
    project: ProjectName
    path: PathName
    content: str = Field(description="Text. Encode binary data first, for example as Base64.")
    content_encoding: Literal["utf-8"] = "utf-8"
    offset: int = Field(
        default=0,
        description="First byte of OVERWRITE. APPEND ignores it, TRUNCATE needs 0.",
    )
    mode: WriteMode = Field(
        default=WriteMode.APPEND,
        description="TRUNCATE replaces the content, OVERWRITE bytes from offset on. APPEND writes "
        "at the end.",
    )
    if_match: IfMatch = None
    source_path: str | None = Field(
        default=None,
        description="Original path if illegal here. `path` spells each illegal byte as _xHH.",
    )


class FileWriteOutput(TypedDict):
    bytes_written: int
    size: int
    updated_at: str
    content_hash: str


def file_write_tool(service: Callable[[], FilesService]) -> Tool:
    async def write(ctx: Context, args: FileWriteInput) -> FileWriteOutput:
        provenance = None if args.source_path is None else Provenance(args.source_path)
        count, entry = await service().write(
            ctx.auth,
            args.project,
            args.path,
            args.content,
            args.offset,
            args.mode,
            args.if_match,
            provenance,
        )
        size, updated_at, digest = _entry_fields(entry)
        return {
            "bytes_written": count,
            "size": size,
            "updated_at": updated_at,
            "content_hash": digest,
        }

    return Tool(
        name="file_write",
        toolset="files",
        title="Write a file",
        description="Write a text file; missing directories are created. The default APPENDs: pass "
        "mode=TRUNCATE to replace the content.",
        input=FileWriteInput,
        output=FileWriteOutput,
        handler=write,
        read_only=False,
        destructive=True,
        idempotent=False,
        scope=Scope.WRITE,
        field_codes=FIELD_CODES,
        errors=(*STORING_ERRORS, NOT_DIRECTORY, INVALID_OFFSET),
        redact=frozenset({"content"}),
        core=True,
    )


class TextEditInput(Arguments):
    old_text: str = Field(
        description="Exact text to replace, white space included. It must occur once.", min_length=1
    )
    new_text: str = Field(description="Text in its place.")
    replace_all: bool = Field(
        default=False, strict=True, description="Every occurrence. Otherwise there must be one."
    )


class FileEditInput(Arguments):
    project: ProjectName
    path: PathName
    old_text: str | None = Field(
        default=None,
        description="Exact text to replace, white space included. It must occur once.",
        min_length=1,
    )
    new_text: str | None = Field(default=None, description="Text in its place.")
    replace_all: bool = Field(
        default=False, strict=True, description="Every occurrence. Otherwise there must be one."
    )
    edits: list[TextEditInput] | None = Field(
        default=None,
        min_length=1,
        max_length=MOST_EDITS,
        description="Several edits in order, all or none, instead of old_text and new_text.",
    )
    if_match: IfMatch = None

    @model_validator(mode="after")
    def _require_one_form(self) -> FileEditInput:
        single = self.old_text is not None and self.new_text is not None
        mixed = self.old_text is not None or self.new_text is not None or self.replace_all
        if (self.edits is None and not single) or (self.edits is not None and mixed):
            raise ValueError("give old_text and new_text, or edits")
        return self

    def sequence(self) -> list[TextEdit]:
        """Return the edits in order."""
        if self.edits is not None:
            return [TextEdit(edit.old_text, edit.new_text, edit.replace_all) for edit in self.edits]
        return [TextEdit(self.old_text or "", self.new_text or "", self.replace_all)]


class FileEditOutput(TypedDict):
    replacements: int
    size: int
    updated_at: str
    content_hash: str


def file_edit_tool(service: Callable[[], FilesService]) -> Tool:
    async def edit(ctx: Context, args: FileEditInput) -> FileEditOutput:
        count, entry = await service().edit(
            ctx.auth, args.project, args.path, args.sequence(), args.if_match
        )
        size, updated_at, digest = _entry_fields(entry)
        return {
            "replacements": count,
            "size": size,
            "updated_at": updated_at,
            "content_hash": digest,
        }

    return Tool(
        name="file_edit",
        toolset="files",
        title="Edit a file",
        description="Replace exact pieces of text in a file, one or several in order, all or none. "
        "Each must occur exactly once, or pass replace_all; otherwise nothing changes and the "
        "error says which edit failed, how often its text occurs and on which lines.",
        input=FileEditInput,
        output=FileEditOutput,
        handler=edit,
        tier=Tier.EXTENDED,
        read_only=False,
        destructive=True,
        idempotent=False,
        scope=Scope.WRITE,
        field_codes=FIELD_CODES,
        errors=(*STORING_ERRORS, NOT_FOUND, EDIT_NOT_UNIQUE),
        redact=frozenset({"old_text", "new_text", "edits"}),
    )


class FileDeleteInput(Arguments):
    project: ProjectName
    path: PathName
    recursive: bool = Field(
        default=False, strict=True, description="A directory with everything below."
    )


class FileDeleteOutput(TypedDict):
    deleted: int


def file_delete_tool(service: Callable[[], FilesService]) -> Tool:
    async def delete(ctx: Context, args: FileDeleteInput) -> FileDeleteOutput:
        return {
            "deleted": await service().delete(ctx.auth, args.project, args.path, args.recursive)
        }

    return Tool(
        name="file_delete",
        toolset="files",
        title="Delete a file",
        description="Delete a file or directory; file_restore brings it back.",
        input=FileDeleteInput,
        output=FileDeleteOutput,
        handler=delete,
        read_only=False,
        frees_space=True,
        destructive=True,
        idempotent=False,
        scope=Scope.WRITE,
        field_codes=FIELD_CODES,
        errors=(*MUTATION_ERRORS, NOT_FOUND, NOT_EMPTY, PERMISSION_DENIED),
    )


class FileRenameInput(Arguments):
    project: ProjectName
    path: PathName
    new_path: PathName
    overwrite: bool = Field(
        default=False, description="Let a file take the place of the file at new_path, in one step."
    )
    if_match: IfMatch = None


class FileRenameOutput(TypedDict):
    renamed: int


def file_rename_tool(service: Callable[[], FilesService]) -> Tool:
    async def rename(ctx: Context, args: FileRenameInput) -> FileRenameOutput:
        moved = await service().rename(
            ctx.auth,
            args.project,
            args.path,
            args.new_path,
            overwrite=args.overwrite,
            if_match=args.if_match,
        )
        return {"renamed": moved}

    return Tool(
        name="file_rename",
        toolset="files",
        title="Rename a file",
        description="Move a file or a whole directory to a new path in the same project. "
        "Replaces what is there only "
        "where a file takes the place of a file and overwrite is true; if_match is about "
        "that file.",
        input=FileRenameInput,
        output=FileRenameOutput,
        handler=rename,
        tier=Tier.EXTENDED,
        read_only=False,
        idempotent=False,
        scope=Scope.WRITE,
        field_codes=FIELD_CODES,
        errors=(
            *MUTATION_ERRORS,
            NOT_FOUND,
            ALREADY_EXISTS,
            NOT_DIRECTORY,
            PERMISSION_DENIED,
            CONTENT_CHANGED,
        ),
    )


class FileRestoreInput(Arguments):
    project: ProjectName
    path: PathName


class FileRestoreOutput(TypedDict):
    restored: int
    paths: list[str]


def file_restore_tool(service: Callable[[], FilesService]) -> Tool:
    async def restore(ctx: Context, args: FileRestoreInput) -> FileRestoreOutput:
        paths = await service().restore(ctx.auth, args.project, args.path)
        return {"restored": len(paths), "paths": list(paths[:MAX_RESTORED_SHOWN])}

    return Tool(
        name="file_restore",
        toolset="files",
        title="Restore a deleted file",
        description="Bring back the newest deleted version of a file, or of every file below "
        "a deleted directory, within "
        "the retention.",
        input=FileRestoreInput,
        output=FileRestoreOutput,
        handler=restore,
        tier=Tier.EXTENDED,
        read_only=False,
        idempotent=False,
        scope=Scope.WRITE,
        field_codes=FIELD_CODES,
        errors=(*MUTATION_ERRORS, NOT_FOUND, ALREADY_EXISTS, QUOTA_EXCEEDED),
    )


def writing_tools(service: Callable[[], FilesService]) -> tuple[Tool, ...]:
    return (
        file_write_tool(service),
        file_edit_tool(service),
        file_delete_tool(service),
        file_rename_tool(service),
        file_restore_tool(service),
    )
