"""The stable error codes of memory: those of docs/reference/contracts/memory.md, and ours."""

from __future__ import annotations

from commonplace.kernel.errors import Code, CommonplaceError, Kind

ENTRY_NOT_FOUND = Code(
    "ENTRY_NOT_FOUND",
    Kind.NOT_FOUND,
    "No entry has this id or prefix, or the prefix fits several.",
    404,
)
SUGGESTION_NOT_FOUND = Code(
    "SUGGESTION_NOT_FOUND", Kind.NOT_FOUND, "No pending suggestion has this id.", 404
)
INVALID_ENTRY_TYPE = Code(
    "INVALID_ENTRY_TYPE",
    Kind.INVALID_ARGUMENT,
    "The type is not one of bug, pattern, decision, pitfall, config, reference.",
    400,
)
INVALID_RELATION_TYPE = Code(
    "INVALID_RELATION_TYPE",
    Kind.INVALID_ARGUMENT,
    "The relation is not one of related, supersedes, derived_from, contradicts.",
    400,
)
EMBEDDINGS_DISABLED = Code(
    "EMBEDDINGS_DISABLED",
    Kind.UNAVAILABLE,
    "The operation needs embeddings and they are switched off.",
    503,
)
MODEL_NOT_AVAILABLE = Code(
    "MODEL_NOT_AVAILABLE",
    Kind.UNAVAILABLE,
    "Embeddings are on, but the model cannot be loaded.",
    503,
)
LINK_ALREADY_EXISTS = Code(
    "LINK_ALREADY_EXISTS",
    Kind.CONFLICT,
    "The two entries are already linked by this relation.",
    409,
)
SELF_LINK_ERROR = Code(
    "SELF_LINK_ERROR", Kind.INVALID_ARGUMENT, "An entry cannot be linked to itself.", 400
)
INTERNAL_ERROR = Code(
    "INTERNAL_ERROR",
    Kind.INTERNAL,
    "A defect in memory; the trace id finds the logged traceback.",
    500,
)

SECRET_REFUSED = Code(
    "SECRET_REFUSED",
    Kind.INVALID_DATA,
    "The text holds what looks like a credential and the setting says refuse.",
    400,
)
ENTRY_TOO_LARGE = Code(
    "ENTRY_TOO_LARGE", Kind.LIMIT, "An entry is longer, or has more tags, than memory keeps.", 400
)
DUPLICATE_ENTRY = Code(
    "DUPLICATE_ENTRY",
    Kind.CONFLICT,
    "The change would make two active entries with the same text.",
    409,
)
INVALID_GENERALIZATION = Code(
    "INVALID_GENERALIZATION",
    Kind.INVALID_ARGUMENT,
    "A pattern is drawn from two or more entries.",
    400,
)
INVALID_ANCHOR = Code(
    "INVALID_ANCHOR",
    Kind.INVALID_ARGUMENT,
    "An anchor does not name a place in a repository.",
    400,
)
ANCHOR_NOT_FOUND = Code(
    "ANCHOR_NOT_FOUND",
    Kind.INVALID_DATA,
    "The repository has no such file, symbol or lines; nothing was saved.",
    400,
)
INVALID_IMPORT = Code(
    "INVALID_IMPORT",
    Kind.INVALID_DATA,
    "The file to import is not what its format says; nothing was imported.",
    400,
)

CONTRACT_CODES: tuple[Code, ...] = (
    ENTRY_NOT_FOUND,
    SUGGESTION_NOT_FOUND,
    INVALID_ENTRY_TYPE,
    INVALID_RELATION_TYPE,
    EMBEDDINGS_DISABLED,
    MODEL_NOT_AVAILABLE,
    LINK_ALREADY_EXISTS,
    SELF_LINK_ERROR,
    INTERNAL_ERROR,
)
CODES: tuple[Code, ...] = (
    *CONTRACT_CODES,
    SECRET_REFUSED,
    ENTRY_TOO_LARGE,
    DUPLICATE_ENTRY,
    INVALID_GENERALIZATION,
    INVALID_ANCHOR,
    ANCHOR_NOT_FOUND,
    INVALID_IMPORT,
)


def failure(
    code: Code, message: str, *, hint: str | None = None, retryable: bool = False, **details: object
) -> CommonplaceError:
    """Make an error of memory; `details.http_status` has the contract's HTTP status."""
    status = {} if code.http_status is None else {"http_status": code.http_status}
    return CommonplaceError(
        code, message, hint=hint, details={**details, **status}, retryable=retryable
    )
