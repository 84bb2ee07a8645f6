"""The shipped program as clients of Rekall start it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from files_client import Server

from commonplace.kernel.config.loading import load
from commonplace.memory.toolset import CONTRACT_NAMES
from commonplace.search.semantic.models import embed_models


def call(server: Server, tool: str, **arguments: Any) -> Any:
    result = server.request("tools/call", {"name": tool, "arguments": arguments})
    return (
        json.loads(result["content"][0]["text"])
        if result["isError"]
        else result["structuredContent"]
    )


def test_the_rekall_profile_lists_exactly_the_nine_tools_and_they_work(tmp_path: Path) -> None:
    server = Server(tmp_path, "--profile", "rekall")
    assert [tool["name"] for tool in server.request("tools/list", {})["tools"]] == list(
        CONTRACT_NAMES
    )
    added = call(
        server,
        "rekall_add",
        type="bug",
        title="Safari drops the header",
        content="List each custom header.",
    )
    found = call(server, "rekall_search", query="which header does safari drop?")
    assert [result["id"] for result in found["results"]] == [added["id"]]
    assert call(server, "rekall_show", id=added["id"][:12])["content"] == "List each custom header."
    assert call(server, "memory_list")["total"] == 1  # callable, though not listed
    server.close()


def test_an_error_is_the_object_of_the_contract_with_its_status(tmp_path: Path) -> None:
    server = Server(tmp_path, "--profile", "rekall")
    error = call(server, "rekall_show", id="01HX123ABCDEFGHJKMNPQRSTVW")["error"]
    assert error["code"] == "ENTRY_NOT_FOUND"
    assert error["message"] == "Entry with ID '01HX123ABCDEFGHJKMNPQRSTVW' not found"
    assert error["details"]["http_status"] == 404
    assert (
        call(server, "rekall_add", type="poem", title="x")["error"]["details"]["http_status"] == 400
    )
    server.close()


def test_acknowledged_entries_survive_a_kill(tmp_path: Path) -> None:
    server = Server(tmp_path)
    added = [
        call(server, "rekall_add", type="bug", title=f"Entry {number}")["id"] for number in range(5)
    ]
    server.kill()
    again = Server(tmp_path)
    assert {entry["id"] for entry in call(again, "memory_list")["entries"]} == set(added)
    assert len(call(again, "rekall_search", query="entry", limit=20)["results"]) == 5
    again.close()


def test_an_acknowledged_purge_survives_a_kill(tmp_path: Path) -> None:
    server = Server(tmp_path)
    kept = call(server, "rekall_add", type="bug", title="Kept", content="Words that stay.")["id"]
    for number in range(3):
        text = f"Leaked qzjx8w text {number}. " * 200
        added = call(server, "rekall_add", type="bug", title=f"Leak {number}", content=text)
        call(server, "memory_update", id=added["id"], title=f"Leak qzjx8w {number}")
        call(server, "memory_delete", id=added["id"])
    purged = call(server, "memory_purge", older_than_days=0)
    server.kill()
    assert purged["purged"] == 3
    stored = [path for path in tmp_path.glob("memory.db*") if path.is_file()]
    assert not any(b"qzjx8w" in path.read_bytes() for path in stored)
    again = Server(tmp_path)
    assert call(again, "memory_list", deleted=True)["total"] == 0
    assert [entry["id"] for entry in call(again, "memory_list")["entries"]] == [kept]
    again.close()


def test_accesses_are_written_when_the_server_ends(tmp_path: Path) -> None:
    server = Server(tmp_path)
    added = call(server, "rekall_add", type="bug", title="Counted")["id"]
    call(server, "rekall_show", id=added)
    server.close()
    again = Server(tmp_path)
    assert call(again, "rekall_show", id=added)["access_count"] == 2
    again.close()


def test_the_rekall_command_starts_the_server_and_generalises(tmp_path: Path) -> None:
    home = ["--data", str(tmp_path / "data")]
    written = subprocess.run(
        [
            sys.executable,
            "-m",
            "commonplace",
            *home,
            "shim",
            "install",
            "rekall",
            "--into",
            str(tmp_path),
            "--json",
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    rekall = json.loads(written.stdout)["path"]
    environment = {**os.environ, "COMMONPLACE_HOME": str(tmp_path / "data")}
    parameters = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": parameters})
    served = subprocess.run(
        [rekall, "mcp-server"],
        input=f"{line}\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        env=environment,
    )
    assert "rekall_help" in json.loads(served.stdout.splitlines()[0])["result"]["instructions"]
    ids = []
    for day in ("monday", "friday"):
        words = [
            rekall,
            "add",
            "bug",
            f"Deploy failed on {day}",
            "-c",
            "No space left on device",
            "--json",
        ]
        ids.append(
            json.loads(
                subprocess.run(
                    words, capture_output=True, text=True, timeout=120, check=True, env=environment
                ).stdout
            )["id"]
        )
    drawn = subprocess.run(
        [rekall, "generalize", *ids, "--json"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        env=environment,
    )
    assert json.loads(drawn.stdout)["sources"] == ids


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


def typed(data: Path, models: Path, *words: str) -> tuple[Any, str]:
    """A command's JSON and what it said beside it."""
    environment = {**os.environ, "COMMONPLACE_HOME": str(data), "COMMONPLACE_MODELS": str(models)}
    command = [sys.executable, "-m", "commonplace", "memory", *words, "--json"]
    ran = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=True, env=environment, cwd=data
    )
    return json.loads(ran.stdout), ran.stderr


def test_a_command_searches_by_meaning_with_a_model_and_says_so_without_one(
    tmp_path: Path, models: Path
) -> None:
    added, _ = typed(
        tmp_path,
        models,
        "add",
        "bug",
        "Lunch",
        "-c",
        "A man is eating a piece of bread in the kitchen.",
    )
    assert added["embeddings_calculated"] is True
    found, said = typed(tmp_path, models, "search", "somebody consumes toast for breakfast")
    assert (found["mode"], [result["id"] for result in found["results"]], said) == (
        "hybrid",
        [added["id"]],
        "",
    )
    found, said = typed(tmp_path, tmp_path / "none", "search", "eating bread")
    assert (found["mode"], len(found["results"])) == ("lexical", 1)
    assert " ".join(said.split()).startswith(
        "answered by words only: no embedding model is installed; run: "
    )
    assert said.rstrip().endswith("commonplace models install")
