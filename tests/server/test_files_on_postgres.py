"""The shipped program on PostgreSQL: schema versions, shared files, shared work."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from conformance.program import COMMONPLACE, environment, serve_http
from files_client import Server

FRESH_SECONDS = 60.0
APPENDS = 1000 if os.environ.get("COMMONPLACE_SOAK") == "1" else 60


@pytest.fixture
def config(postgres_url: str, tmp_path: Path) -> Path:
    return configured(postgres_url, tmp_path)


def configured(url: str, folder: Path, **more: Any) -> Path:
    path = folder / "team.yaml"
    settings = {
        "storage": {"url": url},
        "mcp": {"files": {"search": {"embedding": {"provider": "off"}}, **more}},
    }
    path.write_text(json.dumps({"settings": settings}))
    return path


def command(data: Path, config: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "commonplace", "--config", str(config), *arguments]
    return subprocess.run(
        line,
        env=environment(data),
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )


@contextlib.contextmanager
def worker(data: Path, config: Path) -> Iterator[subprocess.Popen[bytes]]:
    line = [str(COMMONPLACE), "--config", str(config), "worker"]
    with subprocess.Popen(
        line, env=environment(data), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        assert b"indexes" in process.stderr.readline()
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


def until_found(server: Server, query: str, path: str) -> float:
    begun = time.monotonic()
    while time.monotonic() - begun < FRESH_SECONDS:
        if path in [
            chunk["file_path"] for chunk in server.call("file_search", query=query)["chunks"]
        ]:
            return time.monotonic() - begun
        time.sleep(0.05)
    raise AssertionError(f"{path} was not found: {server.call('file_index_status')}")


def test_a_server_refuses_another_schema_version_and_names_the_command(
    empty_postgres: str, tmp_path: Path
) -> None:
    config = configured(empty_postgres, tmp_path)
    refused = command(tmp_path, config, "serve")
    assert refused.returncode == 2
    assert "commonplace migrate" in refused.stderr
    assert command(tmp_path, config, "migrate", "--check").returncode == 1
    made = command(tmp_path, config, "migrate", "--json")
    assert made.returncode == 0, made.stderr
    steps = json.loads(made.stdout)["components"]
    assert [step["component"] for step in steps if step["found"] == step["needed"]] == [
        "lexical mode"
    ]  # bm25, as the setting
    assert command(tmp_path, config, "migrate", "--check").returncode == 0
    with psycopg.connect(empty_postgres, autocommit=True) as connection:
        connection.execute("UPDATE schema_version SET version = 99 WHERE component = 'files'")
    newer = command(tmp_path, config, "serve")
    assert newer.returncode == 2
    assert "supports up to" in newer.stderr
    assert "Upgrade commonplace" in newer.stderr


def test_servers_on_both_transports_share_files_and_a_separate_worker_indexes(
    config: Path, tmp_path: Path
) -> None:
    one = Server(tmp_path / "one", "--config", str(config), "--no-worker")
    with serve_http(tmp_path / "two", None, "--config", str(config), "--no-worker") as two:
        one.call("file_write", path="/a.md", content="the walrus swims")
        who = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }
        _, headers, _ = two.post(
            "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": who}
        )
        asked = {"MCP-Protocol-Version": "2025-06-18", "Mcp-Session-Id": headers["mcp-session-id"]}
        call = {"name": "file_read", "arguments": {"project": "p", "path": "/a.md"}}
        status, _, answer = two.post(
            "/mcp", {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}, asked
        )
        assert status == 200
        assert b"the walrus swims" in answer
        assert one.call("file_search", query="walrus")["chunks"] == []
        assert one.call("file_index_status")["pending"] == 1
        with worker(tmp_path / "three", config):
            until_found(one, "swimming walrus", "/a.md")
            one.call("file_write", path="/b.md", content="a narwhal")
            assert until_found(one, "narwhal", "/b.md") < 10  # woken, not found by chance
            one.call("file_delete", path="/a.md")
            assert "/a.md" not in [
                chunk["file_path"] for chunk in one.call("file_search", query="walrus")["chunks"]
            ]
    one.close()


def test_jobs_of_a_killed_worker_are_done_by_another(
    config: Path, tmp_path: Path, postgres_url: str
) -> None:
    one = Server(tmp_path / "one", "--config", str(config), "--no-worker")
    with worker(tmp_path / "two", config) as victim:
        for number in range(40):
            one.call("file_write", path=f"/f{number}", content=f"word{number} " * 200)
        victim.kill()
        victim.wait()
    with psycopg.connect(
        postgres_url, autocommit=True
    ) as connection:  # as if it had been in the middle of the last one
        connection.execute(
            "INSERT INTO mcp_file_index_jobs (apikey_hash, project, file_path, operation, "
            "status, lease_owner, lease_until)"
            " SELECT apikey_hash, project, path, 'UPSERT', 'processing', 'the dead', now() + "
            "interval '2 seconds' FROM mcp_files"
            " ON CONFLICT (apikey_hash, project, file_path) DO NOTHING"
        )
    with worker(tmp_path / "three", config):
        for number in (0, 20, 39):
            until_found(one, f"word{number}", f"/f{number}")
        begun = time.monotonic()
        while not one.call("file_index_status")["up_to_date"]:
            assert time.monotonic() - begun < FRESH_SECONDS
            time.sleep(0.1)
    one.close()


def test_two_processes_appending_to_one_file_make_one_sequence(
    config: Path, tmp_path: Path
) -> None:
    servers = [
        Server(tmp_path / name, "--config", str(config), "--no-worker") for name in ("one", "two")
    ]
    answers: list[list[int]] = [[], []]

    def append(number: int) -> None:
        for turn in range(APPENDS):
            answers[number].append(
                servers[number].call("file_write", path="/log", content=f"{number}:{turn}\n")[
                    "size"
                ]
            )

    threads = [threading.Thread(target=append, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = servers[0].call("file_read", path="/log")["content"].split()
    assert len(lines) == 2 * APPENDS
    for number in (0, 1):
        assert [line for line in lines if line.startswith(f"{number}:")] == [
            f"{number}:{turn}" for turn in range(APPENDS)
        ]
    # Every append saw the whole file before it: the sizes it was told are the places where its
    # lines end, in one order.
    ends, at = {}, 0
    for line in lines:
        at += len(line) + 1
        ends[line] = at
    for number in (0, 1):
        assert answers[number] == [ends[f"{number}:{turn}"] for turn in range(APPENDS)]
    for server in servers:
        server.close()


def test_doctor_shows_dead_letters(config: Path, tmp_path: Path, postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO mcp_file_index_jobs (apikey_hash, project, file_path, operation, "
            "status, last_error)"
            " VALUES (repeat('a', 64), 'p', '/a', 'UPSERT', 'dead', 'the model is away')"
        )
    examined = json.loads(command(tmp_path, config, "doctor", "--json").stdout)
    findings = [check["finding"] for check in examined["checks"] if check["name"] == "files index"]
    assert any("1 index jobs were given up" in finding for finding in findings)
    database = [check for check in examined["checks"] if check["name"] == "database"]
    assert database[0]["status"] == "ok"
    assert "PostgreSQL" in database[0]["finding"]
    assert "postgres@" not in str(examined)  # the address is a secret
