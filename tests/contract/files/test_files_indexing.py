"""The index of files: jobs, retries, leases, what is analysed again, purging."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from files_box import AERO_TEXT, Box, MakeBox

from commonplace.files.indexing.indexer import Indexer, IndexerSettings
from commonplace.files.model import IndexChange, Job
from commonplace.files.postgres_assembly import NoLeader
from commonplace.files.store.protocol import IndexStep
from commonplace.files.tools.writing import writing_tools
from commonplace.kernel.settings import FilesIndex, FilesSettings
from commonplace.search.model import Partition, Passage
from commonplace.storage.postgres.errors import unavailable


def test_mutations_queue_one_job_per_file_in_their_own_transaction(box: Box) -> None:
    """003-7.1.1, 7.1.3"""
    for content in ("one", "two", "three"):
        box.write("/a", content)
    box.write("/b")
    box.call("file_delete", path="/b")
    jobs = box.rows(
        "SELECT file_path, operation, status, generation FROM mcp_file_index_jobs ORDER BY "
        "file_path",
    )
    assert jobs == [("/a", "UPSERT", "pending", 3), ("/b", "DELETE", "pending", 2)]
    assert box.code("file_write", path="/a/x", content="x") == "NOT_DIRECTORY"
    assert len(box.rows("SELECT 1 FROM mcp_file_index_jobs")) == 2
    box.index()
    assert box.rows("SELECT 1 FROM mcp_file_index_jobs") == []


def test_indexing_twice_changes_nothing(box: Box) -> None:
    """003-7.1.3"""
    box.write("/a", AERO_TEXT)
    box.index()
    statements = "SELECT * FROM mcp_file_chunks", f"SELECT * FROM {box.words_table}"
    before = [box.rows(statement) for statement in statements]
    asyncio.run(box.files.service._chunks.enqueue_all(_hash(), None, rebuild=False))
    box.index()
    assert [box.rows(statement) for statement in statements] == before


def test_an_edit_reindexes_only_what_changed(box: Box) -> None:
    long = "\n\n".join(
        f"## Section {n}\n\n" + f"Words of section {n} that fill it. " * 20 for n in range(40)
    )
    box.write("/long.md", long)
    box.index()
    before = {row[0] for row in box.rows("SELECT id FROM mcp_file_chunks")}
    box.call(
        "file_edit",
        path="/long.md",
        old_text="## Section 20\n",
        new_text="## Section twenty, renamed\n",
    )
    box.index()
    after = {row[0] for row in box.rows("SELECT id FROM mcp_file_chunks")}
    assert len(before) >= 40
    assert len(after - before) <= 3
    found = box.call("file_search", query="twenty renamed")["chunks"][0]
    assert (
        box.read(
            "/long.md",
            offset=found["file_seek_start_bytes"],
            length=len(found["chunk_content"].encode()),
        )
        == found["chunk_content"]
    )
    places = box.rows("SELECT start_byte, end_byte FROM mcp_file_chunks ORDER BY chunk_index")
    assert places[0][0] == 0
    assert [end for _, end in places[:-1]] == [start for start, _ in places[1:]]


def test_a_large_file_is_indexed_in_short_transactions(make_box: MakeBox) -> None:
    box = make_box(FilesSettings(max_payload_bytes=4_000_000))
    box.write("/big", "".join(f"line {n} of a long file about widgets\n" for n in range(40_000)))
    box.index()
    assert box.found("39999 widgets")[0] == "/big"
    assert box.call("file_index_status")["up_to_date"] is True


def test_chunks_persist_what_the_contract_lists(box: Box) -> None:
    """003-7.2.2, 10.2"""
    box.write("/a", "hello world")
    box.index()
    assert box.rows(
        "SELECT file_path, chunk_index, start_byte, end_byte, chunk_content FROM mcp_file_chunks",
    ) == [("/a", 0, 0, 11, "hello world")]
    assert box.rows("SELECT length(content_hash), last_served_at FROM mcp_file_chunks") == [
        (64, None)
    ]
    assert box.rows("SELECT token_count, tokenizer FROM mcp_file_chunk_bm25") == [
        (2, "commonplace-text-1")
    ]


def test_last_served_is_set_for_returned_chunks_only(box: Box) -> None:
    """003-7.5"""
    for n in range(8):
        box.write(f"/f{n}", "needle" + " filler" * n)
    box.index()
    returned = box.found("needle", limit=3)
    box.index()
    served = box.rows(
        "SELECT file_path FROM mcp_file_chunks WHERE last_served_at IS NOT NULL ORDER BY file_path",
    )
    assert [row[0] for row in served] == sorted(returned)


def test_a_failing_job_is_retried_then_given_up_and_reported(make_box: MakeBox) -> None:
    """7.1; dead letters are visible"""

    class Broken:
        async def synchronise(
            self,
            partition: Partition,
            prefix: str,
            passages: Sequence[Passage],
            *,
            most: int | None = None,
        ) -> int:
            raise RuntimeError("the model is away")

    box = make_box(
        FilesSettings(index=FilesIndex(retry_max=2, retry_backoff_ms=0)), listener=Broken()
    )
    box.write("/a", "needle")
    box.index()
    state = box.call("file_index_status")
    assert (state["pending"], state["dead"], state["up_to_date"]) == (0, 1, False)
    assert state["dead_letters"] == [
        {"file_path": "/a", "error": "RuntimeError: the model is away"}
    ]
    assert box.found("needle") == ["/a"]  # the lexical side was committed before
    box.write("/a", "needle again")
    assert box.call("file_index_status")["pending"] == 1


def test_a_listener_is_told_the_passages_of_each_file(make_box: MakeBox) -> None:
    told: dict[str, list[str]] = {}

    class Listener:
        async def synchronise(
            self,
            partition: Partition,
            prefix: str,
            passages: Sequence[Passage],
            *,
            most: int | None = None,
        ) -> int:
            assert all(passage.key.startswith(prefix) for passage in passages)
            told[f"{partition.scope}:{prefix}"] = [passage.text for passage in passages]
            return 0

    box = make_box(listener=Listener())
    box.write("/a", "hello")
    box.index()
    assert told == {"p:/a#": ["hello"]}
    box.call("file_delete", path="/a")
    box.index()
    assert told == {"p:/a#": []}


def test_a_claimed_job_is_exclusive_until_its_lease_ends(box: Box) -> None:
    box.write("/a", "needle")
    index = box.files.service._chunks
    claim = index.claim  # type: ignore[attr-defined]
    assert [job.path for job in asyncio.run(claim("one", 10))] == ["/a"]
    assert asyncio.run(claim("two", 10)) == []
    assert box.call("file_index_status")["processing"] == 1
    box.change("UPDATE mcp_file_index_jobs SET lease_until = @1@")
    assert [job.path for job in asyncio.run(claim("two", 10))] == ["/a"]


def test_jobs_of_a_dead_worker_are_done_by_the_next_one(box: Box) -> None:
    """A new leader takes over at once; among many workers, the lease must expire first."""
    box.write("/a", "needle")
    asyncio.run(box.files.service._chunks.claim("dead worker", 10))  # type: ignore[attr-defined]
    if box.url:
        box.index()
        assert box.found("needle") == []
        box.change("UPDATE mcp_file_index_jobs SET lease_until = @1@")
    box.index()
    assert box.found("needle") == ["/a"]
    assert box.call("file_index_status")["up_to_date"] is True


def test_a_write_during_indexing_leaves_a_job_for_the_newer_state(box: Box) -> None:
    box.write("/a", "needle")
    index: Any = box.files.service._chunks
    job = asyncio.run(index.claim("one", 10))[0]  # type: ignore[attr-defined]
    box.write("/a", "thimble")
    digest = hashlib.sha256(b"needle").hexdigest()
    [applied] = asyncio.run(index.apply([IndexStep(job, digest, IndexChange(), (), last=True)]))
    assert applied is False
    assert box.call("file_index_status")["pending"] == 1
    box.index()
    assert (box.found("needle"), box.found("thimble")) == ([], ["/a"])


def test_reindex_rebuilds_what_was_lost(box: Box) -> None:
    box.write("/a", "needle")
    box.write("/b", "thimble", project="other")
    box.index()
    box.change(f"DELETE FROM {box.words_table}")
    assert box.found("needle") == []
    assert asyncio.run(box.files.service._chunks.enqueue_all(_hash(), None, rebuild=True)) == 2
    box.index()
    assert box.found("needle") == ["/a"]
    assert box.found("thimble", project="other") == ["/b"]


# -- section 8


def test_a_lock_that_is_not_free_in_time_is_resource_busy(make_box: MakeBox) -> None:
    """003-8.6, 8.7"""
    box = make_box(FilesSettings(lock_timeout_ms=150))
    box.write("/a", "before")
    with box.locked():
        for tool, arguments in (
            ("file_write", {"path": "/a", "content": "x"}),
            ("file_delete", {"path": "/a"}),
        ):
            error = box.error(tool, **arguments)
            assert (error.code.name, error.retryable) == ("RESOURCE_BUSY", True)
        assert box.read("/a") == "before"  # reads do not wait for writers
    box.write("/a", "after")
    assert box.read("/a") == "after"


def test_concurrent_appends_are_one_sequence(box: Box) -> None:
    """003-8.1"""
    service = box.files.service

    async def run() -> None:
        from commonplace.kernel.auth import local_user

        await asyncio.gather(
            *(service.write(local_user(), "p", "/log", f"{n}\n") for n in range(200))
        )

    asyncio.run(run())
    lines = box.call("file_read", "local", path="/log")["content"].split()
    assert sorted(lines, key=int) == [str(n) for n in range(200)]


def test_soft_deleted_rows_are_purged_after_the_retention(make_box: MakeBox) -> None:
    """003-10"""
    box = make_box()
    box.write("/old")
    box.write("/new")
    box.call("file_delete", path="/old")
    box.call("file_delete", path="/new")
    box.change("UPDATE mcp_files SET deleted_at = @1@ WHERE path = '/old'")
    assert box.code("file_restore", path="/old") == "NOT_FOUND"
    asyncio.run(box.files.indexer._clean_up())
    assert box.rows("SELECT path FROM mcp_files") == [("/new",)]
    assert box.call("file_restore", path="/new") == {"restored": 1, "paths": ["/new"]}


# -- section 11


def test_content_is_marked_for_redaction() -> None:
    """003-11.4"""
    redacted = {tool.name: tool.redact for tool in writing_tools(lambda: None)}  # type: ignore[arg-type,return-value]
    assert redacted["file_write"] == {"content"}
    assert redacted["file_edit"] == {"old_text", "new_text", "edits"}


def test_nothing_of_the_content_reaches_the_log(box: Box, caplog: pytest.LogCaptureFixture) -> None:
    """003-11.1"""
    caplog.set_level("DEBUG")
    box.write("/a", "walrusworthy secret")
    box.index()
    box.found("walrusworthy")
    box.error("file_write", path="/a/b", content="walrusworthy")
    assert "walrusworthy" not in caplog.text


def _hash() -> str:
    from commonplace.kernel.auth import Tenant, tenant_hash

    return tenant_hash(Tenant("t1"))


def test_deleted_files_hide_no_others_while_the_index_catches_up(box: Box) -> None:
    """003-6.7, 8"""
    for number in range(60):
        box.write(f"/d/{number}.md", f"koala koala koala {number}")
    box.write(
        "/z.md",
        "Among many other things, once, a koala is mentioned here in a sentence that is rather "
        "long.",
    )
    box.index()
    box.call("file_delete", path="/d", recursive=True)
    assert box.found("koala") == ["/z.md"]


class OnceAway:
    """The queue of a database that is away when a batch is read for the first time."""

    def __init__(self, jobs: Any) -> None:
        self._jobs = jobs
        self.failed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._jobs, name)

    async def sources(self, jobs: Sequence[Job], max_bytes: int) -> Any:
        if not self.failed:
            self.failed = True
            raise unavailable()
        return await self._jobs.sources(jobs, max_bytes)


async def wait_until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 (a condition of a database)
            await asyncio.sleep(0.01)


def test_large_files_follow_each_other_without_a_pause(box: Box) -> None:
    for number in range(3):
        box.write(f"/{number}", f"walrus{number} and a sentence of some length\n\n" * 1_000)
    settings = IndexerSettings(poll_seconds=60, gather_seconds=60)
    worker = Indexer(box.files.service._chunks, box.files.service._files, NoLeader(), settings)

    async def work() -> None:
        running = asyncio.create_task(worker.run())
        await wait_until(lambda: worker.completed == 3)
        worker.stop()
        await running

    asyncio.run(work())
    assert set(box.found("walrus2")) == {"/2"}


def test_jobs_of_a_batch_that_failed_with_the_database_are_claimed_again(box: Box) -> None:
    """Renewing them for as long as the worker lives would keep them from every worker."""
    box.write("/a", "walrus")
    jobs = OnceAway(box.files.service._chunks)
    settings = IndexerSettings(poll_seconds=0.2, renew_seconds=0.02)
    worker = Indexer(jobs, box.files.service._files, NoLeader(), settings)

    async def work() -> None:
        running = asyncio.create_task(worker.run())
        await wait_until(lambda: jobs.failed)
        box.change("UPDATE mcp_file_index_jobs SET lease_until = @1@ WHERE status = 'processing'")
        await wait_until(lambda: worker.completed == 1)
        worker.stop()
        await running

    asyncio.run(work())
    assert box.found("walrus") == ["/a"]
