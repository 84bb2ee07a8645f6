"""The Python client reads resources, follows their changes and uses prompts of the program."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from conformance.program import COMMONPLACE, Served, environment, serve_http
from mcp import Client, MCPError, StdioServerParameters
from mcp_types import PromptReference, ResourceTemplateReference

TIMEOUT_SECONDS = 90
WRITING = {"MCP_ENABLE_MUTATION": "1"}
RULE = {
    "id": "tests.first",
    "title": "Test first",
    "body": "Write a failing test before you fix a bug.",
    "priority": 10,
    "requirement": "mandatory",
    "categories": ["testing"],
    "owner": "ann",
}
API = {"openapi": "3.1.0", "info": {"title": "Pets", "version": "1"}, "paths": {}}
NOTE = "file:///demo/notes/a.md"

Use = Callable[[Client], Coroutine[Any, Any, None]]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("resources")


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[Served]:
    with serve_http(home / "http", WRITING) as served:
        yield served


@pytest.fixture(params=["stdio legacy", "stdio 2026-07-28", "http legacy", "http 2026-07-28"])
def run(request: pytest.FixtureRequest, home: Path, server: Served) -> Callable[[Use], None]:
    """Return a function that runs a test with a client of each transport and era."""
    transport, mode = str(request.param).split(" ")
    stdio = StdioServerParameters(
        command=str(COMMONPLACE), args=["serve"], env=environment(home / "stdio", WRITING)
    )

    def run_with_client(use: Use, **options: Any) -> None:
        async def main() -> None:
            client = Client(
                stdio if transport == "stdio" else server.url, mode=mode, cache=None, **options
            )
            async with asyncio.timeout(TIMEOUT_SECONDS), client:
                await client.call_tool("instructions_add", {"entry": RULE, "overwrite": True})
                await write(client, "/notes/a.md", "# Notes\n")
                await write(client, "/api.json", json.dumps(API))
                await use(client)

        asyncio.run(main())

    run_with_client.mode = mode  # type: ignore[attr-defined]
    return run_with_client


async def write(client: Client, path: str, content: str) -> None:
    arguments = {"project": "demo", "path": path, "content": content, "mode": "TRUNCATE"}
    assert not (await client.call_tool("file_write", arguments)).is_error


async def text_of(client: Client, uri: str) -> str:
    return str(getattr((await client.read_resource(uri)).contents[0], "text", ""))


def test_resources_are_listed_page_by_page_and_read(run: Callable[[Use], None]) -> None:
    async def use(client: Client) -> None:
        lesson = await client.call_tool(
            "rekall_add", {"type": "bug", "title": "Locked", "content": "WAL mode helps."}
        )
        assert lesson.structured_content is not None
        listed, cursor = [], None
        while True:
            page = await client.list_resources(cursor=cursor)
            listed += [str(resource.uri) for resource in page.resources]
            cursor = page.next_cursor
            if cursor is None:
                break
        memory = f"memory:///{lesson.structured_content['id']}"
        assert {"instruction:///tests.first", memory, NOTE} <= set(listed)
        assert len(listed) == len(set(listed))
        templates = (await client.list_resource_templates()).resource_templates
        assert {template.name for template in templates} == {
            "instruction",
            "memory",
            "file",
            "openapi",
            "context",
        }
        assert "failing test" in await text_of(client, "instruction:///tests.first")
        assert "WAL mode" in await text_of(client, memory)
        assert await text_of(client, NOTE) == "# Notes\n"
        description = json.loads(await text_of(client, "openapi:///demo/api.json"))
        assert description["title"] == "Pets"
        pack = json.loads(await text_of(client, "context:///fix%20a%20bug"))
        assert [rule["ref"] for rule in pack["rules"]] == ["instruction:tests.first"]

    run(use)


@pytest.mark.parametrize(
    "uri",
    [
        "instruction:///nothing",
        "memory:///01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "file:///demo/missing.md",
        "file:///demo/../../etc/passwd",
        "ftp:///demo/a",
        "file:///demo",
    ],
)
def test_a_bad_address_is_a_typed_error(server: Served, uri: str) -> None:
    async def use() -> None:
        async with asyncio.timeout(TIMEOUT_SECONDS), Client(server.url, mode="legacy") as client:
            with pytest.raises(MCPError) as refused:
                await client.read_resource(uri)
            assert refused.value.code in (-32602, -32002)
            assert refused.value.data["hint"]

    asyncio.run(use())


def test_a_subscriber_hears_of_a_change_by_somebody_else(run: Any) -> None:
    heard = asyncio.Event()

    async def hear(message: Any) -> None:
        if getattr(message, "method", "") == "notifications/resources/updated":
            assert str(message.params.uri) == NOTE
            heard.set()

    async def use(client: Client) -> None:
        if run.mode == "legacy":
            await client.subscribe_resource(NOTE)
            await write(client, "/notes/a.md", "# Changed\n")
            await heard.wait()
            await client.unsubscribe_resource(NOTE)
            return
        async with client.listen(resource_subscriptions=[NOTE]) as events:
            await write(client, "/notes/a.md", "# Changed\n")
            event = await anext(aiter(events))
            assert str(event.uri) == NOTE  # type: ignore[union-attr]

    run(use, message_handler=hear)


def test_prompts_contain_what_the_product_knows(run: Callable[[Use], None]) -> None:
    async def use(client: Client) -> None:
        prompts = {prompt.name for prompt in (await client.list_prompts()).prompts}
        assert prompts == {"start-task", "review-change", "capture-lesson", "explain-rule"}
        for name, arguments, expected in (
            ("start-task", {"task": "fix a bug"}, "Write a failing test"),
            ("review-change", {"paths": "src/a.py"}, "Write a failing test"),
            ("capture-lesson", {"what": "locks"}, "rekall_add"),
            ("explain-rule", {"id": "tests.first"}, "Write a failing test"),
        ):
            message = (await client.get_prompt(name, arguments)).messages[0]
            assert expected in str(getattr(message.content, "text", "")), name
        for name, arguments in (("nothing", {}), ("start-task", {}), ("explain-rule", {"x": "y"})):
            with pytest.raises(MCPError) as refused:
                await client.get_prompt(name, arguments)
            assert refused.value.code == -32602

    run(use)


def test_ids_projects_paths_types_and_tags_are_completed(run: Callable[[Use], None]) -> None:
    async def use(client: Client) -> None:
        tagged = {"type": "config", "title": "Tagged", "content": "c", "tags": ["wal", "sqlite"]}
        assert not (await client.call_tool("rekall_add", tagged)).is_error
        file = ResourceTemplateReference(uri="file:///{project}/{+path}")
        rule = PromptReference(name="explain-rule")
        lesson = PromptReference(name="capture-lesson")
        for ref, name, value, given, expected in (
            (rule, "id", "tes", None, ["tests.first"]),
            (file, "project", "de", None, ["demo"]),
            (file, "path", "no", {"project": "demo"}, ["notes/"]),
            (file, "path", "notes/", {"project": "demo"}, ["notes/a.md"]),
            (lesson, "type", "pi", None, ["pitfall"]),
            (lesson, "tags", "sq", None, ["sqlite"]),
            (lesson, "tags", "sqlite, w", None, ["sqlite,wal"]),
            (file, "path", "x", None, []),
        ):
            found = await client.complete(
                ref, {"name": name, "value": value}, context_arguments=given
            )
            assert found.completion.values == expected

    run(use)
