"""`commonplace backup` and `commonplace restore`: all canonical state in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from commonplace.cli.printing import JsonFlag, out, print_json, say
from commonplace.cli.session import session
from commonplace.storage.backup.archive import write_archive
from commonplace.storage.backup.restore import restore_archive


def backup(
    file: Annotated[Path, typer.Argument(help="Archive to write (.tar.gz).")],
    as_json: JsonFlag = False,
) -> None:
    """Write all canonical state into one archive. Consistent while servers run.

    Fails on damaged data and then keeps an existing archive.

    Example:
      commonplace backup commonplace-$(date +%F).tar.gz
    """
    settings = session().config().settings
    from commonplace.bootstrap.upkeep import database_checks

    summary = write_archive(
        settings.data, settings.instructions_directory, file, database_checks(settings)
    )
    if settings.storage.url.startswith("postgres"):
        say("PostgreSQL is not in the archive: use pg_dump for it.")
    if as_json:
        print_json(summary)
    else:
        out.print(f"wrote {file}: {summary['files']} files, {summary['bytes']:,} bytes")


def restore(
    file: Annotated[Path, typer.Argument(help="Archive to read.")],
    force: Annotated[
        bool,
        typer.Option("--force", help="Replace existing state; the old folder is kept beside it."),
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Check an archive and put its state back. Refuses while a server uses the data folder.

    Example:
      commonplace --data /srv/commonplace restore commonplace-2026-01-31.tar.gz
    """
    settings = session().config().settings
    summary = restore_archive(file, settings.data, settings.instructions_directory, force=force)
    if as_json:
        print_json(summary)
        return
    out.print(f"restored {summary['files']} files into {settings.data}")
    for kept in summary["kept"]:
        say(f"the previous state is in {kept}")
