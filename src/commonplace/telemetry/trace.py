"""Trace lines `[trace:category[:sub]] {json}` in rotated files, if a trace variable is set."""

from __future__ import annotations

import os
import secrets
import sys
import time
from collections.abc import Mapping

import orjson

from commonplace.kernel.clock import iso, utc_now
from commonplace.kernel.json_types import Json
from commonplace.kernel.settings import Settings, TraceSettings
from commonplace.telemetry.rotation import RotatedFile

CATALOG = frozenset(
    {
        "catalog",
        "list",
        "get",
        "getEnhanced",
        "add",
        "import",
        "remove",
        "reload",
        "groom",
        "repair",
        "enrich",
        "usage",
    }
)


class Tracer:
    """The trace of this process. A label is `category` or `category:sub`.

    Check `wants(label)` before computing expensive data.
    """

    def __init__(self, settings: Settings) -> None:
        trace = settings.trace
        self._allow = frozenset(trace.allow)
        self._deny = frozenset(trace.deny)
        resized = trace.max_bytes != TraceSettings.defaults["max_bytes"]
        self._all = any((trace.directory, trace.session, trace.allow, trace.deny, resized))
        self._on_stderr = _stderr_categories(trace)
        self.active = self._all or bool(self._on_stderr)
        self.session = trace.session or secrets.token_hex(4)
        self._file: RotatedFile | None = None
        if self.active:
            safe = "".join(c if c.isalnum() or c in "-_" else "_" for c in self.session)[:64]
            self._file = RotatedFile(
                settings.trace_directory / f"trace-{safe}-{os.getpid()}.jsonl", trace.max_bytes
            )
        self._started = time.monotonic()

    def wants(self, label: str) -> bool:
        """Tell whether lines of a label are written."""
        if not self.active:
            return False
        tokens = set(label.split(":"))
        if tokens & self._deny or (self._allow and not tokens & self._allow):
            return False
        return self._all or self._goes_to_stderr(label)

    def emit(self, label: str, data: Mapping[str, Json], level: str = "info") -> None:
        """Write a line, if its label is wanted."""
        if not self.wants(label):
            return
        body = {
            "ts": iso(utc_now()),
            "t": round((time.monotonic() - self._started) * 1000),
            "lvl": level,
            "label": label,
            "data": data,
            "pid": os.getpid(),
            "session": self.session,
        }
        line = f"[trace:{label}] {orjson.dumps(body, default=str).decode()}"
        if self._file is not None:
            self._file.write(line)
        if self._goes_to_stderr(label):
            # Diagnostics go to stderr, see docs/reference/contracts/instructions.md.
            print(line, file=sys.stderr, flush=True)  # noqa: T201

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def _goes_to_stderr(self, label: str) -> bool:
        return label in self._on_stderr or label.split(":", 1)[0] in self._on_stderr


def _stderr_categories(trace: TraceSettings) -> frozenset[str]:
    """Return the categories that diagnostic variables enable, on stderr too."""
    categories: set[str] = set()
    if trace.catalog:
        categories |= CATALOG
    if trace.catalog_files:
        categories.add("catalog:file")
    if trace.handshake:
        categories.add("handshake")
    if trace.init_frames:
        categories.add("init")
    if trace.health_mixed:
        categories.add("health")
    return frozenset(categories)
