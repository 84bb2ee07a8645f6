"""The store that memory needs.

SQLite and PostgreSQL implement it. Every method is one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from commonplace.kernel.auth import Tenant
from commonplace.kernel.paging import ResultPage
from commonplace.memory.housekeeping import (
    EntryTimeline,
    Merge,
    PurgeCounts,
    PurgeScope,
    SuggestionFilter,
    TimelineFilter,
    UseReport,
)
from commonplace.memory.model import (
    AccessCounts,
    Decision,
    Entry,
    EntryFilter,
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
    """How many entries and links are new, and the existing ids of entries that are not."""

    entries: int
    links: int
    known: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SameText:
    """Existing entries with the text of a new one."""

    active: str | None = None  # the new entry was not saved
    obsolete: str | None = None  # the new entry was saved


class HousekeepingStore(Protocol):
    """What keeps memory in order; every method is one transaction."""

    async def matching(
        self, tenant: Tenant, wanted: SuggestionFilter, limit: int
    ) -> tuple[tuple[Suggestion, ...], dict[SuggestionType, int]]:
        """Return pending suggestions, best first, and how many of each type there are in all."""
        ...

    async def decide_all(
        self,
        tenant: Tenant,
        links: Mapping[str, Link | None],
        decision: Decision,
        moment: datetime,
    ) -> tuple[Suggestion, ...]:
        """Decide suggestions by id and save their links; returns those that were pending."""
        ...

    async def decided(self, tenant: Tenant) -> tuple[Suggestion, ...]:
        """Return the accepted and rejected suggestions."""
        ...

    async def merge(
        self, tenant: Tenant, suggestion_id: str, new_id: Callable[[], str], moment: datetime
    ) -> Merge | None:
        """Accept a duplicate: merge its entries; returns None if it is already decided.

        The kept entry takes over text, tags, links and accesses of the other one, which it
        supersedes. Raises SUGGESTION_NOT_FOUND if an entry is not active any more, and
        DUPLICATE_ENTRY if a third one has the merged text.
        """
        ...

    async def report_use(self, tenant: Tenant, report: UseReport) -> EntryUsage:
        """Save a report and count it; returns the counts of the entry."""
        ...

    async def timeline(
        self, tenant: Tenant, wanted: TimelineFilter, limit: int, offset: int
    ) -> EntryTimeline:
        """Return what happened, newest first, and all numbers by day."""
        ...

    async def count_purgeable(self, tenant: Tenant, scope: PurgeScope) -> PurgeCounts:
        """Count what a purge would remove."""
        ...

    async def purgeable(self, tenant: Tenant, scope: PurgeScope) -> tuple[Entry, ...]:
        """Return the next deleted entries that a purge removes."""
        ...

    async def purge(
        self,
        tenant: Tenant,
        entries: Sequence[Entry],
        scope: PurgeScope,
        purge_id: str,
        moment: datetime,
    ) -> PurgeCounts:
        """Remove deleted entries with all that is about them, and the text of earlier states."""
        ...

    async def last_purge(self, tenant: Tenant) -> datetime | None:
        """Return when entries were last purged; None if never."""
        ...

    async def overwrite_freed_space(self) -> bool:
        """Overwrite what was removed in files; returns False if that must wait."""
        ...


class MemoryStore(Protocol):
    """Entries, links and suggestions of all tenants; deleted entries are returned only if asked."""

    @property
    def housekeeping(self) -> HousekeepingStore: ...

    async def add(self, tenant: Tenant, entry: Entry) -> SameText:
        """Save an entry unless an active one has the same text."""
        ...

    async def add_all(
        self,
        tenant: Tenant,
        entries: Sequence[Entry],
        links: Sequence[Link],
        usage: Mapping[str, EntryUsage],
        *,
        decided: Sequence[Suggestion] = (),
        with_status: Collection[str] = (),
        dry_run: bool = False,
    ) -> BulkAddResult:
        """Save entries with their links, accesses and decided suggestions in one transaction.

        Links to an entry that exists lead to the existing one, and so do suggestions; one that is
        decided here stays so. Entries in `with_status` state whether they are superseded: links do
        not change that. A dry run is rolled back.
        """
        ...

    async def replace(self, tenant: Tenant, entry: Entry, action: str) -> None:
        """Change an entry and add its previous state to the history.

        Raises DUPLICATE_ENTRY if another active entry has the same text. Deleting an entry
        reactivates what only it superseded, or points it to the entry's own successor; restoring
        it supersedes that again.
        """
        ...

    async def get(self, tenant: Tenant, id_: str, *, deleted: bool = False) -> Entry | None: ...

    async def get_all(self, tenant: Tenant, ids: Iterable[str]) -> dict[str, Entry]: ...

    async def with_prefix(
        self, tenant: Tenant, prefix: str, limit: int, *, deleted: bool = False
    ) -> tuple[Entry, ...]: ...

    async def page(
        self, tenant: Tenant, wanted: EntryFilter, limit: int, offset: int
    ) -> ResultPage[Entry]:
        """Return a page of entries, newest first."""
        ...

    async def everything(self, tenant: Tenant) -> tuple[Entry, ...]:
        """Return all entries that are not deleted, oldest first, in one snapshot."""
        ...

    async def anchored(self, tenant: Tenant, after: str, limit: int) -> tuple[Entry, ...]:
        """Return active entries that speak of code and have a larger id, by id."""
        ...

    async def history(self, tenant: Tenant, id_: str) -> tuple[Revision, ...]: ...

    async def usage(self, tenant: Tenant, ids: Iterable[str]) -> dict[str, EntryUsage]: ...

    async def record_use(self, counts: AccessCounts) -> None:
        """Add accesses that were counted in memory."""
        ...

    def record_use_now(self, counts: AccessCounts) -> None:
        """Add accesses without an event loop."""
        ...

    async def unread_since(
        self, tenant: Tenant, moment: datetime, limit: int
    ) -> tuple[tuple[Entry, ...], int]:
        """Return active entries unused since then, longest unused first, and how many there are."""
        ...

    async def add_link(self, tenant: Tenant, link: Link) -> None:
        """Save a link; `supersedes` makes its target obsolete and point to the source.

        Raises LINK_ALREADY_EXISTS, also if two entries would supersede each other.
        """
        ...

    async def links_of(self, tenant: Tenant, id_: str) -> Neighbourhood: ...

    async def links_among(self, tenant: Tenant, ids: Iterable[str]) -> tuple[Link, ...]:
        """Return the links with at least one end among the ids."""
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
        """Save the suggestions whose key is new; returns how many.

        Pending clusters that a new one contains are withdrawn. A contradiction is also saved if
        its pair was accepted as a link. Suggestions in `revised` get a new type, score and reason
        under their id; those in `withdrawn` are removed.
        """
        ...

    async def suggestions_about(self, tenant: Tenant, entry_id: str) -> tuple[Suggestion, ...]:
        """Return the pending suggestions that name an entry."""
        ...

    async def suggestion(self, tenant: Tenant, id_: str) -> Suggestion | None: ...

    async def pending(
        self, tenant: Tenant, types: Sequence[SuggestionType], limit: int
    ) -> tuple[tuple[Suggestion, ...], int]: ...

    async def pending_contradictions(
        self, tenant: Tenant, ids: Iterable[str]
    ) -> tuple[Suggestion, ...]:
        """Return the undecided contradictions that name any of the ids."""
        ...

    async def clusters_with(self, tenant: Tenant, ids: Iterable[str]) -> tuple[Suggestion, ...]:
        """Return the generalisations, decided or not, that contain any of the ids."""
        ...

    async def decide(
        self, tenant: Tenant, id_: str, decision: Decision, moment: datetime, link: Link | None
    ) -> Suggestion | None:
        """Decide a pending suggestion and save its link; returns None if it is already decided."""
        ...

    async def reindex(self, tenant: Tenant) -> int:
        """Rebuild the word index from the entries; returns how many."""
        ...

    async def delete_tenant(self, tenant: Tenant) -> int:
        """Delete everything of a tenant; returns how many entries."""
        ...

    async def move_tenant(self, old: Tenant, new: Tenant) -> int:
        """Move everything of a tenant to a new name; returns how many entries.

        The new tenant must be empty.
        """
        ...

    async def counts(self, tenant: Tenant) -> MemoryCounts: ...

    async def tenants(self) -> tuple[Tenant, ...]:
        """Return all tenants with entries, deleted ones included. For operators only."""
        ...
