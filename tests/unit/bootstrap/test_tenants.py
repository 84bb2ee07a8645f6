"""Everything of a tenant is exported, deleted and counted: one body over SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
import hashlib
import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commonplace.bootstrap.app import App, build
from commonplace.bootstrap.team import on_postgres
from commonplace.bootstrap.tenants import (
    count_tenant,
    delete_tenant,
    export_tenant,
    list_tenants,
    move_tenant,
    without_servers,
)
from commonplace.dispatch.call import Call, to_json
from commonplace.edge.authenticate import passthrough
from commonplace.kernel.auth import ALL_SCOPES, AuthContext, Scope, Tenant, tenant_hash
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.settings import Settings, StorageSettings

SAMPLES = Path(__file__).parents[2] / "data" / "capture" / "transcripts"
TRANSCRIPT = (SAMPLES / "05-migrations-order.jsonl").read_text("utf-8")
PROPOSALS = 2
TEAM, OTHER = Tenant("team-a"), Tenant("team-b")


@pytest.fixture(params=["sqlite", "postgres"])
def app(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[App]:
    settings = Settings(data=tmp_path / "data")
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_url")
        settings = settings.replace(storage=StorageSettings(url=url))
    with build(settings, local_user_writes=True) as made:
        yield made


def call(app: App, tenant: Tenant, tool: str, **arguments: object) -> Any:
    return call_as(app, AuthContext(tenant, ALL_SCOPES, "test"), tool, **arguments)


def call_as(app: App, caller: AuthContext, tool: str, **arguments: object) -> Any:
    outcome = asyncio.run(app.pipeline.run(Call(tool, arguments, caller)))
    assert outcome.error is None, outcome.error
    return to_json(outcome.output)


def fill(app: App) -> None:
    for tenant in (TEAM, OTHER):
        app.services.keys.add(tenant, "alice", Scope.WRITE)
        for project in ("p", "..", "a/b"):
            call(app, tenant, "file_write", project=project, path="/x/a.md", content="walnut tree")
        call(app, tenant, "file_write", project="p", path="/old.md", content="gone")
        call(app, tenant, "file_delete", project="p", path="/old.md")
        call(app, tenant, "rekall_add", type="bug", title=f"Lesson {tenant}", content="learned")
        call(app, tenant, "capture_transcript", text=TRANSCRIPT)
        prompt = {"event": "UserPromptSubmit", "session_id": "s1", "prompt": f"Lesson {tenant}"}
        call(app, tenant, "hook_context", client="codex", **prompt)
        pack = call(app, tenant, "context", task=f"Lesson {tenant}")
        refs = [lesson["ref"] for lesson in pack["lessons"]]
        call(app, tenant, "context_feedback", pack_id=pack["pack_id"], used=refs)


def rows_of(app: App, tenant: Tenant) -> dict[str, int]:
    """Count the rows that name a tenant in any table of PostgreSQL."""
    found: dict[str, int] = {}
    with app.services.postgres.connect() as connection:
        columns = connection.execute(
            "SELECT table_name, column_name FROM information_schema.columns "
            "WHERE table_schema = 'public' AND column_name IN ('tenant', 'apikey_hash') "
            "AND table_name NOT LIKE 'audit%'"
        ).fetchall()
        for table, column in columns:
            row = connection.execute(
                f"SELECT count(*) FROM {table} WHERE {column} IN (%s, %s)",
                (tenant, tenant_hash(tenant)),
            ).fetchone()
            if row is not None and row[0]:
                found[f"{table}.{column}"] = row[0]
        for table in ("search_posting", "search_document", "mcp_file_chunk_bm25"):
            row = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
            assert row is not None
            found[table] = row[0]
    return found


def test_a_deleted_tenant_leaves_nothing_and_others_keep_everything(app: App) -> None:
    fill(app)
    before = count_tenant(app.services, OTHER)
    owned = {"files": 3, "memory": 1, "keys": 1, "proposals": PROPOSALS}
    assert count_tenant(app.services, TEAM) == owned
    assert delete_tenant(app.services, TEAM) == owned
    assert count_tenant(app.services, TEAM) == dict.fromkeys(owned, 0)
    assert count_tenant(app.services, OTHER) == before
    if on_postgres(app.settings):
        deadline = time.monotonic() + 30  # until the words are in the index
        while "mcp_file_chunks.apikey_hash" not in rows_of(app, OTHER):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        delete_tenant(app.services, OTHER)
        for tenant in (TEAM, OTHER):
            left = {table: count for table, count in rows_of(app, tenant).items() if count}
            assert left == {}
    with pytest.raises(CommonplaceError) as missing:
        delete_tenant(app.services, TEAM)
    assert missing.value.code.name == "TENANT_NOT_FOUND"


def test_a_tenant_of_mode_passthrough_is_listed_exported_and_deleted(
    app: App, tmp_path: Path
) -> None:
    fill(app)
    caller = passthrough("sk-a-token-of-a-caller-0123456789")
    call_as(app, caller, "file_write", project="p", path="/a.md", content="walnut")
    call_as(app, caller, "rekall_add", type="bug", title="Lesson", content="learned")
    listed = list_tenants(app.services)
    assert listed[caller.tenant] == caller.apikey_hash
    assert set(listed) == {"local", TEAM, OTHER, caller.tenant}
    folder = tmp_path / "export"
    manifest = export_tenant(app.services, caller.tenant, folder, lambda part: None)
    assert manifest["counts"] == {"files": 1, "memory": 1, "proposals": 0, "keys": 0, "audit": 2}
    deleted = {"files": 1, "memory": 1, "keys": 0, "proposals": 0}
    assert delete_tenant(app.services, caller.tenant) == deleted
    assert set(list_tenants(app.services)) == {"local", TEAM, OTHER}
    assert count_tenant(app.services, TEAM)["files"] == 3


def test_an_export_is_complete_and_can_be_checked(app: App, tmp_path: Path) -> None:
    fill(app)
    folder = tmp_path / "export"
    manifest = export_tenant(app.services, TEAM, folder, lambda part: None)
    counts = {"files": 3, "memory": 1, "proposals": PROPOSALS, "keys": 1, "audit": 7}
    assert manifest["counts"] == counts
    proposals = _lines(folder / "capture.jsonl")
    assert {proposal["state"] for proposal in proposals} == {"pending"}
    (use,) = _lines(folder / "context.jsonl")
    assert (use["ref"][:7], use["used"], use["useless"]) == ("memory:", 1, 0)
    checked = subprocess.run(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout
    listed = [json.loads(line) for line in (folder / "files.jsonl").read_text().splitlines()]
    assert {entry["project"] for entry in listed} == {"p", "..", "a/b"}
    for entry in listed:
        content = (folder / entry["stored_as"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == entry["sha256"]
        assert (folder / entry["stored_as"]).resolve().is_relative_to(folder / "files")
    (key,) = json.loads((folder / "keys.json").read_text())
    assert key["label"] == "alice"
    assert "hash" not in key
    assert "Lesson team-a" in (folder / "memory.jsonl").read_text()
    audit = (folder / "audit.jsonl").read_text()
    assert "team-b" not in audit + (folder / "memory.jsonl").read_text()


def test_an_export_refuses_a_folder_with_files(app: App, tmp_path: Path) -> None:
    (tmp_path / "export").mkdir()
    (tmp_path / "export" / "mine").write_text("x")
    with pytest.raises(CommonplaceError):
        export_tenant(app.services, TEAM, tmp_path / "export", lambda part: None)


def test_a_move_is_refused_while_a_server_runs_on_another_machine(
    postgres_url: str, tmp_path: Path
) -> None:
    storage = StorageSettings(url=postgres_url)
    here, there = (
        Settings(data=tmp_path / name).replace(storage=storage) for name in ("here", "there")
    )
    with build(here, local_user_writes=True) as command, build(there) as server:
        with server.claim_data_folder():
            with pytest.raises(CommonplaceError) as refused, without_servers(command.services):
                pass
            assert refused.value.code.name == "DATA_IN_USE"
        with without_servers(command.services):
            pass


def _lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_a_tenant_that_only_captured_is_listed_moved_and_deleted(app: App) -> None:
    call(app, TEAM, "capture_transcript", text=TRANSCRIPT)
    assert TEAM in list_tenants(app.services)
    assert move_tenant(app.services, TEAM, OTHER)["proposals"] == PROPOSALS
    assert count_tenant(app.services, OTHER)["proposals"] == PROPOSALS
    assert delete_tenant(app.services, OTHER)["proposals"] == PROPOSALS
    with pytest.raises(CommonplaceError):
        delete_tenant(app.services, OTHER)
