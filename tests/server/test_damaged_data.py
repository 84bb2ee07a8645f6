"""Doctor, backup and servers detect damaged data, and derived data is rebuilt."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import apsw
import pytest
from conformance.program import COMMONPLACE, Served, environment, serve_http
from test_backup_while_serving import call
from transport_clients import wait_for

WORDS = [f"word{number}" for number in range(3000)]
FILES = 60
DAMAGE_BYTES = 40_000


def command(data: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMONPLACE, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=data.parent,
        env=environment(data),
        check=False,
    )


def contents() -> dict[str, str]:
    chosen = random.Random(19)
    return {f"/note{number}.md": " ".join(chosen.choices(WORDS, k=2000)) for number in range(FILES)}


def indexed(server: Served) -> bool:
    state = call(server, "file_index_status", {})
    return not state["pending"] and not state["processing"]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with some megabytes in every store."""
    data = tmp_path_factory.mktemp("filled") / "data"
    with serve_http(data, {"MCP_ENABLE_MUTATION": "1"}) as server:
        for path, content in contents().items():
            call(server, "file_write", {"project": "p", "path": path, "content": content})
        for number in range(20):
            call(
                server,
                "rekall_add",
                {"type": "bug", "title": f"Lesson {number}", "content": f"learned {number} " * 50},
            )
        call(
            server,
            "instructions_add",
            {"entry": {"id": "rule-1", "title": "r", "body": "Rule one."}, "lax": True},
        )
        feedback = {"type": "issue", "severity": "low", "title": "t", "description": "d"}
        call(server, "feedback_submit", feedback)
        wait_for(lambda: indexed(server), 120)
    assert (data / "commonplace.db").stat().st_size > 3_000_000
    return data


@pytest.fixture
def data(filled: Path, tmp_path: Path) -> Path:
    return shutil.copytree(filled, tmp_path / "data")


def page_of(data: Path, table: str, share: float = 0.5) -> int:
    """The offset of a page in the middle of a table."""
    connection = apsw.Connection(str(data / "commonplace.db"))
    pages = [
        row[0]
        for row in connection.execute(
            "SELECT pageno FROM dbstat WHERE name = ? ORDER BY pageno", (table,)
        )
    ]
    connection.close()
    return (pages[int(len(pages) * share)] - 1) * 4096


def overwrite(path: Path, offset: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(content)


def damage(data: Path, table: str) -> None:
    size = (data / "commonplace.db").stat().st_size
    offset = min(page_of(data, table), size - DAMAGE_BYTES)
    overwrite(data / "commonplace.db", offset, random.Random(4).randbytes(DAMAGE_BYTES))


def findings(data: Path) -> tuple[int, list[dict[str, str]]]:
    examined = command(data, "doctor", "--json")
    return examined.returncode, [
        check for check in json.loads(examined.stdout)["checks"] if check["name"] == "integrity"
    ]


def test_forty_kilobytes_overwritten_fail_doctor_and_backup_and_the_old_archive_stays(
    data: Path, tmp_path: Path
) -> None:
    archive = tmp_path / "backup.tar.gz"
    code, checks = findings(data)
    assert (code, {check["status"] for check in checks}) == (0, {"ok"})
    assert command(data, "backup", str(archive)).returncode == 0
    good = hashlib.sha256(archive.read_bytes()).hexdigest()
    damage(data, "mcp_files")
    code, checks = findings(data)
    failed = [check for check in checks if check["status"] == "fail"]
    assert "please report it" not in command(data, "doctor").stdout
    assert code == 1
    assert any(
        "mcp_files" in check["finding"] and "restore" in check["fix"].lower() for check in failed
    ), checks
    refused = command(data, "backup", str(archive))
    assert refused.returncode == 1, "damage is not a defect of the program"
    assert "commonplace.db cannot be backed up: it is damaged" in refused.stderr
    assert hashlib.sha256(archive.read_bytes()).hexdigest() == good
    restored = command(data, "restore", str(archive), "--force")
    assert restored.returncode == 0, restored.stderr
    assert findings(data)[0] == 0


def test_a_changed_value_inside_a_page_is_found_by_its_digest(data: Path) -> None:
    """SQLite's own check does not see it: the structure is whole."""
    raw = (data / "commonplace.db").read_bytes()
    words = next(iter(contents().values())).split()[100:103]
    at = raw.index(" ".join(words).encode())
    overwrite(data / "commonplace.db", at, b"WORD")
    connection = apsw.Connection(str(data / "commonplace.db"))
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    code, checks = findings(data)
    assert code == 1
    assert any("does not match its digest" in check["finding"] for check in checks), checks


def test_a_changed_memory_entry_is_found(data: Path) -> None:
    connection = apsw.Connection(str(data / "memory.db"))
    connection.execute("UPDATE memory_entries SET content = 'another' WHERE rowid = 3")
    connection.close()
    code, checks = findings(data)
    assert code == 1
    assert any("memory_entries" in check["finding"] for check in checks), checks
    assert command(data, "backup", str(data.parent / "b.tar.gz")).returncode != 0


@pytest.mark.parametrize("name", ["keys.json", "feedback.json", "instructions/rule-1.json"])
def test_a_damaged_document_is_a_finding(data: Path, name: str) -> None:
    if name == "keys.json":
        assert command(data, "keys", "add", "--tenant", "a", "--label", "b").returncode == 0
    (data / name).write_bytes(b"\0" * 200)
    code, _ = findings(data)
    assert code == 1


def test_a_damaged_feedback_file_is_not_overwritten(data: Path) -> None:
    (data / "feedback.json").write_bytes(b'{"version": 1, "entries": [{"id": "kept"')
    with serve_http(data) as server:
        feedback = {"type": "issue", "severity": "low", "title": "t", "description": "d"}
        body = {"jsonrpc": "2.0", "id": 1, "method": "feedback/submit", "params": feedback}
        status, _, answer = server.post("/rpc", body)
    assert (status, json.loads(answer)["error"]["data"]["code"]) == (500, "STORAGE_DAMAGED")
    assert b"kept" in (data / "feedback.json").read_bytes()


def test_damage_of_derived_tables_is_rebuilt_without_loss(data: Path) -> None:
    damage(data, "search_posting")
    code, checks = findings(data)
    failed = [check for check in checks if check["status"] == "fail"]
    assert code == 1
    assert all("commonplace rebuild" in check["fix"] for check in failed), checks
    refused = command(data, "backup", str(data.parent / "b.tar.gz"))
    assert "commonplace rebuild" in refused.stderr
    rebuilt = command(data, "rebuild")
    assert rebuilt.returncode == 0, rebuilt.stderr
    assert findings(data)[0] == 0
    assert command(data, "backup", str(data.parent / "b.tar.gz")).returncode == 0
    with serve_http(data) as server:
        wait_for(lambda: indexed(server), 120)
        path, content = next(iter(contents().items()))
        assert call(server, "file_read", {"project": "p", "path": path})["content"] == content
        found = call(
            server, "file_search", {"project": "p", "query": " ".join(content.split()[:6])}
        )["chunks"]
        assert path in [chunk["file_path"] for chunk in found]
        assert call(server, "memory_list", {"limit": 1})["total"] == 20


def test_rebuild_refuses_canonical_damage_and_changes_nothing(data: Path) -> None:
    damage(data, "mcp_files")
    before = hashlib.sha256((data / "commonplace.db").read_bytes()).hexdigest()
    refused = command(data, "rebuild")
    assert refused.returncode != 0
    assert "cannot be rebuilt" in refused.stderr
    assert hashlib.sha256((data / "commonplace.db").read_bytes()).hexdigest() == before


def ready(server: Served) -> dict[str, Any]:
    with urllib.request.urlopen(f"http://{server.address}/readyz", timeout=30) as answer:
        report: dict[str, Any] = json.load(answer)
    return report


def test_a_server_detects_damage_and_reports_it_in_readiness_and_status(data: Path) -> None:
    damage(data, "search_posting")
    with serve_http(data) as server:
        wait_for(lambda: ready(server)["integrity"]["status"] == "damaged", 60)
        found = ready(server)["integrity"]["damage"]
        assert {finding["remedy"] for finding in found} == {"rebuild"}
        assert str(data) not in json.dumps(found)
        assert call(server, "server_status", {})["integrity"]["damage"] == found


def test_a_server_with_intact_data_reports_the_time_of_its_check(data: Path) -> None:
    with serve_http(data) as server:
        wait_for(
            lambda: (
                set(ready(server)["integrity"]["checked_at"]) == {"commonplace.db", "memory.db"}
            ),
            60,
        )
        assert ready(server)["integrity"]["status"] == "ok"
