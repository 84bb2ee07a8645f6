"""What a first-time user does on the Files page: store, change, find by words, read the passage,
delete and bring back.
"""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect
from tests.browser.conftest import Visitor, call
from tests.server.conformance.program import Served

HOSTILE = "<img src=x onerror=\"alert('owned')\">"


def store(server: Served, key: str, project: str, path: str, content: str) -> None:
    call(
        server,
        key,
        "file_write",
        {"project": project, "path": path, "content": content, "mode": "TRUNCATE"},
    )


def test_a_person_makes_a_file_saves_it_finds_it_by_words_and_brings_it_back(
    visitor: Visitor, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    server, keys, _ = keyed
    store(
        server,
        keys["write"],
        "handbook",
        "/guides/deploy.md",
        f"# Deploy\n\nRoll back with the blue switch.\n\n{HOSTILE}\n",
    )
    visitor.sign_in(keys["write"])
    page = visitor.page
    visitor.go("/console/files?project=handbook")
    page.get_by_role("button", name="New file").click()
    page.get_by_role("dialog").get_by_label("Path").fill("/guides/oncall.md")
    page.get_by_role("button", name="Create").click()
    page.locator(".cm-content").click()
    page.keyboard.type("The pager wakes whoever holds the rota this week.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved", exact=True)).to_be_visible()

    page.get_by_text("guides", exact=True).click()
    page.get_by_text("deploy.md", exact=True).click()
    expect(page.locator(".cm-content")).to_contain_text(HOSTILE)
    expect(page.get_by_text("search index up to date")).to_be_visible(timeout=60_000)
    page.get_by_label("Search in this project").fill("rolling back")
    page.keyboard.press("Enter")
    expect(page.locator(".cp-mark").first).to_be_visible()
    expect(page.get_by_text("Why: words found").first).to_be_visible()
    page.get_by_role("link", name="/guides/deploy.md").click()
    expect(page.locator(".cm-content .cp-hit").first).to_be_visible()
    assert "start=" in page.url

    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Deleted", exact=True)).to_be_visible()
    page.get_by_role("button", name="Restore").click()
    page.get_by_role("dialog").get_by_role("button", name="Restore").click()
    expect(page.locator(".cm-content")).to_contain_text("blue switch")
    assert visitor.executed == []
    assert visitor.foreign == []
    assert visitor.problems == []


def test_a_reader_reads_and_is_not_offered_to_write(
    visitor: Visitor, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    server, keys, _ = keyed
    store(server, keys["write"], "reading", "/a.md", "Only to be read.")
    visitor.sign_in(keys["read"])
    visitor.go("/console/files?project=reading&path=/a.md")
    expect(visitor.page.locator(".cm-content")).to_contain_text("Only to be read.")
    expect(visitor.page.get_by_text("may read only")).to_be_visible()
    expect(visitor.page.get_by_role("button", name="Save")).to_have_count(0)
    expect(visitor.page.get_by_role("button", name="New file")).to_have_count(0)


def test_a_dropped_file_is_stored_and_never_replaces_an_existing_one(
    visitor: Visitor, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    server, keys, _ = keyed
    store(server, keys["write"], "drops", "/there.md", "First.")
    visitor.sign_in(keys["write"])
    page = visitor.page
    visitor.go("/console/files?project=drops")
    page.get_by_role("button", name="Upload").click()
    chooser = page.locator("input[type=file]")
    chooser.set_input_files({"name": "new.md", "mimeType": "text/markdown", "buffer": b"# Dropped"})
    expect(page.get_by_text("Stored /new.md")).to_be_visible()
    chooser.set_input_files({"name": "there.md", "mimeType": "text/markdown", "buffer": b"Second."})
    expect(page.get_by_text("/there.md is there already")).to_be_visible()
    chooser.set_input_files(
        {"name": "raw.bin", "mimeType": "application/octet-stream", "buffer": b"\xff\xfe\x00"}
    )
    expect(page.get_by_text("raw.bin is not UTF-8 text")).to_be_visible()
    store(server, keys["write"], "drops", "/_x5Bid_x5D.md", "Another file.")
    chooser.set_input_files({"name": "[id].md", "mimeType": "text/markdown", "buffer": b"Spelled."})
    expect(page.get_by_text("Stored /[id].md as /_x5Bid_x5D_2.md")).to_be_visible()
    chooser.set_input_files({"name": "[id].md", "mimeType": "text/markdown", "buffer": b"Again."})
    expect(page.get_by_text("/_x5Bid_x5D_2.md is there already")).to_be_visible()
    page.get_by_role("button", name="Done").click()
    page.get_by_text("new.md", exact=True).click()
    expect(page.locator(".cm-content")).to_contain_text("# Dropped")
