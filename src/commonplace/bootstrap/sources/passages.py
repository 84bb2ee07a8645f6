"""Passages of stored files, as a source of context packs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

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
    from commonplace.files.symbols import FileOutline

MOST_PASSAGES = 20
MOST_PROJECTS = 8  # searched where no project is named
NEIGHBOURS_FROM_BUDGET = 4_000  # a smaller pack has no room behind the passages
NEIGHBOUR_CHANCE = 0.9  # of the last passage's: neighbours come behind all of them
_RELATIONS = {"enclosing": "around", "callee": "called by", "caller": "calls"}
_REASONS = ("defines", "exact", "path", "file_name")


class FilePassageSource:
    """Passages of the caller's files that concern the task, completed to whole definitions."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def find(self, caller: AuthContext, task: TaskReading) -> SourceAnswer:
        files = self._services.files
        if not task.question.task.strip() or not files.settings.search.enabled:
            return SourceAnswer()
        projects, notes = await self._projects(caller, task.question.project)
        answers = await asyncio.gather(
            *(self._search(files, caller, project, task) for project in projects)
        )
        return SourceAnswer([candidate for answer in answers for candidate in answer], notes)

    async def note_use(self, caller: AuthContext, ref: str) -> bool:
        """Files have no counter of their own; context keeps one."""
        return True

    async def _projects(
        self, caller: AuthContext, named: str | None
    ) -> tuple[Sequence[str], tuple[str, ...]]:
        if named is not None:
            return (named,), ()
        usages = await self._services.files.projects(caller)
        projects = sorted(usage.project for usage in usages if usage.files)
        if len(projects) <= MOST_PROJECTS:
            return projects, ()
        note = f"files: only {MOST_PROJECTS} of {len(projects)} projects were searched; name one"
        return projects[:MOST_PROJECTS], (note,)

    async def _search(
        self, files: FilesService, caller: AuthContext, project: str, task: TaskReading
    ) -> list[ContextCandidate]:
        found = await files.search(caller, project, task.question.task, limit=MOST_PASSAGES)
        if not found.chunks:
            return []
        paths = dict.fromkeys(chunk.path for chunk in found.chunks)
        read = [self._read(files, caller.apikey_hash, Project(project), path) for path in paths]
        contents = dict(zip(paths, await asyncio.gather(*read), strict=True))
        passages = [
            PassageText(at, chunk.path, chunk.start, chunk.end)
            for at, chunk in enumerate(found.chunks)
        ]
        texts: dict[str, bytes] = {path: content[0] for path, content in contents.items()}
        functions: dict[str, Sequence[LineRange]] = {
            path: content[1] for path, content in contents.items()
        }
        candidates = []
        for passage in complete_passages(passages, texts, functions):
            chunk = found.chunks[passage.at]
            entry = contents[chunk.path][2]
            candidates.append(_candidate(chunk, project, passage.lines, passage.text, entry, task))
        if task.question.budget >= NEIGHBOURS_FROM_BUDGET:
            candidates += await self._neighbours(files, caller.apikey_hash, candidates)
        return candidates

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
            content, _, entry = await self._read(files, tenant, project, neighbour.path)
            rows = content.decode("utf-8", "replace").split("\n")
            why = f"{_RELATIONS[neighbour.relation]} {ref.key.rpartition('/')[2]}:{ref.lines[0]}"
            candidates.append(
                replace(
                    best,
                    ref=str(place),
                    text="\n".join(rows[lines[0] - 1 : lines[1]]),
                    why=why,
                    chance=chance,
                    line=lines[0],
                    updated=_spell_time(entry),
                    explain={"neighbour": neighbour.relation},
                )
            )
        return candidates

    async def _read(
        self, files: FilesService, tenant: str, project: Project, path: FilePath
    ) -> tuple[bytes, tuple[LineRange, ...], FileEntry | None]:
        """Return the content of a file, the lines of its functions, and when it changed."""
        whole = await files.store.slice(tenant, project, path, 0, None)
        if whole is None:
            return b"", (), None
        outline = (
            await files.navigation.outline(tenant, project, path)
            if files.navigation is not None
            else None
        )
        return whole.content, _functions(outline), whole.entry


def _overlap(place: Ref, other: Ref) -> bool:
    """Return whether two references to lines have a line in common."""
    if place.key != other.key or place.lines is None or other.lines is None:
        return False
    return place.lines[0] <= other.lines[1] and other.lines[0] <= place.lines[1]


def _functions(outline: FileOutline | None) -> tuple[LineRange, ...]:
    definitions = outline.definitions if outline is not None else ()
    return tuple(
        (entry.definition.start_line, entry.definition.end_line)
        for entry in definitions
        if entry.definition.kind in ("function", "method", "constructor", "macro")
    )


def _candidate(
    chunk: FoundChunk,
    project: str,
    lines: LineRange,
    text: str,
    entry: FileEntry | None,
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


def _spell_time(entry: FileEntry | None) -> str:
    """Return when a file changed, in ISO 8601."""
    if entry is None or entry.updated_at is None:
        return ""
    return datetime.fromtimestamp(entry.updated_at / 1e6, UTC).isoformat()


def _spell(reason: object) -> str:
    return ", ".join(map(str, reason)) if isinstance(reason, list) else str(reason)
