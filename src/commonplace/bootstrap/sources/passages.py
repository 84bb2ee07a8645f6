"""Passages of stored files, as a source of context packs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from commonplace.bootstrap.sources.projects import choose_projects
from commonplace.context.engine.passages import (
    LineRange,
    PassageText,
    complete_passages,
    is_distinctive,
)
from commonplace.context.engine.task import TaskReading
from commonplace.context.engine.topic import explain_topic, judge_topic
from commonplace.context.model import ContextCandidate, PackSection
from commonplace.context.sources import SourceAnswer
from commonplace.files.model import FileEntry, FilePath, FoundChunk, Project
from commonplace.kernel.auth import AuthContext
from commonplace.kernel.ref import Ref, RefKind

if TYPE_CHECKING:
    from commonplace.bootstrap.services import Services
    from commonplace.files.service import FilesService

MOST_PASSAGES = 20
ROOMY_BUDGET = 4_000  # a smaller pack has no room behind the passages
FURTHER_FILES = 3  # whose other passages are looked for in a roomy pack
FURTHER_PASSAGES = 6  # of each
IMPORTS_FROM_BUDGET = 8_000  # a smaller pack has better use for the tokens
NEIGHBOUR_CHANCE = 0.9  # of the last passage's: neighbours come behind all of them
_RELATIONS = {"enclosing": "around", "callee": "called by", "caller": "calls"}
_REASONS = ("defines", "exact", "path", "file_name")


class FilePassageSource:
    """Passages of the caller's files that concern the task, completed to whole definitions."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def find(self, caller: AuthContext, task: TaskReading) -> SourceAnswer:
        files = self._services.files
        if not task.has_subject or not files.settings.search.enabled:
            return SourceAnswer()
        question = task.question
        chosen = await choose_projects(caller, files, question.task, question.project)
        answers = await asyncio.gather(
            *(self._search(files, caller, project, task) for project in chosen.names)
        )
        notes = (f"files: {chosen.note}",) if chosen.note else ()
        return SourceAnswer([candidate for answer in answers for candidate in answer], notes)

    async def note_use(self, caller: AuthContext, ref: str) -> bool:
        """Files have no counter of their own; context keeps one."""
        return True

    async def _search(
        self, files: FilesService, caller: AuthContext, project: str, task: TaskReading
    ) -> list[ContextCandidate]:
        found = await files.search(caller, project, task.question.task, limit=MOST_PASSAGES)
        if not found.chunks:
            return []
        tenant, name = caller.apikey_hash, Project(project)
        is_roomy = task.question.budget >= ROOMY_BUDGET
        chunks = list(found.chunks)
        if is_roomy:
            chunks += await self._look_further(files, caller, project, task, chunks)
        paths = list(dict.fromkeys(chunk.path for chunk in chunks))
        contents = await files.store.whole_files(tenant, name, paths)
        functions: dict[str, Sequence[LineRange]] = {}
        if files.navigation is not None:
            by_path = await files.navigation.symbols.function_lines(tenant, name, paths)
            functions = dict(by_path.items())
        passages = [
            PassageText(at, chunk.path, chunk.start, chunk.end)
            for at, chunk in enumerate(chunks)
            if chunk.path in contents
        ]
        texts: dict[str, bytes] = {path: whole.content for path, whole in contents.items()}
        candidates = []
        imports = task.question.budget >= IMPORTS_FROM_BUDGET
        for passage in complete_passages(passages, texts, functions, imports=imports):
            chunk = chunks[passage.at]
            entry = contents[chunk.path].entry
            candidates.append(_candidate(chunk, project, passage.lines, passage.text, entry, task))
        if is_roomy:
            candidates += await self._neighbours(files, caller.apikey_hash, candidates)
        return candidates

    async def _look_further(
        self,
        files: FilesService,
        caller: AuthContext,
        project: str,
        task: TaskReading,
        found: Sequence[FoundChunk],
    ) -> list[FoundChunk]:
        """Return other passages of the best files, behind those that were found.

        A ranking gives a file only a few places, so that others are seen.
        """
        paths = list(dict.fromkeys(chunk.path for chunk in found))[:FURTHER_FILES]
        answers = await asyncio.gather(
            *(
                files.search(caller, project, task.question.task, path, FURTHER_PASSAGES)
                for path in paths
            )
        )
        known = {part.id for chunk in found for part in chunk.parts}
        last = min(chunk.score for chunk in found)
        return [
            replace(chunk, score=min(chunk.score, last))
            for path, answer in zip(paths, answers, strict=True)
            for chunk in answer.chunks
            if chunk.path == path and known.isdisjoint(part.id for part in chunk.parts)
        ]

    async def _neighbours(
        self, files: FilesService, tenant: str, passages: Sequence[ContextCandidate]
    ) -> list[ContextCandidate]:
        """Return what calls the best passage, what it calls, and what is around it."""
        if files.navigation is None or not passages:
            return []
        best = passages[0]
        ref = Ref.parse(best.ref)
        assert ref.lines is not None
        assert ref.project is not None
        project = Project(ref.project)
        found = await files.navigation.neighbours(tenant, project, FilePath(ref.key), ref.lines)
        known = [Ref.parse(passage.ref) for passage in passages]
        chance = NEIGHBOUR_CHANCE * min(passage.chance for passage in passages)
        candidates = []
        for neighbour in found:
            lines = (neighbour.start_line, neighbour.end_line)
            place = Ref(RefKind.FILE, neighbour.path, ref.project, lines=lines)
            if any(_overlap(place, other) for other in known):
                continue
            known.append(place)
            whole = await files.store.slice(tenant, project, neighbour.path, 0, None)
            if whole is None:
                continue
            rows = whole.content.decode("utf-8", "replace").split("\n")
            why = f"{_RELATIONS[neighbour.relation]} {ref.key.rpartition('/')[2]}:{ref.lines[0]}"
            candidates.append(
                replace(
                    best,
                    ref=str(place),
                    text="\n".join(rows[lines[0] - 1 : lines[1]]),
                    why=why,
                    chance=chance,
                    line=lines[0],
                    updated=_spell_time(whole.entry),
                    explain={"neighbour": neighbour.relation},
                )
            )
        return candidates


def _overlap(place: Ref, other: Ref) -> bool:
    """Return whether two references to lines have a line in common."""
    if place.key != other.key or place.lines is None or other.lines is None:
        return False
    return place.lines[0] <= other.lines[1] and other.lines[0] <= place.lines[1]


def _candidate(
    chunk: FoundChunk,
    project: str,
    lines: LineRange,
    text: str,
    entry: FileEntry,
    task: TaskReading,
) -> ContextCandidate:
    explain = chunk.explain
    cosine = explain.get("semantic")
    cosine = float(cosine) if cosine is not None else None
    reasons = [
        f"{name.replace('_', ' ')} {_spell(explain[name])}" for name in _REASONS if name in explain
    ]
    if words := task.spell(tuple(explain.get("matched", ()))):
        reasons.append(words)
    return ContextCandidate(
        PackSection.FILES,
        str(Ref(RefKind.FILE, chunk.path, project, lines=lines)),
        "",
        text,
        "; ".join(reasons[:3]) or "by meaning",
        chunk.score,
        topic=judge_topic(chunk.words, cosine),
        named=is_distinctive(explain),
        line=lines[0],
        updated=_spell_time(entry),
        explain={
            **explain_topic(chunk.words, cosine),
            **{
                name: explain[name]
                for name in ("text_evidence", "file_evidence")
                if name in explain
            },
        },
    )


def _spell_time(entry: FileEntry) -> str:
    """Return when a file changed, in ISO 8601."""
    if entry.updated_at is None:
        return ""
    return datetime.fromtimestamp(entry.updated_at / 1e6, UTC).isoformat()


def _spell(reason: object) -> str:
    return ", ".join(map(str, reason)) if isinstance(reason, list) else str(reason)
