"""A console without a server: a gate that accepts one key, and a caller with fixed answers."""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from commonplace.console.caller import Answer
from commonplace.console.mount import Console, console_routes
from commonplace.console.session import Gate
from commonplace.kernel.errors import UNAUTHENTICATED, CommonplaceError

KEY = "right"
Reply = Callable[[Mapping[str, Any]], Any]


class FakeCaller:
    """Answers tool calls from a table: an output, an error or a function of the arguments."""

    def __init__(self, scopes: frozenset[str] = frozenset({"read", "write", "admin"})) -> None:
        self.label = "tester"
        self.endpoint = ""
        self.scopes = scopes
        self.replies: dict[str, Answer | Reply] = {}
        self.listed: list[dict[str, Any]] = []
        self.calls: list[tuple[str, dict[str, Any]]] = []

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        self.calls.append((tool, dict(arguments)))
        reply = self.replies.get(tool)
        if reply is None:
            return Answer(None, {"code": "UNKNOWN_TOOL", "message": f"No tool is called {tool}."})
        if isinstance(reply, Answer):
            return reply
        found = reply(arguments)
        return found if isinstance(found, Answer) else Answer(found)

    async def tools(self) -> list[dict[str, Any]]:
        return self.listed


def derive_key(purpose: str) -> bytes:
    return hashlib.sha256(purpose.encode()).digest()


def make_gate(caller: FakeCaller, *, is_open: bool = False) -> Gate:
    def accept(key: str, address: str | None) -> FakeCaller:
        if key != KEY:
            raise CommonplaceError(UNAUTHENTICATED, "This key is not valid.")
        return caller

    return Gate(accept, accept, derive_key, (lambda address: caller) if is_open else None)


def make_browser(gate: Gate, base_url: str = "http://testserver") -> TestClient:
    """A browser without scripts that does not follow redirects."""
    console = Console(gate, "1")
    routes = console_routes(console, lambda headers, scheme: None)
    return TestClient(Starlette(routes=routes), base_url=base_url, follow_redirects=False)


def hidden_fields(page: str) -> dict[str, str]:
    """Return the hidden fields of the forms of a page."""
    return {
        name: html.unescape(value)
        for name, value in re.findall(r'type="hidden" name="([\w.]+)" value="([^"]*)"', page)
    }


def token_of(page: str) -> dict[str, str]:
    """Return the CSRF field of a page, whether or not it has a form."""
    found = re.search(r'name="csrf-token" content="([^"]+)"', page)
    assert found is not None
    return {"csrf": found[1]}


@pytest.fixture
def caller() -> FakeCaller:
    return FakeCaller()


@pytest.fixture
def browser(caller: FakeCaller) -> TestClient:
    """A browser in front of a console that wants a key."""
    return make_browser(make_gate(caller))


@pytest.fixture
def inside(caller: FakeCaller) -> TestClient:
    """A browser in front of a console that is open to everyone."""
    return make_browser(make_gate(caller, is_open=True))
