"""The answer of a tool, rendered for reading, and ready-made commands for the same call."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import orjson

from commonplace.console.caller import META, STATELESS
from commonplace.console.rendering import format_json, url
from commonplace.kernel.json_types import Json

MAX_SHOWN = 200_000
MAX_HIGHLIGHTED = 40_000
MAX_ROWS = 200
MAX_COLUMNS = 8
MAX_CELL = 300
MAX_ADDRESS = 4000
KEY_VARIABLE = "COMMONPLACE_KEY"


@dataclass(frozen=True, slots=True)
class ResultPart:
    """A member of an answer: a text, a table or JSON."""

    name: str
    kind: str  # text, table or json
    text: str = ""
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    count: int = 0


@dataclass(frozen=True, slots=True)
class Copy:
    """A text to copy."""

    title: str
    text: str
    language: str


def render_parts(value: Json) -> list[ResultPart]:
    """Split an answer: lists of objects become tables, plain values texts, the rest JSON."""
    if not isinstance(value, dict):
        return [ResultPart("", "text", show_cell(value))]
    return [_render_part(name, member) for name, member in value.items()]


def _render_part(name: str, value: Json) -> ResultPart:
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return _render_table(name, [item for item in value if isinstance(item, dict)])
    if isinstance(value, (dict, list)) and value:
        return ResultPart(name, "json", format_json(value)[:MAX_SHOWN])
    return ResultPart(name, "text", show_cell(value))


def _render_table(name: str, items: Sequence[Mapping[str, Json]]) -> ResultPart:
    columns = list(dict.fromkeys(key for item in items[:50] for key in item))[:MAX_COLUMNS]
    rows = [
        [show_cell(item.get(column))[:MAX_CELL] for column in columns] for item in items[:MAX_ROWS]
    ]
    return ResultPart(name, "table", columns=columns, rows=rows, count=len(items))


def show_cell(value: Json) -> str:
    """Return the text of a plain value."""
    if isinstance(value, str):
        return value[:MAX_SHOWN]
    return "" if value is None else orjson.dumps(value, default=str).decode()[:MAX_SHOWN]


def raw_text(value: Json) -> tuple[str, str]:
    """Return the whole answer as JSON, cut if it is very long, and its language."""
    text = format_json(value)
    return text[:MAX_SHOWN], "json" if len(text) <= MAX_HIGHLIGHTED else ""


def make_copies(
    name: str, arguments: Mapping[str, Json], endpoint: str, has_key: bool
) -> list[Copy]:
    """Return the call in other forms. None of them contains the key."""
    compact = orjson.dumps(arguments).decode()
    request = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments},
    }
    configuration = {"mcpServers": {"commonplace": {"command": "commonplace", "args": ["serve"]}}}
    copies = [
        Copy("JSON-RPC", format_json(request), "json"),
        Copy("curl", make_curl(name, arguments, endpoint, has_key), ""),
        Copy("Command line", f"commonplace call {name} --args {shlex.quote(compact)}", ""),
        Copy("Client configuration", format_json(configuration), "json"),
    ]
    address = url(f"/tools/{name}", args=compact)
    if len(address) <= MAX_ADDRESS:
        copies.append(Copy("Address of this form", address, ""))
    return copies


def make_curl(name: str, arguments: Mapping[str, Json], endpoint: str, has_key: bool) -> str:
    """Return a command for a shell; the key comes from a variable."""
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments, "_meta": META},
    }
    headers = [
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        f"MCP-Protocol-Version: {STATELESS}",
        "Mcp-Method: tools/call",
        f"Mcp-Name: {name}",
    ]
    lines = [f"curl -s {shlex.quote(endpoint)}", *(f"-H {shlex.quote(line)}" for line in headers)]
    if has_key:
        lines.append(f'-H "Authorization: Bearer ${KEY_VARIABLE}"')
    lines.append(f"--data-binary {shlex.quote(orjson.dumps(body).decode())}")
    return " \\\n  ".join(lines)
