"""Measure the instruction catalogue at 100 to 50,000 entries.

Rates against a trivial tool, CPU time of searches, durable writes, start, memory, and the
objectives of the contract over HTTP. `make bench SUITE=instructions` runs everything. To run less,
name parts (start, read, search, write, http) and sizes:

    python -m benchmarks.instructions read write 100 5000
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks.instructions_http import measure_http
from benchmarks.instructions_measures import (
    measure_reads,
    measure_searches,
    measure_start,
    measure_writes,
    write_corpus,
)
from benchmarks.instructions_reports import (
    Marks,
    report_objectives,
    report_reads,
    report_searches,
    report_starts,
    report_writes,
)
from benchmarks.measure import show, verdict

SIZES = (100, 1_000, 5_000, 50_000)
PARTS = ("start", "read", "search", "write", "http")


def main() -> int:
    named = [argument for argument in sys.argv[1:] if argument in PARTS]
    parts = tuple(named) or PARTS
    sizes = tuple(int(argument) for argument in sys.argv[1:] if argument not in PARTS) or SIZES
    marks: Marks = []
    starts, reads, searches, writes = {}, {}, {}, {}
    with tempfile.TemporaryDirectory() as temporary:
        for size in sizes:
            home = Path(temporary) / str(size)
            write_corpus(home / "instructions", size)
            if "start" in parts:
                starts[size] = measure_start(home)
            if "read" in parts:
                reads[size] = measure_reads(home, size)
            if "search" in parts:
                searches[size] = measure_searches(home)
            if "write" in parts:
                writes[size] = measure_writes(home)
            if "http" in parts and size == 5_000:
                report_objectives(measure_http(home, size), marks)
            shutil.rmtree(home)
        if reads:
            report_reads(reads, marks)
        if searches:
            report_searches(searches, marks)
        if writes:
            report_writes(writes, marks)
        if starts:
            report_starts(starts, marks)
    show("marks", ["mark", "verdict"], [[mark, verdict(passed)] for mark, passed in marks])
    return 0 if all(passed for _, passed in marks) else 1


if __name__ == "__main__":
    raise SystemExit(main())
