"""The end of a server: running calls are answered first."""

from __future__ import annotations

import http.client
import signal
import threading
from pathlib import Path
from typing import Any

from conformance.program import serve_http
from transport_clients import (
    TOOLS,
    Http,
    Stdio,
    wait_for,
)


def test_shutdown_finishes_the_work_in_flight_and_exit_ends(tmp_path: Path) -> None:
    stdio = Stdio(tmp_path / "home").open()
    stdio.send(
        {
            "jsonrpc": "2.0",
            "id": "work",
            "method": "tools/call",
            "params": {"name": "wait", "arguments": {"seconds": 0.5}},
        }
    )
    stdio.send({"jsonrpc": "2.0", "id": "stop", "method": "shutdown"})
    stdio.send({"jsonrpc": "2.0", "id": "late", "method": "tools/list"})
    answers = [stdio.read() for _ in range(3)]
    assert [answer["id"] for answer in answers] == ["late", "work", "stop"]
    assert answers[0]["error"]["data"]["code"] == "SHUTTING_DOWN"
    assert answers[2]["result"] is None
    stdio.send({"jsonrpc": "2.0", "method": "exit"})
    assert stdio.process.wait(10) == 0


def test_input_that_ends_still_gets_its_answers(tmp_path: Path) -> None:
    stdio = Stdio(tmp_path / "home").open()
    stdio.send(
        {
            "jsonrpc": "2.0",
            "id": "work",
            "method": "tools/call",
            "params": {"name": "wait", "arguments": {"seconds": 0.3}},
        }
    )
    assert stdio.process.stdin is not None
    stdio.process.stdin.close()
    assert stdio.read()["id"] == "work"
    assert stdio.process.wait(10) == 0


def test_a_stop_lets_calls_finish(tmp_path: Path) -> None:
    with serve_http(tmp_path / "home", TOOLS) as server:
        client = Http(server).open()
        answers: list[Any] = []
        begun = tmp_path / "begun"
        call = {"name": "wait", "arguments": {"seconds": 1.0, "begun": str(begun)}}
        caller = threading.Thread(target=lambda: answers.append(client.request("tools/call", call)))
        caller.start()
        wait_for(begun.exists)
        server.process.send_signal(signal.SIGTERM)
        caller.join(20)
        assert answers
        assert answers[0]["result"]["structuredContent"] == {"waited": 1.0}
        assert server.process.wait(20) == 0


def test_a_stop_over_stdio_lets_calls_finish(tmp_path: Path) -> None:
    client = Stdio(tmp_path / "data").open()
    params = {
        "name": "wait",
        "arguments": {"seconds": 0.7, "steps": 1},
        "_meta": {"progressToken": "begun"},
    }
    client.send({"jsonrpc": "2.0", "id": "last", "method": "tools/call", "params": params})
    assert client.read()["method"] == "notifications/progress"
    client.process.send_signal(signal.SIGTERM)
    answer = client.read()
    assert (answer["id"], answer["result"]["structuredContent"]) == ("last", {"waited": 0.7})
    assert client.process.wait(20) == 0
    assert "Traceback" not in client.errors.read_text()


def test_a_stop_ends_client_streams_without_errors(tmp_path: Path) -> None:
    with serve_http(tmp_path / "home", TOOLS) as server:
        client = Http(server).open()
        link = http.client.HTTPConnection(server.address, timeout=20)
        link.request("GET", "/mcp", headers={**client.headers, "Accept": "text/event-stream"})
        stream = link.getresponse()
        assert stream.status == 200
        server.process.send_signal(signal.SIGTERM)
        stream.read()  # to a proper end, or this raises
        assert server.process.wait(20) == 0
    assert "ERROR" not in (tmp_path / "home" / "stderr.txt").read_text()
