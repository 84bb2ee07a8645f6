"""file_projects, file_usage, file_index_status: quotas and the state of the index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from commonplace.dispatch.tool import Arguments, Context, Nothing, Tier, Tool
from commonplace.files.model import ProjectUsage
from commonplace.files.service import FilesService
from commonplace.files.tools.shapes import COMMON_ERRORS, FIELD_CODES, ProjectName, moment
from commonplace.search.code.languages import missing_grammars


class FileProjectOutput(TypedDict):
    project: str
    files: int
    size_bytes: int


class FileProjectsOutput(TypedDict):
    projects: list[FileProjectOutput]


def file_projects_tool(service: Callable[[], FilesService]) -> Tool:
    async def usage(ctx: Context, args: FileUsageInput) -> FileUsageOutput:
        used, settings = await service().usage(ctx.auth, args.project), service().settings
        return {
            "project": used.project,
            "files": used.files,
            "size_bytes": used.size_bytes,
            "limit_bytes": settings.max_project_bytes,
            "free_bytes": max(0, settings.max_project_bytes - used.size_bytes),
            "max_file_bytes": settings.max_file_bytes,
            "max_payload_bytes": settings.max_payload_bytes,
            "deleted_files": used.deleted_files,
            "deleted_bytes": used.deleted_bytes,
            "retention_days": settings.delete_retention_days,
        }

    def project_out(usage: ProjectUsage) -> FileProjectOutput:
        return {"project": usage.project, "files": usage.files, "size_bytes": usage.size_bytes}

    async def projects(ctx: Context, args: Nothing) -> FileProjectsOutput:
        return {"projects": [project_out(usage) for usage in await service().projects(ctx.auth)]}

    return Tool(
        name="file_projects",
        toolset="files",
        title="List projects",
        description="List the caller's projects that hold files, with the number of files "
        "and bytes.",
        input=Nothing,
        output=FileProjectsOutput,
        handler=projects,
        tier=Tier.EXTENDED,
    )


class FileUsageInput(Arguments):
    project: ProjectName


class FileUsageOutput(TypedDict):
    project: str
    files: int
    size_bytes: int
    limit_bytes: int
    free_bytes: int
    max_file_bytes: int
    max_payload_bytes: int
    deleted_files: int
    deleted_bytes: int
    retention_days: int


def file_usage_tool(service: Callable[[], FilesService]) -> Tool:
    async def usage(ctx: Context, args: FileUsageInput) -> FileUsageOutput:
        used, settings = await service().usage(ctx.auth, args.project), service().settings
        return {
            "project": used.project,
            "files": used.files,
            "size_bytes": used.size_bytes,
            "limit_bytes": settings.max_project_bytes,
            "free_bytes": max(0, settings.max_project_bytes - used.size_bytes),
            "max_file_bytes": settings.max_file_bytes,
            "max_payload_bytes": settings.max_payload_bytes,
            "deleted_files": used.deleted_files,
            "deleted_bytes": used.deleted_bytes,
            "retention_days": settings.delete_retention_days,
        }

    return Tool(
        name="file_usage",
        toolset="files",
        title="Project usage",
        description="How much of its quota a project uses, what one file and one request may "
        "hold, and what could be restored.",
        input=FileUsageInput,
        output=FileUsageOutput,
        handler=usage,
        tier=Tier.EXTENDED,
        field_codes=FIELD_CODES,
        errors=COMMON_ERRORS,
    )


class FileIndexStatusInput(Arguments):
    project: Annotated[
        str | None, Field(description="One project; without it, all of the caller's.")
    ] = None


class IndexDeadLetter(TypedDict):
    file_path: str
    error: str


class FileIndexStatusOutput(TypedDict):
    chunks: int
    indexed_files: int
    pending: int
    processing: int
    dead: int
    embedding: int
    waiting_credential: int
    waiting_reasons: list[str]
    outdated: int
    symbols: int
    operations: int
    skipped_descriptions: list[IndexDeadLetter]
    missing_grammars: list[str]
    up_to_date: bool
    oldest_queued_at: str | None
    dead_letters: list[IndexDeadLetter]


def file_index_status_tool(service: Callable[[], FilesService]) -> Tool:
    async def index_status(ctx: Context, args: FileIndexStatusInput) -> FileIndexStatusOutput:
        state = await service().index_state(ctx.auth, args.project)
        return {
            "chunks": state.chunks,
            "indexed_files": state.indexed_files,
            "pending": state.pending,
            "processing": state.processing,
            "dead": state.dead,
            "embedding": state.embedding,
            "waiting_credential": state.waiting_credential,
            "waiting_reasons": list(state.waiting_reasons),
            "outdated": state.outdated,
            "symbols": state.definitions,
            "operations": state.extracts,
            "skipped_descriptions": [
                {"file_path": path, "error": note} for path, note in state.extract_notes
            ],
            "missing_grammars": list(missing_grammars()),
            "up_to_date": state.up_to_date,
            "oldest_queued_at": None if state.oldest_at is None else moment(state.oldest_at),
            "dead_letters": [
                {"file_path": path, "error": error} for path, error in state.dead_paths
            ],
        }

    return Tool(
        name="file_index_status",
        toolset="files",
        title="Index status",
        description="How far the search index is behind the files: jobs waiting, running and "
        "given up, and the newest errors. With "
        "search by meaning: files whose vectors are missing, and those that wait "
        "for a model key, with the reasons. `outdated` files were indexed by an older version; "
        "they are searchable, and indexed again in the background. `symbols` counts the "
        "definitions in the symbol index, `operations` those of API descriptions among the files; "
        "`skipped_descriptions` could not be read, whole or in part. Code in a language of "
        "`missing_grammars` is indexed as plain text.",
        input=FileIndexStatusInput,
        output=FileIndexStatusOutput,
        handler=index_status,
        tier=Tier.EXTENDED,
        field_codes=FIELD_CODES,
        errors=COMMON_ERRORS,
    )


def status_tools(service: Callable[[], FilesService]) -> tuple[Tool, ...]:
    return (file_projects_tool(service), file_usage_tool(service), file_index_status_tool(service))
