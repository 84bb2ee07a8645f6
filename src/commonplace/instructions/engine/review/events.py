"""Events of a review, and the thread that they amount to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from commonplace.instructions.model import Author
from commonplace.kernel.auth import Tenant
from commonplace.kernel.json_types import Json, JsonObject


class ReviewAction(StrEnum):
    """What happened in a review."""

    SUBMIT = "submit"
    COMMENT = "comment"
    RETURN = "return"  # sent back to its author
    WITHDRAW = "withdraw"
    APPROVING = "approving"  # about to be approved; `hash` is that of the approved entry
    APPROVE = "approve"
    PROMOTE = "promote"  # `entry` names the lessons of the tenant that the instruction comes from


CLOSING = frozenset({ReviewAction.APPROVE, ReviewAction.WITHDRAW})


@dataclass(frozen=True, slots=True)
class ReviewEvent:
    """Something that happened in the review of an instruction.

    `entry` holds the proposed fields of a submission that changes an approved instruction, or the
    lessons of a promotion, which only their own tenant may read.
    """

    id: str
    action: ReviewAction
    at: str
    by: str
    tenant: str
    note: str = ""
    entry: JsonObject | None = None
    hash: str | None = None

    def to_json(self) -> JsonObject:
        """Return the event as it is stored."""
        stored: JsonObject = {
            "id": self.id,
            "action": self.action.value,
            "at": self.at,
            "by": self.by,
            "tenant": self.tenant,
        }
        optional = {"note": self.note or None, "entry": self.entry, "hash": self.hash}
        return stored | {name: value for name, value in optional.items() if value is not None}

    @classmethod
    def from_json(cls, stored: Mapping[str, Json]) -> ReviewEvent:
        """Read a stored event. Raises KeyError and ValueError if it is none."""
        return cls(
            stored["id"],
            ReviewAction(stored["action"]),
            stored["at"],
            stored["by"],
            stored["tenant"],
            stored.get("note", ""),
            stored.get("entry"),
            stored.get("hash"),
        )

    @property
    def author(self) -> Author:
        """Who did it."""
        return Author(self.tenant, self.by)


@dataclass(frozen=True, slots=True)
class ReviewThread:
    """The review of one instruction: all its events, and the change that waits, if any.

    `is_open` if the change waits for a decision, not for its author. `opened` is the place of the
    first event of the present round.
    """

    id: str
    events: tuple[ReviewEvent, ...] = ()
    proposal: JsonObject | None = None
    is_open: bool = False
    approving: str | None = None
    opened: int = 0

    @property
    def round(self) -> tuple[ReviewEvent, ...]:
        """The events since the last decision that ended a review."""
        return self.events[self.opened :]

    def last(self, action: ReviewAction) -> ReviewEvent | None:
        """Return the newest event of a kind in the present round."""
        return next((event for event in reversed(self.round) if event.action is action), None)

    @property
    def lessons(self) -> dict[Tenant, dict[str, str]]:
        """Lessons behind the instruction: for each tenant their ids with hashes of their texts."""
        newest = {
            Tenant(event.tenant): dict((event.entry or {}).get("lessons", {}))
            for event in self.events
            if event.action is ReviewAction.PROMOTE
        }
        return {tenant: lessons for tenant, lessons in newest.items() if lessons}

    def add(self, event: ReviewEvent) -> ReviewThread:
        """Return the thread with one more event."""
        thread = replace(self, events=(*self.events, event), approving=None)
        if event.action is ReviewAction.SUBMIT:
            return replace(thread, proposal=event.entry, is_open=True)
        if event.action is ReviewAction.RETURN:
            return replace(thread, is_open=False)
        if event.action is ReviewAction.APPROVING:
            return replace(thread, approving=event.hash)
        if event.action in CLOSING:
            return replace(thread, proposal=None, is_open=False, opened=len(thread.events))
        return thread


def collect_threads(
    known: Mapping[str, ReviewThread], events: Iterable[ReviewEvent]
) -> dict[str, ReviewThread]:
    """Return the threads with more events, in order."""
    threads = dict(known)
    for event in events:
        threads[event.id] = threads.get(event.id, ReviewThread(event.id)).add(event)
    return threads
