"""`rekall` and `oastools` as commands: what their users type is answered by this program."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conformance.program import COMMONPLACE, Served, environment

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
REKALL = {
    f"rekall_{name}"
    for name in ("help", "search", "add", "show", "suggest_links", "suggest_generalize", "link", "accept_suggestion", "reject_suggestion")
}
WALKS = ("operations", "schemas", "parameters", "responses", "headers", "security", "paths", "refs")
OASTOOLS = {"validate", "parse", "fix", "convert", "diff", "join", "overlay_apply", "overlay_validate", "generate"} | {
    f"walk_{what}" for what in WALKS
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both commands in it."""
    made = tmp_path_factory.mktemp("commands")
    for name in ("rekall", "oastools"):
        ran = subprocess.run(
            [COMMONPLACE, "shim", "install", name, "--into", str(made)],
            capture_output=True,
            text=True,
            timeout=60,
            env={**environment(made / "data"), "PATH": os.defpath},
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
    return made


def talk(command: list[str], folder: Path, *lines: dict[str, Any]) -> list[Any]:
    ran = subprocess.run(
        command,
        input="".join(json.dumps(line) + "\n" for line in lines),
        capture_output=True,
        text=True,
        timeout=60,
        cwd=folder,
        env=environment(folder / "data"),
        check=True,
    )
    return [json.loads(line) for line in ran.stdout.splitlines()]


@pytest.mark.parametrize(("command", "names"), [(["rekall", "mcp-server"], REKALL), (["oastools", "mcp"], OASTOOLS)])
def test_a_drop_in_server_lists_exactly_its_contracts_tools(command: list[str], names: set[str], folder: Path) -> None:
    listed = talk([str(folder / command[0]), *command[1:]], folder, INITIALIZE, LIST)[1]["result"]["tools"]
    assert len(listed) == len(names)
    assert {tool["name"] for tool in listed} == names


def test_python_m_commonplace_is_the_same_program(folder: Path) -> None:
    (answer,) = talk([sys.executable, "-m", "commonplace", "serve"], folder, {"jsonrpc": "2.0", "id": 1, "method": "health/check"})
    assert answer["result"]["status"] == "ok"


def test_rekall_mcp_server_listens_on_a_loopback_port(folder: Path) -> None:
    process = subprocess.Popen(
        [str(folder / "rekall"), "mcp-server", "--port", "0"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=environment(folder / "data"),
    )
    with process:
        try:
            assert process.stderr is not None
            found = re.search(r"listens on http://(127\.0\.0\.1:\d+)/mcp", process.stderr.readline())
            assert found is not None
            server = Served(found[1], process)  # type: ignore[arg-type]
            assert server.rpc("health/check")["status"] == "ok"
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)
