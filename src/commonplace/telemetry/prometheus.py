"""Metrics in the Prometheus text exposition format, version 0.0.4."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from commonplace.telemetry.metrics import HISTOGRAM_SECONDS, Metrics, ToolFigures

Rows = Sequence[tuple[str, ToolFigures]]


def render_prometheus(
    metrics: Metrics, version: str, uptime_seconds: float, gauges: Mapping[str, float] | None = None
) -> str:
    """Render all metrics. `gauges` are the answers of the probes."""
    rows = metrics.by_tenant()
    lines = [
        *_header("info", "gauge", "Version of the server."),
        f'commonplace_info{{version="{_escape(version)}"}} 1',
        *_header("uptime_seconds", "gauge", "Seconds since the process started."),
        f"commonplace_uptime_seconds {uptime_seconds:.3f}",
        *_header("calls_total", "counter", "Finished calls by tool and tenant."),
        *(
            f"commonplace_calls_total{{{_labels(figures.tool, tenant)}}} {figures.count}"
            for tenant, figures in rows
        ),
        *_header("call_errors_total", "counter", "Failed calls by tool, tenant and code."),
        *_errors(rows),
        *_header("call_seconds", "histogram", "Latency of calls."),
        *_latencies(rows),
        *_header("events_total", "counter", "Events that belong to no tool."),
        *(
            f'commonplace_events_total{{event="{_escape(name)}"}} {count}'
            for name, count in sorted(metrics.counters.items())
        ),
    ]
    for name, value in sorted((gauges or {}).items()):
        lines += [f"# TYPE commonplace_{name} gauge", f"commonplace_{name} {value:g}"]
    return "\n".join(lines) + "\n"


def _header(name: str, kind: str, text: str) -> tuple[str, str]:
    return f"# HELP commonplace_{name} {text}", f"# TYPE commonplace_{name} {kind}"


def _errors(rows: Rows) -> Iterator[str]:
    for tenant, figures in rows:
        labels = _labels(figures.tool, tenant)
        for code, count in sorted(figures.codes.items()):
            yield f'commonplace_call_errors_total{{{labels},code="{_escape(code)}"}} {count}'


def _latencies(rows: Rows) -> Iterator[str]:
    for tenant, figures in rows:
        labels = _labels(figures.tool, tenant)
        for bound, count in zip(HISTOGRAM_SECONDS, figures.histogram, strict=True):
            yield f'commonplace_call_seconds_bucket{{{labels},le="{bound:g}"}} {count}'
        yield f'commonplace_call_seconds_bucket{{{labels},le="+Inf"}} {figures.count}'
        yield f"commonplace_call_seconds_sum{{{labels}}} {figures.total_seconds:.6f}"
        yield f"commonplace_call_seconds_count{{{labels}}} {figures.count}"


def _labels(tool: str, tenant: str) -> str:
    return f'tool="{_escape(tool)}",tenant="{_escape(tenant)}"'


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
