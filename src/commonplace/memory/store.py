"""What memory asks of persistence, tenant first. SQLite and PostgreSQL obey it; every method is one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from commonplace.kernel.auth import Tenant
from commonplace.memory.model import Decision, Entry, EntryType, Link, LinkedEntry, Status, Suggestion, SuggestionType, Usage

Vector = Sequence[float]


@dataclass(frozen=True, slots=True)
class Stored:
    """An entry to be kept, with what is derived from it."""

    entry: Entry
    summary: Vector | None = None
    context: Vector | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """Which entries a list or a search looks at."""

    type: EntryType | None = None
    project: str | None = None
    tag: str | None = None
    status: Status | None = None
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    entries: tuple[Entry, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Revision:
    """How an entry was before a change."""

    revision: int
    action: str
    changed_at: datetime
    before: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The links of an entry: the other end's id, title and relation."""

    outgoing: tuple[LinkedEntry, ...]
    incoming: tuple[LinkedEntry, ...]


@dataclass(frozen=True, slots=True)
class Match:
    """An entry that a search found: which retrievers found it and how well, before any judgement."""

    entry_id: str
    score: float  # 0 to 1, comparable between queries
    lexical: float = 0.0
    semantic: float = 0.0
    terms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    matches: tuple[Match, ...]
    total: int
    semantic: bool  # whether vectors took part


@dataclass(frozen=True, slots=True)
class Counts:
    """What there is, for `stats` and `doctor`."""

    entries: int
    by_type: Mapping[str, int]
    by_project: Mapping[str, int]
    by_status: Mapping[str, int]
    deleted: int
    links: int
    suggestions: Mapping[str, int]
    vectors: int
    accesses: int


class Store(Protocol):
    """Entries of deleted rows are returned only where a method says so."""

    def add(self, tenant: Tenant, stored: Stored) -> str | None:
        """Keep an entry; the id of the active entry that already says the same, or None when it was created."""
        ...

    def add_all(self, tenant: Tenant, stored: Sequence[Stored], links: Sequence[Link], usage: Mapping[str, Usage]) -> dict[str, str]:
        """Keep many in one transaction; returns the ids that were not kept, and which existing entry says the same."""
        ...

    def replace(self, tenant: Tenant, stored: Stored, action: str, before: Mapping[str, Any]) -> None:
        """Change an entry and keep what it was. Raises DUPLICATE_ENTRY when another active entry says the same."""
        ...

    def get(self, tenant: Tenant, id_: str, *, deleted: bool = False) -> Entry | None: ...

    def get_all(self, tenant: Tenant, ids: Iterable[str]) -> dict[str, Entry]: ...

    def with_prefix(self, tenant: Tenant, prefix: str, limit: int, *, deleted: bool = False) -> tuple[Entry, ...]: ...

    def page(self, tenant: Tenant, wanted: Filter, limit: int, offset: int) -> Page:
        """Newest first."""
        ...

    def everything(self, tenant: Tenant) -> Iterable[Entry]:
        """All entries that are not deleted, oldest first, in one snapshot."""
        ...

    def history(self, tenant: Tenant, id_: str) -> tuple[Revision, ...]: ...

    def usage(self, tenant: Tenant, ids: Iterable[str]) -> dict[str, Usage]: ...

    def record_use(self, counts: Mapping[tuple[Tenant, str], tuple[int, datetime]]) -> None:
        """Add accesses that were counted outside the search path."""
        ...

    def unread_since(self, tenant: Tenant, moment: datetime, limit: int) -> tuple[tuple[Entry, ...], int]:
        """Active entries neither read nor written since, longest first, and how many there are."""
        ...

    def add_link(self, tenant: Tenant, link: Link) -> None:
        """Raises LINK_ALREADY_EXISTS. A `supersedes` link makes its target obsolete and point to the source."""
        ...

    def links_of(self, tenant: Tenant, id_: str) -> Neighbourhood: ...

    def links_among(self, tenant: Tenant, ids: Iterable[str]) -> tuple[Link, ...]:
        """Links with at least one end among the ids."""
        ...

    def all_links(self, tenant: Tenant) -> tuple[Link, ...]: ...

    def add_suggestions(self, tenant: Tenant, suggestions: Sequence[Suggestion]) -> int:
        """Keep those whose key was never suggested; pending clusters that a new one contains give way. Returns how many are new."""
        ...

    def suggestion(self, tenant: Tenant, id_: str) -> Suggestion | None: ...

    def pending(self, tenant: Tenant, types: Sequence[SuggestionType], limit: int) -> tuple[tuple[Suggestion, ...], int]: ...

    def clusters_with(self, tenant: Tenant, ids: Iterable[str]) -> tuple[Suggestion, ...]:
        """Generalisations, whatever became of them, that hold any of the ids."""
        ...

    def decide(self, tenant: Tenant, id_: str, decision: Decision, moment: datetime, link: Link | None) -> Suggestion | None:
        """Settle a pending suggestion, with the link it makes; None when it is not pending any more."""
        ...

    def search(self, tenant: Tenant, query: str, vector: Vector | None, wanted: Filter, limit: int) -> Found:
        """Four fields: entry text, context text, summary vector, context vector."""
        ...

    def similar(self, tenant: Tenant, entry: Entry, summary: Vector | None, limit: int) -> tuple[Match, ...]:
        """Nearest other active entries, by cosine of the summaries, or by shared words where there are no vectors."""
        ...

    def without_vectors(self, tenant: Tenant, limit: int) -> tuple[Entry, ...]:
        """Entries whose vectors are missing."""
        ...

    def put_vectors(self, tenant: Tenant, vectors: Mapping[str, tuple[Vector | None, Vector | None]]) -> None: ...

    def counts(self, tenant: Tenant) -> Counts: ...
