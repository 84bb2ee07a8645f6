"""The clients of `benchmarks.soak`: mixed calls over HTTP, with a bounded amount of data."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import random
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

PATHS = 60  # files of each tenant
ENTRIES = 40  # memory entries of each key
SYLLABLES = ("ba", "de", "fi", "go", "lu", "ma", "ne", "po", "ri", "su", "ta", "ve", "zo")
WORDS = tuple("".join(parts) for parts in itertools.product(SYLLABLES, repeat=3))
DOCUMENTS = 24  # API descriptions: more than the server caches


@dataclass(slots=True)
class Totals:
    """Calls, failures and durations of all workers; `calls` is read while they run."""

    calls: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    guard: threading.Lock = field(default_factory=threading.Lock)

    def add(self, seconds: float, failure: str | None) -> None:
        with self.guard:
            self.calls += 1
            if len(self.seconds) < 200_000:
                self.seconds.append(seconds)
            if failure is not None:
                self.failures[failure] = self.failures.get(failure, 0) + 1


class Worker:
    """A client with a key, a session and a kept connection that makes every kind of call."""

    def __init__(
        self,
        number: int,
        address: str,
        key: str,
        totals: Totals,
        stop: threading.Event,
        only: str = "",
    ) -> None:
        """`only` restricts it to the kinds of calls whose name contains this."""
        self._only = only
        self._address = address
        self._key = key
        self._totals = totals
        self._stop = stop
        self._random = random.Random(number)
        self._number = number
        self._ids = itertools.count(1)
        self._session = ""
        self._link = http.client.HTTPConnection(address, timeout=120)
        self._memory: list[str] = []
        self._kinds = self._choose_kinds()

    def run(self) -> None:
        self._open()
        turn = 0
        while not self._stop.is_set():
            turn += 1
            if turn % 500 == 0:  # clients come and go: sessions and connections end too
                self._close()
                self._open()
            self._random.choice(self._kinds)()
        self._close()

    def growth(self) -> list[str]:
        """Return a description of the server's memory."""
        if not self._session:
            self._open()
        return [str(line) for line in self._call("memory_growth").get("lines", ())]

    def _choose_kinds(self) -> list[Any]:
        shares: tuple[tuple[Callable[[], None], int], ...] = (
            (self._write_file, 6),
            (self._read_file, 8),
            (self._list_files, 4),
            (self._search_files, 6),
            (self._delete_file, 1),
            (self._remember, 3),
            (self._recall, 6),
            (self._show_entry, 3),
            (self._read_instructions, 10),
            (self._write_instruction, 2),
            (self._read_openapi, 8),
            (self._make_mistake, 2),
            (self._list_tools, 1),
        )
        return [
            kind
            for kind, share in shares
            for _ in range(share)
            if not self._only or self._only in kind.__name__
        ]

    def _write_file(self) -> None:
        self._call(
            "file_write",
            project="soak",
            path=self._path(),
            content=self._text(200),
            mode="TRUNCATE",
        )

    def _read_file(self) -> None:
        self._call("file_read", ("NOT_FOUND",), project="soak", path=self._path())

    def _list_files(self) -> None:
        self._call("file_list", project="soak", path="", depth=2)

    def _search_files(self) -> None:
        self._call("file_search", project="soak", query=self._text(3))

    def _delete_file(self) -> None:
        self._call("file_delete", ("NOT_FOUND",), project="soak", path=self._path())

    def _remember(self) -> None:
        # Deleted entries stay in the database, so most calls change one that exists.
        if len(self._memory) >= ENTRIES:
            if self._random.randrange(20) == 0:
                self._call("memory_delete", ("ENTRY_NOT_FOUND",), id=self._memory.pop(0))
            else:
                self._call(
                    "memory_update", id=self._random.choice(self._memory), content=self._text(40)
                )
            return
        title = f"{self._text(4)} {self._number}-{next(self._ids)}"
        answer = self._call("rekall_add", type="pattern", title=title, content=self._text(40))
        if answer.get("id"):
            self._memory.append(answer["id"])

    def _recall(self) -> None:
        self._call("rekall_search", query=self._text(3))

    def _show_entry(self) -> None:
        if self._memory:
            self._call("rekall_show", id=self._random.choice(self._memory))

    def _read_instructions(self) -> None:
        name = self._random.choice(
            (
                "instructions_search",
                "instructions_list",
                "usage_track",
                "gates_evaluate",
                "prompt_review",
            )
        )
        arguments: dict[str, Any] = {
            "instructions_search": {"q": self._text(2)},
            "usage_track": {"id": f"soak-{self._random.randrange(30)}"},
            "prompt_review": {"prompt": self._text(30)},
        }.get(name, {})
        self._call(name, **arguments)

    def _write_instruction(self) -> None:
        identity = f"soak-{self._random.randrange(30)}"
        entry = {
            "id": identity,
            "title": identity,
            "body": self._text(60),
            "priority": 50,
            "audience": "all",
            "requirement": "optional",
        }
        self._call(
            "instructions_add", entry={**entry, "categories": ["soak"]}, overwrite=True, lax=True
        )

    def _read_openapi(self) -> None:
        name = self._random.choice(
            ("oas_validate", "oas_parse", "oas_walk_operations", "oas_walk_schemas")
        )
        self._call(name, spec={"content": document(self._random.randrange(DOCUMENTS))})

    def _make_mistake(self) -> None:
        """Make a mistake: an unknown tool or method, a wrong argument, broken JSON."""
        kind = self._random.randrange(5)
        if kind == 0:
            self._call(f"no_such_tool_{next(self._ids)}", ("?",))
        elif kind == 1:
            self._call("file_read", ("?",), project="soak", path=f"not/absolute/{next(self._ids)}")
        elif kind == 2:
            self._send("/mcp", b'{"jsonrpc":"2.0","id":1,', {})
        elif kind == 3:
            self._send(
                "/rpc",
                json.dumps(
                    {"jsonrpc": "2.0", "id": 1, "method": "instructions/list", "params": {}}
                ).encode(),
                {},
            )
        else:
            self._send(
                "/rpc",
                json.dumps({"jsonrpc": "2.0", "id": 1, "method": f"x/{next(self._ids)}"}).encode(),
                {},
            )

    def _list_tools(self) -> None:
        self._send("/mcp", self._message("tools/list", {}), self._headers())

    def _path(self) -> str:
        return f"/notes/{self._random.randrange(PATHS)}.md"

    def _text(self, words: int) -> str:
        return " ".join(self._random.choices(WORDS, k=words))

    def _message(self, method: str, params: Any) -> bytes:
        return json.dumps(
            {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}
        ).encode()

    def _headers(self) -> dict[str, str]:
        return {"MCP-Protocol-Version": "2025-11-25", "Mcp-Session-Id": self._session}

    def _open(self) -> None:
        hello = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "soak", "version": "1"},
        }
        self._session = self._send("/mcp", self._message("initialize", hello), {})[1].get(
            "mcp-session-id", ""
        )
        self._send(
            "/mcp", b'{"jsonrpc":"2.0","method":"notifications/initialized"}', self._headers()
        )

    def _close(self) -> None:
        with contextlib.suppress(OSError, http.client.HTTPException):
            self._link.request(
                "DELETE",
                "/mcp",
                headers={"Authorization": f"Bearer {self._key}", **self._headers()},
            )
            self._link.getresponse().read()
        self._link.close()

    def _call(self, tool: str, expected: tuple[str, ...] = (), **arguments: Any) -> dict[str, Any]:
        begun = time.perf_counter()
        body = self._send(
            "/mcp",
            self._message("tools/call", {"name": tool, "arguments": arguments}),
            self._headers(),
        )[2]
        answer = json.loads(body) if body else {}
        result = answer.get("result", {})
        failure = None
        if "error" in answer or result.get("isError"):
            code = re.search(
                r'"code":"?(-?\w+)', json.dumps(answer).replace("\\", "").replace(" ", "")
            )
            code_name = code[1] if code else "?"
            failure = None if code_name in expected or "?" in expected else f"{tool}: {code_name}"
        self._totals.add(time.perf_counter() - begun, failure)
        structured: dict[str, Any] = result.get("structuredContent", {})
        return structured

    def _send(
        self, path: str, body: bytes, headers: dict[str, str]
    ) -> tuple[int, dict[str, str], bytes]:
        sent = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **headers,
        }
        for attempt in (1, 2):
            try:
                self._link.request(
                    "POST", path, body, {**sent, "Authorization": f"Bearer {self._key}"}
                )
                answer = self._link.getresponse()
                return (
                    answer.status,
                    {name.lower(): value for name, value in answer.getheaders()},
                    answer.read(),
                )
            except (OSError, http.client.HTTPException):
                self._link.close()
                if attempt == 2:
                    raise
        raise AssertionError("unreachable: the second attempt returns or raises")


def document(number: int) -> str:
    """Return a small API description, different for each number."""
    schema = {"type": "object", "properties": {f"field{n}": {"type": "string"} for n in range(20)}}
    operation = {"operationId": f"get{number}", "responses": {"200": {"description": "ok"}}}
    paths = {
        f"/things/{n}": {"get": {**operation, "operationId": f"get{number}x{n}"}} for n in range(20)
    }
    root = {"openapi": "3.1.0", "info": {"title": f"API {number}", "version": "1"}, "paths": paths}
    return json.dumps({**root, "components": {"schemas": {f"Thing{n}": schema for n in range(20)}}})
