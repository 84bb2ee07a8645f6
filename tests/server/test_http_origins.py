"""Requests that a web page on another origin can send to the HTTP server."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from conformance.program import Served, serve_http
from transport_clients import (
    META,
    TOOLS,
    Http,
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve_http(tmp_path_factory.mktemp("http"), TOOLS) as served:
        yield served


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
    """Browsers let a page send forms and plain text to any origin without a preflight."""
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
        content = answer.read()
        link.close()
        assert answer.status in (400, 415), content
        assert b"sum" not in content


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
    preflight = {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,mcp-param-x",
    }

    def answer(
        method: str, path: str, headers: dict[str, str], body: bytes | None = None
    ) -> tuple[int, dict[str, str]]:
        link = http.client.HTTPConnection(server.address, timeout=10)
        link.request(method, path, body, headers)
        response = link.getresponse()
        response.read()
        link.close()
        return response.status, {name.lower(): value for name, value in response.getheaders()}

    with serve_http(
        tmp_path, None, "--auth", "keys", "--config", str(tmp_path / "commonplace.yaml")
    ) as server:
        for path in ("/mcp", "/rpc"):
            status, received = answer("OPTIONS", path, {"Origin": page, **preflight})
            assert (status, received["access-control-allow-origin"], received["vary"]) == (
                204,
                page,
                "Origin",
            )
            assert (
                received["access-control-allow-headers"]
                == preflight["Access-Control-Request-Headers"]
            )
            assert "POST" in received["access-control-allow-methods"]
            assert int(received["access-control-max-age"]) > 0
            status, received = answer(
                "POST", path, {"Origin": page, "Authorization": f"Bearer {key}"}, b"{}"
            )
            assert (status, received["access-control-allow-origin"], received["vary"]) == (
                401,
                page,
                "Origin",
            )
            assert (
                received["access-control-expose-headers"]
                == "Mcp-Session-Id, WWW-Authenticate, Retry-After"
            )
            for other in (
                {"Origin": "https://evil.example", **preflight},
                {"Origin": f"http://{server.address}", **preflight},
                {},
            ):
                status, received = answer("OPTIONS", path, other)
                assert status in (401, 403, 405)
                assert not any(name.startswith("access-control") for name in received)
