"""ISO 8601 times of documents, and the review dates that follow from them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from commonplace.kernel.clock import iso
from commonplace.kernel.json_types import Json

REVIEW_DAYS = {"P1": 30, "P2": 60, "P3": 90, "P4": 120}
_UTC_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?Z")


def parse_time(value: object) -> float | None:
    """Return the seconds since 1970 of an ISO 8601 text, or None."""
    return _seconds(value) if isinstance(value, str) and 8 <= len(value) <= 40 else None


@lru_cache(maxsize=256)  # an instruction repeats the same times in several fields
def _seconds(value: str) -> float | None:
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (OverflowError, ValueError):
        return None


def in_utc(value: str) -> str:
    """Convert a valid time to UTC."""
    if _UTC_TIME.fullmatch(value):
        return value
    seconds = parse_time(value)
    assert seconds is not None
    try:
        return iso(datetime.fromtimestamp(seconds, UTC))
    except (OverflowError, ValueError):
        return value


def from_timestamp(seconds: float) -> str:
    """Format seconds since 1970."""
    return iso(datetime.fromtimestamp(seconds, UTC))


def next_review(document: Mapping[str, Json], now: str) -> str:
    """Return the next review date, counted from the last review or from now."""
    reviewed = document.get("lastReviewedAt")
    return due_after(
        reviewed if parse_time(reviewed) is not None else now, document["reviewIntervalDays"]
    )


@lru_cache(maxsize=256)
def due_after(moment: str, days: int) -> str:
    """Add days to a valid time."""
    seconds = parse_time(moment)
    assert seconds is not None
    try:
        return iso(datetime.fromtimestamp(seconds, UTC) + timedelta(days=days))
    except (OverflowError, ValueError):
        return moment
