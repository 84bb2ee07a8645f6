"""The TypeScript client and the Inspector use the real resources and prompts of the program."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest
from conformance.program import COMMONPLACE, Served, environment, serve_http
from conformance.suite import MODULES, node

OFFICIAL = MODULES / "@modelcontextprotocol"
SCRIPT = Path(__file__).parent / "conformance" / "resources.mjs"
LAUNCHER = OFFICIAL / "inspector" / "clients" / "launcher" / "build" / "index.js"
CONNECTED = OFFICIAL / "inspector" / "clients" / "mcpdo" / "build" / "mcp-bin.js"
TIMEOUT_SECONDS = 90
WRITING = {"MCP_ENABLE_MUTATION": "1"}
NOTE = "file:///inspected/notes/a.md"
RULE = {"id": "inspected.first", "title": "Look first", "body": "Look before you leap."}
TEMPLATES = {
    "instruction:///{id}",
    "memory:///{id}",
    "file:///{project}/{+path}",
    "openapi:///{project}/{+path}",
    "context:///{task}",
}
PROMPTS = {"start-task", "review-change", "capture-lesson", "explain-rule"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("clients")


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[Served]:
    with serve_http(home / "http", WRITING) as served:
        served.rpc("instructions/add", {"entry": RULE, "lax": True})
        write(served, "# Notes\n")
        yield served


def write(server: Served, content: str) -> None:
    """Store the note through a client of its own."""
    arguments = {"project": "inspected", "path": "/notes/a.md", "content": content}
    params = {"name": "file_write", "arguments": {**arguments, "mode": "TRUNCATE"}}
    version = "io.modelcontextprotocol/protocolVersion"
    meta = {version: "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    headers = {
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "file_write",
    }
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {**params, "_meta": meta}}
    status, _, body = server.post("/mcp", call, headers)
    assert (status, json.loads(body)["result"]["isError"]) == (200, False)


def read_object(lines: IO[str]) -> Any:
    """Read the next JSON object, which is printed over several lines."""
    text = ""
    for line in lines:
        text += line
        if line == "}\n":
            break
    return json.loads(text)


def node_environment(home: Path) -> dict[str, str]:
    path = f"{Path(node()).parent}{os.pathsep}{os.environ['PATH']}"
    return environment(home / "stdio", {"PATH": path, "HOME": str(home), **WRITING})


def run_node(home: Path, *arguments: str) -> Any:
    """Run a program of Node and return the JSON that it prints."""
    finished = subprocess.run(
        [node(), *arguments],
        env=node_environment(home),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr or finished.stdout
    return json.loads(finished.stdout)


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_the_typescript_client_lists_reads_follows_prompts_and_completes(
    home: Path, server: Served, transport: str
) -> None:
    target = ["stdio", str(COMMONPLACE), "serve"] if transport == "stdio" else ["http", server.url]
    answers = run_node(home, str(SCRIPT), str(OFFICIAL / "sdk"), *target)
    rule, lesson = "instruction:///typescript.first", f"memory:///{answers['lesson']}"
    note = "file:///typescript/notes/a.md"
    assert {rule, lesson, note} <= set(answers["listed"])
    assert len(answers["listed"]) == len(set(answers["listed"]))
    assert set(answers["templates"]) == TEMPLATES
    assert "Write the type" in answers["texts"][rule]
    assert "WAL mode" in answers["texts"][lesson]
    assert answers["texts"][note] == "# Notes\n"
    assert "instruction:typescript.first" in answers["texts"]["context:///add%20a%20type"]
    assert answers["missing"] == -32002
    assert (answers["updated"], answers["afterwards"]) == (note, "# Changed\n")
    assert set(answers["prompts"]) == PROMPTS
    assert "Write the type" in answers["prompt"]
    assert answers["completed"] == {
        "rule": ["typescript.first"],
        "project": ["typescript"],
        "path": ["notes/a.md"],
    }


def test_the_inspector_lists_and_reads_resources_and_prompts(home: Path, server: Served) -> None:
    def inspect(*options: str) -> Any:
        return run_node(home, str(LAUNCHER), "--cli", server.url, "--method", *options)

    uris = {resource["uri"] for resource in inspect("resources/list")["resources"]}
    assert {"instruction:///inspected.first", NOTE} <= uris
    templates = inspect("resources/templates/list")["resourceTemplates"]
    assert {template["uriTemplate"] for template in templates} == TEMPLATES
    assert inspect("resources/read", "--uri", NOTE)["contents"][0]["text"].startswith("# ")
    assert {prompt["name"] for prompt in inspect("prompts/list")["prompts"]} == PROMPTS
    explained = inspect(
        "prompts/get", "--prompt-name", "explain-rule", "--prompt-args", "id=inspected.first"
    )
    assert "Look before you leap." in explained["messages"][0]["content"]["text"]


def test_the_inspector_reads_a_resource_over_stdio(home: Path) -> None:
    target = ["--cli", str(COMMONPLACE), "serve", "-e", f"COMMONPLACE_HOME={home / 'stdio'}"]
    pack = run_node(
        home, str(LAUNCHER), *target, "--method", "resources/read", "--uri", "context:///add%20it"
    )
    assert pack["contents"][0]["uri"] == "context:///add%20it"


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_completes_and_hears_of_a_change(
    home: Path, server: Served, era: str
) -> None:
    folder = home / era
    env = {**node_environment(home), "HOME": str(folder), "MCP_INSPECTOR_SECRET_STORE": "memory"}
    folder.mkdir()
    command = [node(), str(CONNECTED), "--format", "json", "--connection", "server"]

    def inspect(*arguments: str) -> Any:
        finished = subprocess.run(
            [*command, *arguments],
            env=env,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
        assert finished.returncode == 0, finished.stderr or finished.stdout
        return json.loads(finished.stdout)

    assert inspect("connect", "--era", era, server.url)["protocolEra"] == era
    try:
        argument = ["--complete-arg-name", "id", "--complete-arg-value", "inspec"]
        reference = ["--complete-ref-type", "ref/prompt", "--complete-ref", "explain-rule"]
        completed = inspect("prompts/complete", *reference, *argument)
        assert completed["values"] == ["inspected.first"]
        following = subprocess.Popen(
            [*command, "resources/subscribe", NOTE], env=env, stdout=subprocess.PIPE, text=True
        )
        try:
            assert following.stdout is not None
            assert read_object(following.stdout) == {"type": "subscribed", "uri": NOTE}
            write(server, f"# Changed in the era {era}\n")
            assert read_object(following.stdout) == {"type": "resources/updated", "uri": NOTE}
        finally:
            following.terminate()
            following.wait(TIMEOUT_SECONDS)
    finally:
        inspect("daemon", "stop")
