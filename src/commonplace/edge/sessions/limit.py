"""The limit of sessions per key."""

from __future__ import annotations

from commonplace.kernel.errors import SESSION_LIMIT, CommonplaceError


def session_limit(limit: int) -> CommonplaceError:
    """Return the error of a key whose sessions are all in use."""
    return CommonplaceError(
        SESSION_LIMIT,
        f"This key has {limit} sessions, all of them in use.",
        hint="End one with DELETE /mcp, or raise settings.limits.sessions_per_key.",
        details={"limit": limit},
        retryable=True,
    )
