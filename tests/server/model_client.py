"""The official MCP client with a caller's keys in its headers, and settings of external models."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

KEKS = {1: "first-kek-secret-0123456789", 2: "second-kek-secret-9876543210"}
ANSWER_SECONDS = 120.0  # two servers behind one pooled connection wait for each other


def external_models(url: str, **more: Any) -> dict[str, Any]:
    """`settings.mcp.files` with both external models on a server at `url`."""
    embedding = {
        "provider": "openai",
        "model": "test-embedding",
        "endpoint": f"{url}/v1/embeddings",
        "dimensions": 64,
        "timeout_ms": 2000,
    }
    rerank = {"enabled": True, "endpoint": f"{url}/v1/rerank", "timeout_ms": 2000}
    settings: dict[str, Any] = {
        "search": {
            "embedding": {**embedding, **more.pop("embedding", {})},
            "rerank": {**rerank, **more.pop("rerank", {})},
        },
        "security": {"encryption_keks": KEKS, **more.pop("security", {})},
        "index": {"retry_backoff_ms": 50, **more.pop("index", {})},
    }
    return {**settings, **more}


def configure(data: Path, files: dict[str, Any], **settings: Any) -> None:
    """Write the configuration that a program started in this folder reads."""
    data.mkdir(parents=True, exist_ok=True)
    (data / "commonplace.yaml").write_text(
        json.dumps({"settings": {**settings, "mcp": {"files": files}}})
    )  # JSON is YAML


class Caller:
    """One caller: its bearer, its model key, its project. Every call is a session of its own."""

    def __init__(
        self,
        url: str,
        *,
        bearer: str | None = None,
        model_key: str | None = None,
        project: str = "p",
    ) -> None:
        self.url = url
        self.project = project
        self.headers = {"Authorization": f"Bearer {bearer}"} if bearer else {}
        if model_key:
            self.headers["X-Model-Key"] = model_key

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured answer, or the error as a dictionary under `error`."""
        return asyncio.run(self._call(tool, {"project": self.project, **arguments}))

    def ask(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that has no project."""
        return asyncio.run(self._call(tool, arguments))

    async def _call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        async with (
            httpx2.AsyncClient(headers=self.headers, timeout=ANSWER_SECONDS) as http,
            Client(streamable_http_client(self.url, http_client=http)) as client,
        ):
            result = await client.call_tool(tool, arguments)
            if result.is_error:
                return json.loads(result.content[0].text)
            answer: dict[str, Any] = result.structured_content
            return answer

    def found(self, query: str, **arguments: Any) -> list[str]:
        return [
            chunk["file_path"]
            for chunk in self.call("file_search", query=query, **arguments)["chunks"]
        ]

    def status(self) -> dict[str, Any]:
        return self.call("file_index_status")

    def settled(self, **expected: int) -> dict[str, Any]:
        """Wait until words and vectors are done, or as far as `expected` says
        (`waiting_credential=1`).
        """
        wanted = {
            "pending": 0,
            "processing": 0,
            "embedding": 0,
            "waiting_credential": 0,
            **expected,
        }
        return until(lambda: (state := self.status()) and wanted.items() <= state.items() and state)


def until(condition: Callable[[], Any], seconds: float = 60.0) -> Any:
    give_up = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < give_up, "not within its time"
        time.sleep(0.05)
    return value
