"""The retention of memory purges what is old, of every tenant, and leaves audit records.

A server on PostgreSQL keeps the vector indexes of memory.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from commonplace.bootstrap.app import App, build
from commonplace.bootstrap.memory_upkeep import LABEL, MemoryUpkeep
from commonplace.kernel.auth import Tenant
from commonplace.kernel.clock import utc_now
from commonplace.kernel.settings import Settings, StorageSettings
from commonplace.memory.model import EntryType
from commonplace.telemetry.query import AuditFilter

TENANTS = (Tenant("a"), Tenant("b"))


@pytest.fixture(params=["sqlite", "postgres"])
def app(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[App]:
    settings = Settings(data=tmp_path / "data")
    memory = settings.mcp.memory.replace(retention_days=30)
    settings = settings.replace(mcp=settings.mcp.replace(memory=memory))
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_url")
        settings = settings.replace(storage=StorageSettings(url=url))
    with build(settings, local_user_writes=True) as made:
        yield made


async def delete_old_and_new(app: App) -> None:
    """Delete an entry 40 days ago and one yesterday, of each tenant."""
    memory = app.services.memory
    for tenant in TENANTS:
        for days in (1, 40):
            added = await memory.add(tenant, memory.draft(EntryType.BUG, f"Deleted {days} ago"))
            moment = utc_now() - timedelta(days=days)
            deleted = replace(added.entry, deleted_at=moment, updated_at=moment)
            await memory.store.replace(tenant, deleted, "delete")


async def count_deleted(app: App) -> list[int]:
    memory = app.services.memory
    return [(await memory.counts(tenant)).deleted for tenant in TENANTS]


def test_a_sweep_purges_what_is_older_than_the_retention(app: App) -> None:
    upkeep = MemoryUpkeep(app.services, app.pipeline)

    async def sweep() -> None:
        await delete_old_and_new(app)
        assert await upkeep.sweep() == 2
        assert await count_deleted(app) == [1, 1]
        assert await upkeep.sweep() == 0

    asyncio.run(sweep())
    records = app.services.trail.query(AuditFilter(tool="memory_purge", limit=10))
    assert sorted(str(record["tenant"]) for record in records) == ["a", "b"]
    assert {record["label"] for record in records} == {LABEL}


def test_a_server_with_a_retention_sweeps_by_itself(app: App) -> None:
    asyncio.run(delete_old_and_new(app))
    upkeep = MemoryUpkeep(app.services, app.pipeline, first_seconds=0.01)
    upkeep.start()
    deadline = time.monotonic() + 30
    while asyncio.run(count_deleted(app)) != [1, 1]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    upkeep.close()


def test_a_server_that_may_not_change_anything_does_not_sweep(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data")
    settings = settings.replace(
        mcp=settings.mcp.replace(memory=settings.mcp.memory.replace(retention_days=30)),
        server=settings.server.replace(read_only=True),
    )
    with build(settings, local_user_writes=True) as app:
        upkeep = MemoryUpkeep(app.services, app.pipeline, first_seconds=0.0)
        upkeep.start()
        upkeep.close()
        assert not (tmp_path / "data" / "memory.db").exists()


@pytest.mark.parametrize("read_only", [False, True])
def test_a_server_keeps_vector_indexes_while_it_runs_if_it_may_write(
    tmp_path: Path, postgres_url: str, read_only: bool
) -> None:
    settings = Settings(data=tmp_path / "data")
    settings = settings.replace(
        storage=StorageSettings(url=postgres_url),
        server=settings.server.replace(read_only=read_only),
    )

    def is_kept() -> bool:
        return any(thread.name == "memory-vector-indexes" for thread in threading.enumerate())

    with build(settings) as app:
        app.start(http=False)
        assert is_kept() is not read_only
    assert not is_kept()
