"""Each key of external models has an effect (docs/reference/contracts/files.md, section 12)."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from commonplace.bootstrap.app import App, build
from commonplace.cli.session import begin, session
from commonplace.dispatch.call import Call, to_json
from commonplace.kernel.auth import ALL_SCOPES, LOCAL_TENANT, AuthContext
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.settings import (
    Embedding,
    FilesIndex,
    FilesSearch,
    FilesSecurity,
    FilesSettings,
    McpSettings,
    Rerank,
    Settings,
    StorageSettings,
)
from commonplace.storage.credentials.envelope import Sealed
from model_server import ModelServer
from servers import Valkey

KEY = "sk-caller-0123456789"
USER = AuthContext(LOCAL_TENANT, ALL_SCOPES, "local", model_key=KEY)
SECURITY = FilesSecurity(
    encryption_keks={"3": "the third secret of all", "11": "the eleventh secret of all"}
)


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@contextlib.contextmanager
def running(
    tmp_path: Path,
    search: FilesSearch,
    security: FilesSecurity = SECURITY,
    cache_url: str = "",
    **more: Any,
) -> Iterator[App]:
    more.setdefault("index", FilesIndex(retry_backoff_ms=50))
    files = FilesSettings(search=search, security=security, **more)
    settings = Settings(
        data=tmp_path / "data",
        mcp=McpSettings(files=files),
        storage=StorageSettings(cache_url=cache_url),
    )
    with build(settings, environ={}) as app:
        yield app


def call(app: App, tool: str, **arguments: Any) -> Any:
    outcome = asyncio.run(app.pipeline.run(Call(tool, {"project": "p", **arguments}, USER)))
    assert outcome.error is None, outcome.error
    assert outcome.output is not None
    return to_json(outcome.output)


def until_none(left: Callable[[], object]) -> None:
    give_up = time.monotonic() + 20
    while state := left():
        assert time.monotonic() < give_up, state
        time.sleep(0.03)


def settle(app: App) -> None:
    def left() -> list[object]:
        state = call(app, "file_index_status")
        return (
            [state]
            if any(
                state[name] for name in ("pending", "processing", "embedding", "waiting_credential")
            )
            else []
        )

    until_none(left)


def embedding(server: ModelServer, **more: Any) -> Embedding:
    return Embedding(
        **{
            "provider": "openai",
            "model": "m-1",
            "endpoint": f"{server.url}/v1/embeddings",
            "dimensions": 64,
            **more,
        }
    )


@pytest.mark.parametrize("dimensions", [64, 32])
def test_the_embedding_model_is_called_as_configured(
    dimensions: int, model: ModelServer, tmp_path: Path
) -> None:
    chosen = embedding(
        model, endpoint=f"{model.url}/somewhere/embeddings", model="m-2", dimensions=dimensions
    )
    with running(tmp_path, FilesSearch(embedding=chosen)) as app:
        call(app, "file_write", path="/a.md", content="green walnut")
        settle(app)
        assert call(app, "file_search", query="walnut")["mode"] == "hybrid"
    assert {(request.path, request.body["model"]) for request in model.requests} == {
        ("/somewhere/embeddings", "m-2")
    }
    assert model.requests[-1].body.get("dimensions") == (
        None if dimensions == model.dimensions else dimensions
    )


def test_the_rerank_model_is_called_as_configured(model: ModelServer, tmp_path: Path) -> None:
    for rerank in (
        Rerank(),
        Rerank(enabled=True, endpoint=f"{model.url}/a/rerank"),
        Rerank(enabled=True, endpoint=f"{model.url}/b/rerank", model="m-3"),
    ):
        with running(
            tmp_path, FilesSearch(embedding=Embedding(provider="off"), rerank=rerank)
        ) as app:
            call(app, "file_write", path="/a.md", content="green walnut", mode="TRUNCATE")
            settle(app)
            assert call(app, "file_search", query="walnut")["mode"] == (
                "lexical+rerank" if rerank.enabled else "lexical"
            )
    assert [(request.path, request.body["model"]) for request in model.requests] == [
        ("/a/rerank", "rerank-v3.5"),
        ("/b/rerank", "m-3"),
    ]


@pytest.mark.parametrize("slow", ["embeddings", "rerank"])
def test_each_model_has_its_own_time_limit(slow: str, model: ModelServer, tmp_path: Path) -> None:
    limits = {"embeddings": 20_000, "rerank": 20_000, slow: 150}
    rerank = Rerank(enabled=True, endpoint=f"{model.url}/v1/rerank", timeout_ms=limits["rerank"])
    with running(
        tmp_path,
        FilesSearch(embedding=embedding(model, timeout_ms=limits["embeddings"]), rerank=rerank),
    ) as app:
        call(app, "file_write", path="/a.md", content="green walnut")
        settle(app)
        model.fault = lambda request: model.hang(request) if request.path.endswith(slow) else None
        answer = call(app, "file_search", query="walnut")
        assert any("did not answer within 0.15 s" in note for note in answer["notes"])
        assert [chunk["file_path"] for chunk in answer["chunks"]] == ["/a.md"]


def test_envelopes_have_the_configured_key_prefix_and_time(
    model: ModelServer, tmp_path: Path
) -> None:
    server = Valkey()
    try:
        security = SECURITY.replace(
            credential_cache_prefix="our:keys", credential_cache_ttl_seconds=77
        )
        model.fault = lambda request: (503, b"{}")
        with (
            running(tmp_path, FilesSearch(embedding=embedding(model)), security, server.url) as app,
            redis.Redis.from_url(server.url, decode_responses=True) as client,
        ):
            call(app, "file_write", path="/a.md", content="green walnut")
            (name,) = client.keys("*")
            kept = client.get(name)
            assert name.startswith(f"our:keys:{USER.apikey_hash}:p:/a.md:")
            assert 70 <= client.ttl(name) <= 77
            assert KEY not in kept
            sealed = Sealed.parse(kept.split('"envelope":"')[1].split('"')[0])
            assert sealed.kek_id == 11  # by number, not by letters
            model.well()
            settle(app)
            until_none(lambda: client.keys("*"))  # an envelope goes after its job is done
    finally:
        server.close()


def test_the_freshness_objective_decides_when_doctor_warns(tmp_path: Path) -> None:
    words = FilesSearch(embedding=Embedding(provider="off"))
    reported = []
    for seconds in (1, 3600):
        index = FilesIndex(slo_p95_seconds=seconds, workers=0)
        with running(tmp_path, words, index=index) as app:
            call(app, "file_write", path="/a.md", content="green walnut")
            with contextlib.closing(sqlite3.connect(app.settings.data / "commonplace.db")) as file:
                file.execute("UPDATE mcp_file_index_jobs SET created_at = created_at - 60000000")
                file.commit()
            reported.append(app.services.files.doctor()[0]["status"])
    assert reported == ["warn", "ok"]


def test_a_second_server_is_refused_while_keys_would_be_in_memory(
    model: ModelServer, tmp_path: Path
) -> None:
    search = FilesSearch(embedding=embedding(model))
    with running(tmp_path, search) as first, first.claim_data_folder():
        with (
            running(tmp_path, search) as second,
            pytest.raises(CommonplaceError, match="must share them through a cache") as refused,
            second.claim_data_folder(),
        ):
            pass
        assert "cache_url" in str(refused.value.hint)
        with running(tmp_path, FilesSearch()) as plain_one, plain_one.claim_data_folder():
            pass  # without an external model several servers may run
    with running(tmp_path, search) as third, third.claim_data_folder():
        pass


def test_doctor_reports_models_cache_and_work_that_waits_for_a_key(
    model: ModelServer, tmp_path: Path
) -> None:
    server = Valkey()
    config = tmp_path / "c.yaml"
    chosen = (
        f"embedding: {{provider: openai, model: m, endpoint: '{model.url}/v1/embeddings', "
        f"dimensions: 64}}"
    )
    rerank = "rerank: {enabled: true, endpoint: 'http://models.example/v1/rerank'}"
    keks = "security: {encryption_keks: {1: a-secret-of-some-length}}"

    def findings(cache_url: str) -> str:
        config.write_text(
            f"settings: {{storage: {{cache_url: '{cache_url}'}}, mcp: {{files: {{search: "
            f"{{{chosen}, {rerank}}}, {keks}}}}}}}"
        )
        begin(config, tmp_path / "data")
        try:
            from commonplace.cli.doctor.examination import examine

            session().call(
                "file_write", {"project": "p", "path": "/a.md", "content": "green walnut"}
            )
            service = session().app().services.files
            asyncio.run(
                service.wait_until_indexed(AuthContext(LOCAL_TENANT, ALL_SCOPES, "local"), 20.0)
            )
            give_up = time.monotonic() + 20
            while not session().call("file_index_status", {"project": "p"})["waiting_credential"]:
                assert time.monotonic() < give_up
                time.sleep(0.03)
            return "\n".join(
                f"{check.status} {check.name}: {check.finding} {check.fix}" for check in examine()
            )
        finally:
            session().close()

    try:
        told = findings(server.url)
        assert "ok external models: embedding model at 127.0.0.1" in told
        assert "warn external models: rerank model at models.example" in told
        assert "ok cache: " in told
        assert "1 files wait for a caller's model key" in told
        server.stop()
        assert "fail cache: " in findings(server.url)
    finally:
        server.close()
