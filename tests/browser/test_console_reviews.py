"""What a person does with reviews, and with what was removed or archived."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.browser.conftest import Visitor, VisitorFactory, call
from tests.server.conformance.program import Served

Keyed = tuple[Served, dict[str, str], Path]
GOVERNANCE = "/console/instructions?tab=governance"
PICTURES = os.environ.get("COMMONPLACE_PICTURES")  # a folder, to look at the pages


def add(server: Served, key: str, identity: str, body: str, **fields: Any) -> None:
    entry = {"id": identity, "title": f"Title of {identity}", "body": body, **fields}
    call(server, key, "instructions_add", {"entry": entry, "lax": True})


def body_of(server: Served, key: str, identity: str) -> str:
    return str(call(server, key, "instructions_get", {"id": identity})["item"]["body"])


def picture(visitor: Visitor, name: str) -> None:
    if PICTURES:
        visitor.page.screenshot(path=f"{PICTURES}/{name}.png", full_page=True)


def test_a_person_proposes_a_change_and_another_approves_it(
    new_visitor: VisitorFactory, keyed: Keyed
) -> None:
    server, keys, _ = keyed
    add(server, keys["admin"], "careful", "Read first.\nThen write.\n")
    author = new_visitor(server.address)
    author.sign_in(keys["write"])
    author.go("/console/instructions/careful/edit")
    author.page.get_by_label("Body").fill("Read first.\nThen think.\nThen write.\n")
    author.page.get_by_role("button", name="Propose for review").click()
    expect(author.page.locator("pre.diff").first).to_contain_text("+Then think.")
    assert "think" not in body_of(server, keys["read"], "careful")
    author.page.get_by_label("Comment").fill("It saves time.")
    author.wait_for_scripts()
    author.page.reload()
    author.page.get_by_role("button", name="Restore it").click()
    author.page.get_by_role("button", name="Only comment").click()
    expect(author.page.get_by_text("It saves time.")).to_be_visible()
    assert author.axe() == []

    approver = new_visitor(server.address, color_scheme="dark")
    approver.sign_in(keys["admin"])
    approver.go(GOVERNANCE)
    queue = approver.page.get_by_role("region", name="Waiting for review")
    expect(queue.get_by_role("cell", name="Title of careful")).to_be_visible()
    assert approver.axe() == []
    picture(approver, "queue-dark")
    queue.get_by_role("link", name="careful", exact=True).click()
    assert approver.axe() == []
    picture(approver, "review-dark")
    approver.page.get_by_role("button", name="Approve").click()
    expect(approver.page.get_by_text("Approved: careful")).to_be_visible()
    assert "Then think." in body_of(server, keys["read"], "careful")
    approver.go("/console/instructions/careful?view=governance")
    expect(approver.page.get_by_role("definition").get_by_text("adminer")).to_be_visible()
    approver.go("/console/instructions/careful/review")
    expect(approver.page.get_by_text("Nothing of it waits for a review.")).to_be_visible()


def test_a_text_that_changed_since_it_was_seen_is_not_approved(
    visitor: Visitor, keyed: Keyed
) -> None:
    server, keys, _ = keyed
    add(server, keys["admin"], "moving", "One.")
    submit = {"id": "moving", "entry": {"body": "Two."}}
    call(server, keys["write"], "instructions_review_submit", submit)
    visitor.allow("status of 409")
    visitor.sign_in(keys["admin"])
    visitor.go("/console/instructions/moving/review")
    visitor.page.get_by_label("Comment").fill("Fine with me.")
    submit["entry"] = {"body": "Three."}
    call(server, keys["write"], "instructions_review_submit", submit)
    visitor.page.get_by_role("button", name="Approve").click()
    expect(visitor.page.get_by_text("is not as you saw it")).to_be_visible()
    expect(visitor.page.locator("pre.diff").first).to_contain_text("+Three.")
    expect(visitor.page.get_by_label("Comment")).to_have_value("Fine with me.")
    assert body_of(server, keys["read"], "moving") == "One."
    visitor.page.get_by_role("button", name="Send back").click()
    expect(visitor.page.get_by_role("button", name="Submit for review")).to_be_visible()


@pytest.mark.parametrize("scripts", [True, False])
def test_removed_and_archived_rules_are_brought_back(
    new_visitor: VisitorFactory, keyed: Keyed, scripts: bool
) -> None:
    server, keys, _ = keyed
    suffix = "a" if scripts else "b"
    old, lost = f"old-{suffix}", f"lost-{suffix}"
    bulk = [f"bulk-{suffix}-{number:02}" for number in range(11)]
    for identity in (old, lost, *bulk):
        add(server, keys["admin"], identity, "Text.")
    call(server, keys["admin"], "instructions_remove", {"ids": [lost]})
    call(server, keys["admin"], "instructions_remove", {"ids": bulk, "confirm": True})
    visitor = new_visitor(server.address, java_script_enabled=scripts)
    visitor.sign_in(keys["admin"])
    page = visitor.page
    visitor.go(f"/console/instructions/{old}?view=governance")
    page.get_by_role("button", name="Archive").click()
    expect(page.get_by_text(f"Archived {old}")).to_be_visible()
    visitor.go(f"/console/instructions/{old}")
    expect(page.get_by_text("This instruction is archived")).to_be_visible()
    visitor.go(GOVERNANCE)
    picture(visitor, f"kept-{suffix}")
    page.get_by_role("button", name=f"Bring back {old}", exact=True).click()
    expect(page.get_by_text(f"{old} is back")).to_be_visible()
    visitor.go(GOVERNANCE)
    page.get_by_text("Removed: ", exact=False).first.click()
    restore = page.get_by_role("button", name=f"Restore {lost}", exact=True)
    if not restore.is_visible():
        page.get_by_text("Removed: ", exact=False).first.click()
    restore.click()
    expect(page.get_by_role("heading", name=f"Title of {lost}")).to_be_visible()
    visitor.go(GOVERNANCE)
    page.get_by_role("button", name="Bring back the removal").first.click()
    expect(page.get_by_text("11 brought back")).to_be_visible()
    assert body_of(server, keys["read"], bulk[0]) == "Text."


def test_the_pages_fit_a_telephone_and_a_reader_cannot_decide(
    new_visitor: VisitorFactory, keyed: Keyed
) -> None:
    server, keys, _ = keyed
    add(server, keys["admin"], "narrow", "One.", status="draft")
    call(server, keys["write"], "instructions_review_submit", {"id": "narrow", "note": "x" * 400})
    visitor = new_visitor(server.address, viewport={"width": 360, "height": 740})
    visitor.sign_in(keys["read"])
    for path in (GOVERNANCE, "/console/instructions/narrow/review"):
        visitor.go(path)
        assert visitor.overflow() == 0, path
    picture(visitor, "review-narrow")
    expect(visitor.page.get_by_role("button", name="Approve")).to_have_count(0)
    expect(visitor.page.get_by_text("Your key may read only.")).to_be_visible()
