"""One run of `commonplace hook`: the event on stdin, what the client takes on stdout, exit code 0.

Another exit code, or a word too many, could block a prompt or an edit.
"""

from __future__ import annotations

import json
import os
import sys

TYPE_CHECKING = False  # importing it costs milliseconds
if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_INPUT_BYTES = 16 * 1024 * 1024
LONGEST_EVENT = 64
SESSION_END = "sessionend"


class UnusableOptionsError(Exception):
    """The command line or the input is not one of a hook."""


def run_hook(arguments: Sequence[str]) -> int:
    """Answer one event; whatever goes wrong is in the log of hooks alone."""
    options: dict[str, str] = {}
    try:
        _silence_stderr()
        options = read_options(arguments)
        if "refresh" in options:
            from commonplace.cli.hooks.refresh import refresh

            refresh(options)
            return 0
        if "capture" in options:
            from commonplace.cli.hooks.capturing import capture

            capture(options)
            return 0
        printed = _answer(options)
    except Exception as problem:  # a hook never fails the work of its client
        _log(options, problem)
        return 0
    _write(printed)
    return 0


def _silence_stderr() -> None:
    """Let warnings of any part go nowhere: clients may show what a hook prints there."""
    null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    os.dup2(null, 2)
    os.close(null)


def read_options(arguments: Sequence[str]) -> dict[str, str]:
    """Return the event and the options, such as `client` and `data`. Raises where one is wrong."""
    options: dict[str, str] = {}
    waiting = iter(arguments)
    for word in waiting:
        if not word.startswith("--"):
            if "event" in options:
                raise UnusableOptionsError("there is more than one event")
            options["event"] = word
            continue
        name, has_value, value = word[2:].partition("=")
        if name == "refresh":
            options[name] = ""
            continue
        if name not in ("client", "data", "config", "capture", "session", "folder"):
            raise UnusableOptionsError(f"there is no option --{name[:40]}")
        options[name] = value if has_value else next(waiting, "")
    if not {"event", "refresh", "capture"} & options.keys():
        raise UnusableOptionsError("the event is missing")
    return options


def find_data(options: dict[str, str]) -> str:
    """Return the data folder of the command line and the environment."""
    from pathlib import Path

    from commonplace.kernel.config.locations import find_data_folder

    requested = options.get("data")
    return str(find_data_folder(Path(requested) if requested else None, os.environ)[0])


def _answer(options: dict[str, str]) -> bytes:
    from commonplace.cli.hooks.answers import HookAnswers
    from commonplace.context.delivery.hook import deliver

    payload = json.loads(_read_input())
    if not isinstance(payload, dict):
        raise UnusableOptionsError("the event on stdin is not a JSON object")
    data = find_data(options)
    if options["event"].lower() == SESSION_END:
        from commonplace.cli.hooks.capturing import capture_later

        capture_later(options, payload, data)
        return b""
    folder = payload.get("cwd")
    source = HookAnswers(data, folder if isinstance(folder, str) else "", options.get("config", ""))
    return deliver(options["event"], options.get("client", ""), payload, source, data)


def _read_input() -> bytes:
    """Return stdin, all of which is read: a client may fail if its pipe is closed."""
    content = sys.stdin.buffer.read(MOST_INPUT_BYTES + 1)
    if len(content) <= MOST_INPUT_BYTES:
        return content
    while sys.stdin.buffer.read(1 << 20):
        pass
    megabytes = MOST_INPUT_BYTES >> 20
    raise UnusableOptionsError(f"the event on stdin is larger than {megabytes} MB")


def _write(printed: bytes) -> None:
    try:
        while printed:
            printed = printed[os.write(1, printed) :]
    except OSError:
        pass  # the client is gone


def _log(options: dict[str, str], problem: Exception) -> None:
    try:
        from commonplace.cli.hooks.log import log_problem

        log_problem(find_data(options), options, problem)
    except Exception:  # nowhere left to report it
        return
