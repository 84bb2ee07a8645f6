"""What a person does on the pages of the memory: add, find, link, correct, delete and decide."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import Visitor, VisitorFactory, call
from tests.server.conformance.program import Served

HOSTILE = "<img src=x onerror=\"alert('owned')\"> %%{init: {'theme':'x'}}%% \"]; click n0"
Keyed = tuple[Served, dict[str, str], Path]


def add(server: Served, key: str, title: str, content: str = "", **fields: Any) -> str:
    entry = {"type": "bug", "title": title, "content": content or f"About: {title}", **fields}
    return str(call(server, key, "rekall_add", entry)["id"])


def drawing(page: Page) -> Any:
    return page.frame_locator("iframe.graph").locator("svg[aria-roledescription^=flowchart]")


def test_a_person_adds_a_lesson_finds_it_links_it_and_sees_the_drawing(
    visitor: Visitor, keyed: Keyed
) -> None:
    server, keys, _ = keyed
    add(server, keys["write"], f"Sockets leak {HOSTILE}", f"Close them. {HOSTILE}")
    visitor.sign_in(keys["write"])
    page = visitor.page
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Memory").click()
    page.get_by_role("link", name="Add").click()
    page.get_by_label("Title").fill("Retry idempotent calls only")
    page.get_by_label("What to remember").fill("A second POST charged a customer twice.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("It is linked to nothing yet.")).to_be_visible()

    page.get_by_role("link", name="Link", exact=True).click()
    page.get_by_label("Find the other entry").fill("sockets leak")
    page.get_by_role("button", name="Sockets leak").click()
    expect(page.get_by_text("Linked", exact=True)).to_be_visible()
    expect(drawing(page)).to_contain_text("Retry idempotent")
    expect(drawing(page)).to_contain_text("Sockets leak")
    assert drawing(page).locator("image, img, a").count() == 0

    page.get_by_role("link", name="Correct").click()
    page.get_by_label("Title").fill("Retry only idempotent calls")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Retry only idempotent calls")).to_be_visible()

    visitor.go("/console/memory?q=charged twice")
    expect(page.get_by_text("Why: words found").first).to_be_visible()
    expect(page.locator("mark").first).to_be_visible()
    page.get_by_role("link", name="Retry only idempotent calls").click()
    expect(page.get_by_text("A second POST charged a customer twice.")).to_be_visible()
    expect(drawing(page)).to_contain_text("Sockets leak")
    drawing(page).locator(".node", has_text="Sockets leak").click()
    expect(page.get_by_role("heading", name="Sockets leak")).to_be_visible()


def test_a_person_sees_both_sides_of_a_suggestion_and_accepts_it(
    visitor: Visitor, keyed: Keyed
) -> None:
    server, keys, _ = keyed
    for title in ("Pin the compiler version in builds", "Pin the compiler version for builds"):
        content = f"{title}: a new compiler changed the artefact."
        add(server, keys["write"], title, content, type="pattern")
    visitor.sign_in(keys["write"])
    page = visitor.page
    visitor.go("/console/memory?tab=suggestions")
    card = page.get_by_role("article").filter(has_text="Pin the compiler version in builds").first
    expect(card).to_contain_text("in builds: a new compiler changed the artefact.")
    expect(card).to_contain_text("for builds: a new compiler changed the artefact.")
    before = page.get_by_role("article").count()
    card.get_by_role("button", name="Merge").click()
    expect(page.get_by_text("Merged ")).to_be_visible()
    expect(page.get_by_role("article")).to_have_count(before - 1)
    page.get_by_role("link", name="Entries").click()
    page.get_by_role("link", name="Pin the compiler version in builds").click()
    expect(drawing(page)).to_contain_text("for builds")


def test_a_person_says_which_side_of_a_contradiction_holds(visitor: Visitor, keyed: Keyed) -> None:
    server, keys, _ = keyed
    for branch in ("trunk", "stable"):
        text = f"The default branch of the zebra repository is {branch}."
        add(server, keys["write"], f"Default branch of zebra is {branch}", text)
    visitor.sign_in(keys["write"])
    page = visitor.page
    visitor.go("/console/memory?q=default branch of zebra is trunk")
    page.get_by_role("link", name="zebra is trunk").click()
    expect(page.get_by_text("Undecided: another entry says otherwise.")).to_be_visible()
    page.get_by_role("link", name="Decide").click()
    card = page.get_by_role("article").filter(has_text="zebra is trunk")
    card.locator("div.columns > div").filter(has_text="is stable").get_by_role("button").click()
    text = "Default branch of zebra is stable replaces Default branch of zebra is trunk"
    expect(page.get_by_text(text)).to_be_visible()
    expect(card).to_have_count(0)
    assert visitor.overflow() == 0


def test_a_person_decides_many_suggestions_and_reads_the_timeline(
    visitor: Visitor, keyed: Keyed
) -> None:
    server, keys, _ = keyed
    for word in ("zebra", "quagga", "okapi"):
        text = f"The {word} importer stops at the {word} barrier of the {word} queue"
        add(server, keys["write"], f"Importer {word}", f"{text}.", project="bulk")
        add(server, keys["write"], f"Importer of {word}", f"{text} too.", project="bulk")
    visitor.sign_in(keys["write"])
    page = visitor.page
    visitor.go("/console/memory?tab=suggestions&project=bulk")
    expect(page.get_by_role("article")).to_have_count(3)
    page.get_by_role("button", name="Accept ticked").click()
    expect(page.get_by_text("Tick the suggestions to decide.")).to_be_visible()
    card = page.get_by_role("article").filter(has_text="zebra")
    card.get_by_role("checkbox").check()
    page.get_by_role("button", name="Accept ticked").click()
    expect(page.get_by_text("1 accepted, 1 merged")).to_be_visible()
    expect(page.get_by_role("article")).to_have_count(2)
    page.get_by_role("link", name="Reject all 2").click()
    page.get_by_role("dialog").get_by_role("button", name="Reject").click()
    expect(page.get_by_text("2 rejected")).to_be_visible()
    expect(page.get_by_text("No suggestion fits.")).to_be_visible()

    page.get_by_role("link", name="Timeline").click()
    page.get_by_label("Project").fill("bulk")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("6 added, 1 merged, 1 superseded")).to_be_visible()
    page.get_by_label("What").select_option("merged")
    expect(page).to_have_url(re.compile("kind=merged"))
    expect(page.locator("#timeline li")).to_have_count(1)
    page.locator("#timeline li a").click()
    expect(page.get_by_text("of 1 (0 confirmed, 0 refuted)")).to_be_visible()


def test_a_deleted_entry_is_brought_back_from_the_message_and_from_the_list(
    visitor: Visitor, keyed: Keyed
) -> None:
    server, keys, _ = keyed
    identity = add(server, keys["write"], "Rotate the logs weekly")
    visitor.sign_in(keys["write"])
    page = visitor.page
    visitor.go(f"/console/memory/{identity}")
    page.get_by_role("link", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Deleted: Rotate the logs weekly")).to_be_visible()
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(page.get_by_role("heading", name="Rotate the logs weekly")).to_be_visible()

    call(server, keys["write"], "memory_delete", {"id": identity})
    visitor.go("/console/memory?tab=deleted")
    page.get_by_role("button", name="Bring back").click()
    expect(page.get_by_text("Tick what to bring back.")).to_be_visible()
    page.get_by_role("row", name="Rotate the logs weekly").get_by_role("checkbox").check()
    page.get_by_role("button", name="Bring back").click()
    expect(page.get_by_role("heading", name="Rotate the logs weekly")).to_be_visible()


def test_an_entry_that_was_replaced_leads_to_its_successor(visitor: Visitor, keyed: Keyed) -> None:
    server, keys, _ = keyed
    old = add(server, keys["write"], "Deploy on Fridays", "Deploy whenever it is ready.")
    add(server, keys["write"], "Deploy until Thursday", "Nobody is there on Saturday.")
    visitor.sign_in(keys["write"])
    page = visitor.page
    visitor.go("/console/memory?q=Deploy until Thursday")
    page.get_by_role("link", name="Deploy until Thursday").click()
    page.get_by_role("link", name="Link", exact=True).click()
    page.get_by_label("Find the other entry").fill("Deploy on Fridays")
    page.get_by_label("This entry ... the other").select_option("supersedes")
    page.get_by_role("button", name="Deploy on Fridays").click()
    expect(page.get_by_text("Linked", exact=True)).to_be_visible()
    visitor.go(f"/console/memory/{old}")
    expect(page.get_by_text("obsolete", exact=True)).to_be_visible()
    page.get_by_role("link", name="Replaced by: Deploy until Thursday").click()
    expect(page.get_by_role("heading", name="Deploy until Thursday")).to_be_visible()


def test_the_number_of_days_decides_what_is_stale(visitor: Visitor, keyed: Keyed) -> None:
    visitor.sign_in(keyed[1]["write"])
    page = visitor.page
    visitor.go("/console/memory?tab=stale")
    expect(page.get_by_text("Entries nobody read for 90 days are shown here.")).to_be_visible()
    page.get_by_label("Not read for days").fill("30")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("Entries nobody read for 30 days")).to_be_visible()
    expect(page).to_have_url(re.compile("days=30"))


def test_a_change_by_somebody_else_is_shown_before_it_is_overwritten(
    visitor: Visitor, keyed: Keyed
) -> None:
    server, keys, _ = keyed
    identity = add(server, keys["write"], "Disputed lesson", "One.\nTwo.")
    visitor.allow("status of 409")
    visitor.sign_in(keys["write"])
    page = visitor.page
    visitor.go(f"/console/memory/{identity}/edit")
    page.get_by_label("What to remember").fill("One.\nMine.")
    call(server, keys["write"], "memory_update", {"id": identity, "content": "One.\nTheirs."})
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Somebody changed this entry")).to_be_visible()
    expect(page.locator("pre.diff")).to_contain_text("-Theirs.")
    expect(page.locator("pre.diff")).to_contain_text("+Mine.")
    page.get_by_role("button", name="Save my version over it").click()
    expect(page.get_by_text("Corrected")).to_be_visible()
    assert call(server, keys["read"], "rekall_show", {"id": identity})["content"] == "One.\nMine."


def test_unsaved_text_is_offered_again_and_a_refused_form_keeps_it(
    visitor: Visitor, keyed: Keyed
) -> None:
    visitor.allow("status of 422")
    visitor.sign_in(keyed[1]["write"])
    page = visitor.page
    visitor.go("/console/new-memory")
    page.get_by_label("What to remember").fill("A lesson without a title.")
    visitor.go("/console/memory")
    visitor.go("/console/new-memory")
    page.get_by_role("button", name="Restore it").click()
    expect(page.get_by_label("What to remember")).to_have_value("A lesson without a title.")
    page.get_by_label("Title").fill("x" * 101)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("What to remember")).to_have_value("A lesson without a title.")
    page.get_by_label("Title").fill("Now it has one")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Now it has one")).to_be_visible()
    visitor.go("/console/new-memory")
    expect(page.get_by_role("button", name="Restore it")).to_have_count(0)


def test_filters_and_pages_are_in_the_address(visitor: Visitor, keyed: Keyed) -> None:
    server, keys, _ = keyed
    for number in range(22):
        kind = "decision" if number % 2 else "pitfall"
        text = f"Lesson number {number} of many"
        add(server, keys["write"], text, type=kind, project="paging", tags=[f"tag-{number % 3}"])
    visitor.sign_in(keys["read"])
    page = visitor.page
    visitor.go("/console/memory?project=paging")
    expect(page.get_by_text("Entries: 22", exact=True)).to_be_visible()
    page.get_by_role("link", name="Next").click()
    expect(page.get_by_text("Page 2 of 2")).to_be_visible()
    page.go_back()
    page.get_by_label("Type").select_option("decision")
    expect(page.get_by_text("Entries: 11", exact=True)).to_be_visible()
    page.reload()
    expect(page.get_by_text("Entries: 11", exact=True)).to_be_visible()
    page.get_by_label("Tag", exact=True).fill("no-such-tag")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("No entry fits.")).to_be_visible()


def test_an_open_list_says_that_entries_were_added(visitor: Visitor, keyed: Keyed) -> None:
    server, keys, _ = keyed
    visitor.sign_in(keys["read"])
    page = visitor.page
    add(server, keys["write"], "Older news", project="news")
    visitor.go("/console/memory?project=news")
    expect(page.get_by_text("Entries: 1", exact=True)).to_be_visible()
    add(server, keys["write"], "Quite other newer tidings", project="news")
    page.get_by_role("link", name="Show the changes").click()
    expect(page.get_by_text("Entries: 2", exact=True)).to_be_visible()


def test_a_reader_may_search_but_not_change(visitor: Visitor, keyed: Keyed) -> None:
    server, keys, _ = keyed
    identity = add(server, keys["write"], "Readers see this")
    visitor.sign_in(keys["read"])
    page = visitor.page
    visitor.go("/console/memory")
    expect(page.get_by_label("Search the memory, as an agent would")).to_be_visible()
    expect(page.get_by_role("link", name="Add")).to_have_count(0)
    visitor.go(f"/console/memory/{identity}")
    for name in ("Correct", "Link", "Delete"):
        expect(page.get_by_role("link", name=name, exact=True)).to_have_count(0)
    visitor.go(f"/console/memory/{identity}/edit")
    expect(page.get_by_text("Your key may read only.")).to_be_visible()
    expect(page.get_by_role("button", name="Save")).to_have_count(0)


def test_an_unknown_entry_is_reported(visitor: Visitor, keyed: Keyed) -> None:
    visitor.allow("status of 404")
    visitor.sign_in(keyed[1]["read"])
    visitor.go("/console/memory/01ARZ3NDEKTSV4RRFFQ69G5FAV")
    expect(visitor.page.get_by_role("heading", name="Not found")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_pages_are_accessible_and_fit_a_narrow_window(
    new_visitor: VisitorFactory, keyed: Keyed, theme: str
) -> None:
    server, keys, _ = keyed
    first = add(server, keys["write"], f"Accessible in {theme}", "# Head\n\nText", tags=["a11y"])
    second = add(server, keys["write"], f"Its neighbour in {theme}")
    call(server, keys["write"], "rekall_link", {"source_id": first, "target_id": second})
    gone = add(server, keys["write"], f"Deleted in {theme}")
    call(server, keys["write"], "memory_delete", {"id": gone})
    visitor = new_visitor(
        server.address, color_scheme=theme, viewport={"width": 360, "height": 800}
    )
    visitor.sign_in(keys["admin"])
    for path in (
        "memory",
        "memory?q=accessible",
        "memory?tab=suggestions",
        "memory?tab=stale",
        "memory?tab=deleted",
        f"memory/{first}",
        f"memory/{first}?view=raw",
        f"memory/{first}?confirm=delete",
        f"memory/{first}/edit",
        f"memory/{first}/link?q=neighbour",
        "new-memory",
    ):
        visitor.go(f"/console/{path}")
        if path == f"memory/{first}":
            expect(drawing(visitor.page)).to_be_visible()
        assert visitor.axe() == [], path
        assert visitor.overflow() <= 0, path
        assert visitor.page.locator("h1").count() == 1, path


def test_the_pages_work_without_scripts(new_visitor: VisitorFactory, keyed: Keyed) -> None:
    server, keys, _ = keyed
    visitor = new_visitor(server.address, java_script_enabled=False)
    visitor.sign_in(keys["write"])
    page = visitor.page
    visitor.go("/console/new-memory")
    page.get_by_label("Title").fill("Remembered without scripts")
    page.get_by_label("What to remember").fill("Plain forms are enough.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Remembered without scripts")).to_be_visible()
    page.get_by_role("link", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(page.get_by_role("heading", name="Remembered without scripts")).to_be_visible()
    visitor.go("/console/memory")
    page.get_by_label("Search the memory").fill("plain forms")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("Why:").first).to_be_visible()
