"""The stable error codes of files.

Those of docs/reference/contracts/files.md, section 9, and of the extended tools.
"""

from __future__ import annotations

from commonplace.kernel.errors import Code, CommonplaceError, Kind

NOT_FOUND = Code("NOT_FOUND", Kind.NOT_FOUND, "There is no such file or directory.")
ALREADY_EXISTS = Code("ALREADY_EXISTS", Kind.CONFLICT, "Something is at the target path already.")
IS_DIRECTORY = Code(
    "IS_DIRECTORY", Kind.CONFLICT, "The path is a directory; the operation needs a file."
)
NOT_DIRECTORY = Code("NOT_DIRECTORY", Kind.CONFLICT, "A parent of the path is a file.")
INVALID_PATH = Code(
    "INVALID_PATH",
    Kind.INVALID_ARGUMENT,
    "A path or project name breaks the path rules; `details.field` says which.",
)
INVALID_OFFSET = Code(
    "INVALID_OFFSET",
    Kind.INVALID_ARGUMENT,
    "The offset is negative, beyond the end, not 0 with TRUNCATE, or cuts a character.",
)
INVALID_QUERY = Code(
    "INVALID_QUERY", Kind.INVALID_ARGUMENT, "The query is empty, or the pattern cannot be run."
)
NOT_EMPTY = Code(
    "NOT_EMPTY",
    Kind.CONFLICT,
    "The directory has files below it; pass recursive to remove them all.",
)
PERMISSION_DENIED = Code(
    "PERMISSION_DENIED", Kind.PERMISSION, "The project root cannot be deleted or moved."
)
PAYLOAD_TOO_LARGE = Code(
    "PAYLOAD_TOO_LARGE",
    Kind.LIMIT,
    "The content of the request, or the file it would make, is too large.",
)
QUOTA_EXCEEDED = Code(
    "QUOTA_EXCEEDED", Kind.LIMIT, "The project would hold more bytes than it may."
)
RATE_LIMITED = Code(
    "RATE_LIMITED", Kind.RATE, "Too many file operations of this tenant; wait and retry."
)
RESOURCE_BUSY = Code(
    "RESOURCE_BUSY",
    Kind.UNAVAILABLE,
    "The project's lock was not free in time; nothing was written. Retry.",
)
SEARCH_BACKEND_ERROR = Code(
    "SEARCH_BACKEND_ERROR", Kind.UNAVAILABLE, "Search is switched off or its index cannot be read."
)
CONTENT_CHANGED = Code(
    "CONTENT_CHANGED",
    Kind.INTEGRITY,
    "The file's content hash is not the one given in if_match; read it again.",
)
EDIT_NOT_UNIQUE = Code(
    "EDIT_NOT_UNIQUE",
    Kind.CONFLICT,
    "The text to replace occurs not at all or more than once; `details.count` says how often.",
)

CODES: tuple[Code, ...] = (
    NOT_FOUND,
    ALREADY_EXISTS,
    IS_DIRECTORY,
    NOT_DIRECTORY,
    INVALID_PATH,
    INVALID_OFFSET,
    INVALID_QUERY,
    NOT_EMPTY,
    PERMISSION_DENIED,
    PAYLOAD_TOO_LARGE,
    QUOTA_EXCEEDED,
    RATE_LIMITED,
    RESOURCE_BUSY,
    SEARCH_BACKEND_ERROR,
    CONTENT_CHANGED,
    EDIT_NOT_UNIQUE,
)


def nothing_at(path: str) -> CommonplaceError:
    return CommonplaceError(
        NOT_FOUND,
        f"There is nothing at {path}.",
        hint="file_list shows what there is.",
        details={"path": path},
    )


def under_a_file(path: str, above: str) -> CommonplaceError:
    return CommonplaceError(
        NOT_DIRECTORY,
        f"{above} is a file, so nothing can be below it.",
        hint="Choose a path outside it, or delete or rename that file first.",
        details={"path": path, "file": above},
    )


def search_is_off() -> CommonplaceError:
    return CommonplaceError(
        SEARCH_BACKEND_ERROR,
        "Search is switched off.",
        hint="Set settings.mcp.files.search.enabled to true.",
    )
