"""A backup of a busy server contains every acknowledged write and no partial one."""

from __future__ import annotations

import json
import subprocess
import threading
from pathlib import Path
from typing import Any

from conformance.program import COMMONPLACE, Served, environment, serve_http

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
}


def call(server: Served, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments, "_meta": META}
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool}
    _, _, body = server.post(
        "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, headers
    )
    result: dict[str, Any] = json.loads(body)["result"]
    assert not result["isError"], result
    answer: dict[str, Any] = result["structuredContent"]
    return answer


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


def write_all(server: Served, number: int) -> None:
    """One change in each store."""
    call(
        server,
        "file_write",
        {"project": "p", "path": f"/n{number}.md", "content": f"note {number}"},
    )
    call(
        server,
        "rekall_add",
        {"type": "bug", "title": f"Lesson {number}", "content": f"learned {number}"},
    )
    call(
        server,
        "instructions_add",
        {"entry": {"id": f"rule-{number}", "title": "r", "body": f"Rule {number}."}, "lax": True},
    )


def test_a_backup_of_a_busy_server_is_complete_and_restores(tmp_path: Path) -> None:
    data, archive = tmp_path / "data", tmp_path / "backup.tar.gz"
    with serve_http(data, {"MCP_ENABLE_MUTATION": "1"}) as server:
        for number in range(5):
            write_all(server, number)
        stop, written = threading.Event(), [5]

        def keep_writing() -> None:
            while not stop.is_set():
                write_all(server, written[0])
                written[0] += 1

        writer = threading.Thread(target=keep_writing)
        writer.start()
        try:
            made = command(data, "backup", str(archive))
        finally:
            stop.set()
            writer.join()
        assert made.returncode == 0, made.stderr
        refused = command(data, "restore", str(archive), "--force")
        assert (refused.returncode, "is using" in refused.stderr) == (5, True)
    restored = tmp_path / "restored"
    put_back = command(restored, "restore", str(archive))
    assert put_back.returncode == 0, put_back.stderr
    verdict = command(restored, "audit", "verify", "--json")
    assert verdict.returncode == 0, verdict.stdout
    with serve_http(restored) as server:
        files = call(server, "file_list", {"project": "p", "limit": 1000})["entries"]
        rules = call(server, "instructions_list", {"limit": 1000})
        lessons = call(server, "memory_list", {"limit": 100})
        names = {entry["path"] for entry in files}
        assert {f"/n{number}.md" for number in range(5)} <= names
        assert len(names) <= written[0]
        assert {f"rule-{number}" for number in range(5)} <= {item["id"] for item in rules["items"]}
        assert {f"Lesson {number}" for number in range(5)} <= {
            entry["title"] for entry in lessons["entries"]
        }
        for entry in files:
            number = entry["path"].removeprefix("/n").removesuffix(".md")
            assert (
                call(server, "file_read", {"project": "p", "path": entry["path"]})["content"]
                == f"note {number}"
            )
        assert call(server, "integrity_verify", {})["issueCount"] == 0
