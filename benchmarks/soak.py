"""Measure how the memory of a server grows under mixed calls by several keys over HTTP.

`make bench SUITE=soak`.

    python -m benchmarks.soak --minutes 15 --warm-up 5

Every toolset is read and written with a bounded amount of data, so memory that still grows is a
leak. The mark is less than 200 bytes per call after the warm-up. `--trace` prints what the memory
consists of and which objects increased.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import show, verdict
from benchmarks.soak_worker import Totals, Worker
from commonplace.kernel.config.locations import user_data_folder

ALLOWED_BYTES_PER_CALL = 200.0
CALLS_OF_TEN_MINUTES = 50_000
TENANTS = ("team-a", "team-a", "team-b", "team-c")


@contextlib.contextmanager
def served(trace: bool) -> Iterator[tuple[str, int, list[str]]]:
    """Run a server with keys and mutation; yield its address, process id and a key per worker."""
    home = Path(tempfile.mkdtemp(prefix="commonplace-soak-"))
    program = [sys.executable, "-m", "commonplace"]
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("COMMONPLACE_", "MCP_"))
    }
    environment = {
        **kept,
        "COMMONPLACE_HOME": str(home),
        "MCP_ENABLE_MUTATION": "1",
        "COMMONPLACE_MODELS": str(user_data_folder(os.environ) / "models"),
    }
    if trace:
        environment |= {
            "COMMONPLACE_EXTRA_TOOLSETS": "benchmarks.soak_trace:toolset",
            "PYTHONPATH": str(Path(__file__).parents[1]),
        }
    keys = []
    for number, tenant in enumerate(TENANTS):
        scope = "admin" if trace else "write"
        command = [
            *program,
            "keys",
            "add",
            "--tenant",
            tenant,
            "--label",
            f"soak-{number}",
            "--scope",
            scope,
        ]
        made = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True, cwd=home
        )
        keys.append(next(word for word in made.stdout.split() if word.startswith("cp_")))
    errors = home / "stderr.txt"
    command = [*program, "serve", "--http", "127.0.0.1:0", "--auth", "keys"]
    with errors.open("wb") as stderr:
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=stderr,
            stderr=stderr,
            cwd=Path.cwd(),
        )
    try:
        yield _address(process, errors), process.pid, keys
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        sys.stdout.write(errors.read_text()[-2000:] if trace else "")


def _address(process: subprocess.Popen[bytes], errors: Path) -> str:
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        found = re.search(r"listens on http://([\d.:]+)/mcp", errors.read_text())
        if found:
            return found[1]
        select.select([], [], [], 0.02)
    raise SystemExit(f"the server did not start: {errors.read_text()}")


def memory_of(pid: int) -> dict[str, int]:
    """Return the resident bytes of a process: now, anonymous, and the highest."""
    fields = dict(
        line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
    )
    return {name: int(fields[name].split()[0]) * 1024 for name in ("VmRSS", "RssAnon", "VmHWM")}


def soak(minutes: float, warm_up: float, trace: bool, only: str = "") -> bool:
    totals, stop = Totals(), threading.Event()
    with served(trace) as (address, pid, keys):
        workers = [
            Worker(number, address, key, totals, stop, only) for number, key in enumerate(keys)
        ]
        threads = [threading.Thread(target=worker.run, daemon=True) for worker in workers]
        for thread in threads:
            thread.start()
        begun = time.monotonic()
        rows: list[tuple[float, int, int]] = []
        judge = Worker(len(keys), address, keys[0], Totals(), stop)
        step = max(5.0, minutes * 60 / 30)
        while (passed := time.monotonic() - begun) < minutes * 60:
            stop.wait(min(step, minutes * 60 - passed + 0.01))
            if not any(thread.is_alive() for thread in threads):
                break
            if trace and passed >= warm_up * 60 and len(rows) % 6 == 0:
                sys.stdout.write("\n".join(judge.growth()) + "\n")
            rows.append((time.monotonic() - begun, totals.calls, memory_of(pid)["RssAnon"]))
            sys.stdout.write(
                f"{rows[-1][0]:7.0f} s {rows[-1][1]:9,} calls {rows[-1][2] / 1e6:8.1f} MB\n"
            )
            sys.stdout.flush()
        stop.set()
        for thread in threads:
            thread.join(120)
    return _judge(rows, warm_up * 60, totals)


def _judge(rows: list[tuple[float, int, int]], warm_up_seconds: float, totals: Totals) -> bool:
    late = [row for row in rows if row[0] >= warm_up_seconds]
    calls, seconds = late[-1][1] - late[0][1], late[-1][0] - late[0][0]
    growth = _slope([(row[1], row[2]) for row in late])
    enough = calls >= CALLS_OF_TEN_MINUTES * min(1.0, seconds / 600) * 0.95
    slowest = sorted(totals.seconds)
    show(
        "Soak",
        ("figure", "value"),
        [
            ("calls", f"{totals.calls:,}"),
            ("calls after the warm-up", f"{calls:,} in {seconds:.0f} s"),
            (
                "median and 99th percentile",
                (
                    f"{slowest[len(slowest) // 2] * 1e3:.1f} ms, "
                    f"{slowest[len(slowest) * 99 // 100] * 1e3:.1f} ms"
                ),
            ),
            ("growth per call", f"{growth:.0f} bytes"),
            (
                "unexpected failures",
                ", ".join(f"{name} x{count}" for name, count in totals.failures.items()) or "none",
            ),
        ],
    )
    passed = growth < ALLOWED_BYTES_PER_CALL and enough and not totals.failures
    sys.stdout.write(
        f"{verdict(passed)}: {growth:.0f} bytes per call (allowed {ALLOWED_BYTES_PER_CALL:.0f}), "
        f"{calls:,} calls\n"
    )
    return passed


def _slope(points: list[tuple[int, int]]) -> float:
    """Return bytes per call by least squares, so that no single sample decides."""
    count = len(points)
    mean_x, mean_y = sum(x for x, _ in points) / count, sum(y for _, y in points) / count
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 0.0


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.soak", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--warm-up", type=float, default=5.0, help="minutes that are not judged")
    parser.add_argument("--trace", action="store_true", help="print what the memory is made of")
    parser.add_argument(
        "--only",
        default="",
        help="only kinds of calls whose name contains this: file, recall, openapi, ...",
    )
    options = parser.parse_args()
    return (
        0
        if soak(
            options.minutes, min(options.warm_up, options.minutes / 2), options.trace, options.only
        )
        else 1
    )


if __name__ == "__main__":
    raise SystemExit(main())
