"""What the use cases of memory return."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.memory.engine.suggest import Neighbour
from commonplace.memory.model import Draft, Entry, EntryUsage, Link, Neighbourhood
from commonplace.memory.retrieval.protocol import EntryMatch


@dataclass(frozen=True, slots=True)
class AddResult:
    """What came of an add."""

    entry: Entry
    created: bool
    embedded: bool
    similar: tuple[Neighbour, ...] = ()
    suggestions: int = 0
    context_truncated: bool = False
    masked: tuple[str, ...] = ()
    updated: tuple[
        str, ...
    ] = ()  # fields of the existing entry that took over something of a repeated add
    retired: Entry | None = None  # an obsolete entry with the same text
    retired_for: Entry | None = None  # the entry that superseded it


@dataclass(frozen=True, slots=True)
class GeneralizeResult:
    """A pattern drawn from sources, and the entry it became unless it was a dry run."""

    draft: Draft
    sources: tuple[Entry, ...]
    added: AddResult | None


@dataclass(frozen=True, slots=True)
class EntryHit:
    """An entry found, judged: sunk where something replaced it."""

    entry: Entry
    score: float
    match: EntryMatch
    successor: Entry | None  # the active entry at the end of the chain of successors
    contradicted_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    hits: tuple[EntryHit, ...]
    total: int
    semantic: bool
    model_loading: bool


@dataclass(frozen=True, slots=True)
class EntryDetails:
    """An entry with everything about it."""

    entry: Entry
    usage: EntryUsage
    consolidation: float
    links: Neighbourhood
    successor: Entry | None


@dataclass(frozen=True, slots=True)
class LinkGraph:
    """Entries around one, with their distance, and the links between them."""

    root: Entry
    distance: dict[str, int]
    entries: dict[str, Entry]
    links: tuple[Link, ...]
    truncated: bool
