"""No text that a person typed is lost: reload, theme, sign-in again, crash and restart."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect
from tests.browser.conftest import Visitor, VisitorFactory, add_key, wait_for
from tests.browser.restarting import server_with_keys
from tests.server.conformance.program import Served

FORM = "/console/tools/file_write"
TEXT = "A long text.\n\n\tWith a tab, <b>markup</b> & “quotes”."
AWAY = "ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET|net::ERR"


def type_text(page: Page) -> None:
    page.get_by_label("project *").fill("drafts")
    page.get_by_label("content *").fill(TEXT)


def restore(page: Page) -> None:
    page.get_by_role("button", name="Restore it").click()
    expect(page.get_by_label("content *")).to_have_value(TEXT)
    expect(page.get_by_label("project *")).to_have_value("drafts")


def test_text_is_offered_after_a_reload(
    visitor: Visitor, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    visitor.sign_in(keyed[1]["admin"])
    visitor.go(FORM)
    type_text(visitor.page)
    visitor.page.reload()
    expect(visitor.page.get_by_text("Unsaved text from")).to_be_visible()
    assert visitor.axe() == []
    restore(visitor.page)


def test_text_that_was_typed_before_the_scripts_arrived_is_offered_after_a_reload(
    visitor: Visitor, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    visitor.sign_in(keyed[1]["admin"])
    page = visitor.page
    scripts = visitor.go_before_scripts(FORM)
    type_text(page)
    scripts.continue_()
    wait_for(page, lambda: "drafts" in page.evaluate("JSON.stringify(localStorage)"))
    page.reload()
    restore(page)


def test_text_is_offered_after_leaving_the_page_and_can_be_discarded(
    visitor: Visitor, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    visitor.sign_in(keyed[1]["admin"])
    page = visitor.page
    visitor.go(FORM)
    type_text(page)
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Audit").click()
    page.wait_for_url("**/console/audit")
    visitor.go(FORM)
    page.get_by_role("button", name="Discard it").click()
    page.reload()
    expect(page.get_by_label("content *")).to_have_value("")
    expect(page.get_by_text("Unsaved text from")).to_have_count(0)


def test_saved_text_is_not_offered_again(
    visitor: Visitor, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    visitor.sign_in(keyed[1]["admin"])
    page = visitor.page
    visitor.go(FORM)
    type_text(page)
    page.get_by_label("path *").fill("/saved.md")
    page.get_by_role("button", name="Call", exact=True).click()
    expect(page.get_by_text("Answered in")).to_be_visible()
    visitor.wait_for_scripts()
    visitor.go(FORM)
    expect(page.get_by_label("content *")).to_have_value("")
    expect(page.get_by_text("Unsaved text from")).to_have_count(0)


def test_a_change_of_the_theme_keeps_the_text_in_its_field(
    visitor: Visitor, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    visitor.sign_in(keyed[1]["admin"])
    page = visitor.page
    visitor.go(FORM)
    type_text(page)
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Dark theme").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    expect(page.get_by_label("content *")).to_have_value(TEXT)
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.get_by_role("button", name="Light theme")).to_be_visible()


def test_text_is_offered_after_signing_in_again(
    visitor: Visitor, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    """The session ended while a form was open: sending it leads to the sign-in page and back."""
    visitor.sign_in(keyed[1]["admin"])
    page = visitor.page
    visitor.go(FORM)
    type_text(page)
    page.context.clear_cookies()
    page.get_by_role("button", name="Call", exact=True).click()
    page.wait_for_url("**/console/login?next=**")
    page.get_by_label("API key").fill(keyed[1]["admin"])
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"**{FORM}")
    restore(page)


def test_a_crash_and_restart_of_the_server_costs_nothing(
    new_visitor: VisitorFactory, tmp_path: Path
) -> None:
    key = add_key(tmp_path, "admin")
    with server_with_keys(tmp_path) as server:
        visitor = new_visitor(server.address)
        visitor.sign_in(key)
        page = visitor.page
        visitor.go(FORM)
        type_text(page)
        page.get_by_label("path *").fill("/after.md")
        visitor.allow(AWAY)
        server.kill()
        server.start()
        page.get_by_role("button", name="Call", exact=True).click()
        expect(page.get_by_text("Answered in")).to_be_visible()
        expect(page.get_by_label("content *")).to_have_value(TEXT)


def test_text_sent_while_the_server_is_down_is_offered_later(
    new_visitor: VisitorFactory, tmp_path: Path
) -> None:
    key = add_key(tmp_path, "admin")
    with server_with_keys(tmp_path) as server:
        visitor = new_visitor(server.address)
        visitor.sign_in(key)
        page = visitor.page
        visitor.go(FORM)
        type_text(page)
        visitor.allow(AWAY)
        server.kill()
        page.get_by_role("button", name="Call", exact=True).click()
        page.wait_for_url("chrome-error://**")
        server.start()
        visitor.go(FORM)
        restore(page)


def test_live_parts_come_back_after_a_restart(new_visitor: VisitorFactory, tmp_path: Path) -> None:
    key = add_key(tmp_path, "admin")
    with server_with_keys(tmp_path) as server:
        visitor = new_visitor(server.address)
        visitor.sign_in(key)
        page = visitor.page
        page.locator("[data-live][data-listening]").wait_for()
        visitor.allow(AWAY)
        assert server.stop() < 8, "an open page must not delay the end of the server"
        expect(page.locator("[data-live][data-offline]")).to_be_visible()
        server.start()
        expect(page.locator("[data-live]:not([data-offline])")).to_be_visible()
        uptime = page.locator(".card", has_text="Up for").locator(".figure")
        expect(uptime).to_contain_text("0 min")
        before = uptime.inner_text()
        expect(uptime).not_to_have_text(before)


def test_texts_in_two_tabs_are_both_kept(
    visitor: Visitor, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    visitor.sign_in(keyed[1]["write"])
    first, second = visitor.page, visitor.page.context.new_page()
    for page in (first, second):
        page.goto(f"{visitor.origin}/console/new-memory", wait_until="load")
    first.get_by_label("What to remember").fill("Typed in the first tab.")
    second.get_by_label("What to remember").fill("Typed in the second tab.")
    second.close()
    first.close()
    later = visitor.page.context.new_page()
    later.goto(f"{visitor.origin}/console/new-memory")
    expect(later.get_by_role("button", name="Restore it")).to_have_count(2)
    later.get_by_role("button", name="Restore it").last.click()
    expect(later.get_by_label("What to remember")).to_have_value("Typed in the first tab.")


def test_text_of_another_tab_is_kept_when_a_form_is_saved(
    visitor: Visitor, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    visitor.sign_in(keyed[1]["write"])
    first, second = visitor.page, visitor.page.context.new_page()
    for page in (first, second):
        page.goto(f"{visitor.origin}/console/new-memory", wait_until="load")
    second.get_by_label("What to remember").fill("Still being typed.")
    first.get_by_label("Title").fill("Saved first")
    first.get_by_label("What to remember").fill("Typed and saved.")
    first.get_by_role("button", name="Save").click()
    expect(first.get_by_role("heading", name="Saved first")).to_be_visible()
    visitor.wait_for_scripts()
    second.close()
    visitor.go("/console/new-memory")
    expect(first.get_by_role("button", name="Restore it")).to_have_count(1)
    first.get_by_role("button", name="Restore it").click()
    expect(first.get_by_label("What to remember")).to_have_value("Still being typed.")
