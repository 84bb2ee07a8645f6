"""References across domains, as text that a model, a person or another server can keep.

    instruction:ID
    memory:ULID
    file:PROJECT/PATH                   a whole file
    file:PROJECT/PATH#START-END         bytes, END excluded
    file:PROJECT/PATH#L10-L40           lines from 1, both included; #L10 is one line
    openapi:PROJECT/PATH#POINTER        a part of a stored API description (RFC 6901)

Any of them may end with bytes or lines of its text: `memory:ULID#L40-L90`. The project is
percent-encoded, and so are `#`, blanks and invisible characters of a pointer.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol
from urllib.parse import quote, unquote

from commonplace.kernel.auth import AuthContext
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.json_types import Json

MAX_REF = 4096
REF_FORMS = (
    "instruction:ID, memory:ULID, file:PROJECT/PATH (with #START-END for bytes or #L10-L40 for "
    "lines) or openapi:PROJECT/PATH#POINTER"
)
_STORED = re.compile(r"(?P<project>[^/#]+)(?P<path>/[^#]*)(?:#(?P<part>.*))?")
_BYTES = re.compile(r"(\d{1,15})-(\d{1,15})", re.ASCII)
_LINES = re.compile(r"L(\d{1,9})(?:-L(\d{1,9}))?", re.ASCII)
_PART = re.compile(f"{_BYTES.pattern}|{_LINES.pattern}", re.ASCII)
_ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_ESCAPE = re.compile(r"~(?![01])")


class RefKind(StrEnum):
    """What a reference points to."""

    INSTRUCTION = "instruction"
    MEMORY = "memory"
    FILE = "file"
    OPENAPI = "openapi"


@dataclass(frozen=True, slots=True)
class Ref:
    """A reference.

    `key` is the id of an instruction, the ULID of a memory entry, or the path of a file. Files and
    API descriptions also have a project. Of an API description, `pointer` names a part, and "" is
    the whole. `start` and `end` name bytes of the text, `lines` its first and its last line.
    """

    kind: RefKind
    key: str
    project: str | None = None
    start: int | None = None
    end: int | None = None
    lines: tuple[int, int] | None = None
    pointer: str = ""

    def __str__(self) -> str:
        place = "" if self.project is None else quote(self.project, safe="")
        pointer = f"#{_quote_pointer(self.pointer)}" if self.pointer else ""
        part = "" if self.start is None else f"#{self.start}-{self.end}"
        if self.lines is not None:
            part = f"#L{self.lines[0]}-L{self.lines[1]}"
        return f"{self.kind}:{place}{self.key}{pointer}{part}"

    @property
    def is_part(self) -> bool:
        """Tell whether the reference names bytes or lines."""
        return self.start is not None or self.lines is not None

    @classmethod
    def parse(cls, text: str) -> Ref:
        """Parse a reference. Raises INVALID_ARGUMENT."""
        kind, colon, rest = text.partition(":")
        ref = None
        if colon and rest and len(text) <= MAX_REF and not _CONTROL.search(text):
            if kind in (RefKind.INSTRUCTION, RefKind.MEMORY):
                ref = _parse_entry(RefKind(kind), rest)
            elif kind == RefKind.FILE:
                ref = _parse_file(rest)
            elif kind == RefKind.OPENAPI:
                ref = _parse_openapi(rest.removeprefix("file:"))
        if ref is None:
            raise _not_a_reference(text)
        return ref

    @property
    def whole(self) -> Ref:
        """Return the reference without its bytes or lines."""
        return replace(self, start=None, end=None, lines=None)


class Resolver(Protocol):
    """Look up the target of a reference, as far as the caller may see it; None if there is none."""

    def resolve(self, ref: Ref, auth: AuthContext) -> Awaitable[Mapping[str, Json] | None]: ...


def stored_file(project: str, path: str) -> Ref:
    """Return the reference of a whole stored file."""
    return Ref(RefKind.FILE, path, project)


def _parse_entry(kind: RefKind, rest: str) -> Ref | None:
    key, _, part = rest.partition("#")
    if not key or (kind is RefKind.MEMORY and not _ULID.fullmatch(key)):
        return None
    return Ref(kind, key) if part == "" and "#" not in rest else _with_part(Ref(kind, key), part)


def _parse_file(rest: str) -> Ref | None:
    place = _parse_place(rest)
    if place is None:
        return None
    project, path, part = place
    ref = Ref(RefKind.FILE, path, project)
    return ref if part is None else _with_part(ref, part)


def _parse_openapi(rest: str) -> Ref | None:
    place = _parse_place(rest)
    if place is None:
        return None
    project, path, part = place
    quoted, _, shown = (part or "").rpartition("#")
    if not _PART.fullmatch(shown):
        quoted, shown = part or "", ""
    try:
        pointer = unquote(quoted, errors="strict")
    except UnicodeDecodeError:
        return None
    if (pointer and not pointer.startswith("/")) or _ESCAPE.search(pointer):
        return None
    ref = Ref(RefKind.OPENAPI, path, project, pointer=pointer)
    return _with_part(ref, shown) if shown else ref


def _with_part(ref: Ref, part: str) -> Ref | None:
    """Return the bytes or lines that a part names; None if it names neither."""
    if span := _BYTES.fullmatch(part):
        start, end = int(span[1]), int(span[2])
        return replace(ref, start=start, end=end) if start <= end else None
    if span := _LINES.fullmatch(part):
        first, last = int(span[1]), int(span[2] or span[1])
        return replace(ref, lines=(first, last)) if 1 <= first <= last else None
    return None


def _parse_place(rest: str) -> tuple[str, str, str | None] | None:
    """Return project, path and what follows the `#`; None where no stored file is named."""
    place = _STORED.fullmatch(rest)
    if place is None:
        return None
    project = unquote(place["project"])
    if not 1 <= len(project) <= 128 or _CONTROL.search(project):
        return None
    return project, place["path"], place["part"]


def _quote_pointer(pointer: str) -> str:
    """Percent-encode what a pointer could hide or lose on its way: blanks, invisible characters."""
    return "".join(
        character
        if character.isprintable() and character not in " %#"
        else quote(character, safe="", errors="surrogatepass")
        for character in pointer
    )


def _not_a_reference(text: str) -> CommonplaceError:
    return CommonplaceError(
        INVALID_ARGUMENT,
        f"{text[:80]!r} is not a reference.",
        hint=f"Use {REF_FORMS}.",
        details={"field": "ref"},
    )
