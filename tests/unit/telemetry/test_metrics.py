"""Counts and quantiles in constant memory."""

from __future__ import annotations

import random
import statistics

import pytest

from commonplace.telemetry.metrics import MAX_TENANTS, OTHER_TENANTS, Metrics
from commonplace.telemetry.prometheus import render_prometheus


def test_quantiles_are_within_five_percent_of_the_exact_ones() -> None:
    metrics, rng = Metrics(), random.Random(7)
    seconds = [rng.lognormvariate(-6, 1.5) for _ in range(20_000)]
    for value in seconds:
        metrics.record("t", "a", value)
    (figures,) = metrics.figures()
    exact = statistics.quantiles(seconds, n=100, method="inclusive")
    for told, right in (
        (figures.p50_ms, exact[49]),
        (figures.p95_ms, exact[94]),
        (figures.p99_ms, exact[98]),
    ):
        assert abs(told - right * 1e3) <= right * 1e3 * 0.05
    assert figures.count == 20_000
    assert abs(figures.average_ms - statistics.fmean(seconds) * 1e3) < 0.001
    assert figures.maximum_ms == round(max(seconds) * 1e3, 3)


def test_no_quantile_is_above_the_maximum() -> None:
    metrics = Metrics()
    metrics.record("t", "a", 0.010)
    (figures,) = metrics.figures()
    assert figures.p99_ms <= figures.maximum_ms == 10.0


def test_tenants_are_counted_separately_and_together() -> None:
    metrics = Metrics()
    for tenant, count in (("a", 3), ("b", 2)):
        for _ in range(count):
            metrics.record("tool", tenant, 0.001, "NOT_FOUND" if tenant == "b" else None)
    assert [(f.count, f.errors) for f in metrics.figures("a")] == [(3, 0)]
    assert [(f.count, f.errors, f.codes) for f in metrics.figures("b")] == [
        (2, 2, {"NOT_FOUND": 2})
    ]
    assert metrics.totals().count == 5
    assert metrics.figures("c") == []


def test_memory_is_bounded_for_any_number_of_tenants() -> None:
    metrics = Metrics()
    for number in range(MAX_TENANTS + 500):
        metrics.record("tool", f"tenant-{number}", 0.001)
    tenants = {tenant for tenant, _ in metrics.by_tenant()}
    assert len(tenants) == MAX_TENANTS + 1
    assert dict(metrics.by_tenant())[OTHER_TENANTS].count == 500
    assert metrics.totals().count == MAX_TENANTS + 500


def test_the_sum_of_latencies_never_decreases() -> None:
    """It was the rounded average times the count, so that many fast calls after a slow one took
    seconds away.
    """
    metrics = Metrics()
    before = 0.0
    for seconds in [0.0037, *[0.0000004] * 2000]:
        metrics.record("tool", "tenant", seconds)
        line = next(
            line
            for line in render_prometheus(metrics, "1", 1.0).splitlines()
            if line.startswith("commonplace_call_seconds_sum")
        )
        told = float(line.rsplit(" ", 1)[1])
        assert told >= before
        before = told
    assert before == pytest.approx(0.0045, abs=1e-6)


def test_the_histogram_counts_every_call_and_never_goes_back() -> None:
    metrics = Metrics()
    before: dict[str, float] = {}
    for seconds in (0.0001, 0.0003, 0.002, 0.02, 0.9, 100.0, 0.0001):
        metrics.record("tool", "tenant", seconds)
        metrics.figures()
        lines = render_prometheus(metrics, "1", 1.0).splitlines()
        now = {
            name: float(value)
            for name, value in (line.rsplit(" ", 1) for line in lines if line[0] != "#")
            if "_bucket" in name or "_total" in name or "_count" in name
        }
        assert all(now[name] >= value for name, value in before.items())
        before = now
    counts = {name.split('le="')[1][:-2]: value for name, value in before.items() if "le=" in name}
    assert (counts["0.000256"], counts["0.001024"], counts["1.04858"]) == (2, 3, 6)
    assert (counts["67.1089"], counts["+Inf"]) == (6, 7)
    assert list(counts.values()) == sorted(counts.values())


def test_prometheus_text_escapes_labels_and_counts_everything() -> None:
    metrics = Metrics()
    metrics.record("tool", 'a"b\\c\nd', 0.002, "BUSY")
    metrics.count("malformed", 3)
    text = render_prometheus(metrics, "1.2.3", 4.5)
    assert 'commonplace_calls_total{tool="tool",tenant="a\\"b\\\\c\\nd"} 1' in text
    assert 'code="BUSY"} 1' in text
    assert 'commonplace_events_total{event="malformed"} 3' in text
    assert 'commonplace_info{version="1.2.3"} 1' in text
    for line in text.splitlines():
        assert line.startswith("# ") or float(line.rsplit(" ", 1)[1]) >= 0
