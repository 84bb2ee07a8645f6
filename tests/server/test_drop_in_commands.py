"""The drop-in commands `rekall` and `oastools` accept what their users type."""

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
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
REKALL = {
    f"rekall_{name}"
    for name in (
        "help",
        "search",
        "add",
        "show",
        "suggest_links",
        "suggest_generalize",
        "link",
        "accept_suggestion",
        "reject_suggestion",
    )
}
WALKS = ("operations", "schemas", "parameters", "responses", "headers", "security", "paths", "refs")
OASTOOLS = {
    "validate",
    "parse",
    "fix",
    "convert",
    "diff",
    "join",
    "overlay_apply",
    "overlay_validate",
    "generate",
} | {f"walk_{what}" for what in WALKS}


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


@pytest.mark.parametrize(
    ("command", "names"), [(["rekall", "mcp-server"], REKALL), (["oastools", "mcp"], OASTOOLS)]
)
def test_a_drop_in_server_lists_exactly_its_contracts_tools(
    command: list[str], names: set[str], folder: Path
) -> None:
    listed = talk([str(folder / command[0]), *command[1:]], folder, INITIALIZE, LIST)[1]["result"][
        "tools"
    ]
    assert len(listed) == len(names)
    assert {tool["name"] for tool in listed} == names


@pytest.mark.parametrize(
    ("command", "names"), [(["rekall", "mcp-server"], REKALL), (["oastools", "mcp"], OASTOOLS)]
)
def test_a_drop_in_server_names_only_its_own_tools(
    command: list[str], names: set[str], folder: Path
) -> None:
    own: dict[str, list[tuple[str, dict[str, Any]]]] = {
        "oastools": [
            ("parse", {"spec": {"content": "overlay: 1.0.0"}}),
            ("validate", {"spec": {}}),
        ],
        "rekall": [("rekall_show", {"id": "01ABCDEF"}), ("rekall_add", {})],
    }
    calls = [("serch", {}), ("file_sear", {}), *own[command[0]]]
    requests = [
        {
            "jsonrpc": "2.0",
            "id": 3 + number,
            "method": "tools/call",
            "params": {"name": name, "arguments": arguments},
        }
        for number, (name, arguments) in enumerate(calls)
    ]
    answers = json.dumps(
        talk([str(folder / command[0]), *command[1:]], folder, INITIALIZE, LIST, *requests)
    )
    words = set(
        re.findall(r"\b(?:oas|file|instructions|rekall|overlay|walk)_[a-z_]*[a-z]\b", answers)
    )
    ours = {word for word in words if word not in names and word not in ("file_count", "file_sear")}
    assert not {
        word for word in ours if word.startswith(("oas_", "instructions_", "file_", "rekall_"))
    }
    if command[0] == "oastools":
        assert "rekall" not in answers
        assert "Use overlay_validate" in answers


SPEC = """openapi: 3.0.3
info: {title: t, version: 1.10}
paths:
  /a: {get: {operationId: x, tags: [p], responses: {'200': {description: d}}}}
  /b: {post: {operationId: y, responses: {'200': {description: d}}}}
components: {schemas: {Unused: {type: string}}}
"""
OVERLAY = (
    "overlay: 1.0.0\ninfo: {title: t, version: '1'}\nactions: [{target: $.info, update: "
    "{description: hi}}]\n"
)


@pytest.mark.parametrize(
    ("line", "code", "printed"),
    [
        ("walk operations --method get a.yaml", 0, "GET     /a"),
        ("walk schemas --component a.yaml", 0, "Unused"),
        ("diff --breaking a.yaml a.yaml", 0, ""),
        ("fix --prune-schemas -q a.yaml", 0, "schemas: {}"),
        ("parse -q a.yaml", 0, '"version": 1.10'),
        ("overlay validate o.yaml", 0, ""),
        ("overlay apply -q --spec a.yaml --overlay o.yaml", 0, "hi"),
        ("validate --format yaml a.yaml", 1, "valid: false"),
        ("validate -q a.yaml", 1, ""),
        ("join -q --path-strategy accept-left a.yaml a.yaml", 0, "operationId: x"),
        ("fix --infer a.yaml", 2, ""),
        ("--help", 0, "mcp"),
    ],
)
def test_command_lines_of_the_go_program_work(
    line: str, code: int, printed: str, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "a.yaml").write_text(SPEC)
    (tmp_path / "o.yaml").write_text(OVERLAY)
    command = [str(folder / "oastools"), *line.split()]
    ran = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
        env=environment(tmp_path / "data"),
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert ran.returncode == code, ran.stderr
    assert printed in ran.stdout
    if " -q" in line:
        assert ran.stderr == ""


def test_the_help_of_rekall_names_rekall_and_lists_mcp_server(folder: Path) -> None:
    for words in (["--help"], ["add", "--help"], []):
        ran = subprocess.run(
            [str(folder / "rekall"), *words],
            capture_output=True,
            text=True,
            timeout=60,
            env=environment(folder / "data"),
            check=False,
        )
        assert "Usage: rekall" in ran.stdout
        assert "commonplace" not in ran.stdout
        assert "add" in words or "mcp-server" in ran.stdout


def test_python_m_commonplace_is_the_same_program(folder: Path) -> None:
    (answer,) = talk(
        [sys.executable, "-m", "commonplace", "serve"],
        folder,
        {"jsonrpc": "2.0", "id": 1, "method": "health/check"},
    )
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
            found = re.search(
                r"listens on http://(127\.0\.0\.1:\d+)/mcp", process.stderr.readline()
            )
            assert found is not None
            server = Served(found[1], process)  # type: ignore[arg-type]
            assert server.rpc("health/check")["status"] == "ok"
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)
