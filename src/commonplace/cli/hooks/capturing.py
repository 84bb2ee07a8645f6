"""The hook at the end of a session: start a capture in the background and return at once.

Claude Code gives all hooks of a session's end 1.5 seconds together.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # importing it costs milliseconds
if TYPE_CHECKING:
    from commonplace.kernel.json_types import JsonObject

MOST_SECONDS = 120
LONGEST_SESSION = 256


def capture_later(options: dict[str, str], payload: JsonObject, data: str) -> None:
    """Let a process in the background capture the session; without a transcript do nothing."""
    path, session, folder = (
        value if isinstance(value := payload.get(name), str) else ""
        for name in ("transcript_path", "session_id", "cwd")
    )
    if not path or not os.path.isfile(path):
        return  # a session without a message has no file
    from commonplace.edge.relay.launching import spawn

    command = [sys.executable, "-P", "-m", "commonplace", "hook", f"--capture={path}"]
    command += [f"--session={session[:LONGEST_SESSION]}", f"--folder={folder}", f"--data={data}"]
    for name in ("client", "config"):
        if options.get(name):
            command.append(f"--{name}={options[name]}")
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        spawn(
            command,
            (null, null, null),
            detach=True,
            folder=folder if os.path.isdir(folder) else data,
        )
    finally:
        os.close(null)


def capture(options: dict[str, str]) -> None:
    """Capture one transcript, slowly and for a bounded time."""
    import signal
    from dataclasses import replace
    from pathlib import Path

    from commonplace.cli.capture.reading import capture_session, project_of, read_transcript
    from commonplace.cli.session import begin

    signal.alarm(MOST_SECONDS)  # a database that does not answer must not keep processes
    os.nice(5)
    options["event"] = "SessionEnd"  # for the log
    transcript = read_transcript(Path(options["capture"]))
    folder = options.get("folder") or transcript.folder
    given = replace(transcript, session=options.get("session") or transcript.session, folder=folder)
    config, data = options.get("config"), options.get("data")
    here = begin(Path(config) if config else None, Path(data) if data else None)
    try:
        capture_session(given, project_of(folder))
    finally:
        here.close()
