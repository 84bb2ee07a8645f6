"""Counts and latencies per tool and tenant since the process started, in constant memory per
pair.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field

from commonplace.telemetry.timeline import Timeline

BUCKETS_PER_DOUBLING = 8  # a quantile is then at most 4.5 % off
BUCKETS = 36 * BUCKETS_PER_DOUBLING  # 1 us to 19 hours
MAX_TENANTS = 1000
OTHER_TENANTS = "(others)"


class Series:
    """One tool for one tenant."""

    __slots__ = ("buckets", "codes", "count", "maximum", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        self.maximum = 0.0
        self.codes: dict[str, int] = {}
        self.buckets = [0] * BUCKETS

    def add(self, seconds: float, code: str | None) -> None:
        self.count += 1
        self.total += seconds
        if seconds > self.maximum:
            self.maximum = seconds
        microseconds = seconds * 1e6
        slot = int(math.log2(microseconds) * BUCKETS_PER_DOUBLING) if microseconds > 1 else 0
        self.buckets[slot if slot < BUCKETS else BUCKETS - 1] += 1
        if code is not None:
            self.codes[code] = self.codes.get(code, 0) + 1


@dataclass(frozen=True, slots=True)
class Figures:
    """What is told of a tool: rounded milliseconds, and the exact sum in seconds, which never
    goes back.
    """

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


class Metrics:
    """Filled by the pipeline's recorder, read by health, metrics_snapshot, /metrics and the
    console.
    """

    def __init__(self) -> None:
        self._series: dict[tuple[str, str], Series] = {}
        self._tenants: set[str] = set()
        self.counters: dict[str, int] = {}
        self.probes: list[
            Callable[[], Awaitable[Mapping[str, float]]]
        ] = []  # figures that are asked for when somebody looks
        self.timeline = Timeline()

    def record(self, tool: str, tenant: str, seconds: float, code: str | None = None) -> None:
        series = self._series.get((tool, tenant))
        if series is None:
            series = self._open(tool, tenant)
        series.add(seconds, code)
        self.timeline.record(tenant, seconds, code is not None)

    def count(self, name: str, by: int = 1) -> None:
        """A counter without a tool: malformed lines, refused logins."""
        self.counters[name] = self.counters.get(name, 0) + by

    def figures(self, tenant: str | None = None) -> list[Figures]:
        """Per tool in the order of names; of one tenant, or of all together."""
        by_tool: dict[str, list[Series]] = {}
        for (tool, owner), series in list(self._series.items()):
            if tenant is None or owner == tenant:
                by_tool.setdefault(tool, []).append(series)
        return [_figures(tool, by_tool[tool]) for tool in sorted(by_tool)]

    def by_tenant(self) -> list[tuple[str, Figures]]:
        return [
            (tenant, _figures(tool, (series,)))
            for (tool, tenant), series in sorted(self._series.items(), key=lambda item: item[0])
        ]

    def totals(self, tenant: str | None = None) -> Figures:
        """All tools together."""
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


def _figures(tool: str, series: Iterable[Series]) -> Figures:
    merged = Series()
    for one in series:
        merged.count += one.count
        merged.total += one.total
        merged.maximum = max(merged.maximum, one.maximum)
        merged.buckets = [a + b for a, b in zip(merged.buckets, one.buckets, strict=True)]
        for code, count in one.codes.items():
            merged.codes[code] = merged.codes.get(code, 0) + count
    p50, p95, p99 = (_quantile(merged, share) for share in (0.50, 0.95, 0.99))
    average = merged.total / merged.count if merged.count else 0.0
    return Figures(
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


def prometheus(
    metrics: Metrics, version: str, uptime_seconds: float, gauges: Mapping[str, float] | None = None
) -> str:
    """The text exposition format, version 0.0.4. `gauges`: what the probes answered."""
    lines = [
        "# HELP commonplace_info Version of the server.",
        "# TYPE commonplace_info gauge",
        f'commonplace_info{{version="{_label(version)}"}} 1',
        "# HELP commonplace_uptime_seconds Seconds since the process started.",
        "# TYPE commonplace_uptime_seconds gauge",
        f"commonplace_uptime_seconds {uptime_seconds:.3f}",
        "# HELP commonplace_calls_total Finished calls by tool and tenant.",
        "# TYPE commonplace_calls_total counter",
    ]
    rows = metrics.by_tenant()
    lines += [
        f"commonplace_calls_total{_labels(figures.tool, tenant)} {figures.count}"
        for tenant, figures in rows
    ]
    lines += [
        "# HELP commonplace_call_errors_total Failed calls by tool, tenant and code.",
        "# TYPE commonplace_call_errors_total counter",
    ]
    for tenant, figures in rows:
        for code, count in sorted(figures.codes.items()):
            lines.append(
                f'commonplace_call_errors_total{_labels(figures.tool, tenant)[:-1]},code="{_label(code)}"}} '
                f"{count}"
            )
    lines += [
        "# HELP commonplace_call_seconds Latency of calls.",
        "# TYPE commonplace_call_seconds summary",
    ]
    for tenant, figures in rows:
        opened = _labels(figures.tool, tenant)[:-1]
        for share, value in (
            ("0.5", figures.p50_ms),
            ("0.95", figures.p95_ms),
            ("0.99", figures.p99_ms),
        ):
            lines.append(f'commonplace_call_seconds{opened},quantile="{share}"}} {value / 1e3:.6f}')
        lines.append(f"commonplace_call_seconds_sum{opened}}} {figures.total_seconds:.6f}")
        lines.append(f"commonplace_call_seconds_count{opened}}} {figures.count}")
    lines += [
        "# HELP commonplace_events_total Events that belong to no tool.",
        "# TYPE commonplace_events_total counter",
    ]
    lines += [
        f'commonplace_events_total{{event="{_label(name)}"}} {count}'
        for name, count in sorted(metrics.counters.items())
    ]
    for name, value in sorted((gauges or {}).items()):
        lines += [f"# TYPE commonplace_{name} gauge", f"commonplace_{name} {value:g}"]
    return "\n".join(lines) + "\n"


def _labels(tool: str, tenant: str) -> str:
    return f'{{tool="{_label(tool)}",tenant="{_label(tenant)}"}}'


def _label(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
