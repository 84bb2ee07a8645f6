"""Authentication modes of the shipped program over stdio, /mcp and /rpc, with their audit."""

from __future__ import annotations

import asyncio
import http.client
import json
import subprocess
import traceback
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from conformance.program import COMMONPLACE, Served, environment, serve_http
from piped_program import answers, converse
from test_storage_faults import becomes_ready

from commonplace.kernel.auth import Scope
from commonplace.storage.credentials.keys import KeyStore
from commonplace.telemetry.query import AuditFilter, query_audit
from commonplace.telemetry.verify import verify

STATELESS = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
}
Ask = Callable[[Served, str, str | None], tuple[int, dict[str, str], str | None]]


def bearer(token: str | None) -> dict[str, str]:
    return {} if token is None else {"Authorization": f"Bearer {token}"}


def over_mcp(
    server: Served, tool: str, token: str | None
) -> tuple[int, dict[str, str], str | None]:
    """Status, headers and error code of a stateless tools/call without arguments."""
    params = {"name": tool, "arguments": {}, "_meta": STATELESS}
    headers = {
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
        **bearer(token),
    }
    status, answered, body = server.post(
        "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, headers
    )
    answer = json.loads(body)
    if "error" in answer:
        return status, answered, answer["error"]["data"]["code"]
    result = answer["result"]
    return (
        status,
        answered,
        json.loads(result["content"][0]["text"])["error"]["code"] if result["isError"] else None,
    )


def over_rpc(
    server: Served, tool: str, token: str | None
) -> tuple[int, dict[str, str], str | None]:
    status, answered, body = server.post(
        "/rpc", {"jsonrpc": "2.0", "id": 1, "method": tool.replace("_", "/", 1)}, bearer(token)
    )
    answer = json.loads(body)
    return status, answered, answer["error"]["data"]["code"] if "error" in answer else None


def over_stdio(
    data: Path, lines: list[Mapping[str, Any]], extra: Mapping[str, str] | None = None
) -> tuple[int, list[Any], str]:
    ran = converse(data, extra, lines, data=data)
    return ran.returncode, answers(ran), ran.stderr


def call(
    tool: str, arguments: Mapping[str, Any] | None = None, request_id: int = 1
) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments or {}, "_meta": STATELESS}
    return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}


def code_of(answer: Mapping[str, Any]) -> str | None:
    result = answer["result"]
    return json.loads(result["content"][0]["text"])["error"]["code"] if result["isError"] else None


@pytest.fixture(scope="module")
def keyed(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Served, dict[str, str], Path]]:
    """A server in mode keys, and a token of each scope."""
    data = tmp_path_factory.mktemp("keyed")
    store = KeyStore(data / "keys.json")
    tokens = {
        scope.value: store.add(f"team-{scope.value}", scope.value, scope)[1] for scope in Scope
    }
    with serve_http(data, None, "--auth", "keys") as server:
        yield server, tokens, data


TRANSPORTS = pytest.mark.parametrize("ask", [over_mcp, over_rpc], ids=["mcp", "rpc"])


@TRANSPORTS
@pytest.mark.parametrize("token", [None, "wrong", "cp_abcdefgh_" + "x" * 43])
def test_without_a_valid_key_the_answer_is_a_plain_401(
    ask: Ask, token: str | None, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    server, _, _ = keyed
    status, headers, code = ask(server, "health_check", token)
    assert (status, code) == (401, "UNAUTHENTICATED")
    assert headers["www-authenticate"].startswith("Bearer")
    assert "resource_metadata" not in headers["www-authenticate"]
    assert ('error="invalid_token"' in headers["www-authenticate"]) is (token is not None)


@pytest.mark.parametrize("path", ["", "/mcp"])
def test_there_is_no_oauth_metadata_without_an_authorization_server(
    path: str, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    server, _, _ = keyed
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(
            f"http://{server.address}/.well-known/oauth-protected-resource{path}", timeout=10
        )
    assert refused.value.code == 404


def test_configured_oauth_metadata_does_not_repeat_a_foreign_host(tmp_path: Path) -> None:
    auth = {
        "resource_url": "https://mcp.example.org/mcp",
        "authorization_servers": ["https://login.example.org"],
    }
    (tmp_path / "commonplace.yaml").write_text(json.dumps({"settings": {"auth": auth}}))
    with serve_http(tmp_path, None, "--auth", "keys") as server:
        path = "/.well-known/oauth-protected-resource/mcp"
        request = urllib.request.Request(
            f"http://{server.address}{path}", headers={"Host": "evil.example"}
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            document = json.load(answer)
        assert (document["resource"], document["authorization_servers"]) == (
            auth["resource_url"],
            auth["authorization_servers"],
        )
        _, headers, _ = over_rpc(server, "health_check", None)
        assert f'resource_metadata="https://mcp.example.org{path}"' in headers["www-authenticate"]


def test_the_official_client_uses_a_configured_key_and_fails_clearly_without_one(
    keyed: tuple[Served, dict[str, str], Path],
) -> None:
    """It followed the metadata into an OAuth flow that led nowhere."""
    server, tokens, _ = keyed
    assert asyncio.run(_listed_by_the_official_client(server.url, tokens["read"])) > 10
    with pytest.raises(BaseExceptionGroup) as refused:
        asyncio.run(_listed_by_the_official_client(server.url, None))
    assert "This server needs a key." in "".join(traceback.format_exception(refused.value))


async def _listed_by_the_official_client(url: str, token: str | None) -> int:
    import httpx
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    async with (
        httpx.AsyncClient(headers=bearer(token), timeout=30) as client,
        streamable_http_client(url, http_client=client) as streams,
        ClientSession(streams[0], streams[1]) as session,
    ):
        await session.initialize()
        return len((await session.list_tools()).tools)


@TRANSPORTS
@pytest.mark.parametrize("scope", [scope.value for scope in Scope])
def test_every_scope_may_read(
    ask: Ask, scope: str, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    server, tokens, _ = keyed
    assert ask(server, "health_check", tokens[scope])[2] is None
    assert ask(server, "metrics_snapshot", tokens[scope])[2] is None


@pytest.mark.parametrize("scope", [scope.value for scope in Scope])
def test_only_admin_reads_audit_and_metrics_of_all_tenants(
    scope: str, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    server, tokens, _ = keyed
    assert over_mcp(server, "audit_verify", tokens[scope])[2] == (
        None if scope == "admin" else "SCOPE_REQUIRED"
    )
    request = urllib.request.Request(
        f"http://{server.address}/metrics", headers=bearer(tokens[scope])
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            status, text = answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        status, text = refused.code, ""
    assert status == (200 if scope == "admin" else 403)
    assert ('tenant="team-read"' in text) is (scope == "admin")


def test_a_refusal_over_http_is_in_the_audit_with_its_key(
    keyed: tuple[Served, dict[str, str], Path],
) -> None:
    server, tokens, data = keyed
    over_mcp(server, "audit_verify", tokens["read"])
    refused = query_audit(data / "audit", AuditFilter(code="SCOPE_REQUIRED", tenant="team-read"))
    assert refused
    assert refused[0]["label"] == "read"
    assert verify(data / "audit").ok


def test_a_revoked_key_ends_with_the_next_request(
    keyed: tuple[Served, dict[str, str], Path],
) -> None:
    server, _, data = keyed
    store = KeyStore(data / "keys.json")
    record, token = store.add("team-x", "short", Scope.READ)
    assert over_rpc(server, "health_check", token)[0] == 200
    store.revoke(record.id)
    assert over_rpc(server, "health_check", token)[0] == 401


def test_passthrough_requires_a_bearer_and_accepts_any(tmp_path: Path) -> None:
    with serve_http(tmp_path, None, "--auth", "passthrough") as server:
        for ask in (over_mcp, over_rpc):
            assert ask(server, "health_check", "sk-anything")[2] is None
            assert ask(server, "health_check", None)[0] == 401
            assert ask(server, "health_check", "local")[0] == 401
        assert over_mcp(server, "audit_verify", "sk-anything")[2] == "SCOPE_REQUIRED"
        wrote = [
            path
            for path in tmp_path.rglob("*")
            if path.is_file() and b"sk-anything" in path.read_bytes()
        ]
        assert wrote == []


def test_a_session_exists_only_for_the_tenant_that_opened_it(tmp_path: Path) -> None:
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    with serve_http(tmp_path, None, "--auth", "passthrough") as server:
        opened = server.post(
            "/mcp",
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
            bearer("sk-first"),
        )
        session = {
            "Mcp-Session-Id": opened[1]["mcp-session-id"],
            "MCP-Protocol-Version": "2025-11-25",
        }

        def status(method: str, token: str) -> int:
            return server.post(
                "/mcp", {"jsonrpc": "2.0", "id": 2, "method": method}, {**session, **bearer(token)}
            )[0]

        for method in (
            "tools/list",
            "ping",
            "resources/list",
        ):  # the last one is answered by the SDK
            assert (status(method, "sk-second"), status(method, "sk-first")) == (404, 200)


def test_without_auth_everyone_on_loopback_is_the_local_user(tmp_path: Path) -> None:
    with serve_http(tmp_path) as server:
        for ask in (over_mcp, over_rpc):
            assert ask(server, "health_check", None)[2] is None
        assert over_mcp(server, "audit_verify", None)[2] is None


@pytest.mark.parametrize("host", ["0.0.0.0:0", "[::]:0"])
def test_an_open_bind_without_auth_is_refused(host: str, tmp_path: Path) -> None:
    ran = subprocess.run(
        [COMMONPLACE, "serve", "--http", host],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment(tmp_path),
        cwd=tmp_path,
        check=False,
    )
    assert ran.returncode == 2
    assert "Refusing to listen" in ran.stderr
    assert "commonplace keys add" in ran.stderr


def test_stdio_is_the_local_user_or_the_key_it_is_given(tmp_path: Path) -> None:
    _, answers, _ = over_stdio(tmp_path, [call("audit_verify")])
    assert [code_of(answer) for answer in answers] == [None]
    store = KeyStore(tmp_path / "keys.json")
    _, token = store.add("team-a", "agent", Scope.READ)
    _, answers, _ = over_stdio(
        tmp_path,
        [call("health_check"), call("audit_verify", request_id=2)],
        {"COMMONPLACE_KEY": token},
    )
    assert [code_of(answer) for answer in answers] == [None, "SCOPE_REQUIRED"]
    returned, answers, errors = over_stdio(
        tmp_path, [call("health_check")], {"COMMONPLACE_KEY": "wrong"}
    )
    assert (returned, answers) == (4, [])
    assert "COMMONPLACE_KEY" in errors


def test_a_flood_of_wrong_keys_is_slowed_and_leaves_a_bounded_audit(tmp_path: Path) -> None:
    store = KeyStore(tmp_path / "keys.json")
    _, token = store.add("team-a", "alice", Scope.READ)
    (tmp_path / "commonplace.yaml").write_text("settings: {limits: {failed_logins_per_minute: 5}}")
    with serve_http(tmp_path, None, "--auth", "keys") as server:
        statuses = [over_rpc(server, "health_check", "wrong")[0] for _ in range(12)]
        assert statuses[:5] == [401] * 5
        assert statuses.count(429) >= 5
        assert over_rpc(server, "health_check", token)[0] == 200
        for ask in (over_mcp, over_rpc):
            status, headers, _ = ask(server, "health_check", None)
            assert (status, headers["www-authenticate"]) == (401, 'Bearer realm="commonplace"')
            assert "www-authenticate" in ask(server, "health_check", "wrong")[1]
        assert len(query_audit(tmp_path / "audit", AuditFilter(code="UNAUTHENTICATED"))) <= 12


def test_a_key_over_its_rate_is_told_when_to_retry(tmp_path: Path) -> None:
    store = KeyStore(tmp_path / "keys.json")
    _, token = store.add("team-a", "alice", Scope.READ)
    _, other = store.add("team-b", "bob", Scope.READ)
    (tmp_path / "commonplace.yaml").write_text(
        "settings: {limits: {key_per_second: 0.5, key_burst: 3}}"
    )
    with serve_http(tmp_path, None, "--auth", "keys") as server:
        answers = [over_rpc(server, "health_check", token) for _ in range(6)]
        assert [status for status, _, _ in answers] == [200, 200, 200, 429, 429, 429]
        assert all(int(headers["retry-after"]) >= 1 for _, headers, _ in answers[3:])
        assert answers[-1][2] == "CALL_RATE_LIMITED"
        assert over_rpc(server, "health_check", other)[0] == 200


def test_a_server_that_cannot_write_audit_records_is_not_ready(tmp_path: Path) -> None:
    with serve_http(tmp_path) as server:
        with urllib.request.urlopen(f"http://{server.address}/readyz", timeout=10) as answer:
            assert json.load(answer)["status"] == "ready"
        (tmp_path / "audit" / "chains").rmdir()
        (tmp_path / "audit").rmdir()
        (tmp_path / "audit").write_text("in the way")
        assert becomes_ready(server, 503)["error"]["code"] == "AUDIT_UNAVAILABLE"


@pytest.mark.parametrize(
    ("settings", "variables", "forwarded", "secure"),
    [
        ({}, {}, None, False),
        ({}, {}, "https", True),
        ({}, {}, "http", False),
        (
            {},
            {"FORWARDED_ALLOW_IPS": "10.9.9.9"},
            "https",
            False,
        ),  # sent by a peer that is not a trusted proxy
        ({"server": {"trusted_proxies": ["10.9.9.0/24"]}}, {}, "https", False),
        ({"server": {"trusted_proxies": ["127.0.0.0/8"]}}, {}, "https", True),
        ({"auth": {"resource_url": "https://mcp.example.org/mcp"}}, {}, None, True),
        ({"auth": {"resource_url": "http://mcp.example.org/mcp"}}, {}, None, False),
    ],
)
def test_cookies_of_the_console_are_secure_where_browsers_use_tls(
    settings: dict[str, Any],
    variables: dict[str, str],
    forwarded: str | None,
    secure: bool,
    tmp_path: Path,
) -> None:
    (tmp_path / "commonplace.yaml").write_text(json.dumps({"settings": settings}))
    headers = {"X-Forwarded-Proto": forwarded} if forwarded else {}
    with serve_http(tmp_path, variables) as server:
        for path in (
            "/console/",
            "/console/login",
        ):  # opens a session in mode none; sets the cookie against forged forms
            link = http.client.HTTPConnection(server.address, timeout=30)
            link.request("GET", path, headers=headers)
            cookie = link.getresponse().getheader("Set-Cookie") or ""
            link.close()
            assert "HttpOnly" in cookie
            assert ("; Secure" in cookie) is secure, cookie
