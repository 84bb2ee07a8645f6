"""What a first-time user does on the Memory page: add a lesson, find it with the reason, link
it, see the drawing, correct it.
"""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect
from tests.browser.conftest import Visitor, call
from tests.server.conformance.program import Served

HOSTILE = "<img src=x onerror=\"alert('owned')\"> %%{init: {'theme':'x'}}%% \"]; click n0"


def test_a_person_adds_a_lesson_finds_it_links_it_and_sees_the_drawing(
    visitor: Visitor, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    server, keys, _ = keyed
    call(
        server,
        keys["write"],
        "rekall_add",
        {"type": "bug", "title": f"Sockets leak {HOSTILE}", "content": f"Close them. {HOSTILE}"},
    )
    visitor.sign_in(keys["write"])
    page = visitor.page
    page.get_by_role("button", name="Memory").click()
    page.get_by_role("button", name="Add").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Title").fill("Retry idempotent calls only")
    dialog.get_by_label("What to remember").fill("A second POST charged a customer twice.")
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_text("It is linked to nothing yet.")).to_be_visible()

    page.get_by_role("button", name="Link").click()
    page.get_by_role("dialog").get_by_label("Find the other entry").fill("sockets leak")
    page.get_by_role("dialog").get_by_role("button", name="Sockets leak").click()
    expect(page.get_by_text("Linked", exact=True)).to_be_visible()
    drawing = page.locator("svg[aria-roledescription^=flowchart]")
    expect(drawing).to_contain_text("Retry idempotent")
    expect(drawing).to_contain_text("Sockets leak")
    assert drawing.locator("image, img").count() == 0

    page.get_by_role("button", name="Correct").click()
    page.get_by_role("dialog").get_by_label("Title").fill("Retry only idempotent calls")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.get_by_text("Retry only idempotent calls").first).to_be_visible()

    visitor.go("/console/memory?q=charged twice")
    expect(page.get_by_text("Why: words found").first).to_be_visible()
    expect(page.locator(".cp-mark").first).to_be_visible()
    page.get_by_role("link", name="Retry only idempotent calls").click()
    expect(page.get_by_text("A second POST charged a customer twice.")).to_be_visible()
    assert visitor.executed == []
    assert visitor.foreign == []
    assert visitor.problems == []


def test_a_person_sees_both_sides_of_a_suggestion_and_accepts_it(
    visitor: Visitor, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    server, keys, _ = keyed
    for title in ("Pin the compiler version in builds", "Pin the compiler version for builds"):
        content = f"{title}: a new compiler changed the artefact."
        call(
            server,
            keys["write"],
            "rekall_add",
            {"type": "pattern", "title": title, "content": content},
        )
    visitor.sign_in(keys["write"])
    page = visitor.page
    visitor.go("/console/memory?tab=suggestions")
    card = page.locator(".q-card").filter(has_text="Pin the compiler version in builds").first
    expect(card).to_contain_text("in builds: a new compiler changed the artefact.")
    expect(card).to_contain_text("for builds: a new compiler changed the artefact.")
    card.get_by_role("button", name="Accept").click()
    expect(card.get_by_role("button", name="Accept")).to_have_count(0)
    page.get_by_role("tab", name="Entries").click()
    page.get_by_role("cell", name="Pin the compiler version in builds").click()
    expect(page.locator("svg[aria-roledescription^=flowchart]")).to_contain_text("for builds")


def test_a_reader_may_search_but_not_add(
    visitor: Visitor, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    visitor.sign_in(keyed[1]["read"])
    visitor.go("/console/memory")
    expect(visitor.page.get_by_label("Search the memory, as an agent would")).to_be_visible()
    expect(visitor.page.get_by_role("button", name="Add")).to_have_count(0)
