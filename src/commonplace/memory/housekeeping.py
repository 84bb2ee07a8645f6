"""Values of housekeeping: reports of use, the timeline, purges, and which suggestions to decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from enum import StrEnum

from commonplace.memory.model import Decision, Entry, Link, Suggestion, SuggestionType

MOST_DECIDED = 1_000  # suggestions in one call


class UseOutcome(StrEnum):
    CONFIRMED = "confirmed"
    REFUTED = "refuted"


@dataclass(frozen=True, slots=True)
class UseReport:
    """Somebody used an entry: it helped, or it was wrong."""

    id: str
    entry_id: str
    outcome: UseOutcome
    note: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class SuggestionFilter:
    """Which pending suggestions to decide; a project must have all entries of a suggestion."""

    types: tuple[SuggestionType, ...] = tuple(SuggestionType)
    least_score: float = 0.0
    most_score: float = 1.0
    project: str | None = None
    ids: tuple[str, ...] = ()  # only these, if there are any


@dataclass(frozen=True, slots=True)
class BulkDecision:
    """What a decision about many suggestions did, or would do."""

    decision: Decision
    matched: Mapping[SuggestionType, int]  # all that the filter admits
    decided: tuple[Suggestion, ...] = ()
    tried: int = 0  # the best that matched, as many as one call decides
    links: tuple[Link, ...] = ()
    merged: tuple[Merge, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)  # reasons by id of a suggestion
    dry_run: bool = False
    shown: tuple[Suggestion, ...] = ()  # of a dry run, the best
    entries: Mapping[str, Entry] = field(default_factory=dict)  # that these name

    @property
    def remaining(self) -> int:
        """Return how many that matched are left for another call."""
        return sum(self.matched.values()) - self.tried

    @property
    def decided_elsewhere(self) -> int:
        """Return how many somebody else decided meanwhile."""
        return self.tried - len(self.decided) - len(self.refused)


@dataclass(frozen=True, slots=True)
class Merge:
    """Two entries that became one: the other one is obsolete and leads to the kept one."""

    before: Entry
    kept: Entry
    other: Entry
    link: Link
    links_copied: int = 0


class EventKind(StrEnum):
    ADDED = "added"
    CHANGED = "changed"
    SUPERSEDED = "superseded"
    MERGED = "merged"
    CONTRADICTED = "contradicted"
    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    REACTIVATED = "reactivated"
    DELETED = "deleted"
    RESTORED = "restored"
    PURGED = "purged"


@dataclass(frozen=True, slots=True)
class TimelineFilter:
    """Which events a timeline shows: from `since`, before `until`."""

    since: datetime
    until: datetime
    project: str | None = None
    entry_id: str | None = None
    kinds: tuple[EventKind, ...] = tuple(EventKind)
    zone: tzinfo = UTC  # of the days that are counted


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """Something that happened to an entry; a purge names none."""

    at: datetime
    kind: EventKind
    entry_id: str
    title: str
    other_id: str = ""
    other_title: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class EntryTimeline:
    """A page of events, newest first, and how many there are of each kind, by day."""

    events: tuple[TimelineEvent, ...]
    days: Mapping[str, Mapping[EventKind, int]]
    total: int


@dataclass(frozen=True, slots=True)
class PurgeScope:
    """What to purge: what was deleted or replaced before a moment, or of some entries at once."""

    before: datetime
    entry_ids: tuple[str, ...] = ()  # only these, if there are any
    history: bool = True  # also the earlier states of entries that stay


@dataclass(frozen=True, slots=True)
class PurgeCounts:
    """How much was purged, or would be."""

    entry_ids: tuple[str, ...] = ()
    revisions: int = 0
    is_overwritten: bool = True  # the freed space in files too
    kept: int = 0  # named entries that are not deleted

    @property
    def is_empty(self) -> bool:
        return not (self.entry_ids or self.revisions)
