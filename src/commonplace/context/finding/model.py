"""Values of `search_all` and `open_ref`, and what they need of the domains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from commonplace.kernel.auth import AuthContext
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.ref import Ref, RefKind

UNDERLYING: Mapping[RefKind, tuple[tuple[str, ...], tuple[str, ...]]] = {
    RefKind.INSTRUCTION: (("instructions_search",), ("instructions_get",)),
    RefKind.MEMORY: (("rekall_search",), ("rekall_show",)),
    RefKind.FILE: (("file_search",), ("file_read",)),
    RefKind.OPENAPI: (("oas_walk_operations", "file_search"), ("oas_parse", "file_read")),
}
"""The tools that a search and a reading of each kind stand for: who may not use them finds none."""


@dataclass(frozen=True, slots=True)
class FindQuestion:
    """What to search for, where; `project` limits files, API descriptions and lessons."""

    query: str
    kinds: Sequence[RefKind] = tuple(RefKind)
    project: str | None = None
    limit: int = 10


@dataclass(frozen=True, slots=True)
class FoundItem:
    """One result; `score` is the chance that it answers, comparable between kinds.

    `terms` are the words of the query that it has, as the text analysis makes them.
    """

    ref: Ref
    title: str
    text: str  # what the snippet is taken from
    score: float
    terms: tuple[str, ...] = ()
    why: str = ""  # beyond shared words
    marks: tuple[str, ...] = ()
    lines: tuple[int, int] | None = None  # in the file of an operation


@dataclass(frozen=True, slots=True)
class SourceResult:
    """What the search of one kind found, best first, and what a caller should know about it."""

    items: Sequence[FoundItem] = ()
    notes: tuple[str, ...] = ()


class FindSource(Protocol):
    """Searches one kind, as far as the caller may see it."""

    async def search(self, caller: AuthContext, question: FindQuestion) -> SourceResult: ...


@dataclass(frozen=True, slots=True)
class FindResult:
    """The results of all kinds in one order; `unavailable` says why a kind is missing."""

    items: Sequence[FoundItem]
    unavailable: Mapping[RefKind, str]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OpenedText:
    """The whole text that a reference names, without its bytes or lines.

    `source` is the reference whose lines the text has: of an API operation its file; `first_line`
    and `first_byte` say where the text begins there.
    """

    title: str
    text: str
    source: Ref
    first_line: int = 1
    updated: str = ""  # ISO 8601
    marks: tuple[str, ...] = ()
    first_byte: int = 0


class RefReader(Protocol):
    """Reads one kind of reference, as far as the caller may see it; None if there is nothing."""

    async def read(self, caller: AuthContext, ref: Ref) -> OpenedText | None: ...


@dataclass(frozen=True, slots=True)
class OpenedItem:
    """A reference and what it names, within a budget, or the error instead.

    `next` continues where the text was cut; `lines` are those shown, of a text with line numbers.
    """

    ref: str
    title: str = ""
    text: str = ""
    lines: tuple[int, int] | None = None
    next: str = ""
    updated: str = ""
    marks: tuple[str, ...] = ()
    error: CommonplaceError | None = None


@dataclass(frozen=True, slots=True)
class OpenResult:
    """Items in the order of the references; `omitted` counts the last ones, which did not fit."""

    items: Sequence[OpenedItem]
    budget: int
    tokens: int = 0
    omitted: int = 0
