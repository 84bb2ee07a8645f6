"""Cells of tables: values that templates show as they are."""

from __future__ import annotations

from markupsafe import Markup

from commonplace.kernel.hidden_characters import reveal

STATUS_KINDS = {
    "approved": "good",
    "active": "good",
    "review": "info",
    "draft": "warn",
    "deprecated": "bad",
    "obsolete": "bad",
}
REQUIREMENT_KINDS = {"mandatory": "bad", "critical": "bad", "recommended": "info"}
SEVERITY_KINDS = {"critical": "bad", "high": "bad", "medium": "warn", "low": "info"}


def tag(text: object, kind: str = "") -> Markup:
    """Return a small label; empty for an empty text."""
    shown = "" if text is None else reveal(str(text))
    return Markup('<span class="tag {}">{}</span>').format(kind, shown) if shown else Markup("")


def status_tag(text: object) -> Markup:
    """Return a status in the colour of its meaning."""
    return tag(text, STATUS_KINDS.get(str(text), ""))


def link(address: str, text: object) -> Markup:
    """Return a link to a page of the console."""
    return Markup('<a href="{}">{}</a>').format(address, reveal(str(text)))


def day(moment: object) -> str:
    """Return the day of an ISO time; empty if there is none."""
    return str(moment or "")[:10]
