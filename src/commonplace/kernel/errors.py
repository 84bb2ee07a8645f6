"""What can go wrong, as values: kinds, codes, and the one exception that carries them.

Every failure a caller can see is a `CommonplaceError` with a `Code`. A code is stable and belongs
to the package that raises it; its kind decides how each edge shows it (JSON-RPC code, HTTP status,
exit code).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    """The families of failure. `dispatch/error_table.py` has numbers for each of them."""

    INVALID_ARGUMENT = "invalid_argument"  # the call is malformed
    INVALID_DATA = (
        "invalid_data"  # well-formed call, but an invalid entry, document or configuration
    )
    NOT_FOUND = "not_found"
    UNKNOWN_METHOD = "unknown_method"  # no such tool, action or method
    CONFLICT = "conflict"  # the state of things forbids it: exists, is a directory, already decided
    INTEGRITY = "integrity"  # an expected hash does not match, a chain is broken
    UNAUTHENTICATED = "unauthenticated"
    PERMISSION = "permission"  # scope, roots
    EXCLUDED = "excluded"  # narrowing: the tool is not among those this server or request offers
    MUTATION_OFF = "mutation_off"  # the catalogue's mutation switch
    LIMIT = "limit"  # above a size, count, depth or quota
    RATE = "rate"  # too many calls
    UNAVAILABLE = "unavailable"  # busy, timed out, or a backend is away
    CANCELLED = "cancelled"
    INTERNAL = "internal"


@dataclass(frozen=True, slots=True)
class Code:
    """A stable machine-readable error code: its kind, and what it means in one sentence for the
    reference.
    """

    name: str
    kind: Kind
    meaning: str
    http_status: int | None = None  # where a contract fixes another status than the kind's

    def __str__(self) -> str:
        return self.name


class CommonplaceError(Exception):
    """A failure with a code, a message that says what to do next, and details a program can read.

    Messages, hints and details hold no secret and no other tenant's name."""

    def __init__(
        self,
        code: Code,
        message: str,
        *,
        hint: str | None = None,
        details: Mapping[str, Any] | None = None,
        retryable: bool = False,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.details = dict(details) if details else {}
        self.retryable = retryable

    def as_dict(self) -> dict[str, Any]:
        """The one JSON shape of an error, wherever it is shown."""
        return {
            "code": self.code.name,
            "message": self.message,
            "hint": self.hint,
            "details": self.details,
            "retryable": self.retryable,
        }


INVALID_ARGUMENT = Code(
    "INVALID_ARGUMENT",
    Kind.INVALID_ARGUMENT,
    "An argument is missing, unknown or of the wrong form; `details` name the field.",
)
UNKNOWN_TOOL = Code(
    "UNKNOWN_TOOL", Kind.UNKNOWN_METHOD, "No tool has this name; the hint names the nearest one."
)
UNKNOWN_METHOD = Code(
    "UNKNOWN_METHOD", Kind.UNKNOWN_METHOD, "No bare JSON-RPC method has this name."
)
UNAUTHENTICATED = Code("UNAUTHENTICATED", Kind.UNAUTHENTICATED, "The call carries no valid key.")
SCOPE_REQUIRED = Code(
    "SCOPE_REQUIRED", Kind.PERMISSION, "The key lacks the scope that this tool needs."
)
READ_ONLY = Code("READ_ONLY", Kind.EXCLUDED, "The server, or this request, is read-only.")
TOOL_EXCLUDED = Code(
    "TOOL_EXCLUDED",
    Kind.EXCLUDED,
    "The server's flags or the request's `X-MCP-*` headers exclude this tool, under each of its "
    "names.",
)
MUTATION_DISABLED = Code(
    "MUTATION_DISABLED",
    Kind.MUTATION_OFF,
    "The instruction catalogue is read-only until MCP_ENABLE_MUTATION=1.",
)
CALL_RATE_LIMITED = Code(
    "CALL_RATE_LIMITED", Kind.RATE, "Too many calls from this key or tenant; wait and retry."
)
SESSION_LIMIT = Code(
    "SESSION_LIMIT",
    Kind.RATE,
    "This key has as many sessions as it may, and each of them is in use.",
)
REQUEST_TOO_LARGE = Code(
    "REQUEST_TOO_LARGE", Kind.LIMIT, "The message is larger than the server accepts."
)
DEADLINE_EXCEEDED = Code(
    "DEADLINE_EXCEEDED", Kind.UNAVAILABLE, "The call ran out of time; nothing was acknowledged."
)
SERVER_BUSY = Code(
    "SERVER_BUSY",
    Kind.UNAVAILABLE,
    "Too much work of this kind is under way, here or for this caller; retry shortly.",
)
CANCELLED = Code("CANCELLED", Kind.CANCELLED, "The caller cancelled the call.")
SHUTTING_DOWN = Code(
    "SHUTTING_DOWN", Kind.UNAVAILABLE, "The server is stopping and takes no new work."
)
NOT_AVAILABLE = Code(
    "NOT_AVAILABLE",
    Kind.UNAVAILABLE,
    "An optional part is not installed or not running; the hint says how to get it.",
)
INVALID_CONFIG = Code(
    "INVALID_CONFIG",
    Kind.INVALID_DATA,
    "A configuration file or variable is wrong; the message says where.",
)
INTERNAL = Code(
    "INTERNAL", Kind.INTERNAL, "A defect of the server; the trace id finds the logged traceback."
)

CODES: tuple[Code, ...] = (
    INVALID_ARGUMENT,
    UNKNOWN_TOOL,
    UNKNOWN_METHOD,
    UNAUTHENTICATED,
    SCOPE_REQUIRED,
    READ_ONLY,
    TOOL_EXCLUDED,
    MUTATION_DISABLED,
    CALL_RATE_LIMITED,
    SESSION_LIMIT,
    REQUEST_TOO_LARGE,
    DEADLINE_EXCEEDED,
    CANCELLED,
    SHUTTING_DOWN,
    NOT_AVAILABLE,
    INVALID_CONFIG,
    INTERNAL,
)
