"""Two servers of a team on two data folders and one PostgreSQL: keys and audit are shared."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from conformance.program import COMMONPLACE, Served, environment, serve_http

from waiting import is_met_within

BOUND_SECONDS = 30.0
SEEN_SECONDS = 1.0  # the promise for keys
ARRIVED_SECONDS = 2.0  # the promise for audit records


def wait_until(condition: Callable[[], bool], seconds: float = BOUND_SECONDS) -> None:
    assert is_met_within(seconds, condition), "the condition was not met in time"


def configure(data: Path, url: str) -> Path:
    data.mkdir(parents=True, exist_ok=True)
    settings = {"storage": {"url": url}, "auth": {"mode": "keys"}}
    (data / "commonplace.yaml").write_text(json.dumps({"settings": settings}))
    return data


def command(data: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(COMMONPLACE), *arguments],
        env=environment(data),
        cwd=data,
        capture_output=True,
        text=True,
        timeout=120,
    )


def printed(data: Path, *arguments: str) -> Any:
    done = command(data, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def call(
    server: Served,
    key: str,
    name: str,
    headers: Mapping[str, str] | None = None,
    /,
    **arguments: Any,
) -> dict[str, Any]:
    """Call a tool on the stateless endpoint; return its answer or its error."""
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": name,
            "arguments": arguments,
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            },
        },
    }
    sent = {
        "Authorization": f"Bearer {key}",
        "Mcp-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": name,
        **(headers or {}),
    }
    status, _, text = server.post("/mcp", body, sent)
    if status != 200:
        return {"http_status": status}
    result = json.loads(text)["result"]
    if result.get("isError"):
        error: dict[str, Any] = json.loads(result["content"][0]["text"])
        return error
    answer: dict[str, Any] = result["structuredContent"]
    return answer


def opens(server: Served, key: str) -> bool:
    return "http_status" not in call(server, key, "health_check")


@dataclass(frozen=True)
class ServerPair:
    """Two servers, their folders, and a key of an administrator."""

    a: Served
    b: Served
    folder_a: Path
    folder_b: Path
    admin: str


@pytest.fixture
def pair(postgres_url: str, tmp_path: Path) -> Iterator[ServerPair]:
    folder_a, folder_b = (configure(tmp_path / name, postgres_url) for name in ("a", "b"))
    admin = printed(
        folder_a, "keys", "add", "--tenant", "ops", "--label", "root", "--scope", "admin"
    )["key"]
    with serve_http(folder_a) as a, serve_http(folder_b, None, "--no-worker") as b:
        yield ServerPair(a, b, folder_a, folder_b, admin)


def test_a_key_made_on_one_server_opens_the_other_and_is_revoked_on_both(
    pair: ServerPair,
) -> None:
    assert opens(pair.a, pair.admin)
    assert opens(pair.b, pair.admin)
    made = printed(pair.folder_a, "keys", "add", "--tenant", "team-a", "--label", "alice")
    for server in (pair.a, pair.b):
        wait_until(lambda server=server: opens(server, made["key"]), SEEN_SECONDS)  # type: ignore[misc]
    printed(pair.folder_a, "keys", "revoke", made["id"])
    for server in (pair.a, pair.b):
        wait_until(lambda server=server: not opens(server, made["key"]), SEEN_SECONDS)  # type: ignore[misc]
    assert call(pair.b, made["key"], "health_check") == {"http_status": 401}
    rows = {row["id"]: row for row in printed(pair.folder_b, "keys", "list", "--all")["keys"]}
    assert rows[made["id"]]["state"] == "revoked"
    assert rows[made["id"]]["last_used_at"] is not None
    assert not (pair.folder_a / "keys.json").exists()


def test_what_one_server_audits_is_found_and_verified_on_the_other(pair: ServerPair) -> None:
    call(pair.a, pair.admin, "file_write", project="p", path="/a.md", content="x")
    call(pair.b, pair.admin, "file_write", project="p", path="/b.md", content="x")

    def paths(server: Served) -> set[str]:
        found = call(server, pair.admin, "audit_query", tool="file_write")
        return {record["arguments"]["path"] for record in found["records"]}

    for server in (pair.a, pair.b):
        wait_until(lambda server=server: paths(server) == {"/a.md", "/b.md"}, ARRIVED_SECONDS)  # type: ignore[misc]
    records = call(pair.b, pair.admin, "audit_query", tool="file_write")["records"]
    assert len({record["server"] for record in records}) == 2
    assert {record["address"] for record in records} == {"127.0.0.1"}
    verdict = call(pair.b, pair.admin, "audit_verify")
    assert verdict["ok"], verdict
    assert verdict["chains"] >= 3  # both servers, and the command that made the key
    by_command = printed(pair.folder_b, "audit", "verify")
    assert by_command["ok"], by_command
    assert by_command["records"] >= verdict["records"]


def test_a_key_command_on_a_third_machine_is_audited_for_all(
    pair: ServerPair, postgres_url: str, tmp_path: Path
) -> None:
    third = configure(tmp_path / "third", postgres_url)
    printed(third, "keys", "add", "--tenant", "team-c", "--label", "carol")
    found = call(pair.a, pair.admin, "audit_query", tool="keys_add")["records"]
    assert "carol" in {record["arguments"]["label"] for record in found}


def test_a_forged_record_in_the_database_is_found_on_every_server(
    pair: ServerPair, postgres_url: str
) -> None:
    call(pair.a, pair.admin, "file_write", project="p", path="/a.md", content="x")
    wait_until(lambda: bool(call(pair.b, pair.admin, "audit_query", tool="file_write")["records"]))
    with psycopg.connect(postgres_url) as connection:
        connection.execute(
            "UPDATE audit_record SET line = replace(line, '/a.md', '/x.md') "
            "WHERE tool = 'file_write'"
        )
    for server in (pair.a, pair.b):
        verdict = call(server, pair.admin, "audit_verify")
        assert not verdict["ok"]
        assert "changed" in verdict["problems"][0]["problem"]


def test_a_killed_server_loses_no_record_and_is_named_until_it_returns(
    postgres_url: str, tmp_path: Path
) -> None:
    folder_a, folder_b = (configure(tmp_path / name, postgres_url) for name in ("a", "b"))
    admin = printed(
        folder_a, "keys", "add", "--tenant", "ops", "--label", "root", "--scope", "admin"
    )["key"]
    with serve_http(folder_b, None, "--no-worker") as b:
        with serve_http(folder_a) as a:
            for number in range(20):
                path = f"/{number}.md"
                call(a, admin, "file_write", project="p", path=path, content="x")
            a.process.kill()
            a.process.wait(20)
        with psycopg.connect(postgres_url) as connection:  # as if half a minute had passed
            connection.execute(
                "UPDATE audit_origin SET seen_at = seen_at - interval '1 minute' WHERE origin = %s",
                ((folder_a / "server.id").read_text().strip(),),
            )
        verdict = call(b, admin, "audit_verify")
        named = {warning["chain"] for warning in verdict["warnings"]}
        assert (folder_a / "server.id").read_text().strip() in named
        with serve_http(folder_a):

            def arrived() -> int:
                query = {"tool": "file_write", "limit": 100}
                return len(call(b, admin, "audit_query", **query)["records"])

            wait_until(lambda: arrived() == 20)
        verdict = call(b, admin, "audit_verify")
        assert (verdict["ok"], verdict["warnings"]) == (True, []), verdict


def test_audit_lag_is_a_metric(pair: ServerPair) -> None:
    def is_shown() -> bool:
        request = urllib.request.Request(
            f"http://{pair.a.address}/metrics", headers={"Authorization": f"Bearer {pair.admin}"}
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return "commonplace_audit_lag_seconds 0\n" in answer.read().decode()

    wait_until(is_shown)


@pytest.mark.parametrize(
    ("proxies", "recorded"), [(["127.0.0.1"], "203.0.113.9"), (["10.0.0.0/8"], "127.0.0.1")]
)
def test_the_address_of_a_caller_comes_from_a_trusted_proxy_only(
    tmp_path: Path, proxies: list[str], recorded: str
) -> None:
    settings = {"server": {"trusted_proxies": proxies}}
    (tmp_path / "commonplace.yaml").write_text(json.dumps({"settings": settings}))
    with serve_http(tmp_path) as server:
        forwarded = {"X-Forwarded-For": "203.0.113.9"}
        call(server, "", "file_write", forwarded, project="p", path="/a.md", content="x")
        (record,) = call(server, "", "audit_query", tool="file_write")["records"]
        assert record["address"] == recorded
