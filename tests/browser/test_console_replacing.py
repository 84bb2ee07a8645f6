"""Parts of a page that are replaced while a person uses them: live parts and answers of filters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, Route, expect
from tests.browser.conftest import Visitor, call, held_request, wait_for
from tests.server.conformance.program import Served

COUNT_EVENTS = """
window.arrived = 0;
const listen = EventSource.prototype.addEventListener;
EventSource.prototype.addEventListener = function (name, act, ...rest) {
  const counted = (event) => { act(event); if (name !== "open") window.arrived += 1; };
  return listen.call(this, name, counted, ...rest);
};
"""
LINES = "".join(f"line {number}\n" for number in range(1, 401))
Keyed = tuple[Served, dict[str, str], Path]


def store(keyed: Keyed, path: str, content: str = "x") -> None:
    arguments = {"project": "replaced", "path": path, "content": content, "mode": "TRUNCATE"}
    call(keyed[0], keyed[1]["write"], "file_write", arguments)


def open_live(visitor: Visitor, key: str, path: str) -> Page:
    """Open a page with live parts; its first events have arrived."""
    visitor.sign_in(key)
    visitor.page.add_init_script(COUNT_EVENTS)
    visitor.go(path)
    wait_for(visitor.page, lambda: bool(visitor.page.evaluate("window.arrived")))
    return visitor.page


@contextmanager
def event_awaited(page: Page) -> Iterator[None]:
    """Wait at the end of the block until the server has sent a changed part."""
    before = page.evaluate("window.arrived")
    yield
    wait_for(page, lambda: page.evaluate("window.arrived") > before)


def test_a_press_on_a_record_opens_it_although_new_ones_arrive(
    visitor: Visitor, keyed: Keyed
) -> None:
    store(keyed, "/pressed.md")
    page = open_live(visitor, keyed[1]["admin"], "/console/audit?tool=file_write")
    page.locator("#records tbody tr").first.get_by_role("link").hover()
    page.mouse.down()
    with event_awaited(page):
        store(keyed, "/later.md")
    page.mouse.up()
    page.wait_for_url("**/console/audit/record**")
    expect(page.locator("pre.code")).to_contain_text("/pressed.md")


def test_a_record_does_not_move_away_from_the_pointer(visitor: Visitor, keyed: Keyed) -> None:
    store(keyed, "/pointed.md")
    page = open_live(visitor, keyed[1]["admin"], "/console/audit?tool=file_write")
    newest = page.locator("#records tbody tr").first.get_by_role("link")
    pointed = newest.get_attribute("href") or ""
    newest.hover()
    with event_awaited(page):
        store(keyed, "/later.md")
    expect(newest).to_have_attribute("href", pointed)
    page.mouse.move(640, 5)
    expect(newest).not_to_have_attribute("href", pointed)


def test_the_focus_stays_on_a_record_although_new_ones_arrive(
    visitor: Visitor, keyed: Keyed
) -> None:
    store(keyed, "/focused.md")
    page = open_live(visitor, keyed[1]["admin"], "/console/audit?tool=file_write")
    newest = page.locator("#records tbody tr").first.get_by_role("link")
    focused = newest.get_attribute("href") or ""
    newest.focus()
    store(keyed, "/later.md")
    expect(newest).not_to_have_attribute("href", focused)
    expect(page.locator(f'#records a[href="{focused}"]')).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("pre.code")).to_contain_text("/focused.md")


def test_a_file_that_grows_stays_where_it_is_read(visitor: Visitor, keyed: Keyed) -> None:
    store(keyed, "/long.txt", LINES)
    page = open_live(visitor, keyed[1]["read"], "/console/files?project=replaced&path=/long.txt")
    code = page.locator("#file-text pre.code")
    code.evaluate("(pre) => { pre.scrollTop = 3000; }")
    store(keyed, "/long.txt", f"{LINES}the last line\n")
    expect(code).to_contain_text("the last line")
    assert code.evaluate("(pre) => pre.scrollTop") == 3000


def test_a_file_that_is_changed_back_is_shown_as_it_is(visitor: Visitor, keyed: Keyed) -> None:
    store(keyed, "/back.txt", "first")
    page = open_live(visitor, keyed[1]["read"], "/console/files?project=replaced&path=/back.txt")
    version = page.locator(".facts div", has_text="Version").locator("dd")
    before = version.inner_text()
    store(keyed, "/back.txt", "second")
    expect(page.locator("#file-text")).to_contain_text("second")
    expect(version).not_to_have_text(before)
    store(keyed, "/back.txt", "first")
    expect(page.locator("#file-text")).to_contain_text("first")
    expect(version).to_have_text(before)


def test_text_of_a_file_stays_selected_until_it_was_copied(visitor: Visitor, keyed: Keyed) -> None:
    store(keyed, "/copied.txt", "copy this line\nand not this\n")
    page = open_live(visitor, keyed[1]["read"], "/console/files?project=replaced&path=/copied.txt")
    shown = page.locator("#file-text")
    page.locator("#file-text .line").first.evaluate(
        "(line) => getSelection().selectAllChildren(line)"
    )
    with event_awaited(page):
        store(keyed, "/copied.txt", "a new line\ncopy this line\n")
    assert page.evaluate("getSelection().toString().trim()") == "copy this line"
    expect(shown).not_to_contain_text("a new line")
    page.evaluate("getSelection().removeAllRanges()")
    expect(shown).to_contain_text("a new line")
    assert [text.strip() for text in page.locator("#file-text .line").all_inner_texts()] == [
        "a new line",
        "copy this line",
    ]


def test_a_press_on_a_result_opens_it_although_an_answer_comes(
    visitor: Visitor, keyed: Keyed
) -> None:
    visitor.sign_in(keyed[1]["read"])
    page = visitor.page
    visitor.go("/console/tools")
    with held_request(page, "**/console/tools?q=rekall*") as held:
        page.get_by_label("Find a tool", exact=True).press_sequentially("rekall")
    page.get_by_role("link", name="rekall_add", exact=True).hover()
    page.mouse.down()
    with page.expect_response("**/console/tools?q=rekall*"):
        held[0].continue_()
    expect(page.locator("form.htmx-request")).to_have_count(0)
    page.mouse.up()
    page.wait_for_url("**/console/tools/rekall_add**")


def test_an_answer_that_came_during_a_press_is_shown_after_it(
    visitor: Visitor, keyed: Keyed
) -> None:
    visitor.sign_in(keyed[1]["read"])
    page = visitor.page
    visitor.go("/console/tools")
    with held_request(page, "**/console/tools?q=rekall*") as held:
        page.get_by_label("Find a tool", exact=True).press_sequentially("rekall")
    page.get_by_role("link", name="rekall_add", exact=True).hover()
    page.mouse.down()
    with page.expect_response("**/console/tools?q=rekall*"):
        held[0].continue_()
    expect(page.locator("form.htmx-request")).to_have_count(0)
    expect(page.get_by_role("link", name="health_check")).to_be_visible()
    page.mouse.move(640, 5)
    page.mouse.up()
    expect(page.get_by_role("link", name="health_check")).to_have_count(0)
    expect(page.get_by_role("link", name="rekall_add", exact=True)).to_be_visible()


def test_the_focus_stays_on_a_result_that_is_found_again(visitor: Visitor, keyed: Keyed) -> None:
    visitor.sign_in(keyed[1]["read"])
    page = visitor.page
    visitor.go("/console/tools")
    with held_request(page, "**/console/tools?q=rekall*") as held:
        page.get_by_label("Find a tool", exact=True).press_sequentially("rekall")
    page.get_by_role("link", name="rekall_add", exact=True).focus()
    held[0].continue_()
    expect(page.get_by_role("link", name="health_check")).to_have_count(0)
    expect(page.get_by_role("link", name="rekall_add", exact=True)).to_be_focused()


def test_a_press_in_the_palette_opens_the_result_although_a_late_group_comes(
    visitor: Visitor, keyed: Keyed
) -> None:
    late: list[Route] = []

    def answer(route: Route) -> None:
        if late:
            late.append(route)
            return
        response = route.fetch()
        late.append(route)
        route.fulfill(response=response, body=f"{response.text()}<p data-late>Not yet.</p>")

    visitor.sign_in(keyed[1]["read"])
    page = visitor.page
    visitor.go("/console/audit")
    visitor.wait_for_scripts()
    page.route("**/console/find?*", answer)
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog")
    palette.get_by_role("link", name="Tools", exact=False).first.hover()
    page.mouse.down()
    wait_for(page, lambda: len(late) == 2)
    with page.expect_response("**/console/find?*"):
        late[1].continue_()
    page.evaluate("new Promise((resolve) => setTimeout(resolve, 50))")
    page.mouse.up()
    page.wait_for_url("**/console/tools")


def test_an_error_page_is_shown_where_the_result_would_have_been(
    visitor: Visitor, keyed: Keyed
) -> None:
    visitor.allow("status of 500|Error Code 500")
    visitor.sign_in(keyed[1]["read"])
    page = visitor.page
    visitor.go("/console/tools")
    failed = '<!doctype html><main id="main" tabindex="-1"><h2>This page failed</h2></main>'
    page.route(
        "**/console/tools?q=rekall*",
        lambda route: route.fulfill(status=500, content_type="text/html", body=failed),
        times=1,
    )
    field = page.get_by_label("Find a tool", exact=True)
    field.press_sequentially("rekall")
    expect(page.get_by_role("heading", name="This page failed")).to_be_visible()
    assert page.get_by_role("main").count() == 1
    field.press("Enter")
    expect(page.get_by_role("link", name="rekall_add", exact=True)).to_be_visible()
    expect(page.get_by_role("heading", name="This page failed")).to_have_count(0)


def test_results_stay_while_a_proxy_has_no_server(visitor: Visitor, keyed: Keyed) -> None:
    visitor.allow("status of 502|Error Code 502")
    visitor.sign_in(keyed[1]["read"])
    page = visitor.page
    visitor.go("/console/tools")
    page.route(
        "**/console/tools?q=rekall*",
        lambda route: route.fulfill(status=502, content_type="text/html", body="<h1>502</h1>"),
        times=1,
    )
    field = page.get_by_label("Find a tool", exact=True)
    field.press_sequentially("rekall")
    expect(page.get_by_text("The server could not answer.")).to_be_visible()
    expect(page.get_by_role("link", name="health_check")).to_be_visible()
    field.press("Enter")
    expect(page.get_by_role("link", name="health_check")).to_have_count(0)
    expect(page.get_by_role("link", name="rekall_add", exact=True)).to_be_visible()


def test_a_folder_can_be_opened_after_the_server_did_not_answer(
    visitor: Visitor, keyed: Keyed
) -> None:
    visitor.allow("ERR_FAILED")
    store(keyed, "/folder/inside.md")
    visitor.sign_in(keyed[1]["read"])
    page = visitor.page
    visitor.go("/console/files?project=replaced")
    page.route("**/console/files/branch*", lambda route: route.abort(), times=1)
    folder = page.get_by_role("button", name="Entries of folder")
    folder.click()
    expect(page.get_by_text("The server does not answer.")).to_be_visible()
    folder.click()
    expect(folder).to_have_attribute("aria-expanded", "true")
