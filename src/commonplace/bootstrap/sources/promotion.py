"""Lessons of memory behind rules of the catalogue: each domain as the other one needs it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from commonplace.instructions.review_service import ReviewService
from commonplace.instructions.use_cases.review.promoting import StaleLesson
from commonplace.kernel.auth import AuthContext, Tenant
from commonplace.kernel.clock import iso, utc_now
from commonplace.kernel.json_types import JsonObject
from commonplace.memory.use_cases.promotion.draft import RuleDraft
from commonplace.memory.use_cases.promotion.lessons import AnchorCheck, StaleLessons
from commonplace.memory.use_cases.promotion.submission import RuleSubmission

if TYPE_CHECKING:
    from commonplace.bootstrap.services import Services

T = TypeVar("T")


class RulesFromLessons:
    """The catalogue, as promotion in memory needs it."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def choose_id(self, caller: AuthContext, wanted: str) -> str:
        return await self._run(partial(self._reviews.find_free_id, caller, wanted))

    async def find_promoted(self, caller: AuthContext, lessons: Collection[str]) -> list[str]:
        rules = await self._run(partial(self._reviews.promoted, caller))
        return [
            rule.id
            for rule in rules
            if not rule.lessons.get(caller.tenant, {}).keys().isdisjoint(lessons)
        ]

    async def preview(self, caller: AuthContext, draft: RuleDraft, lessons: int) -> JsonObject:
        entry = _entry_of(draft, lessons)
        return await self._run(partial(self._reviews.preview_promotion, caller, entry, lessons))

    async def submit(
        self, caller: AuthContext, draft: RuleDraft, lessons: Mapping[str, str]
    ) -> RuleSubmission:
        entry = _entry_of(draft, len(lessons))
        outcome = await self._run(partial(self._reviews.promote, caller, entry, lessons))
        return RuleSubmission(outcome.id, outcome.status, outcome.review_hash)

    @property
    def _reviews(self) -> ReviewService:
        return ReviewService(self._services.instructions.parts_of)

    async def _run(self, work: Callable[[], T]) -> T:
        """Run work on the catalogue, loaded, in a thread: it waits for the disk."""
        instructions = await asyncio.to_thread(lambda: self._services.instructions)

        def load_and_work() -> T:
            instructions.load()
            return work()

        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(instructions.executor, load_and_work)


class LessonsBehindRules:
    """Memory, as reviews of rules need it."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def find_stale(
        self, tenant: Tenant, lessons: Mapping[str, str]
    ) -> Mapping[str, StaleLesson]:
        memory = await asyncio.to_thread(lambda: self._services.memory)
        judge = StaleLessons(memory.store, (AnchorCheck(memory.anchors),))
        doubts = await judge.find_stale(tenant, lessons, utc_now())
        return {id_: StaleLesson(doubt.reason, iso(doubt.since)) for id_, doubt in doubts.items()}


def _entry_of(draft: RuleDraft, lessons: int) -> JsonObject:
    """Spell a draft as an entry of the catalogue."""
    entry: JsonObject = {
        "id": draft.id,
        "title": draft.title,
        "body": draft.body,
        "description": draft.description,
        "rationale": f"Learned from {lessons} lesson{'s' if lessons != 1 else ''}.",
        "priority": draft.priority,
        "requirement": draft.requirement,
        "categories": list(draft.categories),
        "owner": draft.owner,
        "appliesTo": list(draft.applies_to),
        "languages": list(draft.languages),
        "activation": "glob" if draft.applies_to or draft.languages else "description",
    }
    return {name: value for name, value in entry.items() if value != []}
