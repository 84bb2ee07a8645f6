"""Commands that move memory: export and import."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commonplace.cli.memory.access import (
    project_name,
    run,
    service,
)
from commonplace.cli.printing import JsonFlag, err, out, print_json, say
from commonplace.cli.session import session
from commonplace.kernel.auth import LOCAL_TENANT
from commonplace.kernel.json_types import JsonObject

if TYPE_CHECKING:
    from commonplace.memory.use_cases.transfer import Imported


PROBLEMS_SHOWN = 20


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
        ExportTo | None, typer.Option("--format", "-f", help="Default: by the file name.")
    ] = None,
    project: Annotated[
        str | None,
        typer.Option("--project", "-p", help="Only this project; . for the one around you."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Export entries to an archive with checksums, an Obsidian vault or JSON lines.

    Links and decisions about suggestions come with them.

    Examples:
      commonplace memory export memory.jsonl
      commonplace memory export shop.jsonl --project shop
      commonplace memory export ~/vault --format obsidian
    """
    from commonplace.memory.use_cases.transfer import ExportFormat

    by_name = (
        "jsonl" if path.suffix == ".jsonl" else "archive" if path.suffix == ".zip" else "obsidian"
    )
    done = run(
        service().export_file(
            LOCAL_TENANT,
            path,
            ExportFormat(format_.value if format_ else by_name),
            project=project_name(project) if project else None,
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
        if project is not None and not done.entries:
            say("No entry is of this project: commonplace memory stats lists the projects.")


def import_entries(
    path: Annotated[Path, typer.Argument(help="File or folder.")],
    format_: Annotated[
        ImportFrom | None, typer.Option("--format", "-f", help="Default: detected.")
    ] = None,
    project: Annotated[
        str | None, typer.Option("--project", "-p", help="For records that name no project.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only report.")] = False,
    suggest_too: Annotated[
        bool, typer.Option("--suggest", help="Also suggest links between imported entries.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Import entries from Rekall, server-memory, Basic Memory, mem0 or an export.

    Imports everything or nothing.

    Example:
      commonplace memory import memory.jsonl --dry-run
    """
    from commonplace.memory.use_cases.transfer import ImportFormat, ImportOptions

    chosen = ImportFormat(format_.value) if format_ else None
    memory = service()
    with _stages(quiet=as_json) as progress:

        async def work() -> Imported:
            options = ImportOptions(chosen, project, dry_run, suggest_too, progress)
            return await memory.import_file(LOCAL_TENANT, path, options)

        arguments = {
            "path": str(path),
            "format": chosen.value if chosen else None,
            "project": project,
            "suggest": suggest_too,
        }
        change = partial(session().change, "memory", "memory_import", arguments, work)
        imported = run(work()) if dry_run else change()
    if imported.hidden:
        say(
            f"warning: entries with hidden characters: {imported.hidden}; "
            "commonplace doctor --hidden lists them."
        )
    if as_json:
        print_json(_as_json(imported))
    else:
        _print_import(imported)


def _as_json(imported: Imported) -> JsonObject:
    names = ("read", "entries", "links", "known", "suggestions", "dry_run", "hidden")
    return {
        "format": imported.format.value,
        **{name: getattr(imported, name) for name in names},
        "problems": list(imported.problems),
    }


@contextmanager
def _stages(*, quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Show one progress bar per stage on a terminal."""
    from rich.progress import Progress, TaskID

    with Progress(transient=True, console=err, disable=quiet or not sys.stderr.isatty()) as bar:
        tasks: dict[str, TaskID] = {}

        def progress(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage, total=total)
            bar.update(tasks[stage], completed=done, total=total)

        yield progress


def _print_import(imported: Imported) -> None:
    verb = "would add" if imported.dry_run else "added"
    out.print(
        f"{imported.format}: read {imported.read}, {verb} {imported.entries} entries and "
        f"{imported.links} links, {imported.known} known already",
        markup=False,
    )
    for problem in imported.problems[:PROBLEMS_SHOWN]:
        say(f"left out: {problem}")
    if len(imported.problems) > PROBLEMS_SHOWN:
        say(f"and {len(imported.problems) - PROBLEMS_SHOWN} more problems")
