"""`rules_for` of the shipped program with the official client, over stdio and HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from conformance.program import COMMONPLACE, environment, serve_http
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

MUST = {
    "id": "no-secrets",
    "title": "No secrets",
    "body": "Never commit credentials.",
    "requirement": "mandatory",
    "categories": ["security"],
    "owner": "sec",
}
WEB = {"id": "web-style", "body": "Use spaces for indentation.", "appliesTo": ["web/**"]}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A data folder with two rules, inside it a repository, and one outside."""
    data = tmp_path / "data"
    (data / "instructions").mkdir(parents=True)
    for entry in (MUST, WEB):
        (data / "instructions" / f"{entry['id']}.json").write_text(json.dumps(entry))
    for folder in (data / "repo", tmp_path / "outside"):
        (folder / "web").mkdir(parents=True)
        (folder / "AGENTS.md").write_text("Use tabs for indentation.\n")
        (folder / "web/AGENTS.md").write_text("Test in a browser.\n")
    (data / "repo/link").symlink_to(tmp_path / "outside")
    return data


async def ask(client: Client, **arguments: Any) -> Any:
    result = await client.call_tool("rules_for", arguments)
    if result.is_error:
        return json.loads(result.content[0].text)["error"]["code"]  # type: ignore[union-attr]
    return result.structured_content


def refs(answer: Mapping[str, Any]) -> list[str]:
    return [rule["ref"] for rule in answer["rules"]]


async def examine(client: Client, home: Path, *, own_folder: bool) -> None:
    """Ask as an agent does; `own_folder`: the working folder may be read without a setting."""
    listed = {tool.name for tool in (await client.list_tools()).tools}
    assert "rules_for" in listed
    answer = await ask(client, paths=["web/new.ts"])
    assert refs(answer) == ["instruction:no-secrets", "instruction:web-style"]
    assert answer["rules"][0]["why"] == ["always"]
    assert refs(await ask(client, paths=["api/a.py"])) == ["instruction:no-secrets"]
    for path in ("../x", "/etc/passwd", "a\0b"):
        assert await ask(client, paths=[path]) == "INVALID_RULE_PATH"
    for repo in ("/", str(home.parent / "outside"), str(home / "repo/link"), "/etc"):
        assert await ask(client, paths=["a"], repo=repo) == "REPOSITORY_NOT_ALLOWED"
    merged = await ask(client, paths=["web/new.ts"], repo=str(home / "repo"))
    if not own_folder:
        assert merged == "REPOSITORY_NOT_ALLOWED"
        return
    assert refs(merged) == ["instruction:no-secrets", "web/AGENTS.md", "instruction:web-style"]
    assert merged["conflicts"][0]["loser"] == "AGENTS.md"


def test_an_agent_on_stdio_gets_rules_of_catalogue_and_working_folder(home: Path) -> None:
    async def run() -> None:
        program = StdioServerParameters(
            command=str(COMMONPLACE), args=["serve"], env=environment(home), cwd=home
        )
        async with Client(stdio_client(program)) as client:
            await examine(client, home, own_folder=True)

    asyncio.run(run())


def test_an_agent_over_http_gets_rules_of_configured_roots_only(home: Path) -> None:
    async def run(url: str, *, own_folder: bool) -> None:
        async with Client(f"{url}/mcp") as client:
            await examine(client, home, own_folder=own_folder)

    with serve_http(home) as server:
        asyncio.run(run(server.url.removesuffix("/mcp"), own_folder=False))
    settings = {"settings": {"mcp": {"instructions": {"roots": [str(home / "repo")]}}}}
    (home / "commonplace.yaml").write_text(json.dumps(settings))
    with serve_http(home) as server:
        asyncio.run(run(server.url.removesuffix("/mcp"), own_folder=True))
