"""Errors: kinds, codes, and the one exception that has them.

Every failure that a caller can see is a `CommonplaceError` with a `Code`. A code is stable and
belongs to the package that raises it; its kind decides how it is shown (JSON-RPC code, HTTP status,
exit code).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from commonplace.kernel.json_types import Json, JsonObject


class Kind(StrEnum):
    """The families of failure. `dispatch/error_table.py` has numbers for each of them."""

    INVALID_ARGUMENT = "invalid_argument"  # the call is malformed
    INVALID_DATA = "invalid_data"  # the call is valid; an entry, document or configuration is not
    NOT_FOUND = "not_found"
    UNKNOWN_METHOD = "unknown_method"  # no such tool, action or method
    CONFLICT = "conflict"  # the current state forbids it: exists, is a directory, already decided
    INTEGRITY = "integrity"  # an expected hash does not match, a chain is broken
    UNAUTHENTICATED = "unauthenticated"
    PERMISSION = "permission"  # scope, roots
    EXCLUDED = "excluded"  # this server or request does not offer the tool
    MUTATION_OFF = "mutation_off"  # writes to the catalogue are switched off
    LIMIT = "limit"  # above a size, count, depth or quota
    RATE = "rate"  # too many calls
    UNAVAILABLE = "unavailable"  # busy, timed out, or a backend is unreachable
    CANCELLED = "cancelled"
    DAMAGED = "damaged"  # stored data cannot be read; a backup or a rebuild helps
    INTERNAL = "internal"


@dataclass(frozen=True, slots=True)
class Code:
    """A stable error code: its kind, and its meaning in one sentence for the reference."""

    name: str
    kind: Kind
    meaning: str
    http_status: int | None = None  # if a contract requires another one than the kind has

    def __str__(self) -> str:
        return self.name


class CommonplaceError(Exception):
    """A failure with a code, a message, a hint what to do next, and details for programs.

    Messages, hints and details contain no secret and no name of another tenant.
    """

    def __init__(
        self,
        code: Code,
        message: str,
        *,
        hint: str | None = None,
        details: Mapping[str, Json] | None = None,
        retryable: bool = False,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.details = dict(details) if details else {}
        self.retryable = retryable

    def as_dict(self) -> JsonObject:
        """Return the error as JSON, in the one shape that every interface uses."""
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
    "An argument is missing, unknown or invalid; `details` name the field.",
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
    "This key has reached its number of sessions, and each of them is in use.",
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
    "Too much work of this kind is in progress, here or for this caller; retry shortly.",
)
CANCELLED = Code("CANCELLED", Kind.CANCELLED, "The caller cancelled the call.")
SHUTTING_DOWN = Code(
    "SHUTTING_DOWN", Kind.UNAVAILABLE, "The server is shutting down and accepts no new work."
)
SERVER_RESTARTED = Code(
    "SERVER_RESTARTED",
    Kind.UNAVAILABLE,
    "The local server ended before it answered; whether the call took effect is not known.",
)
NOT_AVAILABLE = Code(
    "NOT_AVAILABLE",
    Kind.UNAVAILABLE,
    "An optional component is not installed or not running; the hint says how to get it.",
)
INVALID_CONFIG = Code(
    "INVALID_CONFIG",
    Kind.INVALID_DATA,
    "A configuration file or variable is invalid; the message says where.",
)
INTERNAL = Code(
    "INTERNAL",
    Kind.INTERNAL,
    "A defect of the server; the trace id identifies the traceback in its log.",
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
