"""The shipped program answers by meaning with the model, and by words without it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from piped_program import Piped, running

from commonplace.kernel.config.loading import load
from commonplace.search.semantic.models import embed_models

WAIT_SECONDS = 60
NOTES = {
    "/ops/db.md": "The SQLite database was locked because a second writer held the lock; raise "
    "busy_timeout to five seconds.",
    "/ops/tls.md": "Certificates are renewed by certbot; an alert fires fifteen days "
    "before expiry.",
    "/food.md": "A man is eating a piece of bread with butter in the kitchen.",
}


@pytest.fixture(scope="module")
def models() -> Path:
    own = Path(__file__).resolve().parents[2] / ".tools" / "models"
    for folder in (load().settings.models_directory, own):
        if any(
            model.name == embed_models.DEFAULT_MODEL
            for model in embed_models.list_installed(folder)
        ):
            return folder
    embed_models.install_default(own)
    return own


def call(server: Piped, name: str, **arguments: Any) -> Mapping[str, Any]:
    answer = server.ask(
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": name, "arguments": arguments},
        }
    )
    result = answer["result"]
    assert not result.get("isError"), result
    return json.loads(result["content"][0]["text"])


def begin(server: Piped) -> None:
    client = {"name": "test", "version": "1"}
    server.ask(
        {
            "jsonrpc": "2.0",
            "id": 0,
            "method": "initialize",
            "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client},
        }
    )
    for path, text in NOTES.items():
        call(server, "file_write", project="demo", path=path, content=text)


def until(server: Piped, mode: str, query: str) -> Mapping[str, Any]:
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        found = call(server, "file_search", project="demo", query=query)
        status = call(server, "file_index_status", project="demo")
        if found["mode"] == mode and status["up_to_date"]:
            return call(server, "file_search", project="demo", query=query)
        assert time.monotonic() < deadline, found
        time.sleep(0.05)


def test_with_the_model_a_paraphrase_without_a_common_word_is_found_first(
    tmp_path: Path, models: Path
) -> None:
    with running(tmp_path, {"COMMONPLACE_MODELS": str(models)}) as server:
        begin(server)
        found = until(server, "hybrid", "somebody consumes toast for breakfast")
        assert found["chunks"][0]["file_path"] == "/food.md"
        assert all(0 <= chunk["score"] <= 1 for chunk in found["chunks"])


def test_without_a_model_words_answer_and_a_note_says_what_to_install(tmp_path: Path) -> None:
    with running(tmp_path, {"COMMONPLACE_MODELS": str(tmp_path / "no-models")}) as server:
        begin(server)
        found = until(server, "lexical", "certificates renewed")
        assert found["chunks"][0]["file_path"] == "/ops/tls.md"
        assert any("commonplace models install" in note for note in found["notes"])
