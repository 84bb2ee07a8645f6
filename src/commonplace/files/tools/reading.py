"""file_stat, file_read, file_list: read files and directories."""

from __future__ import annotations

from collections.abc import Callable
from typing import NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tool
from commonplace.files.errors import INVALID_OFFSET, IS_DIRECTORY, NOT_FOUND
from commonplace.files.model import ReadText
from commonplace.files.service import FilesService
from commonplace.files.tools.shapes import (
    COMMON_ERRORS,
    FIELD_CODES,
    ZERO_TIME,
    FileEntryOutput,
    PathName,
    ProjectName,
    entry_out,
    moment,
)
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError


class FileStatInput(Arguments):
    project: ProjectName
    path: PathName


class FileStatOutput(TypedDict):
    exists: bool
    type: str | None
    size: int
    created_at: str
    updated_at: str
    content_hash: NotRequired[str]
    source_path: NotRequired[str]


def file_stat_tool(service: Callable[[], FilesService]) -> Tool:
    async def stat(ctx: Context, args: FileStatInput) -> FileStatOutput:
        entry = await service().stat(ctx.auth, args.project, args.path)
        if entry is None:
            return {
                "exists": False,
                "type": None,
                "size": 0,
                "created_at": ZERO_TIME,
                "updated_at": ZERO_TIME,
            }
        answer: FileStatOutput = {
            "exists": True,
            "type": entry.type.value,
            "size": entry.size,
            "created_at": moment(entry.created_at),
            "updated_at": moment(entry.updated_at),
        }
        if entry.content_hash is not None:
            answer["content_hash"] = entry.content_hash
        if entry.source_path is not None:
            answer["source_path"] = entry.source_path
        return answer

    return Tool(
        name="file_stat",
        toolset="files",
        title="Stat a file",
        description="Type, size, times and content hash of a path. A missing one is exists=false, "
        "not an error.",
        input=FileStatInput,
        output=FileStatOutput,
        handler=stat,
        field_codes=FIELD_CODES,
        errors=COMMON_ERRORS,
    )


class FileReadInput(Arguments):
    project: ProjectName
    path: PathName
    offset: int = Field(default=0, description="First byte. Beyond the end the content is empty.")
    length: int = Field(default=-1, description="Bytes; -1 is to the end.")
    start_line: int | None = Field(
        default=None, ge=1, description="From 1; lines instead of bytes. Only LF ends a line."
    )
    end_line: int | None = Field(default=None, ge=1, description="Included. Default the last line.")


class FileReadOutput(TypedDict):
    content: str
    content_encoding: str
    file_seek_start_bytes: int
    file_seek_end_bytes: int
    start_line: NotRequired[int]
    end_line: NotRequired[int]
    total_lines: NotRequired[int]
    size: int
    content_hash: str


def file_read_tool(service: Callable[[], FilesService]) -> Tool:
    async def read(ctx: Context, args: FileReadInput) -> FileReadOutput:
        if args.start_line is None and args.end_line is None:
            found = await service().read(
                ctx.auth, args.project, args.path, args.offset, args.length
            )
        elif (args.offset, args.length) == (0, -1):
            found = await service().read_lines(
                ctx.auth, args.project, args.path, args.start_line or 1, args.end_line
            )
        else:
            raise CommonplaceError(
                INVALID_ARGUMENT,
                "A read takes lines or bytes, not both.",
                hint="Leave out offset and length, or start_line and end_line.",
                details={"field": "start_line" if args.start_line is not None else "end_line"},
            )
        return _read_output(found)

    return Tool(
        name="file_read",
        toolset="files",
        title="Read a file",
        description="Read a text file: whole, a range of lines, or a range of bytes (only whole "
        "characters of it).",
        input=FileReadInput,
        output=FileReadOutput,
        handler=read,
        field_codes=FIELD_CODES,
        errors=(*COMMON_ERRORS, NOT_FOUND, IS_DIRECTORY, INVALID_OFFSET, INVALID_ARGUMENT),
        large=True,
    )


def _read_output(found: ReadText) -> FileReadOutput:
    answer: FileReadOutput = {
        "content": found.content,
        "content_encoding": "utf-8",
        "file_seek_start_bytes": found.start,
        "file_seek_end_bytes": found.end,
        "size": found.entry.size,
        "content_hash": found.entry.content_hash or "",
    }
    if found.lines is not None:
        answer["start_line"], answer["end_line"] = found.lines
    if found.total_lines is not None:
        answer["total_lines"] = found.total_lines
    return answer


class FileListInput(Arguments):
    project: ProjectName
    path: PathName = ""
    depth: int = Field(
        default=1,
        description="0 is the path itself, 1 its children.",
    )
    limit: int = Field(
        default=256, description="At most 1024. has_more tells whether there are more."
    )


class FileListOutput(TypedDict):
    entries: list[FileEntryOutput]
    has_more: bool
    notes: NotRequired[list[str]]


def file_list_tool(service: Callable[[], FilesService]) -> Tool:
    async def listing(ctx: Context, args: FileListInput) -> FileListOutput:
        limit = args.limit if "limit" in args.model_fields_set else None
        found = await service().list_directory(ctx.auth, args.project, args.path, args.depth, limit)
        answer: FileListOutput = {
            "entries": [entry_out(entry) for entry in found.entries],
            "has_more": found.has_more,
        }
        if found.notes:
            answer["notes"] = list(found.notes)
        return answer

    return Tool(
        name="file_list",
        toolset="files",
        title="List a directory",
        description="List a directory of a project, sorted by path.",
        input=FileListInput,
        output=FileListOutput,
        handler=listing,
        field_codes=FIELD_CODES,
        errors=(*COMMON_ERRORS, NOT_FOUND, INVALID_ARGUMENT),
        large=True,
    )


def reading_tools(service: Callable[[], FilesService]) -> tuple[Tool, ...]:
    return (file_stat_tool(service), file_read_tool(service), file_list_tool(service))
