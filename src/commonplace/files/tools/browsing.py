"""file_browse, file_deleted: pages of a directory and of deleted files."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tier, Tool
from commonplace.files.errors import NOT_FOUND
from commonplace.files.service import FilesService
from commonplace.files.tools.shapes import (
    COMMON_ERRORS,
    FIELD_CODES,
    FileEntryOutput,
    PathName,
    ProjectName,
    entry_out,
    moment,
)

PAGE = 200
MAX_PAGE = 1000


class FileBrowseInput(Arguments):
    project: ProjectName
    path: PathName = ""
    after: str = Field(default="", max_length=512, description="next of the page before.")
    limit: int = Field(default=PAGE, ge=1, le=MAX_PAGE, description="Most entries of a page.")


class FileBrowseOutput(TypedDict):
    entries: list[FileEntryOutput]
    next: str | None


def file_browse_tool(service: Callable[[], FilesService]) -> Tool:
    async def browse(ctx: Context, args: FileBrowseInput) -> FileBrowseOutput:
        page = await service().browse(ctx.auth, args.project, args.path, args.after, args.limit)
        return {
            "entries": [entry_out(entry) for entry in page.items],
            "next": page.items[-1].path if page.has_more else None,
        }

    return Tool(
        name="file_browse",
        toolset="files",
        title="Browse a directory",
        description="The entries directly in a directory, page by page however large it is; "
        "pass next as after for the following page.",
        input=FileBrowseInput,
        output=FileBrowseOutput,
        handler=browse,
        tier=Tier.EXTENDED,
        field_codes=FIELD_CODES,
        errors=(*COMMON_ERRORS, NOT_FOUND),
    )


class FileDeletedInput(Arguments):
    project: ProjectName
    limit: int = Field(default=PAGE, ge=1, le=MAX_PAGE, description="Most entries of a page.")
    offset: int = Field(default=0, ge=0, le=10_000_000, description="Entries to skip.")


class DeletedFileOutput(TypedDict):
    path: str
    size: int
    deleted_at: str


class FileDeletedOutput(TypedDict):
    files: list[DeletedFileOutput]
    has_more: bool


def file_deleted_tool(service: Callable[[], FilesService]) -> Tool:
    async def list_deleted(ctx: Context, args: FileDeletedInput) -> FileDeletedOutput:
        page = await service().list_deleted(ctx.auth, args.project, args.limit, args.offset)
        files: list[DeletedFileOutput] = [
            {"path": file.path, "size": file.size, "deleted_at": moment(file.deleted_at)}
            for file in page.items
        ]
        return {"files": files, "has_more": page.has_more}

    return Tool(
        name="file_deleted",
        toolset="files",
        title="Deleted files",
        description="Deleted files that file_restore could bring back, newest first.",
        input=FileDeletedInput,
        output=FileDeletedOutput,
        handler=list_deleted,
        tier=Tier.EXTENDED,
        field_codes={"project": FIELD_CODES["project"]},
        errors=COMMON_ERRORS,
    )


def browsing_tools(service: Callable[[], FilesService]) -> tuple[Tool, ...]:
    return (file_browse_tool(service), file_deleted_tool(service))
