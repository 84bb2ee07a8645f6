"""Facade of reviews: what waits, what is said about it, and who decided."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from commonplace.instructions.use_cases.parts import CatalogueParts
from commonplace.kernel.auth import AuthContext, Tenant
from commonplace.kernel.json_types import Json, JsonObject

if TYPE_CHECKING:
    from commonplace.instructions.engine.review.events import ReviewEvent
    from commonplace.instructions.results.review import (
        ReviewDetails,
        ReviewOutcome,
        ReviewQueue,
        ReviewState,
    )
    from commonplace.instructions.use_cases.review.deciding import Decision
    from commonplace.instructions.use_cases.review.promoting import PromotedRule


class ReviewService:
    """Reviews of the instructions that each caller sees."""

    def __init__(self, parts_of: Callable[[AuthContext], CatalogueParts]) -> None:
        self._parts_of = parts_of

    def queue(
        self,
        caller: AuthContext,
        state: ReviewState | None = "review",
        *,
        limit: int = 25,
        offset: int = 0,
    ) -> ReviewQueue:
        """Return a page of what waits, longest waiting first; `state` None for everything."""
        from commonplace.instructions.use_cases.review.reading import list_reviews

        return list_reviews(self._parts_of(caller), caller, state, limit, offset)

    def show(self, caller: AuthContext, id_: str) -> ReviewDetails:
        """Return a review with its difference and discussion. Raises REVIEW_NOT_FOUND."""
        from commonplace.instructions.use_cases.review.reading import show_review

        return show_review(self._parts_of(caller), caller, id_)

    def events(self, caller: AuthContext, id_: str) -> tuple[ReviewEvent, ...]:
        """Return everything that happened in reviews of an instruction, oldest first."""
        parts = self._parts_of(caller)
        with parts.store.lock:
            visible = parts.store.current().stored(id_) is not None
        return parts.reviews.thread(id_).events if visible else ()

    def submit(
        self,
        caller: AuthContext,
        id_: str,
        entry: Mapping[str, Json] | None = None,
        *,
        note: str = "",
        expected_hash: str | None = None,
    ) -> ReviewOutcome:
        """Ask for a review of a draft, or propose a change of an approved instruction."""
        from commonplace.instructions.use_cases.review.submitting import submit

        return submit(self._parts_of(caller), caller, id_, entry, note, expected_hash)

    def preview_promotion(
        self, caller: AuthContext, entry: Mapping[str, Json], lessons: int
    ) -> JsonObject:
        """Return the document that `promote` would store. Raises INVALID_INSTRUCTION."""
        from commonplace.instructions.use_cases.review.promoting import preview

        return preview(self._parts_of(caller), caller, entry, lessons)

    def promote(
        self, caller: AuthContext, entry: Mapping[str, Json], lessons: Mapping[str, str]
    ) -> ReviewOutcome:
        """Submit a new instruction that comes from lessons; `lessons` has hashes of their texts."""
        from commonplace.instructions.use_cases.review.promoting import promote

        return promote(self._parts_of(caller), caller, entry, lessons)

    def find_free_id(self, caller: AuthContext, wanted: str) -> str:
        """Return an id that no instruction has, this one if possible."""
        from commonplace.instructions.use_cases.review.promoting import find_free_id

        return find_free_id(self._parts_of(caller), wanted)

    def promoted(self, caller: AuthContext) -> list[PromotedRule]:
        """Return the instructions that come from lessons."""
        from commonplace.instructions.use_cases.review.promoting import find_promoted

        return find_promoted(self._parts_of(caller))

    def move_lessons(self, caller: AuthContext, old: Tenant, new: Tenant) -> int:
        """Name the new tenant of lessons behind rules; return how many rules have such."""
        from commonplace.instructions.use_cases.review.promoting import move_lessons

        return move_lessons(self._parts_of(caller), old, new)

    def decide(
        self,
        caller: AuthContext,
        id_: str,
        decision: Decision,
        *,
        review_hash: str | None = None,
        note: str = "",
    ) -> ReviewOutcome:
        """Approve what waits, send it back to its author, or drop it."""
        from commonplace.instructions.use_cases.review.deciding import decide

        return decide(self._parts_of(caller), caller, id_, decision, review_hash, note)

    def comment(self, caller: AuthContext, id_: str, text: str) -> ReviewOutcome:
        """Add a comment to a review. Raises REVIEW_NOT_FOUND."""
        from commonplace.instructions.use_cases.review.deciding import comment

        return comment(self._parts_of(caller), caller, id_, text)
