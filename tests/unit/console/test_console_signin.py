"""Signing in and out: where it leads, which cookies it sets, and the theme."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.unit.console.conftest import KEY, FakeCaller, hidden_fields, make_browser, make_gate

from commonplace.cli import main
from commonplace.console import signin
from commonplace.console.session import COOKIE

VIEW = "/console/files?project=a%20b&path=%2Fnotes%2Fx.md"


def sign_in(browser: TestClient, key: str = KEY, wanted: str = "") -> str:
    """Sign in and return where it leads."""
    page = browser.get("/console/login", params={"next": wanted} if wanted else {})
    answer = browser.post("/console/login", data={**hidden_fields(page.text), "key": key})
    assert answer.status_code == 303
    return answer.headers["location"]


def test_a_link_to_a_view_leads_there_after_signing_in(browser: TestClient) -> None:
    turned_away = browser.get(VIEW)
    page = browser.get(turned_away.headers["location"])
    wrong = browser.post("/console/login", data={**hidden_fields(page.text), "key": "wrong"})
    assert wrong.status_code == 401
    assert "This key is not valid." in wrong.text
    signed_in = browser.post("/console/login", data={**hidden_fields(wrong.text), "key": KEY})
    assert (signed_in.status_code, signed_in.headers["location"]) == (303, VIEW)


def test_the_home_page_needs_no_redirect_note(browser: TestClient) -> None:
    assert browser.get("/console/").headers["location"] == "/console/login"
    assert sign_in(browser) == "/console/"


@pytest.mark.parametrize("elsewhere", ["https://evil.example/console/", "//evil.example", "/mcp"])
def test_signing_in_never_leads_out_of_the_console(elsewhere: str, browser: TestClient) -> None:
    page = browser.get("/console/login", params={"next": elsewhere})
    fields = {**hidden_fields(page.text), "next": elsewhere, "key": KEY}
    assert browser.post("/console/login", data=fields).headers["location"] == "/console/"


def test_a_sign_in_form_without_its_token_is_refused(browser: TestClient) -> None:
    browser.get("/console/login")
    answer = browser.post("/console/login", data={"key": KEY, "csrf": "guessed"})
    assert answer.status_code == 403
    assert COOKIE not in browser.cookies
    assert browser.post("/console/login", data={"key": KEY}).status_code == 403


def test_a_huge_sign_in_form_is_not_read(browser: TestClient) -> None:
    page = browser.get("/console/login")
    fields = {**hidden_fields(page.text), "key": KEY, "more": "x" * 20_000}
    assert browser.post("/console/login", data=fields).status_code == 403


def test_the_session_cookie_is_hidden_from_scripts_and_other_sites(browser: TestClient) -> None:
    page = browser.get("/console/login")
    answer = browser.post("/console/login", data={**hidden_fields(page.text), "key": KEY})
    (cookie,) = (
        value for value in answer.headers.get_list("set-cookie") if value.startswith(COOKIE)
    )
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "Path=/console" in cookie
    assert "Secure" not in cookie
    assert KEY not in cookie


def test_cookies_are_secure_behind_tls(caller: FakeCaller) -> None:
    browser = make_browser(make_gate(caller), "https://testserver")
    page = browser.get("/console/login")
    assert "Secure" in page.headers["set-cookie"]
    answer = browser.post("/console/login", data={**hidden_fields(page.text), "key": KEY})
    assert all("Secure" in cookie for cookie in answer.headers.get_list("set-cookie")[:1])


def test_only_a_form_signs_out(browser: TestClient) -> None:
    sign_in(browser)
    assert browser.get("/console/find").status_code == 200
    assert browser.get("/console/logout").status_code == 405
    assert browser.get("/console/find").status_code == 200
    answer = browser.post("/console/logout")
    assert (answer.status_code, answer.headers["location"]) == (303, "/console/login")
    assert browser.get("/console/find").status_code == 303


def test_a_theme_is_kept_and_leads_back(inside: TestClient) -> None:
    form = {"theme": "dark", "next": "/console/find?q=x"}
    answer = inside.post("/console/theme", data=form)
    assert answer.headers["location"] == "/console/find?q=x"
    assert 'data-theme="dark"' in inside.get("/console/find").text
    inside.post("/console/theme", data={"theme": '"><script>', "next": "https://evil.example"})
    assert "data-theme=" not in inside.get("/console/find").text


def test_the_command_on_the_sign_in_page_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path))
    page = (Path(signin.__file__).parent / "templates" / "login.html").read_text()
    (command,) = re.findall(r"<code>commonplace ([^<]+)</code>", page)
    assert main(shlex.split(command)) == 0
