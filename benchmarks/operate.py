"""What evidence costs: auditing a change, recording a read, verifying a trail.

`make bench SUITE=operate`.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.measure import show, verdict
from commonplace.bootstrap.app import App, build
from commonplace.dispatch.call import Call
from commonplace.kernel.auth import local_user
from commonplace.kernel.settings import AuditSettings, Settings
from commonplace.telemetry.audit import AuditLog
from commonplace.telemetry.verify import verify

ROUNDS = 9
WRITES = 150
READS = 3_000
RECORDS = 50_000
ALLOWED_COST = 0.15
CONTENT = "A line of a note that somebody keeps.\n" * 50


def app(audit: bool) -> App:
    data = Path(tempfile.mkdtemp(prefix="commonplace-bench-"))
    return build(
        Settings(data=data, audit=AuditSettings(enabled=audit, recent_reads=1000 if audit else 0)),
        environ={},
    )


async def writes(under_test: App, count: int) -> float:
    """Sequential file_write of 2 kB, each durable before its answer, per second."""
    user = local_user()
    begun = time.perf_counter()
    for number in range(count):
        arguments = {
            "project": "bench",
            "path": f"/n{number % 50}.md",
            "content": CONTENT,
            "mode": "TRUNCATE",
        }
        outcome = await under_test.pipeline.run(Call("file_write", arguments, user))
        assert outcome.error is None, outcome.error
    return count / (time.perf_counter() - begun)


async def reads(under_test: App, count: int) -> float:
    user = local_user()
    begun = time.perf_counter()
    for _ in range(count):
        await under_test.pipeline.run(Call("health_check", {}, user))
    return count / (time.perf_counter() - begun)


async def compare() -> bool:
    audited, plain = app(True), app(False)
    figures: dict[str, list[float]] = {
        "writes audited": [],
        "writes without": [],
        "reads recorded": [],
        "reads without": [],
    }
    for under_test in (audited, plain):
        await writes(under_test, 20)
        await reads(under_test, 200)
    for _ in range(ROUNDS):  # interleaved, so that a busy moment of the machine hits both
        figures["writes audited"].append(await writes(audited, WRITES))
        figures["writes without"].append(await writes(plain, WRITES))
        figures["reads recorded"].append(await reads(audited, READS))
        figures["reads without"].append(await reads(plain, READS))
    audited.close()
    plain.close()
    middle = {name: median(values) for name, values in figures.items()}
    rows = [
        (name, *(f"{figure:,.0f}" for figure in (middle[name], min(values), max(values))))
        for name, values in figures.items()
    ]
    show("Calls per second", ("case", "median", "lowest", "highest"), rows)
    cost = 1 - median(
        a / b for a, b in zip(figures["writes audited"], figures["writes without"], strict=True)
    )
    sys.stdout.write(
        f"{verdict(cost <= ALLOWED_COST)}: auditing a change costs {cost:.1%} of its throughput "
        f"(allowed {ALLOWED_COST:.0%})\n"
    )
    return cost <= ALLOWED_COST


def trail() -> bool:
    directory = Path(tempfile.mkdtemp(prefix="commonplace-bench-"))
    audit = AuditLog(directory)
    record = {
        "type": "call",
        "tool": "file_write",
        "tenant": "a",
        "outcome": "ok",
        "arguments": {"path": "/notes/a.md"},
    }
    begun = time.perf_counter()
    for _ in range(RECORDS):
        audit.append(record)
    appended = RECORDS / (time.perf_counter() - begun)
    audit.close()
    begun = time.perf_counter()
    checked = verify(directory)
    verified = checked.records / (time.perf_counter() - begun)
    show(
        "Audit trail",
        ("what", "records per second"),
        [("append", f"{appended:,.0f}"), ("verify", f"{verified:,.0f}")],
    )
    sys.stdout.write(f"{verdict(checked.ok)}: a trail of {RECORDS:,} records is whole\n")
    return checked.ok


def main() -> int:
    return 0 if all((asyncio.run(compare()), trail())) else 1


if __name__ == "__main__":
    sys.exit(main())
