"""Threads of reviews in memory, kept in step with the events that processes share."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from commonplace.instructions.engine.review.events import (
    ReviewEvent,
    ReviewThread,
    collect_threads,
)


@dataclass(frozen=True, slots=True)
class NewEvents:
    """Events after a position, and the next position.

    `complete` if they are all events: the storage was replaced or shortened.
    """

    events: Sequence[ReviewEvent]
    position: int
    complete: bool = False


class ReviewEvents(Protocol):
    """Storage of events, in the order in which they were appended."""

    def since(self, position: int) -> NewEvents:
        """Return the events after a position; 0 is the beginning."""
        ...

    def append(self, event: ReviewEvent) -> None:
        """Store an event durably. Only for the one writer of the catalogue."""
        ...


class ReviewLog:
    """All reviews of a catalogue."""

    def __init__(self, events: ReviewEvents) -> None:
        self._events = events
        self._lock = threading.Lock()
        self._position = 0
        self._threads: dict[str, ReviewThread] = {}

    def append(self, event: ReviewEvent) -> None:
        """Store an event. Inside `exclusive` of the catalogue only."""
        self._events.append(event)

    def thread(self, id_: str) -> ReviewThread:
        """Return the review of an instruction; an empty one if there never was any."""
        return self._refresh().get(id_) or ReviewThread(id_)

    def threads(self) -> Mapping[str, ReviewThread]:
        """Return every review by id."""
        return self._refresh()

    def _refresh(self) -> dict[str, ReviewThread]:
        with self._lock:
            new = self._events.since(self._position)
            if new.complete or new.events:
                known = {} if new.complete else self._threads
                self._threads = collect_threads(known, new.events)
            self._position = new.position
            return self._threads
