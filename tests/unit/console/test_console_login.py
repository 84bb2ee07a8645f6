"""Signing in: where it leads, and what the page tells those without a key."""

from __future__ import annotations

import html
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

import commonplace.console.mount as mount
from commonplace.cli import main
from commonplace.console.mount import Console, console_routes, destination
from commonplace.console.session import Gate
from commonplace.kernel.errors import UNAUTHENTICATED, CommonplaceError

VIEW = "/console/files?project=a%20b&path=%2Fnotes%2Fx.md"


@pytest.fixture
def browser(tmp_path: Path) -> TestClient:
    def sign_in(key: str) -> Any:
        if key != "right":
            raise CommonplaceError(UNAUTHENTICATED, "No such key.")
        return object(), lambda: None

    console = Console(Gate(sign_in), "1", str(tmp_path))
    return TestClient(
        Starlette(routes=console_routes(console, lambda headers, scheme: None)),
        follow_redirects=False,
    )


def form(page: str) -> dict[str, str]:
    return {
        name: html.unescape(value)
        for name, value in re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page)
    }


def test_a_link_to_a_view_leads_there_after_signing_in(browser: TestClient) -> None:
    turned_away = browser.get(VIEW)
    page = browser.get(turned_away.headers["location"])
    wrong = browser.post("/console/login", data={**form(page.text), "key": "wrong"})
    assert wrong.status_code == 401
    signed_in = browser.post("/console/login", data={**form(wrong.text), "key": "right"})
    assert (signed_in.status_code, signed_in.headers["location"]) == (303, VIEW)


def test_the_home_page_needs_no_redirect_note(browser: TestClient) -> None:
    assert browser.get("/console/").headers["location"] == "/console/login"
    page = browser.get("/console/login")
    assert (
        browser.post("/console/login", data={**form(page.text), "key": "right"}).headers["location"]
        == "/console/"
    )


@pytest.mark.parametrize(
    "elsewhere",
    [
        "",
        "/",
        "https://evil.example/console/",
        "//evil.example/console/",
        "/console//evil.example",
        "/console/%2F%2Fevil",
        "/console/\\evil",
        "/console/%5Cevil",
        "/console/\r\nSet-Cookie: a=b",
        "/console/%0d%0aa",
        "/console/../mcp",
        "/console/%2e%2e/mcp",
        "/consolex",
        "javascript:alert(1)",
        "/console/login?next=/console/login",
        "/console/logout",
    ],
)
def test_signing_in_never_leads_out_of_the_console(elsewhere: str, browser: TestClient) -> None:
    assert destination(elsewhere) == "/console/"
    page = browser.get("/console/login", params={"next": elsewhere})
    signed_in = browser.post(
        "/console/login", data={**form(page.text), "next": elsewhere, "key": "right"}
    )
    assert signed_in.headers["location"] == "/console/"


def test_the_command_on_the_login_page_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path))
    page = (Path(mount.__file__).parent / "login.html").read_text()
    (command,) = re.findall(r"<code>commonplace ([^<]+)</code>", page)
    assert main(shlex.split(command)) == 0
