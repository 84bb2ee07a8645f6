"""PostgreSQL and Valkey with a local model, an external one, and what an operator sees."""

from __future__ import annotations

import json
import re
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from conformance.program import COMMONPLACE, Served, environment, serve_http
from model_client import Caller, configure, external_models, until

from commonplace.search.semantic.models import embed_models
from model_server import ModelServer

ROOT = Path(__file__).parents[2]
KEY = "sk-alpha-0123456789abcdefghij"


def command(data: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(COMMONPLACE), *arguments],
        env=environment(data),
        cwd=data,
        capture_output=True,
        text=True,
        timeout=120,
    )


def gauges(server: Served) -> dict[str, float]:
    with urllib.request.urlopen(f"http://{server.address}/metrics", timeout=30) as answer:
        text = answer.read().decode()
    return {
        name: float(value)
        for name, value in re.findall(r"^commonplace_(\w+) ([\d.e+-]+)$", text, re.MULTILINE)
    }


def findings(data: Path) -> list[dict[str, Any]]:
    checks: list[dict[str, Any]] = json.loads(command(data, "doctor", "--json").stdout)["checks"]
    return checks


def test_the_local_model_computes_vectors_in_postgresql(postgres_url: str, tmp_path: Path) -> None:
    """The default embedder and a PostgreSQL address, nothing else: words and meaning, on every
    server.
    """
    models = ROOT / ".tools" / "models"
    identity = embed_models.install_default(models).identity
    extra = {"COMMONPLACE_MODELS": str(models)}
    for name in ("one", "two"):
        configure(tmp_path / name, {}, storage={"url": postgres_url})
    with (
        serve_http(tmp_path / "one", extra) as first,
        serve_http(tmp_path / "two", extra, "--no-worker") as second,
    ):
        writer, reader = Caller(first.url), Caller(second.url)
        writer.call(
            "file_write", path="/pets.md", content="The kitten sleeps on the sofa all afternoon."
        )
        writer.call(
            "file_write", path="/tax.md", content="Invoices are due within thirty days of receipt."
        )
        writer.settled()
        answer = reader.call("file_search", query="a young cat taking a nap", explain=True)
        assert answer["mode"] == "hybrid"
        assert answer["chunks"][0]["file_path"] == "/pets.md"
        assert answer["chunks"][0]["explain"]["semantic"] > 0.3
        assert answer["chunks"][0]["explain"]["lexical"] is None
        assert not any("words alone" in note for note in answer.get("notes", []))
    with psycopg.connect(postgres_url) as connection:
        assert (
            connection.execute(
                "SELECT model, vector_dims(embedding) FROM mcp_file_chunk_embeddings"
            ).fetchall()
            == [(identity, 384)] * 2
        )


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def team(empty_postgres: str, valkey_url: str, model: ModelServer, tmp_path: Path) -> Path:
    files = external_models(model.url, embedding={"timeout_ms": 2000}, rerank={"timeout_ms": 2000})
    configure(tmp_path, files, storage={"url": empty_postgres, "cache_url": valkey_url})
    made = command(tmp_path, "migrate")
    assert made.returncode == 0, made.stderr
    return tmp_path


def test_a_caller_without_a_key_is_answered_by_words_with_a_note(
    team: Path, model: ModelServer
) -> None:
    with serve_http(team) as served:
        plain, keyed = Caller(served.url), Caller(served.url, model_key=KEY)
        keyed.call("file_write", path="/a.md", content="the green walnut falls in october")
        keyed.settled()
        asked = len(model.requests)
        answer = plain.call("file_search", query="walnut october")
        assert (answer["mode"], [chunk["file_path"] for chunk in answer["chunks"]]) == (
            "lexical",
            ["/a.md"],
        )
        assert any(
            "ranked by words alone" in note and "brought no key" in note for note in answer["notes"]
        ), answer["notes"]
        assert any(
            "fused scores" in note and "brought no key" in note for note in answer["notes"]
        ), answer["notes"]
        assert len(model.requests) == asked
        answer = keyed.call("file_search", query="walnut october")
        assert (answer["mode"], answer.get("notes", [])) == ("hybrid+rerank", [])
    assert model.keys == {KEY}


def test_metrics_and_doctor_show_queues_connections_and_circuit_breakers(
    team: Path, model: ModelServer
) -> None:
    with serve_http(team) as served:
        plain, keyed = Caller(served.url), Caller(served.url, model_key=KEY)
        plain.call("file_write", path="/a.md", content="the green walnut")
        plain.settled(waiting_credential=1)
        seen = gauges(served)
        assert (
            seen["files_index_waiting"]
            == seen["files_index_dead"]
            == seen["files_vectors_dead"]
            == 0
        )
        assert seen["files_vectors_waiting_credential"] == 1
        assert 1 <= seen["storage_connections"] <= seen["storage_connections_most"] == 8
        assert seen["storage_units_waiting"] >= 0
        assert (
            seen["model_embedding_resting"]
            == seen["model_rerank_resting"]
            == seen["cache_resting"]
            == 0
        )
        assert any(
            "1 files wait for a caller's model key" in check["finding"] for check in findings(team)
        )
        model.fault = lambda request: (500, b"{}")
        until(
            lambda: (
                keyed.call("file_search", query="walnut")
                and gauges(served)["model_embedding_resting"] == 1
            )
        )
        model.well()
        model.fault = lambda request: (400, b"{}")
        until(
            lambda: keyed.call("file_list") and gauges(served)["files_vectors_dead"] == 1,
            seconds=60,
        )
        model.well()
        checks = {check["name"]: check for check in findings(team)}
        assert checks["database"]["status"] == "ok"
        assert "pgvector" in checks["database"]["finding"]
        assert checks["cache"]["status"] == "ok"
        assert any(
            "1 files were refused by the external model" in check["finding"]
            for check in findings(team)
        )
