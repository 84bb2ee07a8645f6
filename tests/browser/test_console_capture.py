"""What a person does with proposals: paste a transcript, edit, accept, reject; in every look."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.browser.conftest import Visitor, VisitorFactory, call
from tests.server.conformance.program import Served

Keyed = tuple[Served, dict[str, str], Path]
HOSTILE = "<img src=x onerror=\"alert('owned')\">"


def propose(server: Served, key: str, *sentences: str) -> list[str]:
    text = "\n".join(f"User: {sentence}\n" for sentence in sentences)
    answer = call(server, key, "capture_transcript", {"text": text, "project": "shop"})
    return [item["id"] for item in answer["queued"]]


def test_a_person_pastes_a_transcript_and_decides(visitor: Visitor, keyed: Keyed) -> None:
    _, keys, _ = keyed
    visitor.sign_in(keys["write"])
    page = visitor.page
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Capture").click()
    page.get_by_role("link", name="Read a transcript").click()
    page.get_by_label("Transcript").fill(
        "User: Never touch the vendor folder by hand.\n"
        "User: We decided to cache images for a week instead of a day because traffic is paid.\n"
        f"User: Remember that {HOSTILE} the exporter needs the VPN.\n"
    )
    page.get_by_label("Project").fill("shop")
    page.get_by_role("button", name="Propose lessons and rules").click()
    expect(page.get_by_text("3 new proposals.")).to_be_visible()
    cards = page.get_by_role("article")
    expect(cards.filter(has_text="exporter needs the VPN")).to_have_count(1)
    assert page.locator("article img").count() == 0

    card = cards.filter(has_text="vendor folder")
    card.get_by_role("button", name="Reject").click()
    expect(page.get_by_text("It is not proposed again.")).to_be_visible()
    expect(card).to_have_count(0)

    cards.filter(has_text="cache images").get_by_role("link", name="Edit").click()
    page.get_by_label("Title").fill("Images are cached for a week")
    page.get_by_role("button", name="Accept").click()
    expect(page.get_by_text("Added as memory:")).to_be_visible()
    expect(cards.filter(has_text="cache images")).to_have_count(0)
    page.get_by_role("link", name="Accepted").click()
    accepted = cards.filter(has_text="Images are cached for a week")
    accepted.get_by_role("link", name="memory:").click()
    expect(page.get_by_role("heading", name="Images are cached for a week")).to_be_visible()


def test_without_scripts_everything_works_too(new_visitor: VisitorFactory, keyed: Keyed) -> None:
    server, keys, _ = keyed
    propose(server, keys["write"], "Always sort the imports of every module.")
    visitor = new_visitor(server.address, java_script_enabled=False)
    visitor.sign_in(keys["write"])
    visitor.go("/console/capture?kind=rule")
    page = visitor.page
    card = page.get_by_role("article").filter(has_text="sort the imports")
    card.get_by_role("link", name="Edit").click()
    page.get_by_label("What it says").fill("Sort the imports of every module, always.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_label("What it says")).to_have_value(
        "Sort the imports of every module, always."
    )
    page.get_by_role("button", name="Reject").click()
    page.get_by_role("link", name="Rejected").click()
    expect(page.get_by_role("article").filter(has_text="sort the imports")).to_be_visible()


def test_what_was_typed_is_kept_as_a_draft(visitor: Visitor, keyed: Keyed) -> None:
    server, keys, _ = keyed
    (id_,) = propose(server, keys["write"], "Every release must have a signed tag.")
    visitor.sign_in(keys["write"])
    visitor.go(f"/console/capture/{id_}")
    visitor.page.get_by_label("Title").fill("Releases are signed")
    visitor.page.wait_for_function(
        "id => Object.keys(localStorage).some((name) => name.endsWith(`capture:${id}`))", arg=id_
    )
    visitor.page.reload()
    expect(visitor.page.get_by_text("Unsaved text from")).to_be_visible()
    visitor.page.get_by_role("button", name="Restore it").click()
    expect(visitor.page.get_by_label("Title")).to_have_value("Releases are signed")


def test_a_key_that_may_read_sees_proposals_and_no_forms(visitor: Visitor, keyed: Keyed) -> None:
    server, keys, _ = keyed
    propose(server, keys["write"], "Never store amounts as floats anywhere.")
    visitor.sign_in(keys["read"])
    visitor.go("/console/capture")
    assert visitor.page.get_by_role("button", name="Accept").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_pages_fit_and_are_accessible(
    new_visitor: VisitorFactory, keyed: Keyed, scheme: str, width: int
) -> None:
    server, keys, _ = keyed
    sentence = f"Always test with a width of {width} pixels in {scheme} mode."
    (id_,) = propose(server, keys["write"], sentence)
    visitor = new_visitor(
        server.address, color_scheme=scheme, viewport={"width": width, "height": 800}
    )
    visitor.sign_in(keys["write"])
    for path in ("/console/capture", f"/console/capture/{id_}", "/console/new-capture"):
        visitor.go(path)
        assert visitor.overflow() <= 0, path
        assert visitor.axe() == [], path
