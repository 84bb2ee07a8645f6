"""A closed or full stderr stops neither a server nor a command."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from conformance.program import COMMONPLACE, environment

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}


@pytest.mark.parametrize("stderr", ["2>/dev/full", "2>&-"])
def test_a_stdio_server_starts_and_ends_without_a_stderr(tmp_path: Path, stderr: str) -> None:
    served = subprocess.run(
        ["sh", "-c", f"exec {COMMONPLACE} serve {stderr}"],
        input=json.dumps(INITIALIZE).encode() + b"\n",
        env=environment(tmp_path, {"MCP_LOG_VERBOSE": "1"}),
        stdout=subprocess.PIPE,
        timeout=60,
    )
    assert json.loads(served.stdout)["result"]["serverInfo"]["name"] == "commonplace"
    assert served.returncode == 0


def test_an_http_server_starts_and_ends_without_a_stderr(tmp_path: Path) -> None:
    command = ["sh", "-c", f"exec {COMMONPLACE} serve --http 127.0.0.1:0 2>/dev/full"]
    with subprocess.Popen(
        command, env=environment(tmp_path, {"MCP_LOG_VERBOSE": "1"}), stdout=subprocess.DEVNULL
    ) as server:
        try:
            listening = None
            for _ in range(600):
                if server.poll() is not None or (listening := listens(server.pid)):
                    break
                try:
                    server.wait(0.05)
                except subprocess.TimeoutExpired:
                    continue
            assert listening, f"it ended with {server.returncode}"
        finally:
            server.terminate()
        assert server.wait(30) == 0


def listens(pid: int) -> bool:
    """Whether a process has a socket that listens."""
    try:
        names = [str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()]
    except OSError:
        return False
    sockets = {match[1] for name in names if (match := re.match(r"socket:\[(\d+)]", name))}
    table = Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]
    return any(line.split()[3] == "0A" and line.split()[9] in sockets for line in table)


def test_a_command_that_fails_keeps_its_exit_code_without_a_stderr(tmp_path: Path) -> None:
    ended = subprocess.run(
        ["sh", "-c", f"exec {COMMONPLACE} serve --http nowhere:99999999 2>/dev/full"],
        env=environment(tmp_path),
        timeout=60,
    )
    assert ended.returncode == 2
