"""make bench SUITE=pooler: what a connection pooler and unprepared statements cost.

    python -m benchmarks.pooler [--seconds 5] [--rounds 3]

The same calls of the files toolset, eight at a time, on one PostgreSQL: directly, directly without
prepared statements, and through PgBouncer in transaction mode. They take turns, each round in a new
database, and the medians are printed, so that what is measured first has no disadvantage.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
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
CONNECTIONS = (  # name, through the pooler, with prepared statements
    ("direct", False, True),
    ("direct, unprepared", False, False),
    ("PgBouncer, unprepared", True, False),
)
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


async def run(database: PostgresDatabase, seconds: float) -> list[tuple[float, float]]:
    files = build_postgres_files(database, None)
    pipeline = Pipeline(Registry([toolset(lambda: files.service)]))
    caller = AuthContext(Tenant("t"), ALL_SCOPES, "t")
    counter = iter(range(10**9))

    async def call(tool: str, **arguments: Any) -> None:
        outcome = await pipeline.run(Call(tool, {"project": "p", **arguments}, caller))
        assert outcome.error is None, outcome.error

    measured: list[tuple[float, float]] = []
    for work in (
        lambda number: call("file_write", path=f"/d{number}/{next(counter)}.md", content=TEXT),
        lambda number: call("file_read", path=f"/d{number}/{number}.md"),
        lambda number: call("file_search", query="swept wing"),
    ):
        if not measured:
            for number in range(CALLERS):
                await call("file_write", path=f"/d{number}/{number}.md", content=TEXT)
        measured.append(await measure(work, seconds))
    files.service.close()
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rounds", type=int, default=3)
    wanted = parser.parse_args()
    measured: dict[str, list[list[tuple[float, float]]]] = {name: [] for name, _, _ in CONNECTIONS}
    with running_postgres() as server:
        pooler = PgBouncer(server)
        for name, pooled, prepared in CONNECTIONS * wanted.rounds:
            url = make_database(server)
            prepare_schema(url)
            database = PostgresDatabase(
                pooler.url(url) if pooled else url, direct_url=url, prepared_statements=prepared
            )
            measured[name].append(asyncio.run(run(database, wanted.seconds)))
            database.close()
        pooler.close()
    rows = [(name, *map(_cell, zip(*rounds, strict=True))) for name, rounds in measured.items()]
    show("PgBouncer", ["connection", "write 2 kB", "read", "search by words"], rows)


def _cell(rounds: Sequence[tuple[float, float]]) -> str:
    """Return the medians of some rounds: calls a second and milliseconds."""
    per_second, p95 = (statistics.median(values) for values in zip(*rounds, strict=True))
    return f"{per_second:.0f}/s, {p95:.1f} ms"


def prepare_schema(url: str) -> None:
    from commonplace.bootstrap.team import postgres_components

    with open_database(url, pool_size=1) as database:
        migrate(database, postgres_components())
        fit_length(database, Embedding().dimensions)


if __name__ == "__main__":
    main()
