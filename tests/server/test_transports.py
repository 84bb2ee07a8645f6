"""The shipped program over stdio and HTTP, with one body for common behaviour."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conformance.program import COMMONPLACE, Served, environment, serve_http
from transport_clients import (
    META,
    TOOLS,
    Http,
    Stdio,
    error_of,
    messages,
    wait_for,
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve_http(tmp_path_factory.mktemp("http"), TOOLS) as served:
        yield served


@pytest.fixture(params=["stdio", "http"])
def client(request: pytest.FixtureRequest, tmp_path: Path, server: Served) -> Iterator[Any]:
    if request.param == "http":
        yield Http(server).open()
        return
    stdio = Stdio(tmp_path / "home").open()
    yield stdio
    stdio.close()


def test_a_client_lists_and_calls(client: Any) -> None:
    names = {tool["name"] for tool in client.request("tools/list")["result"]["tools"]}
    assert {"add", "wait", "health_check"} <= names
    assert "extra" not in names
    result = client.request("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}})["result"]
    assert result["structuredContent"] == {"sum": 3}
    assert json.loads(result["content"][0]["text"]) == {"sum": 3}


def test_an_extended_tool_is_callable_though_unlisted(client: Any) -> None:
    assert client.request("tools/call", {"name": "extra", "arguments": {"a": 1, "b": 2}})["result"][
        "structuredContent"
    ] == {"sum": 3}


def test_a_wrong_argument_is_a_typed_error(client: Any) -> None:
    error = error_of(client.request("tools/call", {"name": "add", "arguments": {"a": "x", "b": 2}}))
    assert error["code"] == "INVALID_ARGUMENT"
    assert error["details"]["field"] == "a"


def test_an_unknown_tool_is_a_protocol_error_with_our_code(client: Any) -> None:
    error = client.request("tools/call", {"name": "adds", "arguments": {}})["error"]
    assert error["code"] == -32602
    assert error["data"]["code"] == "UNKNOWN_TOOL"
    assert error["data"]["hint"] == "Did you mean add?"


def test_an_unsupported_method_is_not_found(client: Any) -> None:
    assert client.request("tasks/list")["error"]["code"] == -32601


def test_progress_reaches_the_client_before_the_result(tmp_path: Path, server: Served) -> None:
    call = {
        "name": "wait",
        "arguments": {"seconds": 0, "steps": 3},
        "_meta": {"progressToken": "p"},
    }
    stdio = Stdio(tmp_path / "home").open()
    stdio.send({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": call})
    over_stdio = [stdio.read() for _ in range(4)]
    stdio.close()
    session = Http(server).open()
    _, headers, body = server.post(
        "/mcp", {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": call}, session.headers
    )
    for received in (over_stdio, messages(headers, body)):
        assert [message["params"]["progress"] for message in received[:3]] == [1, 2, 3]
        assert received[3]["id"] == 9


def test_bare_methods_answer_without_any_handshake(tmp_path: Path, server: Served) -> None:
    stdio = Stdio(tmp_path / "home")
    for client in (stdio, Http(server)):
        assert client.bare("health/check")["result"]["status"] == "ok"
        assert client.bare("sample/add", {"a": 1, "b": 2})["result"] == {"sum": 3}
        wrong = client.bare("sample/add", {"a": 1})["error"]
        assert (wrong["code"], wrong["data"]["code"]) == (-32602, "INVALID_ARGUMENT")
        assert client.bare("sample/sub")["error"]["code"] == -32601
        assert (
            client.bare("add", {"a": 1, "b": 2})["error"]["code"] == -32601
        )  # the name of a tool, not of a method
    stdio.close()


def test_stdout_carries_protocol_only_and_stderr_is_quiet(tmp_path: Path) -> None:
    stdio = Stdio(tmp_path / "home").open()
    assert (
        stdio.request("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}})["result"][
            "isError"
        ]
        is False
    )
    stdio.close()
    assert stdio.errors.read_text().splitlines() == ["a stray print must not reach the protocol"]


def test_calls_that_wait_run_at_the_same_time(client: Any) -> None:
    call = {"name": "wait", "arguments": {"seconds": 1.0}}
    begun = time.monotonic()
    if isinstance(client, Stdio):
        for number in range(100, 110):
            client.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call})
        assert {client.read()["id"] for _ in range(10)} == set(range(100, 110))
    else:
        others = [
            threading.Thread(target=Http(client.server).open().request, args=("tools/call", call))
            for _ in range(10)
        ]
        begun = time.monotonic()
        for other in others:
            other.start()
        for other in others:
            other.join()
    assert time.monotonic() - begun < 9  # one after the other: 10 seconds at least


def test_a_cancelled_call_stops_and_is_not_answered(tmp_path: Path) -> None:
    stdio = Stdio(tmp_path / "home").open()
    mark = tmp_path / "mark"
    params = {"name": "wait", "arguments": {"seconds": 60, "mark": str(mark)}}
    stdio.send({"jsonrpc": "2.0", "id": "slow", "method": "tools/call", "params": params})
    stdio.send(
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "slow"}}
    )
    assert stdio.request("ping")["result"] == {}
    wait_for(mark.exists)
    stdio.close()


def test_a_cancelled_call_stops_over_http_too(tmp_path: Path, server: Served) -> None:
    client = Http(server).open()
    mark = tmp_path / "mark"
    params = {"name": "wait", "arguments": {"seconds": 60, "mark": str(mark)}}
    answers: list[Any] = []
    body = {"jsonrpc": "2.0", "id": "slow", "method": "tools/call", "params": params}
    caller = threading.Thread(
        target=lambda: answers.append(server.post("/mcp", body, client.headers))
    )
    caller.start()
    cancel = {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": "slow"},
    }

    def cancelled() -> bool:
        server.post("/mcp", cancel, client.headers)
        return mark.exists()

    wait_for(cancelled)
    caller.join(20)
    assert not caller.is_alive()


def test_the_stateless_protocol_needs_no_session(tmp_path: Path, server: Served) -> None:
    params = {"name": "add", "arguments": {"a": 1, "b": 2}, "_meta": META}
    stdio = Stdio(tmp_path / "home")
    result = stdio.request("tools/call", params)["result"]
    stdio.close()
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "add"}
    status, _, body = server.post(
        "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, headers
    )
    assert status == 200
    for answer in (result, json.loads(body)["result"]):
        assert answer["structuredContent"] == {"sum": 3}
        assert answer["resultType"] == "complete"


def test_options_before_the_command_reach_the_server_too(tmp_path: Path) -> None:
    command = [str(COMMONPLACE), "--data", str(tmp_path / "chosen"), "serve"]
    asked = b'{"jsonrpc":"2.0","id":1,"method":"health/check"}\n'
    done = subprocess.run(
        command,
        input=asked,
        env=environment(tmp_path / "other"),
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert json.loads(done.stdout)["result"]["status"] == "ok"
    assert (tmp_path / "chosen").is_dir()
    assert not (tmp_path / "other").exists()


def test_a_request_over_stdio_does_not_map_memory(tmp_path: Path) -> None:
    """Mapping and unmapping a buffer per request once took a quarter of its time."""
    client = Stdio(tmp_path / "data").open()

    def faults() -> int:
        return int(
            Path(f"/proc/{client.process.pid}/stat").read_text().rpartition(")")[2].split()[7]
        )

    def calls(count: int) -> None:
        for _ in range(count):
            client.request(
                "tools/call", {"name": "instructions_get", "arguments": {"id": "unknown"}}
            )

    calls(200)
    measured = []
    for _ in range(3):  # the server may also do work of its own meanwhile
        before = faults()
        calls(400)
        measured.append(faults() - before)
    assert min(measured) < 400
    client.close()
