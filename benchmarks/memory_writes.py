"""Adds to memory: rates of one and several callers, and several processes on one store."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure import ROOT, StdioServer, call_line
from benchmarks.memory_quality import check, keep
from benchmarks.memory_stores import OpenStore, make_texts, open_in_sqlite
from commonplace.kernel.auth import LOCAL_TENANT as TENANT
from commonplace.memory.assembly import open_memory
from commonplace.memory.model import EntryFilter, EntryType, SuggestionType
from commonplace.memory.service import MemoryService

WRITER = """
import asyncio, sys
from pathlib import Path
from benchmarks.memory_writes import add_many
asyncio.run(add_many(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
"""
WORDS = ("nightly", "weekly", "hourly", "release", "backup", "export", "cleanup", "import")


def measure_writes(
    open_store: OpenStore = open_in_sqlite, where: str = "SQLite", *, judged: bool = True
) -> None:
    texts = make_texts(6_000)

    async def run(folder: Path) -> tuple[float, float]:
        service = open_store(folder, None)
        await keep(service, texts[:4_000])
        one = await add_concurrently(service, texts[4_000:5_000], 1)
        eight = await add_concurrently(service, texts[5_000:], 8)
        service.close()
        return one, eight

    with tempfile.TemporaryDirectory() as folder:
        one, eight = asyncio.run(run(Path(folder)))
    print(
        f"adds a second in {where}, durable, after 4,000 entries: {one:.0f} one by one, "
        f"{eight:.0f} with 8 callers",
        end="",
    )
    if judged:
        piped = add_over_stdio(texts, 4_000)
        print(
            f", {piped:.0f} over stdio; each >= 200: {check(min(one, eight, piped) >= 200)}", end=""
        )
    print()


async def add_concurrently(
    service: MemoryService, texts: Sequence[tuple[str, str]], callers: int
) -> float:
    """Return entries added per second; an add returns when it is durable and has suggestions."""
    waiting = asyncio.Semaphore(callers)

    async def add(text: str) -> None:
        async with waiting:
            await service.add(
                TENANT, service.draft(EntryType.BUG, text.splitlines()[0][:100], text)
            )

    begun = time.perf_counter()
    await asyncio.gather(*(add(text) for _, text in texts))
    return len(texts) / (time.perf_counter() - begun)


def add_over_stdio(texts: Sequence[tuple[str, str]], kept: int) -> float:
    """Return entries added per second by a client on pipes, one call after the other."""
    with tempfile.TemporaryDirectory() as home:
        service = open_memory(Path(home))
        asyncio.run(keep(service, texts[:kept]))
        service.close()
        variables = {"COMMONPLACE_HOME": home, "COMMONPLACE_MODELS": str(Path(home) / "none")}
        server = StdioServer(
            [sys.executable, "-m", "commonplace", "serve", "--profile", "rekall"], variables
        )
        lines = [
            call_line(
                "rekall_add",
                {"type": "bug", "title": text.splitlines()[0][:100], "content": text},
                number,
            )
            for number, (_, text) in enumerate(texts[kept:])
        ]
        server.sequential(lines[:50])
        rate = server.sequential(lines[50:])
        server.close()
        return rate


def measure_processes(count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        open_memory(Path(folder)).close()
        begun = time.perf_counter()
        running = [
            subprocess.Popen(
                [sys.executable, "-c", WRITER, folder, str(writer), str(count)], cwd=ROOT
            )
            for writer in range(4)
        ]
        codes = [process.wait() for process in running]
        seconds = time.perf_counter() - begun
        service = open_memory(Path(folder))
        total = asyncio.run(service.store.counts(TENANT)).entries
        found = asyncio.run(is_complete(service, count))
        service.close()
    ok = codes == [0] * 4 and total == 4 * count and found
    print(
        f"4 processes, {count} adds each: {total} present, found and sound: {found}, "
        f"{4 * count / seconds:.0f}/s {check(ok)}"
    )


async def add_many(folder: Path, writer: int, count: int) -> None:
    """Add entries in one of several processes.

    Every fourth entry resembles one that each other process adds.
    """
    service = open_memory(folder)
    for number in range(count):
        title = f"Writer {writer} entry {number}"
        text = f"{title}: {WORDS[number % 7]} {WORDS[writer]} {number}"
        if number % 4 == 0:
            text = (
                f"The {WORDS[number % len(WORDS)]} job number {number // 4} failed on the "
                f"runner because its disk was full"
            )
        await service.add(TENANT, service.draft(EntryType.BUG, title, text))
    service.close()


async def is_complete(service: MemoryService, count: int) -> bool:
    """Check that a sample of each writer's entries is found, and that suggestions are sound.

    No two suggestions are equal, and all concern entries that exist.
    """
    for writer in range(4):
        for number in range(1, count, max(1, count // 20)):
            answer = await service.search(
                TENANT, f"Writer {writer} entry {number}", "", EntryFilter(), 20
            )
            if f"Writer {writer} entry {number}" not in [hit.entry.title for hit in answer.hits]:
                return False
    pending, total = await service.store.pending(TENANT, list(SuggestionType), 1_000_000)
    keys = [suggestion.key for suggestion in pending]
    entries = await service.store.get_all(
        TENANT, {id_ for suggestion in pending for id_ in suggestion.entry_ids}
    )
    whole = all(id_ in entries for suggestion in pending for id_ in suggestion.entry_ids)
    return len(keys) == len(set(keys)) == total and whole and total > 0
