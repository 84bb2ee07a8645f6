"""Indexing is fair on both databases: a small file never waits for the large files of others.
benchmarks/fairness.py measures it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from files_box import Box, MakeBox, Words

from commonplace.files.indexing.thread import IndexerThread
from commonplace.files.store.postgres_embeddings import PostgresEmbeddings
from commonplace.files.store.postgres_index import LEASE_SECONDS
from commonplace.files.store.postgres_sides import PostgresLocalSide
from commonplace.files.store.units import microseconds
from commonplace.kernel.auth import Tenant, tenant_hash
from commonplace.kernel.settings import FilesSettings
from commonplace.search.semantic.vector import VectorIndex
from commonplace.storage.outbox import LargeJobs
from commonplace.storage.postgres.database import PostgresDatabase

LARGE = "".join(
    f"entry {n} of a long file about widgets, gaskets and flanges\n\n" for n in range(24_000)
)[:1_500_000]
WAIT_SECONDS = 60.0


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def claimed(box: Box, limit: int, **options: Any) -> list[Any]:
    jobs: list[Any] = box._loop.run_until_complete(
        box.files.service._chunks.claim("worker", limit, **options)
    )  # type: ignore[attr-defined]
    return jobs


def with_vectors(make_box: MakeBox, tmp_path: Path, url: str) -> Box:
    settings = FilesSettings(max_payload_bytes=4_000_000)
    if not url:
        return make_box(settings, listener=VectorIndex(tmp_path / "vectors", Words()))
    words = Words()
    return make_box(
        settings,
        listener=PostgresLocalSide(
            words, PostgresEmbeddings(PostgresDatabase(url, pool_size=1), words.identity, 384)
        ),
    )


def test_a_small_file_is_found_while_a_large_one_of_another_tenant_is_indexed(
    make_box: MakeBox, tmp_path: Path, request: Any
) -> None:
    url = (
        request.getfixturevalue("postgres_url")
        if request.node.callspec.params["make_box"] != "sqlite"
        else ""
    )
    box = with_vectors(make_box, tmp_path, url)
    thread = IndexerThread(box.files.indexer)
    thread.start()
    try:
        box.write("/large.txt", LARGE)
        until(lambda: bool(box.call("file_index_status")["chunks"]))  # it is under way
        box.write("/small.txt", "the walrus swims at dawn", tenant="t2")
        until(lambda: box.found("walrus", tenant="t2") == ["/small.txt"])
        assert box.call("file_index_status")["chunks"] < 1_200, "the large file came first"
        until(lambda: bool(box.call("file_index_status", tenant="t2")["up_to_date"]))
        assert box.call("file_index_status")["up_to_date"] is False, (
            "the vectors of the large file came first"
        )
    finally:
        thread.stop()
    assert box.rows("SELECT 1 FROM mcp_file_index_jobs WHERE status = 'processing'") == []
    assert box.rows("SELECT 1 FROM mcp_file_local_vector_jobs WHERE status = 'processing'") == []
    again = make_box()
    again.index()
    assert again.found("23000 widgets")[0] == "/large.txt"


def test_tenants_and_their_projects_take_turns(box: Box) -> None:
    for n in range(12):
        box.write(f"/a{n}", project="one")
    for n in range(4):
        box.write(f"/b{n}", project="two")
    box.write("/c", tenant="t2")
    names = {tenant_hash(Tenant(name)): name for name in ("t1", "t2")}
    first = claimed(box, 4)
    assert sorted((names[job.tenant], job.project, job.path) for job in first) == [
        ("t1", "one", "/a0"),
        ("t1", "one", "/a1"),
        ("t1", "two", "/b0"),
        ("t2", "p", "/c"),
    ]
    box.write("/d", tenant="t2")
    singles = [claimed(box, 1)[0] for _ in range(3)]
    assert [names[job.tenant] for job in singles] in (["t1", "t2", "t1"], ["t2", "t1", "t1"])
    rest = claimed(box, 100)
    assert len(first) + len(singles) + len(rest) == 18


def test_a_worker_takes_one_large_file_of_a_tenant_and_its_small_ones(box: Box) -> None:
    for n in range(3):
        box.write(f"/large{n}", "x" * 5_000)
    for n in range(3):
        box.write(f"/small{n}", "x")
    jobs = claimed(box, 10, large=LargeJobs(1_000, 4))
    assert [job.path for job in jobs] == ["/large0", "/small0", "/small1", "/small2"]
    assert [job.size for job in jobs] == [5_000, 1, 1, 1]
    busy = frozenset({jobs[0].tenant})
    assert claimed(box, 10, large=LargeJobs(1_000, 4, busy)) == []
    assert claimed(box, 10, large=LargeJobs(1_000, 0)) == []
    assert [job.path for job in claimed(box, 10, large=LargeJobs(1_000, 4))] == ["/large1"]


def test_a_large_file_that_becomes_small_leaves_nothing_behind(make_box: MakeBox) -> None:
    box = make_box(FilesSettings(max_payload_bytes=4_000_000))
    box.write("/a", LARGE[:600_000])
    box.index()
    assert box.rows("SELECT count(*) FROM mcp_file_chunks")[0][0] > 256
    box.write("/a", "walrus")
    box.index()
    assert box.rows("SELECT count(*) FROM mcp_file_chunks") == [(1,)]
    assert (box.found("widgets"), box.found("walrus")) == ([], ["/a"])
    box.write("/a", LARGE[:600_000])
    box.index()
    box.call("file_delete", path="/a")
    box.index()
    assert box.rows("SELECT count(*) FROM mcp_file_chunks") == [(0,)]


def test_chunks_of_white_space_are_not_indexed(box: Box) -> None:
    box.write("/a", "walrus\n" + " \n" * 3_000 + "\u00a0\t\n" * 900 + "\n\nnarwhal\n")
    box.write("/blank", " \n" * 3_000)
    box.index()
    texts = [str(row[0]) for row in box.rows("SELECT chunk_content FROM mcp_file_chunks")]
    assert texts
    assert all(text.strip() for text in texts)
    assert (box.found("walrus"), box.found("narwhal")) == (["/a"], ["/a"])
    assert box.call("file_index_status")["up_to_date"] is True
    indexes = [
        row[0] for row in box.rows("SELECT chunk_index FROM mcp_file_chunks ORDER BY chunk_index")
    ]
    assert indexes == list(range(len(indexes)))


def test_the_clock_of_a_server_delays_no_file(make_box: MakeBox) -> None:
    """Queues that several machines share use the database's clock.

    In SQLite all processes have the clock of one machine.
    """
    ahead = 0
    box = make_box(now=lambda: microseconds() + ahead)
    if box.url:
        ahead = 40_000_000
    box.write("/a", "walrus")
    ahead = -ahead
    assert [job.path for job in claimed(box, 5)] == ["/a"]
    if box.url:
        lease = "SELECT extract(epoch FROM lease_until - now()) FROM mcp_file_index_jobs"
        assert LEASE_SECONDS - 10 < box.rows(lease)[0][0] <= LEASE_SECONDS
        index: Any = box.files.service._chunks
        (job_id,) = box.rows("SELECT id FROM mcp_file_index_jobs")[0]
        box._loop.run_until_complete(index.renew("worker", [job_id]))
        assert LEASE_SECONDS - 10 < box.rows(lease)[0][0] <= LEASE_SECONDS
    job = asyncio.run(box.files.service._chunks.claim("other", 5))  # type: ignore[attr-defined]
    assert job == []
