"""file_stat, file_read, file_list: read files and directories."""

from __future__ import annotations

from collections.abc import Callable
from typing import NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tool
from commonplace.files.errors import INVALID_OFFSET, IS_DIRECTORY, NOT_FOUND
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
from commonplace.kernel.errors import INVALID_ARGUMENT


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
        description="Tell whether a path exists in a project, whether it is a FILE or a "
        "DIRECTORY, its size, times and content hash. "
        "A missing path is an answer (exists=false), not an error.",
        input=FileStatInput,
        output=FileStatOutput,
        handler=stat,
        field_codes=FIELD_CODES,
        errors=COMMON_ERRORS,
    )


class FileReadInput(Arguments):
    project: ProjectName
    path: PathName
    offset: int = Field(default=0, description="First byte to read. Beyond the end: empty content.")
    length: int = Field(default=-1, description="Bytes to read; -1 = to the end.")


class FileReadOutput(TypedDict):
    content: str
    content_encoding: str
    file_seek_start_bytes: int
    file_seek_end_bytes: int
    size: int
    content_hash: str


def file_read_tool(service: Callable[[], FilesService]) -> Tool:
    async def read(ctx: Context, args: FileReadInput) -> FileReadOutput:
        found = await service().read(ctx.auth, args.project, args.path, args.offset, args.length)
        return {
            "content": found.content,
            "content_encoding": "utf-8",
            "file_seek_start_bytes": found.start,
            "file_seek_end_bytes": found.end,
            "size": found.entry.size,
            "content_hash": found.entry.content_hash or "",
        }

    return Tool(
        name="file_read",
        toolset="files",
        title="Read a file",
        description="Read a file as UTF-8 text, whole or a range of bytes. A range that "
        "would cut a character gives the "
        "whole characters inside it; file_seek_start_bytes and file_seek_end_bytes are the "
        "bytes really served.",
        input=FileReadInput,
        output=FileReadOutput,
        handler=read,
        field_codes=FIELD_CODES,
        errors=(*COMMON_ERRORS, NOT_FOUND, IS_DIRECTORY, INVALID_OFFSET, INVALID_ARGUMENT),
    )


class FileListInput(Arguments):
    project: ProjectName
    path: PathName = ""
    depth: int = Field(
        default=1,
        description="0 = the path itself, 1 = its children, more = recursive to that depth.",
    )
    limit: int = Field(
        default=256, description="Most entries to return; has_more tells whether there are more."
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
        description="List files and directories of a project below a path, sorted by path. "
        "Directories exist through "
        "the files below them.",
        input=FileListInput,
        output=FileListOutput,
        handler=listing,
        field_codes=FIELD_CODES,
        errors=(*COMMON_ERRORS, NOT_FOUND, INVALID_ARGUMENT),
    )


def reading_tools(service: Callable[[], FilesService]) -> tuple[Tool, ...]:
    return (file_stat_tool(service), file_read_tool(service), file_list_tool(service))
