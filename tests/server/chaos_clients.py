"""Clients for the chaos campaign that record what they were promised.

Each request has a connection pool to itself while it runs: a pool of httpcore that several tasks
share may close a connection on which one of them has just sent a request (ReadError, and the write
is in doubt although no server failed). `test_chaos_clients.py` shows it.

An acknowledged write is a promise, and so is an error: nothing was changed. A write without an
answer, or with one that says that its outcome is unknown, may or may not have happened, and its
path is not used again.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx

STATELESS = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "chaos", "version": "1"},
}
CALL_SECONDS = 40.0
LOOKS = 4
PROJECT = "chaos"


UNCERTAIN = {"CANCELLED", "DEADLINE_EXCEEDED", "INTERNAL"}  # codes of calls that were cut off


class Refused(Exception):
    """The call failed, and changed nothing."""


class Unanswered(Exception):
    """The call was cut off; it may have happened."""


@dataclass
class Window:
    """What clients saw while one fault lasted."""

    fault: str
    answers: Counter[str] = field(default_factory=Counter)
    slowest_seconds: float = 0.0
    lasted_seconds: float = 0.0

    def note(self, outcome: str, seconds: float) -> None:
        self.answers[outcome] += 1
        self.slowest_seconds = max(self.slowest_seconds, seconds)


class HttpClients:
    """As many HTTP clients as there are calls at the same time, each used by one call at once."""

    def __init__(self, keepalive_seconds: float = 5.0) -> None:
        self._limits = httpx.Limits(keepalive_expiry=keepalive_seconds)
        self._idle: list[httpx.AsyncClient] = []
        self._all: list[httpx.AsyncClient] = []

    @contextlib.asynccontextmanager
    async def borrow(self) -> AsyncIterator[httpx.AsyncClient]:
        """Lend a client that nobody else uses; its connections stay open for later calls."""
        if not self._idle:
            self._idle.append(httpx.AsyncClient(limits=self._limits))
            self._all.append(self._idle[-1])
        client = self._idle.pop()
        try:
            yield client
        finally:
            self._idle.append(client)

    async def __aenter__(self) -> HttpClients:
        return self

    async def __aexit__(self, *error: object) -> None:
        await asyncio.gather(*(client.aclose() for client in self._all))


@dataclass
class Deployment:
    """Where to call, and the window that is open."""

    servers: list[str]
    http: HttpClients
    window: Window
    wrong: list[str] = field(default_factory=list)  # every broken promise

    async def call(self, tenant: str, tool: str, **arguments: Any) -> dict[str, Any]:
        begun, window = time.monotonic(), self.window
        try:
            answer = await self._ask(tenant, tool, arguments)
        except (httpx.HTTPError, json.JSONDecodeError, KeyError) as failed:
            window.note(type(failed).__name__, time.monotonic() - begun)
            raise Unanswered from failed
        error = answer.get("error")
        code = error.get("code") if isinstance(error, dict) else None
        window.note(code or "ok", time.monotonic() - begun)
        if code in (None, "NOT_FOUND"):
            return answer
        details = error.get("details") or {}
        raise Unanswered(code) if details.get("outcome") or code in UNCERTAIN else Refused(code)

    async def look(self, tenant: str, tool: str, **arguments: Any) -> dict[str, Any]:
        """A call that only reads, after all faults: a machine that was paused meanwhile costs
        another try, not the answer.
        """
        for _ in range(LOOKS - 1):
            with contextlib.suppress(Unanswered, Refused):
                return await self.call(tenant, tool, **arguments)
        return await self.call(tenant, tool, **arguments)

    async def _ask(self, tenant: str, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if tool.startswith("file_"):
            arguments = {"project": PROJECT, **arguments}
        params = {"name": tool, "arguments": arguments, "_meta": STATELESS}
        headers = {
            "Authorization": f"Bearer {tenant}",
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": "tools/call",
            "Mcp-Name": tool,
            "Accept": "application/json, text/event-stream",
        }
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        url = random.choice(self.servers)
        async with self.http.borrow() as http:
            response = await http.post(url, json=body, headers=headers, timeout=CALL_SECONDS)
        answer = response.json()
        if "error" in answer:
            return {"error": answer["error"]["data"]}
        result = answer["result"]
        told: dict[str, Any] = (
            json.loads(result["content"][0]["text"])
            if result["isError"]
            else result["structuredContent"]
        )
        return told


@dataclass
class Client:
    """One agent of a tenant, with files of its own and a log that its tenant's agents share."""

    number: int
    tenant: str
    deployment: Deployment
    chance: random.Random
    live: dict[str, str] = field(default_factory=dict)  # path -> acknowledged content
    deleted: set[str] = field(default_factory=set)  # acknowledged
    refused: set[str] = field(default_factory=set)  # new files that were answered with an error
    doubtful: dict[str, set[str | None]] = field(default_factory=dict)  # path -> what it may hold
    appended: list[str] = field(default_factory=list)
    perhaps_appended: list[str] = field(default_factory=list)
    made: int = 0

    @property
    def mark(self) -> str:
        return mark_of(self.tenant)

    @property
    def log_path(self) -> str:
        return f"/shared/{self.number % 2}.log"

    async def run(self, until: asyncio.Event, pause_seconds: float) -> None:
        while not until.is_set():
            with contextlib.suppress(Unanswered, Refused):
                await self._act()
            await asyncio.sleep(self.chance.uniform(0.5, 1.5) * pause_seconds)

    async def _act(self) -> None:
        roll = self.chance.random()
        if roll < 0.35 or not self.live:
            await self._create()
        elif roll < 0.45:
            await self._append()
        elif roll < 0.55:
            await self._rewrite()
        elif roll < 0.65:
            await self._delete()
        elif roll < 0.80:
            await self._read()
        elif roll < 0.97:
            await self._search()
        else:
            await self.deployment.call(self.tenant, "file_list", path="", depth=2)

    def _content(self, path: str) -> str:
        self.made += 1
        return (
            f"{self.mark} token{self.number}x{self.made} stands in {path.rpartition('/')[2]} "
            f"beside {self.chance.choice(WORDS)}"
        )

    async def _store(self, path: str, old: str | None) -> None:
        content = self._content(path)
        try:
            await self.deployment.call(
                self.tenant, "file_write", path=path, content=content, mode="TRUNCATE"
            )
        except Unanswered:
            self.live.pop(path, None)
            self.doubtful[path] = {old, content}
            raise
        except Refused:
            if old is None:
                self.refused.add(path)
            raise
        self.live[path] = content

    async def _create(self) -> None:
        await self._store(f"/c{self.number}/f{self.made}.md", None)

    async def _rewrite(self) -> None:
        path = self.chance.choice(list(self.live))
        await self._store(path, self.live[path])

    async def _append(self) -> None:
        self.made += 1
        line = f"{self.mark} line{self.number}x{self.made}\n"
        try:
            await self.deployment.call(self.tenant, "file_write", path=self.log_path, content=line)
        except Unanswered:
            self.perhaps_appended.append(line)
            raise
        self.appended.append(line)

    async def _delete(self) -> None:
        path = self.chance.choice(list(self.live))
        content = self.live[path]
        try:
            await self.deployment.call(self.tenant, "file_delete", path=path)
        except Unanswered:
            del self.live[path]
            self.doubtful[path] = {None, content}
            raise
        del self.live[path]
        self.deleted.add(path)

    async def _read(self) -> None:
        path = self.chance.choice(list(self.live))
        expected = self.live[path]
        answer = await self.deployment.call(self.tenant, "file_read", path=path)
        if answer.get("content") != expected:
            self.deployment.wrong.append(
                f"{path} of client {self.number}: read {answer} instead of {expected!r}"
            )

    async def _search(self) -> None:
        gone = set(self.deleted)
        wanted = (
            self.chance.choice(list(self.live.values())).split()[1]
            if self.chance.random() < 0.7
            else self.chance.choice(WORDS)
        )
        answer = await self.deployment.call(self.tenant, "file_search", query=wanted, limit=10)
        for chunk in answer["chunks"]:
            if chunk["file_path"] in gone:
                self.deployment.wrong.append(
                    f"search of client {self.number} returned the deleted {chunk['file_path']}"
                )
            if self.mark not in chunk["chunk_content"]:
                self.deployment.wrong.append(
                    f"search of client {self.number} returned another tenant's "
                    f"{chunk['chunk_content']!r}"
                )

    # -- the end

    async def check(self, found_sample: int) -> int:
        """Everything promised is there; how many live files were looked up by their words."""
        for path, content in self.live.items():
            answer = await self.deployment.look(self.tenant, "file_read", path=path)
            if answer.get("content") != content:
                self.deployment.wrong.append(
                    f"acknowledged write lost: {path} of client {self.number}: {answer}"
                )
        for path, possible in self.doubtful.items():
            answer = await self.deployment.look(self.tenant, "file_read", path=path)
            if answer.get("content") not in possible:
                self.deployment.wrong.append(
                    f"{path} of client {self.number} holds {answer}, none of {possible}"
                )
        for path in self.deleted | self.refused:
            if "content" in await self.deployment.look(self.tenant, "file_read", path=path):
                self.deployment.wrong.append(
                    f"deleted or refused, but there: {path} of client {self.number}"
                )
        sample = self.chance.sample(sorted(self.live), min(found_sample, len(self.live)))
        for path in sample:
            answer = await self.deployment.look(
                self.tenant, "file_search", query=self.live[path].split()[1], limit=5
            )
            if path not in [chunk["file_path"] for chunk in answer["chunks"]]:
                self.deployment.wrong.append(
                    f"live file not found: {path} of client {self.number}: {answer}"
                )
        return len(sample)


def mark_of(tenant: str) -> str:
    return f"owner{tenant.rpartition('-')[2]}end"


def check_logs(clients: list[Client], contents: dict[tuple[str, str], str]) -> list[str]:
    """List lines of the logs that are lost, repeated or of another tenant."""
    wrong = []
    for (tenant, path), content in contents.items():
        lines = Counter(content.splitlines(keepends=True))
        writers = [
            client for client in clients if client.tenant == tenant and client.log_path == path
        ]
        promised = {line for client in writers for line in client.appended}
        perhaps = {line for client in writers for line in client.perhaps_appended}
        wrong += [
            f"lost from {path} of {tenant}: {line!r}" for line in promised if lines[line] != 1
        ]
        wrong += [
            f"no client wrote {line!r} in {path} of {tenant}"
            for line in lines
            if line not in promised | perhaps
        ]
        wrong += [
            f"twice in {path} of {tenant}: {line!r}" for line, count in lines.items() if count > 1
        ]
    return wrong


WORDS = (
    "walnut",
    "harvest",
    "october",
    "lantern",
    "glacier",
    "orchard",
    "violin",
    "compass",
    "meadow",
    "copper",
)
