"""`context` of the shipped program: over stdio with the official client, and plain over HTTP."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import httpx
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
    """A data folder with two rules."""
    data = tmp_path / "data"
    (data / "instructions").mkdir(parents=True)
    for entry in (MUST, WEB):
        (data / "instructions" / f"{entry['id']}.json").write_text(json.dumps(entry))
    return data


def test_an_agent_gets_a_pack_over_stdio(home: Path) -> None:
    async def run() -> None:
        parameters = StdioServerParameters(
            command=str(COMMONPLACE), args=["serve"], env=environment(home), cwd=home
        )
        async with Client(stdio_client(parameters)) as client:
            listed = {tool.name for tool in (await client.list_tools()).tools}
            assert "context" in listed
            assert "context_feedback" not in listed
            arguments = {"task": "Indent the page", "paths": ["web/a.ts"]}
            result = await client.call_tool("context", arguments)
            pack = result.structured_content
            assert pack is not None
            assert [item["ref"] for item in pack["rules"]] == [
                "instruction:no-secrets",
                "instruction:web-style",
            ]
            assert json.loads(result.content[0].text) == pack  # type: ignore[union-attr]
            said = await client.call_tool(
                "context_feedback",
                {"pack_id": pack["pack_id"], "used": ["instruction:web-style"]},
            )
            assert said.structured_content is not None
            assert said.structured_content["counted"] == ["instruction:web-style"]

    asyncio.run(run())


def test_a_pack_over_plain_http(home: Path) -> None:
    with serve_http(home) as server:
        base = server.url.removesuffix("/mcp")
        answer = httpx.post(f"{base}/context", json={"task": "Indent", "paths": ["web/a.ts"]})
        assert answer.status_code == 200
        pack = answer.json()
        assert [item["ref"] for item in pack["rules"]][1] == "instruction:web-style"
        again = httpx.post(f"{base}/context", json={"task": "x", "since": pack["pack_id"]})
        assert "rules" not in again.json()
        for body, status, code in (
            ({"task": "x", "budget": 1}, 400, "INVALID_ARGUMENT"),
            ([], 400, "INVALID_ARGUMENT"),
            ({"task": "x", "since": "none"}, 404, "PACK_NOT_FOUND"),
        ):
            refused = httpx.post(f"{base}/context", json=body)
            assert (refused.status_code, refused.json()["error"]["code"]) == (status, code)
        broken = httpx.post(
            f"{base}/context", content=b"{", headers={"Content-Type": "application/json"}
        )
        assert broken.status_code == 400
        assert broken.json()["error"]["code"] == "INVALID_ARGUMENT"
        assert httpx.get(f"{base}/context").status_code == 405
