"""Where log lines go: warnings to stderr, more of them when asked, and structured lines to a
rotated file.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

import orjson

from commonplace.kernel.clock import iso, utc_now
from commonplace.kernel.hidden_characters import reveal
from commonplace.kernel.paths import expand_home
from commonplace.kernel.settings import LogSettings
from commonplace.telemetry.redaction import scrub
from commonplace.telemetry.rotation import RotatedFile

ROOT = "commonplace"
CALLS = "commonplace.calls"
DIAGNOSTICS = "commonplace.diagnostics"


class JsonLines(logging.Handler):
    """One JSON object a line."""

    def __init__(self, target: RotatedFile) -> None:
        super().__init__()
        self._target = target

    def emit(self, record: logging.LogRecord) -> None:
        line: dict[str, Any] = {
            "ts": iso(utc_now()),
            "level": record.levelname.lower(),
            "logger": record.name,
            "pid": record.process,
            "message": scrub(record.getMessage()),
        }
        fields = getattr(record, "fields", None)
        if isinstance(fields, dict):
            line.update(fields)
        if record.exc_info:
            line["traceback"] = scrub(logging.Formatter().formatException(record.exc_info))
        self._target.write(orjson.dumps(line, default=str).decode())

    def close(self) -> None:
        self._target.close()
        super().close()


class Scrubbed(logging.Formatter):
    """Lines for people: without secrets, and with hidden characters shown, since names in them
    may come from anybody.
    """

    def format(self, record: logging.LogRecord) -> str:
        return reveal(scrub(super().format(record)))


def log_file(settings: LogSettings) -> RotatedFile | None:
    """The file that lines are to go to, where one is named."""
    return RotatedFile(expand_home(settings.file), settings.rotate_bytes) if settings.file else None


def configure(settings: LogSettings) -> None:
    """Set up the product's loggers. Called once by bootstrap; a second call replaces the first."""
    root = logging.getLogger(ROOT)
    for handler in tuple(root.handlers):
        root.removeHandler(handler)
        handler.close()
    root.propagate = False
    told = settings.verbose or settings.mutations_only
    stderr = logging.StreamHandler(sys.stderr)
    stderr.setFormatter(Scrubbed("%(asctime)s %(levelname)s %(name)s %(message)s"))
    stderr.setLevel(
        logging.DEBUG
        if settings.verbose or settings.diagnostics
        else logging.INFO
        if told
        else logging.WARNING
    )
    root.addHandler(stderr)
    lowest = stderr.level
    target = log_file(settings)
    if target is not None:
        lines = JsonLines(target)
        lines.setLevel(logging.DEBUG if settings.verbose else logging.INFO)
        root.addHandler(lines)
        lowest = min(lowest, lines.level)
    root.setLevel(lowest)
    refused = target.problem() if target is not None else None
    if target is not None and refused is not None:
        root.warning(
            "nothing is logged to %s: %s; check MCP_LOG_FILE",
            target.path,
            refused.strerror or refused,
        )
    logging.getLogger(CALLS).setLevel(logging.INFO if settings.file or told else logging.WARNING)
    logging.getLogger(DIAGNOSTICS).setLevel(
        logging.DEBUG if settings.diagnostics else logging.CRITICAL
    )
