"""Clean and bound the text of entries."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

QUERY_CHARACTERS = 4_000  # of a query whose words are looked up
TITLE_CHARACTERS = 100
CONTENT_CHARACTERS = 1_000_000
CONTEXT_CHARACTERS = 10_000
CONTEXT_KEPT = 8_000
TAGS = 100
TAG_CHARACTERS = 100
PROJECT_CHARACTERS = 200
UNTITLED = "(untitled)"
YEARS = (1900, 9998)  # both databases can store these, and every time zone can show them
_EPOCH = re.compile(r"[1-9]\d{8,9}(?:\.\d+)?")


def clean_text(text: str) -> str:
    """Drop NUL, which PostgreSQL refuses, and replace halves of surrogate pairs."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")


def clean_title(title: str, content: str) -> str:
    """Return a title on one line; an empty one becomes the first line of the content."""
    line = " ".join(clean_text(title).split())
    if not line:
        line = next((" ".join(part.split()) for part in content.splitlines() if part.strip()), "")
    return line[:TITLE_CHARACTERS].rstrip() or UNTITLED


def clean_project(project: str | None) -> str | None:
    """Return a project name on one line, None if it is blank."""
    return " ".join(clean_text(project).split()) or None if project else None


def clean_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Trim tags and drop blank and repeated ones, keeping their order."""
    trimmed = (" ".join(clean_text(tag).split()) for tag in tags)
    return tuple(dict.fromkeys(tag for tag in trimmed if tag))


def clean_context(context: str) -> tuple[str, bool]:
    """Cut a context above 10,000 characters to 8,000; also returns whether it was cut."""
    context = clean_text(context)
    return (context[:CONTEXT_KEPT], True) if len(context) > CONTEXT_CHARACTERS else (context, False)


def parse_moment(text: str | None, default: datetime) -> datetime:
    """Parse a time as text or as seconds since 1970, in UTC unless it names a zone.

    Returns the default for what cannot be parsed.
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
