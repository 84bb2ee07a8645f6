"""The values of capture: what is proposed, and what became of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

TITLE_CHARACTERS = 100
CONTENT_CHARACTERS = 8_000
MOST_TAGS = 20
PROJECT_CHARACTERS = 200


class ProposalKind(StrEnum):
    """What a proposal becomes: a lesson of memory, or a draft of an instruction."""

    LESSON = "lesson"
    RULE = "rule"


class LessonType(StrEnum):
    """Types of lessons, as memory names them."""

    BUG = "bug"
    PATTERN = "pattern"
    DECISION = "decision"
    PITFALL = "pitfall"
    CONFIG = "config"
    REFERENCE = "reference"


class ProposalState(StrEnum):
    PENDING = "pending"
    ACCEPTED = "accepted"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class ProposalText:
    """What a proposal says: all that a person may edit."""

    kind: ProposalKind
    title: str
    content: str
    type: LessonType = LessonType.PATTERN  # of a lesson
    tags: tuple[str, ...] = ()
    project: str = ""

    def __post_init__(self) -> None:
        if not self.title.strip() or len(self.title) > TITLE_CHARACTERS:
            raise ValueError(f"a title has 1 to {TITLE_CHARACTERS} characters")
        if not self.content.strip() or len(self.content) > CONTENT_CHARACTERS:
            raise ValueError(f"a content has 1 to {CONTENT_CHARACTERS} characters")


@dataclass(frozen=True, slots=True)
class ExtractedProposal:
    """A proposal of one session. `anchor` is what makes it the same in another capture."""

    text: ProposalText
    reason: str  # why it is proposed
    anchor: str
    strength: float  # 0 to 1: how clearly the session says it

    @property
    def id(self) -> str:
        """Identify what is proposed; the same statement has the same id in every session."""
        parts = "\x1f".join((self.text.kind, self.anchor))
        return hashlib.sha256(parts.encode("utf-8", "replace")).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class QueuedProposal:
    """A proposal in the queue of a tenant."""

    id: str
    text: ProposalText
    reason: str
    strength: float
    session: str
    created_at: datetime
    updated_at: datetime
    state: ProposalState = ProposalState.PENDING
    is_edited: bool = False
    similar: tuple[str, ...] = ()  # references of what is close to it
    decided_by: str = ""
    decided_at: datetime | None = None
    result: str = ""  # reference of what it became

    def changed(self, text: ProposalText, moment: datetime) -> QueuedProposal:
        """Return the proposal with the text of a person."""
        return replace(self, text=text, is_edited=True, updated_at=moment)


@dataclass(frozen=True, slots=True)
class KnownDuplicate:
    """A proposal that was left out because something says the same."""

    title: str
    same_as: str  # a reference, or `capture:ID` in the queue


@dataclass(frozen=True, slots=True)
class CaptureOutcome:
    """What one capture did."""

    queued: tuple[QueuedProposal, ...] = ()
    accepted: tuple[QueuedProposal, ...] = ()  # by policy
    duplicates: tuple[KnownDuplicate, ...] = ()
    steps: int = 0
    unreadable: int = 0
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class AcceptedProposal:
    """What an accepted proposal became, and what is to be known about it."""

    ref: str
    created: bool
    similar: tuple[str, ...] = ()
    contradicts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
