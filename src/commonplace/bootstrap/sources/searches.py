"""The search of each kind, as `search_all` uses it; all scores are chances on one scale."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from commonplace.bootstrap.sources.lessons import scale_odds
from commonplace.bootstrap.sources.projects import ChosenProjects, choose_projects
from commonplace.context.engine.judging import move_odds
from commonplace.context.finding.model import (
    FindQuestion,
    FindSource,
    FoundItem,
    SourceResult,
)
from commonplace.kernel.auth import AuthContext
from commonplace.kernel.ref import Ref, RefKind
from commonplace.memory.model import EntryFilter, EntryStatus
from commonplace.memory.results import EntryHit
from commonplace.memory.tools.anchors import stale_mark

if TYPE_CHECKING:
    from commonplace.bootstrap.services import Services
    from commonplace.files.extracts.model import ExtractSearchResult, FoundExtract
    from commonplace.files.model import FileSearchResult, FoundChunk
    from commonplace.search.model import SearchHit

UNUSED = ("draft", "review", "deprecated")  # an instruction that does not count, or not yet
CERTAIN = 0.999  # a score of memory above it has no finite odds


def find_sources(services: Services) -> Mapping[RefKind, FindSource]:
    """Return the search of each kind; a domain is opened by the first search that needs it."""
    return {
        RefKind.INSTRUCTION: InstructionFindSource(services),
        RefKind.MEMORY: MemoryFindSource(services),
        RefKind.FILE: FileFindSource(services),
        RefKind.OPENAPI: OperationFindSource(services),
    }


class InstructionFindSource:
    """Instructions that the caller sees."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def search(self, caller: AuthContext, question: FindQuestion) -> SourceResult:
        instructions = self._services.instructions
        hits = await instructions.weigh(caller, question.query)
        loop = asyncio.get_running_loop()
        items = await loop.run_in_executor(
            instructions.executor, self._describe, caller, hits[: question.limit]
        )
        return SourceResult(items)

    def _describe(self, caller: AuthContext, hits: tuple[SearchHit, ...]) -> list[FoundItem]:
        instructions = self._services.instructions
        instructions.confirmation.load()
        items = []
        found = {hit.key: instructions.get(caller, hit.key) for hit in hits}
        entries = {key: result.item for key, result in found.items() if result is not None}
        successors = {
            str(entry["supersedes"]): key
            for key, entry in entries.items()
            if entry.get("supersedes") and entry.get("status") not in UNUSED
        }
        for hit in hits:
            entry = entries.get(hit.key)
            if entry is None:
                continue
            status = str(entry.get("status") or "")
            marks = [status] if status in UNUSED else []
            if successor := successors.get(hit.key):
                marks.append(f"superseded by {Ref(RefKind.INSTRUCTION, successor)}")
            items.append(
                FoundItem(
                    Ref(RefKind.INSTRUCTION, hit.key),
                    str(entry.get("title") or hit.key),
                    str(entry.get("body") or ""),
                    hit.score,
                    hit.terms,
                    marks=tuple(marks),
                )
            )
        return items


class MemoryFindSource:
    """Active entries of the caller's memory."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def search(self, caller: AuthContext, question: FindQuestion) -> SourceResult:
        wanted = EntryFilter(status=EntryStatus.ACTIVE, project=question.project)
        answer = await self._services.memory.search(
            caller.tenant, question.query, "", wanted, question.limit
        )
        odds = scale_odds(answer)
        note = f"{answer.withheld} lessons withheld, because their code changed"
        notes = (note,) if answer.withheld else ()
        return SourceResult([_found_entry(hit, odds) for hit in answer.hits], notes)


def _found_entry(hit: EntryHit, odds: float) -> FoundItem:
    marks = [f"superseded by memory:{hit.successor.id}"] if hit.successor is not None else []
    marks += [f"contradicted by memory:{other}" for other in hit.contradicted_by]
    if mark := stale_mark(hit.anchors):
        marks.append(f"code {mark}")
    score = move_odds(min(hit.score, CERTAIN), odds)
    return FoundItem(
        Ref(RefKind.MEMORY, hit.entry.id),
        hit.entry.title,
        hit.entry.content,
        score,
        hit.match.terms,
        hit.entry.type.value,
        tuple(marks),
    )


class FileFindSource:
    """Passages of the caller's files."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def search(self, caller: AuthContext, question: FindQuestion) -> SourceResult:
        files = self._services.files
        chosen = await choose_projects(caller, files, question.query, question.project)
        results = await asyncio.gather(
            *(
                files.search(caller, project, question.query, limit=question.limit)
                for project in chosen.names
            )
        )
        items = [
            _found_chunk(chunk, project)
            for project, result in zip(chosen.names, results, strict=True)
            for chunk in result.chunks
        ]
        return SourceResult(items, _notes(results, chosen))


def _notes(
    results: Sequence[FileSearchResult | ExtractSearchResult], chosen: ChosenProjects
) -> tuple[str, ...]:
    notes = [note for result in results for note in result.notes]
    return (*notes, chosen.note) if chosen.note else tuple(notes)


def _found_chunk(chunk: FoundChunk, project: str) -> FoundItem:
    return FoundItem(
        Ref(RefKind.FILE, chunk.path, project, lines=chunk.lines),
        chunk.path,
        chunk.content,
        chunk.score,
        tuple(map(str, chunk.explain.get("terms") or ())),
    )


class OperationFindSource:
    """Operations of API descriptions among the caller's files."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def search(self, caller: AuthContext, question: FindQuestion) -> SourceResult:
        extracts = self._services.files.extracts
        if extracts is None:
            return SourceResult()
        chosen = await choose_projects(caller, extracts, question.query, question.project)
        results = await asyncio.gather(
            *(
                extracts.search(caller, project, question.query, question.limit)
                for project in chosen.names
            )
        )
        items = [_found_operation(extract) for result in results for extract in result.extracts]
        return SourceResult(items, _notes(results, chosen))


def _found_operation(found: FoundExtract) -> FoundItem:
    extract = found.extract
    marks = ["deprecated"] if extract.facts.get("deprecated") else []
    marks += ["stale"] if extract.is_stale else []
    lines = (extract.start_line, extract.end_line) if extract.start_line else None
    return FoundItem(
        Ref(RefKind.OPENAPI, extract.path, extract.project, pointer=extract.key),
        extract.title,
        extract.summary or extract.text,
        found.score,
        found.terms,
        marks=tuple(marks),
        lines=lines,
    )
