"""What the use cases of memory return."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.memory.engine.suggest import Neighbour
from commonplace.memory.model import Draft, Entry, Link, Usage
from commonplace.memory.store import Match, Neighbourhood


@dataclass(frozen=True, slots=True)
class Added:
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
class Generalized:
    """A pattern drawn from sources, and the entry it became unless it was a dry run."""

    draft: Draft
    sources: tuple[Entry, ...]
    added: Added | None


@dataclass(frozen=True, slots=True)
class Hit:
    """An entry found, judged: sunk where something replaced it."""

    entry: Entry
    score: float
    match: Match
    successor: Entry | None  # the active entry at the end of the chain of successors
    contradicted_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    hits: tuple[Hit, ...]
    total: int
    semantic: bool
    model_loading: bool


@dataclass(frozen=True, slots=True)
class Shown:
    """An entry with everything about it."""

    entry: Entry
    usage: Usage
    consolidation: float
    links: Neighbourhood
    successor: Entry | None


@dataclass(frozen=True, slots=True)
class Graph:
    """Entries around one, with their distance, and the links between them."""

    root: Entry
    distance: dict[str, int]
    entries: dict[str, Entry]
    links: tuple[Link, ...]
    truncated: bool
