"""Results of the use cases of memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from commonplace.memory.anchors import AnchorVerdict, CodeAnchor
from commonplace.memory.code.protocol import LastChange
from commonplace.memory.engine.answerability import Verdict
from commonplace.memory.engine.citations import Citation
from commonplace.memory.engine.strength import Reliability
from commonplace.memory.engine.suggest import Neighbour
from commonplace.memory.housekeeping import Merge
from commonplace.memory.model import (
    Draft,
    Entry,
    EntryUsage,
    Link,
    Neighbourhood,
    Suggestion,
    VectorCoverage,
)
from commonplace.memory.retrieval.protocol import EntryMatch


@dataclass(frozen=True, slots=True)
class AddResult:
    """The entry that was added, or the existing one that has the same text."""

    entry: Entry
    created: bool
    embedded: bool
    similar: tuple[Neighbour, ...] = ()
    suggestions: int = 0
    contradictions: tuple[Suggestion, ...] = ()  # with entries that say otherwise
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
    reliability: Reliability  # moves the hit in the order; the score stays
    anchors: tuple[AnchorVerdict, ...] = ()

    @property
    def is_stale(self) -> bool:
        """Say whether any code that the entry speaks of changed or is gone."""
        return any(verdict.is_stale for verdict in self.anchors)


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The hits of a search, best first."""

    hits: tuple[EntryHit, ...]
    total: int
    semantic: bool  # whether vectors took part
    model_loading: bool
    verdict: Verdict = Verdict.LIKELY  # whether the hits answer
    unread_language: str | None = None  # or script, of a query that no model reads
    documents: int = 0  # entries that were searched
    withheld: int = 0  # hits whose code changed, where the policy leaves them out
    has_model: bool = True  # whether an embedding model is in use


@dataclass(frozen=True, slots=True)
class EntryDetails:
    """An entry with its usage, vectors, links and successor."""

    entry: Entry
    usage: EntryUsage
    vectors: VectorCoverage
    consolidation: float
    links: Neighbourhood
    successor: Entry | None
    reliability: Reliability
    anchors: tuple[AnchorVerdict, ...] = ()
    undecided: tuple[tuple[Suggestion, Entry], ...] = ()  # contradictions, and with what


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
class AnchoredEntry:
    """An entry and the states of its anchors."""

    entry: Entry
    verdicts: tuple[AnchorVerdict, ...]

    @property
    def is_stale(self) -> bool:
        """Say whether any code that the entry speaks of changed or is gone."""
        return any(verdict.is_stale for verdict in self.verdicts)


@dataclass(frozen=True, slots=True)
class StaleCode:
    """Entries whose code changed or is gone, how many there are and how many were compared."""

    entries: tuple[AnchoredEntry, ...]
    total: int
    compared: int
    commits: Mapping[CodeAnchor, LastChange]  # that touched the paths of anchors last


class CitationStatus(StrEnum):
    """Whether a citation names an entry that holds."""

    OK = "ok"
    NOT_FOUND = "not_found"
    AMBIGUOUS = "ambiguous"
    OTHER_TITLE = "other_title"
    DELETED = "deleted"
    OBSOLETE = "obsolete"
    SUPERSEDED = "superseded"
    STALE = "stale"  # its code changed or is gone


@dataclass(frozen=True, slots=True)
class CheckedCitation:
    """A citation, its status, and the entry that it names."""

    citation: Citation
    status: CitationStatus
    entry: Entry | None = None
    successor: Entry | None = None
    anchors: tuple[AnchorVerdict, ...] = ()  # those that are stale


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
    merge: Merge | None = None  # of a duplicate
