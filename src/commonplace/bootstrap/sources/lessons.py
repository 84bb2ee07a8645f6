"""Lessons of memory, as a source of context packs."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from commonplace.context.engine.judging import move_odds
from commonplace.context.engine.task import TaskReading
from commonplace.context.engine.topic import explain_topic, judge_topic
from commonplace.context.model import ContextCandidate, PackSection
from commonplace.context.sources import SourceAnswer
from commonplace.kernel.auth import AuthContext
from commonplace.kernel.clock import iso, utc_now
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.ref import Ref, RefKind
from commonplace.memory.engine.answerability import Verdict
from commonplace.memory.model import EntryFilter, EntryStatus
from commonplace.memory.results import EntryHit, SearchAnswer
from commonplace.memory.retrieval.hybrid import HIGHER
from commonplace.memory.text import clean_project
from commonplace.memory.tools.anchors import stale_mark
from commonplace.search.fusion import size_prior

if TYPE_CHECKING:
    from commonplace.bootstrap.services import Services

MOST_LESSONS = 12
OTHER_PROJECT = -1.0  # log odds of a lesson of another project than the one asked about


class LessonSource:
    """Active entries of the caller's memory that concern the task."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def find(self, caller: AuthContext, task: TaskReading) -> SourceAnswer:
        if not task.text:
            return SourceAnswer()
        memory = self._services.memory
        wanted = EntryFilter(status=EntryStatus.ACTIVE)
        answer = await memory.search(caller.tenant, task.text, "", wanted, MOST_LESSONS)
        hits = [hit for hit in answer.hits if hit.entry.superseded_by is None]
        project = clean_project(task.question.project)
        unread_since = utc_now() - timedelta(days=memory.policy.stale_days)
        usage = await memory.store.usage(caller.tenant, [hit.entry.id for hit in hits])
        candidates = []
        for hit in hits:
            use = usage.get(hit.entry.id)
            last = use.last_accessed if use is not None else None
            latest = max(hit.entry.updated_at, last or hit.entry.updated_at)
            is_stale = latest < unread_since
            candidates.append(_candidate(hit, task, project, scale_odds(answer), is_stale=is_stale))
        note = f"lessons: {answer.withheld} withheld, because their code changed"
        return SourceAnswer(candidates, (note,) if answer.withheld else ())

    async def note_use(self, caller: AuthContext, ref: str) -> bool:
        """Count an access of the entry."""
        try:
            await self._services.memory.show(caller.tenant, Ref.parse(ref).key)
        except CommonplaceError:
            return False  # deleted since
        return True


def scale_odds(answer: SearchAnswer) -> float:
    """Return the log odds between the scores of an answer of memory and those of other kinds.

    In a small memory a near entry is an answer, unless memory says that nothing answers.
    """
    if answer.verdict is Verdict.NOTHING:
        return -HIGHER
    return size_prior(answer.documents, with_meaning=answer.semantic) - HIGHER


def _candidate(
    hit: EntryHit, task: TaskReading, project: str | None, odds: float, *, is_stale: bool
) -> ContextCandidate:
    entry, match = hit.entry, hit.match
    chance = move_odds(min(match.score, 0.999), odds)
    topic = judge_topic(match.told, match.semantic)
    is_elsewhere = project is not None and entry.project not in (None, project)
    marks = [f"contradicted by {Ref(RefKind.MEMORY, other)}" for other in hit.contradicted_by]
    if is_stale:
        marks.append("stale")
    if mark := stale_mark(hit.anchors):
        marks.append(f"code {mark}")
    if is_elsewhere:
        marks.append(f"project {entry.project}")
        chance, topic = move_odds(chance, OTHER_PROJECT), move_odds(topic, OTHER_PROJECT)
    words = task.spell(match.terms)
    return ContextCandidate(
        PackSection.LESSONS,
        str(Ref(RefKind.MEMORY, entry.id)),
        entry.title,
        entry.content if entry.content.strip() != entry.title.strip() else "",
        f"{entry.type.value}: {words}" if words else f"{entry.type.value}, by meaning",
        chance,
        topic=topic,
        updated=iso(entry.updated_at),
        marks=tuple(marks),
        explain=explain_topic(match.told, match.semantic),
    )
