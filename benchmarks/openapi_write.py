"""Fix, convert and generate on the 13 MB GitHub document: seconds and peak memory, beside the
reference's figures.

Each row is a fresh process that loads the document first, so the peak is that of one server with
one document.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

DATA = Path(os.environ.get("COMMONPLACE_TEST_DATA", Path(__file__).parents[2] / "shared" / "data"))
DOCUMENT = DATA / "openapi" / "dev" / "github-api.json"
ROUNDS = 3
# Seconds of the Go reference (erraggy/oastools 1.63) on a 2-core machine; its process peaks at
# about 1.0 GB.
REFERENCE = {
    "load": 2.15,
    "fix": 2.0,
    "fix, all flags": 2.0,
    "convert 3.1": 3.0,
    "convert 2.0": 3.0,
    "generate go": 0.5,
    "generate go, all": 0.5,
    "generate python": None,
}


def run(case: str) -> None:
    """One case in this process: prints seconds and peak megabytes."""
    from commonplace.kernel.gc_control import gc_paused
    from commonplace.openapi.engine.convert.chain import convert
    from commonplace.openapi.engine.document.load import load
    from commonplace.openapi.engine.fix import FixOptions, fix
    from commonplace.openapi.engine.generate.run import generate
    from commonplace.openapi.model import Family

    source = DOCUMENT.read_bytes()
    began = time.perf_counter()
    document = load(source)
    if case != "load":
        with gc_paused():
            began = time.perf_counter()
            if case.startswith("fix"):
                every = case.endswith("flags")
                fix(document.data, document.family, FixOptions(every, every, every, every))
            elif case.startswith("convert"):
                convert(document.data, document.family, Family(case.split()[1]))
            else:
                whole = case.endswith("all")
                language = "python" if "python" in case else "go"
                generate(
                    document.data,
                    document.family,
                    language=language,
                    client=whole or language == "python",
                    server=whole,
                )  # type: ignore[arg-type]
    seconds = time.perf_counter() - began
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    if len(sys.argv) > 1:
        run(sys.argv[1])
        return
    print(
        f"{DOCUMENT.name}, {DOCUMENT.stat().st_size / 1e6:.1f} MB; median of {ROUNDS}; load "
        f"average {os.getloadavg()[0]:.1f}"
    )
    print(f"{'case':<20}{'seconds':>9}{'peak MB':>9}{'reference s':>13}")
    for case, reference in REFERENCE.items():
        results = []
        for _ in range(ROUNDS):
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.openapi_write", case],
                capture_output=True,
                text=True,
                check=True,
            )
            results.append([float(part) for part in done.stdout.split()])
        seconds = statistics.median(result[0] for result in results)
        peak = max(result[1] for result in results)
        print(
            f"{case:<20}{seconds:>9.2f}{peak:>9.0f}"
            f"{reference if reference is not None else '-':>13}"
        )


if __name__ == "__main__":
    main()
