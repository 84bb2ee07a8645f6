"""Commands that copy between a folder and a project: import and export."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commonplace.cli.files.access import (
    Prefix,
    Project,
    disk_errors,
    print_answer,
    progress_bar,
    run,
    service,
    wait_for_index,
)
from commonplace.cli.printing import JsonFlag, out, print_json, say, table
from commonplace.kernel.auth import local_user

if TYPE_CHECKING:
    from commonplace.files.folders.importing import ImportReport


PAGE_FILES = 100


PAGE_BYTES = 8_000_000


def import_folder(
    folder: Annotated[Path, typer.Argument(help="Folder to import.", exists=True, file_okay=False)],
    project: Project = "default",
    to: Annotated[str, typer.Option("--to", help="Target directory in the project.")] = "",
    no_gitignore: Annotated[
        bool, typer.Option("--no-gitignore", help="Import ignored files too.")
    ] = False,
    delete: Annotated[
        bool,
        typer.Option(
            "--delete", help="Delete files of an earlier import that are no longer in the folder."
        ),
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Import the text files of a folder.

    Honours .gitignore, and reports skipped files and changed names.

    Examples:
      commonplace files import ./docs --project handbook
      commonplace files import ./docs --project handbook --delete
    """
    from dataclasses import asdict

    from commonplace.files.engine.folder import scan
    from commonplace.files.folders.importing import FolderImport

    with disk_errors(f"Cannot read {folder}"):
        found = scan(folder, use_gitignore=not no_gitignore)
    under = "".join(f"/{segment}" for segment in to.split("/") if segment)
    work = FolderImport(service(), local_user(), project, folder, under)
    with progress_bar("importing", len(found.files)) as show:
        report = run(work.run(found, delete=delete, progress=show))
    settled = wait_for_index()
    for warning in report.warnings:
        say(f"warning: {warning}")
    if as_json:
        print_json({**asdict(report), "indexed": settled})
    else:
        _print_import(report, folder, delete)


def _print_import(report: ImportReport, folder: Path, delete: bool) -> None:
    counts = f"{report.stored} stored, {report.unchanged} unchanged, {len(report.skipped)} skipped"
    ignored = f", {report.ignored} left out by .gitignore" if report.ignored else ""
    out.print(counts + ignored + (f", {report.deleted} deleted" if delete else ""))
    if report.renamed:
        out.print(
            table(
                ("name in the folder", "stored as"),
                [(file.source_path, file.path) for file in report.renamed],
            )
        )
    if report.skipped:
        out.print(table(("skipped", "why"), [(file.path, file.reason) for file in report.skipped]))
    if report.missing:
        out.print(
            table(
                ("deleted" if delete else f"no longer in {folder}",),
                [(path,) for path in report.missing],
            )
        )
        if not delete:
            say(
                f"{len(report.missing)} files of an earlier import are no longer in {folder}; "
                f"--delete deletes them from the project."
            )


def export(
    folder: Annotated[Path, typer.Argument(help="Folder to write to; created if missing.")],
    project: Project = "default",
    prefix: Prefix = "",
    as_json: JsonFlag = False,
) -> None:
    """Write a project's files into a folder, under their original names.

    Replaces existing files of the same name and keeps others.

    Example:
      commonplace files export ./copy --project demo
    """

    from commonplace.files.engine.naming import export_target

    taken: set[Path] = set()

    async def copy() -> int:
        written, after = 0, ""
        usage = await service().usage(local_user(), project)
        with progress_bar("exporting", usage.files) as show:
            while page := await service().page(
                local_user(), project, prefix, after, PAGE_FILES, PAGE_BYTES
            ):
                for file in page:
                    target = export_target(folder, file.entry, taken)
                    with disk_errors(f"Cannot write {target}"):
                        target.parent.mkdir(parents=True, exist_ok=True)
                        target.write_bytes(file.content)
                written += len(page)
                show(written)
                after = page[-1].entry.path
        return written

    print_answer(
        {"exported": run(copy()), "folder": str(folder)}, as_json, "{exported} written to {folder}"
    )
