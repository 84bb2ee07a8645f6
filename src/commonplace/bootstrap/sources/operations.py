"""Operations of stored API descriptions, as a source of context packs."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from commonplace.bootstrap.sources.projects import choose_projects
from commonplace.context.engine.task import TaskReading
from commonplace.context.engine.topic import explain_topic, judge_topic
from commonplace.context.model import ContextCandidate, PackSection
from commonplace.context.sources import SourceAnswer
from commonplace.files.extracts.model import FoundExtract
from commonplace.kernel.auth import AuthContext
from commonplace.kernel.ref import Ref, RefKind

if TYPE_CHECKING:
    from commonplace.bootstrap.services import Services

MOST_OPERATIONS = 10


class ApiOperationSource:
    """Operations of the caller's API descriptions that concern the task."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def find(self, caller: AuthContext, task: TaskReading) -> SourceAnswer:
        extracts = self._services.files.extracts
        if extracts is None or not task.text:
            return SourceAnswer()
        named = task.question.project
        if named is not None and named not in await extracts.projects(caller):
            return SourceAnswer()
        chosen = await choose_projects(caller, extracts, task.text, named)
        answers = await asyncio.gather(
            *(
                extracts.search(caller, project, task.text, MOST_OPERATIONS)
                for project in chosen.names
            )
        )
        found = [_candidate(extract, task) for answer in answers for extract in answer.extracts]
        return SourceAnswer(found, (f"operations: {chosen.note}",) if chosen.note else ())

    async def note_use(self, caller: AuthContext, ref: str) -> bool:
        """Operations have no counter of their own; context keeps one."""
        return True


def _candidate(found: FoundExtract, task: TaskReading) -> ContextCandidate:
    extract = found.extract
    ref = Ref(RefKind.OPENAPI, extract.path, extract.project, pointer=extract.key)
    words = task.spell(found.terms)
    marks = ["stale"] if extract.is_stale else []
    if extract.facts.get("deprecated"):
        marks.append("deprecated")
    changed = datetime.fromtimestamp(extract.updated_at / 1e6, UTC).isoformat()
    return ContextCandidate(
        PackSection.OPERATIONS,
        str(ref),
        extract.title,
        extract.text or extract.summary,  # the text begins with the summary
        words or "by meaning",
        found.score,
        topic=judge_topic(found.words, found.cosine),
        updated=changed,
        marks=tuple(marks),
        explain=explain_topic(found.words, found.cosine),
    )
