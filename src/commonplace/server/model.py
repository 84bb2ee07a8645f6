"""What the server reports about itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from commonplace.kernel.auth import AuthContext
from commonplace.kernel.json_types import Json
from commonplace.telemetry.metrics import ToolFigures
from commonplace.telemetry.timeline import TimelineSlot


@dataclass(frozen=True, slots=True)
class ProcessDiagnostics:
    """Details of the process that an operator has added to its health."""

    pid: int
    uptime_seconds: float
    calls: int
    events: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ServerHealth:
    """A sign of life."""

    at: datetime
    version: str
    diagnostics: ProcessDiagnostics | None = None


@dataclass(frozen=True, slots=True)
class CallFigures:
    """Calls and latencies since the process started, of one tenant or of all."""

    at: datetime
    scope: Literal["server", "tenant"]
    uptime_seconds: float
    methods: tuple[ToolFigures, ...]


@dataclass(frozen=True, slots=True)
class ProcessUsage:
    """What the process uses of the machine."""

    pid: int
    memory_bytes: int
    cpu_seconds: float
    threads: int


@dataclass(frozen=True, slots=True)
class ProcessOverview:
    """What only administrators see: usage, sizes of caches, counters, integrity of the data."""

    usage: ProcessUsage
    caches: Mapping[str, Mapping[str, int]]
    events: Mapping[str, int]
    integrity: Mapping[str, Json] | None


@dataclass(frozen=True, slots=True)
class ServerOverview:
    """The server and the caller at a glance, with the last hour."""

    version: str
    uptime_seconds: float
    read_only: bool
    caller: AuthContext
    timeline: tuple[TimelineSlot, ...]
    process: ProcessOverview | None = None


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Records of the audit trail, newest first."""

    records: tuple[Mapping[str, Json], ...]
    limit: int
