"""One-click links that add this server to a client.

Cursor: `cursor://anysphere.cursor-deeplink/mcp/install` with the entry as base64 (cursor.com/docs,
install links). VS Code: `vscode:mcp/install?` with the entry as JSON (code.visualstudio.com, MCP
developer guide). Kiro: `https://kiro.dev/launch/mcp/add` with the entry as JSON (kiro.dev/docs).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from urllib.parse import quote

from commonplace.cli.connect.clients import Client
from commonplace.cli.connect.merging import NAME
from commonplace.kernel.json_types import Json


def _cursor(entry: Mapping[str, Json]) -> str:
    encoded = base64.b64encode(_json(entry).encode()).decode()
    return f"cursor://anysphere.cursor-deeplink/mcp/install?name={NAME}&config={quote(encoded, '')}"


def _vscode(entry: Mapping[str, Json]) -> str:
    return f"vscode:mcp/install?{quote(_json({'name': NAME, **entry}), '')}"


def _kiro(entry: Mapping[str, Json]) -> str:
    return f"https://kiro.dev/launch/mcp/add?name={NAME}&config={quote(_json(entry), '')}"


LINKS: dict[Client, Callable[[Mapping[str, Json]], str]] = {
    Client.CURSOR: _cursor,
    Client.VSCODE: _vscode,
    Client.KIRO: _kiro,
}


def _json(value: Mapping[str, Json]) -> str:
    return json.dumps(value, separators=(",", ":"))
