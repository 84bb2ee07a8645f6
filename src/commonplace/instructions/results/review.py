"""Values that reviews, the archive and the list of removed instructions return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from commonplace.instructions.engine.difference import DocumentDifference
    from commonplace.instructions.engine.review.events import ReviewEvent
    from commonplace.kernel.json_types import JsonObject

ReviewState = Literal["draft", "review"]
ReviewKind = Literal["entry", "proposal"]


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """A change that waits: for a decision (`review`), or for its author (`draft`).

    `kind` is `proposal` if an approved text stays in effect until the decision, else `entry`.
    """

    id: str
    title: str
    kind: ReviewKind
    state: ReviewState
    hash: str
    owner: str
    classification: str
    categories: tuple[str, ...]
    four_eyes: bool
    submitted_by: str | None
    submitted_at: str | None
    comments: int


@dataclass(frozen=True, slots=True)
class ReviewQueue:
    """A page of what waits, longest waiting first."""

    total: int
    items: list[ReviewItem]


@dataclass(frozen=True, slots=True)
class ReviewDetails:
    """A review: the last approved text, the proposed one, and what was said about it.

    `refusal` says why the caller may not approve it; empty if they may.
    """

    item: ReviewItem
    approved: JsonObject | None
    proposed: JsonObject
    difference: DocumentDifference
    events: tuple[ReviewEvent, ...]
    authors: tuple[str, ...]
    refusal: str
    lessons: int = 0  # behind it, of all tenants
    own_lessons: tuple[str, ...] = ()  # of the caller's tenant


@dataclass(frozen=True, slots=True)
class StaleRule:
    """An instruction whose lessons no longer hold: how many are behind it, and how many fail why.

    `own` has the reasons of the caller's own lessons, by id.
    """

    id: str
    title: str
    owner: str
    status: str
    lessons: int
    stale: Mapping[str, int]
    own: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ReviewOutcome:
    """What a step of a review led to: the instruction's status, and the hash to look at."""

    id: str
    action: str
    status: str
    proposed: bool
    review_hash: str | None
    catalogue_hash: str
    governance_hash: str | None
    version: str | None


@dataclass(frozen=True, slots=True)
class KeptInstruction:
    """An instruction that is out of the catalogue: removed, or archived."""

    id: str
    title: str
    at: str
    by: str | None
    action: str
    version: str | None


@dataclass(frozen=True, slots=True)
class KeptInstructions:
    """A page of removed or archived instructions, newest first."""

    total: int
    items: list[KeptInstruction]


@dataclass(frozen=True, slots=True)
class ArchiveResult:
    """Ids that were archived or brought back, and those that were not, with the reason."""

    changed: list[str]
    unchanged: dict[str, str]
    catalogue_hash: str


@dataclass(frozen=True, slots=True)
class BackupRestoration:
    """Ids that a backup brought back, those that exist again anyway, and failures by id."""

    name: str
    restored: list[str]
    present: list[str]
    failures: dict[str, str]
    catalogue_hash: str
