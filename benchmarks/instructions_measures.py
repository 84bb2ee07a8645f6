"""Measurements of the instruction catalogue over stdio: start, reads, searches and writes."""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from benchmarks.measure import ROOT, StdioServer, call_line, median, rss_mb

ROUNDS = 3
TURNS = 150
BLOCK = 50
PIPELINED = 4_000
WRITES = 15
WRITE_TURNS = 40
SEARCHES = 40
COMMON, FREQUENT = "error", "handler"
QUERIES = ("zephyrine", COMMON, "er", f"{COMMON} {FREQUENT}", "qqxxzzyy")
QUERY_KINDS = ("rare word", "in over half", "two characters", "two words", "no hit")


def write_corpus(folder: Path, size: int) -> None:
    """Write instructions of about 1.1 kB, with words distributed by Zipf's law.

    The vocabulary grows with the square root of the size, as that of a language does.
    """
    chance = random.Random(20_260_101)
    letters = "etaoinshrdlucmfwypvbgk"
    words = [
        "".join(chance.choice(letters) for _ in range(chance.randint(3, 10)))
        for _ in range(int(300 * size**0.5))
    ]
    weights = [1 / (rank + 3) for rank in range(len(words))]
    folder.mkdir(parents=True)
    for number in range(size):
        body = chance.choices(words, weights, k=165)
        if number % 10 < 6:
            body[10] = COMMON
        if number % 100 < 55:
            body[40] = FREQUENT
        if number in (3, size // 2):
            body[80] = QUERIES[0]
        text = "\n".join(" ".join(body[start : start + 15]) + "." for start in range(0, 165, 15))
        entry = {
            "id": f"rule-{number:06}",
            "title": " ".join(chance.choices(words, weights, k=5)),
            "body": text,
            "priority": 1 + number % 100,
            "audience": "all",
            "requirement": "recommended",
            "categories": [f"topic-{number % 40}", f"area-{number % 7}"],
            "createdAt": "2025-01-01T00:00:00.000Z",
            "updatedAt": "2025-01-01T00:00:00.000Z",
        }
        (folder / f"{entry['id']}.json").write_bytes(
            orjson.dumps(entry, option=orjson.OPT_INDENT_2)
        )


def open_server(home: Path, *, trivial: bool = False) -> StdioServer:
    environment = {
        "COMMONPLACE_HOME": str(home),
        "MCP_ENABLE_MUTATION": "1",
        "PYTHONPATH": str(ROOT),
        "INSTRUCTIONS_DIR": str(home / "instructions"),
    }
    if trivial:
        environment["COMMONPLACE_EXTRA_TOOLSETS"] = "benchmarks.peers.trivial:toolset"
    return StdioServer([sys.executable, "-m", "commonplace", "serve"], environment)


def make_lines(name: str, arguments: Callable[[int], dict[str, Any]], count: int) -> list[bytes]:
    return [call_line(name, arguments(number), number + 10) for number in range(count)]


def cpu_ns(pid: int) -> int:
    """Return the CPU time of a server's main thread, where reads run."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])


def wait_until_idle(pid: int) -> None:
    """Wait until a server has finished parsing its catalogue in the background."""
    spent = -1.0
    while True:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        now = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        if now - spent < 0.05:
            return
        spent = now
        time.sleep(0.5)


def measure_reads(home: Path, size: int) -> dict[str, float]:
    """Measure rates, shares of the trivial tool's rate, and CPU time per request.

    All tools run in one process, in short blocks in turns, so that they meet the same load. A share
    is the median over the turns; the CPU time is that of the server's main thread.
    """
    server = open_server(home, trivial=True)
    try:
        chance = random.Random(1)
        shapes = {
            "trivial": make_lines("add", lambda _: {"a": 1, "b": 2}, PIPELINED),
            "get": make_lines(
                "instructions_get", lambda _: {"id": f"rule-{chance.randrange(size):06}"}, PIPELINED
            ),
            "list": make_lines(
                "instructions_list",
                lambda _: {"limit": 10, "offset": chance.randrange(max(1, size - 10))},
                PIPELINED,
            ),
        }
        for requests in shapes.values():
            server.sequential(requests[:100])
        wait_until_idle(server.process.pid)
        figures: dict[str, float] = {}
        for way, turns, block, run in (
            ("sequential", TURNS, BLOCK, server.sequential),
            ("pipelined", ROUNDS * 3, PIPELINED // 4, server.pipelined),
        ):
            rates: dict[str, list[float]] = {name: [] for name in shapes}
            spent = dict.fromkeys(shapes, 0)
            for turn in range(turns):
                for name, requests in shapes.items():
                    start = turn * block % PIPELINED
                    before = cpu_ns(server.process.pid)
                    rates[name].append(run(requests[start : start + block]))
                    spent[name] += cpu_ns(server.process.pid) - before
            for name in shapes:
                figures[f"{name} {way}"] = median(rates[name])
                figures[f"{name} {way} share"] = median(
                    a / b for a, b in zip(rates[name], rates["trivial"], strict=True)
                )
                figures[f"{name} {way} us"] = spent[name] / turns / block / 1e3
        return figures
    finally:
        server.close()


def measure_searches(home: Path) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Return CPU milliseconds of the main thread per search and per query, by kind of query."""
    server = open_server(home)
    try:
        tools: dict[str, Callable[[str], dict[str, Any]]] = {
            "instructions_search": lambda q: {"q": q, "limit": 10},
            "instructions_query": lambda q: {
                "filters": {"text": q},
                "sort": {"field": "priority", "direction": "asc"},
                "limit": 10,
            },
        }
        results = []
        for tool, arguments in tools.items():
            spent: dict[str, list[float]] = {name: [] for name in QUERY_KINDS}
            for round_number in range(SEARCHES + 1):
                for name, q in zip(QUERY_KINDS, QUERIES, strict=True):
                    line = call_line(tool, arguments(q), 1)
                    before = cpu_ns(server.process.pid)
                    server.request_raw(line)
                    if round_number:
                        spent[name].append((cpu_ns(server.process.pid) - before) / 1e6)
            results.append(spent)
        return results[0], results[1]
    finally:
        server.close()


def measure_writes(home: Path) -> tuple[float, float, float]:
    """Measure adds and bare sequences of write, fsync, rename, fsync per second, and their ratio.

    Both run in short blocks in turns and in the same folder, because the cost of a new file depends
    on where the file system put the folder and what was deleted near it.
    """
    server = open_server(home)
    folder = home / "instructions"
    try:
        server.call("instructions_add", {"entry": {"id": "warm", "body": "x"}, "lax": True})
        server.call("instructions_search", {"q": "warm"})
        wait_until_idle(server.process.pid)
        ours, floor = [], []
        for turn in range(WRITE_TURNS):
            entries = [
                {"id": f"new-{turn}-{number}", "body": "Always close what you open. " * 40}
                for number in range(WRITES)
            ]
            ours.append(
                server.sequential(
                    [
                        call_line("instructions_add", {"entry": entry, "lax": True}, 1)
                        for entry in entries
                    ]
                )
            )
            floor.append(write_bare(folder, WRITES, turn))
        return median(ours), median(floor), median(a / b for a, b in zip(ours, floor, strict=True))
    finally:
        server.close()
        for path in [*folder.glob("new-*.json"), *folder.glob(".bare-*"), folder / "warm.json"]:
            path.unlink(missing_ok=True)


def write_bare(folder: Path, count: int, turn: int) -> float:
    """Write files durably without a server and return how many per second."""
    content = b"x" * 2500
    directory = os.open(folder, os.O_RDONLY)
    begun = time.perf_counter()
    for number in range(count):
        temporary = f"{folder}/.bare-{turn}-{number}.t"
        file = os.open(temporary, os.O_WRONLY | os.O_CREAT, 0o644)
        os.write(file, content)
        os.fsync(file)
        os.close(file)
        Path(temporary).rename(f"{folder}/.bare-{turn}-{number}")
        os.fsync(directory)
    rate = count / (time.perf_counter() - begun)
    os.close(directory)
    return rate


def measure_start(home: Path) -> dict[str, float]:
    """Measure seconds from spawn to the first get and, in a new process, to the first search."""
    begun = time.perf_counter()
    server = open_server(home)
    server.call("instructions_get", {"id": "rule-000001"})
    first_get = time.perf_counter() - begun
    server.close()
    begun = time.perf_counter()
    server = open_server(home)
    server.call("instructions_search", {"q": COMMON, "limit": 10})
    figures = {
        "get": first_get,
        "search": time.perf_counter() - begun,
        "rss": rss_mb(server.process.pid),
    }
    server.close()
    return figures
