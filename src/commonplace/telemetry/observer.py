"""Events of the edge other than calls: counters, and trace and log lines if enabled."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from commonplace.kernel.json_types import Json
from commonplace.telemetry.logs import DIAGNOSTICS
from commonplace.telemetry.metrics import Metrics
from commonplace.telemetry.redaction import scrub
from commonplace.telemetry.trace import Tracer

log = logging.getLogger(DIAGNOSTICS)


class EdgeObserver:
    """Where the edge reports its events."""

    def __init__(self, tracer: Tracer, metrics: Metrics) -> None:
        self._tracer = tracer
        self._metrics = metrics
        self._diagnostics = log.isEnabledFor(logging.DEBUG)
        self.watches_frames = self._diagnostics or tracer.wants("init:frame")

    def event(self, label: str, data: Mapping[str, Json]) -> None:
        """Report an event, for traces and diagnostics."""
        self._tracer.emit(
            label,
            {
                name: scrub(value) if isinstance(value, str) else value
                for name, value in data.items()
            },
        )
        if self._diagnostics:
            log.debug("%s %s", label, " ".join(f"{name}={value}" for name, value in data.items()))

    def count(self, name: str) -> None:
        """Raise a counter."""
        self._metrics.count(name)
