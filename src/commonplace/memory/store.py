"""What memory asks of persistence, tenant first.

SQLite and PostgreSQL obey it; every method is one transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from commonplace.kernel.auth import Tenant
from commonplace.memory.model import (
    Decision,
    Entry,
    EntryType,
    Link,
    LinkedEntry,
    Relation,
    Status,
    Suggestion,
    SuggestionType,
    Usage,
    clean_project,
    clean_tags,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vector = npt.NDArray[np.float32]
else:  # numpy comes with the model: memory without one never imports it
    Vector = object


@dataclass(frozen=True, slots=True)
class Filter:
    """Which entries a list or a search looks at."""

    type: EntryType | None = None
    project: str | None = None
    tag: str | None = None
    status: Status | None = None
    deleted: bool = False

    def cleaned(self) -> Filter:
        """As projects and tags are kept; a blank one filters nothing."""
        return replace(
            self,
            project=clean_project(self.project),
            tag=next(iter(clean_tags([self.tag or ""])), None),
        )


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

    def without(self, relation: Relation, ids: Collection[str]) -> Neighbourhood:
        """Leave out the links of one relation to some entries."""
        kept = (
            tuple(end for end in ends if end.relation is not relation or end.id not in ids)
            for ends in (self.outgoing, self.incoming)
        )
        return Neighbourhood(*kept)


@dataclass(frozen=True, slots=True)
class Match:
    """An entry that was found: by which retrievers and how well, before any judgement."""

    entry_id: str
    score: float  # 0 to 1, comparable between queries
    lexical: float | None = None  # None: that retriever did not find it
    semantic: float | None = None
    terms: tuple[str, ...] = ()
    words: Mapping[str, int] | None = (
        None  # how often the entry holds each of its own terms, where the index told
    )


@dataclass(frozen=True, slots=True)
class Sought:
    """A question and the conversation around it."""

    query: str
    context: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    matches: tuple[Match, ...]
    total: int
    semantic: bool  # whether vectors took part


@dataclass(frozen=True, slots=True)
class Similar:
    """Candidates, nearest first, and how telling the entry's words are (inverse document
    frequency).
    """

    matches: tuple[Match, ...]
    rarity: Mapping[str, float]


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
    accesses: int
    indexed: int  # entries in the index of words: all of them, or it must be made anew


@dataclass(frozen=True, slots=True)
class Added:
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


class Store(Protocol):
    """Entries of deleted rows are returned only where a method says so."""

    async def add(self, tenant: Tenant, entry: Entry) -> SameText:
        """Keep an entry unless an active one has the same text."""
        ...

    async def add_all(
        self,
        tenant: Tenant,
        entries: Sequence[Entry],
        links: Sequence[Link],
        usage: Mapping[str, Usage],
        *,
        told: Collection[str] = (),
        dry_run: bool = False,
    ) -> Added:
        """Keep many with their links and accesses in one transaction.

        Links follow to the entry that already says the same.

        Of the entries in `told` it is known whether something supersedes them: a link changes
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

    async def page(self, tenant: Tenant, wanted: Filter, limit: int, offset: int) -> Page:
        """Newest first."""
        ...

    async def everything(self, tenant: Tenant) -> tuple[Entry, ...]:
        """All entries that are not deleted, oldest first, in one snapshot."""
        ...

    async def history(self, tenant: Tenant, id_: str) -> tuple[Revision, ...]: ...

    async def usage(self, tenant: Tenant, ids: Iterable[str]) -> dict[str, Usage]: ...

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

    async def counts(self, tenant: Tenant) -> Counts: ...

    async def tenants(self) -> tuple[Tenant, ...]:
        """Whoever has entries, deleted ones included. For operators only."""
        ...


class Index(Protocol):
    """Finds entries again.

    The words are indexed by the store, in the entry's own transaction; vectors follow when there is
    a model.
    """

    @property
    def loading(self) -> bool:
        """Whether a model is on its way, so that answers will soon be better."""
        ...

    def ready(self) -> bool:
        """Whether there are vectors now; if they could be, a model begins to load."""
        ...

    def require(self) -> None:
        """Raises EMBEDDINGS_DISABLED or MODEL_NOT_AVAILABLE: for what only vectors can do."""
        ...

    async def prepare(self, seconds: float) -> str:
        """Wait for vectors as long as allowed; returns why there are none, or nothing when there
        are.
        """
        ...

    async def search(self, tenant: Tenant, sought: Sought, wanted: Filter, limit: int) -> Found:
        """Four fields: entry text, context text, summary vector, context vector."""
        ...

    async def similar(
        self, tenant: Tenant, entry: Entry, limit: int, also: Sequence[Entry] = ()
    ) -> Similar:
        """Return entries that may be near, and those in `also`: with their cosine where both
        have vectors, else by shared words.
        """
        ...

    async def embed(self, tenant: Tenant, entries: Sequence[Entry]) -> frozenset[str]:
        """Make the vectors of entries; returns the ids that have theirs now.

        No model: none, and no failure.
        """
        ...

    async def forget(self, tenant: Tenant, entries: Sequence[Entry]) -> None:
        """Drop the vectors of entries, as they were keyed."""
        ...

    async def forget_all(self, tenant: Tenant) -> None: ...

    async def vectors_of(self, tenant: Tenant, entry: Entry) -> tuple[bool, bool]:
        """Whether its summary and its context have a vector."""
        ...

    async def missing(self, tenant: Tenant, entries: Sequence[Entry]) -> list[Entry]:
        """Those of the entries that could have a vector and have none."""
        ...

    def close(self) -> None:
        """End what runs beside: it begins anew where the index is next used."""
        ...
