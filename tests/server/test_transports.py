"""The shipped program over stdio and HTTP, with one body for common behaviour."""

from __future__ import annotations

import contextlib
import http.client
import json
import select
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conformance.lines import live
from conformance.program import COMMONPLACE, Served, environment, serve_http
from transport_clients import HANDSHAKE, META, TOOLS, Http, Stdio, messages, metrics, wait_for


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


def error_of(answer: dict[str, Any]) -> dict[str, Any]:
    assert answer["result"]["isError"] is True
    assert "structuredContent" not in answer["result"]
    error: dict[str, Any] = json.loads(answer["result"]["content"][0]["text"])["error"]
    return error


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
    assert client.request("prompts/list")["error"]["code"] == -32601


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
    for seen in (over_stdio, messages(headers, body)):
        assert [one["params"]["progress"] for one in seen[:3]] == [1, 2, 3]
        assert seen[3]["id"] == 9


def test_bare_methods_answer_without_any_handshake(tmp_path: Path, server: Served) -> None:
    stdio = Stdio(tmp_path / "home")
    for one in (stdio, Http(server)):
        assert one.bare("health/check")["result"]["status"] == "ok"
        assert one.bare("sample/add", {"a": 1, "b": 2})["result"] == {"sum": 3}
        wrong = one.bare("sample/add", {"a": 1})["error"]
        assert (wrong["code"], wrong["data"]["code"]) == (-32602, "INVALID_ARGUMENT")
        assert one.bare("sample/sub")["error"]["code"] == -32601
        assert (
            one.bare("add", {"a": 1, "b": 2})["error"]["code"] == -32601
        )  # a listed name is no bare method
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
    begun = time.monotonic()
    call = {"name": "wait", "arguments": {"seconds": 1.0}}
    if isinstance(client, Stdio):
        for number in range(100, 110):
            client.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call})
        assert {client.read()["id"] for _ in range(10)} == set(range(100, 110))
    else:
        others = [
            threading.Thread(target=Http(client.server).open().request, args=("tools/call", call))
            for _ in range(10)
        ]
        for other in others:
            other.start()
        for other in others:
            other.join()
    assert time.monotonic() - begun < 6


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
    seen = [stdio.read() for _ in range(3)]
    assert [one["id"] for one in seen] == ["late", "work", "stop"]
    assert seen[0]["error"]["data"]["code"] == "SHUTTING_DOWN"
    assert seen[2]["result"] is None
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
    for one in (result, json.loads(body)["result"]):
        assert one["structuredContent"] == {"sum": 3}
        assert one["resultType"] == "complete"


@pytest.mark.parametrize(
    ("headers", "shown", "hidden"),
    [
        ({"X_MCP_Toolsets": "sample"}, {"add", "wait", "put"}, {"health_check", "extra"}),
        ({"X_MCP_Tools": "extra,health_check"}, {"extra", "health_check"}, {"add"}),
        ({"X_MCP_Exclude_Tools": "add"}, {"wait"}, {"add"}),
        ({"X_MCP_Readonly": "true"}, {"add"}, {"put"}),
    ],
)
def test_headers_choose_what_a_request_lists(
    server: Served, headers: dict[str, str], shown: set[str], hidden: set[str]
) -> None:
    client = Http(server).open()
    names = {
        tool["name"] for tool in client.request("tools/list", None, **headers)["result"]["tools"]
    }
    assert shown <= names
    assert not hidden & names


def test_a_read_only_request_refuses_a_tool_that_writes(server: Served) -> None:
    client = Http(server).open()
    call = {"name": "put", "arguments": {"a": 1, "b": 2}}
    assert client.request("tools/call", call)["result"]["isError"] is False
    assert (
        error_of(client.request("tools/call", call, X_MCP_Readonly="true"))["code"] == "READ_ONLY"
    )


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/rpc", b"{", 400, -32700),
        ("/rpc", b"[]", 400, -32600),
        ("/rpc", b'{"jsonrpc":"2.0","id":1,"method":"nope"}', 404, -32601),
        ("/rpc", b'{"jsonrpc":"2.0","id":1,"method":"sample/add","params":{}}', 400, -32602),
        ("/mcp", b"{", 400, -32700),
    ],
)
def test_http_statuses_match_the_errors(
    server: Served, path: str, body: bytes, status: int, code: int
) -> None:
    got, headers, answer = server.post(path, body)
    assert got == status
    assert messages(headers, answer)[0]["error"]["code"] == code


@pytest.mark.parametrize(
    ("body", "identifier"),
    [
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', None),
        (b"[]", None),
        (b'"x"', None),
        (b'{"id":7,"method":"ping"}', 7),
        (b'{"jsonrpc":"2.0","id":"a","method":"tools/call","params":"text"}', "a"),
        (b'{"jsonrpc":"2.0","id":8,"method":5}', 8),
    ],
)
def test_malformed_messages_are_answered_with_their_id(
    server: Served, body: bytes, identifier: Any
) -> None:
    client = Http(server).open()
    status, _, answer = server.post("/mcp", body, client.headers)
    error = json.loads(answer)
    assert (status, error["id"], error["error"]["code"]) == (400, identifier, -32600)
    assert "\n" not in error["error"]["message"]
    assert "pydantic" not in answer.decode()


@pytest.mark.parametrize(
    ("line", "identifier"),
    [
        (
            (
                rb'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":'
                rb'{"name":"echo","arguments":{"text":"cut in an emoji \ud83d"}}}'
            ),
            7,
        ),
        (rb'{"jsonrpc":"2.0","id":"a","method":"sample/add","params":{"a":1e999,"b":1}}', "a"),
        (rb'{"jsonrpc":"2.0","id":"\ud83d","method":"ping"}', None),
    ],
)
def test_unrepresentable_json_is_refused_with_the_id_of_its_request(
    server: Served, tmp_path: Path, line: bytes, identifier: Any
) -> None:
    with live(tmp_path, {}) as process:
        (over_stdio,) = process.exchange(line + b"\n", lambda read: len(read) == 1)
    status, _, body = server.post("/rpc", line)
    assert status == 400
    for answer in (over_stdio, json.loads(body)):
        assert (answer["id"], answer["error"]["code"]) == (identifier, -32600)


def test_a_batch_is_answered_as_one_array_in_the_protocol_that_had_them(server: Served) -> None:
    client = Http(server)
    client.headers = {}
    client.request("initialize", {**HANDSHAKE, "protocolVersion": "2025-03-26"})
    ping = {"jsonrpc": "2.0", "method": "ping"}
    listing = {"jsonrpc": "2.0", "id": "b", "method": "tools/list"}
    told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    init = {"jsonrpc": "2.0", "id": 5, "method": "initialize", "params": HANDSHAKE}
    status, _, body = server.post(
        "/mcp", json.dumps([{**ping, "id": 1}, told, listing, 3, init]).encode(), client.headers
    )
    answers = json.loads(body)
    assert (status, [one["id"] for one in answers]) == (200, [1, "b", None, 5])
    assert answers[0]["result"] == {}
    assert answers[1]["result"]["tools"]
    assert [one["error"]["code"] for one in answers[2:]] == [-32600, -32600]
    assert server.post("/mcp", json.dumps([told]).encode(), client.headers)[0] == 202
    status, _, body = server.post("/mcp", b"[]", client.headers)
    assert (status, json.loads(body)["error"]["code"]) == (400, -32600)


def test_a_foreign_host_or_origin_is_refused(server: Served) -> None:
    for headers, status in (
        ({"Host": "evil.example"}, 421),
        ({"Origin": "http://evil.example"}, 403),
    ):
        for path in ("/mcp", "/rpc"):
            assert (
                server.post(path, {"jsonrpc": "2.0", "id": 1, "method": "health/check"}, headers)[0]
                == status
            )
    own = {"Origin": f"http://{server.address}"}
    assert server.post("/rpc", {"jsonrpc": "2.0", "id": 1, "method": "health/check"}, own)[0] == 200


@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/json",
        None,
    ],
)
def test_only_json_bodies_are_accepted_so_that_a_foreign_page_needs_a_preflight(
    server: Served, kind: str | None
) -> None:
    """A page may send forms and plain text anywhere without a preflight."""
    stateless = {
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "add",
    }
    call = {"name": "add", "arguments": {"a": 1, "b": 2}}
    for path, method, params, more in (
        ("/rpc", "sample/add", call["arguments"], {}),
        ("/mcp", "tools/call", {**call, "_meta": META}, stateless),
        ("/mcp", "tools/call", call, Http(server).open().headers),
    ):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        link = http.client.HTTPConnection(server.address, timeout=10)
        headers = {
            "Accept": "application/json, text/event-stream",
            **more,
            **({"Content-Type": kind} if kind else {}),
        }
        link.request("POST", path, body, headers)
        answer = link.getresponse()
        told = answer.read()
        link.close()
        assert answer.status in (400, 415), told
        assert b"sum" not in told


@pytest.mark.parametrize(
    "path", ["/mcp", "/rpc", "/console/", "/console/logout", "/api/graph/mermaid", "/metrics"]
)
def test_a_page_on_another_port_of_this_machine_is_foreign(server: Served, path: str) -> None:
    for origin in ("http://localhost:1", "http://127.0.0.1:1", f"https://{server.address}", "null"):
        for method in ("GET", "POST", "DELETE"):
            link = http.client.HTTPConnection(server.address, timeout=10)
            link.request(
                method,
                path,
                b"{}" if method == "POST" else None,
                {"Origin": origin, "Content-Type": "application/json"},
            )
            answer = link.getresponse()
            answer.read()
            link.close()
            assert answer.status in (403, 405), (method, path, origin)
    own = {"Origin": "http://" + server.address.replace("127.0.0.1", "localhost")}
    assert server.post("/rpc", {"jsonrpc": "2.0", "id": 1, "method": "health/check"}, own)[0] == 200


def test_a_page_of_an_allowed_origin_may_call_and_read(tmp_path: Path) -> None:
    page, key = "https://app.example", "cp_wrong"
    (tmp_path / "commonplace.yaml").write_text(
        f"settings: {{server: {{allowed_origins: ['{page}']}}}}"
    )
    asked = {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,mcp-param-x",
    }

    def answer(
        method: str, path: str, headers: dict[str, str], body: bytes | None = None
    ) -> tuple[int, dict[str, str]]:
        link = http.client.HTTPConnection(server.address, timeout=10)
        link.request(method, path, body, headers)
        got = link.getresponse()
        got.read()
        link.close()
        return got.status, {name.lower(): value for name, value in got.getheaders()}

    with serve_http(
        tmp_path, None, "--auth", "keys", "--config", str(tmp_path / "commonplace.yaml")
    ) as server:
        for path in ("/mcp", "/rpc"):
            status, told = answer("OPTIONS", path, {"Origin": page, **asked})
            assert (status, told["access-control-allow-origin"], told["vary"]) == (
                204,
                page,
                "Origin",
            )
            assert told["access-control-allow-headers"] == asked["Access-Control-Request-Headers"]
            assert "POST" in told["access-control-allow-methods"]
            assert int(told["access-control-max-age"]) > 0
            status, told = answer(
                "POST", path, {"Origin": page, "Authorization": f"Bearer {key}"}, b"{}"
            )
            assert (status, told["access-control-allow-origin"], told["vary"]) == (
                401,
                page,
                "Origin",
            )
            assert (
                told["access-control-expose-headers"]
                == "Mcp-Session-Id, WWW-Authenticate, Retry-After"
            )
            for other in (
                {"Origin": "https://evil.example", **asked},
                {"Origin": f"http://{server.address}", **asked},
                {},
            ):
                status, told = answer("OPTIONS", path, other)
                assert status in (401, 403, 405)
                assert not any(name.startswith("access-control") for name in told)


def test_a_body_above_the_limit_is_refused_and_the_server_continues(server: Served) -> None:
    huge = (
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"' + b"x" * (65 * 1024 * 1024) + b'"}}'
    )
    host, _, port = server.address.partition(":")
    with socket.create_connection((host, int(port)), timeout=30) as link:
        kind = "Content-Type: application/json"
        link.sendall(
            f"POST /rpc HTTP/1.1\r\nHost: {server.address}\r\n{kind}\r\nContent-Length: "
            f"{len(huge)}\r\n\r\n".encode()
        )
        with contextlib.suppress(OSError):  # refused while we were still sending
            link.sendall(huge)
        readable, _, _ = select.select([link], [], [], 30)
        assert readable
        assert b" 413 " in link.recv(200)
    assert server.rpc("health/check")["status"] == "ok"


def test_a_connection_serves_many_requests(server: Served) -> None:
    link = http.client.HTTPConnection(server.address, timeout=10)
    for _ in range(5):
        link.request(
            "POST",
            "/rpc",
            b'{"jsonrpc":"2.0","id":1,"method":"health/check"}',
            {"Content-Type": "application/json"},
        )
        first = link.sock
        answer = link.getresponse()
        assert answer.status == 200
        answer.read()
        assert link.sock is first  # still the same connection
    link.close()


def test_health_endpoints_answer(server: Served) -> None:
    for path, status in (("/healthz", "ok"), ("/readyz", "ready")):
        with socket.create_connection(tuple(server.address.split(":")), timeout=10) as link:  # type: ignore[arg-type]
            link.sendall(
                (
                    f"GET {path} HTTP/1.1\r\nHost: {server.address}\r\nConnection: close\r\n\r\n"
                ).encode()
            )
            answer = b"".join(iter(lambda: link.recv(4096), b""))
        assert b"200 OK" in answer
        assert f'"status":"{status}"'.encode() in answer


def test_a_stop_lets_calls_finish(tmp_path: Path) -> None:
    with serve_http(tmp_path / "home", TOOLS) as server:
        client = Http(server).open()
        answers: list[Any] = []
        call = {"name": "wait", "arguments": {"seconds": 1.0}}
        caller = threading.Thread(target=lambda: answers.append(client.request("tools/call", call)))
        caller.start()
        wait_for(lambda: b"commonplace" in metrics(server))
        time.sleep(0.3)  # the call is on its way; there is no outside sign of a call in flight
        server.process.send_signal(signal.SIGTERM)
        caller.join(20)
        assert answers
        assert answers[0]["result"]["structuredContent"] == {"waited": 1.0}
        assert server.process.wait(20) == 0


def test_a_stop_over_stdio_lets_calls_finish(tmp_path: Path) -> None:
    client = Stdio(tmp_path / "data").open()
    params = {
        "name": "wait",
        "arguments": {"seconds": 1.0, "steps": 1},
        "_meta": {"progressToken": "begun"},
    }
    client.send({"jsonrpc": "2.0", "id": "last", "method": "tools/call", "params": params})
    assert client.read()["method"] == "notifications/progress"
    client.process.send_signal(signal.SIGTERM)
    answer = client.read()
    assert (answer["id"], answer["result"]["structuredContent"]) == ("last", {"waited": 1.0})
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
    """Mapping a buffer for every request, and giving it back, once cost each a quarter of its
    time.
    """
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
    before = faults()
    calls(400)
    assert faults() - before < 400
    client.close()
