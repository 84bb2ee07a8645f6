"""Logging: warnings or more to stderr, and structured lines to a rotated file."""

from __future__ import annotations

import logging
import sys

import orjson

from commonplace.kernel.clock import iso, utc_now
from commonplace.kernel.hidden_characters import reveal
from commonplace.kernel.json_types import JsonObject
from commonplace.kernel.paths import expand_home
from commonplace.kernel.settings import LogSettings
from commonplace.telemetry.redaction import scrub
from commonplace.telemetry.rotation import RotatedFile

ROOT = "commonplace"
CALLS = "commonplace.calls"
DIAGNOSTICS = "commonplace.diagnostics"


class JsonLinesHandler(logging.Handler):
    """A handler that writes one JSON object per line."""

    def __init__(self, target: RotatedFile) -> None:
        super().__init__()
        self._target = target

    def emit(self, record: logging.LogRecord) -> None:
        line: JsonObject = {
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


class ScrubbingFormatter(logging.Formatter):
    """A formatter that masks secrets and shows hidden characters."""

    def format(self, record: logging.LogRecord) -> str:
        return reveal(scrub(super().format(record)))


def open_log_file(settings: LogSettings) -> RotatedFile | None:
    """Return the log file of the settings, or None."""
    return RotatedFile(expand_home(settings.file), settings.rotate_bytes) if settings.file else None


def configure_logging(settings: LogSettings) -> None:
    """Set up the loggers of the product. A second call replaces the first."""
    root = logging.getLogger(ROOT)
    for handler in tuple(root.handlers):
        root.removeHandler(handler)
        handler.close()
    root.propagate = False
    informs = settings.verbose or settings.mutations_only
    stderr = logging.StreamHandler(sys.stderr)
    stderr.setFormatter(ScrubbingFormatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    stderr.setLevel(
        logging.DEBUG
        if settings.verbose or settings.diagnostics
        else logging.INFO
        if informs
        else logging.WARNING
    )
    root.addHandler(stderr)
    lowest = stderr.level
    target = open_log_file(settings)
    if target is not None:
        lines = JsonLinesHandler(target)
        lines.setLevel(logging.DEBUG if settings.verbose else logging.INFO)
        root.addHandler(lines)
        lowest = min(lowest, lines.level)
    root.setLevel(lowest)
    problem = target.problem() if target is not None else None
    if target is not None and problem is not None:
        root.warning(
            "cannot log to %s: %s; check MCP_LOG_FILE",
            target.path,
            problem.strerror or problem,
        )
    logging.getLogger(CALLS).setLevel(logging.INFO if settings.file or informs else logging.WARNING)
    logging.getLogger(DIAGNOSTICS).setLevel(
        logging.DEBUG if settings.diagnostics else logging.CRITICAL
    )
