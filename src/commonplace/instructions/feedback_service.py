"""Facade of feedback: what callers say about the catalogue and the server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from commonplace.kernel.auth import AuthContext
from commonplace.kernel.json_types import Json, JsonObject

if TYPE_CHECKING:
    from commonplace.instructions.store.feedback import (
        FeedbackCounts,
        FeedbackFilter,
        FeedbackPage,
        FeedbackStorage,
        FeedbackStore,
    )


class FeedbackService:
    """Entries of feedback, each with the label of its author."""

    def __init__(self, store: FeedbackStore) -> None:
        self._store = store

    def submit(self, caller: AuthContext, entry: Mapping[str, Json]) -> JsonObject:
        """Store an entry and return it with its id and time."""
        return self._store.submit(entry, caller.label)

    def list_entries(
        self, caller: AuthContext, condition: FeedbackFilter, limit: int, offset: int = 0
    ) -> FeedbackPage:
        """Return a page of the matching entries, newest first."""
        return self._store.select(condition, limit, offset)

    def get(self, caller: AuthContext, id_: str) -> JsonObject | None:
        """Return an entry by id."""
        return self._store.get(id_)

    def update(
        self,
        caller: AuthContext,
        id_: str,
        status: str | None,
        metadata: Mapping[str, Json] | None,
    ) -> JsonObject | None:
        """Change status and metadata of an entry; None if there is no such entry."""
        return self._store.update(id_, status, metadata, caller.label)

    def count(self, caller: AuthContext, since: str | None) -> FeedbackCounts:
        """Count entries by kind, and all entries by age."""
        return self._store.counts(since)

    def storage(self, caller: AuthContext) -> FeedbackStorage:
        """Return the state of the feedback file."""
        return self._store.storage()
