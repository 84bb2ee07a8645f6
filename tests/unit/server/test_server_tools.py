"""The server's own tools: what a tenant sees, and what an administrator does."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.bootstrap.app import App, build
from commonplace.dispatch.call import Call, Outcome
from commonplace.dispatch.registry import Toolset
from commonplace.dispatch.tool import Context, Nothing, Tool
from commonplace.kernel.auth import AuthContext, Scope, Tenant, local_user
from commonplace.kernel.json_types import JsonObject
from commonplace.kernel.settings import Settings

READER = AuthContext(Tenant("t"), frozenset({Scope.READ}), "reader", key_id="k1")


def succeed(context: Context, arguments: Nothing) -> JsonObject:
    return {"ok": True}


READ = Tool("note_read", "notes", "n", "n", Nothing, JsonObject, succeed, bare=("note/read",))
WRITE = Tool(
    "note_write",
    "notes",
    "n",
    "n",
    Nothing,
    JsonObject,
    succeed,
    read_only=False,
    scope=Scope.WRITE,
)
NOTES = Toolset(
    "notes",
    "Notes",
    frozenset({"note_read", "note/read", "note_write"}),
    frozenset({"note/read"}),
    lambda: (READ, WRITE),
)


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    with build(Settings(data=tmp_path), extra_toolsets=[NOTES], environ={}) as app:
        yield app


def run(
    app: App, name: str, arguments: JsonObject | None = None, auth: AuthContext | None = None
) -> Outcome:
    return asyncio.run(app.pipeline.run(Call(name, arguments or {}, auth or local_user())))


def test_a_tenant_sees_its_own_metrics_and_an_admin_all(app: App) -> None:
    run(app, "note_read", auth=READER)
    run(app, "note_read")
    mine = run(app, "metrics_snapshot", auth=READER).output
    everyone = run(app, "metrics_snapshot").output
    assert isinstance(mine, dict)
    assert isinstance(everyone, dict)
    assert mine["scope"] == "tenant"
    assert [(m["method"], m["count"]) for m in mine["methods"]] == [("note/read", 1)]
    assert everyone["scope"] == "server"
    assert ("note/read", 2) in [(m["method"], m["count"]) for m in everyone["methods"]]


def test_audit_tools_need_admin(app: App) -> None:
    run(app, "note_write")
    for name in ("audit_query", "audit_verify"):
        outcome = run(app, name, auth=READER)
        assert outcome.error is not None
        assert outcome.error.code.name == "SCOPE_REQUIRED"
    verdict = run(app, "audit_verify").output
    assert isinstance(verdict, dict)
    assert verdict["ok"]
    found = run(app, "audit_query", {"tool": "note_write"}).output
    assert isinstance(found, dict)
    assert found["returned"] == 1


def test_audit_query_can_show_recent_reads_too(app: App) -> None:
    run(app, "note_write")
    run(app, "note_read")
    found = run(app, "audit_query", {"reads": True}).output
    assert isinstance(found, dict)
    assert [(r["tool"], r["chain"] is None) for r in found["records"]] == [
        ("note_read", True),
        ("note_write", False),
    ]


def test_server_status_shows_a_key_its_scopes_and_only_an_admin_all_tenants(app: App) -> None:
    run(app, "note_read", auth=READER)
    run(app, "note_read")
    mine = run(app, "server_status", auth=READER).output
    everyone = run(app, "server_status").output
    assert isinstance(mine, dict)
    assert isinstance(everyone, dict)
    assert mine["you"]["scopes"] == ["read"]
    assert sum(point["calls"] for point in mine["timeline"]) == 1
    assert "process" not in mine
    assert all("memory_bytes" not in point for point in mine["timeline"])
    assert sum(point["calls"] for point in everyone["timeline"]) == 3
    assert everyone["process"]["memory_bytes"] > 1_000_000
    assert everyone["timeline"][-1]["memory_bytes"] > 1_000_000
