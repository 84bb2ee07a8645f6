"""The console's overview shows damage that the server found, with the remedy."""

from __future__ import annotations

from pathlib import Path

import apsw
from playwright.sync_api import expect
from tests.browser.conftest import VisitorFactory
from tests.server.conformance.program import serve_http

from commonplace.storage.integrity.monitor import REPORT

LESSON = {"type": "bug", "title": "Lesson", "content": "learned"}


def test_the_overview_shows_damage_and_its_remedy(
    new_visitor: VisitorFactory, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    with serve_http(data) as server:
        visitor = new_visitor(server.address)
        visitor.go("/console/tools/rekall_add")
        page = visitor.page
        page.get_by_label("type *").select_option(LESSON["type"])
        page.get_by_label("title *").fill(LESSON["title"])
        page.get_by_label("content", exact=True).fill(LESSON["content"])
        page.get_by_role("button", name="Call", exact=True).click()
        expect(page.get_by_text("Answered in")).to_be_visible()
    connection = apsw.Connection(str(data / "memory.db"))
    connection.execute("UPDATE memory_entries SET content = 'another'")
    assert connection.changes() == 1
    connection.close()
    # a check by the first server, if it lived long enough for one, was before the damage
    (data / REPORT).unlink(missing_ok=True)
    with serve_http(data) as server:
        visitor = new_visitor(server.address)
        visitor.go("/console/")
        # the check runs in the background: the page that is already open shows what it finds
        expect(visitor.page.get_by_text("memory.db is damaged")).to_be_visible(timeout=60_000)
        expect(visitor.page.get_by_text("restore a backup")).to_be_visible()
        assert visitor.axe() == []
