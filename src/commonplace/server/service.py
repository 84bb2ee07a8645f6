"""The server about itself: health, metrics, status, audit."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping

from commonplace.kernel.auth import AuthContext, Scope
from commonplace.kernel.clock import Clock, utc_now
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.server.model import (
    AuditPage,
    CallFigures,
    ProcessDiagnostics,
    ProcessOverview,
    ProcessUsage,
    ServerHealth,
    ServerOverview,
)
from commonplace.telemetry.audit import AuditLog
from commonplace.telemetry.metrics import Metrics
from commonplace.telemetry.query import AuditFilter
from commonplace.telemetry.timeline import memory_bytes
from commonplace.telemetry.trail import AuditTrail
from commonplace.telemetry.verify import ChainVerdict


class ServerService:
    """Reads what the process has counted and recorded."""

    def __init__(
        self,
        version: str,
        metrics: Metrics,
        trail: AuditTrail,
        audit: AuditLog | None,
        *,
        with_diagnostics: bool = False,
        read_only: bool = False,
        gauges: Mapping[str, Callable[[], Mapping[str, int]]] | None = None,
        integrity: Callable[[], JsonObject] | None = None,
        started: float | None = None,
        clock: Clock = utc_now,
    ) -> None:
        self._version = version
        self._metrics = metrics
        self._trail = trail
        self._audit = audit
        self._with_diagnostics = with_diagnostics
        self._read_only = read_only
        self._gauges = {} if gauges is None else gauges
        self._integrity = integrity
        self._clock = clock
        self._started = time.monotonic() if started is None else started

    def health(self) -> ServerHealth:
        """Return the status, with diagnostics if the operator enabled them."""
        diagnostics = None
        if self._with_diagnostics:
            diagnostics = ProcessDiagnostics(
                os.getpid(),
                self._uptime_seconds(),
                self._metrics.totals().count,
                dict(self._metrics.counters),
            )
        return ServerHealth(self._clock(), self._version, diagnostics)

    def figures(self, caller: AuthContext) -> CallFigures:
        """Return figures of the caller's tenant; of the whole server for an administrator."""
        everyone = caller.has(Scope.ADMIN)
        methods = self._metrics.figures(None if everyone else caller.tenant)
        return CallFigures(
            self._clock(),
            "server" if everyone else "tenant",
            self._uptime_seconds(),
            tuple(methods),
        )

    def overview(self, caller: AuthContext) -> ServerOverview:
        """Return the last hour of the caller's tenant; of the process for an administrator."""
        everyone = caller.has(Scope.ADMIN)
        timeline = self._metrics.timeline.slots(None if everyone else caller.tenant)
        return ServerOverview(
            self._version,
            self._uptime_seconds(),
            self._read_only,
            caller,
            tuple(timeline),
            self._process() if everyone else None,
        )

    def audit_records(self, wanted: AuditFilter, with_reads: bool) -> AuditPage:
        """Return records that match, with the latest reads of this process where asked."""
        records: list[Mapping[str, Json]] = list(self._trail.query(wanted))
        if with_reads and self._audit is not None:
            records += [
                {**read, "chain": None}
                for read in self._audit.reads.records()
                if wanted.matches(read)
            ]
            records = sorted(
                records,
                key=lambda record: (str(record["ts"]), record["chain"] is None),
                reverse=True,
            )[: wanted.limit]
        return AuditPage(tuple(records), wanted.limit)

    def verify_audit(self) -> ChainVerdict:
        """Check every audit chain."""
        return self._trail.verify()

    def _process(self) -> ProcessOverview:
        usage = ProcessUsage(
            os.getpid(), memory_bytes(), round(time.process_time(), 3), threading.active_count()
        )
        return ProcessOverview(
            usage,
            {name: dict(read()) for name, read in sorted(self._gauges.items())},
            dict(self._metrics.counters),
            self._integrity() if self._integrity is not None else None,
        )

    def _uptime_seconds(self) -> float:
        return round(time.monotonic() - self._started, 3)
