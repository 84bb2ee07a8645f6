"""Move a data folder into the database, for `commonplace migrate --from`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.cli.printing import err, out, say, table
from commonplace.cli.session import session
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.storage.locks.data_folder import is_data_folder_in_use

if TYPE_CHECKING:
    from commonplace.bootstrap.move_in import MovedPart, Mover
    from commonplace.kernel.settings import Settings

SHOWN = 20


def needs_postgres(what: str) -> CommonplaceError:
    """Return the error of a command that only works with the database of a team."""
    return CommonplaceError(
        INVALID_ARGUMENT,
        f"{what}, but settings.storage.url names no PostgreSQL database.",
        hint="Set settings.storage.url to a postgresql:// address.",
    )


def require_source(data: Path, settings: Settings) -> None:
    """Raise INVALID_ARGUMENT unless a data folder can be moved into a database."""
    from commonplace.bootstrap.team import on_postgres

    if not on_postgres(settings):
        raise needs_postgres("--from moves a data folder into PostgreSQL")
    if not data.is_dir():
        raise CommonplaceError(
            INVALID_ARGUMENT,
            f"There is no folder {data}.",
            hint="Name the data folder of the server that you want to move.",
        )
    if data.resolve() != settings.data.resolve() and is_data_folder_in_use(data):
        say(
            "A server uses this folder. What it changes from now on may be missing: stop it, then "
            "repeat the command."
        )


class FolderMove:
    """The movers of all parts, with progress on a terminal and an audit record."""

    def __init__(self, movers: Sequence[Mover]) -> None:
        self._movers = movers

    def find_lacking(self, data: Path) -> dict[str, list[str]]:
        """Name what the database lacks, by part."""
        found = {mover.part: list(mover.lacking(data)) for mover in self._movers}
        return {part: names for part, names in found.items() if names}

    def run(self, data: Path) -> list[MovedPart]:
        """Move every part."""
        arguments = {"from": str(data), "parts": [mover.part for mover in self._movers]}
        return session().record_change("migrate_from", arguments, lambda: self._move(data))

    def left_behind(self, data: Path) -> dict[str, str]:
        """Return what stays in the folder, and why."""
        from commonplace.bootstrap.moving.left_behind import describe_left_behind

        return describe_left_behind(data)

    def _move(self, data: Path) -> list[MovedPart]:
        from rich.progress import Progress

        moved: list[MovedPart] = []
        with Progress(console=err, disable=not err.is_terminal, transient=True) as progress:
            for mover in self._movers:
                task = progress.add_task(mover.part)
                moved.append(mover.move(data, _show(progress.update, task)))
        return moved


def _show(update: Callable[..., None], task: int) -> Callable[[int, int], None]:
    return lambda done, total: update(task, completed=done, total=total)


@contextlib.contextmanager
def open_move(settings: Settings) -> Iterator[FolderMove]:
    """Connect to the database for the length of a block."""
    from commonplace.bootstrap.move_in import movers
    from commonplace.bootstrap.team import open_postgres

    database = open_postgres(settings)
    try:
        yield FolderMove(list(movers(settings, database)))
    finally:
        database.close()


def print_moved(moved: Sequence[MovedPart], left: Mapping[str, str]) -> None:
    """Show what became of each part, and what stays in the folder with the reason."""
    if not moved:
        return
    rows = [
        (
            part.part,
            str(part.found),
            str(part.added),
            str(part.present),
            str(len(part.kept)),
            str(len(part.refused)),
            part.digest[:16],
        )
        for part in moved
    ]
    heads = ("part", "found", "added", "present", "differ", "refused", "verified hash")
    out.print(table(heads, rows))
    for part in moved:
        for name in part.kept[:SHOWN]:
            say(f"{part.part}: {name} differs in the database; both stay as they are")
        _say_more(part.kept)
        for name in part.refused[:SHOWN]:
            say(f"{part.part}: not moved: {name}")
        _say_more(part.refused)
    if not any(part.added for part in moved):
        say("Nothing was added: the database has, or had, everything else.")
    if any(part.part == "files" and part.added for part in moved):
        say("Workers index the files now; `commonplace doctor` says how many are waiting.")
    for name, reason in left.items():
        say(f"stays in the folder: {name} ({reason})")


def _say_more(names: Sequence[str]) -> None:
    if len(names) > SHOWN:
        say(f"... and {len(names) - SHOWN} more; --json lists all")


def print_lacking(lacking: Mapping[str, Sequence[str]]) -> None:
    """Show what would be moved."""
    for part, names in lacking.items():
        listed = ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
        say(f"the database lacks {len(names)} {part}: {listed}")
