"""Instructions that come from lessons: submit one, and find those whose lessons went stale.

The catalogue is shared by all tenants. An instruction says how many lessons are behind it; which
ones is in its review, and only the tenant that has them is told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from commonplace.instructions.engine.entry.checks import EntryRefused, check_id
from commonplace.instructions.engine.entry.compose import compose
from commonplace.instructions.engine.review.events import ReviewAction, ReviewEvent
from commonplace.instructions.errors import INVALID_INSTRUCTION
from commonplace.instructions.fields import APPROVAL, stored_form
from commonplace.instructions.model import Author
from commonplace.instructions.results.review import ReviewOutcome, StaleRule
from commonplace.instructions.use_cases.adding import prepare_entry
from commonplace.instructions.use_cases.parts import CatalogueParts
from commonplace.instructions.use_cases.review.submitting import outcome, put_under_review
from commonplace.kernel.auth import AuthContext, Tenant
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject

LESSONS = "lessons"  # in `extensions`: the number of lessons, for everybody


@dataclass(frozen=True, slots=True)
class StaleLesson:
    """Why a lesson no longer holds, and since when (ISO 8601)."""

    reason: str
    since: str


class LessonStates(Protocol):
    """Tells which lessons of a tenant no longer hold."""

    async def find_stale(
        self, tenant: Tenant, lessons: Mapping[str, str]
    ) -> Mapping[str, StaleLesson]:
        """Return the stale ones by id; `lessons` has a hash of each text as it was promoted."""
        ...


@dataclass(frozen=True, slots=True)
class PromotedRule:
    """An instruction that comes from lessons, with the lessons of each tenant."""

    id: str
    title: str
    owner: str
    status: str
    reviewed_at: str
    lessons: Mapping[Tenant, Mapping[str, str]]


def preview(
    parts: CatalogueParts, caller: AuthContext, entry: Mapping[str, Json], lessons: int
) -> JsonObject:
    """Return the document that `promote` would store. Raises INVALID_INSTRUCTION."""
    id_ = str(entry.get("id"))
    try:
        check_id(entry)
        document = compose(
            {**entry, "extensions": {LESSONS: lessons}},
            None,
            lax=True,
            origin=parts.origin(Author.of(caller)),
            rules=parts.rules,
            keep_omitted=True,
        )
        document |= {"status": "review", "updatedAt": parts.now()}
        for name in APPROVAL:
            document.pop(name, None)
        change = prepare_entry(document, "submit", parts.rules)
    except EntryRefused as refused:
        problem = refused.problem
        raise _invalid(id_, f"{problem.error}: {problem.hint.rstrip('.')}.") from None
    assert change.after is not None
    return stored_form(change.after.document)


def promote(
    parts: CatalogueParts,
    caller: AuthContext,
    entry: Mapping[str, Json],
    lessons: Mapping[str, str],
    note: str = "",
) -> ReviewOutcome:
    """Submit a new instruction for review, with the lessons of the caller that it comes from.

    Raises INVALID_INSTRUCTION, also if the id is taken.
    """
    id_ = str(entry.get("id"))
    preview(parts, caller, entry, len(lessons))  # before anything is recorded
    store = parts.store
    with store.exclusive() as catalogue:
        store.refresh(id_)
        if catalogue.get(id_) is not None:
            raise _invalid(id_, f"{id_} exists already.", "Give another id.")
        given = {**entry, "extensions": {LESSONS: len(lessons)}}
        # first: an instruction without its lessons is never stored
        _record_lessons(parts, id_, caller.label, caller.tenant, lessons)
        put_under_review(parts, caller, id_, None, given, note)
        return outcome(parts, caller, id_, ReviewAction.SUBMIT)


def move_lessons(parts: CatalogueParts, old: Tenant, new: Tenant) -> int:
    """Name the new tenant of lessons behind rules; return how many rules have such."""
    with parts.store.exclusive():
        threads = [thread for thread in parts.reviews.threads().values() if old in thread.lessons]
        for thread in threads:
            by = thread.events[-1].by
            _record_lessons(parts, thread.id, by, new, thread.lessons[old])
            _record_lessons(parts, thread.id, by, old, {})
    return len(threads)


def _record_lessons(
    parts: CatalogueParts, id_: str, by: str, tenant: Tenant, lessons: Mapping[str, str]
) -> None:
    event = ReviewEvent(
        id_, ReviewAction.PROMOTE, parts.now(), by, tenant, entry={"lessons": dict(lessons)}
    )
    parts.reviews.append(event)


def find_free_id(parts: CatalogueParts, wanted: str) -> str:
    """Return an id that no instruction has: this one, or one with a number after it."""
    with parts.store.lock:
        catalogue = parts.store.current()
        number, candidate = 2, wanted
        while catalogue.stored(candidate) is not None:
            candidate, number = f"{wanted}-{number}", number + 1
        return candidate


def find_promoted(parts: CatalogueParts) -> list[PromotedRule]:
    """Return the instructions in effect or under review that come from lessons, by id."""
    threads = parts.reviews.threads()
    with parts.store.lock:
        catalogue = parts.store.current()
        entries = [catalogue.entries[id_] for id_ in threads if id_ in catalogue.entries]
    rules = []
    for entry in entries:
        lessons = threads[entry.id].lessons
        document = entry.document
        if not lessons or document["status"] == "deprecated":
            continue
        whole = document.whole()
        if LESSONS not in whole.get("extensions", {}):
            continue  # removed, and written again by somebody
        reviewed = str(whole.get("lastReviewedAt") or "")
        title, owner, status = (str(document[name]) for name in ("title", "owner", "status"))
        rules.append(PromotedRule(entry.id, title, owner, status, reviewed, lessons))
    return sorted(rules, key=lambda rule: rule.id)


async def find_stale(
    rules: Sequence[PromotedRule], states: LessonStates, caller: AuthContext
) -> list[StaleRule]:
    """Return the rules with lessons that no longer hold, and did when the rule was last reviewed.

    Ids are those of the caller's own lessons; of others only the reasons are counted.
    """
    stale_rules = []
    for rule in rules:
        stale: Counter[str] = Counter()
        own: dict[str, str] = {}
        for tenant, lessons in rule.lessons.items():
            for id_, lesson in (await states.find_stale(tenant, lessons)).items():
                if lesson.since <= rule.reviewed_at:
                    continue
                stale[lesson.reason] += 1
                if tenant == caller.tenant:
                    own[id_] = lesson.reason
        if stale:
            count = sum(map(len, rule.lessons.values()))
            stale_rules.append(
                StaleRule(rule.id, rule.title, rule.owner, rule.status, count, dict(stale), own)
            )
    return stale_rules


def _invalid(id_: str, message: str, hint: str = "Nothing was submitted.") -> CommonplaceError:
    return CommonplaceError(
        INVALID_INSTRUCTION, message, hint=hint, details={"id": id_[:200], "field": "id"}
    )
