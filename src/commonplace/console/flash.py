"""Messages that survive a redirect, kept in a cookie until the next page shows them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import orjson
from starlette.responses import Response

from commonplace.console.security import ROOT

COOKIE = "commonplace_flash"
MAX_TEXT = 500
MAX_COOKIE_CHARS = 4000


@dataclass(frozen=True, slots=True)
class Undo:
    """A form that takes a change back: where it is sent, and its fields."""

    action: str
    fields: Mapping[str, str]
    label: str = "Undo"


@dataclass(frozen=True, slots=True)
class Flash:
    """A message for the next page, and the draft that was saved and can be forgotten."""

    text: str
    kind: str = "good"  # good, warn or bad
    undo: Undo | None = None
    saved_draft: str = ""


def write_flash(response: Response, flash: Flash, secure: bool) -> None:
    """Set the cookie of a message."""
    text = flash.text if len(flash.text) <= MAX_TEXT else flash.text[: MAX_TEXT - 1] + "…"
    content = {**asdict(flash), "text": text}
    value = base64.urlsafe_b64encode(orjson.dumps(content)).decode()
    if len(value) > MAX_COOKIE_CHARS:  # the fields of the undo form are too long for a cookie
        value = base64.urlsafe_b64encode(orjson.dumps({**content, "undo": None})).decode()
    response.set_cookie(
        COOKIE, value, path=ROOT, max_age=60, httponly=True, samesite="lax", secure=secure
    )


def read_flash(cookies: Mapping[str, str]) -> Flash | None:
    """Return the message of a request, or None."""
    value = cookies.get(COOKIE, "")
    if not value or len(value) > MAX_COOKIE_CHARS:
        return None
    try:
        content = orjson.loads(base64.urlsafe_b64decode(value))
        undo = content.pop("undo")
        flash = Flash(**content, undo=None if undo is None else Undo(**undo))
    except (binascii.Error, ValueError, TypeError, KeyError, AttributeError):
        return None
    texts = (flash.text, flash.kind, flash.saved_draft)
    is_valid = all(isinstance(part, str) for part in texts) and (
        flash.undo is None or str(flash.undo.action).startswith(f"{ROOT}/")
    )
    return flash if is_valid else None


def clear_flash(response: Response) -> None:
    """Delete the cookie: the message was shown."""
    response.delete_cookie(COOKIE, path=ROOT)
