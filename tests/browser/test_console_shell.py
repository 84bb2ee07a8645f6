"""The console's shell in a real browser against the shipped server."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from tests.browser.conftest import SOAK, Visitor, add_key, call
from tests.server.conformance.program import COMMONPLACE, Served, environment, serve_http

HOSTILE = "<img src=x onerror=\"alert('owned')\"><script>alert('owned')</script>"

PAGES = (
    ("/console/", "Calls per second"),
    ("/console/instructions", "Instructions:"),
    ("/console/instructions?tab=graph", "Copy source"),
    ("/console/instructions?tab=governance", "Review overdue"),
    ("/console/instructions?tab=prompt", "Paste a prompt"),
    ("/console/instructions?tab=usage", "last used"),
    ("/console/instructions?tab=feedback", "Feedback:"),
    ("/console/instructions/seen-everywhere", "History"),
    ("/console/new-instruction", "New instruction"),
    ("/console/files?project=seen&path=/notes.md&q=seen", "Passages found"),
    ("/console/memory", "Entries:"),
    ("/console/memory?q=seen", "Why:"),
    ("/console/memory?tab=suggestions", "Suggestions"),
    ("/console/memory?tab=stale", "Not read for days"),
    ("/console/memory?tab=deleted", "Deleted"),
    ("/console/openapi", "No document yet"),
    ("/console/openapi?ref=file:seen/api.yaml", "Nothing to mend"),
    ("/console/openapi?ref=file:seen/api.yaml&tab=operations", "Operations:"),
    ("/console/openapi?ref=file:seen/api.yaml&tab=schemas", "Schemas:"),
    (
        "/console/openapi?ref=file:seen/api.yaml&tab=compare&other=file:seen/api.yaml",
        "Nothing changed that clients",
    ),
    ("/console/openapi?ref=file:seen/api.yaml&tab=overlay", "Preview"),
    ("/console/openapi?ref=file:seen/api.yaml&tab=generate", "Package"),
    ("/console/tools", "health_check"),
    ("/console/tools/file_search", "No call yet"),
    ("/console/audit", "Check the chains"),
)
COMBINATIONS = [(400, "light"), (1280, "dark")] + (
    [(400, "dark"), (1280, "light"), (1600, "dark")] if SOAK else []
)


def test_without_a_key_no_page_is_shown(visitor: Visitor) -> None:
    visitor.go("/console/tools")
    expect(visitor.page).to_have_url(f"http://{visitor.address}/console/login?next=/console/tools")
    visitor.page.get_by_label("API key").fill("cp_wrong")
    visitor.page.get_by_role("button", name="Sign in").click()
    expect(visitor.page.get_by_role("alert")).to_contain_text("not valid")


def test_the_login_form_requires_its_csrf_token(keyed: tuple[Served, dict[str, str], Path]) -> None:
    server, keys, _ = keyed
    body = f"key={keys['admin']}&csrf=guessed".encode()
    request = urllib.request.Request(
        f"http://{server.address}/console/login", data=body, method="POST"
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=10)
    assert refused.value.code == 403


def test_a_person_signs_in_calls_a_tool_sees_it_in_the_audit_and_runs_it_again(
    visitor: Visitor, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    visitor.sign_in(keyed[1]["admin"])
    page = visitor.page
    page.get_by_role("button", name="Tools").click()
    page.get_by_role("link", name="health_check").click()
    page.get_by_role("button", name="Call", exact=True).click()
    expect(page.get_by_text("Answered in")).to_be_visible()
    expect(page.get_by_text("ok", exact=True).first).to_be_visible()
    visitor.go("/console/audit?reads=1&tool=health_check")
    page.get_by_role("cell", name="health_check").first.click()
    page.get_by_role("button", name="Run again").click()
    expect(page.get_by_text("Answer", exact=True)).to_be_visible()
    assert visitor.foreign == []
    assert visitor.problems == []


def test_a_change_made_from_a_form_is_in_the_audit_and_hostile_text_stays_text(
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
    visitor.go("/console/tools/file_read")
    page.get_by_label("project *").fill("demo")
    page.get_by_label("path *").fill("/hostile.md")
    page.get_by_role("button", name="Call", exact=True).click()
    expect(page.get_by_text(HOSTILE).first).to_be_visible()
    visitor.go("/console/audit?tool=file_write")
    expect(page.get_by_role("cell", name="file_write").first).to_be_visible()
    page.get_by_role("cell", name="file_write").first.click()
    expect(page.get_by_role("dialog").get_by_text("/hostile.md")).to_be_visible()
    assert visitor.executed == []
    assert visitor.foreign == []


def test_a_reader_is_told_why_it_may_not_write(
    visitor: Visitor, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    visitor.sign_in(keyed[1]["read"])
    visitor.go("/console/tools/file_delete")
    visitor.page.get_by_label("project *").fill("demo")
    visitor.page.get_by_label("path *").fill("/hostile.md")
    visitor.page.get_by_role("button", name="Call", exact=True).click()
    expect(visitor.page.get_by_text("SCOPE_REQUIRED").first).to_be_visible()


def test_a_revoked_key_ends_an_open_page(
    visitor: Visitor, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    _, _, data = keyed
    key = add_key(data, "write")
    visitor.sign_in(key)
    listed = subprocess.run(
        [str(COMMONPLACE), "keys", "list", "--json"],
        env=environment(data),
        capture_output=True,
        check=True,
        text=True,
    )
    identifier = json.loads(listed.stdout)["keys"][-1]["id"]
    subprocess.run(
        [str(COMMONPLACE), "keys", "revoke", identifier],
        env=environment(data),
        capture_output=True,
        check=True,
    )
    visitor.page.wait_for_url("**/console/login", timeout=30_000)


def test_signing_out_ends_the_session(
    visitor: Visitor, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    visitor.sign_in(keyed[1]["read"])
    visitor.page.get_by_role("button", name="Sign out").click()
    visitor.page.wait_for_url("**/console/login")
    visitor.go("/console/")
    expect(visitor.page).to_have_url(f"http://{visitor.address}/console/login")


def test_the_keyboard_palette_goes_anywhere(
    visitor: Visitor, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    visitor.sign_in(keyed[1]["read"])
    visitor.page.get_by_text("Calls per second").first.wait_for()
    visitor.page.keyboard.press("Control+k")
    visitor.page.get_by_label("Page or tool").fill("audit")
    visitor.page.keyboard.press("Enter")
    visitor.page.wait_for_url("**/console/audit")


def test_an_unknown_address_is_answered_by_the_console(
    visitor: Visitor, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    visitor.sign_in(keyed[1]["read"])
    answer = visitor.page.goto(f"http://{visitor.address}/console/no-such-page")
    assert answer is not None
    assert answer.status == 404
    visitor.page.get_by_text("There is no such page.").wait_for()
    visitor.page.get_by_role("button", name="Tools").click()
    visitor.page.wait_for_url("**/console/tools")


def test_on_a_narrow_dark_screen_lists_are_cards_that_the_keyboard_opens(
    browser: Browser, keyed: tuple[Served, dict[str, str], Path]
) -> None:
    server, keys, _ = keyed
    rule = {
        "id": "narrow-rule",
        "title": "Seen narrowly",
        "body": "Be seen.",
        "lastReviewedAt": "2020-01-01T00:00:00Z",
    }
    call(
        server,
        keys["admin"],
        "instructions_add",
        {"entry": {**rule, "nextReviewDue": "2020-02-01T00:00:00Z"}, "lax": True},
    )
    document = (
        "openapi: 3.1.0\ninfo: {title: Narrow, version: '1'}\npaths: {/a: {get: "
        "{operationId: narrowly}}}\n"
    )
    call(
        server,
        keys["admin"],
        "file_write",
        {"project": "narrow", "path": "/api.yaml", "content": document},
    )
    context = browser.new_context(viewport={"width": 400, "height": 900}, color_scheme="dark")
    context.set_default_timeout(30_000)
    visitor = Visitor(context, server.address)
    visitor.sign_in(keys["admin"])
    visitor.page.get_by_text("Calls per second").first.wait_for()
    visitor.go("/console/instructions?q=narrowly")
    link = visitor.page.get_by_role("link", name="narrow-rule")
    link.wait_for()
    assert visitor.axe() == []
    link.focus()
    visitor.page.keyboard.press("Enter")
    visitor.page.wait_for_url("**/console/instructions/narrow-rule")
    visitor.go("/console/instructions?tab=governance")
    card = visitor.page.locator(".q-table__grid-item-card", has_text="narrow-rule")
    card.get_by_role("checkbox").click()
    visitor.page.get_by_role("button", name="Mark as reviewed").click()
    visitor.page.get_by_text("Mark 1 as reviewed today?").wait_for()
    visitor.page.get_by_role("button", name="Cancel").click()
    card.get_by_text("Seen narrowly").click()
    visitor.page.wait_for_url("**/console/instructions/narrow-rule")
    visitor.go("/console/openapi?ref=file:narrow/api.yaml&tab=operations")
    button = visitor.page.locator(".q-table__grid-item-card").get_by_role("button")
    button.first.focus()
    visitor.page.keyboard.press("Enter")
    expect(visitor.page.get_by_role("dialog")).to_be_visible()
    assert visitor.problems == []
    context.close()


def something_on_every_page(server: Served, key: str) -> None:
    document = (
        "openapi: 3.1.0\ninfo: {title: Seen, version: '1'}\npaths:\n  /a:\n    get:\n      "
        "operationId: a\n      summary: A\n"
        "      responses: {'200': {description: ok}}\ncomponents:\n  schemas:\n    Seen: {type: "
        "object, properties: {a: {type: string}}}\n"
    )
    for path, content in (("/notes.md", "Seen by everybody."), ("/api.yaml", document)):
        call(
            server,
            key,
            "file_write",
            {"project": "seen", "path": path, "content": content, "mode": "TRUNCATE"},
        )
    rule = {
        "id": "seen-everywhere",
        "title": "Seen everywhere",
        "body": "Be seen.",
        "categories": ["looks"],
    }
    call(server, key, "instructions_add", {"entry": rule, "lax": True})
    call(
        server,
        key,
        "rekall_add",
        {"type": "pattern", "title": "Seen once", "content": "Seen in the console."},
    )
    overdue = {
        **rule,
        "id": "seen-too-late",
        "lastReviewedAt": "2020-01-01T00:00:00Z",
        "nextReviewDue": "2020-02-01T00:00:00Z",
    }
    call(server, key, "instructions_add", {"entry": overdue, "lax": True})
    forgotten = call(
        server,
        key,
        "rekall_add",
        {"type": "pattern", "title": "Seen no more", "content": "Deleted from the console."},
    )
    call(server, key, "memory_delete", {"id": forgotten["id"]})
    call(server, key, "usage_track", {"id": "seen-everywhere"})
    call(
        server,
        key,
        "feedback_submit",
        {"type": "issue", "title": "Seen", "description": "Seen by a person."},
    )
    for _ in range(600):  # the index follows within seconds
        if call(server, key, "file_index_status", {"project": "seen"})["up_to_date"]:
            return
    raise AssertionError("the index did not catch up")


def faults(visitor: Visitor, path: str, text: str, width: int) -> list[str]:
    """What a page does wrong: access, width, movement while it loads, its address."""
    visitor.go(path)
    visitor.page.get_by_text(text).first.wait_for()
    visitor.page.wait_for_timeout(300)  # charts and editors draw
    wrong = [f"{path}: {finding}" for finding in visitor.axe()]
    overflow = visitor.page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    if overflow > 1:
        wrong.append(f"{path} is {overflow} px too wide at {width}")
    if visitor.shift() >= 0.1:
        wrong.append(f"{path} moves while it loads: {visitor.shift():.3f}")
    if not visitor.page.evaluate("location.pathname").startswith("/console"):
        wrong.append(f"{path} became {visitor.page.url}")
    return wrong


@pytest.mark.parametrize(("width", "scheme"), COMBINATIONS)
def test_every_page_is_accessible_fits_and_stays_still(
    browser: Browser, keyed: tuple[Served, dict[str, str], Path], scheme: str, width: int
) -> None:
    server, keys, _ = keyed
    something_on_every_page(server, keys["admin"])
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
    context.set_default_timeout(30_000)
    visitor = Visitor(context, server.address)
    visitor.go("/console/login")
    assert visitor.axe() == []
    visitor.sign_in(keys["admin"])
    visitor.page.get_by_text("Calls per second").first.wait_for()
    visitor.page.wait_for_timeout(700)  # the theme is asked from the browser once
    wrong: list[str] = []
    for path, text in PAGES:
        if faults(
            visitor, path, text, width
        ):  # a busy machine draws late: what is really wrong is wrong at the second look too
            wrong += faults(visitor, path, text, width)
    assert wrong == []
    assert visitor.problems == []
    assert visitor.foreign == []
    context.close()


def test_the_security_headers_are_set(keyed: tuple[Served, dict[str, str], Path]) -> None:
    with urllib.request.urlopen(f"http://{keyed[0].address}/console/login", timeout=10) as answer:
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "HttpOnly" in answer.headers["Set-Cookie"]
        assert "SameSite=strict" in answer.headers["Set-Cookie"]


@pytest.mark.parametrize("cookie", ["", "Cookie: commonplace_console=guessed\r\n"])
def test_the_websocket_requires_a_session(
    keyed: tuple[Served, dict[str, str], Path], cookie: str
) -> None:
    host, _, port = keyed[0].address.partition(":")
    upgrade = (
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: "
        "13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    )
    path = "/console/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
    with socket.create_connection((host, int(port)), timeout=10) as link:
        link.sendall(
            f"GET {path} HTTP/1.1\r\nHost: {keyed[0].address}\r\n{cookie}{upgrade}\r\n".encode()
        )
        assert b" 403 " in link.recv(200)


def test_a_separate_console_shows_a_server_elsewhere(
    browser: Browser, keyed: tuple[Served, dict[str, str], Path], tmp_path: Path
) -> None:
    server, keys, _ = keyed
    command = [str(COMMONPLACE), "console", "--server", f"http://{server.address}", "--port", "0"]
    with (tmp_path / "stderr.txt").open("w+") as errors:
        process = subprocess.Popen(
            command,
            env=environment(tmp_path),
            stdin=subprocess.DEVNULL,
            stdout=errors,
            stderr=errors,
        )
        try:
            address = announced(tmp_path / "stderr.txt", process)
            visitor = Visitor(browser.new_context(), address)
            visitor.go("/console/login")
            visitor.page.get_by_label("API key").fill("cp_wrong")
            visitor.page.get_by_role("button", name="Sign in").click()
            expect(visitor.page.get_by_role("alert")).to_contain_text("does not accept")
            visitor.sign_in(keys["admin"])
            visitor.go("/console/tools/health_check")
            visitor.page.get_by_role("button", name="Call", exact=True).click()
            expect(visitor.page.get_by_text("Answered in")).to_be_visible()
            visitor.page.context.close()
        finally:
            process.terminate()
            process.wait(20)


def test_a_separate_console_for_a_server_without_keys_asks_for_none(
    browser: Browser, tmp_path: Path
) -> None:
    with serve_http(tmp_path / "server") as server, (tmp_path / "stderr.txt").open("w+") as errors:
        command = [
            str(COMMONPLACE),
            "console",
            "--server",
            f"http://{server.address}",
            "--port",
            "0",
        ]
        process = subprocess.Popen(
            command,
            env=environment(tmp_path),
            stdin=subprocess.DEVNULL,
            stdout=errors,
            stderr=errors,
        )
        try:
            visitor = Visitor(browser.new_context(), announced(tmp_path / "stderr.txt", process))
            visitor.go("/console/tools")
            visitor.page.get_by_text("health_check").wait_for()
            visitor.page.context.close()
        finally:
            process.terminate()
            process.wait(20)


@pytest.mark.parametrize("path", ["nowhere", "http://{server}/healthz", "http://127.0.0.1:1"])
def test_a_separate_console_reports_a_missing_server(
    keyed: tuple[Served, dict[str, str], Path], path: str, tmp_path: Path
) -> None:
    command = [
        str(COMMONPLACE),
        "console",
        "--server",
        path.format(server=keyed[0].address),
        "--port",
        "0",
    ]
    done = subprocess.run(
        command, env=environment(tmp_path), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 7
    assert done.stderr.startswith("error: The")
    assert "Traceback" not in done.stderr


def announced(errors: Path, process: subprocess.Popen[bytes]) -> str:
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        found = re.search(r"on http://([\d.:]+)/console/", errors.read_text())
        if found:
            return found[1]
        time.sleep(0.05)
    raise AssertionError(errors.read_text())
