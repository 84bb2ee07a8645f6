"""file_browse, file_deleted: page by page through a directory and through what could be
restored.
"""

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
    EntryOut,
    PathName,
    ProjectName,
    entry_out,
    moment,
)

PAGE = 200
MAX_PAGE = 1000


class BrowseIn(Arguments):
    project: ProjectName
    path: PathName = ""
    after: str = Field(default="", max_length=512, description="next of the page before.")
    limit: int = Field(default=PAGE, ge=1, le=MAX_PAGE, description="Most entries of a page.")


class BrowseOut(TypedDict):
    entries: list[EntryOut]
    next: str | None


class DeletedIn(Arguments):
    project: ProjectName
    limit: int = Field(default=PAGE, ge=1, le=MAX_PAGE, description="Most entries of a page.")
    offset: int = Field(default=0, ge=0, le=10_000_000, description="Entries to leave out.")


class DeletedFile(TypedDict):
    path: str
    size: int
    deleted_at: str


class DeletedOut(TypedDict):
    files: list[DeletedFile]
    has_more: bool


def browsing_tools(service: Callable[[], FilesService]) -> tuple[Tool, ...]:
    async def browse(ctx: Context, args: BrowseIn) -> BrowseOut:
        page = await service().browse(ctx.auth, args.project, args.path, args.after, args.limit)
        return {
            "entries": [entry_out(entry) for entry in page.entries],
            "next": page.entries[-1].path if page.has_more else None,
        }

    async def deleted(ctx: Context, args: DeletedIn) -> DeletedOut:
        found = await service().deleted(ctx.auth, args.project, args.limit, args.offset)
        files: list[DeletedFile] = [
            {"path": one.path, "size": one.size, "deleted_at": moment(one.deleted_at)}
            for one in found[: args.limit]
        ]
        return {"files": files, "has_more": len(found) > args.limit}

    return (
        Tool(
            name="file_browse",
            toolset="files",
            title="Browse a directory",
            description="What stands directly in a directory, page by page however large it is; "
            "pass next as after for the following page.",
            input=BrowseIn,
            output=BrowseOut,
            handler=browse,
            tier=Tier.EXTENDED,
            field_codes=FIELD_CODES,
            errors=(*COMMON_ERRORS, NOT_FOUND),
        ),
        Tool(
            name="file_deleted",
            toolset="files",
            title="Deleted files",
            description="Deleted files that file_restore could bring back, newest first.",
            input=DeletedIn,
            output=DeletedOut,
            handler=deleted,
            tier=Tier.EXTENDED,
            field_codes={"project": FIELD_CODES["project"]},
            errors=COMMON_ERRORS,
        ),
    )
