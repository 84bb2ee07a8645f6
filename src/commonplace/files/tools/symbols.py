"""file_symbols: where a name is defined, who uses it, and what is in a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Tier, Tool
from commonplace.files.errors import INVALID_QUERY, NOT_FOUND
from commonplace.files.navigation import (
    CHARACTERS,
    MAX_CHARACTERS,
    MAX_SYMBOLS,
    PassageNeighbour,
    SymbolQuery,
)
from commonplace.files.service import FilesService
from commonplace.files.symbols import SymbolDefinition, SymbolUse
from commonplace.files.tools.shapes import COMMON_ERRORS, FIELD_CODES, PathPrefix, ProjectName
from commonplace.kernel.errors import INVALID_ARGUMENT


class FileSymbolsInput(Arguments):
    project: ProjectName
    name: str = Field(
        default="",
        description='A name such as "Session" or "Session.send": its definitions and uses.',
    )
    path: str = Field(
        default="",
        description="A file: its outline. With start_line, what stands around those lines.",
    )
    start_line: int = Field(default=0, description="First line of a passage of `path`, from 1.")
    end_line: int = Field(default=0, description="Its last line; without it, start_line.")
    path_prefix: PathPrefix = ""
    uses: bool = Field(default=True, description="Also return where the name is used.")
    limit: int = Field(
        default=20, description=f"Most definitions and files to return, up to {MAX_SYMBOLS}."
    )
    max_characters: int = Field(
        default=CHARACTERS,
        description=f"Most characters of text around a passage, up to {MAX_CHARACTERS}.",
    )


class FileSymbolOutput(TypedDict):
    name: str
    qualified_name: str
    kind: str
    signature: str
    file_path: str
    line: int
    start_line: int
    end_line: int
    file_seek_start_bytes: int
    file_seek_end_bytes: int


class FileSymbolUseOutput(TypedDict):
    file_path: str
    lines: list[int]
    calls: list[int]
    imports: list[int]


class FileImportOutput(TypedDict):
    target: str
    line: int


class FileNeighbourOutput(TypedDict):
    relation: str
    file_path: str
    qualified_name: str
    kind: str
    start_line: int
    end_line: int
    file_seek_start_bytes: int
    file_seek_end_bytes: int
    content: str
    cut: bool


class FileSymbolsOutput(TypedDict):
    symbols: list[FileSymbolOutput]
    uses: list[FileSymbolUseOutput]
    imports: NotRequired[list[FileImportOutput]]
    neighbours: NotRequired[list[FileNeighbourOutput]]
    language: NotRequired[str]
    has_more: bool
    notes: NotRequired[list[str]]


def file_symbols_tool(service: Callable[[], FilesService]) -> Tool:
    async def symbols(ctx: Context, args: FileSymbolsInput) -> FileSymbolsOutput:
        query = SymbolQuery(
            args.name,
            args.path,
            args.start_line,
            args.end_line,
            args.path_prefix,
            args.uses,
            args.limit,
            args.max_characters,
        )
        found = await service().find_symbols(ctx.auth, args.project, query)
        answer: FileSymbolsOutput = {
            "symbols": [_definition(entry) for entry in found.definitions],
            "uses": [_use(use) for use in found.uses],
            "has_more": found.has_more,
        }
        if found.outline is not None:
            answer["language"] = found.outline.language
            answer["imports"] = [
                {"target": imported.target, "line": imported.line}
                for imported in found.outline.imports
            ]
        if args.start_line:
            answer["neighbours"] = [_neighbour(entry) for entry in found.neighbours]
        if found.notes:
            answer["notes"] = list(found.notes)
        return answer

    return Tool(
        name="file_symbols",
        toolset="files",
        title="Find symbols",
        description="Where a name is defined and used in a project's code, the outline of a file "
        "(definitions and imports), or what stands around some lines: the enclosing definition, "
        "what it calls and who calls it. By name, as files were last indexed; lines beside bytes. "
        "Sections of Markdown count as definitions.",
        input=FileSymbolsInput,
        output=FileSymbolsOutput,
        handler=symbols,
        tier=Tier.EXTENDED,
        field_codes=FIELD_CODES,
        errors=(*COMMON_ERRORS, INVALID_QUERY, INVALID_ARGUMENT, NOT_FOUND),
    )


def _definition(entry: SymbolDefinition) -> FileSymbolOutput:
    definition = entry.definition
    return {
        "name": definition.name,
        "qualified_name": definition.qualified,
        "kind": definition.kind,
        "signature": definition.signature,
        "file_path": entry.path,
        "line": definition.line,
        "start_line": definition.start_line,
        "end_line": definition.end_line,
        "file_seek_start_bytes": definition.start,
        "file_seek_end_bytes": definition.end,
    }


def _use(use: SymbolUse) -> FileSymbolUseOutput:
    return {
        "file_path": use.path,
        "lines": list(use.lines),
        "calls": list(use.calls),
        "imports": list(use.imports),
    }


def _neighbour(entry: PassageNeighbour) -> FileNeighbourOutput:
    return {
        "relation": entry.relation,
        "file_path": entry.path,
        "qualified_name": entry.symbol,
        "kind": entry.kind,
        "start_line": entry.start_line,
        "end_line": entry.end_line,
        "file_seek_start_bytes": entry.start,
        "file_seek_end_bytes": entry.end,
        "content": entry.text,
        "cut": entry.cut,
    }
