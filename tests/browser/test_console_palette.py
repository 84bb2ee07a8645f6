"""Ctrl+K finds what is stored anywhere; the navigation shows the place on a narrow screen."""

from __future__ import annotations

import time
from pathlib import Path

from playwright.sync_api import expect
from tests.browser.conftest import Visitor, VisitorFactory, call
from tests.server.conformance.program import Served

DOCUMENT = """\
openapi: 3.0.3
info: {title: Parcels, version: '1'}
paths:
  /parcels:
    get:
      operationId: trackParcel
      summary: Track a parcel by its number
      responses: {'200': {description: ok}}
"""
Keyed = tuple[Served, dict[str, str], Path]


def store(keyed: Keyed, project: str, path: str, content: str) -> None:
    server, keys, _ = keyed
    arguments = {"project": project, "path": path, "content": content, "mode": "TRUNCATE"}
    call(server, keys["write"], "file_write", arguments)
    give_up = time.monotonic() + 60
    while not call(server, keys["read"], "file_index_status", {"project": project})["up_to_date"]:
        assert time.monotonic() < give_up, "the index did not catch up"
        time.sleep(0.1)


def test_the_palette_finds_files_and_operations_of_every_project(
    visitor: Visitor, keyed: Keyed
) -> None:
    store(keyed, "harbour", "/cranes.md", "The red crane lifts containers at the quay.")
    store(keyed, "post office", "/parcels.yaml", DOCUMENT)
    visitor.sign_in(keyed[1]["read"])
    page = visitor.page
    visitor.go("/console/memory?project=lessons")  # a filter of that page, not of the files
    visitor.wait_for_scripts()
    palette = page.get_by_role("dialog")
    page.keyboard.press("Control+k")
    page.keyboard.type("track a parcel")
    expect(palette.get_by_role("link", name="trackParcel").first).to_be_visible()
    expect(palette.get_by_role("link", name="post office/parcels.yaml")).to_be_visible()
    page.keyboard.press("Control+a")
    page.keyboard.type("red crane containers")
    palette.get_by_role("link", name="harbour/cranes.md").click()
    page.wait_for_url("**/console/files?project=harbour**")
    expect(page.locator("#file-text")).to_contain_text("The red crane")


def test_the_navigation_shows_the_present_page_on_a_narrow_screen(
    new_visitor: VisitorFactory, keyed: Keyed
) -> None:
    visitor = new_visitor(keyed[0].address, viewport={"width": 360, "height": 700})
    visitor.sign_in(keyed[1]["admin"])
    visitor.go("/console/audit")
    navigation = visitor.page.get_by_role("navigation", name="Pages")
    expect(navigation.get_by_role("link", name="Audit")).to_be_in_viewport(ratio=1)
    assert visitor.overflow() == 0
