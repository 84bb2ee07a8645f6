"""Tool calls, in this process or to a server by URL: all that the console knows of the product."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import orjson

from commonplace.dispatch.call import Call, to_json
from commonplace.dispatch.describe import describe
from commonplace.dispatch.pipeline import Pipeline
from commonplace.dispatch.registry import Registry, Selection
from commonplace.dispatch.tool import Tool
from commonplace.kernel.auth import CONSOLE_HEADER, AuthContext
from commonplace.kernel.errors import NOT_AVAILABLE, UNAUTHENTICATED, CommonplaceError

STATELESS = "2026-07-28"


def _meta_of(client: str) -> dict[str, Any]:
    return {
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": client, "version": "1"},
    }


CLIENT = "commonplace-console"
META = _meta_of(CLIENT)
IDENTITY_TOOL = "server_status"
ALL_TOOLS = Selection(all_tiers=True)
TOOLS_SECONDS = 60.0  # how long the list of a server elsewhere is used


CallError = Mapping[str, Any]
"""An error of a call: code, message, hint, details, retryable."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a call: its output, or its error."""

    output: Any
    error: CallError | None = None

    @property
    def ok(self) -> bool:
        return self.error is None


class Caller(Protocol):
    """Makes tool calls with the permissions of one person.

    `endpoint` is the address of a server elsewhere, empty for the server of this console.
    """

    label: str
    scopes: frozenset[str]
    endpoint: str

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer: ...

    async def tools(self) -> list[dict[str, Any]]:
        """Return every tool as tools/list does, with `_toolset` and `_tier` if they are known."""
        ...


class InProcess:
    """Calls the product in this process.

    `renew` authenticates each call again, so that a revoked key ends at once.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        renew: Callable[[], AuthContext],
        selection: Selection | None = None,
    ) -> None:
        self._pipeline = pipeline
        self._selection = selection
        self._renew = renew
        auth = renew()
        self.endpoint = ""
        self.label = auth.label
        self.scopes = _scopes((scope.value for scope in auth.scopes), pipeline.read_only)

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        try:
            auth = self._renew()
        except CommonplaceError as refused:
            return Answer(None, refused.as_dict())
        outcome = await self._pipeline.run(
            Call(tool, dict(arguments), auth, selection=self._selection)
        )
        if outcome.error is not None:
            return Answer(None, outcome.error.as_dict())
        assert outcome.output is not None
        return Answer(to_json(outcome.output))

    async def tools(self) -> list[dict[str, Any]]:
        registry = self._pipeline.registry
        described = _DESCRIBED.get(registry)
        if described is None:  # toolsets are loaded here: the registry is not for threads
            listed = registry.listed(ALL_TOOLS)
            described = _DESCRIBED[registry] = await asyncio.to_thread(_describe_all, listed)
        permits = self._pipeline.selection.permits
        return [description for tool, description in described if permits(tool)]


_DESCRIBED: WeakKeyDictionary[Registry, list[tuple[Tool, dict[str, Any]]]] = WeakKeyDictionary()
# of each registry, made once: schemas take most of a second to generate


def _describe_all(tools: Iterable[Tool]) -> list[tuple[Tool, dict[str, Any]]]:
    return [
        (tool, {**describe(tool, ALL_TOOLS), "_toolset": tool.toolset, "_tier": tool.tier.value})
        for tool in tools
    ]


class Remote:
    """Calls a server elsewhere over the stateless protocol: one POST request for each call."""

    def __init__(self, url: str, key: str | None, client: str = CLIENT) -> None:
        """`client` is the name that the server sees."""
        import httpx

        self._meta = _meta_of(client)

        self.endpoint = url.rstrip("/").removesuffix("/mcp") + "/mcp"
        headers = {
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": STATELESS,
            CONSOLE_HEADER: "1",
        }
        if key:
            headers["Authorization"] = f"Bearer {key}"
        self._client = httpx.AsyncClient(headers=headers, timeout=60)
        self._ids = itertools.count(1)
        self._tools: tuple[float, list[dict[str, Any]]] | None = None
        self.label = "remote"
        self.scopes = frozenset({"read"})  # until `check` has asked the server

    def check(self) -> None:
        """Ask the server for the label and the scopes of the key.

        Raises UNAUTHENTICATED if it refuses the key, NOT_AVAILABLE if it does not answer.
        """
        import httpx

        body = {
            "jsonrpc": "2.0",
            "id": 0,
            "method": "tools/call",
            "params": {"name": IDENTITY_TOOL, "arguments": {}, "_meta": self._meta},
        }
        headers = {
            **self._client.headers,
            "Mcp-Method": "tools/call",
            "Mcp-Name": IDENTITY_TOOL,
            "Content-Type": "application/json",
        }
        try:
            answer = httpx.post(
                self.endpoint, content=orjson.dumps(body), headers=headers, timeout=15
            )
        except (httpx.HTTPError, httpx.InvalidURL) as failed:
            raise _not_available(self.endpoint, failed) from failed
        if answer.status_code == 429:
            raise CommonplaceError(
                UNAUTHENTICATED,
                "Too many requests without a valid key.",
                hint="Wait a minute.",
                retryable=True,
            )
        if answer.status_code in (401, 403):
            raise _key_refused()
        try:
            value = (
                _parse_message(answer.headers.get("content-type", ""), answer.content)
                if answer.status_code == 200
                else {}
            )
        except ValueError:
            value = {}
        if not isinstance(value, dict) or not ("result" in value or "error" in value):
            raise _no_commonplace(self.endpoint, answer.status_code)
        answered = value.get("result", {}).get("structuredContent")
        if answered is not None:
            self.label = answered["you"]["label"]
            self.scopes = _scopes(answered["you"]["scopes"], answered["read_only"])

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        try:
            result = await self._request(
                "tools/call", {"name": tool, "arguments": dict(arguments)}, tool
            )
        except CommonplaceError as error:
            return Answer(None, error.as_dict())
        value = result.get("structuredContent") or _first_object(result.get("content", []))
        if result.get("isError") and isinstance(
            value.get("error"), dict
        ):  # a result of the instructions contract has a word there
            return Answer(None, value["error"])
        return Answer(value)

    async def tools(self) -> list[dict[str, Any]]:
        if self._tools is None or time.monotonic() - self._tools[0] > TOOLS_SECONDS:
            result = await self._request("tools/list", {}, None)
            self._tools = (time.monotonic(), list(result["tools"]))
        return self._tools[1]

    async def _request(
        self, method: str, params: dict[str, Any], name: str | None
    ) -> dict[str, Any]:
        import httpx

        body = {
            "jsonrpc": "2.0",
            "id": next(self._ids),
            "method": method,
            "params": {**params, "_meta": self._meta},
        }
        headers = {"Mcp-Method": method} | ({"Mcp-Name": name} if name else {})
        try:
            answer = await self._client.post(
                self.endpoint,
                content=orjson.dumps(body),
                headers={"Content-Type": "application/json", **headers},
            )
        except httpx.HTTPError as failed:
            raise _not_available(self.endpoint, failed) from failed
        if answer.status_code in (401, 403):
            raise _key_refused()
        try:
            value = _parse_message(answer.headers.get("content-type", ""), answer.content)
        except ValueError:
            value = {}
        if not isinstance(value, dict) or not ("result" in value or "error" in value):
            raise _no_commonplace(self.endpoint, answer.status_code)
        if "error" in value:
            raise _refused(value["error"])
        result: dict[str, Any] = value["result"]
        return result


def _first_object(content: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the JSON object among the content blocks; text may precede and follow it."""
    for block in content:
        text = block.get("text", "")
        if isinstance(text, str) and text.startswith("{"):
            try:
                value: dict[str, Any] = orjson.loads(text)
            except orjson.JSONDecodeError:
                continue
            return value
    return {}


def _scopes(granted: Iterable[str], read_only: bool) -> frozenset[str]:
    """Return the scopes to offer: without `write` if the server is read-only."""
    return frozenset(scope for scope in granted if not (read_only and scope == "write"))


def _not_available(url: str, error: Exception) -> CommonplaceError:
    return CommonplaceError(
        NOT_AVAILABLE,
        f"The server at {url} does not answer.",
        hint=str(error) or None,
        retryable=True,
    )


def _no_commonplace(url: str, status: int) -> CommonplaceError:
    """Return the error of an answer that is not ours, for example of a proxy."""
    return CommonplaceError(
        NOT_AVAILABLE,
        f"There is no Commonplace at {url}.",
        hint=f"It answered with HTTP status {status}. Give the address that `commonplace serve "
        f"--http` prints.",
        retryable=status >= 500 or status == 429,
    )


def _refused(error: Mapping[str, Any]) -> CommonplaceError:
    """Return a JSON-RPC error as one of this process."""
    data = error.get("data")
    known = data if isinstance(data, dict) else {}
    return CommonplaceError(
        NOT_AVAILABLE,
        str(known.get("message") or error.get("message")),
        hint=known.get("hint") or known.get("suggestion"),
        retryable=bool(known.get("retryable")),
    )


def _key_refused() -> CommonplaceError:
    return CommonplaceError(
        UNAUTHENTICATED, "The server does not accept this key.", hint="Sign in with another key."
    )


def _parse_message(content_type: str, body: bytes) -> dict[str, Any]:
    if content_type.startswith("text/event-stream"):
        lines = [
            line[6:]
            for line in body.decode().splitlines()
            if line.startswith("data: ") and line[6:].strip()
        ]
        body = lines[-1].encode() if lines else b'{"error":{"message":"empty stream"}}'
    value: dict[str, Any] = orjson.loads(body)
    return value
