"""The log of hooks: why one printed nothing. `commonplace doctor` reports its last entries."""

from __future__ import annotations

import json
import os
import time

TYPE_CHECKING = False  # importing it costs milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping

    from commonplace.kernel.json_types import JsonObject

LOG_NAME = os.path.join("hooks", "hook.log")
MOST_BYTES = 64 * 1024
LONGEST_REASON = 500


def log_problem(data: str, options: Mapping[str, str], problem: Exception) -> None:
    """Note why a hook printed nothing; a large log is kept once as `hook.log.1`."""
    path = os.path.join(data, LOG_NAME)
    line = {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "event": options.get("event", "")[:64],
        "client": options.get("client", "")[:64],
        "error": f"{type(problem).__name__}: {problem}"[:LONGEST_REASON],
    }
    before = os.umask(0o077)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.exists(path) and os.path.getsize(path) > MOST_BYTES:
            os.replace(path, f"{path}.1")
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o600)
        try:
            os.write(descriptor, json.dumps(line).encode() + b"\n")
        finally:
            os.close(descriptor)
    finally:
        os.umask(before)


def read_problems(data: str) -> list[JsonObject]:
    """Return the entries of the log, oldest first."""
    try:
        with open(os.path.join(data, LOG_NAME), "rb") as log:
            lines = log.read().splitlines()
    except OSError:
        return []
    problems = []
    for line in lines:
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict) and {"at", "event", "error"} <= entry.keys():
            problems.append(entry)
    return problems
