"""The console's overview shows damage that the server found, with the remedy."""

from __future__ import annotations

from pathlib import Path

import apsw
from playwright.sync_api import Browser, expect
from tests.browser.conftest import Visitor
from tests.server.conformance.program import serve_http

LESSON = {"type": "bug", "title": "Lesson", "content": "learned"}


def test_the_overview_shows_damage_and_its_remedy(browser: Browser, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serve_http(data) as server:
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "rekall_add", "arguments": LESSON},
        }
        opening = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }
        _, headers, _ = server.post(
            "/mcp", {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": opening}
        )
        server.post(
            "/mcp",
            body,
            {"Mcp-Session-Id": headers["mcp-session-id"], "MCP-Protocol-Version": "2025-11-25"},
        )
    connection = apsw.Connection(str(data / "memory.db"))
    connection.execute("UPDATE memory_entries SET content = 'another'")
    assert connection.changes() == 1
    connection.close()
    with serve_http(data) as server:
        context = browser.new_context()
        context.set_default_timeout(60_000)
        try:
            visitor = Visitor(context, server.address)
            visitor.go("/console/")
            expect(visitor.page.get_by_text("memory.db is damaged")).to_be_visible(timeout=60_000)
            expect(visitor.page.get_by_text("restore a backup")).to_be_visible()
        finally:
            context.close()
