"""The dashboard of a stdio server grants no more than the stdio caller has."""

from __future__ import annotations

import json
import re
import socket
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from piped_program import running

from commonplace.kernel.auth import Scope
from commonplace.storage.credentials.keys import KeyStore

STATUS = {"jsonrpc": "2.0", "id": 1, "method": "health/check"}
ANY_PORT = {"MCP_DASHBOARD": "1", "MCP_DASHBOARD_PORT": "0"}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
}


def address_of(server: Any) -> str:
    found = re.match(r"dashboard: http://([^/]+)/", server.errors.readline())
    assert found
    return found[1]


def fetch(
    address: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
) -> tuple[int, Any]:
    data = None if body is None else json.dumps(body).encode()
    sent = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        **(headers or {}),
    }
    request = urllib.request.Request(f"http://{address}{path}", data=data, headers=sent)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as refused:
        return refused.code, json.loads(refused.read() or b"null")


def call(
    address: str, tool: str, arguments: Mapping[str, Any], token: str | None = None
) -> tuple[Any, str | None]:
    """Structured content and error code of a tools/call at the dashboard's /mcp."""
    params = {"name": tool, "arguments": arguments, "_meta": META}
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool}
    headers |= {"Authorization": f"Bearer {token}"} if token else {}
    status, answer = fetch(
        address,
        "/mcp",
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params},
        headers,
    )
    if status != 200:
        return None, str(answer["error"]["data"]["code"])
    result = answer["result"]
    if result["isError"]:
        return None, str(json.loads(result["content"][-1]["text"])["error"]["code"])
    return result["structuredContent"], None


@pytest.fixture
def store(tmp_path: Path) -> KeyStore:
    return KeyStore(tmp_path / "data" / "keys.json")


def test_the_dashboard_acts_as_the_stdio_caller(tmp_path: Path, store: KeyStore) -> None:
    record, token = store.add("team-a", "alice", Scope.READ)
    with running(tmp_path, {**ANY_PORT, "COMMONPLACE_KEY": token}) as server:
        address = address_of(server)
        you = call(address, "server_status", {})[0]["you"]
        assert (you["label"], you["scopes"]) == ("alice", ["read"])
        assert (
            call(address, "file_write", {"project": "p", "path": "/a", "content": "x"})[1]
            == "SCOPE_REQUIRED"
        )
        assert call(address, "audit_verify", {})[1] == "SCOPE_REQUIRED"
        assert (
            fetch(address, "/rpc", {"jsonrpc": "2.0", "id": 1, "method": "instructions/reload"})[0]
            == 403
        )
        metrics = urllib.request.Request(f"http://{address}/metrics")
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(metrics, timeout=30)
        assert refused.value.code == 403
        store.revoke(record.id)
        assert call(address, "server_status", {})[1] == "UNAUTHENTICATED"


def test_dashboard_callers_cannot_read_local_files(tmp_path: Path, store: KeyStore) -> None:
    spec = tmp_path / "api.json"
    spec.write_text(
        json.dumps({"openapi": "3.0.3", "info": {"title": "t", "version": "1"}, "paths": {}})
    )
    with running(tmp_path, ANY_PORT) as server:
        address = address_of(server)
        assert call(address, "oas_parse", {"spec": {"file": str(spec)}})[1] == "PATH_NOT_ALLOWED"
        params = {"name": "oas_parse", "arguments": {"spec": {"file": str(spec)}}, "_meta": META}
        answer = server.ask({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params})
        assert answer["result"]["isError"] is False  # the pipe's own client still does


def test_a_dashboard_key_never_has_more_rights_than_the_stdio_caller(
    tmp_path: Path, store: KeyStore
) -> None:
    _, pipe = store.add("team-a", "alice", Scope.READ)
    _, admin = store.add("team-a", "root", Scope.ADMIN)
    _, other = store.add("team-b", "bob", Scope.READ)
    tmp_path.joinpath("commonplace.yaml").write_text("settings: {auth: {mode: keys}}")
    with running(tmp_path, {**ANY_PORT, "COMMONPLACE_KEY": pipe}) as server:
        address = address_of(server)
        assert call(address, "server_status", {})[1] == "UNAUTHENTICATED"
        assert call(address, "server_status", {}, admin)[0]["you"]["scopes"] == ["read"]
        assert call(address, "server_status", {}, other)[1] == "UNAUTHENTICATED"


def test_a_busy_dashboard_port_does_not_affect_stdio(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        variables = {
            "MCP_DASHBOARD": "1",
            "MCP_DASHBOARD_PORT": str(port),
            "MCP_DASHBOARD_TRIES": "1",
        }
        with running(tmp_path, variables) as server:
            assert (
                f"dashboard: not started. Cannot listen on 127.0.0.1:{port}"
                in server.errors.readline()
            )
            assert server.ask(STATUS)["result"]["status"] == "ok"
