"""What it costs to share the instruction catalogue: the same calls on a folder and on PostgreSQL.

    python -m benchmarks.shared_catalogue                    1,000 instructions, 2,000 reads

The calls go through the pipeline of the product in one process. The database is on this machine
and syncs its log at every commit, so a round trip costs its processing time only.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from commonplace.bootstrap.team import postgres_components
from commonplace.dispatch.call import Call
from commonplace.dispatch.pipeline import Pipeline
from commonplace.dispatch.registry import Registry
from commonplace.instructions.assembly import build_service, build_shared_service
from commonplace.instructions.service import InstructionsService
from commonplace.instructions.toolset import toolset
from commonplace.kernel.auth import local_user
from commonplace.storage.postgres.database import open_database
from commonplace.storage.postgres.migrations import migrate
from servers import make_database, running_postgres

CONCURRENT = 16


@contextmanager
def folder_service() -> Iterator[InstructionsService]:
    with tempfile.TemporaryDirectory() as name:
        service = build_service(
            Path(name) / "instructions", Path(name), mutation_enabled=lambda: True
        )
        yield service
        service.close()


@contextmanager
def shared_service() -> Iterator[InstructionsService]:
    with running_postgres() as server, open_database(make_database(server)) as database:
        migrate(database, postgres_components())
        service = build_shared_service(database, mutation_enabled=lambda: True)
        yield service
        service.close()


async def measure(service: InstructionsService, entries: int, reads: int) -> dict[str, str]:
    pipeline = Pipeline(Registry([toolset(lambda: service)]), mutation_enabled=lambda: True)

    async def call(name: str, **arguments: Any) -> None:
        outcome = await pipeline.run(Call(name, arguments, local_user()))
        assert outcome.error is None, outcome.error

    async def add(number: int) -> None:
        entry = {"id": f"rule-{number}", "body": f"Rule {number}. " + "Do it well. " * 40}
        await call("instructions_add", entry=entry, lax=True)

    async def timed(work: Callable[[int], Any], numbers: range) -> float:
        begun = time.perf_counter()
        for number in numbers:
            await work(number)
        return (time.perf_counter() - begun) / len(numbers)

    async def get(number: int) -> None:
        await call("instructions_get", id=f"rule-{number % entries}")

    single = await timed(add, range(20))
    begun = time.perf_counter()
    for start in range(20, entries, 32):
        await asyncio.gather(*(add(number) for number in range(start, min(start + 32, entries))))
    together = (entries - 20) / (time.perf_counter() - begun)
    await timed(get, range(200))
    alone = await timed(get, range(reads))
    begun = time.perf_counter()
    for start in range(0, reads, CONCURRENT):
        await asyncio.gather(*(get(number) for number in range(start, start + CONCURRENT)))
    burst = reads / (time.perf_counter() - begun)
    return {
        "get, one after the other, microseconds": f"{alone * 1e6:.0f}",
        f"get, {CONCURRENT} at a time, calls/s": f"{burst:.0f}",
        "add, one after the other, ms": f"{single * 1e3:.1f}",
        "add, 32 at a time, calls/s": f"{together:.0f}",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=1000)
    parser.add_argument("--reads", type=int, default=2000)
    options = parser.parse_args()
    for name, opened in (("folder", folder_service), ("PostgreSQL", shared_service)):
        with opened() as service:
            figures = asyncio.run(measure(service, options.entries, options.reads))
        for what, figure in figures.items():
            sys.stdout.write(f"{name:<12} {what:<42} {figure}\n")


if __name__ == "__main__":
    main()
