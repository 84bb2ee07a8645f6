"""What the edge reports besides calls: counters always, trace and log lines where a variable
asks for them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from commonplace.telemetry.logs import DIAGNOSTICS
from commonplace.telemetry.metrics import Metrics
from commonplace.telemetry.redaction import scrub
from commonplace.telemetry.trace import Tracer

log = logging.getLogger(DIAGNOSTICS)


class EdgeObserver:
    def __init__(self, tracer: Tracer, metrics: Metrics) -> None:
        self._tracer = tracer
        self._metrics = metrics
        self._diagnoses = log.isEnabledFor(logging.DEBUG)
        self.watches_frames = self._diagnoses or tracer.wants("init:frame")

    def event(self, label: str, data: Mapping[str, Any]) -> None:
        self._tracer.emit(
            label,
            {
                name: scrub(value) if isinstance(value, str) else value
                for name, value in data.items()
            },
        )
        if self._diagnoses:
            log.debug("%s %s", label, " ".join(f"{name}={value}" for name, value in data.items()))

    def count(self, name: str) -> None:
        self._metrics.count(name)
