"""`commonplace migrate --from` brings project files along, and says what it leaves behind."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import psycopg
from conformance.program import COMMONPLACE, Served, environment, serve_http
from test_two_servers import call, command, configure, printed, wait_until

from commonplace.files.store.file_store import lock_of
from commonplace.kernel.auth import Tenant, tenant_hash

SOON_SECONDS = 30.0


def work_alone(data: Path, checkout: Path) -> str:
    """Let a server of one machine store files; return a key of its tenant."""
    (checkout / "docs").mkdir(parents=True)
    for number in range(3):
        text = f"# Part {number}\n\nThe word of this part is walrus{number}.\n"
        (checkout / "docs" / f"Part {number}.md").write_text(text)
    made = printed(data, "keys", "add", "--tenant", "team-a", "--label", "a", "--scope", "write")
    key = str(made["key"])
    with serve_http(data, None, "--auth", "keys") as server:
        call(server, key, "file_write", project="notes", path="/a.md", content="heron")
        call(server, key, "file_write", project="notes", path="/b.md", content="old")
        call(server, key, "file_delete", project="notes", path="/b.md")
        sync(data, checkout, server, key)
    return key


def sync(data: Path, checkout: Path, server: Served, key: str) -> str:
    done = command(
        data, "files", "sync", str(checkout), "-p", "docs", "--server", server.url, "--key", key
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def move(data: Path, source: Path) -> dict[str, tuple[int, int, int]]:
    answer = printed(data, "migrate", "--from", str(source))
    return {
        part["part"]: (part["found"], part["added"], part["present"]) for part in answer["moved"]
    }


def finds(server: Served, key: str, word: str) -> bool:
    return bool(call(server, key, "file_search", project="docs", query=word).get("chunks"))


def test_files_of_one_machine_are_moved_and_found_on_two_servers(
    tmp_path: Path, postgres_url: str
) -> None:
    alone, checkout = tmp_path / "alone", tmp_path / "checkout"
    alone.mkdir()
    key = work_alone(alone, checkout)
    a, b = (configure(tmp_path / name, postgres_url) for name in ("a", "b"))
    checked = command(a, "migrate", "--check", "--from", str(alone))
    assert checked.returncode == 1
    assert "the database lacks 4 files: team-a docs/" in checked.stderr
    with serve_http(alone, None, "--auth", "keys"):
        shown = command(a, "migrate", "--from", str(alone))
    assert shown.returncode == 0, shown.stderr
    assert "A server uses this folder." in shown.stderr
    assert "Workers index the files now" in shown.stderr
    assert "stays in the folder: commonplace.db (the index: workers make it again" in shown.stderr
    again = command(a, "migrate", "--from", str(alone))
    assert "Nothing was added" in again.stderr
    moved = move(a, alone)
    assert moved["files"] == (4, 0, 4)
    assert moved["deleted files"] == (1, 0, 1)
    shutil.rmtree(alone)
    with serve_http(a) as one, serve_http(b, None, "--no-worker") as two:
        for server in (one, two):
            wait_until(lambda server=server: finds(server, key, "walrus1"), SOON_SECONDS)  # type: ignore[misc]
            listed = call(server, key, "file_list", project="docs", path="/docs")
            assert {entry["source_path"] for entry in listed["entries"]} == {
                f"/docs/Part {number}.md" for number in range(3)
            }
        assert "error" not in call(two, key, "file_restore", project="notes", path="/b.md")
        assert call(one, key, "file_read", project="notes", path="/b.md")["content"] == "old"
        # the sync goes on: it knows what it brought, and removes what the checkout removed
        (checkout / "docs" / "Part 0.md").unlink()
        sync(a, checkout, two, key)
        left = call(one, key, "file_list", project="docs", path="/docs")["entries"]
        assert len(left) == 2


def test_a_move_that_is_killed_goes_on_where_it_stopped(tmp_path: Path, postgres_url: str) -> None:
    alone = tmp_path / "alone"
    alone.mkdir()
    key = work_alone(alone, tmp_path / "checkout")
    data = configure(tmp_path / "a", postgres_url)
    tenant = tenant_hash(Tenant("team-a"))
    with psycopg.connect(postgres_url) as held:  # the second project cannot be written
        held.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (lock_of(tenant, "notes"),)
        )
        program = subprocess.Popen(
            [str(COMMONPLACE), "migrate", "--from", str(alone)],
            env=environment(data),
            cwd=data,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            with psycopg.connect(postgres_url, autocommit=True) as other:
                wait_until(lambda: count_files(other) == 3)
        finally:
            program.kill()
            program.wait(20)
    moved = move(data, alone)
    assert moved["files"] == (4, 1, 3)
    assert moved["deleted files"] == (1, 1, 0)
    with serve_http(data) as server:
        assert call(server, key, "file_read", project="notes", path="/a.md")["content"] == "heron"


def count_files(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute("SELECT count(*) FROM mcp_files").fetchone()
    return int(row[0]) if row else 0


def test_a_server_with_files_that_the_database_lacks_says_so_and_starts(
    tmp_path: Path, postgres_url: str
) -> None:
    data = tmp_path / "a"
    data.mkdir()
    work_alone(data, tmp_path / "checkout")
    configure(data, postgres_url)
    refused = command(data, "serve", "--http", "127.0.0.1:0")
    assert refused.returncode != 0
    assert f"migrate --from {data}" in refused.stderr
    (data / "keys.json").rename(tmp_path / "keys.json")
    printed(data, "keys", "add", "--tenant", "team-b", "--label", "b")
    checks = {check["name"]: check for check in printed_doctor(data)}
    assert checks["moved in"]["status"] == "warn"
    assert "4 files" in checks["moved in"]["finding"]
    assert checks["moved in"]["fix"] == f"commonplace migrate --from {data}"
    with serve_http(data) as server:
        assert server.process.poll() is None
    assert "4 files (" in (data / "stderr.txt").read_text()


def printed_doctor(data: Path) -> list[dict[str, Any]]:
    checks: list[dict[str, Any]] = json.loads(command(data, "doctor", "--json").stdout)["checks"]
    return checks
