"""`commonplace up` and `commonplace down`: start, show and stop the local server."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from commonplace.cli.local.state import ServerState, find_server
from commonplace.cli.printing import JsonFlag, print_json, say
from commonplace.cli.session import session
from commonplace.edge.relay.attachment import STOP, LineChannel
from commonplace.edge.relay.endpoint import LOG_FOLDER, LOG_NAME, STRAY_NAME, connect
from commonplace.edge.relay.launching import StartFailed, connect_or_start
from commonplace.kernel.errors import NOT_AVAILABLE, CommonplaceError

STOP_SECONDS = 20.0
STRAY_LINES = 5  # of a server that did not start, shown to the user


def up(
    status: Annotated[
        bool, typer.Option("--status", help="Show the local server; start nothing.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Start the local server that many clients share, or show it with --status.

    It belongs to a data folder, serves every client that runs `commonplace serve --attach`, and
    stops after half an hour without clients (settings.server.idle_stop_minutes).

    Examples:
      commonplace up
      commonplace up --status
    """
    data = str(session().config().settings.data)
    state = find_server(data)
    started = False
    if not status and not state.is_running:
        _start(data)
        state, started = find_server(data), True
    if as_json:
        print_json({**state.as_json(), "started": started})
    else:
        say(describe_server(state, started=started))
    if not state.is_running:
        raise typer.Exit(3)


def down(as_json: JsonFlag = False) -> None:
    """Stop the local server.

    Calls that it has begun are answered. Clients that are attached start it again with their next
    request.

    Examples:
      commonplace down
    """
    data = str(session().config().settings.data)
    state = find_server(data)
    stopped = state.is_running and _stop(data)
    if as_json:
        print_json({"data": data, "stopped": stopped})
    else:
        say("stopped" if stopped else "The local server is not running.")


def describe_server(state: ServerState, *, started: bool = False) -> str:
    """Return the state of the local server in a few words."""
    if not state.is_running:
        return "The local server is not running; commonplace up starts it."
    figures = state.figures
    if not figures:
        return "The local server runs but does not answer; see its log."
    parts = [
        f"{'started' if started else 'running'}: process {figures['pid']}",
        f"version {figures['version']}",
        f"{figures['clients']} clients",
    ]
    if figures.get("memory_mb") is not None:
        parts.append(f"{figures['memory_mb']:.0f} MB")
    if not figures["clients"] and figures["idle_stop_seconds"]:
        left = max(0.0, figures["idle_stop_seconds"] - figures["idle_seconds"])
        parts.append(f"stops in {left / 60:.0f} minutes without clients")
    if figures.get("outdated"):
        parts.append("a newer version waits until its clients have left")
    return ", ".join(parts)


def _start(data: str) -> None:
    run = session()
    arguments = ["--data", data]
    if run.config_file is not None:
        arguments += ["--config", str(run.config_file.absolute())]
    try:
        connect_or_start(data, arguments).close()
    except StartFailed as failed:
        raise CommonplaceError(
            NOT_AVAILABLE,
            f"The local server did not start: {failed}.{_stray_output()}",
            hint="commonplace serve --socket runs it in the foreground.",
        ) from None


def _stray_output() -> str:
    """Return the last lines that the server printed."""
    path = session().config().settings.data / LOG_FOLDER / STRAY_NAME
    try:
        lines = path.read_text("utf-8", "replace").splitlines()[-STRAY_LINES:]
    except OSError:
        return ""
    return "\n" + "\n".join(lines) if lines else ""


def _stop(data: str) -> bool:
    try:
        with connect(data) as connection:
            LineChannel(connection).ask(STOP, {})
    except OSError as error:
        raise CommonplaceError(
            NOT_AVAILABLE, f"The local server does not answer: {error}.", retryable=True
        ) from None
    until = time.monotonic() + STOP_SECONDS
    while find_server(data).is_running:
        if time.monotonic() > until:
            raise CommonplaceError(
                NOT_AVAILABLE,
                f"The local server has not stopped within {STOP_SECONDS:.0f} s.",
                hint=f"It may still answer a long call; see {LOG_FOLDER}/{LOG_NAME} in the data "
                "folder.",
            )
        time.sleep(0.05)
    return True
