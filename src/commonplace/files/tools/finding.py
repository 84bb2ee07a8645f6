"""file_search and file_grep: find text in files."""

from __future__ import annotations

from collections.abc import Callable
from typing import NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tier, Tool
from commonplace.files.errors import INVALID_QUERY, SEARCH_BACKEND_ERROR
from commonplace.files.model import FoundChunk
from commonplace.files.service import FilesService
from commonplace.files.tools.shapes import COMMON_ERRORS, FIELD_CODES, PathPrefix, ProjectName
from commonplace.kernel.errors import DEADLINE_EXCEEDED, INVALID_ARGUMENT
from commonplace.kernel.json_types import JsonObject


class FileSearchInput(Arguments):
    project: ProjectName
    query: str = Field(
        description="What to look for, in words. Any text is legal.",
        json_schema_extra={"minLength": 1},
    )
    path_prefix: PathPrefix = ""
    limit: int = Field(default=5, description="Most chunks to return, up to 20.")
    explain: bool = Field(
        default=False,
        description="Add to each chunk why it ranked: score components, matched words, a snippet.",
    )


class FileChunkOutput(TypedDict):
    file_path: str
    file_seek_start_bytes: int
    file_seek_end_bytes: int
    chunk_content: str
    score: float
    source_path: NotRequired[str]
    explain: NotRequired[JsonObject]


class FileSearchOutput(TypedDict):
    chunks: list[FileChunkOutput]
    mode: str
    notes: NotRequired[list[str]]


def file_search_tool(service: Callable[[], FilesService]) -> Tool:
    def chunk_output(chunk: FoundChunk, query: str, explain: bool) -> FileChunkOutput:
        answer: FileChunkOutput = {
            "file_path": chunk.path,
            "file_seek_start_bytes": chunk.start,
            "file_seek_end_bytes": chunk.end,
            "chunk_content": chunk.content,
            "score": round(chunk.score, 6),
        }
        if chunk.chunk.source_path is not None:
            answer["source_path"] = chunk.chunk.source_path
        if explain:
            answer["explain"] = {
                **chunk.explain,
                "snippet": service().snippet(query, chunk.content),
            }
        return answer

    async def search(ctx: Context, args: FileSearchInput) -> FileSearchOutput:
        limit = args.limit if "limit" in args.model_fields_set else None
        found = await service().search(ctx.auth, args.project, args.query, args.path_prefix, limit)
        answer: FileSearchOutput = {
            "chunks": [chunk_output(chunk, args.query, args.explain) for chunk in found.chunks],
            "mode": found.mode,
        }
        if found.notes:
            answer["notes"] = list(found.notes)
        return answer

    return Tool(
        name="file_search",
        toolset="files",
        title="Search files",
        description="Find the parts of a project's files that best answer a query in words. "
        "Each chunk tells its file and byte range "
        "(read more around it with file_read) and a score from 0 to 1. New writes are "
        "searchable within seconds.",
        input=FileSearchInput,
        output=FileSearchOutput,
        handler=search,
        tier=Tier.DEFAULT if service().settings.search.enabled else Tier.EXTENDED,
        field_codes=FIELD_CODES,
        errors=(*COMMON_ERRORS, INVALID_QUERY, INVALID_ARGUMENT, SEARCH_BACKEND_ERROR),
    )


class FileGrepInput(Arguments):
    project: ProjectName
    pattern: str = Field(
        description="RE2 regular expression, matched line by line; or literal text with "
        "literal=true."
    )
    path_prefix: PathPrefix = ""
    literal: bool = Field(default=False, description="Take the pattern as plain text.")
    ignore_case: bool = Field(default=False, description="Do not tell upper from lower case.")
    limit: int = Field(default=100, description="Most matching lines to return, up to 500.")


class FileGrepMatch(TypedDict):
    file_path: str
    line: int
    file_seek_start_bytes: int
    file_seek_end_bytes: int
    text: str


class FileGrepOutput(TypedDict):
    matches: list[FileGrepMatch]
    has_more: bool
    files_searched: int
    notes: NotRequired[list[str]]


def file_grep_tool(service: Callable[[], FilesService]) -> Tool:
    async def grep(ctx: Context, args: FileGrepInput) -> FileGrepOutput:
        found = await service().grep(
            ctx.auth,
            args.project,
            args.pattern,
            args.path_prefix,
            args.literal,
            args.ignore_case,
            args.limit,
            ctx.check_deadline,
        )
        answer: FileGrepOutput = {
            "matches": [
                {
                    "file_path": path,
                    "line": match.line,
                    "file_seek_start_bytes": match.start,
                    "file_seek_end_bytes": match.end,
                    "text": match.text,
                }
                for path, match in found.matches
            ],
            "has_more": found.has_more,
            "files_searched": found.files_searched,
        }
        if found.notes:
            answer["notes"] = list(found.notes)
        return answer

    return Tool(
        name="file_grep",
        toolset="files",
        title="Grep files",
        description="Find lines that match a regular expression (RE2) or a literal text, "
        "exactly and at once (no index involved).",
        input=FileGrepInput,
        output=FileGrepOutput,
        handler=grep,
        tier=Tier.EXTENDED,
        field_codes=FIELD_CODES,
        errors=(*COMMON_ERRORS, INVALID_QUERY, INVALID_ARGUMENT, DEADLINE_EXCEEDED),
    )


def finding_tools(service: Callable[[], FilesService]) -> tuple[Tool, ...]:
    return (file_search_tool(service), file_grep_tool(service))
