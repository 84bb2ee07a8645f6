"""`commonplace rebuild`: rebuild damaged SQLite files."""

from __future__ import annotations

from typing import Annotated

import typer

from commonplace.cli.printing import JsonFlag, out, print_json
from commonplace.cli.session import session
from commonplace.kernel.settings import Settings
from commonplace.storage.disk.access import require_folder

MEMORY = "memory.db"


def rebuild(
    everything: Annotated[bool, typer.Option("--all", help="Rebuild intact files too.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Rebuild damaged SQLite files from the data that cannot be derived, and reindex.

    For damage that `commonplace doctor` calls derived. Stop servers first. The damaged file is
    kept.

    Example:
      commonplace rebuild
    """
    from commonplace.storage.locks.data_folder import claim_data_folder

    settings = session().config().settings
    require_folder(settings.data)
    with claim_data_folder(settings.data):
        done = _rebuild(settings, everything)
    if as_json:
        print_json({"rebuilt": done})
    elif not done:
        out.print("nothing is damaged; commonplace rebuild --all rebuilds every file")
    else:
        for file in done:
            out.print(
                f"rebuilt {file['file']}: {file['rows']:,} rows copied; "
                f"the damaged file is in {file['kept']}"
            )


def _rebuild(settings: Settings, everything: bool) -> list[dict[str, str | int]]:
    from commonplace.bootstrap.upkeep import database_checks
    from commonplace.cli.memory.access import run, service
    from commonplace.files.store.integrity import queue_everything
    from commonplace.storage.integrity.checks import find_damage
    from commonplace.storage.integrity.monitor import record_finding
    from commonplace.storage.integrity.rebuild import rebuild_file

    done: list[dict[str, str | int]] = []
    for checks in database_checks(settings):
        if not checks.path.exists() or not (everything or find_damage(checks)):
            continue
        memory = checks.path.name == MEMORY
        rebuilt = rebuild_file(checks) if memory else rebuild_file(checks, queue_everything)
        if memory:
            run(service().reindex())
        record_finding(settings.data, checks, find_damage(checks))
        done.append({"file": rebuilt.file, "rows": rebuilt.rows, "kept": str(rebuilt.kept)})
    return done
