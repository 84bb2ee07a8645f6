"""Errors of the shipped server for a removed folder and a full disk."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conformance.program import Served, serve_http
from transport_clients import META, wait_for

FEEDBACK = {"type": "issue", "severity": "low", "title": "t", "description": "d"}
FULL_CODES = {"STORAGE_FULL", "AUDIT_UNAVAILABLE", "CATALOGUE_UNWRITABLE"}
WRITES: dict[str, dict[str, Any]] = {
    "file_write": {"project": "p", "path": "/new.md", "content": "new " * 2000},
    "rekall_add": {"type": "bug", "title": "New lesson", "content": "learned " * 500},
    "instructions_add": {
        "entry": {"id": "rule-new", "title": "r", "body": "Rule. " * 2000},
        "lax": True,
    },
    "feedback_submit": {**FEEDBACK, "description": "d" * 1900},
}
READS: dict[str, dict[str, Any]] = {
    "file_list": {"project": "p"},
    "rekall_search": {"query": "lesson"},
    "instructions_list": {},
    "feedback_list": {},
}


def call(server: Served, tool: str, arguments: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """HTTP status, and the structured answer or the error of a tool call."""
    params = {"name": tool, "arguments": arguments, "_meta": META}
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool}
    status, _, body = server.post(
        "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, headers
    )
    result = (
        json.loads(body)["result"]
        if status == 200
        else {"isError": True, "content": [{"text": json.dumps({"error": {"code": "-"}})}]}
    )
    answer: dict[str, Any] = (
        json.loads(result["content"][0]["text"])
        if result["isError"]
        else result["structuredContent"]
    )
    return status, answer


def code_of(server: Served, tool: str, arguments: dict[str, Any]) -> str:
    status, answer = call(server, tool, arguments)
    assert status == 200, (tool, status)
    return str(answer["error"]["code"]) if "error" in answer else "ok"


def readiness(server: Served) -> tuple[int, dict[str, Any]]:
    try:
        with urllib.request.urlopen(f"http://{server.address}/readyz", timeout=10) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        return refused.code, json.load(refused)


def becomes_ready(server: Served, expected: int) -> dict[str, Any]:
    """Wait for a report with this status; a report is reused for a moment."""
    wait_for(lambda: readiness(server)[0] == expected, 10)
    return readiness(server)[1]


def fill(server: Served) -> None:
    for tool, arguments in WRITES.items():
        assert code_of(server, tool, arguments) == "ok", tool


@pytest.mark.parametrize("warm", [True, False], ids=["after writes", "before any"])
def test_a_removed_data_folder_acknowledges_nothing(warm: bool, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serve_http(data, {"MCP_ENABLE_MUTATION": "1"}) as server:
        if warm:
            fill(server)
        assert readiness(server)[0] == 200
        shutil.rmtree(data)
        codes = {tool: code_of(server, tool, arguments) for tool, arguments in WRITES.items()}
        assert codes == dict.fromkeys(WRITES, "STORAGE_REPLACED")
        report = becomes_ready(server, 503)
        assert report["error"]["code"] == "STORAGE_REPLACED"
        assert str(tmp_path) not in json.dumps(report)
        (data / "instructions").mkdir(parents=True)  # another folder of that name does not help
        assert code_of(server, "file_write", WRITES["file_write"]) == "STORAGE_REPLACED"


def test_removed_databases_acknowledge_nothing(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serve_http(data, {"MCP_ENABLE_MUTATION": "1"}) as server:
        fill(server)
        for path in [*data.glob("commonplace.db*"), *data.glob("memory.db*")]:
            path.unlink()
        assert code_of(server, "file_write", WRITES["file_write"]) == "STORAGE_REPLACED"
        assert (
            code_of(server, "rekall_add", {**WRITES["rekall_add"], "title": "Another"})
            == "STORAGE_REPLACED"
        )
        becomes_ready(server, 503)


def test_a_removed_instruction_folder_is_not_recreated(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serve_http(data, {"MCP_ENABLE_MUTATION": "1"}) as server:
        fill(server)
        shutil.rmtree(data / "instructions")
        entry = {"entry": {"id": "rule-2", "title": "r", "body": "Rule two."}, "lax": True}
        assert code_of(server, "instructions_add", entry) == "STORAGE_REPLACED"
        assert not (data / "instructions").exists()


@contextlib.contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """A file system of its own, of this size.

    Needs the right to mount: as root, or in a user namespace of the whole test run.
    """
    folder.mkdir()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)],
        check=True,
        capture_output=True,
    )
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True, capture_output=True)


def use_up(disk: Path) -> Path:
    """Leave not a byte."""
    filler = disk / "filler"
    descriptor = os.open(filler, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    block = 1 << 20
    try:
        while block:
            try:
                if os.write(descriptor, bytes(block)) < block:
                    block //= 2
            except OSError:
                block //= 2
    finally:
        os.close(descriptor)
    return filler


@contextlib.contextmanager
def serve_on(disk: Path, logs: Path) -> Iterator[Served]:
    """A server whose data folder is on the disk and whose output is not."""
    logs.mkdir()
    with serve_http(
        logs, {"MCP_ENABLE_MUTATION": "1", "COMMONPLACE_HOME": str(disk / "data")}
    ) as server:
        yield server


def test_a_full_disk_refuses_with_typed_errors_and_recovers(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 24) as disk, serve_on(disk, tmp_path / "logs") as server:
        status, report = readiness(server)
        assert status == 200
        assert "MB left" in report["warnings"][0]  # less than 200
        filler = use_up(disk)
        for tool, arguments in WRITES.items():  # the first call of each toolset, and the second
            for _ in range(2):
                status, answer = call(server, tool, arguments)
                assert status == 200, (tool, status)
                assert answer["error"]["code"] in FULL_CODES, (tool, answer)
                assert answer["error"]["retryable"], (tool, answer)
                assert str(disk) not in json.dumps(answer), (tool, answer)
        assert becomes_ready(server, 503)["error"]["code"] == "STORAGE_FULL"
        assert call(server, "instructions_health", {})[1]["status"] == "degraded"
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": META}}
        listed = server.post(
            "/mcp", body, {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"}
        )
        assert listed[0] == 200
        filler.unlink()
        becomes_ready(server, 200)
        fill(server)
        assert call(server, "instructions_health", {})[1]["status"] == "healthy"


def test_a_full_spool_of_a_team_refuses_changes_and_reads_go_on(
    tmp_path: Path, postgres_url: str
) -> None:
    """A change that cannot be audited is refused, although the database has room."""
    settings = {"settings": {"storage": {"url": postgres_url}}}
    write = {"project": "p", "path": "/a.md", "content": "x"}
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "commonplace.yaml").write_text(json.dumps(settings))
    with (
        small_disk(tmp_path / "disk", 24) as disk,
        serve_http(logs, {"COMMONPLACE_HOME": str(disk / "data")}) as server,
    ):
        assert code_of(server, "file_write", write) == "ok"
        filler = use_up(disk)
        # the reserve of the audit trail has room for the records of some changes
        codes = (code_of(server, "file_write", write) for _ in range(1000))
        assert next(code for code in codes if code != "ok") == "AUDIT_UNAVAILABLE"
        assert code_of(server, "file_read", {"project": "p", "path": "/a.md"}) == "ok"
        filler.unlink()
        becomes_ready(server, 200)
        assert code_of(server, "file_write", write) == "ok"


def test_deleting_works_on_a_full_disk(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 32) as disk, serve_on(disk, tmp_path / "logs") as server:
        fill(server)
        entry = str(call(server, "memory_list", {"limit": 1})[1]["entries"][0]["id"])
        use_up(disk)
        for tool in WRITES:
            changed = json.loads(
                json.dumps(WRITES[tool]).replace("new", "other").replace("New", "Other")
            )
            assert code_of(server, tool, changed) in FULL_CODES, tool
        for tool, arguments in READS.items():
            assert code_of(server, tool, arguments) == "ok", tool
        assert call(server, "instructions_remove", {"ids": ["rule-new"]})[1]["removed"] == 1
        assert (
            call(server, "file_delete", {"project": "p", "path": "/new.md"})[1].get("error") is None
        )
        assert call(server, "memory_delete", {"id": entry})[1].get("error") is None
        assert code_of(server, "file_read", {"project": "p", "path": "/new.md"}) == "NOT_FOUND"


def test_a_server_starts_on_a_full_disk_and_reads(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 24) as disk:
        with serve_on(disk, tmp_path / "logs") as server:
            fill(server)
        (disk / "data" / ".reserve").unlink()
        use_up(disk)
        with serve_on(disk, tmp_path / "again") as server:
            assert code_of(server, "instructions_list", {}) == "ok"
            assert code_of(server, "rekall_search", {"query": "lesson"}) in {"ok", "STORAGE_FULL"}
            assert readiness(server)[0] == 503
