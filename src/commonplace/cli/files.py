"""`commonplace files`: projects of files from the command line.

Thin: each command is a few tool or service calls.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from rich.progress import Progress

from commonplace.cli.printing import JsonFlag, err, out, plain_text, print_json, say, table
from commonplace.cli.session import session
from commonplace.cli.terminal import write_text
from commonplace.files.errors import NOT_FOUND, PAYLOAD_TOO_LARGE
from commonplace.kernel.auth import local_user
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError

if TYPE_CHECKING:
    from commonplace.files.importing import ImportReport
    from commonplace.files.service import FilesService

Result = TypeVar("Result")
SETTLE_SECONDS = 600.0
SERVER_SECONDS = 10.0  # beside a server, which goes on when this command has ended
PAGE_FILES = 100
PAGE_BYTES = 8_000_000

app = typer.Typer(help="Files: projects of text files with search.", no_args_is_help=True)

Project = Annotated[
    str, typer.Option("--project", "-p", help="Project the files belong to.", show_default=True)
]
PathArgument = Annotated[str, typer.Argument(help="Path in the project, such as /notes/a.md.")]
Prefix = Annotated[str, typer.Option("--prefix", help="Only paths that start with this.")]


def _service() -> FilesService:
    service: FilesService = session().app().services["files"]()
    return service


def _run(work: Coroutine[Any, Any, Result]) -> Result:
    return asyncio.run(work)


@contextmanager
def _bar(description: str, total: int | None = None) -> Iterator[Any]:
    """A progress bar on stderr, for people only; `show(done, total)` moves it."""
    with Progress(console=err, transient=True, disable=not err.is_terminal) as progress:
        task = progress.add_task(description, total=total)

        def show(done: int, whole: int | None = None) -> None:
            progress.update(task, completed=done, total=total if whole is None else whole)

        yield show


def _settle() -> bool:
    """Wait until what was written can be found, showing how much is left.

    Beside a server, not long: it goes on indexing.
    """

    async def wait() -> bool:
        with _bar("indexing") as show:
            most = 0

            def progress(waiting: int) -> None:
                nonlocal most
                most = max(most, waiting)
                show(most - waiting, most)

            return await _service().settled(
                local_user(),
                SERVER_SECONDS if session().beside_server() else SETTLE_SECONDS,
                progress,
            )

    settled = _run(wait())
    if not settled:
        who = (
            "the running server goes on indexing"
            if session().beside_server()
            else "commonplace files reindex goes on indexing"
        )
        say(f"The index is not up to date yet; {who}. See: commonplace files status")
    return settled


@contextmanager
def _disk(doing: str) -> Iterator[None]:
    """What the disk refuses, as an error that names the place and the reason."""
    try:
        yield
    except OSError as error:
        code = NOT_FOUND if isinstance(error, FileNotFoundError) else INVALID_ARGUMENT
        reason = error.strerror or type(error).__name__
        raise CommonplaceError(
            code, f"{doing}: {reason}.", hint="Check the path and its permissions."
        ) from error


def _bytes_of(source: Path | None, most: int) -> bytes:
    """A file of the disk, or standard input; never more than one stored file may hold."""
    if source is None:
        data = sys.stdin.buffer.read(most + 1)
    else:
        with _disk(f"Cannot read {source}"), source.open("rb") as file:
            data = file.read(most + 1)
    if len(data) > most:
        raise CommonplaceError(
            PAYLOAD_TOO_LARGE,
            f"{source or 'Standard input'} has more than {most} bytes, the most one file may hold.",
            hint="Split it into several files.",
            details={"limit_bytes": most},
        )
    return data


def _write(arguments: dict[str, Any]) -> dict[str, Any]:
    """Store a text of any size that a file may have."""
    from commonplace.dispatch.transfer import Reply, Stored, run, write_in_parts

    errors: list[CommonplaceError] = []

    def call(tool: str, given: dict[str, Any]) -> Reply:
        try:
            return Stored(session().call(tool, given))
        except CommonplaceError as error:
            errors.append(error)
            return Stored(None, error.as_dict())

    reply = run(write_in_parts(arguments), call)
    if reply.error is not None:
        raise next(error for error in errors if error.as_dict() == reply.error)
    stored: dict[str, Any] = reply.output
    return stored


@app.command()
def put(
    path: PathArgument,
    source: Annotated[
        Path | None, typer.Argument(help="File to store; without it, standard input.")
    ] = None,
    project: Project = "default",
    append: Annotated[
        bool, typer.Option("--append", help="Add at the end instead of replacing.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Store a file.

    Example:
      commonplace files put /notes/today.md today.md
    """
    from commonplace.files.engine.content import ENCODE_ADVICE
    from commonplace.files.engine.folder import text_of

    content = text_of(_bytes_of(source, _service().settings.max_file_bytes))
    if content is None:
        raise CommonplaceError(
            INVALID_ARGUMENT,
            f"{source or 'Standard input'} is binary, or text that is not UTF-8.",
            hint=ENCODE_ADVICE,
        )
    arguments = {
        "project": project,
        "path": path,
        "content": content,
        "mode": "APPEND" if append else "TRUNCATE",
    }
    answer = _write(arguments)
    _settle()
    if as_json:
        print_json(answer)
    else:
        say(f"{path}: {answer['size']} bytes")


@app.command()
def get(
    path: PathArgument,
    project: Project = "default",
    offset: Annotated[int, typer.Option(help="First byte.")] = 0,
    length: Annotated[int, typer.Option(help="Bytes to read; -1 = to the end.")] = -1,
    as_json: JsonFlag = False,
) -> None:
    """Print a file.

    Example:
      commonplace files get /notes/locks.md --project demo > locks.md
    """
    answer = session().call(
        "file_read", {"project": project, "path": path, "offset": offset, "length": length}
    )
    if as_json:
        print_json(answer)
    else:
        write_text(answer["content"])


@app.command()
def ls(
    path: Annotated[str, typer.Argument(help="Directory; without it, the project root.")] = "",
    project: Project = "default",
    depth: Annotated[int, typer.Option(help="Levels below the path.")] = 1,
    limit: Annotated[int, typer.Option(help="Most entries.")] = 256,
    as_json: JsonFlag = False,
) -> None:
    """List files and directories.

    Example:
      commonplace files ls /notes --project demo --depth 3
    """
    answer = session().call(
        "file_list", {"project": project, "path": path, "depth": depth, "limit": limit}
    )
    if as_json:
        print_json(answer)
        return
    entries = answer["entries"]
    named = any("source_path" in entry for entry in entries)
    rows = [
        (
            e["path"] + ("/" if e["type"] == "DIRECTORY" else ""),
            e["size"] or "",
            e["updated_at"],
            *([e.get("source_path", "")] * named),
        )
        for e in entries
    ]
    out.print(table(("path", "bytes", "updated", *(["original name"] * named)), rows))
    _say_what_is_left(answer)


@app.command()
def rm(
    path: PathArgument,
    project: Project = "default",
    recursive: Annotated[
        bool, typer.Option("--recursive", "-r", help="A directory with everything below it.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Delete a file or a directory; `restore` brings it back within the retention.

    Example:
      commonplace files rm /notes --recursive --project demo
    """
    _answer(
        session().call("file_delete", {"project": project, "path": path, "recursive": recursive}),
        as_json,
        "{deleted} deleted",
    )


@app.command()
def mv(
    path: PathArgument,
    new_path: PathArgument,
    project: Project = "default",
    as_json: JsonFlag = False,
) -> None:
    """Rename a file or a directory.

    Example:
      commonplace files mv /notes/locks.md /notes/locking.md --project demo
    """
    _answer(
        session().call("file_rename", {"project": project, "path": path, "new_path": new_path}),
        as_json,
        "{renamed} renamed",
    )
    _settle()


@app.command()
def restore(path: PathArgument, project: Project = "default", as_json: JsonFlag = False) -> None:
    """Bring back a deleted file, or everything deleted below a directory.

    Example:
      commonplace files restore /notes --project demo
    """
    _answer(
        session().call("file_restore", {"project": project, "path": path}),
        as_json,
        "{restored} restored",
    )
    _settle()


@app.command()
def edit(
    path: PathArgument,
    old: Annotated[str, typer.Argument(help="Exact text to replace.")],
    new: Annotated[str, typer.Argument(help="Text to put in its place.")],
    project: Project = "default",
    replace_all: Annotated[bool, typer.Option("--all", help="Every occurrence.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Replace an exact piece of text that occurs once.

    Example:
      commonplace files edit /notes/locks.md "30 seconds" "60 seconds" --project demo
    """
    arguments = {
        "project": project,
        "path": path,
        "old_text": old,
        "new_text": new,
        "replace_all": replace_all,
    }
    _answer(session().call("file_edit", arguments), as_json, "{replacements} replaced")
    _settle()


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="What to look for, in words.")],
    project: Project = "default",
    prefix: Prefix = "",
    limit: Annotated[int, typer.Option(help="Most chunks, up to 20.")] = 5,
    explain: Annotated[bool, typer.Option("--explain", help="Say why each chunk ranked.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Find the parts of files that answer a query.

    Example:
      commonplace files search "who holds the lock" --project demo --explain
    """
    _service()
    _settle()
    arguments = {
        "project": project,
        "query": query,
        "path_prefix": prefix,
        "limit": limit,
        "explain": True,
    }
    answer = session().call("file_search", arguments)
    if as_json:
        print_json(answer)
        return
    for chunk in answer["chunks"]:
        place = (
            f"{chunk['file_path']}#{chunk['file_seek_start_bytes']}-{chunk['file_seek_end_bytes']}"
        )
        original = f"  ({chunk['source_path']})" if "source_path" in chunk else ""
        out.print(
            plain_text(f"{chunk['score']:.3f}  ", style="dim")
            + plain_text(place, style="bold")
            + plain_text(original)
        )
        out.print(plain_text(f"       {chunk['explain']['snippet']}"))
        if explain:
            shown = {key: value for key, value in chunk["explain"].items() if key != "snippet"}
            out.print(plain_text(f"       {shown}", style="dim"))
    if not answer["chunks"]:
        say("nothing found")
    for note in answer.get("notes", ()):
        say(f"note: {note}")


@app.command()
def grep(
    pattern: Annotated[str, typer.Argument(help="RE2 pattern, or text with --literal.")],
    project: Project = "default",
    prefix: Prefix = "",
    literal: Annotated[bool, typer.Option("--literal", "-F", help="Plain text.")] = False,
    ignore_case: Annotated[
        bool, typer.Option("--ignore-case", "-i", help="Upper and lower case alike.")
    ] = False,
    limit: Annotated[int, typer.Option(help="Most lines, up to 500.")] = 100,
    as_json: JsonFlag = False,
) -> None:
    """Find lines that match; exit code 1 when there is none.

    Example:
      commonplace files grep "TODO|FIXME" --project demo --prefix /src/
    """
    arguments = {"project": project, "pattern": pattern, "path_prefix": prefix, "literal": literal}
    answer = session().call("file_grep", {**arguments, "ignore_case": ignore_case, "limit": limit})
    if as_json:
        print_json(answer)
    else:
        for match in answer["matches"]:
            out.print(
                plain_text(f"{match['file_path']}:{match['line']}:{match['text']}"), soft_wrap=True
            )
        _say_what_is_left(answer)
    if not answer["matches"]:
        raise typer.Exit(1)


@app.command("import")
def import_folder(
    folder: Annotated[
        Path, typer.Argument(help="Folder to take in.", exists=True, file_okay=False)
    ],
    project: Project = "default",
    to: Annotated[str, typer.Option("--to", help="Directory in the project to put them in.")] = "",
    no_gitignore: Annotated[
        bool, typer.Option("--no-gitignore", help="Take in ignored files too.")
    ] = False,
    delete: Annotated[
        bool,
        typer.Option(
            "--delete", help="Delete what an earlier import stored and the folder no longer has."
        ),
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Store a folder's text files.

    Honours .gitignore; says what it skipped and which names it had to spell otherwise.

    Examples:
      commonplace files import ./docs --project handbook
      commonplace files import ./docs --project handbook --delete
    """
    from dataclasses import asdict

    from commonplace.files.engine.folder import scan
    from commonplace.files.importing import FolderImport

    with _disk(f"Cannot read {folder}"):
        found = scan(folder, use_gitignore=not no_gitignore)
    under = "".join(f"/{segment}" for segment in to.split("/") if segment)
    work = FolderImport(_service(), local_user(), project, folder, under)
    with _bar("importing", len(found.files)) as show:
        report = _run(work.run(found, delete=delete, progress=show))
    settled = _settle()
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


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(help="Folder to write to; made if missing.")],
    project: Project = "default",
    prefix: Prefix = "",
    as_json: JsonFlag = False,
) -> None:
    """Write a project's files into a folder, under their original names.

    Files that are there are replaced, others are left alone.

    Example:
      commonplace files export ./copy --project demo
    """

    from commonplace.files.engine.naming import export_target

    taken: set[Path] = set()

    async def copy() -> int:
        written, after = 0, ""
        usage = await _service().usage(local_user(), project)
        with _bar("exporting", usage.files) as show:
            while page := await _service().page(
                local_user(), project, prefix, after, PAGE_FILES, PAGE_BYTES
            ):
                for file in page:
                    target = export_target(folder, file.entry, taken)
                    with _disk(f"Cannot write {target}"):
                        target.parent.mkdir(parents=True, exist_ok=True)
                        target.write_bytes(file.content)
                written += len(page)
                show(written)
                after = page[-1].entry.path
        return written

    _answer(
        {"exported": _run(copy()), "folder": str(folder)}, as_json, "{exported} written to {folder}"
    )


@app.command()
def reindex(
    project: Annotated[
        str | None, typer.Option("--project", "-p", help="One project; without it, all.")
    ] = None,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Forget the index first and build it anew.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Bring the search index up to date with the files.

    Example:
      commonplace files reindex --project demo --rebuild
    """
    queued = _run(_service().reindex(local_user(), project, rebuild=rebuild))
    settled = _settle()
    _answer(
        {"queued": queued, "up_to_date": settled},
        as_json,
        "{queued} files indexed" if settled else "{queued} files queued",
    )


@app.command()
def projects(as_json: JsonFlag = False) -> None:
    """List projects with their files and bytes."""
    answer = session().call("file_projects", {})
    if as_json:
        print_json(answer)
    else:
        out.print(
            table(
                ("project", "files", "bytes"),
                [(p["project"], p["files"], p["size_bytes"]) for p in answer["projects"]],
            )
        )


@app.command()
def status(
    project: Annotated[str | None, typer.Option("--project", "-p", help="One project.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """How far the search index is behind; exit code 1 when jobs were given up."""
    answer = session().call("file_index_status", {} if project is None else {"project": project})
    if as_json:
        print_json(answer)
    else:
        out.print(
            table(
                ("what", "value"),
                [(key, value) for key, value in answer.items() if key != "dead_letters"],
            )
        )
        for letter in answer["dead_letters"]:
            say(f"given up: {letter['file_path']}: {letter['error']}")
    if answer["dead"]:
        raise typer.Exit(1)


def _say_what_is_left(answer: dict[str, Any]) -> None:
    for note in answer.get("notes", ()):  # a limit that was lowered
        say(f"note: {note}")
    if answer["has_more"]:
        say("there is more: raise --limit" if "notes" not in answer else "there is more")


def _answer(answer: dict[str, Any], as_json: bool, line: str) -> None:
    if as_json:
        print_json(answer)
    else:
        say(line.format(**answer))
