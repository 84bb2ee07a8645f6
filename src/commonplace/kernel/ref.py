"""References across domains: `instruction:ID`, `memory:ULID`, `file:PROJECT/PATH#START-END`.

Domains exchange references as text; bootstrap provides the resolver.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol
from urllib.parse import quote, unquote

from commonplace.kernel.auth import AuthContext
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.json_types import Json

MAX_REF = 2048
_FILE = re.compile(
    r"(?P<project>[^/#]+)(?P<path>/[^#]*)(?:#(?P<start>\d{1,15})-(?P<end>\d{1,15}))?"
)
_ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class RefKind(StrEnum):
    """What a reference points to."""

    INSTRUCTION = "instruction"
    MEMORY = "memory"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class Ref:
    """A reference.

    `key` is the id of an instruction, the ULID of a memory entry, or the path of a file. A file
    also has a project, and may have a byte range.
    """

    kind: RefKind
    key: str
    project: str | None = None
    start: int | None = None
    end: int | None = None

    def __str__(self) -> str:
        if self.kind is not RefKind.FILE:
            return f"{self.kind}:{self.key}"
        span = "" if self.start is None else f"#{self.start}-{self.end}"
        return f"file:{quote(self.project or '', safe='')}{self.key}{span}"

    @classmethod
    def parse(cls, text: str) -> Ref:
        """Parse a reference. Raises INVALID_ARGUMENT."""
        kind, found, rest = text.partition(":")
        if not found or len(text) > MAX_REF or _CONTROL.search(text) or kind not in set(RefKind):
            raise _not_a_reference(text)
        if kind == RefKind.INSTRUCTION and rest:
            return cls(RefKind.INSTRUCTION, rest)
        if kind == RefKind.MEMORY and _ULID.fullmatch(rest):
            return cls(RefKind.MEMORY, rest)
        file = _FILE.fullmatch(rest) if kind == RefKind.FILE else None
        if file is None:
            raise _not_a_reference(text)
        project = unquote(file["project"])
        span = (int(file["start"]), int(file["end"])) if file["start"] else None
        if (
            _CONTROL.search(project)
            or not 1 <= len(project) <= 128
            or (span is not None and span[0] > span[1])
        ):
            raise _not_a_reference(text)
        return cls(RefKind.FILE, file["path"], project, *(span or (None, None)))


class Resolver(Protocol):
    """Look up the target of a reference, as far as the caller may see it; None if there is none."""

    def resolve(self, ref: Ref, auth: AuthContext) -> Awaitable[Mapping[str, Json] | None]: ...


def _not_a_reference(text: str) -> CommonplaceError:
    return CommonplaceError(
        INVALID_ARGUMENT,
        f"{text[:80]!r} is not a reference.",
        hint="Use instruction:ID, memory:ULID or file:PROJECT/PATH#START-END.",
        details={"field": "ref"},
    )
