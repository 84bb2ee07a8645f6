"""What a person does to make a rule of a lesson, and when the lesson no longer holds."""

from __future__ import annotations

import os
from pathlib import Path

from playwright.sync_api import expect
from tests.browser.conftest import Visitor, VisitorFactory, call
from tests.server.conformance.program import Served

Keyed = tuple[Served, dict[str, str], Path]
GOVERNANCE = "/console/instructions?tab=governance"
PICTURES = os.environ.get("COMMONPLACE_PICTURES")  # a folder, to look at the pages


def add(server: Served, key: str, title: str, content: str) -> str:
    entry = {"type": "bug", "title": title, "content": content, "tags": ["sqlite"]}
    return str(call(server, key, "rekall_add", entry)["id"])


def picture(visitor: Visitor, name: str) -> None:
    if PICTURES:
        visitor.page.screenshot(path=f"{PICTURES}/{name}.png", full_page=True)


def test_the_whole_rule_is_read_without_scrolling_sideways(visitor: Visitor, keyed: Keyed) -> None:
    server, keys, _ = keyed
    text = "Close each socket in the block that opened it, whatever happens there. " * 8
    entry = {"type": "bug", "title": "Close sockets", "content": text + "x" * 300}
    lesson = call(server, keys["write"], "rekall_add", entry)["id"]
    visitor.sign_in(keys["write"])
    visitor.page.set_viewport_size({"width": 360, "height": 800})
    visitor.go(f"/console/memory/{lesson}/promote")
    shown = visitor.page.locator("#preview pre.code").first
    expect(shown).to_contain_text("Close each socket")
    assert shown.evaluate("frame => frame.scrollWidth - frame.clientWidth") == 0
    assert visitor.overflow() == 0


def test_a_person_previews_changes_and_submits_a_rule_and_sees_when_its_lesson_is_replaced(
    visitor: Visitor, keyed: Keyed
) -> None:
    server, keys, _ = keyed
    lesson = add(server, keys["write"], "Writers wait for locks", "Set busy_timeout to 5000.")
    visitor.sign_in(keys["write"])
    page = visitor.page
    visitor.go(f"/console/memory/{lesson}")
    page.get_by_role("link", name="Promote to a rule").click()
    preview = page.locator("#preview")
    expect(preview).to_contain_text("Set busy_timeout to 5000.")
    expect(preview).to_contain_text("Learned from 1 lesson.")
    assert visitor.axe() == []
    page.get_by_label("Text", exact=True).fill("Set `busy_timeout` before the first write.")
    page.get_by_label("Files").fill("src/**/*.py")
    visitor.allow("422")
    page.get_by_role("button", name="Submit for review").click()  # not what was shown
    expect(page.get_by_text("Nothing was submitted yet")).to_be_visible()
    expect(preview).to_contain_text("before the first write.")
    expect(preview).to_contain_text("src/**/*.py")
    picture(visitor, "promote")
    page.get_by_role("button", name="Submit for review").click()
    expect(page.get_by_text("It comes from 1 lesson")).to_be_visible()
    picture(visitor, "promoted-review")
    page.get_by_role("button", name="Approve").click()

    visitor.go(GOVERNANCE)
    expect(page.get_by_text("Lessons no longer hold")).to_have_count(0)
    newer = add(server, keys["write"], "Writers queue", "Writes go through one queue.")
    link = {"source_id": newer, "target_id": lesson, "relation_type": "supersedes"}
    call(server, keys["write"], "rekall_link", link)
    page.reload()
    stale = page.get_by_role("region", name="Rules whose lessons no longer hold")
    expect(stale).to_contain_text("1 superseded of 1")
    assert visitor.axe() == []
    picture(visitor, "stale-rules")
    stale.get_by_role("checkbox").last.check()
    page.get_by_role("button", name="They still hold").click()
    expect(page.get_by_text("Lessons no longer hold")).to_have_count(0)


def test_the_form_works_without_scripts_and_a_reader_may_only_look(
    new_visitor: VisitorFactory, keyed: Keyed
) -> None:
    server, keys, _ = keyed
    lesson = add(server, keys["write"], "Ports stay open", "Close them after use.")
    plain = new_visitor(server.address, java_script_enabled=False)
    plain.sign_in(keys["write"])
    plain.go(f"/console/memory/{lesson}/promote")
    plain.page.get_by_label("Owner").fill("net team")
    plain.page.get_by_role("button", name="Preview").click()
    expect(plain.page.locator("#preview")).to_contain_text("net team")
    plain.page.get_by_role("button", name="Submit for review").click()
    expect(plain.page.get_by_role("heading", name="Ports stay open")).to_be_visible()

    reader = new_visitor(server.address, viewport={"width": 360, "height": 700})
    reader.sign_in(keys["read"])
    reader.go(f"/console/memory/{lesson}/promote")
    expect(reader.page.get_by_text("Your key may read only.")).to_be_visible()
    expect(reader.page.get_by_role("button", name="Submit for review")).to_have_count(0)
    picture(reader, "promote-narrow")
