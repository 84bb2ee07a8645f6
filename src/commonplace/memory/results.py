"""Results of the use cases of memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from commonplace.memory.engine.suggest import Neighbour
from commonplace.memory.model import Draft, Entry, EntryUsage, Link, Neighbourhood, Suggestion
from commonplace.memory.retrieval.protocol import EntryMatch


@dataclass(frozen=True, slots=True)
class AddResult:
    """The entry that was added, or the existing one that has the same text."""

    entry: Entry
    created: bool
    embedded: bool
    similar: tuple[Neighbour, ...] = ()
    suggestions: int = 0
    context_truncated: bool = False
    masked: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()  # fields of the existing entry that a repeated add changed
    retired: Entry | None = None  # an obsolete entry with the same text
    retired_for: Entry | None = None  # the entry that superseded it


@dataclass(frozen=True, slots=True)
class UpdateResult:
    """A corrected entry, the fields that changed, and how many earlier states it has."""

    entry: Entry
    changed: tuple[str, ...]
    revisions: int


@dataclass(frozen=True, slots=True)
class LinkResult:
    """A new link and the entries at its ends."""

    link: Link
    source: Entry
    target: Entry


@dataclass(frozen=True, slots=True)
class GeneralizeResult:
    """A pattern drafted from entries, and the entry it became unless it was a dry run."""

    draft: Draft
    sources: tuple[Entry, ...]
    added: AddResult | None


@dataclass(frozen=True, slots=True)
class EntryHit:
    """An entry that a search found; outdated entries have a lower score."""

    entry: Entry
    score: float
    match: EntryMatch
    successor: Entry | None  # the active entry at the end of the chain of successors
    contradicted_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The hits of a search, best first."""

    hits: tuple[EntryHit, ...]
    total: int
    semantic: bool  # whether vectors took part
    model_loading: bool


@dataclass(frozen=True, slots=True)
class EntryDetails:
    """An entry with its usage, links and successor."""

    entry: Entry
    usage: EntryUsage
    consolidation: float
    links: Neighbourhood
    successor: Entry | None


@dataclass(frozen=True, slots=True)
class LinkGraph:
    """Entries around one, with their distance from it, and the links between them."""

    root: Entry
    distance: dict[str, int]
    entries: dict[str, Entry]
    links: tuple[Link, ...]
    truncated: bool


@dataclass(frozen=True, slots=True)
class StaleEntries:
    """Entries that were neither read nor changed for some days, the longest unused first."""

    entries: tuple[Entry, ...]
    total: int
    usage: Mapping[str, EntryUsage]
    days: int


@dataclass(frozen=True, slots=True)
class PendingSuggestions:
    """Undecided suggestions, how many there are in all, and the entries they name."""

    suggestions: tuple[Suggestion, ...]
    total: int
    entries: Mapping[str, Entry]


@dataclass(frozen=True, slots=True)
class AcceptResult:
    """An accepted suggestion, and the link it created unless it is a generalisation."""

    suggestion: Suggestion
    link: Link | None
