"""Content of files: what writes produce, and where characters begin and end.

Content is always valid UTF-8.
"""

from __future__ import annotations

from commonplace.files.errors import INVALID_OFFSET
from commonplace.files.model import WriteMode
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError

ENCODE_ADVICE = (
    "Files hold text. Encode binary data to text first (for example Base64) and write that."
)


def encode(content: str, field: str = "content") -> bytes:
    """Return the bytes of a text; INVALID_ARGUMENT if it is not text."""
    problem = None
    try:
        data = content.encode()
    except UnicodeEncodeError as invalid:
        problem = f"character {invalid.start} is half of a surrogate pair and has no UTF-8 form"
    else:
        if "\0" in content:
            problem = f"character {content.index(chr(0))} is NUL, which is binary data"
    if problem:
        raise CommonplaceError(
            INVALID_ARGUMENT, f"{field}: {problem}.", hint=ENCODE_ADVICE, details={"field": field}
        )
    return data


def is_boundary(content: bytes, at: int) -> bool:
    """Return whether a character, or the end, starts at this byte."""
    return at >= len(content) or content[at] & 0xC0 != 0x80


def boundaries_around(content: bytes, at: int) -> tuple[int, int]:
    """Return the nearest character boundaries at or before, and at or after, an offset."""
    before = after = min(at, len(content))
    while before > 0 and not is_boundary(content, before):
        before -= 1
    while not is_boundary(content, after):
        after += 1
    return before, after


def whole_characters(content: bytes) -> tuple[int, str]:
    """Return how many bytes were dropped at the start, and the whole characters after them."""
    start, end = 0, len(content)
    while start < min(3, end) and content[start] & 0xC0 == 0x80:
        start += 1
    for back in range(1, min(3, end - start) + 1):
        lead = content[end - back]
        if lead & 0xC0 == 0x80:
            continue
        if lead >= 0xC0 and back < (2 if lead < 0xE0 else 3 if lead < 0xF0 else 4):
            end -= back
        break
    return start, content[start:end].decode("utf-8")


def apply_write(old: bytes, new: bytes, offset: int, mode: WriteMode) -> bytes:
    """Return the content after a write; INVALID_OFFSET."""
    if offset < 0:
        raise _invalid_offset("offset must not be negative", offset)
    if mode is WriteMode.APPEND:
        return old + new
    if mode is WriteMode.TRUNCATE:
        if offset != 0:
            raise _invalid_offset("with TRUNCATE the offset must be 0", offset)
        return new
    if offset > len(old):
        raise _invalid_offset(
            f"offset is beyond the end of the file ({len(old)} bytes)", offset, size=len(old)
        )
    if not new:
        return old
    end = offset + len(new)
    if not (is_boundary(old, offset) and is_boundary(old, end)):
        raise CommonplaceError(
            INVALID_OFFSET,
            f"Overwriting bytes {offset} to {end} would cut a character in two; nothing was "
            f"written.",
            hint="Start and end on the boundaries in details; lengths count bytes, not characters.",
            details={
                "field": "offset",
                "offset": offset,
                "start_boundaries": list(boundaries_around(old, offset)),
                "end": end,
                "end_boundaries": list(boundaries_around(old, end)),
            },
        )
    return old[:offset] + new + old[end:]


def _invalid_offset(message: str, offset: int, **details: int) -> CommonplaceError:
    return CommonplaceError(
        INVALID_OFFSET,
        f"{message[0].upper()}{message[1:]}.",
        details={"field": "offset", "offset": offset, **details},
    )
