"""Compare checkouts of the product in turns: what the embedded default costs before and after.

python -m benchmarks.versions ../before           another checkout with its own .venv, and this one
python -m benchmarks.versions ../a ../b --rounds 7

Each round starts every checkout once over stdio, in a new data folder and by words alone, and calls
the same tools with the same texts. Printed are medians over the rounds, and the ratio of each
checkout to the first one: above 1 is faster, or more memory.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import orjson

from benchmarks.measure import ROOT, StdioServer, call_line, median, show
from commonplace.kernel.json_types import JsonObject

SEEDED, CALLS = 300, 400
SYLLABLES = ("ba", "de", "fi", "go", "ku", "la", "me", "ni", "po", "ru", "sa", "te", "vi", "wo")
WORDS = [
    first + second + third for first in SYLLABLES for second in SYLLABLES for third in SYLLABLES
]
WEIGHTS = [1 / (rank + 3) for rank in range(len(WORDS))]  # few words are frequent, as in texts


def draw(source: random.Random, words: int) -> str:
    return " ".join(source.choices(WORDS, WEIGHTS, k=words))


def texts(source: random.Random) -> Iterator[str]:
    while True:
        yield "\n".join(draw(source, 12) for _ in range(8))


def calls(source: random.Random) -> Iterator[tuple[str, list[JsonObject]]]:
    """Yield tools with the arguments of their calls: writes first, then what reads them."""
    bodies = [body for _, body in zip(range(SEEDED), texts(source), strict=False)]
    paths = [f"/notes/{number % 20}/{number}.md" for number in range(SEEDED)]
    reads = [number % SEEDED for number in range(CALLS)]
    file = {"project": "bench"}
    yield (
        "file_write",
        [{**file, "path": path, "content": body} for path, body in zip(paths, bodies, strict=True)],
    )
    common = {"priority": 50, "audience": "all", "requirement": "optional", "categories": ["bench"]}
    yield (
        "instructions_add",
        [
            {
                "entry": {"id": f"rule-{at}", "title": draw(source, 4), "body": body, **common},
                "lax": True,
            }
            for at, body in enumerate(bodies)
        ],
    )
    yield (
        "rekall_add",
        [
            {"type": "bug", "title": f"{draw(source, 5)} {at}", "content": body}
            for at, body in enumerate(bodies)
        ],
    )
    yield "file_read", [{**file, "path": paths[at]} for at in reads]
    yield "file_stat", [{**file, "path": paths[at]} for at in reads]
    yield "file_search", [{**file, "query": draw(source, 3)} for _ in reads]
    yield "instructions_get", [{"id": f"rule-{at}"} for at in reads]
    yield "instructions_search", [{"q": draw(source, 2)} for _ in reads]
    yield "rekall_search", [{"query": draw(source, 3)} for _ in reads]
    yield "usage_track", [{"id": f"rule-{at}"} for at in reads]


def run_checkout(checkout: Path) -> Mapping[str, float]:
    """Return the figures of one start of a checkout; of a tool, its calls a second."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            "COMMONPLACE_HOME": folder,
            "COMMONPLACE_MODELS": str(Path(folder) / "no-models"),
            "MCP_ENABLE_MUTATION": "1",
            "PYTHONPATH": "",
        }
        command = [str(checkout / ".venv" / "bin" / "commonplace"), "--data", folder, "serve"]
        server = StdioServer(command, environment)
        try:
            figures: dict[str, float] = {}
            for name, arguments in calls(random.Random(7)):
                figures[name] = len(arguments) / sum(_timed(server, name, row) for row in arguments)
                _settle(server, name)
            started = {"start ms": server.started_seconds * 1e3, "memory MB": server.idle_rss_mb}
            return started | figures
        finally:
            server.close()


def _timed(server: StdioServer, name: str, arguments: JsonObject) -> float:
    line = call_line(name, arguments, 1)
    begun = time.perf_counter()
    answer = server.request_raw(line)
    seconds = time.perf_counter() - begun
    result = orjson.loads(answer).get("result") or {}
    if not result or result.get("isError"):
        raise SystemExit(f"{name} failed: {answer[:400]!r}")
    return seconds


def _settle(server: StdioServer, name: str) -> None:
    """Wait until a new file is found, so that the next calls do not compete with indexing."""
    marker = name.replace("_", "")
    written = {"project": "bench", "path": f"/{marker}.md", "content": f"settled {marker}"}
    _timed(server, "file_write", written)
    line = call_line("file_search", {"project": "bench", "query": marker}, 1)
    end = time.monotonic() + 60
    while f"{marker}.md".encode() not in server.request_raw(line):
        if time.monotonic() > end:
            raise SystemExit("the files were not indexed within a minute")
        time.sleep(0.05)


def report(checkouts: Sequence[Path], rounds: int) -> None:
    figures: dict[Path, list[Mapping[str, float]]] = {checkout: [] for checkout in checkouts}
    for number in range(rounds):
        order = checkouts if number % 2 == 0 else checkouts[::-1]
        for checkout in order:
            figures[checkout].append(run_checkout(checkout))
    rows = []
    for name in figures[checkouts[0]][0]:
        values = [median([row[name] for row in figures[checkout]]) for checkout in checkouts]
        cells = [name, f"{values[0]:,.0f}"]
        for value in values[1:]:
            cells += [f"{value:,.0f}", f"{value / values[0]:.2f}"]
        rows.append(cells)
    head = ["", checkouts[0].name]
    for checkout in checkouts[1:]:
        head += [checkout.name, "ratio"]
    show(f"calls a second ({rounds} rounds); of start and memory less is better", head, rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkouts", nargs="+", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    checkouts = [path.resolve() for path in chosen.checkouts]
    checkouts += [ROOT] if ROOT not in checkouts else []
    for checkout in checkouts:
        if not os.access(checkout / ".venv" / "bin" / "commonplace", os.X_OK):
            raise SystemExit(f"{checkout} has no .venv: run make setup there")
    report(checkouts, chosen.rounds)


if __name__ == "__main__":
    main()
