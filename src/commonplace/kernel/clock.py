"""Time as the product writes it: UTC, ISO 8601, milliseconds, `Z`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the current time."""
    return datetime.now(UTC)


def iso(moment: datetime) -> str:
    """Format a time: `2025-01-01T00:00:00.000Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
