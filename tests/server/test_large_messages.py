"""Large messages are refused early, except documents, which are served."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from conformance.program import Served, serve_http
from transport_clients import META, Stdio

MEGABYTE = 1_000_000


def dense(size: int) -> str:
    """JSON text that becomes 25 times its size in memory."""
    return '{"a":[' + "{}," * (size // 3) + "{}]}"


def description(size: int) -> dict[str, Any]:
    """A valid API description of about this many bytes, with characters of every width."""
    schema = {
        "type": "object",
        "description": 'a "quoted" \\ word, \u00e9 \u20ac \U0001f600 ' * 20,
        "properties": {"id": {"type": "string"}},
    }
    count = size // len(json.dumps(schema))
    schemas = {f"Schema{number}": schema for number in range(count)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Large", "version": "1"},
        "paths": {},
        "components": {"schemas": schemas},
    }


def as_yaml(document: dict[str, Any]) -> str:
    schemas = document["components"]["schemas"]
    lines = [
        "openapi: 3.1.0",
        "info:",
        "  title: Large",
        "  version: '1'",
        "paths: {}",
        "components:",
        "  schemas:",
    ]
    for name, schema in schemas.items():
        lines += [
            f"    {name}:",
            "      type: object",
            f"      description: {json.dumps(schema['description'], ensure_ascii=False)}",
        ]
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve_http(tmp_path_factory.mktemp("large")) as running:
        call(running, "oas_parse", spec={"content": json.dumps(description(1000))})
        yield running


def call(server: Served, tool: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments, "_meta": META}
    return post(
        server,
        json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}).encode(),
        tool,
    )[1]


def post(server: Served, body: bytes, tool: str = "") -> tuple[int, dict[str, Any]]:
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    headers |= {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool}
    link = http.client.HTTPConnection(server.address, timeout=120)
    try:
        link.request("POST", "/mcp", body, headers)
        answer = link.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        link.close()


def resident(pid: int) -> int:
    fields = dict(
        line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
    )
    return int(fields["VmHWM"].split()[0]) * 1024


def test_a_body_of_many_containers_is_refused_before_it_is_decoded(server: Served) -> None:
    before = resident(server.process.pid)
    status, answer = post(server, dense(30 * MEGABYTE).encode())
    assert (status, answer["error"]["code"]) == (413, -32001)
    assert "objects and arrays" in answer["error"]["message"]
    assert resident(server.process.pid) - before < 60 * MEGABYTE  # decoded it takes 700 MB


def test_a_body_of_many_plain_values_is_refused_too(server: Served) -> None:
    status, answer = post(server, b'{"a":[' + b"1," * (4 * MEGABYTE) + b"1]}")
    assert (status, answer["error"]["code"]) == (413, -32001)


def test_a_document_of_many_containers_is_refused_before_it_is_decoded(server: Served) -> None:
    before = resident(server.process.pid)
    answer = call(server, "oas_validate", spec={"content": dense(40 * MEGABYTE)})
    error = json.loads(answer["result"]["content"][-1]["text"])["error"]
    assert error["code"] == "SPEC_TOO_LARGE"
    assert (
        resident(server.process.pid) - before < 600 * MEGABYTE
    )  # decoded it takes a gigabyte and more


def test_a_tool_that_takes_no_documents_refuses_large_messages_by_name(server: Served) -> None:
    answer = call(server, "health_check", text="x" * (20 * MEGABYTE))
    assert answer["id"] == 7
    assert answer["error"]["code"] == -32001
    assert answer["error"]["message"].startswith(
        "health_check takes messages of at most 16777216 bytes"
    )


def test_large_messages_are_refused_by_tool_if_the_name_comes_last(server: Served) -> None:
    params = {"arguments": {"text": "x" * (20 * MEGABYTE)}, "_meta": META, "name": "health_check"}
    status, answer = post(
        server,
        json.dumps({"params": params, "method": "tools/call", "id": 8, "jsonrpc": "2.0"}).encode(),
        "health_check",
    )
    assert (status, answer["id"], answer["error"]["code"]) == (413, 8, -32001)


def test_a_large_message_with_a_lone_surrogate_is_answered_with_its_id(server: Served) -> None:
    content = '"' + "x" * MEGABYTE + '\\ud83d"'
    head = json.dumps(
        {
            "jsonrpc": "2.0",
            "id": 9,
            "method": "tools/call",
            "params": {"name": "oas_parse", "_meta": META, "arguments": {}},
        }
    )
    body = head.replace('"arguments": {}', '"arguments": {"spec": {"content": ' + content + "}}")
    status, answer = post(server, body.encode(), "oas_parse")
    assert (status, answer["id"], answer["error"]["code"]) == (400, 9, -32600)


@pytest.mark.parametrize("spelling", ["json", "yaml"])
def test_a_large_document_is_served_inline(server: Served, spelling: str) -> None:
    document = description(5 * MEGABYTE)
    text = (
        json.dumps(document, ensure_ascii=False, indent=1)
        if spelling == "json"
        else as_yaml(document)
    )
    answer = call(server, "oas_parse", spec={"content": text})
    parsed = answer["result"]["structuredContent"]
    assert parsed["schema_count"] == len(document["components"]["schemas"])


def test_an_error_in_a_large_document_has_line_and_column(server: Served) -> None:
    text = json.dumps(description(3 * MEGABYTE), indent=1)
    place = text.index('"type"', 2 * MEGABYTE)
    answer = call(server, "oas_parse", spec={"content": text[:place] + "oops" + text[place:]})
    details = json.loads(answer["result"]["content"][-1]["text"])["error"]["details"]
    assert details["line"] == text.count("\n", 0, place) + 1
    assert abs(details["column"] - (place - text.rindex("\n", 0, place))) <= 1


def test_others_are_answered_while_large_bodies_arrive(server: Served) -> None:
    body = dense(20 * MEGABYTE).encode()
    document = json.dumps(description(10 * MEGABYTE))
    taken: list[float] = []
    done = threading.Event()

    def probe() -> None:
        link = http.client.HTTPConnection(server.address, timeout=60)
        while not done.is_set():
            begun = time.perf_counter()
            link.request("GET", "/healthz")
            link.getresponse().read()
            taken.append(time.perf_counter() - begun)
            done.wait(0.005)

    with ThreadPoolExecutor(6) as clients:
        probing = clients.submit(probe)
        hostile = [clients.submit(post, server, body) for _ in range(4)]
        parsed = call(server, "oas_parse", spec={"content": document})
        assert all(sent.result()[0] == 413 for sent in hostile)
        done.set()
        probing.result()
    assert not parsed["result"]["isError"]
    middle = sorted(taken)[len(taken) // 2]
    assert middle < 0.5, taken  # decoding four such bodies would block every answer for seconds


def test_stdio_refuses_and_serves_the_same(tmp_path: Path) -> None:
    client = Stdio(tmp_path / "data").open()
    try:
        assert client.process.stdin is not None
        client.process.stdin.write(dense(20 * MEGABYTE).encode() + b"\n")
        client.process.stdin.flush()
        assert client.read()["error"]["code"] == -32001
        refused = client.request(
            "tools/call", {"name": "health_check", "arguments": {"text": "x" * (20 * MEGABYTE)}}
        )
        assert refused["error"]["code"] == -32001
        document = description(5 * MEGABYTE)
        answer = client.request(
            "tools/call",
            {"name": "oas_parse", "arguments": {"spec": {"content": json.dumps(document)}}},
        )
        assert answer["result"]["structuredContent"]["schema_count"] == len(
            document["components"]["schemas"]
        )
        assert client.request("ping")["result"] == {}
    finally:
        client.close()
