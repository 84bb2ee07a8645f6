"""make bench SUITE=pooler: what a connection pooler and unprepared statements cost.

    python -m benchmarks.pooler [--seconds 5]

The same calls of the files toolset, eight at a time, on one PostgreSQL: directly, directly without
prepared statements, and through PgBouncer in transaction mode.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from benchmarks.measure import show
from commonplace.dispatch.call import Call
from commonplace.dispatch.pipeline import Pipeline
from commonplace.dispatch.registry import Registry
from commonplace.files.postgres_assembly import build_postgres_files
from commonplace.files.store.postgres_embeddings import fit_length
from commonplace.files.toolset import toolset
from commonplace.kernel.auth import ALL_SCOPES, AuthContext, Tenant
from commonplace.kernel.settings import Embedding
from commonplace.storage.postgres.database import PostgresDatabase, open_database
from commonplace.storage.postgres.migrations import migrate
from pgbouncer import PgBouncer
from servers import make_database, running_postgres

CALLERS = 8
TEXT = "The swept wing lowers drag near the speed of sound. " * 40


async def measure(work: Callable[[int], Awaitable[Any]], seconds: float) -> tuple[float, float]:
    """Return calls per second and the 95th percentile in milliseconds."""
    times: list[float] = []
    end = time.perf_counter() + seconds

    async def caller(number: int) -> None:
        while (started := time.perf_counter()) < end:
            await work(number)
            times.append(time.perf_counter() - started)

    await asyncio.gather(*(caller(number) for number in range(CALLERS)))
    return len(times) / seconds, statistics.quantiles(times, n=20)[-1] * 1000


async def run(database: PostgresDatabase, seconds: float) -> list[str]:
    files = build_postgres_files(database, None)
    pipeline = Pipeline(Registry([toolset(lambda: files.service)]))
    caller = AuthContext(Tenant("t"), ALL_SCOPES, "t")
    counter = iter(range(10**9))

    async def call(tool: str, **arguments: Any) -> None:
        outcome = await pipeline.run(Call(tool, {"project": "p", **arguments}, caller))
        assert outcome.error is None, outcome.error

    cells = []
    for work in (
        lambda number: call("file_write", path=f"/d{number}/{next(counter)}.md", content=TEXT),
        lambda number: call("file_read", path=f"/d{number}/{number}.md"),
        lambda number: call("file_search", query="swept wing"),
    ):
        if not cells:
            for number in range(CALLERS):
                await call("file_write", path=f"/d{number}/{number}.md", content=TEXT)
        per_second, p95 = await measure(work, seconds)
        cells.append(f"{per_second:.0f}/s, {p95:.1f} ms")
    files.service.close()
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    seconds = parser.parse_args().seconds
    rows = []
    with running_postgres() as server:
        pooler = PgBouncer(server)
        for name, pooled, prepared in (
            ("direct", False, True),
            ("direct, unprepared", False, False),
            ("PgBouncer, unprepared", True, False),
        ):
            url = make_database(server)
            prepare_schema(url)
            database = PostgresDatabase(
                pooler.url(url) if pooled else url, direct_url=url, prepared_statements=prepared
            )
            rows.append([name, *asyncio.run(run(database, seconds))])
            database.close()
        pooler.close()
    show("PgBouncer", ["connection", "write 2 kB", "read", "search by words"], rows)


def prepare_schema(url: str) -> None:
    from commonplace.bootstrap.team import postgres_components

    with open_database(url, pool_size=1) as database:
        migrate(database, postgres_components())
        fit_length(database, Embedding().dimensions)


if __name__ == "__main__":
    main()
