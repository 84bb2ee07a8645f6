"""Messages that survive a redirect."""

from __future__ import annotations

import base64
import json

import pytest
from starlette.responses import Response

from commonplace.console.flash import COOKIE, Flash, Undo, read_flash, write_flash


def cookie_of(flash: Flash, secure: bool = False) -> str:
    response = Response()
    write_flash(response, flash, secure)
    return response.headers["set-cookie"]


def value_of(flash: Flash) -> str:
    return cookie_of(flash).partition(";")[0].partition("=")[2].strip('"')


def encode(content: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).decode()


def test_a_message_comes_back_as_it_was_written() -> None:
    flash = Flash("2 removed: done …", "warn", Undo("/console/undo", {"ids": "a"}), "draft-1")
    assert read_flash({COOKIE: value_of(flash)}) == flash


def test_a_long_message_is_shortened_to_fit_a_cookie() -> None:
    read = read_flash({COOKIE: value_of(Flash("x" * 10_000))})
    assert read is not None
    assert read.text.endswith("…")
    assert len(read.text) == 500


def test_an_undo_form_that_does_not_fit_is_left_out() -> None:
    read = read_flash({COOKIE: value_of(Flash("done", undo=Undo("/console/u", {"b": "x" * 5000})))})
    assert read == Flash("done")


def test_the_cookie_is_for_this_console_and_not_for_scripts() -> None:
    assert cookie_of(Flash("done")).endswith("HttpOnly; Max-Age=60; Path=/console; SameSite=lax")
    assert "; Secure" in cookie_of(Flash("done"), secure=True)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "%%%",
        "bm8=",
        encode([1]),
        encode({"text": 1, "kind": "good", "undo": None, "saved_draft": ""}),
        encode({"text": "x", "unknown": 1, "undo": None}),
        encode(
            {
                "text": "x",
                "kind": "good",
                "saved_draft": "",
                "undo": {"action": "https://evil.example/", "fields": {}, "label": "Undo"},
            }
        ),
        "A" * 5000,
    ],
)
def test_a_cookie_that_was_not_written_here_is_ignored(value: str) -> None:
    assert read_flash({COOKIE: value}) is None
