"""Official clients against the shipped program: each lists the tools, calls one, and reads an error code from a wrong call."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from conformance.program import COMMONPLACE, Served, environment, serve_http
from conformance.suite import MODULES, node
from mcp import Client, MCPError, StdioServerParameters

OFFICIAL = MODULES / "@modelcontextprotocol"
CLIENT = Path(__file__).parent / "conformance" / "client.mjs"
TIMEOUT_SECONDS = 90
INVALID_PARAMS = -32602
TRANSPORTS = ["stdio", "http"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("clients")


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[Served]:
    with serve_http(home / "http") as served:
        yield served


def run_node(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A Node program, with the wheel's Node on the path and a home of its own."""
    path = f"{Path(node()).parent}{os.pathsep}{os.environ['PATH']}"
    env = environment(home / "stdio", {"PATH": path, "HOME": str(home)})
    return subprocess.run([node(), *arguments], env=env, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)


def code_in(result: Mapping[str, Any]) -> str:
    """Our stable code, where every client finds it: in the text of a result that says it is an error."""
    assert result["isError"] is True
    assert "structuredContent" not in result
    return str(json.loads(result["content"][0]["text"])["error"]["code"])


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_inspector_lists_calls_and_reads_an_error_code(home: Path, server: Served, transport: str) -> None:
    target = [str(COMMONPLACE), "serve"] if transport == "stdio" else [server.url]

    def inspect(*options: str) -> tuple[int, Any]:
        launcher = OFFICIAL / "inspector" / "clients" / "launcher" / "build" / "index.js"
        # -e goes to the server it starts, which gets little of our environment
        env = ["-e", f"COMMONPLACE_HOME={home / 'stdio'}"] if transport == "stdio" else ["--transport", "http"]
        finished = run_node(home, str(launcher), "--cli", *target, *env, *options)
        assert finished.stdout, finished.stderr
        return finished.returncode, json.loads(finished.stdout)

    code, listed = inspect("--method", "tools/list", "--strict")
    assert code == 0, "a tool's schema is not portable: mcp-inspector --method tools/list --strict"
    assert "health_check" in {tool["name"] for tool in listed["tools"]}
    code, called = inspect("--method", "tools/call", "--tool-name", "health_check")
    assert code == 0
    assert called["structuredContent"]["status"] == "ok"
    code, wrong = inspect("--method", "tools/call", "--tool-name", "health_check", "--tool-arg", "bogus=1")
    assert code != 0
    assert code_in(wrong) == "INVALID_ARGUMENT"


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_typescript_client_lists_calls_and_reads_an_error_code(home: Path, server: Served, transport: str) -> None:
    target = ["stdio", str(COMMONPLACE), "serve"] if transport == "stdio" else ["http", server.url]
    finished = run_node(home, str(CLIENT), str(OFFICIAL / "sdk"), *target)
    assert finished.returncode == 0, finished.stderr
    seen = json.loads(finished.stdout)
    assert seen["server"]["name"] == "commonplace"
    assert "health_check" in seen["tools"]
    assert seen["right"]["structuredContent"]["status"] == "ok"
    assert code_in(seen["wrong"]) == "INVALID_ARGUMENT"
    assert seen["unknown"] == INVALID_PARAMS


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_python_client_lists_calls_and_reads_an_error_code(home: Path, server: Served, transport: str, mode: str) -> None:
    async def use() -> None:
        stdio = StdioServerParameters(command=str(COMMONPLACE), args=["serve"], env=environment(home / "stdio"))
        async with asyncio.timeout(TIMEOUT_SECONDS), Client(stdio if transport == "stdio" else server.url, mode=mode) as client:
            listed = await client.list_tools()
            assert "health_check" in {tool.name for tool in listed.tools}
            right = await client.call_tool("health_check", {})
            assert right.structured_content is not None
            assert right.structured_content["status"] == "ok"
            wrong = await client.call_tool("health_check", {"bogus": 1})
            assert code_in(wrong.model_dump(by_alias=True, exclude_none=True)) == "INVALID_ARGUMENT"
            with pytest.raises(MCPError) as unknown:
                await client.call_tool("no_such_tool", {})
            assert unknown.value.code == INVALID_PARAMS

    asyncio.run(use())
