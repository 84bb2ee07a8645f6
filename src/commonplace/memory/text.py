"""Clean and bound the text of entries."""

from __future__ import annotations

import re
from datetime import UTC, datetime

TITLE_CHARACTERS = 100
CONTENT_CHARACTERS = 1_000_000
CONTEXT_CHARACTERS = 10_000
CONTEXT_KEPT = 8_000
TAGS = 100
TAG_CHARACTERS = 100
PROJECT_CHARACTERS = 200
UNTITLED = "(untitled)"
YEARS = (1900, 9998)  # of times that are kept: every database can hold and every zone can show them
_EPOCH = re.compile(r"[1-9]\d{8,9}(?:\.\d+)?")


def clean_text(text: str) -> str:
    """Text that both databases keep: no NUL, which PostgreSQL refuses, and no half of a
    surrogate pair.
    """
    return text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")


def clean_title(title: str, content: str) -> str:
    """One line. An entry without a title takes the first line of its content."""
    line = " ".join(clean_text(title).split())
    if not line:
        line = next((" ".join(part.split()) for part in content.splitlines() if part.strip()), "")
    return line[:TITLE_CHARACTERS].rstrip() or UNTITLED


def clean_project(project: str | None) -> str | None:
    """One line; a blank one is none."""
    return " ".join(clean_text(project).split()) or None if project else None


def clean_tags(tags: tuple[str, ...] | list[str]) -> tuple[str, ...]:
    """Trimmed, without blanks and repetitions, in the order given."""
    return tuple(
        dict.fromkeys(tag for tag in (" ".join(clean_text(tag).split()) for tag in tags) if tag)
    )


def clean_context(context: str) -> tuple[str, bool]:
    """Above 10,000 characters the first 8,000 are kept; whether that happened is reported."""
    context = clean_text(context)
    return (context[:CONTEXT_KEPT], True) if len(context) > CONTEXT_CHARACTERS else (context, False)


def parse_moment(text: str | None, default: datetime) -> datetime:
    """A time from somewhere else, as text or as seconds since 1970; what cannot be read becomes
    the default.

    Without a zone it is UTC.
    """
    if not text:
        return default
    try:
        if _EPOCH.fullmatch(text):
            return datetime.fromtimestamp(float(text), UTC)
        moment = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
        moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return default
    return moment if YEARS[0] <= moment.year <= YEARS[1] else default
