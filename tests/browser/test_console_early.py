"""A person is quicker than the page: before its scripts listen, and before an answer comes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import expect
from tests.browser.conftest import Visitor, call, held_request
from tests.server.conformance.program import Served

DOCUMENT = "openapi: 3.0.3\ninfo: {{title: {title}, version: '1'}}\npaths: {{}}\n"
KEEP_READING = """
const open = indexedDB.open.bind(indexedDB);
indexedDB.open = (...names) => {
  const request = open(...names);
  Object.defineProperty(request, "onsuccess", {set() {}}); // the database never answers
  return request;
};
"""
Keyed = tuple[Served, dict[str, str], Path]


def store(keyed: Keyed, path: str, content: str) -> None:
    arguments = {"project": "early", "path": path, "content": content, "mode": "TRUNCATE"}
    call(keyed[0], keyed[1]["write"], "file_write", arguments)


@contextmanager
def before_the_scripts(visitor: Visitor, path: str) -> Iterator[None]:
    """Show a page whose scripts arrive when the block ends."""
    scripts = visitor.go_before_scripts(path)
    yield
    scripts.continue_()
    visitor.wait_for_scripts()


def test_a_filter_that_was_typed_early_is_applied(visitor: Visitor, keyed: Keyed) -> None:
    visitor.sign_in(keyed[1]["read"])
    with before_the_scripts(visitor, "/console/tools"):
        visitor.page.get_by_label("Find a tool", exact=True).fill("rekall")
    expect(visitor.page.get_by_role("link", name="health_check")).to_have_count(0)
    expect(visitor.page.get_by_role("link", name="rekall_add")).to_be_visible()
    visitor.page.wait_for_url("**/console/tools?q=rekall**")


def test_a_choice_that_was_made_early_is_applied(visitor: Visitor, keyed: Keyed) -> None:
    visitor.sign_in(keyed[1]["read"])
    with before_the_scripts(visitor, "/console/tools"):
        visitor.page.get_by_label("Access").select_option("reads")
    expect(visitor.page.get_by_role("link", name="rekall_add")).to_have_count(0)
    expect(visitor.page.get_by_role("link", name="rekall_search", exact=True)).to_be_visible()
    visitor.page.go_back()
    expect(visitor.page.get_by_role("link", name="rekall_add", exact=True)).to_be_visible()


def test_all_rows_that_were_selected_early_are_ticked(visitor: Visitor, keyed: Keyed) -> None:
    rule = {"id": "early", "title": "Early", "body": "Be early."}
    call(keyed[0], keyed[1]["admin"], "instructions_add", {"entry": rule, "lax": True})
    visitor.sign_in(keyed[1]["admin"])
    with before_the_scripts(visitor, "/console/instructions"):
        visitor.page.get_by_label("Select all rows").check()
    expect(visitor.page.get_by_label("Select early")).to_be_checked()


def test_text_is_kept_before_the_database_of_the_browser_answers(
    visitor: Visitor, keyed: Keyed
) -> None:
    visitor.sign_in(keyed[1]["write"])
    page = visitor.page
    visitor.go("/console/new-memory")
    page.get_by_label("What to remember").fill("The first text.")
    page.reload()
    expect(page.get_by_role("button", name="Restore it")).to_have_count(1)
    slow = page.context.new_page()
    slow.add_init_script(KEEP_READING)
    slow.goto(f"{visitor.origin}/console/new-memory")
    slow.get_by_label("What to remember").fill("The second text.")
    slow.close()
    page.reload()
    expect(page.get_by_role("button", name="Restore it")).to_have_count(2)
    page.get_by_role("button", name="Restore it").first.click()
    expect(page.get_by_label("What to remember")).to_have_value("The second text.")


def test_a_document_that_was_chosen_early_is_checked(visitor: Visitor, keyed: Keyed) -> None:
    visitor.sign_in(keyed[1]["read"])
    text = DOCUMENT.format(title="Early").encode()
    with before_the_scripts(visitor, "/console/openapi"):
        visitor.page.get_by_label("Or a file").set_input_files(
            {"name": "early.yaml", "mimeType": "text/yaml", "buffer": text}
        )
    expect(visitor.page.get_by_text("early.yaml is in the text area.")).to_be_visible()
    expect(visitor.page.get_by_text("0 paths, 0 operations, 0 schemas")).to_be_visible()


def test_a_folder_that_is_pressed_twice_shows_its_entries_once(
    visitor: Visitor, keyed: Keyed
) -> None:
    store(keyed, "/deep/file.md", "x")
    visitor.sign_in(keyed[1]["read"])
    page = visitor.page
    visitor.go("/console/files?project=early")
    folder = page.get_by_role("button", name="Entries of deep")
    with held_request(page, "**/console/files/branch*") as held:
        folder.click()
    folder.click()
    held[0].continue_()
    expect(folder).to_have_attribute("aria-expanded", "true")
    tree = page.get_by_role("navigation", name="Files of the project")
    expect(tree.get_by_role("link", name="file.md")).to_have_count(1)


def test_the_relation_is_the_chosen_one_whatever_was_searched(
    visitor: Visitor, keyed: Keyed
) -> None:
    server, keys, _ = keyed
    lesson = {"type": "bug", "content": "Learned early."}
    first, second = (
        call(server, keys["write"], "rekall_add", {**lesson, "title": f"Lesson {name}"})["id"]
        for name in ("one", "two")
    )
    visitor.sign_in(keys["write"])
    page = visitor.page
    visitor.go(f"/console/memory/{first}/link?q=Lesson")
    page.get_by_label("This entry ... the other").select_option("supersedes")
    page.get_by_role("button", name="Lesson two").click()
    expect(page.get_by_text("Linked", exact=True)).to_be_visible()
    shown = call(server, keys["read"], "rekall_show", {"id": second})
    assert shown["status"] == "obsolete"


def test_a_slow_press_on_a_result_opens_it(visitor: Visitor, keyed: Keyed) -> None:
    """Pressing a link takes the focus from the search field, which must not replace the link."""
    visitor.sign_in(keyed[1]["read"])
    page = visitor.page
    visitor.go("/console/tools")
    page.get_by_label("Find a tool", exact=True).press_sequentially("rekall_add")
    expect(page.get_by_role("link", name="health_check")).to_have_count(0)
    page.get_by_role("link", name="rekall_add", exact=True).hover()
    page.mouse.down()
    page.wait_for_timeout(1000)  # as long as an answer may take to come
    page.mouse.up()
    page.wait_for_url("**/console/tools/rekall_add**")
