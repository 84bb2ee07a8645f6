"""Trace lines `[trace:category[:sub]] {json}`: off until a trace variable asks for them, kept in
rotated files.
"""

from __future__ import annotations

import os
import secrets
import sys
import time
from collections.abc import Mapping
from typing import Any

import orjson

from commonplace.kernel.clock import iso, utc_now
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
    """Ask `wants(label)` before building costly data. A label is `category` or `category:sub`."""

    def __init__(self, settings: Settings) -> None:
        trace = settings.trace
        self._allow = frozenset(trace.allow)
        self._deny = frozenset(trace.deny)
        resized = trace.max_bytes != TraceSettings.defaults["max_bytes"]
        self._everything = any((trace.directory, trace.session, trace.allow, trace.deny, resized))
        self._loud = _loud_categories(trace)
        self.active = self._everything or bool(self._loud)
        self.session = trace.session or secrets.token_hex(4)
        self._file: RotatedFile | None = None
        if self.active:
            safe = "".join(c if c.isalnum() or c in "-_" else "_" for c in self.session)[:64]
            self._file = RotatedFile(
                settings.trace_directory / f"trace-{safe}-{os.getpid()}.jsonl", trace.max_bytes
            )
        self._started = time.monotonic()

    def wants(self, label: str) -> bool:
        if not self.active:
            return False
        tokens = set(label.split(":"))
        if tokens & self._deny or (self._allow and not tokens & self._allow):
            return False
        return self._everything or self._is_loud(label)

    def emit(self, label: str, data: Mapping[str, Any], level: str = "info") -> None:
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
        if self._is_loud(label):
            print(line, file=sys.stderr, flush=True)  # noqa: T201 - contract 000: diagnostics to stderr

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _is_loud(self, label: str) -> bool:
        return label in self._loud or label.split(":", 1)[0] in self._loud


def _loud_categories(trace: TraceSettings) -> frozenset[str]:
    """What each diagnostic variable asks for, on stderr as well."""
    loud: set[str] = set()
    if trace.catalog:
        loud |= CATALOG
    if trace.catalog_files:
        loud.add("catalog:file")
    if trace.handshake:
        loud.add("handshake")
    if trace.init_frames:
        loud.add("init")
    if trace.health_mixed:
        loud.add("health")
    return frozenset(loud)
