"""Tables and marks of the benchmark of the instruction catalogue."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from benchmarks.instructions_http import Objective
from benchmarks.instructions_measures import QUERY_KINDS
from benchmarks.measure import show, verdict

Marks = list[tuple[str, bool]]


def report_reads(reads: dict[int, dict[str, float]], marks: Marks) -> None:
    names = [
        f"{tool} {way}"
        for tool in ("trivial", "get", "list")
        for way in ("sequential", "pipelined")
    ]
    shown = names[2:]
    for title, columns, suffix, form in (
        ("requests per second over stdio", names, "", ",.0f"),
        ("share of the trivial tool's rate, median of turns", shown, " share", ".2f"),
        ("CPU of the server's main thread, microseconds per request", names, " us", ".0f"),
    ):
        show(
            title,
            ["entries", *columns],
            [
                [f"{n:,}", *(f"{row[name + suffix]:{form}}" for name in columns)]
                for n, row in reads.items()
            ],
        )
    for name, least in (("get sequential", 0.8), ("get pipelined", 0.5), ("list sequential", 0.5)):
        marks.append(
            (
                f"{name} at least {least} of the trivial tool",
                all(row[f"{name} share"] >= least for row in reads.values()),
            )
        )
    if len(reads) > 1:
        for name in ("get sequential", "list sequential"):
            marks.append(
                (
                    f"{name} flat over sizes (15 %)",
                    is_flat([row[f"{name} share"] for row in reads.values()], 0.15),
                )
            )


def report_searches(
    searches: dict[int, tuple[dict[str, list[float]], dict[str, list[float]]]], marks: Marks
) -> None:
    for number, tool in enumerate(("search", "query")):
        rows = []
        for n, both in searches.items():
            spent = both[number]
            everything = sorted(value for values in spent.values() for value in values)
            rows.append(
                [
                    f"{n:,}",
                    *(f"{statistics.median(spent[name]):.2f}" for name in QUERY_KINDS),
                    f"{percentile(everything, 0.95):.2f}",
                ]
            )
            if n == 5_000:
                marks.append(
                    (
                        f"{tool}: under 1 ms of CPU at p95 with 5,000 entries",
                        percentile(everything, 0.95) < 1.0,
                    )
                )
        show(f"{tool}, limit 10: CPU ms per request", ["entries", *QUERY_KINDS, "p95 of all"], rows)
        low, high = min(searches), max(searches)
        if low < high:
            means = {
                n: statistics.mean(
                    value for values in searches[n][number].values() for value in values
                )
                for n in (low, high)
            }
            marks.append(
                (f"{tool} grows slower than the catalogue", means[high] / means[low] < high / low)
            )


def report_writes(writes: dict[int, tuple[float, float, float]], marks: Marks) -> None:
    show(
        "durable writes, share as the median of turns",
        ["entries", "add/s", "bare sequence/s", "share"],
        [
            [f"{n:,}", f"{ours:,.0f}", f"{bare:,.0f}", f"{share:.2f}"]
            for n, (ours, bare, share) in writes.items()
        ],
    )
    shares = [share for _, _, share in writes.values()]
    marks.append(("add at least a third of the bare sequence", min(shares) >= 1 / 3))
    if len(shares) > 1:
        marks.append(("add flat over sizes (share within 35 %)", is_flat(shares, 0.35)))


def report_starts(starts: dict[int, dict[str, float]], marks: Marks) -> None:
    show(
        "start",
        ["entries", "first get s", "first search s", "RSS MB"],
        [
            [f"{n:,}", f"{row['get']:.2f}", f"{row['search']:.2f}", f"{row['rss']:.0f}"]
            for n, row in starts.items()
        ],
    )
    if 5_000 in starts:
        row = starts[5_000]
        marks.append(("first get within 1 s on 5,000 files", row["get"] < 1.0))
        marks.append(("first search within 3 s on 5,000 files", row["search"] < 3.0))
        marks.append(("RSS after that under 120 MB", row["rss"] < 120))


def report_objectives(results: list[Objective], marks: Marks) -> None:
    rows = []
    for name, spent, rate, targets in results:
        p50, p95, p99 = (percentile(spent, share) for share in (0.5, 0.95, 0.99))
        passed = all(value < target for value, target in zip((p50, p95, p99), targets, strict=True))
        rows.append(
            [
                name,
                f"{rate:,.0f}",
                f"{p50:.1f}",
                f"{p95:.1f}",
                f"{p99:.1f}",
                "/".join(f"{target:.0f}" for target in targets),
                verdict(passed),
            ]
        )
        marks.append((f"objective of the contract: {name}", passed))
        if name == "reads":
            marks.append(("more than 1,000 reads/s with 50 HTTP clients", rate > 1000))
        if name == "simple mutations":
            marks.append(("more than 100 writes/s with 50 HTTP clients", rate > 100))
    show(
        "objectives of the contract over HTTP, 5,000 entries",
        ["class", "per s", "p50 ms", "p95 ms", "p99 ms", "targets", "verdict"],
        rows,
    )


def percentile(values: Sequence[float], share: float) -> float:
    return values[min(len(values) - 1, int(len(values) * share))]


def is_flat(values: Sequence[float], tolerance: float) -> bool:
    return max(values) <= min(values) * (1 + tolerance)
