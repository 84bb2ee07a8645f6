"""What the server knows about itself."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from commonplace.kernel.auth import AuthContext, Scope
from commonplace.kernel.clock import Clock, iso, utc_now
from commonplace.telemetry.audit import AuditLog
from commonplace.telemetry.metrics import Figures, Metrics
from commonplace.telemetry.query import Filter, query
from commonplace.telemetry.timeline import SLOT_SECONDS, Moment, memory_bytes
from commonplace.telemetry.trace import Tracer
from commonplace.telemetry.verify import verify


class ServerService:
    def __init__(
        self,
        version: str,
        metrics: Metrics,
        tracer: Tracer,
        audit_directory: Path,
        audit: AuditLog | None,
        *,
        mixed_diagnostics: bool = False,
        read_only: bool = False,
        gauges: Mapping[str, Callable[[], Mapping[str, int]]] | None = None,
        integrity: Callable[[], dict[str, Any]] | None = None,
        started: float | None = None,
        clock: Clock = utc_now,
    ) -> None:
        self._version = version
        self._metrics = metrics
        self._tracer = tracer
        self._audit_directory = audit_directory
        self._audit = audit
        self._read_only = read_only
        self._gauges = {} if gauges is None else gauges
        self._integrity = integrity
        self._mixed_diagnostics = mixed_diagnostics
        self._clock = clock
        self._started = time.monotonic() if started is None else started

    def health(self) -> dict[str, Any]:
        answer: dict[str, Any] = {
            "status": "ok",
            "timestamp": iso(self._clock()),
            "version": self._version,
        }
        if self._mixed_diagnostics:
            answer["diagnostics"] = {
                "pid": os.getpid(),
                "uptimeSeconds": round(time.monotonic() - self._started, 3),
                "calls": self._metrics.totals().count,
                "events": dict(self._metrics.counters),
            }
            self._tracer.emit("health:mixed", answer["diagnostics"])
        return answer

    def snapshot(self, auth: AuthContext) -> dict[str, Any]:
        """Figures of the caller's tenant; of the whole server for an admin."""
        everyone = auth.has(Scope.ADMIN)
        figures = self._metrics.figures(None if everyone else auth.tenant)
        return {
            "generatedAt": iso(self._clock()),
            "scope": "server" if everyone else "tenant",
            "uptimeSeconds": round(time.monotonic() - self._started, 3),
            "methods": [_method(one) for one in figures],
        }

    def status(self, auth: AuthContext) -> dict[str, Any]:
        """The caller's own figures; those of the process and of everybody for an admin."""
        everyone = auth.has(Scope.ADMIN)
        timeline = self._metrics.timeline.moments(None if everyone else auth.tenant)
        answer: dict[str, Any] = {
            "status": "ok",
            "version": self._version,
            "uptime_seconds": round(time.monotonic() - self._started, 3),
            "read_only": self._read_only,
            "you": {
                "label": auth.label,
                "tenant": auth.tenant,
                "scopes": sorted(scope.value for scope in auth.scopes),
            },
            "slot_seconds": SLOT_SECONDS,
            "timeline": [_point(moment, everyone) for moment in timeline],
        }
        if everyone:
            answer["process"] = {
                "pid": os.getpid(),
                "memory_bytes": memory_bytes(),
                "cpu_seconds": round(time.process_time(), 3),
                "threads": threading.active_count(),
            }
            answer["caches"] = {name: dict(read()) for name, read in sorted(self._gauges.items())}
            answer["events"] = dict(self._metrics.counters)
            if self._integrity is not None:
                answer["integrity"] = self._integrity()
        return answer

    def audit_records(self, wanted: Filter, reads: bool) -> dict[str, Any]:
        records: list[Mapping[str, Any]] = list(query(self._audit_directory, wanted))
        if reads and self._audit is not None:
            records += [
                {**read, "chain": None}
                for read in self._audit.reads.records()
                if wanted.admits(read)
            ]
            records = sorted(
                records,
                key=lambda record: (str(record["ts"]), record["chain"] is None),
                reverse=True,
            )[: wanted.limit]
        return {"records": records, "returned": len(records), "limit": wanted.limit}

    def audit_verdict(self) -> dict[str, Any]:
        return verify(self._audit_directory).as_dict()


def _point(moment: Moment, with_memory: bool) -> dict[str, Any]:
    return {
        "at": iso(datetime.fromtimestamp(moment.at, UTC)),
        "calls": moment.calls,
        "errors": moment.errors,
        "average_ms": moment.average_ms,
        "maximum_ms": moment.maximum_ms,
    } | ({"memory_bytes": moment.memory_bytes} if with_memory else {})


def _method(figures: Figures) -> dict[str, Any]:
    return {
        "method": figures.tool,
        "count": figures.count,
        "avgMs": figures.average_ms,
        "maxMs": figures.maximum_ms,
        "p50Ms": figures.p50_ms,
        "p95Ms": figures.p95_ms,
        "p99Ms": figures.p99_ms,
        "errors": figures.errors,
    }
