"""Checks of the local server and of hooks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from commonplace.cli.doctor.check import DoctorCheck
from commonplace.cli.hooks.log import LOG_NAME as HOOK_LOG
from commonplace.cli.hooks.log import read_problems
from commonplace.cli.local.commands import describe_server
from commonplace.cli.local.state import find_server
from commonplace.edge.relay.endpoint import LOG_FOLDER, LOG_NAME
from commonplace.kernel.clock import iso, utc_now
from commonplace.kernel.settings import Settings

NAME = "local server"
RECENT_SECONDS = 86_400


def check_local_server(settings: Settings) -> Iterator[DoctorCheck]:
    """Report the server that `commonplace up` starts."""
    state = find_server(str(settings.data))
    if state.is_running and not state.figures:
        yield DoctorCheck(
            NAME,
            "warn",
            "it runs but does not answer",
            f"See {LOG_FOLDER}/{LOG_NAME} in the data folder; commonplace down stops it.",
        )
    elif state.figures.get("outdated"):
        yield DoctorCheck(NAME, "note", describe_server(state), "Restart its clients.")
    elif state.is_running:
        yield DoctorCheck(NAME, "ok", describe_server(state))
    else:
        yield DoctorCheck(NAME, "ok", "not running; clients that attach start it")


def check_hooks(settings: Settings) -> Iterator[DoctorCheck]:
    """Report why hooks printed nothing during the last day."""
    since = iso(utc_now() - timedelta(seconds=RECENT_SECONDS))
    recent = [entry for entry in read_problems(str(settings.data)) if entry["at"] >= since[:19]]
    if not recent:
        yield DoctorCheck("hooks", "ok", "no hook failed during the last day")
        return
    last = recent[-1]
    yield DoctorCheck(
        "hooks",
        "warn",
        f"{len(recent)} hooks printed nothing during the last day; the last, {last['event']}: "
        f"{last['error']}",
        f"{HOOK_LOG} in the data folder lists them.",
    )
