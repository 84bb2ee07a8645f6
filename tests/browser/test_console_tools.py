"""The tools explorer: call, read the answer, copy the call, send it again."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from playwright.sync_api import expect
from tests.browser.conftest import Visitor, VisitorFactory
from tests.server.conformance.program import Served, serve_http

HOSTILE = "<img src=x onerror=\"alert('owned')\"><script>alert('owned')</script>"


def test_a_person_calls_a_tool_sees_it_in_the_audit_and_runs_it_again(
    visitor: Visitor, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    visitor.sign_in(keyed[1]["admin"])
    page = visitor.page
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Tools").click()
    page.get_by_role("link", name="health_check").click()
    page.get_by_role("button", name="Call", exact=True).click()
    expect(page.get_by_text("Answered in")).to_be_visible()
    expect(page.get_by_text("ok", exact=True).first).to_be_visible()
    page.get_by_role("link", name="Calls of this tool in the audit trail").click()
    page.get_by_role("link", name="health_check").first.click()
    page.get_by_role("button", name="Run again").click()
    expect(page.get_by_role("heading", name="Answer")).to_be_visible()
    expect(page.get_by_text('"ok"').first).to_be_visible()


def test_hostile_text_stays_text_in_form_answer_history_and_audit(
    visitor: Visitor, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    visitor.sign_in(keyed[1]["admin"])
    page = visitor.page
    visitor.go("/console/tools/file_write")
    page.get_by_label("project *").fill("demo")
    page.get_by_label("path *").fill("/hostile.md")
    page.get_by_label("content *").fill(HOSTILE)
    page.get_by_role("button", name="Call", exact=True).click()
    expect(page.get_by_text("Answered in")).to_be_visible()
    expect(page.get_by_label("content *")).to_have_value(HOSTILE)
    expect(page.locator(".history")).to_contain_text("<img src=x")
    visitor.go("/console/tools/file_read")
    page.get_by_label("project *").fill("demo")
    page.get_by_label("path *").fill("/hostile.md")
    page.get_by_role("button", name="Call", exact=True).click()
    expect(page.get_by_text(HOSTILE).first).to_be_visible()
    visitor.go("/console/audit?tool=file_write")
    page.get_by_role("link", name="file_write").first.click()
    expect(page.locator("pre.code")).to_contain_text("/hostile.md")


def test_a_reader_is_told_why_it_may_not_write(
    visitor: Visitor, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    visitor.sign_in(keyed[1]["read"])
    page = visitor.page
    visitor.go("/console/tools/file_delete")
    page.get_by_label("project *").fill("demo")
    page.get_by_label("path *").fill("/hostile.md")
    page.get_by_role("button", name="Call", exact=True).click()
    expect(page.get_by_text("SCOPE_REQUIRED").first).to_be_visible()
    expect(page.get_by_text("Refused in")).to_be_visible()


def test_a_wrong_field_keeps_the_text_and_sends_nothing(
    visitor: Visitor, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    visitor.sign_in(keyed[1]["read"])
    visitor.allow("status of 422")
    page = visitor.page
    visitor.go("/console/tools/rekall_search")
    page.get_by_label("query *").fill("kept")
    page.get_by_label("limit").fill("many")
    page.get_by_role("button", name="Call", exact=True).click()
    expect(page.get_by_role("alert")).to_have_text("limit must be a whole number.")
    expect(page.get_by_label("query *")).to_have_value("kept")
    assert visitor.axe() == []


def test_calls_are_listed_and_sent_again(
    visitor: Visitor, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    visitor.sign_in(keyed[1]["admin"])
    page = visitor.page
    visitor.go("/console/tools/instructions_dispatch")
    page.get_by_label("action *").select_option("search")
    page.get_by_label("other-arguments (JSON)").fill('{"q": "anything", "limit": 2}')
    page.get_by_role("button", name="Call", exact=True).click()
    expect(page.locator(".history li")).to_have_count(1)
    visitor.go("/console/tools/instructions_dispatch")
    row = page.locator(".history li").first
    expect(row).to_contain_text('"q":"anything"')
    assert visitor.axe() == []
    row.get_by_role("button", name="Send again").click()
    expect(page.get_by_text("Answered in")).to_be_visible()
    expect(page.get_by_label("action *")).to_have_value("search")
    expect(page.locator(".history li")).to_have_count(2)


def test_the_copied_curl_command_works_and_names_no_key(
    visitor: Visitor, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    key = keyed[1]["read"]
    visitor.sign_in(key)
    page = visitor.page
    visitor.go("/console/tools/rekall_search")
    page.get_by_label("query *").fill('it\'s "quoted" $HOME `x`')
    page.get_by_role("button", name="Call", exact=True).click()
    page.get_by_text("Copy this call").click()
    assert key not in page.content()
    command = page.locator("pre", has_text="curl -s").text_content()
    assert command is not None
    done = subprocess.run(
        ["bash", "-c", command],
        env={"PATH": "/usr/bin:/bin", "COMMONPLACE_KEY": key},
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    found = re.search(r"\{.*\}", done.stdout)
    assert found is not None, done.stdout
    answer = json.loads(found[0])
    assert answer["result"]["structuredContent"]["query"] == 'it\'s "quoted" $HOME `x`'


def test_a_call_is_shared_by_its_address(
    visitor: Visitor,
    new_visitor: VisitorFactory,
    keyed: tuple[Served, dict[str, str], Path],
) -> None:
    visitor.sign_in(keyed[1]["read"])
    page = visitor.page
    visitor.go("/console/tools/rekall_search")
    page.get_by_label("query *").fill("shared & kept")
    page.get_by_role("button", name="Call", exact=True).click()
    page.get_by_text("Copy this call").click()
    address = page.locator("pre", has_text="?args=").text_content()
    assert address is not None
    colleague = new_visitor(keyed[0].address)
    colleague.sign_in(keyed[1]["write"])
    colleague.go(address.strip())
    expect(colleague.page.get_by_label("query *")).to_have_value("shared & kept")


def test_the_answer_is_copied(new_visitor: VisitorFactory, tmp_path: Path) -> None:
    with serve_http(tmp_path) as server:
        visitor = new_visitor(server.address, permissions=["clipboard-read", "clipboard-write"])
        visitor.go("/console/tools/health_check")
        page = visitor.page
        page.get_by_role("button", name="Call", exact=True).click()
        page.get_by_text("Raw", exact=True).click()
        visitor.wait_for_scripts()
        page.get_by_role("button", name="Copy answer").click()
        expect(page.get_by_text("Copied.")).to_be_visible()
        assert json.loads(page.evaluate("navigator.clipboard.readText()"))["status"] == "ok"


def test_filters_of_the_list_change_the_address_as_a_person_types(
    visitor: Visitor, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    visitor.sign_in(keyed[1]["read"])
    page = visitor.page
    visitor.go("/console/tools")
    page.get_by_label("Find a tool", exact=True).press_sequentially("rekall")
    expect(page.locator(".tile")).to_have_count(9)
    page.wait_for_url("**/console/tools?q=rekall**")
    page.get_by_label("Access").select_option("reads")
    expect(page.get_by_role("link", name="rekall_add")).to_have_count(0)
    expect(page.get_by_role("link", name="rekall_search")).to_be_visible()
    shown = page.url
    page.reload()
    assert page.url == shown
    expect(page.get_by_label("Access")).to_have_value("reads")
    expect(page.get_by_role("link", name="rekall_add")).to_have_count(0)


def test_the_answer_is_copied_where_the_browser_has_no_clipboard(
    new_visitor: VisitorFactory, tmp_path: Path
) -> None:
    """Browsers offer the clipboard to scripts only on https and localhost."""
    without_clipboard = (
        'Object.defineProperty(Navigator.prototype, "clipboard", {value: undefined})'
    )
    with serve_http(tmp_path) as server:
        visitor = new_visitor(server.address)
        visitor.page.add_init_script(without_clipboard)
        visitor.go("/console/tools/health_check")
        page = visitor.page
        page.get_by_role("button", name="Call", exact=True).click()
        page.get_by_text("Raw", exact=True).click()
        visitor.wait_for_scripts()
        for _ in range(2):
            page.get_by_role("button", name="Copy answer").click()
        expect(page.get_by_text("Copied.")).to_have_count(1)
        visitor.go("/console/tools/memory_list")
        field = page.get_by_role("textbox").first
        field.press("Control+v")
        expect(field).to_have_value(re.compile('"status"'))
