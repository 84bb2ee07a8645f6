"""`commonplace files sync`: keep a project in step with a folder."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commonplace.cli.files.access import (
    SERVER_SECONDS,
    Project,
    disk_errors,
    index_progress,
    progress_bar,
    service,
    wait_for_index,
)
from commonplace.cli.printing import JsonFlag, out, print_json, say, table
from commonplace.kernel.auth import local_user
from commonplace.kernel.errors import CommonplaceError

if TYPE_CHECKING:
    from commonplace.cli.files.remote_project import RemoteProject
    from commonplace.files.folders.syncing import FolderSync, SyncOptions, SyncReport

DEBOUNCE_MS = 1_500  # from the first change of a burst
STEP_MS = 300  # without a change: the burst has ended
QUIET_MS = 500
COMPARE_EVERY = 120  # quiet periods: events can get lost
RETRY_EVERY = 10  # quiet periods after a failure
LISTED = 20  # changes that are listed after a sync; a dry run lists more
LISTED_DRY = 1_000
SourceName = Annotated[
    str | None,
    typer.Option("--name", help="Name of the source, if its folder changes (checkouts of a CI)."),
]
AllowEmpty = Annotated[
    bool,
    typer.Option(
        "--allow-empty", help="Delete everything it brought if the folder is empty or missing."
    ),
]
ServerUrl = Annotated[
    str | None, typer.Option("--server", help="Server elsewhere that has the project, by its URL.")
]
ServerKey = Annotated[
    str | None,
    typer.Option("--key", envvar="COMMONPLACE_KEY", help="Key of that server, with write."),
]


def sync(
    folder: Annotated[Path, typer.Argument(help="Folder, for example a git checkout.")],
    project: Project = "default",
    watch: Annotated[
        bool, typer.Option("--watch", help="Follow changes until stopped (Ctrl-C, SIGTERM).")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be done.")
    ] = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Let the folder win conflicts; `files restore` brings the other back."
        ),
    ] = False,
    take_over: Annotated[
        bool,
        typer.Option(
            "--take-over",
            help="Continue the sync of another folder, whose files become this one's.",
        ),
    ] = False,
    name: SourceName = None,
    allow_empty: AllowEmpty = False,
    server: ServerUrl = None,
    key: ServerKey = None,
    as_json: JsonFlag = False,
) -> None:
    """Bring additions, changes, renames and deletions of a folder to a project.

    In a git checkout, tracked files and untracked ones that are not ignored; elsewhere, all that
    .gitignore does not exclude. Deletes only what an earlier sync of the folder brought. A file
    that changed in the project is a conflict: it is reported and stays. Exit code 1 if there are
    conflicts.

    Examples:
      commonplace files sync . --project shop
      commonplace files sync . --project shop --watch
      commonplace files sync . --project shop --dry-run
      commonplace files sync . --project shop --server https://commonplace.example --key cp_...
    """
    from commonplace.files.folders.syncing import FolderSync, LocalProject, SyncOptions

    options = SyncOptions(force, take_over, allow_empty, dry_run)
    remote = _remote_project(server, key, project) if server is not None else None
    target = remote or LocalProject(service(), local_user(), project)
    # one event loop for all runs: connections to a server belong to it
    with asyncio.Runner() as runner:
        work = _Work(FolderSync(target, folder, name), folder, options, runner)
        if watch and not dry_run:
            _watch(work, as_json)
            return
        report = work.synchronise()
        settled = None if dry_run else _settle(runner, remote)
    _print(report, as_json, settled=settled, dry_run=dry_run)
    if report.conflicts:
        raise typer.Exit(1)


def _remote_project(server: str, key: str | None, project: str) -> RemoteProject:
    from commonplace.cli.files.remote_project import RemoteProject
    from commonplace.console.caller import Remote

    remote = Remote(server, key, "commonplace-files-sync")
    remote.check()
    return RemoteProject(remote, project, lambda reason: say(f"warning: {reason}"))


def _settle(runner: asyncio.Runner, remote: RemoteProject | None) -> bool:
    if remote is None:
        return wait_for_index()
    with index_progress() as show:
        settled = runner.run(remote.wait_until_indexed(SERVER_SECONDS, show))
    if not settled:
        say("The index is not up to date yet; the server goes on indexing.")
    return settled


@dataclass(frozen=True, slots=True)
class _Work:
    """A sync that is run as often as the folder changes."""

    sync: FolderSync
    folder: Path
    options: SyncOptions
    runner: asyncio.Runner

    def synchronise(self) -> SyncReport:
        with disk_errors(f"Cannot read {self.folder}"), progress_bar("syncing") as show:
            return self.runner.run(self.sync.run(self.options, show))


def _watch(work: _Work, as_json: bool) -> None:
    """Synchronise once the watcher listens, and after every burst of changes."""
    from watchfiles import watch

    if not work.folder.is_dir():
        work.synchronise()  # says why it refuses
    last: SyncReport | None = None
    with _interrupted_by_sigterm():
        quiet, pause = 0, COMPARE_EVERY
        for changes in watch(
            work.folder,
            watch_filter=_concerns_files,
            debounce=DEBOUNCE_MS,
            step=STEP_MS,
            rust_timeout=QUIET_MS,
            yield_on_timeout=True,
            raise_interrupt=True,
        ):
            quiet = 0 if changes else quiet + 1
            if last is None or changes or quiet % pause == 0:
                report = _follow(work, last, as_json)
                pause = COMPARE_EVERY if report is not None else RETRY_EVERY
                last = report or last


def _follow(work: _Work, last: SyncReport | None, as_json: bool) -> SyncReport | None:
    """Synchronise and print what is new.

    Errors that may pass are printed, except at the start; the result is None then.
    """
    try:
        report = work.synchronise()
    except CommonplaceError as error:
        if last is None:
            raise
        say(f"warning: {error.message}")
        return None
    if last is None or report.changes or report.conflicts != last.conflicts:
        _print(report, as_json, settled=None, dry_run=False)
    if last is None:
        say(f"Watching {work.folder}; Ctrl-C stops.")
    return report


def _concerns_files(change: object, path: str) -> bool:
    """Pass over the inside of .git, except the index: it says which files are tracked."""
    parts = Path(path).parts
    if ".git" in parts:
        return parts[-2:] == (".git", "index")
    return not {".hg", ".svn"} & set(parts)


@contextmanager
def _interrupted_by_sigterm() -> Iterator[None]:
    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    except KeyboardInterrupt:
        pass  # every batch is complete
    finally:
        signal.signal(signal.SIGTERM, before)


def _print(report: SyncReport, as_json: bool, *, settled: bool | None, dry_run: bool) -> None:
    if report.hidden:
        say(
            f"warning: files with hidden characters: {len(report.hidden)}, the first is "
            f"{report.hidden[0]}; commonplace doctor --hidden lists them."
        )
    if as_json:
        answer = {**asdict(report), "dry_run": dry_run}
        answer |= {name: report.count(name) for name in ("added", "changed", "moved", "deleted")}
        print_json(answer if settled is None else {**answer, "indexed": settled})
        return
    counts = ", ".join(
        f"{report.count(name)} {name}" for name in ("added", "changed", "moved", "deleted")
    )
    ignored = f", {report.ignored} ignored" if report.ignored else ""
    out.print(
        ("would be " if dry_run else "")
        + f"{counts}, {report.unchanged} unchanged, {len(report.conflicts)} conflicts, "
        + f"{len(report.skipped)} skipped{ignored}"
    )
    most = LISTED_DRY if dry_run else LISTED
    rows = [
        (
            change.action,
            change.path if change.source is None else f"{change.source} -> {change.path}",
        )
        for change in report.changes[:most]
    ]
    if rows:
        out.print(table(("what", "path"), rows))
        if len(report.changes) > most:
            say(f"and {len(report.changes) - most} more; --json lists all")
    _print_problems(report)


def _print_problems(report: SyncReport) -> None:
    if report.spelled:
        names = [(name.source_path, name.path) for name in report.spelled[:LISTED]]
        out.print(table(("name in the folder", "stored as"), names))
    if report.skipped:
        skipped = [(file.path, file.reason) for file in report.skipped[:LISTED]]
        out.print(table(("skipped", "why"), skipped))
        if len(report.skipped) > LISTED:
            say(f"and {len(report.skipped) - LISTED} more skipped files; --json lists all")
    if report.conflicts:
        rows = [(conflict.path, conflict.reason) for conflict in report.conflicts]
        out.print(table(("conflict", "why"), rows))
        say(
            "Conflicts were left as they are. Take the project's text into the folder, or store "
            "the folder's with --force."
        )
        if any("another folder" in conflict.reason for conflict in report.conflicts):
            say("Files of another folder become this one's with --take-over.")
