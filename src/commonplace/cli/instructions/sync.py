"""`commonplace instructions sync`: keep a folder and the catalogue of a team in step."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commonplace.cli.moving import needs_postgres
from commonplace.cli.printing import JsonFlag, out, print_json, say, table
from commonplace.cli.session import session
from commonplace.kernel.errors import INVALID_ARGUMENT, NOT_AVAILABLE, CommonplaceError

if TYPE_CHECKING:
    from commonplace.instructions.engine.mirror import Side
    from commonplace.instructions.use_cases.mirroring import CatalogueMirror, MirrorReport
    from commonplace.storage.postgres.database import PostgresDatabase

WATCH_SECONDS = 1.0
ROUNDS = 5  # rounds of one command while others change files


def sync(
    folder: Annotated[
        Path, typer.Argument(help="Folder of instruction files, for example in git.")
    ],
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on until stopped (Ctrl-C, SIGTERM).")
    ] = False,
    prefer: Annotated[
        str, typer.Option(help="Which side wins a conflict: folder or database.")
    ] = "",
    allow_removals: Annotated[
        bool, typer.Option("--allow-removals", help="Allow to remove most files of a side.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Copy changes between a folder and the catalogue in PostgreSQL, both ways.

    A file that changed on both sides is a conflict: it is reported, both sides stay as they are,
    and the database's version is put into FOLDER/.commonplace/conflicts. Exit code 1 if there are
    conflicts or files that are not valid. One process synchronises at a time.

    Examples:
      commonplace instructions sync rules
      commonplace instructions sync rules --watch
      commonplace instructions sync rules --prefer folder
    """
    from commonplace.bootstrap.team import on_postgres

    if not on_postgres(session().config().settings):
        raise needs_postgres("`instructions sync` mirrors the catalogue of a team")
    side = _side(prefer)
    database = session().app().services.postgres
    with (
        _leading(database, wait=watch) as lead,
        _open_mirror(folder, database, side, allow_removals) as (mirror, has_changed),
    ):
        report = _synchronise(mirror)
        _print(report, as_json)
        while watch:
            time.sleep(WATCH_SECONDS)
            with _outages_reported():
                lead()
                if has_changed():
                    before, report = report, _synchronise(mirror)
                    if report.changed or report.problems != before.problems:
                        _print(report, as_json)
    if report.conflicts or report.invalid:
        raise typer.Exit(1)


def _side(prefer: str) -> Side | None:
    if prefer == "folder":
        return "folder"
    if prefer == "database":
        return "database"
    if prefer:
        raise CommonplaceError(INVALID_ARGUMENT, "--prefer must be folder or database.")
    return None


@contextlib.contextmanager
def _leading(database: PostgresDatabase, *, wait: bool) -> Iterator[Callable[[], None]]:
    """Become the only process that synchronises; yields a function that makes sure of it."""
    from commonplace.instructions.store.postgres.leadership import SyncLeadership

    leadership = SyncLeadership(database)

    def lead() -> None:
        told = False
        while not leadership.try_acquire():
            if not wait:
                raise CommonplaceError(
                    NOT_AVAILABLE,
                    "Another process synchronises a folder with this database.",
                    hint="Wait until it has ended, or stop it.",
                    retryable=True,
                )
            if not told:
                say("another process synchronises a folder with this database; waiting")
                told = True
            time.sleep(WATCH_SECONDS)

    try:
        lead()
        yield lead
    finally:
        leadership.release()


@contextlib.contextmanager
def _open_mirror(
    folder: Path, database: PostgresDatabase, prefer: Side | None, allow_removals: bool
) -> Iterator[tuple[CatalogueMirror, Callable[[], bool]]]:
    from commonplace.instructions.assembly import open_shared_store
    from commonplace.instructions.model import Author
    from commonplace.instructions.store.mirror_folder import MirrorFolder
    from commonplace.instructions.store.postgres.contents import SharedContents
    from commonplace.instructions.use_cases.mirroring import CatalogueMirror
    from commonplace.kernel.auth import local_user
    from commonplace.kernel.clock import iso, utc_now

    settings = session().config().settings.mcp.instructions.replace(watch=False)
    store = open_shared_store(database, settings, lambda: iso(utc_now()))
    try:
        store.open()
        contents = SharedContents(database, store)
        folder.mkdir(parents=True, exist_ok=True)
        mirrored = MirrorFolder(folder, contents.identity())
        seen: list[object] = []

        def has_changed() -> bool:
            store.catch_up().result()
            state = (mirrored.stamps(), store.catalogue.hash, store.documents.all())
            changed = seen != [state]
            seen[:] = [state]
            return changed

        yield (
            CatalogueMirror(
                store,
                contents,
                mirrored,
                Author.of(local_user()),
                prefer=prefer,
                allow_removals=allow_removals,
            ),
            has_changed,
        )
    finally:
        store.close()


def _synchronise(mirror: CatalogueMirror) -> MirrorReport:
    """Compare and copy until both sides are in step; add up what was done."""
    from commonplace.instructions.use_cases.mirroring import MirrorReport

    total = MirrorReport()
    for _ in range(ROUNDS):
        plan = mirror.compare()
        if plan.has_work:
            arguments = {
                "to_database": len(plan.to_database),
                "removed_from_database": len(plan.removed_from_database),
                "to_folder": len(plan.to_folder),
                "removed_from_folder": len(plan.removed_from_folder),
            }
            work = functools.partial(mirror.apply, plan)
            done = session().record_change("instructions_sync", arguments, work)
        else:
            done = mirror.apply(plan)
        total.add(done)
        if not done.changed:
            break
    return total


@contextlib.contextmanager
def _outages_reported() -> Iterator[None]:
    """Go on after an error that passes."""
    try:
        yield
    except CommonplaceError as error:
        if not error.retryable:
            raise
        say(f"warning: {error.message}")


def _print(report: MirrorReport, as_json: bool) -> None:
    if as_json:
        print_json(asdict(report))
        return
    rows = [
        (name, what)
        for names, what in (
            (report.to_database, "copied to the database"),
            (report.to_folder, "copied to the folder"),
            (report.removed_from_database, "removed from the database"),
            (report.removed_from_folder, "removed from the folder"),
        )
        for name in names
    ]
    rows += [(name, f"conflict: {what}") for name, what in report.conflicts.items()]
    rows += [(name, f"not valid: {why}") for name, why in report.invalid.items()]
    if rows:
        out.print(table(("file", "what happened"), rows))
    say(f"{report.in_step} files are in step")
