"""The console's only way to the product: tool calls, in this process or at a server by URL.

No private API.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

from commonplace.dispatch.call import Call, to_json
from commonplace.dispatch.describe import describe
from commonplace.dispatch.pipeline import Pipeline
from commonplace.dispatch.registry import Selection
from commonplace.kernel.auth import AuthContext
from commonplace.kernel.errors import NOT_AVAILABLE, UNAUTHENTICATED, CommonplaceError

STATELESS = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": STATELESS,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "commonplace-console", "version": "1"},
}
WHO = "server_status"
EVERYTHING = Selection(all_tiers=True)


CallError = Mapping[str, Any]
"""An error of a call: code, message, hint, details, retryable."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a call: the output, or the error in its one shape."""

    output: Any
    error: CallError | None = None

    @property
    def ok(self) -> bool:
        return self.error is None


class Caller(Protocol):
    """One signed-in person. Calls carry that person's permissions and nothing else."""

    label: str
    scopes: frozenset[str]

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer: ...

    async def tools(self) -> list[dict[str, Any]]:
        """Every tool, as tools/list shows it, with `_toolset` and `_tier` where they are known."""
        ...


class InProcess:
    """The product in this process.

    `renew` authenticates again at every call, so that a revoked key ends at once.
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
        return [
            {**describe(tool, EVERYTHING), "_toolset": tool.toolset, "_tier": tool.tier.value}
            for tool in self._pipeline.registry.listed(EVERYTHING)
            if self._pipeline.selection.permits(tool)
        ]


class Remote:
    """A server elsewhere, over the stateless protocol: one POST a call, no session to lose."""

    def __init__(self, url: str, key: str | None) -> None:
        import httpx

        self._url = url.rstrip("/").removesuffix("/mcp") + "/mcp"
        headers = {
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": STATELESS,
        }
        if key:
            headers["Authorization"] = f"Bearer {key}"
        self._client = httpx.AsyncClient(headers=headers, timeout=60)
        self._ids = itertools.count(1)
        self.label = "remote"
        self.scopes = frozenset({"read"})  # until `check` has asked the server

    def check(self) -> None:
        """Learn who this key is there.

        UNAUTHENTICATED where the server does not take it, NOT_AVAILABLE where it does not answer.
        """
        import httpx

        body = {
            "jsonrpc": "2.0",
            "id": 0,
            "method": "tools/call",
            "params": {"name": WHO, "arguments": {}, "_meta": META},
        }
        headers = {
            **self._client.headers,
            "Mcp-Method": "tools/call",
            "Mcp-Name": WHO,
            "Content-Type": "application/json",
        }
        try:
            answer = httpx.post(self._url, content=orjson.dumps(body), headers=headers, timeout=15)
        except (httpx.HTTPError, httpx.InvalidURL) as away:
            raise _away(self._url, away) from away
        if answer.status_code == 429:
            raise CommonplaceError(
                UNAUTHENTICATED,
                "Too many requests without a valid key.",
                hint="Wait a minute.",
                retryable=True,
            )
        if answer.status_code in (401, 403):
            raise _refused()
        try:
            value = (
                _message(answer.headers.get("content-type", ""), answer.content)
                if answer.status_code == 200
                else {}
            )
        except ValueError:
            value = {}
        if not isinstance(value, dict) or not ("result" in value or "error" in value):
            hint = (
                f"It answered with HTTP status {answer.status_code}. Give the address that "
                f"`commonplace serve --http` prints."
            )
            raise CommonplaceError(
                NOT_AVAILABLE, f"There is no Commonplace at {self._url}.", hint=hint
            )
        told = value.get("result", {}).get("structuredContent")
        if told is not None:
            self.label = told["you"]["label"]
            self.scopes = _scopes(told["you"]["scopes"], told["read_only"])

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
        result = await self._request("tools/list", {}, None)
        return list(result["tools"])

    async def _request(
        self, method: str, params: dict[str, Any], name: str | None
    ) -> dict[str, Any]:
        import httpx

        body = {
            "jsonrpc": "2.0",
            "id": next(self._ids),
            "method": method,
            "params": {**params, "_meta": META},
        }
        headers = {"Mcp-Method": method} | ({"Mcp-Name": name} if name else {})
        try:
            answer = await self._client.post(
                self._url,
                content=orjson.dumps(body),
                headers={"Content-Type": "application/json", **headers},
            )
        except httpx.HTTPError as away:
            raise _away(self._url, away) from away
        if answer.status_code in (401, 403):
            raise _refused()
        value = _message(answer.headers.get("content-type", ""), answer.content)
        if "error" in value:
            data = value["error"].get("data")
            known = data if isinstance(data, dict) else {}
            raise CommonplaceError(
                NOT_AVAILABLE,
                str(known.get("message") or value["error"].get("message")),
                hint=known.get("hint"),
            )
        result: dict[str, Any] = value["result"]
        return result


def _first_object(content: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The JSON of a result. A plain message may stand before it, and a note behind it."""
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
    """What the console offers: nothing that writes where the server takes no change at all."""
    return frozenset(scope for scope in granted if not (read_only and scope == "write"))


def _away(url: str, error: Exception) -> CommonplaceError:
    return CommonplaceError(
        NOT_AVAILABLE,
        f"The server at {url} does not answer.",
        hint=str(error) or None,
        retryable=True,
    )


def _refused() -> CommonplaceError:
    return CommonplaceError(
        UNAUTHENTICATED, "The server does not accept this key.", hint="Sign in with another key."
    )


def _message(content_type: str, body: bytes) -> dict[str, Any]:
    if content_type.startswith("text/event-stream"):
        lines = [
            line[6:]
            for line in body.decode().splitlines()
            if line.startswith("data: ") and line[6:].strip()
        ]
        body = lines[-1].encode() if lines else b'{"error":{"message":"empty stream"}}'
    value: dict[str, Any] = orjson.loads(body)
    return value
