"""Counts and latencies per tool and tenant since the process started.

Each pair of tool and tenant takes constant memory.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field

from commonplace.telemetry.timeline import Timeline

BUCKETS_PER_DOUBLING = 8  # a quantile is then at most 4.5 % off
BUCKETS = 36 * BUCKETS_PER_DOUBLING  # 1 us to 19 hours
HISTOGRAM_DOUBLINGS = range(8, 28, 2)  # 256 us to 67 s, each bound four times the one before
HISTOGRAM_SECONDS = tuple(2**doublings / 1e6 for doublings in HISTOGRAM_DOUBLINGS)
MAX_TENANTS = 1000
OTHER_TENANTS = "(others)"


class Series:
    """The calls of one tool by one tenant."""

    __slots__ = ("buckets", "codes", "count", "maximum", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        self.maximum = 0.0
        self.codes: dict[str, int] = {}
        self.buckets = [0] * BUCKETS

    def add(self, seconds: float, code: str | None) -> None:
        """Count a call."""
        self.count += 1
        self.total += seconds
        if seconds > self.maximum:
            self.maximum = seconds
        microseconds = seconds * 1e6
        slot = int(math.log2(microseconds) * BUCKETS_PER_DOUBLING) if microseconds > 1 else 0
        self.buckets[slot if slot < BUCKETS else BUCKETS - 1] += 1
        if code is not None:
            self.codes[code] = self.codes.get(code, 0) + 1

    def histogram(self) -> tuple[int, ...]:
        """Return how many calls took at most each of HISTOGRAM_SECONDS."""
        return tuple(
            sum(self.buckets[: doublings * BUCKETS_PER_DOUBLING])
            for doublings in HISTOGRAM_DOUBLINGS
        )


@dataclass(frozen=True, slots=True)
class ToolFigures:
    """The figures of a tool: rounded milliseconds, and the exact sum in seconds for counters."""

    tool: str
    count: int
    errors: int
    average_ms: float
    maximum_ms: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    total_seconds: float = 0.0
    codes: dict[str, int] = field(default_factory=dict)
    histogram: tuple[int, ...] = ()


class Metrics:
    """The metrics of this process: for health checks, tools, /metrics and the console."""

    def __init__(self) -> None:
        self._series: dict[tuple[str, str], Series] = {}
        self._tenants: set[str] = set()
        self.counters: dict[str, int] = {}
        # Gauges that are measured only when the metrics are read.
        self.probes: list[Callable[[], Awaitable[Mapping[str, float]]]] = []
        self.timeline = Timeline()

    def record(self, tool: str, tenant: str, seconds: float, code: str | None = None) -> None:
        """Record a finished call; `code` is the error code of a failed one."""
        series = self._series.get((tool, tenant))
        if series is None:
            series = self._open(tool, tenant)
        series.add(seconds, code)
        self.timeline.record(tenant, seconds, code is not None)

    def count(self, name: str, by: int = 1) -> None:
        """Raise a counter that belongs to no tool: malformed lines, refused logins."""
        self.counters[name] = self.counters.get(name, 0) + by

    def figures(self, tenant: str | None = None) -> list[ToolFigures]:
        """Return figures by tool, sorted by name; of one tenant, or of all."""
        by_tool: dict[str, list[Series]] = {}
        for (tool, owner), series in list(self._series.items()):
            if tenant is None or owner == tenant:
                by_tool.setdefault(tool, []).append(series)
        return [_figures(tool, by_tool[tool]) for tool in sorted(by_tool)]

    def by_tenant(self) -> list[tuple[str, ToolFigures]]:
        """Return figures by tenant and tool."""
        return [
            (tenant, _figures(tool, (series,)))
            for (tool, tenant), series in sorted(self._series.items(), key=lambda item: item[0])
        ]

    def totals(self, tenant: str | None = None) -> ToolFigures:
        """Return the figures of all tools together."""
        return _figures(
            "",
            [
                s
                for (_, owner), s in list(self._series.items())
                if tenant is None or owner == tenant
            ],
        )

    def _open(self, tool: str, tenant: str) -> Series:
        if tenant not in self._tenants:
            if len(self._tenants) >= MAX_TENANTS:
                tenant = OTHER_TENANTS
            self._tenants.add(tenant)
        return self._series.setdefault((tool, tenant), Series())


def _figures(tool: str, series: Iterable[Series]) -> ToolFigures:
    merged = Series()
    for part in series:
        merged.count += part.count
        merged.total += part.total
        merged.maximum = max(merged.maximum, part.maximum)
        merged.buckets = [a + b for a, b in zip(merged.buckets, part.buckets, strict=True)]
        for code, count in part.codes.items():
            merged.codes[code] = merged.codes.get(code, 0) + count
    p50, p95, p99 = (_quantile(merged, share) for share in (0.50, 0.95, 0.99))
    average = merged.total / merged.count if merged.count else 0.0
    return ToolFigures(
        tool=tool,
        count=merged.count,
        errors=sum(merged.codes.values()),
        average_ms=round(average * 1e3, 3),
        maximum_ms=round(merged.maximum * 1e3, 3),
        p50_ms=p50,
        p95_ms=p95,
        p99_ms=p99,
        total_seconds=merged.total,
        codes=merged.codes,
        histogram=merged.histogram(),
    )


def _quantile(series: Series, share: float) -> float:
    wanted = math.ceil(share * series.count)
    seen = 0
    for slot, count in enumerate(series.buckets):
        seen += count
        if count and seen >= wanted:
            microseconds: float = 2 ** ((slot + 0.5) / BUCKETS_PER_DOUBLING)
            return round(min(microseconds / 1e3, series.maximum * 1e3), 3)
    return 0.0
