"""What people do on the files pages: store, change, find, move, upload, delete and restore."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.browser.conftest import Visitor, VisitorFactory, call
from tests.server.conformance.program import Served

HOSTILE = "<img src=x onerror=\"alert('owned')\">"
KEPT_LONG_DRAFTS = """() => new Promise((resolve) => {
  const person = document.documentElement.dataset.person;
  const opening = indexedDB.open(`commonplace-drafts:${person}`, 1);
  opening.onsuccess = () => {
    const names = opening.result.transaction("drafts").objectStore("drafts").getAllKeys();
    names.onsuccess = () => resolve(names.result.length);
  };
})"""
Keyed = tuple[Served, dict[str, str], Path]


def store(keyed: Keyed, project: str, path: str, content: str) -> None:
    call(
        keyed[0],
        keyed[1]["write"],
        "file_write",
        {"project": project, "path": path, "content": content, "mode": "TRUNCATE"},
    )


def read(keyed: Keyed, project: str, path: str) -> str:
    found = call(keyed[0], keyed[1]["read"], "file_read", {"project": project, "path": path})
    return str(found["content"])


def test_a_person_makes_a_file_finds_it_by_words_deletes_it_and_takes_that_back(
    visitor: Visitor, keyed: Keyed
) -> None:
    text = f"# Deploy\n\nRoll back with the blue switch.\n\n{HOSTILE}\n"
    store(keyed, "handbook", "/guides/deploy.md", text)
    visitor.sign_in(keyed[1]["write"])
    page = visitor.page
    visitor.go("/console/files?project=handbook")
    page.get_by_role("link", name="New file").click()
    page.get_by_label("Path").fill("/guides/oncall.md")
    page.get_by_label("Text", exact=True).fill("The pager wakes the person on the rota.")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_text("Created /guides/oncall.md.")).to_be_visible()

    tree = page.get_by_role("navigation", name="Files of the project")
    tree.get_by_role("link", name="deploy.md").click()
    expect(page.locator("#file-text")).to_contain_text(HOSTILE)
    expect(page.get_by_text("search index up to date")).to_be_visible(timeout=60_000)
    page.get_by_label("Search in this project").fill("rolling back")
    expect(page.locator("mark").first).to_be_visible()
    expect(page.get_by_text("Why: words found").first).to_be_visible()
    assert "q=rolling" in page.url
    page.get_by_role("link", name="/guides/deploy.md").click()
    expect(page.locator(".line.hit").first).to_be_in_viewport()
    assert "start=" in page.url

    page.get_by_role("link", name="Delete", exact=True).click()
    dialog = page.get_by_role("dialog", name="Delete /guides/deploy.md?")
    assert visitor.axe() == []
    dialog.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Deleted /guides/deploy.md (1 file).")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#file-text")).to_contain_text("blue switch")


def test_a_deleted_folder_is_restored_from_the_list(visitor: Visitor, keyed: Keyed) -> None:
    store(keyed, "bins", "/a/one.md", "1")
    store(keyed, "bins", "/b.md", "2")
    visitor.sign_in(keyed[1]["write"])
    page = visitor.page
    visitor.go("/console/files?project=bins&path=/a")
    page.get_by_role("link", name="Delete", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Deleted /a (1 file).")).to_be_visible()
    page.get_by_role("link", name="Deleted files").click()
    assert visitor.axe() == []
    page.get_by_role("button", name="Restore /a/one.md").click()
    expect(page.get_by_text("Restored /a/one.md.")).to_be_visible()


def test_a_file_is_edited_over_the_version_that_was_read(visitor: Visitor, keyed: Keyed) -> None:
    store(keyed, "edits", "/a.md", "First.\n")
    visitor.sign_in(keyed[1]["write"])
    page = visitor.page
    visitor.go("/console/files/edit?project=edits&path=/a.md")
    area = page.get_by_label("Text of /a.md")
    area.fill("Mine.\n")
    store(keyed, "edits", "/a.md", "Theirs.\n")
    expect(page.get_by_text("Somebody else changed this file meanwhile")).to_be_visible()
    visitor.allow("409")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Your text is below and was not saved")).to_be_visible()
    expect(page.locator(".diff")).to_contain_text("-Theirs.")
    expect(page.locator(".diff")).to_contain_text("+Mine.")
    expect(area).to_have_value("Mine.\n")
    assert visitor.axe() == []
    assert read(keyed, "edits", "/a.md") == "Theirs.\n"
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved /a.md.")).to_be_visible()
    assert read(keyed, "edits", "/a.md") == "Mine.\n"


def test_a_file_that_was_deleted_meanwhile_is_made_again_with_the_text(
    visitor: Visitor, keyed: Keyed
) -> None:
    store(keyed, "edits", "/lost.md", "First.")
    visitor.sign_in(keyed[1]["write"])
    page = visitor.page
    visitor.go("/console/files/edit?project=edits&path=/lost.md")
    page.get_by_label("Text of /lost.md").fill("Still here.")
    call(keyed[0], keyed[1]["write"], "file_delete", {"project": "edits", "path": "/lost.md"})
    visitor.allow("409")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Somebody deleted this file while you edited it.")).to_be_visible()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved /lost.md.")).to_be_visible()
    assert read(keyed, "edits", "/lost.md") == "Still here."


@pytest.mark.parametrize("ends", ["\r\n", "\n", "\r"])
def test_a_file_keeps_its_line_ends(visitor: Visitor, keyed: Keyed, ends: str) -> None:
    text = f"\none{ends}two{ends}"
    store(keyed, "ends", "/a.txt", text.replace("\n", ends) if ends != "\r\n" else text)
    before = read(keyed, "ends", "/a.txt")
    visitor.sign_in(keyed[1]["write"])
    page = visitor.page
    visitor.go("/console/files/edit?project=ends&path=/a.txt")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved /a.txt.")).to_be_visible()
    assert read(keyed, "ends", "/a.txt") == before
    page.get_by_role("link", name="Edit").click()
    page.get_by_label("Text of /a.txt").press("Control+End")
    page.keyboard.type("three")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved /a.txt.")).to_be_visible()
    assert read(keyed, "ends", "/a.txt") == f"{before}three"


def test_a_person_who_types_before_the_editor_is_ready_loses_nothing(
    visitor: Visitor, keyed: Keyed
) -> None:
    store(keyed, "early", "/a.txt", "one two")
    visitor.sign_in(keyed[1]["write"])
    page = visitor.page
    scripts = visitor.go_before_scripts("/console/files/edit?project=early&path=/a.txt")
    area = page.get_by_label("Text of /a.txt")
    area.press("Control+Home")
    page.keyboard.type("th")
    scripts.continue_()
    expect(page.locator(".editor .gutter")).to_be_visible()
    page.keyboard.type("ree ")
    expect(area).to_have_value("three one two")


def test_text_survives_a_closed_page_and_is_forgotten_when_it_was_saved(
    visitor: Visitor, keyed: Keyed
) -> None:
    store(keyed, "drafts", "/a.md", "Saved.")
    visitor.sign_in(keyed[1]["write"])
    page = visitor.page
    address = "/console/files/edit?project=drafts&path=/a.md"
    visitor.go(address)
    page.get_by_label("Text of /a.md").fill("Typed and not saved.")
    visitor.go("/console/files")
    visitor.go(address)
    page.get_by_text("Unsaved text from").wait_for()
    page.get_by_label("Text of /a.md").fill("Typed before deciding.")
    page.reload()
    expect(page.get_by_role("button", name="Restore it")).to_have_count(2)
    assert visitor.axe() == []
    page.get_by_role("button", name="Restore it").last.click()
    expect(page.get_by_label("Text of /a.md")).to_have_value("Typed and not saved.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved /a.md.")).to_be_visible()
    visitor.wait_for_scripts()
    visitor.go(address)
    expect(page.get_by_label("Text of /a.md")).to_have_value("Typed and not saved.")
    expect(page.get_by_text("Unsaved text from")).to_have_count(0)


def test_the_place_of_an_upload_is_kept_until_it_was_done(visitor: Visitor, keyed: Keyed) -> None:
    visitor.sign_in(keyed[1]["write"])
    page = visitor.page
    visitor.go("/console/files/upload?project=placed")
    page.get_by_label("Into folder").fill("/a/long/folder")
    page.reload()
    page.get_by_role("button", name="Restore it").click()
    expect(page.get_by_label("Into folder")).to_have_value("/a/long/folder")
    file = {"name": "placed.md", "mimeType": "text/markdown", "buffer": b"Placed."}
    page.get_by_label("Files: choose them").set_input_files(file)
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_text("Stored /a/long/folder/placed.md.")).to_be_visible()
    visitor.wait_for_scripts()
    visitor.go("/console/files/upload?project=placed")
    expect(page.get_by_label("Into folder")).to_have_value("/")
    expect(page.get_by_role("button", name="Restore it")).to_have_count(0)


def test_a_long_draft_is_kept_in_the_database_of_the_browser(
    visitor: Visitor, keyed: Keyed
) -> None:
    store(keyed, "drafts", "/long.txt", "Saved.")
    visitor.sign_in(keyed[1]["write"])
    page = visitor.page
    address = "/console/files/edit?project=drafts&path=/long.txt"
    visitor.go(address)
    page.get_by_label("Text of /long.txt").evaluate(
        "(area) => { area.value = ('x'.repeat(99) + '\\n').repeat(9_000);"
        " area.dispatchEvent(new Event('input', {bubbles: true})); }"
    )
    until = time.monotonic() + 30
    while not page.evaluate(KEPT_LONG_DRAFTS):
        assert time.monotonic() < until, "the draft was not kept"
    page.reload()
    page.get_by_role("button", name="Restore it").click()
    length = page.get_by_label("Text of /long.txt").evaluate("(area) => area.value.length")
    assert length == 900_000


def test_a_file_is_renamed_and_the_renaming_is_taken_back(visitor: Visitor, keyed: Keyed) -> None:
    store(keyed, "moves", "/a.md", "A")
    store(keyed, "moves", "/b.md", "B")
    visitor.sign_in(keyed[1]["write"])
    page = visitor.page
    visitor.go("/console/files?project=moves&path=/a.md")
    page.get_by_role("link", name="Rename").click()
    page.get_by_label("New path").fill("/b.md")
    visitor.allow("422")
    page.get_by_role("button", name="Rename").click()
    expect(page.get_by_role("alert")).to_contain_text("ALREADY_EXISTS")
    expect(page.get_by_label("New path")).to_have_value("/b.md")
    page.get_by_label("New path").fill("/folder/c.md")
    page.get_by_role("button", name="Rename").click()
    expect(page.get_by_text("Renamed /a.md to /folder/c.md.")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Renamed /folder/c.md to /a.md.")).to_be_visible()


def test_an_open_file_shows_what_an_agent_appends(visitor: Visitor, keyed: Keyed) -> None:
    store(keyed, "logs", "/log.md", "First.\r\n")
    visitor.sign_in(keyed[1]["write"])
    page = visitor.page
    visitor.go("/console/files?project=logs&path=/log.md")
    page.get_by_role("link", name="Append").click()
    page.get_by_label("Text for the end of the file").fill("Second.\n")
    page.get_by_role("button", name="Append").click()
    expect(page.locator("#file-text")).to_contain_text("Second.")
    assert read(keyed, "logs", "/log.md") == "First.\r\nSecond.\r\n"
    call(
        keyed[0],
        keyed[1]["write"],
        "file_write",
        {"project": "logs", "path": "/log.md", "content": "Third, by an agent."},
    )
    expect(page.locator("#file-text")).to_contain_text("Third, by an agent.")
    store(keyed, "logs", "/another.md", "x")
    expect(page.get_by_role("link", name="Files changed: show them")).to_be_visible()


def test_a_reader_reads_and_is_not_offered_to_write(visitor: Visitor, keyed: Keyed) -> None:
    store(keyed, "reading", "/a.md", "Only to be read.")
    visitor.sign_in(keyed[1]["read"])
    page = visitor.page
    visitor.go("/console/files?project=reading&path=/a.md")
    expect(page.locator("#file-text")).to_contain_text("Only to be read.")
    expect(page.get_by_text("may read only")).to_be_visible()
    for name in ("Edit", "New file", "Upload", "Append", "Rename", "Delete"):
        expect(page.get_by_role("link", name=name, exact=True)).to_have_count(0)
    expect(page.get_by_role("link", name="Raw")).to_have_count(1)


def test_uploaded_files_are_stored_and_never_replace_an_existing_one(
    visitor: Visitor, keyed: Keyed
) -> None:
    store(keyed, "drops", "/there.md", "First.")
    store(keyed, "drops", "/_x5Bid_x5D.md", "Another file.")
    visitor.sign_in(keyed[1]["write"])
    page = visitor.page
    visitor.go("/console/files/upload?project=drops")
    assert visitor.axe() == []
    files = [("new.md", b"# Dropped"), ("there.md", b"Second."), ("raw.bin", b"\xff\xfe\x00")]
    files += [("[id].md", b"Spelled.\r\n")]
    page.locator("input[type=file]").set_input_files(
        [{"name": name, "mimeType": "text/plain", "buffer": content} for name, content in files]
    )
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_text("Stored /new.md.")).to_be_visible()
    expect(page.get_by_text("/there.md exists already.")).to_be_visible()
    expect(page.get_by_text("raw.bin is not UTF-8 text")).to_be_visible()
    expect(page.get_by_text("Stored /[id].md as /_x5Bid_x5D_2.md")).to_be_visible()
    assert visitor.axe() == []
    page.locator("input[type=file]").set_input_files(
        {"name": "[id].md", "mimeType": "text/markdown", "buffer": b"Again."}
    )
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_text("/_x5Bid_x5D_2.md exists already.")).to_be_visible()
    page.get_by_role("link", name="Done").click()
    page.get_by_role("navigation", name="Files of the project").get_by_text("new.md").click()
    expect(page.locator("#file-text")).to_contain_text("# Dropped")
    assert read(keyed, "drops", "/there.md") == "First."
    assert read(keyed, "drops", "/_x5Bid_x5D_2.md") == "Spelled.\r\n"


def test_a_file_can_be_dropped_onto_the_upload_form(visitor: Visitor, keyed: Keyed) -> None:
    visitor.sign_in(keyed[1]["write"])
    page = visitor.page
    visitor.go("/console/files/upload?project=dropped")
    page.locator("[data-drop]").evaluate(
        """(zone) => {
          const transfer = new DataTransfer();
          transfer.items.add(new File(["dropped"], "drop.md"));
          zone.dispatchEvent(new DragEvent("drop", {dataTransfer: transfer, bubbles: true}));
        }"""
    )
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_text("Stored /drop.md.")).to_be_visible()


def test_folders_of_the_tree_open_in_place_and_large_ones_have_pages(
    visitor: Visitor, keyed: Keyed
) -> None:
    for number in range(3):
        store(keyed, "trees", f"/deep/er/file-{number}.md", "x")
    visitor.sign_in(keyed[1]["read"])
    page = visitor.page
    visitor.go("/console/files?project=trees")
    tree = page.get_by_role("navigation", name="Files of the project")
    tree.get_by_role("button", name="Entries of deep").click()
    tree.get_by_role("button", name="Entries of er").click()
    expect(tree.get_by_role("link", name="file-2.md")).to_be_visible()
    assert visitor.axe() == []
    tree.get_by_role("button", name="Entries of deep").click()
    expect(tree.get_by_role("link", name="file-2.md")).to_be_hidden()
    tree.get_by_role("button", name="Entries of deep").click()
    tree.get_by_role("link", name="file-2.md").click()
    expect(page).to_have_url(re.compile("file-2.md"))
    expect(tree.locator("[aria-current]")).to_have_text("file-2.md")


def test_a_line_has_an_address_and_a_large_file_is_shown_in_parts(
    visitor: Visitor, keyed: Keyed
) -> None:
    lines = [f"line {number} of a long text" for number in range(1, 12_001)]
    store(keyed, "large", "/long.txt", "\n".join(lines))
    visitor.sign_in(keyed[1]["write"])
    page = visitor.page
    visitor.go("/console/files?project=large&path=/long.txt#L200")
    expect(page.locator("#L200")).to_be_in_viewport()
    expect(page.get_by_text("A large file: bytes 0 to")).to_be_visible()
    page.get_by_role("link", name="Next part").click()
    expect(page.locator(".line").first).to_be_visible()
    first = page.locator(".line").nth(5)
    assert first.inner_text().strip() == f"line {first.get_attribute('data-line')} of a long text"
    visitor.go("/console/files?project=large&q=line+9000+of&mode=text")
    page.get_by_role("link", name="/long.txt").click()
    expect(page.locator(".line.hit")).to_have_attribute("data-line", "9000")
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download").click()
    assert waiting.value.suggested_filename == "long.txt"


def test_markdown_is_shown_rendered_or_as_source(visitor: Visitor, keyed: Keyed) -> None:
    store(keyed, "looks", "/a.md", "# Title\n\nSome *words*.\n")
    visitor.sign_in(keyed[1]["read"])
    page = visitor.page
    visitor.go("/console/files?project=looks&path=/a.md")
    page.get_by_role("link", name="Rendered").click()
    expect(page.locator(".markdown em")).to_have_text("words")


@pytest.mark.parametrize("width", [360, 1280])
def test_the_files_pages_are_accessible_and_fit(
    new_visitor: VisitorFactory, keyed: Keyed, width: int
) -> None:
    long_name = "/docs/" + "a-rather-long-name" * 6 + ".py"
    store(keyed, "access", long_name, "def f(x):\n    return x  # " + "y" * 300 + "\n")
    visitor = new_visitor(keyed[0].address, viewport={"width": width, "height": 800})
    visitor.sign_in(keyed[1]["write"])
    for address in (
        "/console/files",
        "/console/files?project=access",
        f"/console/files?project=access&path={long_name}",
        "/console/files?project=access&q=return",
        "/console/files?project=access&q=return&mode=text",
        f"/console/files/edit?project=access&path={long_name}",
        f"/console/files/append?project=access&path={long_name}",
        f"/console/files/rename?project=access&path={long_name}",
        "/console/files/new?project=access",
        "/console/files/upload?project=access",
        "/console/files/deleted?project=access",
    ):
        visitor.go(address)
        assert visitor.page.locator("h1").count() == 1, address
        assert visitor.axe() == [], address
        assert visitor.overflow() <= 0, address


def test_everything_works_without_scripts(new_visitor: VisitorFactory, keyed: Keyed) -> None:
    store(keyed, "plain", "/docs/a.md", "Plain rollback.\r\n")
    visitor = new_visitor(keyed[0].address, java_script_enabled=False)
    visitor.sign_in(keyed[1]["write"])
    page = visitor.page
    visitor.go("/console/files?project=plain")
    page.get_by_role("navigation", name="Files of the project").get_by_text("docs").click()
    page.get_by_role("region", name="Content of the folder").get_by_text("a.md").click()
    page.get_by_role("link", name="Edit").click()
    page.get_by_label("Text of /docs/a.md").fill("Changed.\n")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#file-text")).to_contain_text("Changed.")
    assert read(keyed, "plain", "/docs/a.md") == "Changed.\r\n"
    page.get_by_label("Search in this project").fill("changed")
    page.get_by_label("Find", exact=True).select_option("regex")
    page.get_by_label("Search in this project").fill("Chang.d")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("Lines found: 1")).to_be_visible()
    page.get_by_role("link", name="/docs/a.md").click()
    page.get_by_role("link", name="Delete", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#file-text")).to_contain_text("Changed.")


def test_a_missing_file_is_a_page_with_a_hint(visitor: Visitor, keyed: Keyed) -> None:
    visitor.sign_in(keyed[1]["read"])
    visitor.allow("404")
    visitor.go("/console/files?project=reading&path=/never.md")
    expect(visitor.page.get_by_text("There is no file or folder /never.md")).to_be_visible()
    assert visitor.axe() == []
