"""HTTP requests: headers, statuses, malformed bodies, limits and health endpoints."""

from __future__ import annotations

import contextlib
import http.client
import json
import select
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conformance.lines import live
from conformance.program import Served, serve_http
from transport_clients import (
    HANDSHAKE,
    TOOLS,
    Http,
    error_of,
    messages,
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve_http(tmp_path_factory.mktemp("http"), TOOLS) as served:
        yield served


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
    answered, headers, answer = server.post(path, body)
    assert answered == status
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
    notification = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    init = {"jsonrpc": "2.0", "id": 5, "method": "initialize", "params": HANDSHAKE}
    status, _, body = server.post(
        "/mcp",
        json.dumps([{**ping, "id": 1}, notification, listing, 3, init]).encode(),
        client.headers,
    )
    answers = json.loads(body)
    assert (status, [answer["id"] for answer in answers]) == (200, [1, "b", None, 5])
    assert answers[0]["result"] == {}
    assert answers[1]["result"]["tools"]
    assert [answer["error"]["code"] for answer in answers[2:]] == [-32600, -32600]
    assert server.post("/mcp", json.dumps([notification]).encode(), client.headers)[0] == 202
    status, _, body = server.post("/mcp", b"[]", client.headers)
    assert (status, json.loads(body)["error"]["code"]) == (400, -32600)


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
