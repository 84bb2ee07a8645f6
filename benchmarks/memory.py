"""Memory, measured: what is found, what is suggested, tokens, latency, writes, processes, start-up.

`make bench SUITE=memory`.

python -m benchmarks.memory                          everything but the 100,000 entries and
PostgreSQL python -m benchmarks.memory --only found,latency     parts of it; each takes less than
four minutes python -m benchmarks.memory --only large             latency at 100,000 entries;
--stores FOLDER keeps the stores for the next run python -m benchmarks.memory --only postgres
latency and writes in a PostgreSQL of its own
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import ROOT, StdioServer, call_line, median, rss_mb, show
from benchmarks.memory_quality import (
    MODELS,
    check,
    keep,
    measure_found,
    measure_suggested,
    measure_tokens,
    model,
    passed,
)
from benchmarks.retrieval import load
from commonplace.dispatch.call import Call
from commonplace.dispatch.pipeline import Pipeline
from commonplace.dispatch.registry import Registry
from commonplace.kernel.auth import ALL_SCOPES, AuthContext
from commonplace.kernel.auth import LOCAL_TENANT as TENANT
from commonplace.memory.assembly import build_postgres_memory, open_memory
from commonplace.memory.engine.documents import document_key
from commonplace.memory.model import EntryFilter, EntryType, Suggestion, SuggestionType
from commonplace.memory.retrieval.hybrid import HybridIndex
from commonplace.memory.retrieval.lexical import LexicalIndex
from commonplace.memory.retrieval.vectors import summaries
from commonplace.memory.service import MemoryService
from commonplace.memory.toolset import toolset
from commonplace.search.model import Passage
from commonplace.search.semantic.embed import LocalEmbedder

WITH_MODEL = {"found", "suggested", "latency", "large", "postgres"}
PARTS = ("found", "suggested", "tokens", "latency", "writes", "lists", "processes", "start")
MORE_PARTS = ("large", "postgres")
QUERIES = 300
Limits = tuple[float | None, float | None]
Opened = Callable[[Path, Any], MemoryService]


class Planted:
    """Questions embedded by the model, entries by a seeded direction: the cost of searching many
    without embedding many.
    """

    state = "ready"

    def __init__(self, real: LocalEmbedder) -> None:
        self._real = real
        self.identity, self.dimensions = "planted/1", real.dimensions

    def warm(self) -> None:
        return None

    def embed(self, texts: Sequence[str]) -> Any:
        made = (
            np.random.default_rng(len(texts[0]) if texts else 0)
            .standard_normal((len(texts), self.dimensions))
            .astype(np.float32)
        )
        return made / np.linalg.norm(made, axis=1, keepdims=True)

    def embed_query(self, text: str) -> Any:
        return self._real.embed_query(text)


def texts_for(count: int) -> list[tuple[str, str]]:
    """Entries of the length of notes: a function, and sentences of an abstract."""
    chance = random.Random(5)
    functions, abstracts = (
        list(load("cosqa").documents.values()),
        list(load("cranfield").documents.values()),
    )
    made = []
    for number in range(count):
        sentences = chance.choice(abstracts).split(" . ")
        chance.shuffle(sentences)
        made.append(
            (
                str(number),
                (
                    f"Note {number}: "
                    f"{sentences[0][:60]}\n{' . '.join(sentences[:3])[:400]}\n"
                    f"{chance.choice(functions)[:300]}"
                ),
            )
        )
    return made


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def in_sqlite(folder: Path, embedder: Any) -> MemoryService:
    return open_memory(folder, embedder=embedder)


def measure_latency(
    embedder: LocalEmbedder,
    count: int,
    limits: Limits,
    opened: Opened = in_sqlite,
    where: str = "SQLite",
    stores: Path | None = None,
) -> None:
    """Each question is asked once: nothing is embedded twice.

    The processor's time is what another machine would compare.
    """
    queries = list(load("cosqa").queries.values())[:QUERIES]
    times: dict[str, list[tuple[float, float]]] = {}

    async def run(folder: Path) -> None:
        planted = Planted(embedder)
        service = opened(folder, planted)
        if not (await service.store.counts(TENANT)).entries:
            await keep(service, texts_for(count))
            await plant(service, planted)
        service.vectors.mark_complete(TENANT)
        hybrid = service.index
        assert isinstance(hybrid, HybridIndex)
        by_words = MemoryService(service.store, LexicalIndex(hybrid.postings))
        for name, asked in (("words", by_words), ("with the query's embedding", service)):
            for text in queries[:50]:
                await asked.search(TENANT, f"{text} please", "", EntryFilter(), 5)
            for text in queries:
                begun, worked = time.perf_counter(), time.process_time()
                await asked.search(TENANT, text, "", EntryFilter(), 5)
                times.setdefault(name, []).append(
                    ((time.perf_counter() - begun) * 1000, (time.process_time() - worked) * 1000)
                )
        service.close()

    with (
        tempfile.TemporaryDirectory()
        if stores is None
        else contextlib.nullcontext(stores / str(count)) as folder
    ):
        asyncio.run(run(Path(folder)))
    rows = []
    for (name, both), limit in zip(times.items(), limits, strict=True):
        wall, worked = [each[0] for each in both], [each[1] for each in both]
        p95 = percentile(wall, 0.95)
        ok = check(p95 <= limit) if limit is not None else ""
        figures = (
            f"{median(wall):.1f}",
            f"{p95:.1f}",
            f"{percentile(worked, 0.95):.1f}",
            f"{limit:g}" if limit is not None else "",
            ok,
        )
        rows.append((f"{count:,}", name, *figures))
    show(
        f"Search latency in {where}, ms",
        ("entries", "by", "p50", "p95", "p95 of processor", "limit", ""),
        rows,
    )


async def plant(service: MemoryService, planted: Planted) -> None:
    """All vectors at once, by the index's own store: one journal for many rows."""
    index = service.index
    assert isinstance(index, HybridIndex)
    entries = await service.store.everything(TENANT)
    passages = [Passage(document_key(entry), entry.text, entry.id) for entry in entries]
    index.embedder.embed = planted.embed  # type: ignore[method-assign]
    await asyncio.to_thread(index.vectors.store.synchronise_now, summaries(TENANT), "", passages)


async def added(service: MemoryService, texts: Sequence[tuple[str, str]], callers: int) -> float:
    """Entries kept in a second, each acknowledged when it is durable and its suggestions are
    made.
    """
    waiting = asyncio.Semaphore(callers)

    async def add(text: str) -> None:
        async with waiting:
            await service.add(
                TENANT, service.draft(EntryType.BUG, text.splitlines()[0][:100], text)
            )

    begun = time.perf_counter()
    await asyncio.gather(*(add(text) for _, text in texts))
    return len(texts) / (time.perf_counter() - begun)


def added_over_stdio(texts: Sequence[tuple[str, str]], kept: int) -> float:
    """The same as a client on pipes sees it, one call after the other."""
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


def measure_writes(
    opened: Opened = in_sqlite, where: str = "SQLite", *, judged: bool = True
) -> None:
    texts = texts_for(6_000)

    async def run(folder: Path) -> tuple[float, float]:
        service = opened(folder, None)
        await keep(service, texts[:4_000])
        one = await added(service, texts[4_000:5_000], 1)
        eight = await added(service, texts[5_000:], 8)
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
        piped = added_over_stdio(texts, 4_000)
        print(
            f", {piped:.0f} over stdio; each >= 200: {check(min(one, eight, piped) >= 200)}", end=""
        )
    print()


async def fill_suggestions(service: MemoryService, count: int) -> None:
    """Entries in a row, and as many pending suggestions: a link between each entry and the next."""
    await keep(service, texts_for(count + 1))
    entries = await service.store.everything(TENANT)
    pairs = itertools.pairwise(entries)
    made = [
        Suggestion(
            service.new_id(),
            SuggestionType.LINK,
            (first.id, second.id),
            0.8,
            "Similar words",
            datetime.now(UTC),
        )
        for first, second in pairs
    ]
    await service.store.add_suggestions(TENANT, made)


def measure_suggestion_lists(opened: Opened = in_sqlite, where: str = "SQLite") -> None:
    """rekall_suggest_links through the pipeline, at two sizes."""
    rows = []
    for count in (1_000, 10_000):

        async def run(folder: Path, count: int = count) -> list[float]:
            service = opened(folder, None)
            await fill_suggestions(service, count)
            pipeline = Pipeline(Registry([toolset(lambda: service)]))
            times = []
            for _ in range(200):
                begun = time.perf_counter()
                outcome = await pipeline.run(
                    Call("rekall_suggest_links", {}, AuthContext(TENANT, ALL_SCOPES, "bench"))
                )
                times.append((time.perf_counter() - begun) * 1000)
                assert outcome.error is None
            service.close()
            return times

        with tempfile.TemporaryDirectory() as folder:
            times = asyncio.run(run(Path(folder)))
        p95 = percentile(times, 0.95)
        rows.append((f"{count:,}", f"{median(times):.1f}", f"{p95:.1f}", "50", check(p95 < 50)))
    show(
        f"rekall_suggest_links in {where}, ms",
        ("entries and pending", "p50", "p95", "limit", ""),
        rows,
    )


WRITER = """
import asyncio, sys
from pathlib import Path
from benchmarks.memory import add_many
asyncio.run(add_many(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
"""
WORDS = ("nightly", "weekly", "hourly", "release", "backup", "export", "cleanup", "import")


async def add_many(folder: Path, writer: int, count: int) -> None:
    """What one of several processes adds.

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
        found = asyncio.run(searchable(service, count))
        service.close()
    ok = codes == [0] * 4 and total == 4 * count and found
    print(
        f"4 processes, {count} adds each: {total} present, searchable: {found}, "
        f"{4 * count / seconds:.0f}/s {check(ok)}"
    )


async def searchable(service: MemoryService, count: int) -> bool:
    """A sample of every writer's entries is found, and every suggestion speaks of entries that
    exist, once.
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


def measure_start() -> None:
    """Spawn to the answer of initialize, with an empty store and with 10,000 entries and a model
    installed.
    """
    with tempfile.TemporaryDirectory() as empty, tempfile.TemporaryDirectory() as full:
        service = open_memory(Path(full))
        asyncio.run(keep(service, texts_for(10_000)))
        service.close()
        (Path(full) / "models").symlink_to(MODELS)
        homes = {
            "empty": {"COMMONPLACE_HOME": empty, "COMMONPLACE_MODELS": ""},
            "full": {"COMMONPLACE_HOME": full, "COMMONPLACE_MODELS": ""},
        }
        times: dict[str, list[float]] = {"empty": [], "full": []}
        memory = {"after one entry": 0.0, "with 10,000 entries": 0.0}
        for _ in range(9):
            for name, variables in homes.items():
                server = StdioServer(
                    [sys.executable, "-m", "commonplace", "serve", "--profile", "rekall"], variables
                )
                times[name].append(server.started_seconds)
                server.close()
        for name, variables in (
            ("after one entry", homes["empty"]),
            ("with 10,000 entries", {**homes["full"], "COMMONPLACE_MODELS": empty}),
        ):
            server = StdioServer(
                [sys.executable, "-m", "commonplace", "serve", "--profile", "rekall"], variables
            )
            server.call("rekall_add", {"type": "bug", "title": "one"})
            for text in list(load("cosqa").queries.values())[:20]:
                server.call("rekall_search", {"query": text})
            memory[name] = rss_mb(server.process.pid)
            server.close()
    ratio = median(times["full"]) / median(times["empty"])
    print(
        f"handshake with 10,000 entries and a model: {ratio:.2f} of the empty "
        f"{median(times['empty']):.3f} s; <= 1.2: {check(ratio <= 1.2)}"
    )
    for name, megabytes in memory.items():
        print(
            f"memory of a server without the model {name}, after adding and searching: "
            f"{megabytes:.0f} MB; < 80: {check(megabytes < 80)}"
        )


@contextlib.contextmanager
def a_postgres() -> Iterator[Opened]:
    """A durable PostgreSQL from the wheel's binaries, its schema brought up."""
    sys.path.insert(0, str(ROOT / "tests"))
    from commonplace.bootstrap.team import postgres_components
    from commonplace.storage.postgres.database import PostgresDatabase
    from commonplace.storage.postgres.migrations import migrate
    from servers import make_database, running_postgres

    with running_postgres() as server:

        def opened(_: Path, embedder: Any) -> MemoryService:
            database = PostgresDatabase(make_database(server))
            migrate(database, postgres_components())
            return build_postgres_memory(database, embedder=embedder, on_close=database.close)

        yield opened


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", default=",".join(PARTS), help=f"some of {', '.join((*PARTS, *MORE_PARTS))}"
    )
    parser.add_argument(
        "--stores",
        type=Path,
        help="folder of the stores that latency is measured in, built when they are not there",
    )
    parser.add_argument(
        "--adds", type=int, default=2_500, help="entries of each of the 4 processes"
    )
    wanted = parser.parse_args()
    parts = set(wanted.only.split(","))
    if unknown := parts - {*PARTS, *MORE_PARTS}:
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    embedder = model() if parts & WITH_MODEL else None
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    if embedder is not None:
        if "suggested" in parts:
            measure_suggested(embedder)
        if "found" in parts:
            measure_found(embedder)
        if "latency" in parts:
            measure_latency(embedder, 10_000, (10, 25), stores=wanted.stores)
        if "large" in parts:
            measure_latency(embedder, 100_000, (60, 60), stores=wanted.stores)
        if "postgres" in parts:
            with a_postgres() as opened:
                measure_latency(embedder, 10_000, (None, None), opened, "PostgreSQL")
                measure_writes(opened, "PostgreSQL", judged=False)
    if "tokens" in parts:
        measure_tokens()
    if "writes" in parts:
        measure_writes()
    if "lists" in parts:
        measure_suggestion_lists()
        with a_postgres() as opened:
            measure_suggestion_lists(opened, "PostgreSQL")
    if "processes" in parts:
        measure_processes(wanted.adds)
    if "start" in parts:
        measure_start()
    print(f"load average {os.getloadavg()[0]:.1f}; {sum(passed)} of {len(passed)} hold")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
