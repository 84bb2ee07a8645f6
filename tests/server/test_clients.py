"""Official clients list the tools of the shipped program, call one and read an error code."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from conformance.program import COMMONPLACE, FIXTURES, Served, environment, serve_http
from conformance.suite import MODULES, node
from mcp import Client, MCPError, StdioServerParameters
from mcp_types import CreateMessageResult, ElicitResult, TextContent

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
    return subprocess.run(
        [node(), *arguments],
        env=env,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )


def code_in(result: Mapping[str, Any]) -> str:
    """Our stable code, where every client finds it: in the text of a result that says it is an
    error.
    """
    assert result["isError"] is True
    assert "structuredContent" not in result
    return str(json.loads(result["content"][0]["text"])["error"]["code"])


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_inspector_lists_calls_and_reads_an_error_code(
    home: Path, server: Served, transport: str
) -> None:
    target = [str(COMMONPLACE), "serve"] if transport == "stdio" else [server.url]

    def inspect(*options: str) -> tuple[int, Any]:
        launcher = OFFICIAL / "inspector" / "clients" / "launcher" / "build" / "index.js"
        # -e goes to the server it starts, which gets little of our environment
        env = (
            ["-e", f"COMMONPLACE_HOME={home / 'stdio'}"]
            if transport == "stdio"
            else ["--transport", "http"]
        )
        finished = run_node(home, str(launcher), "--cli", *target, *env, *options)
        assert finished.stdout, finished.stderr
        return finished.returncode, json.loads(finished.stdout)

    code, listed = inspect("--method", "tools/list", "--strict")
    assert code == 0, "a tool's schema is not portable: mcp-inspector --method tools/list --strict"
    assert "health_check" in {tool["name"] for tool in listed["tools"]}
    code, called = inspect("--method", "tools/call", "--tool-name", "health_check")
    assert code == 0
    assert called["structuredContent"]["status"] == "ok"
    code, wrong = inspect(
        "--method", "tools/call", "--tool-name", "health_check", "--tool-arg", "bogus=1"
    )
    assert code != 0
    assert code_in(wrong) == "INVALID_ARGUMENT"


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_typescript_client_lists_calls_and_reads_an_error_code(
    home: Path, server: Served, transport: str
) -> None:
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
def test_the_python_client_lists_calls_and_reads_an_error_code(
    home: Path, server: Served, transport: str, mode: str
) -> None:
    async def use() -> None:
        stdio = StdioServerParameters(
            command=str(COMMONPLACE), args=["serve"], env=environment(home / "stdio")
        )
        async with (
            asyncio.timeout(TIMEOUT_SECONDS),
            Client(stdio if transport == "stdio" else server.url, mode=mode) as client,
        ):
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


class Person:
    """A client that answers questions and records notifications."""

    def __init__(self) -> None:
        self.heard: list[Any] = []
        self.progress: list[float] = []

    async def say(self, context: Any, params: Any) -> CreateMessageResult:
        said = params.messages[0].content
        return CreateMessageResult(
            role="assistant", model="none", content=TextContent(text=f"echo of {said.text}")
        )

    async def fill_in(self, context: Any, params: Any) -> ElicitResult:
        wanted = params.requested_schema["properties"]
        values: dict[str, Any] = {name: "blue" if name == "color" else "Ada" for name in wanted}
        return ElicitResult(action="accept", content=values)

    async def hear(self, params: Any) -> None:
        self.heard.append(params.data)

    async def watch(self, done: float, total: float | None, message: str | None) -> None:
        self.progress.append(done)


def text_of(result: Any) -> str:
    return str(result.content[0].text)


@pytest.fixture(scope="module")
def equipped(home: Path) -> Iterator[Served]:
    with serve_http(home / "equipped", FIXTURES) as served:
        yield served


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_tool_can_call_back_its_client_in_both_protocol_generations(
    home: Path, equipped: Served, transport: str, mode: str
) -> None:
    person = Person()
    stdio = StdioServerParameters(
        command=str(COMMONPLACE), args=["serve"], env=environment(home / "stdio", FIXTURES)
    )
    client = Client(
        stdio if transport == "stdio" else equipped.url,
        mode=mode,
        sampling_callback=person.say,
        elicitation_callback=person.fill_in,
        logging_callback=person.hear,
        log_level="info",
    )

    async def use() -> None:
        async with asyncio.timeout(TIMEOUT_SECONDS), client:
            await client.call_tool("test_tool_with_progress", {}, progress_callback=person.watch)
            assert person.progress == [0, 50, 100]
            await client.call_tool("test_tool_with_logging", {})
            assert person.heard == [
                "Tool execution started",
                "Tool processing data",
                "Tool execution completed",
            ]
            contents = (await client.read_resource("test://template/9/data")).contents
            assert '"id":"9"' in str(getattr(contents[0], "text", ""))
            if mode == "legacy":
                assert (
                    text_of(await client.call_tool("test_sampling", {"prompt": "hi"}))
                    == "LLM response: echo of hi"
                )
                assert "'username': 'Ada'" in text_of(
                    await client.call_tool("test_elicitation", {"message": "who?"})
                )
            else:
                assert (
                    text_of(await client.call_tool("test_input_required_result_multi_round", {}))
                    == "Ada likes blue."
                )
                assert "echo of What" in text_of(
                    await client.call_tool("test_input_required_result_sampling", {})
                )

    asyncio.run(use())
