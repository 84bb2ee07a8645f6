"""The console's shell in a real browser: sign-in, navigation, palette, sizes and access."""

from __future__ import annotations

import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.browser.conftest import SOAK, Visitor, VisitorFactory, add_key, call
from tests.browser.every_page import fill_every_page
from tests.server.conformance.program import COMMONPLACE, Served, environment

Keyed = tuple[Served, dict[str, str], Path]
COMBINATIONS = [(360, "light"), (1280, "dark")] + (
    [(360, "dark"), (768, "light"), (1280, "light"), (1600, "dark")] if SOAK else []
)


@pytest.fixture(scope="module")
def addresses(keyed: Keyed) -> list[str]:
    return fill_every_page(keyed[0], keyed[1]["admin"])


def test_without_a_key_no_page_is_shown(visitor: Visitor) -> None:
    visitor.allow("status of 401")
    visitor.go("/console/tools")
    expect(visitor.page).to_have_url(f"http://{visitor.address}/console/login?next=/console/tools")
    assert visitor.axe() == []
    visitor.page.get_by_label("API key").fill("cp_wrong")
    visitor.page.get_by_role("button", name="Sign in").click()
    expect(visitor.page.get_by_role("alert")).to_contain_text("not valid")
    assert visitor.axe() == []


def test_the_login_form_requires_its_csrf_token(keyed: Keyed) -> None:
    server, keys, _ = keyed
    body = f"key={keys['admin']}&csrf=guessed".encode()
    request = urllib.request.Request(
        f"http://{server.address}/console/login", data=body, method="POST"
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=10)
    assert refused.value.code == 403


def test_the_security_headers_are_set(keyed: Keyed) -> None:
    with urllib.request.urlopen(f"http://{keyed[0].address}/console/login", timeout=10) as answer:
        assert "script-src 'self';" in answer.headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "HttpOnly" in answer.headers["Set-Cookie"]
        assert "SameSite=strict" in answer.headers["Set-Cookie"]


def test_a_link_to_a_view_leads_there_after_signing_in(visitor: Visitor, keyed: Keyed) -> None:
    view = "/console/audit?tool=file_write&outcome=ok"
    visitor.go(view)
    visitor.page.get_by_label("API key").fill(keyed[1]["admin"])
    visitor.page.get_by_role("button", name="Sign in").click()
    expect(visitor.page).to_have_url(f"http://{visitor.address}{view}")


def test_a_revoked_key_is_told_on_an_open_page(visitor: Visitor, keyed: Keyed) -> None:
    data = keyed[2]
    key = add_key(data, "write")
    visitor.sign_in(key)
    visitor.page.get_by_role("heading", name="Overview").wait_for()
    revoke = [str(COMMONPLACE), "keys", "revoke", key.split("_")[1]]
    visitor.allow("status of 401")  # of the stream that connects again
    subprocess.run(revoke, env=environment(data), capture_output=True, check=True)
    expect(visitor.page.get_by_text("You are signed out.")).to_be_visible()
    visitor.page.get_by_role("link", name="Tools").click()
    visitor.page.wait_for_url("**/console/login?next=/console/tools")


def test_signing_out_ends_the_session(visitor: Visitor, keyed: Keyed) -> None:
    visitor.sign_in(keyed[1]["read"])
    visitor.page.get_by_role("button", name="Sign out").click()
    visitor.page.wait_for_url("**/console/login")
    visitor.go("/console/")
    expect(visitor.page).to_have_url(f"http://{visitor.address}/console/login")


def test_an_unknown_address_is_answered_by_the_console(visitor: Visitor, keyed: Keyed) -> None:
    visitor.sign_in(keyed[1]["read"])
    visitor.allow("status of 404")
    answer = visitor.page.goto(f"http://{visitor.address}/console/no-such-page")
    assert answer is not None
    assert answer.status == 404
    visitor.page.get_by_text("This page does not exist.").wait_for()
    assert visitor.axe() == []
    visitor.page.get_by_role("link", name="Tools").click()
    visitor.page.wait_for_url("**/console/tools")


def test_pages_are_links_with_back_reload_and_new_tabs(visitor: Visitor, keyed: Keyed) -> None:
    visitor.sign_in(keyed[1]["admin"])
    page = visitor.page
    navigation = page.get_by_role("navigation", name="Pages")
    for name in ("Context", "Instructions", "Files", "Memory", "OpenAPI", "Tools", "Audit"):
        navigation.get_by_role("link", name=name).click()
        page.wait_for_url(f"**/console/{name.lower()}**")
        expect(navigation.get_by_role("link", name=name)).to_have_attribute("aria-current", "page")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.go_back()
    page.wait_for_url("**/console/tools")
    page.go_forward()
    page.wait_for_url("**/console/audit")
    page.reload()
    expect(page.get_by_role("heading", name="Audit")).to_be_visible()
    with page.context.expect_page() as opened:
        navigation.get_by_role("link", name="Tools").click(button="middle")
    tab = opened.value
    tab.wait_for_url("**/console/tools")
    expect(tab.get_by_role("heading", name="Tools")).to_be_visible()
    assert page.url.endswith("/console/audit")


def test_the_keyboard_reaches_the_content_first(visitor: Visitor, keyed: Keyed) -> None:
    visitor.sign_in(keyed[1]["read"])
    visitor.go("/console/tools")
    visitor.page.keyboard.press("Tab")
    expect(visitor.page.get_by_role("link", name="Skip to the content")).to_be_focused()
    visitor.page.keyboard.press("Enter")
    expect(visitor.page.locator("main")).to_be_focused()


def test_the_palette_finds_pages_tools_and_content(
    visitor: Visitor, keyed: Keyed, addresses: list[str]
) -> None:
    visitor.sign_in(keyed[1]["read"])
    page = visitor.page
    visitor.go("/console/files?project=seen")
    palette = page.get_by_role("dialog")
    page.keyboard.press("Control+k")
    expect(palette.get_by_role("link", name="Overview")).to_be_visible()
    assert visitor.axe() == []
    page.keyboard.type("seen every")
    expect(palette.get_by_role("link", name="Seen everywhere").first).to_be_visible()
    expect(palette.get_by_role("link", name="/notes.md")).to_be_visible()
    page.keyboard.press("Escape")
    expect(palette).to_be_hidden()
    page.keyboard.press("Control+k")
    page.keyboard.press("Control+a")
    page.keyboard.type("file_se")
    expect(palette.get_by_role("link", name="file_search")).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/console/tools/file_search")
    page.keyboard.press("Control+k")
    page.keyboard.type("audit")
    expect(palette.get_by_role("link", name="Audit", exact=True)).to_be_visible()
    page.keyboard.press("Enter")
    page.wait_for_url("**/console/audit")
    page.get_by_role("link", name="Find").click()
    expect(palette).to_be_visible()


def test_the_palette_shows_hostile_text_as_text(visitor: Visitor, keyed: Keyed) -> None:
    rule = {"id": "hostile-find", "title": "<img src=x onerror=alert(1)> hostilefind", "body": "x"}
    call(keyed[0], keyed[1]["admin"], "instructions_add", {"entry": rule, "lax": True})
    visitor.sign_in(keyed[1]["read"])
    visitor.go("/console/tools")
    visitor.page.keyboard.press("Control+k")
    visitor.page.keyboard.type("hostilefind")
    expect(visitor.page.get_by_role("dialog").get_by_text("<img src=x")).to_be_visible()


def test_the_overview_follows_what_happens(visitor: Visitor, keyed: Keyed) -> None:
    visitor.sign_in(keyed[1]["admin"])
    page = visitor.page
    page.get_by_role("heading", name="Recent changes and refusals").wait_for()
    memories = page.locator(".card", has_text="Memories").locator(".figure")
    before = memories.inner_text()
    lesson = {"type": "bug", "title": "Appears by itself", "content": "Without a reload."}
    call(keyed[0], keyed[1]["write"], "rekall_add", lesson)
    expect(memories).not_to_have_text(before)
    expect(page.locator("#recent").get_by_role("link", name="rekall_add").first).to_be_visible()
    chart = page.locator("#charts svg[role=img]").first
    assert "at most" in (chart.get_attribute("aria-label") or "")


def test_every_page_fits_a_tablet(
    new_visitor: VisitorFactory, keyed: Keyed, addresses: list[str]
) -> None:
    visitor = new_visitor(keyed[0].address, viewport={"width": 768, "height": 900})
    visitor.sign_in(keyed[1]["admin"])
    wide = []
    for address in addresses:
        visitor.go(f"/console{address}")
        if (wider := visitor.overflow()) > 0:
            wide.append(f"{address} is {wider} px too wide")
    assert wide == []


def find_faults(visitor: Visitor, address: str) -> list[str]:
    """Return what a page does wrong: status, landmarks, access, width, movement."""
    answer = visitor.page.goto(f"http://{visitor.address}/console{address}")
    assert answer is not None
    page = visitor.page
    page.get_by_role("heading", level=1).first.wait_for()
    visitor.wait_for_scripts()
    for frame in page.locator("iframe.graph").all():
        expect(frame).to_have_attribute("data-drawn", "true")
    wrong = visitor.axe()
    if answer.status != 200:
        wrong.append(f"status {answer.status}")
    for element in ("main", "h1"):
        if (count := page.locator(element).count()) != 1:
            wrong.append(f"{count} elements {element}")
    if (wider := visitor.overflow()) > 0:
        wrong.append(f"{wider} px too wide")
    if (moved := visitor.shift()) >= 0.1:
        wrong.append(f"moves while it loads: {moved:.3f}")
    return [f"{address}: {fault}" for fault in wrong]


@pytest.mark.parametrize(("width", "scheme"), COMBINATIONS)
def test_every_page_is_accessible_fits_and_stays_still(
    new_visitor: VisitorFactory, keyed: Keyed, addresses: list[str], scheme: str, width: int
) -> None:
    visitor = new_visitor(
        keyed[0].address, viewport={"width": width, "height": 900}, color_scheme=scheme
    )
    visitor.sign_in(keyed[1]["admin"])
    wrong = [fault for address in addresses for fault in find_faults(visitor, address)]
    assert wrong == []


def test_every_page_is_shown_without_scripts(
    new_visitor: VisitorFactory, keyed: Keyed, addresses: list[str]
) -> None:
    visitor = new_visitor(keyed[0].address, java_script_enabled=False)
    visitor.sign_in(keyed[1]["admin"])
    wrong = []
    for address in addresses:
        answer = visitor.page.goto(f"http://{visitor.address}/console{address}")
        assert answer is not None
        if answer.status != 200 or visitor.page.locator("main h1").count() != 1:
            wrong.append(f"{address}: {answer.status}")
    assert wrong == []


def test_forms_work_without_scripts(new_visitor: VisitorFactory, keyed: Keyed) -> None:
    visitor = new_visitor(keyed[0].address, java_script_enabled=False)
    visitor.sign_in(keyed[1]["admin"])
    page = visitor.page
    page.get_by_role("button", name="Dark theme").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.get_by_role("link", name="Find").click()
    page.locator("main").get_by_label("Page, tool or content").fill("health")
    page.locator("main").get_by_role("button", name="Show").click()
    page.get_by_role("link", name="health_check").click()
    page.get_by_role("button", name="Call", exact=True).click()
    expect(page.get_by_text("Answered in")).to_be_visible()
    page.get_by_text("Raw", exact=True).click()
    expect(page.locator("details[open] pre").first).to_contain_text('"status"')
    expect(page.get_by_role("button", name="Copy answer")).to_be_hidden()  # it needs scripts
    visitor.go("/console/audit")
    page.get_by_label("Reads too").check()
    page.get_by_label("Tool", exact=True).fill("health_check")
    page.get_by_role("button", name="Show").click()
    page.locator("#records").get_by_role("link", name="health_check").first.click()
    page.get_by_role("button", name="Run again").click()
    expect(page.get_by_role("heading", name="Answer")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("API key")).to_be_visible()
