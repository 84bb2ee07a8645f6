"""Headers of every answer, safe destinations, and forms that change something."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from commonplace.console.security import is_same_token, login_address, safe_destination


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
def test_an_address_outside_the_console_becomes_its_first_page(elsewhere: str) -> None:
    assert safe_destination(elsewhere) == "/console/"
    assert login_address(elsewhere) == "/console/login"


def test_an_address_of_the_console_is_kept() -> None:
    wanted = "/console/files?project=a%20b&path=%2Fx.md"
    assert safe_destination(wanted) == wanted
    assert login_address("/console/audit") == "/console/login?next=/console/audit"


def test_an_empty_token_matches_nothing() -> None:
    assert not is_same_token("", "")
    assert not is_same_token("a", "b")
    assert is_same_token("a", "a")


@pytest.mark.parametrize(
    "path", ["/console/find", "/console/login", "/console/static/console.css", "/console/nothing"]
)
def test_every_answer_carries_the_security_headers(path: str, inside: TestClient) -> None:
    headers = inside.get(path).headers
    policy = headers["content-security-policy"]
    assert "script-src 'self';" in policy
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "same-origin"


def test_only_the_sandboxed_frame_may_have_inline_styles(inside: TestClient) -> None:
    policy = inside.get("/console/static/graph-frame.html").headers["content-security-policy"]
    assert policy.startswith("sandbox allow-scripts;")
    assert "script-src 'self';" in policy


def test_pages_contain_no_inline_script_and_no_inline_style(inside: TestClient) -> None:
    page = inside.get("/console/components").text
    assert "<style" not in page
    assert " style=" not in page
    assert " onclick=" not in page
    assert page.count("<script") == page.count("<script src=") + page.count(
        '<script type="module" src='
    )
