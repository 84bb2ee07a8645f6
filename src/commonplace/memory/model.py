"""The values of memory: entries, links, suggestions, and the consolidation score."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from enum import StrEnum
from typing import Literal

from commonplace.kernel.auth import Tenant
from commonplace.kernel.json_types import Json
from commonplace.memory.anchors import ANCHORS, CodeAnchor
from commonplace.memory.text import (
    CONTEXT_CHARACTERS,
    TAGS,
    TITLE_CHARACTERS,
    clean_project,
    clean_tags,
)

WEAK_SCORE = 0.1  # below it, the best result is probably unrelated; rekall_help says so too
LINK_SIMILARITY = 0.75
GENERALIZE_SIMILARITY = 0.80
GENERALIZE_ENTRIES = 3

SecretHandling = Literal["refuse", "mask"]


class EntryType(StrEnum):
    BUG = "bug"
    PATTERN = "pattern"
    DECISION = "decision"
    PITFALL = "pitfall"
    CONFIG = "config"
    REFERENCE = "reference"


class MemoryType(StrEnum):
    EPISODIC = "episodic"
    SEMANTIC = "semantic"


class EntryStatus(StrEnum):
    ACTIVE = "active"
    OBSOLETE = "obsolete"


class RelationType(StrEnum):
    RELATED = "related"
    SUPERSEDES = "supersedes"
    DERIVED_FROM = "derived_from"
    CONTRADICTS = "contradicts"


class SuggestionType(StrEnum):
    LINK = "link"
    CONTRADICTION = "contradiction"
    DUPLICATE = "duplicate"
    GENERALIZE = "generalize"


PAIR_TYPES = (SuggestionType.CONTRADICTION, SuggestionType.DUPLICATE, SuggestionType.LINK)
CLUSTER_TYPES = (SuggestionType.GENERALIZE,)


class Decision(StrEnum):
    PENDING = "pending"
    ACCEPTED = "accepted"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that was learned.

    Accesses are counted beside it (`EntryUsage`), so that reading never rewrites it.
    """

    id: str
    type: EntryType
    title: str
    content: str
    tags: tuple[str, ...]
    project: str | None
    confidence: int
    status: EntryStatus
    memory_type: MemoryType
    created_at: datetime
    updated_at: datetime
    context: str = ""
    superseded_by: str | None = None
    deleted_at: datetime | None = None
    anchors: tuple[CodeAnchor, ...] = ()  # the code that it speaks of

    def __post_init__(self) -> None:
        if not self.title or len(self.title) > TITLE_CHARACTERS:
            raise ValueError(f"a title has 1 to {TITLE_CHARACTERS} characters")
        if not 0 <= self.confidence <= 5:
            raise ValueError("confidence is 0 to 5")

    @property
    def text(self) -> str:
        """Return title, content and tags, from which the summary vector is computed."""
        return "\n".join(part for part in (self.title, self.content, " ".join(self.tags)) if part)

    @property
    def digest(self) -> bytes:
        """Identify the text: no two active entries have the same digest."""
        return digest(self.type, self.title, self.content, self.project)


def digest(type_: str, title: str, content: str, project: str | None) -> bytes:
    """Hash type, title, content and project, ignoring differences in white space."""
    parts = (type_, " ".join(title.split()), " ".join(content.split()), project or "")
    return hashlib.sha256("\x1f".join(parts).encode()).digest()[:16]


@dataclass(frozen=True, slots=True)
class EntryUsage:
    """How often and when an entry was read, and what those who used it reported."""

    access_count: int = 0
    last_accessed: datetime | None = None
    confirmed: int = 0
    refuted: int = 0
    last_confirmed: datetime | None = None


@dataclass(frozen=True, slots=True)
class VectorCoverage:
    """Which of the vectors of an entry exist: one of each passage of its two texts."""

    summary: bool = False  # at least the beginning
    context: bool = False
    vectors: int = 0
    wanted: int = 0  # when all passages are embedded


@dataclass(frozen=True, slots=True)
class Link:
    """A directed relation between two entries."""

    id: str
    source_id: str
    target_id: str
    relation: RelationType
    created_at: datetime

    @property
    def ends(self) -> tuple[str, str]:
        return self.source_id, self.target_id


@dataclass(frozen=True, slots=True)
class LinkedEntry:
    """The other end of a link, as it is shown."""

    id: str
    title: str
    relation: RelationType


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A proposal about entries, keyed by their sorted ids so that a rejected one never returns."""

    id: str
    type: SuggestionType
    entry_ids: tuple[str, ...]
    score: float
    reason: str
    created_at: datetime
    decision: Decision = Decision.PENDING
    resolved_at: datetime | None = None

    def __post_init__(self) -> None:
        least = GENERALIZE_ENTRIES if self.type is SuggestionType.GENERALIZE else 2
        if len(set(self.entry_ids)) < least or len(set(self.entry_ids)) != len(self.entry_ids):
            raise ValueError(f"a {self.type} suggestion names {least} or more different entries")

    @property
    def key(self) -> str:
        return suggestion_key(self.type, self.entry_ids)


def suggestion_key(type_: SuggestionType, entry_ids: tuple[str, ...]) -> str:
    """Return the key; suggestions of any type about one pair share theirs."""
    family = "generalize" if type_ is SuggestionType.GENERALIZE else "pair"
    ids = " ".join(sorted(entry_ids))
    return (
        f"{family} {ids}"
        if len(ids) <= 200
        else f"{family} {hashlib.sha256(ids.encode()).hexdigest()}"
    )


@dataclass(frozen=True, slots=True)
class Draft:
    """A cleaned entry before it has an id."""

    type: EntryType
    title: str
    content: str = ""
    tags: tuple[str, ...] = ()
    context: str = ""
    project: str | None = None
    confidence: int = 3
    memory_type: MemoryType = MemoryType.EPISODIC
    context_truncated: bool = False
    masked: tuple[str, ...] = field(default=())  # kinds of secrets that were masked
    anchors: tuple[CodeAnchor, ...] = ()

    def entry(self, id_: str, moment: datetime) -> Entry:
        """Make the active entry that this draft describes."""
        return Entry(
            id=id_,
            type=self.type,
            title=self.title,
            content=self.content,
            tags=self.tags,
            project=self.project,
            confidence=self.confidence,
            status=EntryStatus.ACTIVE,
            memory_type=self.memory_type,
            created_at=moment,
            updated_at=moment,
            context=self.context,
            anchors=self.anchors,
        )


@dataclass(frozen=True, slots=True)
class EntryChanges:
    """Corrections of an entry; None leaves a field as it is, an empty project removes it."""

    type: EntryType | None = None
    title: str | None = None
    content: str | None = None
    tags: tuple[str, ...] | None = None
    project: str | None = None
    confidence: int | None = None
    memory_type: MemoryType | None = None
    status: EntryStatus | None = None
    anchors: tuple[CodeAnchor, ...] | None = None

    def given(self) -> tuple[str, ...]:
        """Name the fields that are given."""
        return tuple(f.name for f in fields(self) if getattr(self, f.name) is not None)


def merge_draft(entry: Entry, draft: Draft, stated: Collection[str]) -> Entry:
    """Merge a repeated add into its entry: more tags, context and anchors, the stated fields.

    If both contexts together are too long, the new one replaces the old one.
    """
    context = entry.context
    if draft.context and draft.context not in context:
        both = f"{context}\n\n{draft.context}".lstrip()
        context = both if len(both) <= CONTEXT_CHARACTERS else draft.context
    return replace(
        entry,
        tags=tuple(dict.fromkeys((*entry.tags, *draft.tags)))[:TAGS],
        context=context,
        confidence=draft.confidence if "confidence" in stated else entry.confidence,
        memory_type=draft.memory_type if "memory_type" in stated else entry.memory_type,
        anchors=join_anchors(entry.anchors, draft.anchors),
    )


def join_anchors(
    known: Iterable[CodeAnchor], added: Iterable[CodeAnchor]
) -> tuple[CodeAnchor, ...]:
    """Return the anchors of both, the added one of two for the same place; the newest if many."""
    return tuple({anchor.key: anchor for anchor in (*known, *added)}.values())[-ANCHORS:]


def changed_fields(before: Entry, after: Entry) -> tuple[str, ...]:
    """Name the fields in which two states of an entry differ."""
    return tuple(
        field.name
        for field in fields(Entry)
        if getattr(before, field.name) != getattr(after, field.name)
    )


def indexed_fields(entry: Entry) -> tuple[object, ...]:
    """Return what words, vectors and the document key of an entry are made from."""
    return entry.text, entry.context, entry.project, entry.type


def one_supersedes_other(first: Entry, second: Entry) -> bool:
    """Say whether either entry superseded the other directly."""
    return first.superseded_by == second.id or second.superseded_by == first.id


def final_successor(entry: Entry, known: Mapping[str, Entry]) -> Entry | None:
    """Follow `superseded_by` to its end; returns None unless an active entry is there."""
    last: Entry | None = entry
    visited: set[str] = set()
    while last is not None and last.superseded_by and last.id not in visited:
        visited.add(last.id)
        last = known.get(last.superseded_by)
    return (
        last
        if last is not None and last is not entry and last.status is EntryStatus.ACTIVE
        else None
    )


def consolidation_score(access_count: int, last_accessed: datetime | None, now: datetime) -> float:
    """Rate how established an entry is: 0.6·min(1, ln(n+1)/5) + 0.4·exp(-d/30).

    n is the number of accesses and d the days since the last one. The score is computed when an
    entry is shown, so it decays without being stored; an entry that was never read has 0.
    """
    if last_accessed is None or access_count <= 0:
        return 0.0
    days = max(0.0, (now - last_accessed).total_seconds() / 86_400)
    return round(0.6 * min(1.0, math.log(access_count + 1) / 5) + 0.4 * math.exp(-days / 30), 4)


@dataclass(frozen=True, slots=True)
class EntryFilter:
    """Which entries a list or a search considers."""

    type: EntryType | None = None
    project: str | None = None
    tag: str | None = None
    status: EntryStatus | None = None
    deleted: bool = False

    def cleaned(self) -> EntryFilter:
        """Normalise project and tag as they are stored; a blank one filters nothing."""
        return replace(
            self,
            project=clean_project(self.project),
            tag=next(iter(clean_tags([self.tag or ""])), None),
        )


@dataclass(frozen=True, slots=True)
class Revision:
    """The state of an entry before a change."""

    revision: int
    action: str
    changed_at: datetime
    before: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The links of an entry, by direction."""

    outgoing: tuple[LinkedEntry, ...]
    incoming: tuple[LinkedEntry, ...]

    def without(self, relation: RelationType, ids: Collection[str]) -> Neighbourhood:
        """Leave out the links of a relation to some entries."""
        ends_by_direction = (
            tuple(end for end in ends if end.relation is not relation or end.id not in ids)
            for ends in (self.outgoing, self.incoming)
        )
        return Neighbourhood(*ends_by_direction)


@dataclass(frozen=True, slots=True)
class MemoryCounts:
    """How much is stored, for `stats` and `doctor`."""

    entries: int
    by_type: Mapping[str, int]
    by_project: Mapping[str, int]
    by_status: Mapping[str, int]
    deleted: int
    links: int
    suggestions: Mapping[str, int]
    accesses: int
    indexed: int  # entries in the word index; fewer than `entries` means it must be rebuilt


# By tenant and entry id: how often it was read, and when last.
AccessCounts = Mapping[tuple[Tenant, str], tuple[int, datetime]]
