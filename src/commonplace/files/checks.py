"""Checks of arguments that several use cases share, and the errors they raise."""

from __future__ import annotations

from commonplace.files.errors import CONTENT_CHANGED, IS_DIRECTORY, PAYLOAD_TOO_LARGE
from commonplace.files.model import FileEntry, FilePath
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError

MAX_PREFIX_CHARACTERS = 512


def check_match(entry: FileEntry | None, if_match: str | None) -> None:
    """Raise CONTENT_CHANGED unless the file is the expected one.

    `if_match` is a content hash, or `""` for "must not exist yet".
    """
    if if_match is None:
        return
    actual = entry.content_hash if entry else ""
    if actual != if_match:
        raise CommonplaceError(
            CONTENT_CHANGED,
            "The file is not the one you read." if entry else "There is no file yet.",
            hint="Read it again, then decide; the hash is in file_stat and file_read.",
            details={"if_match": if_match[:64], "content_hash": actual or None},
        )


def check_prefix(prefix: str) -> None:
    if len(prefix) > MAX_PREFIX_CHARACTERS:
        raise invalid("path_prefix", f"path_prefix has at most {MAX_PREFIX_CHARACTERS} characters")


def check_payload(size: int, most: int) -> None:
    """Raise PAYLOAD_TOO_LARGE for a request with too much content."""
    if size > most:
        raise CommonplaceError(
            PAYLOAD_TOO_LARGE,
            f"The content has {size} bytes; one request may carry {most}.",
            hint="Write it in parts with mode APPEND.",
            details={"size_bytes": size, "limit_bytes": most, "in_parts": True},
        )


def clamp_limit(
    name: str, value: int | None, default: int, most: int
) -> tuple[int, tuple[str, ...]]:
    """Return a limit within its bounds, and a note if it was lowered."""
    if value is None:
        return min(default, most), ()
    if value < 1:
        raise invalid(name, f"{name} is at least 1")
    return (
        (value, ())
        if value <= most
        else (most, (f"{name} {value} was lowered to {most}, the most one call returns",))
    )


def check_lines(first: int, last: int | None) -> None:
    """Raise INVALID_ARGUMENT unless a range of lines starts at 1 or later and has a line."""
    if first < 1:
        raise invalid("start_line", "start_line counts from 1")
    if last is not None and last < first:
        raise invalid("end_line", "end_line is not before start_line")


def invalid(name: str, message: str) -> CommonplaceError:
    return CommonplaceError(INVALID_ARGUMENT, f"{message}.", details={"field": name})


def is_directory(path: FilePath) -> CommonplaceError:
    return CommonplaceError(
        IS_DIRECTORY,
        f"{path or 'The project root'} is a directory.",
        hint="file_list shows what is in it.",
        details={"path": path},
    )
