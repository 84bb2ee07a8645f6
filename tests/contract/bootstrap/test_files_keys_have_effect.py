"""Each key of `settings.mcp.files` has an effect (docs/reference/contracts/files.md, 12)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from commonplace.bootstrap.app import App, build
from commonplace.cli.doctor.examination import examine
from commonplace.cli.session import begin, session
from commonplace.dispatch.call import Call, Outcome, to_json
from commonplace.files.assembly import build_files
from commonplace.files.store.index_store import partition_of
from commonplace.files.store.postgres_words import fit_mode
from commonplace.kernel.auth import local_user
from commonplace.kernel.config.catalog import leaves
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.settings import (
    Embedding,
    Fallback,
    FilesIndex,
    FilesSearch,
    FilesSettings,
    LexicalMode,
    McpSettings,
    Settings,
    StorageSettings,
)
from commonplace.search.assembly import hybrid_policy, open_semantic_search
from commonplace.search.model import LexicalResult, Neighbours
from commonplace.search.retriever import HybridRetriever
from commonplace.storage.postgres.database import open_database
from commonplace.storage.sqlite.database import Database

PROVED = {
    "allow_root_wipe": "test_allow_root_wipe_warns_and_changes_nothing",
    "max_payload_bytes": "test_max_payload_bytes_bounds_one_request",
    "max_file_bytes": "test_max_file_bytes_bounds_a_file",
    "max_project_bytes": "test_max_project_bytes_bounds_a_project",
    "max_tenant_bytes": "test_max_tenant_bytes_bounds_all_projects_together",
    "list_limit_default": "test_list_limits_default_and_clamp",
    "list_limit_max": "test_list_limits_default_and_clamp",
    "lock_timeout_ms": "test_lock_timeout_ms_ends_the_wait",
    "delete_retention_days": "test_delete_retention_days_decides_what_can_be_restored",
    "rate_per_second": "test_rate_keys_bound_how_often_a_tenant_calls",
    "rate_burst": "test_rate_keys_bound_how_often_a_tenant_calls",
    "search.enabled": "test_search_can_be_switched_off",
    "search.limit_default": "test_search_limits_default_and_clamp",
    "search.limit_max": "test_search_limits_default_and_clamp",
    "search.lexical": "test_the_lexical_mode_decides_what_the_words_are_ranked_by",
    "search.bm25_candidates": "test_each_side_returns_the_configured_candidates",
    "search.fallback.semantic_weight": "test_fixed_weights_are_shown_in_the_explanation",
    "search.fallback.lexical_weight": "test_fixed_weights_are_shown_in_the_explanation",
    "search.vector_candidates": "test_each_side_returns_the_configured_candidates",
    "search.embedding.provider": "test_the_embedder_is_the_one_configured",
    "search.embedding.model": "test_the_embedder_is_the_one_configured",
    "index.workers": "test_without_workers_nothing_is_indexed",
    "index.batch_size": "test_a_worker_takes_batch_size_jobs_at_once",
    "index.retry_max": "test_a_failing_job_is_retried_as_often_as_configured",
    "index.retry_backoff_ms": "test_a_failing_job_is_retried_as_often_as_configured",
}
ELSEWHERE = {  # external models: shown with a server that plays the models
    "search.embedding.endpoint": "test_the_embedding_model_is_called_as_configured",
    "search.embedding.timeout_ms": "test_each_model_has_its_own_time_limit",
    "search.embedding.dimensions": "test_the_embedding_model_is_called_as_configured",
    "search.rerank.enabled": "test_the_rerank_model_is_called_as_configured",
    "search.rerank.model": "test_the_rerank_model_is_called_as_configured",
    "search.rerank.endpoint": "test_the_rerank_model_is_called_as_configured",
    "search.rerank.timeout_ms": "test_each_model_has_its_own_time_limit",
    "security.encryption_keks": "test_envelopes_have_the_configured_key_prefix_and_time",
    "security.credential_cache_prefix": "test_envelopes_have_the_configured_key_prefix_and_time",
    "security.credential_cache_ttl_seconds": (
        "test_envelopes_have_the_configured_key_prefix_and_time"
    ),
    "index.slo_p95_seconds": "test_the_freshness_objective_decides_when_doctor_warns",
}


@contextlib.contextmanager
def files(tmp_path: Path, settings: FilesSettings) -> Iterator[App]:
    with build(Settings(data=tmp_path / "data", mcp=McpSettings(files=settings))) as app:
        yield app


def run(app: App, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """Codes of failures, outputs of successes, on one event loop."""

    async def all_of_them() -> list[Any]:
        answers = []
        for tool, arguments in calls:
            if tool == "settle":
                await app.services.files.wait_until_indexed(local_user(), 20.0)
                continue
            outcome = await app.pipeline.run(
                Call(tool, {"project": "p", **arguments}, local_user())
            )
            answers.append(
                outcome.error.code.name if outcome.error is not None else to_json(outcome.output)
            )  # type: ignore[arg-type]
        return answers

    return asyncio.run(all_of_them())


def write(path: str, content: str) -> tuple[str, dict[str, Any]]:
    return "file_write", {"path": path, "content": content}


def test_every_key_is_tested_here_or_listed() -> None:
    prefix = "mcp.files."
    keys = {name.removeprefix(prefix) for name, _ in leaves() if name.startswith(prefix)}
    assert keys == PROVED.keys() | ELSEWHERE.keys()
    assert len(keys) == len(PROVED) + len(ELSEWHERE)
    elsewhere = Path(__file__).with_name("test_model_keys_have_effect.py").read_text()
    for test in ELSEWHERE.values():
        assert f"def {test}(" in elsewhere
    for test in PROVED.values():
        assert callable(globals()[test])


def test_allow_root_wipe_warns_and_changes_nothing(tmp_path: Path) -> None:
    with files(tmp_path, FilesSettings(allow_root_wipe=True)) as app:
        assert (
            run(app, write("/a", "x"), ("file_delete", {"path": "", "recursive": True}))[1]
            == "PERMISSION_DENIED"
        )
    config = tmp_path / "c.yaml"
    config.write_text("settings: {mcp: {files: {allow_root_wipe: true}}}")
    begin(config, tmp_path / "data")
    try:
        assert [
            check.status
            for check in examine()
            if check.name == "files" and "allow_root_wipe" in check.finding
        ] == ["warn"]
    finally:
        session().close()


def test_max_payload_bytes_bounds_one_request(tmp_path: Path) -> None:
    with files(tmp_path, FilesSettings(max_payload_bytes=10)) as app:
        assert run(app, write("/a", "x" * 11), write("/a", "é" * 6)) == [
            "PAYLOAD_TOO_LARGE",
            "PAYLOAD_TOO_LARGE",
        ]
        assert run(app, write("/a", "x" * 10))[0]["bytes_written"] == 10


def test_max_file_bytes_bounds_a_file(tmp_path: Path) -> None:
    with files(tmp_path, FilesSettings(max_file_bytes=15)) as app:
        assert run(app, write("/a", "x" * 10), write("/a", "x" * 6))[1] == "PAYLOAD_TOO_LARGE"


def test_max_project_bytes_bounds_a_project(tmp_path: Path) -> None:
    with files(tmp_path, FilesSettings(max_project_bytes=15)) as app:
        assert run(app, write("/a", "x" * 10), write("/b", "x" * 6))[1] == "QUOTA_EXCEEDED"


def test_max_tenant_bytes_bounds_all_projects_together(tmp_path: Path) -> None:
    with files(tmp_path, FilesSettings(max_tenant_bytes=15)) as app:
        name, arguments = write("/b", "x" * 6)
        other = (name, {**arguments, "project": "other"})
        assert run(app, write("/a", "x" * 10), other)[1] == "QUOTA_EXCEEDED"


def test_list_limits_default_and_clamp(tmp_path: Path) -> None:
    with files(tmp_path, FilesSettings(list_limit_default=2, list_limit_max=3)) as app:
        for name in "abcde":
            run(app, write(f"/{name}", "x"))
        default, clamped = run(app, ("file_list", {}), ("file_list", {"limit": 100}))
        assert (len(default["entries"]), default["has_more"]) == (2, True)
        assert (len(clamped["entries"]), clamped["has_more"]) == (3, True)


@pytest.mark.parametrize(("timeout_ms", "least", "most"), [(50, 0.04, 1.5), (900, 0.8, 6.0)])
def test_lock_timeout_ms_ends_the_wait(
    timeout_ms: int, least: float, most: float, tmp_path: Path
) -> None:
    with files(tmp_path, FilesSettings(lock_timeout_ms=timeout_ms)) as app:
        run(app, write("/a", "x"))
        holder = apsw.Connection(str(tmp_path / "data" / "commonplace.db"))
        holder.set_busy_timeout(10_000)  # the indexer may hold the write lock for a moment
        holder.execute("BEGIN IMMEDIATE")
        try:

            async def blocked() -> Outcome:
                arguments = {"project": "p", "path": "/b", "content": "x"}
                return await app.pipeline.run(Call("file_write", arguments, local_user()))

            outcome = asyncio.run(blocked())
        finally:
            holder.execute("ROLLBACK")
            holder.close()
        assert outcome.error is not None
        assert outcome.error.code.name == "RESOURCE_BUSY"
        assert least <= outcome.duration_seconds <= most


@pytest.mark.parametrize(("days", "restored"), [(30, True), (0, False)])
def test_delete_retention_days_decides_what_can_be_restored(
    days: int, restored: bool, tmp_path: Path
) -> None:
    with files(tmp_path, FilesSettings(delete_retention_days=days)) as app:
        answers = run(
            app, write("/a", "x"), ("file_delete", {"path": "/a"}), ("file_restore", {"path": "/a"})
        )
        assert (answers[2] != "NOT_FOUND") is restored


def test_rate_keys_bound_how_often_a_tenant_calls(tmp_path: Path) -> None:
    stats = [("file_stat", {"path": "/a"})] * 6
    with files(tmp_path, FilesSettings(rate_per_second=0.01, rate_burst=4)) as app:
        assert [answer == "RATE_LIMITED" for answer in run(app, *stats)] == [False] * 4 + [True] * 2
    with files(tmp_path, FilesSettings()) as app:
        assert "RATE_LIMITED" not in run(app, *stats)


def test_search_can_be_switched_off(tmp_path: Path) -> None:
    with files(tmp_path, FilesSettings(search=FilesSearch(enabled=False))) as app:
        assert "file_search" not in {tool.name for tool in app.registry.listed()}
        assert run(app, ("file_search", {"query": "x"})) == ["SEARCH_BACKEND_ERROR"]
    with files(tmp_path, FilesSettings()) as app:
        assert "file_search" in {tool.name for tool in app.registry.listed()}


def test_search_limits_default_and_clamp(tmp_path: Path) -> None:
    with files(tmp_path, FilesSettings(search=FilesSearch(limit_default=2, limit_max=3))) as app:
        written = [write(f"/{name}.md", f"walnut harvest number {name}") for name in "abcde"]
        *_, default, clamped = run(
            app,
            *written,
            ("settle", {}),
            ("file_search", {"query": "walnut"}),
            ("file_search", {"query": "walnut", "limit": 20}),
        )
        assert len(default["chunks"]) == 2
        assert len(clamped["chunks"]) == 3


class CountingWords:
    """A lexical side that finds nothing and remembers how much it was asked for."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    async def search(
        self,
        partition: Any,
        terms: Any,
        *,
        limit: int,
        weights: Any,
        prefix: str = "",
        emphasis: Any = None,
    ) -> LexicalResult:
        self.asked.append(limit)
        return LexicalResult()


class CountingMeaning:
    """A semantic side of the same kind."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.embedder = self.vectors = self
        self.identity, self.earlier = "fake/1", None

    def replaced_identity(self, partition: Any) -> None:
        return None

    def embed_query(self, query: str) -> list[float]:
        return [1.0]

    def search(
        self, partition: Any, vector: Any, wanted: int, prefix: str, also: Any
    ) -> Neighbours:
        self.asked.append(wanted)
        return Neighbours({}, 0, True)


def test_the_transitional_lexical_mode_needs_postgresql(tmp_path: Path) -> None:
    settings = Settings(
        data=tmp_path, mcp=McpSettings(files=FilesSettings(search=FilesSearch(lexical="tsvector")))
    )
    with build(settings) as app, pytest.raises(CommonplaceError) as refused:
        _ = app.services.files
    assert refused.value.code.name == "INVALID_CONFIG"
    assert "postgresql://" in (refused.value.hint or "")


@pytest.mark.parametrize(("mode", "measure"), [("bm25", "bm25"), ("tsvector", "ts_rank")])
def test_the_lexical_mode_decides_what_the_words_are_ranked_by(
    tmp_path: Path, postgres_url: str, mode: LexicalMode, measure: str
) -> None:
    with open_database(postgres_url, pool_size=1) as database:
        fit_mode(database, mode)
    chosen = FilesSettings(search=FilesSearch(lexical=mode, embedding=Embedding(provider="off")))
    settings = Settings(
        data=tmp_path, storage=StorageSettings(url=postgres_url), mcp=McpSettings(files=chosen)
    )
    with build(settings) as app:
        answers = run(
            app,
            write("/a", "needle"),
            ("settle", {}),
            ("file_search", {"query": "needle", "explain": True}),
        )
    explain = answers[1]["chunks"][0]["explain"]
    assert {"bm25", "ts_rank"} & explain.keys() == {measure}


def test_each_side_returns_the_configured_candidates() -> None:
    words, meaning = CountingWords(), CountingMeaning()
    for lexical, semantic in ((30, 30), (7, 9), (400, 500)):
        chosen = hybrid_policy(FilesSearch(bm25_candidates=lexical, vector_candidates=semantic))
        retriever = HybridRetriever(words, meaning, chosen)  # type: ignore[arg-type]
        for limit in (5, lexical + semantic):  # how many hits are wanted changes nothing
            asyncio.run(
                retriever.retrieve(partition_of("t", "p"), "walnut", limit=limit, weights={})
            )
    assert words.asked == [30, 30, 7, 7, 400, 400]
    assert meaning.asked == [30, 30, 9, 9, 500, 500]


def test_the_embedder_is_the_one_configured(tmp_path: Path) -> None:
    off = open_semantic_search(tmp_path, Embedding(provider="off"))
    assert (off.semantics, "'off'" in off.absent) == (None, True)
    absent = open_semantic_search(tmp_path, Embedding(model="mine"))
    assert absent.semantics is None
    (tmp_path / "models" / "mine").mkdir(parents=True)
    broken = open_semantic_search(tmp_path, Embedding(model="mine"))
    assert broken.semantics is None
    assert broken.absent != absent.absent


def test_fixed_weights_are_shown_in_the_explanation(tmp_path: Path) -> None:
    told = set()
    for fallback in (
        Fallback(),
        Fallback(semantic_weight=0.3, lexical_weight=0.7),
        Fallback(lexical_weight=0.9),
    ):
        with files(tmp_path, FilesSettings(search=FilesSearch(fallback=fallback))) as app:
            *_, found = run(
                app,
                write("/a.md", "walnut harvest"),
                ("settle", {}),
                ("file_search", {"query": "walnut", "explain": True}),
            )
            told.add(found["chunks"][0]["explain"]["fusion"])
    assert len(told) == 3


def test_without_workers_nothing_is_indexed(tmp_path: Path) -> None:
    with files(tmp_path, FilesSettings(index=FilesIndex(workers=0))) as app:
        _, status = run(app, write("/a.md", "walnut harvest"), ("file_index_status", {}))
        assert status["pending"] == 1
    with files(tmp_path, FilesSettings(index=FilesIndex(workers=1))) as app:
        (status,) = run(app, ("settle", {}), ("file_index_status", {}))
        assert status["pending"] == 0


@pytest.mark.parametrize("size", [1, 2, 20])
def test_a_worker_takes_batch_size_jobs_at_once(size: int, tmp_path: Path) -> None:
    settings = FilesSettings(index=FilesIndex(batch_size=size, workers=0))
    database = Database(tmp_path / "files.db")
    try:
        made = build_files(database, tmp_path, settings)

        async def written_then_counted() -> list[int]:
            for name in "abcde":
                await made.service.write(local_user(), "p", f"/{name}.md", "walnut")
            done: list[int] = []
            assert await made.indexer.drain(done.append)
            return done

        assert asyncio.run(written_then_counted()) == [
            min(5, size * batch) for batch in range(1, -(-5 // size) + 1)
        ]
    finally:
        database.close()


class Broken:
    """A listener that fails on every passage."""

    def __init__(self) -> None:
        self.tries = 0

    async def synchronise(
        self, partition: Any, prefix: str, passages: Any, *, most: int | None = None
    ) -> int:
        self.tries += 1
        raise RuntimeError("no model today")


@pytest.mark.parametrize(
    ("retries", "backoff_ms", "tries"), [(0, 0, 1), (3, 0, 4), (3, 3_600_000, 1)]
)
def test_a_failing_job_is_retried_as_often_as_configured(
    retries: int, backoff_ms: int, tries: int, tmp_path: Path
) -> None:
    settings = FilesSettings(index=FilesIndex(retry_max=retries, retry_backoff_ms=backoff_ms))
    database, broken = Database(tmp_path / "files.db"), Broken()
    try:
        made = build_files(database, tmp_path, settings, listener=broken)

        async def until_given_up() -> None:
            await made.service.write(local_user(), "p", "/a.md", "walnut")
            for _ in range(10):
                await made.indexer.drain()

        asyncio.run(until_given_up())
        assert broken.tries == tries
    finally:
        database.close()
