"""file_search and file_grep: find text in files."""

from __future__ import annotations

from collections.abc import Callable
from typing import NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tier, Tool
from commonplace.files.errors import INVALID_QUERY, SEARCH_BACKEND_ERROR
from commonplace.files.grepping import MOST_CONTEXT, MOST_MATCHES, GrepQuery
from commonplace.files.model import FilePath, FoundChunk, LineMatch
from commonplace.files.service import FilesService
from commonplace.files.tools.shapes import COMMON_ERRORS, FIELD_CODES, PathPrefix, ProjectName
from commonplace.kernel.errors import DEADLINE_EXCEEDED, INVALID_ARGUMENT
from commonplace.kernel.json_types import JsonObject


class FileSearchInput(Arguments):
    project: ProjectName
    query: str = Field(
        description="Words, a question or code.",
        json_schema_extra={"minLength": 1},
    )
    path_prefix: PathPrefix = ""
    limit: int = Field(default=5, description="At most 20.")
    explain: bool = Field(
        default=False,
        description="Why each ranked. Score components, matched words, a snippet.",
    )


class FileChunkOutput(TypedDict):
    file_path: str
    file_seek_start_bytes: int
    file_seek_end_bytes: int
    start_line: int
    end_line: int
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
            "start_line": chunk.lines[0],
            "end_line": chunk.lines[1],
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
        description="Find the passages of a project's files that best answer a query, with their "
        "lines. New writes are found within seconds.",
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
        description="RE2 expression, matched line by line. Literal text with literal=true."
    )
    path_prefix: PathPrefix = ""
    globs: list[str] = Field(
        default_factory=list,
        description="Such as *.py, src/**/*.ts, !tests/**. Without a slash: the name of a file in "
        "any folder; with one: the whole path; ! excludes.",
    )
    literal: bool = Field(default=False, description="Take the pattern as plain text.")
    ignore_case: bool = False
    context: int = Field(
        default=0, description=f"Lines around each match. At most {MOST_CONTEXT}, each shown once."
    )
    limit: int = Field(default=100, description=f"Matching lines. At most {MOST_MATCHES}.")


class FileGrepMatch(TypedDict):
    file_path: str
    line: int
    start_line: int
    end_line: int
    file_seek_start_bytes: int
    file_seek_end_bytes: int
    text: str
    before: NotRequired[list[str]]
    after: NotRequired[list[str]]


class FileGrepOutput(TypedDict):
    matches: list[FileGrepMatch]
    has_more: bool
    files_searched: int
    notes: NotRequired[list[str]]


def file_grep_tool(service: Callable[[], FilesService]) -> Tool:
    async def grep(ctx: Context, args: FileGrepInput) -> FileGrepOutput:
        query = GrepQuery(
            args.pattern,
            args.path_prefix,
            args.literal,
            args.ignore_case,
            args.limit,
            args.context,
            tuple(args.globs),
        )
        found = await service().grep(ctx.auth, args.project, query, ctx.check_deadline)
        answer: FileGrepOutput = {
            "matches": [_grep_match(path, match) for path, match in found.matches],
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
        description="Find lines that match a regular expression (RE2) or a literal text, exactly "
        "and at once (no index involved), with the lines around them.",
        input=FileGrepInput,
        output=FileGrepOutput,
        handler=grep,
        tier=Tier.EXTENDED,
        field_codes=FIELD_CODES,
        errors=(*COMMON_ERRORS, INVALID_QUERY, INVALID_ARGUMENT, DEADLINE_EXCEEDED),
        large=True,
    )


def _grep_match(path: FilePath, match: LineMatch) -> FileGrepMatch:
    shown: FileGrepMatch = {
        "file_path": path,
        "line": match.line,
        "start_line": match.line,
        "end_line": match.line,
        "file_seek_start_bytes": match.start,
        "file_seek_end_bytes": match.end,
        "text": match.text,
    }
    if match.before:
        shown["before"] = list(match.before)
    if match.after:
        shown["after"] = list(match.after)
    return shown


def finding_tools(service: Callable[[], FilesService]) -> tuple[Tool, ...]:
    return (file_search_tool(service), file_grep_tool(service))
