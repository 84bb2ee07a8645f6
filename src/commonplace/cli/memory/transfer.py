"""Commands that move memory: export and import."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commonplace.cli.memory.common import (
    run,
    service,
)
from commonplace.cli.printing import JsonFlag, err, out, print_json, say
from commonplace.cli.session import session
from commonplace.kernel.auth import LOCAL_TENANT
from commonplace.kernel.json_types import JsonObject

if TYPE_CHECKING:
    pass


class ImportFrom(StrEnum):
    REKALL_ARCHIVE = "rekall-archive"
    REKALL_DATABASE = "rekall-database"
    SERVER_MEMORY = "server-memory"
    BASIC_MEMORY = "basic-memory"
    MEM0 = "mem0"
    JSONL = "jsonl"


class ExportTo(StrEnum):
    ARCHIVE = "archive"
    OBSIDIAN = "obsidian"
    JSONL = "jsonl"


def export_entries(
    path: Annotated[Path, typer.Argument(help="File, or folder for obsidian.")],
    format_: Annotated[
        ExportTo | None, typer.Option("--format", "-f", help="Default: by the name.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Write everything to an archive with checksums, an Obsidian vault, or JSON lines.

    Examples:
      commonplace memory export memory.jsonl
      commonplace memory export ~/vault --format obsidian
    """
    from commonplace.memory.use_cases.transfer import ExportFormat, export_from

    by_name = (
        "jsonl" if path.suffix == ".jsonl" else "archive" if path.suffix == ".zip" else "obsidian"
    )
    done = run(
        export_from(
            service(),
            LOCAL_TENANT,
            path,
            ExportFormat(format_.value if format_ else by_name),
            force=force,
        )
    )
    if as_json:
        print_json(
            {
                "path": str(done.path),
                "format": done.format.value,
                "entries": done.entries,
                "links": done.links,
            }
        )
    else:
        out.print(
            f"wrote {done.entries} entries and {done.links} links to {done.path} ({done.format})",
            markup=False,
        )


def import_entries(
    path: Annotated[Path, typer.Argument(help="File or folder.")],
    format_: Annotated[
        ImportFrom | None, typer.Option("--format", "-f", help="Default: seen in the file.")
    ] = None,
    project: Annotated[
        str | None, typer.Option("--project", "-p", help="For records that name no project.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would happen.")] = False,
    suggest_too: Annotated[
        bool, typer.Option("--suggest", help="Also look for links among what comes in.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Bring entries in: Rekall (archive, database), server-memory, Basic Memory, mem0, or our
    own export.

    All of it or nothing.

    Example:
      commonplace memory import memory.jsonl --dry-run
    """
    from rich.progress import Progress

    from commonplace.memory.use_cases.transfer import Imported, ImportFormat, import_into

    chosen = ImportFormat(format_.value) if format_ else None
    with Progress(transient=True, console=err, disable=as_json or not sys.stderr.isatty()) as bar:
        tasks: JsonObject = {}

        def progress(stage: str, done: int, total: int) -> None:
            task = tasks.get(stage)
            if task is None:
                task = tasks[stage] = bar.add_task(stage, total=total)
            bar.update(task, completed=done, total=total)

        memory = service()

        async def work() -> Imported:
            return await import_into(
                memory,
                LOCAL_TENANT,
                path,
                format_=chosen,
                project=project,
                dry_run=dry_run,
                suggest=suggest_too,
                progress=progress,
            )

        asked = {
            "path": str(path),
            "format": chosen.value if chosen else None,
            "project": project,
            "suggest": suggest_too,
        }
        done = run(work()) if dry_run else session().change("memory", "memory_import", asked, work)
    if done.hidden:
        say(
            f"warning: {done.hidden} entries hold hidden characters; commonplace doctor --hidden "
            f"lists what is stored."
        )
    if as_json:
        names = ("read", "entries", "links", "known", "suggestions", "dry_run", "hidden")
        print_json(
            {
                "format": done.format.value,
                **{name: getattr(done, name) for name in names},
                "problems": list(done.problems),
            }
        )
        return
    verb = "would add" if dry_run else "added"
    out.print(
        f"{done.format}: read {done.read}, {verb} {done.entries} entries and {done.links} links, "
        f"{done.known} known already",
        markup=False,
    )
    for problem in done.problems[:20]:
        say(f"left out: {problem}")
    if len(done.problems) > 20:
        say(f"and {len(done.problems) - 20} more problems")
