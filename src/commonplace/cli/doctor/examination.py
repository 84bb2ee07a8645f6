"""Run every check of `commonplace doctor`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from commonplace import __version__
from commonplace.cli.doctor import local, stored, team
from commonplace.cli.doctor import settings as settings_checks
from commonplace.cli.doctor.check import DoctorCheck
from commonplace.cli.doctor.hidden import scan
from commonplace.cli.session import session
from commonplace.kernel.config.extras import explain_missing_module
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.settings import WITHOUT_EFFECT, Settings
from commonplace.storage.disk.access import unusable_path

CHECKS: dict[str, Callable[[Settings], Iterator[DoctorCheck]]] = {
    "data folder": stored.check_data_folder,
    "privacy": stored.check_privacy,
    "space": stored.check_space,
    "integrity": stored.check_integrity,
    "documents": stored.check_documents,
    "audit": stored.check_audit,
    "moved in": team.check_moved_in,
    "keys": settings_checks.check_keys,
    "exposure": settings_checks.check_exposure,
    "files settings": settings_checks.check_files_settings,
    "log file": settings_checks.check_log_file,
    "extras": settings_checks.check_extras,
    "local server": local.check_local_server,
    "hooks": local.check_hooks,
}
"""Checks by the name that a failure is reported under."""
NEED_DATABASE = frozenset({"moved in", "keys"})


def examine() -> Iterator[DoctorCheck]:
    """Run every check; the failure of one does not stop the others."""
    yield DoctorCheck(
        "version", "ok", f"commonplace {__version__}, Python {sys.version.split()[0]}"
    )
    try:
        config = session().config()
    except CommonplaceError as error:
        yield DoctorCheck(
            "configuration",
            "fail",
            error.message,
            error.hint or "commonplace config show lists all keys.",
        )
        return
    settings = config.settings
    yield DoctorCheck(
        "configuration",
        "ok",
        f"{config.file or 'no file'}; {sum(s != 'default' for s in config.sources.values())} "
        f"values set",
    )
    for name, why in WITHOUT_EFFECT.items():
        if name in os.environ:
            yield DoctorCheck(
                "environment", "note", f"{name} is set and has no effect: {why}.", "Unset it."
            )
    found = list(_run_check("database", partial(team.check_connection, settings)))
    yield from found
    usable = not any(check.status == "fail" for check in found)
    for name, check in CHECKS.items():
        if usable or name not in NEED_DATABASE:
            yield from _run_check(name, partial(check, settings))
    yield from _run_check("toolsets", partial(_toolsets, usable))
    if usable:
        yield from _run_check("hidden characters", _hidden)
    else:
        unread = "keys, toolsets and stored texts, because the database cannot be used"
        yield DoctorCheck("not examined", "note", unread)


def _run_check(name: str, step: Callable[[], Iterable[DoctorCheck]]) -> Iterator[DoctorCheck]:
    try:
        yield from step()
    except CommonplaceError as error:
        yield DoctorCheck(name, "fail", error.message, error.hint or "")
    except ModuleNotFoundError as error:
        missing = explain_missing_module(error)
        if missing is None:
            raise
        yield DoctorCheck(name, "fail", missing.message, missing.hint or "")
    except OSError as error:
        refused = unusable_path(error)
        yield DoctorCheck(name, "fail", refused.message, refused.hint or "")
    except Exception as error:  # one check that fails must not hide the others
        known = _storage_error(error)
        finding = known.message if known else f"{type(error).__name__}: {error}"
        fix = (known.hint or "") if known else "This is a defect; please report it."
        yield DoctorCheck(name, "fail", finding, fix)


def _storage_error(error: Exception) -> CommonplaceError | None:
    """Return the storage error behind an exception, such as that of a damaged database."""
    from commonplace.storage.sqlite.errors import translate_error

    known = translate_error(error)
    return known if isinstance(known, CommonplaceError) else None


def _toolsets(database: bool) -> Iterator[DoctorCheck]:
    """Load every toolset and run the `doctor()` of services that have one.

    Without `database`, what needs the database of a team is left out.
    """
    app = session().app()
    for toolset in app.registry.toolsets if database else ():
        count = sum(tool.toolset == toolset.name for tool in app.registry.all())
        yield DoctorCheck(f"toolset {toolset.name}", "ok", f"{count} tools")
    for service in app.services.examinable(database=database):
        for found in service.doctor():
            yield DoctorCheck(**found)


def _hidden() -> Iterator[DoctorCheck]:
    """Look for hidden characters in stored text, for a limited time."""
    found = scan(session().app().services)
    fix = "commonplace doctor --hidden lists every place." if found.found or not found.whole else ""
    yield DoctorCheck("hidden characters", "warn" if found.found else "ok", found.finding, fix)
