"""/readyz covers everything a change needs, and outages are reported quickly and recover."""

from __future__ import annotations

import concurrent.futures
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest
from conformance.program import Served, environment, serve_http
from test_storage_faults import becomes_ready, call, readiness
from transport_clients import wait_for

from servers import FAST, Postgres, Valkey
from waiting import is_met_within

ANSWER_SECONDS = 2.0
SLACK_SECONDS = 1.5  # of a loaded machine
CALLS: dict[str, dict[str, Any]] = {
    "file_write": {"project": "p", "path": "/a.md", "content": "a"},
    "file_read": {"project": "p", "path": "/a.md"},
    "file_search": {"project": "p", "query": "a"},
    "rekall_add": {"type": "bug", "title": "Lesson", "content": "learned"},
    "rekall_search": {"query": "lesson"},
    "memory_list": {},
}


@pytest.fixture
def team(tmp_path: Path) -> Iterator[tuple[Postgres, Valkey, list[str]]]:
    """Servers of one's own, which may be stopped, and the flags of a server that uses them."""
    database, cache = Postgres(**FAST), Valkey()
    try:
        config = tmp_path / "team.yaml"
        storage = {"url": database.url, "cache_url": cache.url}
        config.write_text(
            json.dumps(
                {
                    "settings": {
                        "storage": storage,
                        "mcp": {"files": {"search": {"embedding": {"provider": "off"}}}},
                    }
                }
            )
        )
        line = [sys.executable, "-m", "commonplace", "--config", str(config), "migrate"]
        made = subprocess.run(
            line,
            env=environment(tmp_path),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert made.returncode == 0, made.stderr
        yield database, cache, ["--config", str(config)]
    finally:
        database.close()
        cache.close()


def test_a_database_outage_is_reported_within_two_seconds_and_recovers(
    team: tuple[Postgres, Valkey, list[str]], tmp_path: Path
) -> None:
    database, _, flags = team
    with serve_http(tmp_path / "data", None, *flags) as server:
        for tool, arguments in CALLS.items():
            answer = call(server, tool, arguments)[1]
            assert "error" not in answer, (tool, answer)
        assert readiness(server)[0] == 200
        database.stop()

        def timed(tool: str) -> tuple[str, int, dict[str, Any], float]:
            begun = time.monotonic()
            status, answer = call(server, tool, CALLS[tool])
            return tool, status, answer, time.monotonic() - begun

        with concurrent.futures.ThreadPoolExecutor(24) as callers:
            together = list(callers.map(timed, list(CALLS) * 4))
        for tool, status, answer, seconds in [*together, *map(timed, CALLS)]:
            assert status == 200, (tool, status)
            assert answer["error"]["code"] == "STORAGE_UNAVAILABLE", (tool, answer)
            assert answer["error"]["retryable"], (tool, answer)
            assert seconds < ANSWER_SECONDS + SLACK_SECONDS, (tool, seconds)
            said = json.dumps(answer)
            assert not [
                word
                for word in (str(database.folder), ".s.PGSQL", "SELECT", "INSERT", "defect")
                if word in said
            ], (tool, said)
        report = becomes_ready(server, 503)
        assert report["error"]["code"] == "STORAGE_UNAVAILABLE"
        assert report["error"]["details"]["checks"]["database"] == "STORAGE_UNAVAILABLE"
        database.start()
        wait_for(
            lambda: all(
                "error" not in call(server, tool, arguments)[1] for tool, arguments in CALLS.items()
            ),
            20,
        )
        becomes_ready(server, 200)


def cache_check(server: Served) -> str:
    return str(becomes_ready(server, 200)["checks"]["cache"])


def test_readiness_covers_the_schema_and_the_cache(
    team: tuple[Postgres, Valkey, list[str]], tmp_path: Path
) -> None:
    database, cache, flags = team
    with serve_http(tmp_path / "data", None, *flags) as server:
        assert becomes_ready(server, 200)["checks"] == {
            "data folder": "ok",
            "database": "ok",
            "cache": "ok",
            "audit": "ok",
        }
        cache.stop()
        # calls are answered without it, so that no proxy may take every server out
        assert is_met_within(20, lambda: cache_check(server) == "NOT_AVAILABLE")
        assert "The cache cannot be used" in becomes_ready(server, 200)["warnings"][0]
        cache.start()
        assert is_met_within(20, lambda: cache_check(server) == "ok")
        assert "warnings" not in becomes_ready(server, 200)
        with psycopg.connect(database.url) as connection:
            connection.execute(
                "UPDATE schema_version SET version = version + 1 WHERE component = 'files'"
            )
        assert becomes_ready(server, 503)["error"]["code"] == "SCHEMA_MISMATCH"


def test_readiness_covers_the_schema_of_sqlite(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serve_http(data) as server:
        call(server, "file_list", {"project": "p"})
        call(server, "memory_list", {})
        becomes_ready(server, 200)
        connection = apsw.Connection(str(data / "memory.db"))
        connection.execute("UPDATE schema_version SET version = 99 WHERE component = 'memory'")
        connection.close()
        assert becomes_ready(server, 503)["error"]["code"] == "SCHEMA_MISMATCH"


def test_a_server_that_stops_is_not_ready_before_it_stops_listening(tmp_path: Path) -> None:
    with serve_http(tmp_path / "data") as server:
        assert readiness(server)[0] == 200
        server.process.send_signal(signal.SIGTERM)
        assert becomes_ready(server, 503)["error"]["code"] == "SHUTTING_DOWN"
        assert call(server, "file_list", {"project": "p"})[0] == 200  # the listener is still there
        server.process.wait(20)
        host, port = server.address.split(":")
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((host, int(port)), timeout=5)


def test_a_server_without_readiness_probes_stops_at_once(tmp_path: Path) -> None:
    with serve_http(tmp_path / "data", {}, "--config", str(_slow_to_stop(tmp_path))) as server:
        begun = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(60)
        assert time.monotonic() - begun < 30


def _slow_to_stop(folder: Path) -> Path:
    path = folder / "slow.yaml"
    path.write_text(json.dumps({"settings": {"server": {"drain_seconds": 120}}}))
    return path
