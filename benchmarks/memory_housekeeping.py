"""A large memory in daily use: search, adds, timeline, decisions and purges."""

from __future__ import annotations

import asyncio
import itertools
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.measure import median, show
from benchmarks.memory_quality import check, keep
from benchmarks.memory_stores import OpenStore, make_texts, open_in_sqlite, percentile
from benchmarks.memory_writes import add_concurrently
from benchmarks.retrieval import load
from commonplace.kernel.auth import LOCAL_TENANT as TENANT
from commonplace.memory.housekeeping import SuggestionFilter, TimelineFilter
from commonplace.memory.model import Decision, EntryFilter, Suggestion, SuggestionType
from commonplace.memory.service import MemoryService

QUERIES = 200
ADDED = 500
DECIDED = 1_000
DELETED = 500
SEARCH_MS = 60.0
ADDS_A_SECOND = 200


async def _time(work: Callable[[], Awaitable[object]]) -> float:
    begun = time.perf_counter()
    await work()
    return time.perf_counter() - begun


async def _suggest(service: MemoryService) -> None:
    entries = (await service.store.page(TENANT, EntryFilter(), DECIDED + 1, 0)).items
    moment = datetime.now(UTC)
    made = [
        Suggestion(service.new_id(), SuggestionType.LINK, (a.id, b.id), 0.5, "Similar", moment)
        for a, b in itertools.pairwise(entries)
    ]
    await service.store.add_suggestions(TENANT, made)


async def _measure(service: MemoryService, count: int) -> list[tuple[str, str, str]]:
    texts = make_texts(count + ADDED)
    rows = [("import, s", f"{await _time(lambda: keep(service, texts[:count])):.0f}", "")]
    queries = list(load("cosqa").queries.values())[: QUERIES + 20]
    times = [
        await _time(lambda text=text: service.search(TENANT, text, "", EntryFilter(), 5))  # type: ignore[misc]
        for text in queries
    ][20:]
    p95 = percentile(times, 0.95) * 1000
    rows.append(("search by words, p50 ms", f"{median(times) * 1000:.1f}", ""))
    rows.append(("search by words, p95 ms", f"{p95:.1f}", check(p95 <= SEARCH_MS)))
    rate = await add_concurrently(service, texts[count:], 1)
    rows.append(("adds a second, one by one", f"{rate:.0f}", check(rate >= ADDS_A_SECOND)))
    now = datetime.now(UTC)
    wanted = TimelineFilter(now - timedelta(days=30), now + timedelta(days=1))
    seconds = [
        await _time(lambda: service.housekeeping.timeline(TENANT, wanted, 50)) for _ in range(5)
    ]
    rows.append(("timeline of everything, ms", f"{median(seconds) * 1000:.0f}", ""))
    await _suggest(service)
    filter_ = SuggestionFilter((SuggestionType.LINK,), 0.5, 0.5)
    decide = await _time(
        lambda: service.decide_suggestions(TENANT, filter_, Decision.REJECTED, dry_run=False)
    )
    rows.append((f"reject {DECIDED:,} suggestions, ms", f"{decide * 1000:.0f}", ""))
    for entry in (await service.store.page(TENANT, EntryFilter(), DELETED, 0)).items:
        await service.delete(TENANT, entry.id)
    purge = await _time(lambda: service.housekeeping.purge(TENANT))
    rows.append((f"purge {DELETED} entries, ms", f"{purge * 1000:.0f}", ""))
    return rows


def measure_housekeeping(
    count: int, open_store: OpenStore = open_in_sqlite, where: str = "SQLite"
) -> None:
    """Measure one store of many entries, by words alone."""

    async def run(folder: Path) -> list[tuple[str, str, str]]:
        service = open_store(folder, None)
        try:
            return await _measure(service, count)
        finally:
            service.close()

    with tempfile.TemporaryDirectory() as folder:
        rows = asyncio.run(run(Path(folder)))
    show(f"{count:,} entries in {where}", ("what", "measured", ""), rows)
