"""Measure memory: retrieval, suggestions, tokens, latency, writes, processes and start-up.

`make bench SUITE=memory`, or parts of it, each of which takes less than four minutes:

    python -m benchmarks.memory                       all but 100,000 entries and PostgreSQL
    python -m benchmarks.memory --only found,latency  some parts
    python -m benchmarks.memory --only large          latency at 100,000 entries; --stores FOLDER
                                                      keeps the stores for the next run
    python -m benchmarks.memory --only large-postgres the same in PostgreSQL
    python -m benchmarks.memory --only postgres       latency and writes in PostgreSQL
    python -m benchmarks.memory --only housekeeping,housekeeping-postgres
                                                      100,000 entries: search, adds, timeline,
                                                      decisions and purges in each database
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import os
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.measure import StdioServer, median, rss_mb, show
from benchmarks.memory_housekeeping import measure_housekeeping
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
from benchmarks.memory_recall import (
    measure_answers,
    measure_position,
    measure_sizes,
    measure_styles,
)
from benchmarks.memory_stores import (
    OpenStore,
    PlantedEmbedder,
    make_texts,
    open_in_sqlite,
    percentile,
    plant,
    run_postgres,
)
from benchmarks.memory_writes import measure_processes, measure_writes
from benchmarks.retrieval import load
from commonplace.dispatch.call import Call
from commonplace.dispatch.pipeline import Pipeline
from commonplace.dispatch.registry import Registry
from commonplace.kernel.auth import ALL_SCOPES, AuthContext
from commonplace.kernel.auth import LOCAL_TENANT as TENANT
from commonplace.memory.assembly import open_memory
from commonplace.memory.model import EntryFilter, Suggestion, SuggestionType
from commonplace.memory.retrieval.hybrid import HybridIndex
from commonplace.memory.retrieval.lexical import LexicalIndex
from commonplace.memory.service import MemoryService
from commonplace.memory.toolset import toolset
from commonplace.search.semantic.embed import LocalEmbedder
from commonplace.search.semantic.models import embed_models
from commonplace.search.semantic.models.model_catalogue import E5

WITH_MODEL = {
    "found",
    "position",
    "answers",
    "styles",
    "suggested",
    "latency",
    "large",
    "large-postgres",
    "postgres",
}
PARTS = (
    "found",
    "position",
    "answers",
    "styles",
    "suggested",
    "tokens",
    "latency",
    "writes",
    "lists",
    "processes",
    "start",
)
MORE_PARTS = ("large", "large-postgres", "postgres", "housekeeping", "housekeeping-postgres")
QUERIES = 300
Limits = tuple[float | None, float | None]


def measure_latency(
    embedder: LocalEmbedder,
    count: int,
    limits: Limits,
    open_store: OpenStore = open_in_sqlite,
    where: str = "SQLite",
    stores: Path | None = None,
) -> None:
    """Ask each question once, so that no embedding is reused.

    CPU time is shown too, because it compares better between machines.
    """
    queries = list(load("cosqa").queries.values())[:QUERIES]
    times: dict[str, list[tuple[float, float]]] = {}

    async def run(folder: Path) -> None:
        planted = PlantedEmbedder(embedder)
        service = open_store(folder, planted)
        if not (await service.store.counts(TENANT)).entries:
            await keep(service, make_texts(count))
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


async def fill_suggestions(service: MemoryService, count: int) -> None:
    """Add entries, and a pending suggestion to link each with the next."""
    await keep(service, make_texts(count + 1))
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


def measure_suggestion_lists(open_store: OpenStore = open_in_sqlite, where: str = "SQLite") -> None:
    """Measure rekall_suggest_links through the pipeline, at two sizes."""
    rows = []
    for count in (1_000, 10_000):

        async def run(folder: Path, count: int = count) -> list[float]:
            service = open_store(folder, None)
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


def measure_start() -> None:
    """Measure the handshake with an empty store, and with 10,000 entries and a model installed."""
    with tempfile.TemporaryDirectory() as empty, tempfile.TemporaryDirectory() as full:
        service = open_memory(Path(full))
        asyncio.run(keep(service, make_texts(10_000)))
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
    parser.add_argument(
        "--entries", type=int, default=100_000, help="of the store that housekeeping is measured in"
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
        if "position" in parts:
            measure_position(embedder)
        if parts & {"answers", "styles"}:
            both = {embed_models.DEFAULT_MODEL: embedder, E5: model(E5)}
            if "answers" in parts:
                measure_answers({**both, "none": None})
                measure_sizes(embedder)
            if "styles" in parts:
                measure_styles(both)
        if "latency" in parts:
            measure_latency(embedder, 10_000, (10, 25), stores=wanted.stores)
        if "large" in parts:
            measure_latency(embedder, 100_000, (60, 60), stores=wanted.stores)
        if "large-postgres" in parts:
            with run_postgres() as open_store:
                measure_latency(embedder, 100_000, (60, 60), open_store, "PostgreSQL")
        if "postgres" in parts:
            with run_postgres() as open_store:
                measure_latency(embedder, 10_000, (None, None), open_store, "PostgreSQL")
                measure_writes(open_store, "PostgreSQL", judged=False)
    if "tokens" in parts:
        measure_tokens()
    if "writes" in parts:
        measure_writes()
    if "lists" in parts:
        measure_suggestion_lists()
        with run_postgres() as open_store:
            measure_suggestion_lists(open_store, "PostgreSQL")
    if "housekeeping" in parts:
        measure_housekeeping(wanted.entries)
    if "housekeeping-postgres" in parts:
        with run_postgres() as open_store:
            measure_housekeeping(wanted.entries, open_store, "PostgreSQL")
    if "processes" in parts:
        measure_processes(wanted.adds)
    if "start" in parts:
        measure_start()
    print(f"load average {os.getloadavg()[0]:.1f}; {sum(passed)} of {len(passed)} hold")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
