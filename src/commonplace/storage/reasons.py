"""What may be said about a failure.

Statements, texts of drivers and paths of this machine belong into the log, not into answers.
"""

from __future__ import annotations

from commonplace.kernel.errors import CommonplaceError

DRIVERS = frozenset({"apsw", "psycopg", "sqlite3"})
SEE_LOG = "the server's log says why"


def public_reason(error: BaseException) -> str:
    """Say why something failed in words that anybody may read."""
    if isinstance(error, CommonplaceError):
        return error.message
    if isinstance(error, OSError):
        return f"the disk or the network refused it; {SEE_LOG}"
    if is_private(error):
        return f"the database refused it; {SEE_LOG}"
    return f"{type(error).__name__}: {error}"


def is_private(error: BaseException) -> bool:
    """Whether the text of an error may hold a statement or what a driver says."""
    return any(kind.__module__.partition(".")[0] in DRIVERS for kind in type(error).__mro__)
