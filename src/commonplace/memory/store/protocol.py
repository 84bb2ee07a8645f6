"""What memory asks of persistence, tenant first.

SQLite and PostgreSQL obey it; every method is one transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from commonplace.kernel.auth import Tenant
from commonplace.memory.model import (
    Decision,
    Entry,
    EntryFilter,
    EntryPage,
    EntryUsage,
    Link,
    MemoryCounts,
    Neighbourhood,
    Revision,
    Suggestion,
    SuggestionType,
)


@dataclass(frozen=True, slots=True)
class BulkAddResult:
    """What came of adding many: how many entries and links are new, and which ids gave way to
    which existing entry.
    """

    entries: int
    links: int
    known: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SameText:
    """Entries that already say what a new one says."""

    active: str | None = None  # the new entry was not kept: this one has its text
    obsolete: str | None = None  # the new entry was kept although this one was retired


class MemoryStore(Protocol):
    """Entries of deleted rows are returned only where a method says so."""

    async def add(self, tenant: Tenant, entry: Entry) -> SameText:
        """Keep an entry unless an active one has the same text."""
        ...

    async def add_all(
        self,
        tenant: Tenant,
        entries: Sequence[Entry],
        links: Sequence[Link],
        usage: Mapping[str, EntryUsage],
        *,
        with_status: Collection[str] = (),
        dry_run: bool = False,
    ) -> BulkAddResult:
        """Keep many with their links and accesses in one transaction.

        Links follow to the entry that already says the same.

        Of the entries in `with_status` it is known whether something supersedes them: a link changes
        nothing about that. A dry run does it all and takes it back.
        """
        ...

    async def replace(self, tenant: Tenant, entry: Entry, action: str) -> None:
        """Change an entry and keep what it was.

        Raises DUPLICATE_ENTRY when another active entry says the same.

        What a deleted one superseded is active again, unless something else supersedes it; one that
        is restored supersedes it again.
        """
        ...

    async def get(self, tenant: Tenant, id_: str, *, deleted: bool = False) -> Entry | None: ...

    async def get_all(self, tenant: Tenant, ids: Iterable[str]) -> dict[str, Entry]: ...

    async def with_prefix(
        self, tenant: Tenant, prefix: str, limit: int, *, deleted: bool = False
    ) -> tuple[Entry, ...]: ...

    async def page(self, tenant: Tenant, wanted: EntryFilter, limit: int, offset: int) -> EntryPage:
        """Newest first."""
        ...

    async def everything(self, tenant: Tenant) -> tuple[Entry, ...]:
        """All entries that are not deleted, oldest first, in one snapshot."""
        ...

    async def history(self, tenant: Tenant, id_: str) -> tuple[Revision, ...]: ...

    async def usage(self, tenant: Tenant, ids: Iterable[str]) -> dict[str, EntryUsage]: ...

    async def record_use(self, counts: Mapping[tuple[Tenant, str], tuple[int, datetime]]) -> None:
        """Add accesses that were counted outside the search path."""
        ...

    def record_use_now(self, counts: Mapping[tuple[Tenant, str], tuple[int, datetime]]) -> None:
        """The same without an event loop, at the end."""
        ...

    async def unread_since(
        self, tenant: Tenant, moment: datetime, limit: int
    ) -> tuple[tuple[Entry, ...], int]:
        """Active entries neither read nor written since, longest first, and how many there are."""
        ...

    async def add_link(self, tenant: Tenant, link: Link) -> None:
        """Raises LINK_ALREADY_EXISTS, also where two would supersede each other, directly or
        through others.

        A `supersedes` link makes its target obsolete and point to the source.
        """
        ...

    async def links_of(self, tenant: Tenant, id_: str) -> Neighbourhood: ...

    async def links_among(self, tenant: Tenant, ids: Iterable[str]) -> tuple[Link, ...]:
        """Links with at least one end among the ids."""
        ...

    async def all_links(self, tenant: Tenant) -> tuple[Link, ...]: ...

    async def add_suggestions(
        self,
        tenant: Tenant,
        suggestions: Sequence[Suggestion],
        *,
        revised: Sequence[Suggestion] = (),
        withdrawn: Sequence[Suggestion] = (),
    ) -> int:
        """Keep the suggestions whose key was never suggested; pending clusters that a new one
        contains give way.

        A contradiction is also kept when its pair was accepted as a link before. Pending
        suggestions in `revised` get a new type, score and reason under their id; those in
        `withdrawn` are removed. Returns how many are new.
        """
        ...

    async def suggestions_about(self, tenant: Tenant, entry_id: str) -> tuple[Suggestion, ...]:
        """Return the pending suggestions that name an entry."""
        ...

    async def suggestion(self, tenant: Tenant, id_: str) -> Suggestion | None: ...

    async def pending(
        self, tenant: Tenant, types: Sequence[SuggestionType], limit: int
    ) -> tuple[tuple[Suggestion, ...], int]: ...

    async def clusters_with(self, tenant: Tenant, ids: Iterable[str]) -> tuple[Suggestion, ...]:
        """Generalisations, whatever became of them, that hold any of the ids."""
        ...

    async def decide(
        self, tenant: Tenant, id_: str, decision: Decision, moment: datetime, link: Link | None
    ) -> Suggestion | None:
        """Settle a pending suggestion, with the link it makes; None when it is not pending any
        more.
        """
        ...

    async def reindex(self, tenant: Tenant) -> int:
        """Make the index of words anew from the entries; returns how many."""
        ...

    async def move_tenant(self, old: Tenant, new: Tenant) -> int:
        """Everything of a tenant under another name, its index too; returns how many entries.

        The new one must be empty.
        """
        ...

    async def counts(self, tenant: Tenant) -> MemoryCounts: ...

    async def tenants(self) -> tuple[Tenant, ...]:
        """Whoever has entries, deleted ones included. For operators only."""
        ...
