"""Environment variables of the instructions contract that affect the server."""

from __future__ import annotations

import json
import re
import socket
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from piped_program import answers, converse, running

from servers import free_port

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
HEALTH = {"jsonrpc": "2.0", "id": 2, "method": "health/check"}
WRITE = {
    "jsonrpc": "2.0",
    "id": 3,
    "method": "tools/call",
    "params": {
        "name": "file_write",
        "arguments": {"project": "p", "path": "/a.md", "content": "the secret plan"},
    },
}


def serve(
    tmp_path: Path, variables: Mapping[str, str], *lines: Mapping[str, Any] | str
) -> tuple[list[Any], str]:
    ran = converse(tmp_path, variables, lines)
    assert ran.returncode == 0
    return answers(ran), ran.stderr


def refused(tmp_path: Path, variables: Mapping[str, str]) -> str:
    """What the program says when it will not start."""
    ran = converse(tmp_path, variables, [])
    assert (ran.returncode, ran.stdout) == (2, "")
    return ran.stderr


def traces(folder: Path) -> list[str]:
    return [
        line for path in sorted(folder.glob("*.jsonl")) for line in path.read_text().splitlines()
    ]


def labels(lines: list[str]) -> set[str]:
    return {line.partition("]")[0].removeprefix("[trace:") for line in lines}


def test_stderr_is_quiet_and_no_trace_is_written_by_default(tmp_path: Path) -> None:
    _, errors = serve(tmp_path, {}, INITIALIZE, INITIALIZED, HEALTH)
    assert errors == ""
    assert not (tmp_path / "data" / "traces").exists()


def test_mcp_log_verbose_logs_calls_to_stderr(tmp_path: Path) -> None:
    assert "health/check ok" in serve(tmp_path, {"MCP_LOG_VERBOSE": "1"}, HEALTH)[1]


def test_mcp_log_mutation_logs_only_changes(tmp_path: Path) -> None:
    _, errors = serve(tmp_path, {"MCP_LOG_MUTATION": "1"}, INITIALIZE, HEALTH, WRITE)
    assert "file_write ok" in errors
    assert "health/check" not in errors
    assert "secret plan" not in errors


def test_mcp_log_file_holds_structured_lines_without_content(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    _, errors = serve(tmp_path, {"MCP_LOG_FILE": str(log)}, INITIALIZE, WRITE, HEALTH)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert {line["tool"] for line in lines} == {"file_write", "health_check"}
    assert "secret plan" not in log.read_text()
    assert errors == ""


def test_mcp_log_rotate_bytes_rotates_the_log_file(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    serve(
        tmp_path,
        {"MCP_LOG_FILE": str(log), "MCP_LOG_ROTATE_BYTES": "600"},
        *[{**HEALTH, "id": number} for number in range(10)],
    )
    assert (tmp_path / "log.1.jsonl").exists()
    assert log.stat().st_size <= 600


def test_mcp_log_diag_logs_handshake_and_buffers(tmp_path: Path) -> None:
    _, errors = serve(tmp_path, {"MCP_LOG_DIAG": "1"}, INITIALIZE, INITIALIZED)
    assert re.search(r"init:frame bytes=\d+ buffered=\d+", errors)
    assert "handshake:initialize requested=2025-06-18" in errors


def test_mcp_trace_dir_receives_trace_lines_in_contract_form(tmp_path: Path) -> None:
    serve(tmp_path, {"MCP_TRACE_DIR": str(tmp_path / "t")}, INITIALIZE, INITIALIZED, HEALTH)
    lines = traces(tmp_path / "t")
    assert {"handshake:initialize", "handshake:initialized", "call:health/check"} <= labels(lines)
    for line in lines:
        assert re.match(r"\[trace:[\w/-]+(:[\w/-]+)*\] \{.*\}$", line)


def test_mcp_trace_session_names_the_session(tmp_path: Path) -> None:
    serve(tmp_path, {"MCP_TRACE_SESSION": "forced"}, HEALTH)
    sessions = [
        json.loads(line.partition(" ")[2])["session"]
        for line in traces(tmp_path / "data" / "traces")
    ]
    assert set(sessions) == {"forced"}


def test_mcp_trace_max_bytes_rotates_trace_files(tmp_path: Path) -> None:
    serve(
        tmp_path,
        {"MCP_TRACE_MAX_BYTES": "900"},
        *[{**HEALTH, "id": number} for number in range(10)],
    )
    files = list((tmp_path / "data" / "traces").iterdir())
    assert len(files) > 1
    assert all(path.stat().st_size <= 900 for path in files)
    calls = [
        line
        for line in traces(tmp_path / "data" / "traces")
        if line.startswith("[trace:call:health/check]")
    ]
    assert len(calls) == 10


def test_mcp_trace_filter_and_deny_choose_categories(tmp_path: Path) -> None:
    serve(tmp_path, {"MCP_TRACE_FILTER": "handshake"}, INITIALIZE, INITIALIZED, HEALTH)
    assert labels(traces(tmp_path / "data" / "traces")) == {
        "handshake:initialize",
        "handshake:initialized",
    }
    serve(
        tmp_path,
        {"MCP_TRACE_FILTER_DENY": "handshake,init", "MCP_TRACE_DIR": str(tmp_path / "t")},
        INITIALIZE,
        INITIALIZED,
        HEALTH,
    )
    assert labels(traces(tmp_path / "t")) == {"call:health/check"}


def test_mcp_handshake_trace_shows_the_stages(tmp_path: Path) -> None:
    _, errors = serve(tmp_path, {"MCP_HANDSHAKE_TRACE": "1"}, INITIALIZE, INITIALIZED, HEALTH)
    assert labels(errors.splitlines()) == {"handshake:initialize", "handshake:initialized"}


def test_mcp_init_frame_diag_shows_the_first_frames_without_their_content(tmp_path: Path) -> None:
    _, errors = serve(tmp_path, {"MCP_INIT_FRAME_DIAG": "1"}, INITIALIZE, *[HEALTH] * 20)
    assert labels(errors.splitlines()) == {"init:frame"}
    assert len(errors.splitlines()) == 8
    assert "clientInfo" not in errors


def test_mcp_health_mixed_diag_adds_diagnostics_to_health(tmp_path: Path) -> None:
    (answer,), errors = serve(tmp_path, {"MCP_HEALTH_MIXED_DIAG": "1"}, HEALTH)
    assert {"pid", "uptimeSeconds", "calls", "events"} == set(answer["result"]["diagnostics"])
    assert "[trace:health:mixed]" in errors
    (plain,), _ = serve(tmp_path, {}, HEALTH)
    assert set(plain["result"]) == {"status", "timestamp", "version"}


def test_malformed_lines_are_counted_and_not_audited(tmp_path: Path) -> None:
    told, _ = serve(tmp_path, {"MCP_HEALTH_MIXED_DIAG": "1"}, "nonsense", "[", HEALTH)
    assert told[-1]["result"]["diagnostics"]["events"] == {"malformed": 2}
    assert not (tmp_path / "data" / "audit").exists()


def with_dashboard(tmp_path: Path, variables: Mapping[str, str]) -> tuple[str, Any]:
    """Start stdio with a dashboard, ask both sides for health, end by closing stdin."""
    with running(tmp_path, {"MCP_DASHBOARD": "1", **variables}) as server:
        address = re.match(r"dashboard: http://([^/]+)/", server.errors.readline())
        assert address
        assert server.ask(HEALTH)["result"]["status"] == "ok"
        with urllib.request.urlopen(f"http://{address[1]}/healthz", timeout=10) as answer:
            return address[1], json.load(answer)


def test_mcp_dashboard_listens_beside_stdio_on_its_host_and_port(tmp_path: Path) -> None:
    port = free_port()
    address, health = with_dashboard(
        tmp_path, {"MCP_DASHBOARD_PORT": str(port), "MCP_DASHBOARD_HOST": "127.0.0.1"}
    )
    assert address == f"127.0.0.1:{port}"
    assert health["status"] == "ok"


def test_mcp_dashboard_tries_take_the_next_free_port(tmp_path: Path) -> None:
    port = free_port()
    with socket.create_server(("127.0.0.1", port)):
        address, _ = with_dashboard(
            tmp_path, {"MCP_DASHBOARD_PORT": str(port), "MCP_DASHBOARD_TRIES": "20"}
        )
        assert port < int(address.rpartition(":")[2]) < port + 20


def test_mcp_dashboard_host_is_not_opened_without_auth(tmp_path: Path) -> None:
    assert "Refusing to listen" in refused(
        tmp_path, {"MCP_DASHBOARD": "1", "MCP_DASHBOARD_HOST": "0.0.0.0"}
    )
