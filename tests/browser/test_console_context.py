"""What a person sees on the page Context: the pack of an agent, why, and what was left out."""

from __future__ import annotations

import time
from pathlib import Path

from playwright.sync_api import expect
from tests.browser.conftest import Visitor, VisitorFactory, call
from tests.server.conformance.program import Served

PROJECT = "ledger"
LEDGER = '''"""The ledger."""

import decimal


def round_ledger_total(lines):
    """Round the total of a ledger to cents, half up."""
    total = sum(line.amount for line in lines)
    return total.quantize(decimal.Decimal("0.01"), decimal.ROUND_HALF_UP)
'''
RULE = {
    "id": "ledger-amounts",
    "title": "Amounts of the ledger",
    "body": "Keep amounts of the ledger as Decimal.\u202e",
    "appliesTo": ["ledger/**"],
    "status": "approved",
}
LESSON = {
    "type": "bug",
    "title": "Ledger totals were rounded twice",
    "content": "The ledger total was rounded in the query and in Python. Round once, in Python.",
}
Keyed = tuple[Served, dict[str, str], Path]


def fill(keyed: Keyed) -> None:
    server, keys, _ = keyed
    key = keys["admin"]
    call(server, key, "instructions_add", {"entry": RULE, "lax": True, "overwrite": True})
    call(server, key, "rekall_add", LESSON)
    written = {"project": PROJECT, "path": "/ledger/total.py", "content": LEDGER}
    call(server, key, "file_write", {**written, "mode": "TRUNCATE"})
    give_up = time.monotonic() + 60
    while not call(server, key, "file_index_status", {"project": PROJECT})["up_to_date"]:
        assert time.monotonic() < give_up, "the index did not catch up"
        time.sleep(0.1)


def test_a_person_sees_what_an_agent_gets_for_a_task_and_follows_a_reference(
    visitor: Visitor, keyed: Keyed
) -> None:
    fill(keyed)
    visitor.sign_in(keyed[1]["admin"])
    page = visitor.page
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Context").click()
    page.get_by_label("Task or prompt").fill("Round the ledger total half up in round_ledger_total")
    page.get_by_label("Paths that change").fill("ledger/total.py")
    page.get_by_label("Show the scores").check()
    page.get_by_role("button", name="Show the context").click()
    page.wait_for_url("**/console/context?task=*")
    rules = page.get_by_role("region", name="Rules in effect")
    expect(rules).to_contain_text("ledger/total.py matches ledger/**")
    expect(rules).to_contain_text("<U+202E>")
    expect(page.get_by_role("region", name="Lessons")).to_contain_text("Round once, in Python.")
    passages = page.get_by_role("region", name="Passages of files")
    expect(passages).to_contain_text("def round_ledger_total")
    expect(passages).to_contain_text("defines round_ledger_total")
    expect(passages).to_contain_text("topic")
    expect(page.get_by_role("region", name="Left out")).to_contain_text("operations")
    assert visitor.axe() == []
    passages.get_by_role("link", name=f"file:{PROJECT}/ledger/total.py").click()
    page.wait_for_url("**/console/files?**")
    expect(page.get_by_text("def round_ledger_total").first).to_be_visible()


def test_the_address_shows_another_person_the_same_pack_and_then_only_what_is_new(
    visitor: Visitor, keyed: Keyed
) -> None:
    fill(keyed)
    visitor.sign_in(keyed[1]["admin"])
    visitor.go("/console/context?task=ledger+totals+rounded+twice&budget=900")
    page = visitor.page
    expect(page.get_by_label("Budget in tokens")).to_have_value("900")
    expect(page.get_by_text("of 900")).to_be_visible()
    expect(page.get_by_role("region", name="Lessons")).to_contain_text("Round once, in Python.")
    page.get_by_role("link", name="Ask again, only for what is new after this pack").click()
    expect(page.get_by_role("region", name="Left out")).to_contain_text("Already shown")
    visitor.go("/console/context?task=x&since=nothing")
    expect(page.get_by_role("alert")).to_contain_text("PACK_NOT_FOUND")
    visitor.go("/console/context?task=x&budget=5")
    expect(page.get_by_role("alert")).to_contain_text("INVALID_ARGUMENT")


def test_the_page_works_without_scripts(new_visitor: VisitorFactory, keyed: Keyed) -> None:
    fill(keyed)
    visitor = new_visitor(keyed[0].address, java_script_enabled=False)
    visitor.sign_in(keyed[1]["read"])
    visitor.go("/console/context")
    page = visitor.page
    page.get_by_label("Task or prompt").fill("Bake a chocolate cake for eight guests")
    page.get_by_role("button", name="Show the context").click()
    expect(page.get_by_role("region", name="Left out")).to_contain_text(
        "lessons, passages, operations."
    )


def test_a_task_is_kept_until_it_was_asked(visitor: Visitor, keyed: Keyed) -> None:
    visitor.sign_in(keyed[1]["read"])
    page = visitor.page
    visitor.go("/console/context")
    page.get_by_label("Task or prompt").fill("Round the totals\nof the ledger")
    page.reload()
    page.get_by_role("button", name="Restore it").click()
    expect(page.get_by_label("Task or prompt")).to_have_value("Round the totals\nof the ledger")
    page.get_by_role("button", name="Show the context").click()
    page.wait_for_url("**/console/context?task=**")
    visitor.wait_for_scripts()
    visitor.go("/console/context")
    expect(page.get_by_label("Task or prompt")).to_have_value("")
    expect(page.get_by_role("button", name="Restore it")).to_have_count(0)


def test_a_task_that_is_too_long_for_an_address_is_told(visitor: Visitor, keyed: Keyed) -> None:
    visitor.sign_in(keyed[1]["read"])
    page = visitor.page
    visitor.go(f"/console/context?task={'ledger+' * 600}")
    expect(
        page.get_by_text("Only the first 4,000 characters of the task were used.")
    ).to_be_visible()
    visitor.go("/console/context")
    area = page.get_by_label("Task or prompt")
    area.fill("x" * 3_999)
    area.press_sequentially("yz")  # the address would be too long for a server
    assert area.input_value() == "x" * 3_999 + "y"
