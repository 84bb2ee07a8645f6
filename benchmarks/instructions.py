"""The instruction catalogue at 100 to 50,000 entries: rates against a trivial tool, CPU of
searches, durable writes, start, memory, and the objectives of the contract over HTTP.

`make bench SUITE=instructions`; for less, name parts and sizes: `python -m benchmarks.instructions
read write 100 5000` (parts: start, read, search, write, http).
"""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import orjson

from benchmarks.measure import (
    ROOT,
    StdioServer,
    call_line,
    http_server,
    median,
    rss_mb,
    show,
    verdict,
)

SIZES = (100, 1_000, 5_000, 50_000)
PARTS = ("start", "read", "search", "write", "http")
Marks = list[tuple[str, bool]]
ROUNDS = 3
TURNS = 150
BLOCK = 50
PIPELINED = 4_000
WRITES = 15
WRITE_TURNS = 40
SEARCHES = 40
COMMON, USUAL = "error", "handler"
MIX = ("zephyrine", COMMON, "er", f"{COMMON} {USUAL}", "qqxxzzyy")
MIX_NAMES = ("rare word", "in over half", "two characters", "two words", "no hit")
CLIENTS = 50
HTTP_SECONDS = 5.0
PORT = 18797


def corpus(folder: Path, size: int) -> None:
    """Instructions of about 1.1 KB: words by Zipf's law from a vocabulary that grows like a
    language's.
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
            body[40] = USUAL
        if number in (3, size // 2):
            body[80] = MIX[0]
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


def server(home: Path, *, trivial: bool = False) -> StdioServer:
    environment = {
        "COMMONPLACE_HOME": str(home),
        "MCP_ENABLE_MUTATION": "1",
        "PYTHONPATH": str(ROOT),
        "INSTRUCTIONS_DIR": str(home / "instructions"),
    }
    if trivial:
        environment["COMMONPLACE_EXTRA_TOOLSETS"] = "benchmarks.peers.trivial:toolset"
    return StdioServer([sys.executable, "-m", "commonplace", "serve"], environment)


def lines(name: str, arguments: Callable[[int], dict[str, Any]], count: int) -> list[bytes]:
    return [call_line(name, arguments(number), number + 10) for number in range(count)]


def cpu_ns(pid: int) -> int:
    """CPU time of a server's main thread, where reads run."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])


def until_idle(pid: int) -> None:
    """Let a server finish what it does beside its first calls: it works out a large catalogue
    for some seconds.
    """
    spent = -1.0
    while True:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        now = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        if now - spent < 0.05:
            return
        spent = now
        time.sleep(0.5)


def reading(home: Path, size: int) -> dict[str, float]:
    """Rates, and the share of the trivial tool's rate in the same process: short blocks in
    turns, so that both see the same machine.

    The share is the median over the turns; the CPU of the server's main thread per request stands
    beside it.
    """
    one = server(home, trivial=True)
    try:
        chance = random.Random(1)
        shapes = {
            "trivial": lines("add", lambda _: {"a": 1, "b": 2}, PIPELINED),
            "get": lines(
                "instructions_get", lambda _: {"id": f"rule-{chance.randrange(size):06}"}, PIPELINED
            ),
            "list": lines(
                "instructions_list",
                lambda _: {"limit": 10, "offset": chance.randrange(max(1, size - 10))},
                PIPELINED,
            ),
        }
        for requests in shapes.values():
            one.sequential(requests[:100])
        until_idle(one.process.pid)
        figures: dict[str, float] = {}
        for way, turns, block, run in (
            ("sequential", TURNS, BLOCK, one.sequential),
            ("pipelined", ROUNDS * 3, PIPELINED // 4, one.pipelined),
        ):
            rates: dict[str, list[float]] = {name: [] for name in shapes}
            spent = dict.fromkeys(shapes, 0)
            for turn in range(turns):
                for name, requests in shapes.items():
                    start = turn * block % PIPELINED
                    before = cpu_ns(one.process.pid)
                    rates[name].append(run(requests[start : start + block]))
                    spent[name] += cpu_ns(one.process.pid) - before
            for name in shapes:
                figures[f"{name} {way}"] = median(rates[name])
                figures[f"{name} {way} share"] = median(
                    a / b for a, b in zip(rates[name], rates["trivial"], strict=True)
                )
                figures[f"{name} {way} us"] = spent[name] / turns / block / 1e3
        return figures
    finally:
        one.close()


def searching(home: Path) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """CPU milliseconds per request on the server's main thread, for each query of the mix."""
    one = server(home)
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
            spent: dict[str, list[float]] = {name: [] for name in MIX_NAMES}
            for round_number in range(SEARCHES + 1):
                for name, q in zip(MIX_NAMES, MIX, strict=True):
                    line = call_line(tool, arguments(q), 1)
                    before = cpu_ns(one.process.pid)
                    one.request_raw(line)
                    if round_number:
                        spent[name].append((cpu_ns(one.process.pid) - before) / 1e6)
            results.append(spent)
        return results[0], results[1]
    finally:
        one.close()


def writing(home: Path) -> tuple[float, float, float]:
    """Adds per second, the bare sequence temp-fsync-rename-fsync per second, and their ratio:
    short blocks in turns.

    Both in the same folder: what a new file costs depends on where the file system put the folder
    and what was deleted near it.
    """
    one = server(home)
    folder = home / "instructions"
    try:
        one.call("instructions_add", {"entry": {"id": "warm", "body": "x"}, "lax": True})
        one.call("instructions_search", {"q": "warm"})
        until_idle(one.process.pid)
        ours, floor = [], []
        for turn in range(WRITE_TURNS):
            entries = [
                {"id": f"new-{turn}-{number}", "body": "Always close what you open. " * 40}
                for number in range(WRITES)
            ]
            ours.append(
                one.sequential(
                    [
                        call_line("instructions_add", {"entry": entry, "lax": True}, 1)
                        for entry in entries
                    ]
                )
            )
            floor.append(bare_writes(folder, WRITES, turn))
        return median(ours), median(floor), median(a / b for a, b in zip(ours, floor, strict=True))
    finally:
        one.close()
        for path in [*folder.glob("new-*.json"), *folder.glob(".bare-*"), folder / "warm.json"]:
            path.unlink(missing_ok=True)


def bare_writes(folder: Path, count: int, turn: int) -> float:
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


def starting(home: Path) -> dict[str, float]:
    """From spawn to the first get and, in another process, to the first search; and the memory
    after.
    """
    begun = time.perf_counter()
    one = server(home)
    one.call("instructions_get", {"id": "rule-000001"})
    first_get = time.perf_counter() - begun
    one.close()
    begun = time.perf_counter()
    one = server(home)
    one.call("instructions_search", {"q": COMMON, "limit": 10})
    figures = {
        "get": first_get,
        "search": time.perf_counter() - begun,
        "rss": rss_mb(one.process.pid),
    }
    one.close()
    return figures


async def http_client(
    port: int, make: Callable[[int], bytes], until: float, spent: list[float], start: int
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    number = start
    try:
        while time.perf_counter() < until:
            body = make(number)
            number += 1
            head = (
                f"POST /rpc HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: "
                f"application/json\r\ncontent-length: {len(body)}\r\n\r\n"
            )
            begun = time.perf_counter()
            writer.write(head.encode() + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            length = next(
                int(line.split(b":")[1])
                for line in answer.lower().split(b"\r\n")
                if line.startswith(b"content-length")
            )
            payload = await reader.readexactly(length)
            spent.append(time.perf_counter() - begun)
            if b'"error":{' in payload[:200]:
                raise RuntimeError(payload[:300].decode())
    finally:
        writer.close()


def over_http(
    home: Path, size: int
) -> list[tuple[str, Sequence[float], float, tuple[float, float, float]]]:
    """The four classes of the contract with 50 clients: latencies in milliseconds, requests per
    second, targets for p50, p95 and p99.
    """
    chance = random.Random(2)

    def rpc(method: str, params: Callable[[int], dict[str, Any]]) -> Callable[[int], bytes]:
        return lambda n: orjson.dumps(
            {"jsonrpc": "2.0", "id": n, "method": method, "params": params(n)}
        )

    def bulk(n: int) -> dict[str, Any]:
        return {
            "entries": [{"id": f"bulk-{n}-{k}", "body": "Bulk."} for k in range(20)],
            "mode": "overwrite",
        }

    classes = [
        (
            "reads",
            CLIENTS,
            rpc("instructions/get", lambda _: {"id": f"rule-{chance.randrange(size):06}"}),
            (50.0, 120.0, 300.0),
        ),
        (
            "simple mutations",
            CLIENTS,
            rpc(
                "instructions/add",
                lambda n: {"entry": {"id": f"http-{n}", "body": "x"}, "lax": True},
            ),
            (100.0, 250.0, 500.0),
        ),
        ("bulk (20 entries)", 4, rpc("instructions/import", bulk), (500.0, 2000.0, 5000.0)),
        ("analytics", 4, rpc("instructions/governanceHash", lambda _: {}), (200.0, 500.0, 1000.0)),
    ]
    environment = {
        "COMMONPLACE_HOME": str(home),
        "MCP_ENABLE_MUTATION": "1",
        "INSTRUCTIONS_DIR": str(home / "instructions"),
    }
    results = []
    with http_server(
        [sys.executable, "-m", "commonplace", "serve", "--http", f"127.0.0.1:{PORT}"],
        PORT,
        environment,
    ) as process:
        asyncio.run(_drive(1, classes[0][2], 0.5))
        for name, clients, make, targets in classes:
            spent, seconds = asyncio.run(_drive(clients, make, HTTP_SECONDS))
            results.append(
                (name, sorted(second * 1000 for second in spent), len(spent) / seconds, targets)
            )
        results.append(("memory", [rss_mb(process.pid)], 0.0, (512.0, 512.0, 512.0)))
    return results


async def _drive(
    clients: int, make: Callable[[int], bytes], seconds: float
) -> tuple[list[float], float]:
    spent: list[float] = []
    begun = time.perf_counter()
    await asyncio.gather(
        *(
            http_client(PORT, make, begun + seconds, spent, client * 1_000_000)
            for client in range(clients)
        )
    )
    return spent, time.perf_counter() - begun


def at(values: Sequence[float], share: float) -> float:
    return values[min(len(values) - 1, int(len(values) * share))]


def flat(values: Sequence[float], tolerance: float) -> bool:
    return max(values) <= min(values) * (1 + tolerance)


def main() -> int:
    named = [argument for argument in sys.argv[1:] if argument in PARTS]
    parts = tuple(named) or PARTS
    sizes = tuple(int(argument) for argument in sys.argv[1:] if argument not in PARTS) or SIZES
    marks: Marks = []
    starts, reads, searches, writes = {}, {}, {}, {}
    with tempfile.TemporaryDirectory() as temporary:
        for size in sizes:
            home = Path(temporary) / str(size)
            corpus(home / "instructions", size)
            if "start" in parts:
                starts[size] = starting(home)
            if "read" in parts:
                reads[size] = reading(home, size)
            if "search" in parts:
                searches[size] = searching(home)
            if "write" in parts:
                writes[size] = writing(home)
            if "http" in parts and size == 5_000:
                objectives(over_http(home, size), marks)
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
                    flat([row[f"{name} share"] for row in reads.values()], 0.15),
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
                    *(f"{statistics.median(spent[name]):.2f}" for name in MIX_NAMES),
                    f"{at(everything, 0.95):.2f}",
                ]
            )
            if n == 5_000:
                marks.append(
                    (
                        f"{tool}: under 1 ms of CPU at p95 with 5,000 entries",
                        at(everything, 0.95) < 1.0,
                    )
                )
        show(f"{tool}, limit 10: CPU ms per request", ["entries", *MIX_NAMES, "p95 of all"], rows)
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
        marks.append(("add flat over sizes (share within 35 %)", flat(shares, 0.35)))


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


def objectives(
    results: list[tuple[str, Sequence[float], float, tuple[float, float, float]]], marks: Marks
) -> None:
    rows = []
    for name, spent, rate, targets in results:
        p50, p95, p99 = (at(spent, share) for share in (0.5, 0.95, 0.99))
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


if __name__ == "__main__":
    raise SystemExit(main())
