"""One search over all toolsets: ask every kind at once, merge by the chance that a result answers.

The kinds share one engine, whose scores are chances, so results of different kinds compare.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from commonplace.context.finding.model import (
    UNDERLYING,
    FindQuestion,
    FindResult,
    FindSource,
    FoundItem,
    SourceResult,
)
from commonplace.context.sources import TaskPreparer
from commonplace.kernel.auth import AuthContext
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError, Kind
from commonplace.kernel.ref import Ref, RefKind

log = logging.getLogger("commonplace.context")
LEAST_SCORE = 0.0005  # an item below it would be shown with a score of 0
SAME = 0.5  # of the score of a passage, that an operation in it needs to take its place
EXCLUDED = "excluded on this server or by this request"
ASKED_KINDS = frozenset({Kind.INVALID_ARGUMENT, Kind.RATE})  # what the caller must know at once


def merge_items(items: Sequence[FoundItem]) -> list[FoundItem]:
    """Return the items of all kinds, best first.

    A passage of an API description that shows a found operation gives its place to the operation.
    """
    operations: dict[tuple[str | None, str], list[FoundItem]] = {}
    for item in items:
        if item.ref.kind is RefKind.OPENAPI and item.lines is not None:
            operations.setdefault((item.ref.project, item.ref.key), []).append(item)
    raised: dict[Ref, float] = {}
    kept = []
    for item in items:
        shown = _best_shown(item, operations) if item.ref.kind is RefKind.FILE else None
        if shown is None or shown.score < SAME * item.score:
            kept.append(item)
        else:
            raised[shown.ref] = max(item.score, raised.get(shown.ref, 0.0))
    scored = [replace(item, score=max(item.score, raised.get(item.ref, 0.0))) for item in kept]
    likely = [item for item in scored if item.score >= LEAST_SCORE]
    return sorted(likely, key=lambda item: (-item.score, str(item.ref)))


def _best_shown(
    passage: FoundItem, operations: Mapping[tuple[str | None, str], Sequence[FoundItem]]
) -> FoundItem | None:
    """Return the best of the operations that share a line with a passage."""
    first, last = passage.ref.lines or (0, -1)
    shared = [
        item
        for item in operations.get((passage.ref.project, passage.ref.key), ())
        if item.lines is not None and item.lines[0] <= last and first <= item.lines[1]
    ]
    return max(shared, key=lambda item: item.score, default=None)


class SearchAllService:
    """Searches instructions, memory, files and API operations."""

    def __init__(
        self, sources: Mapping[RefKind, FindSource], preparer: TaskPreparer | None = None
    ) -> None:
        self._sources = sources
        self._preparer = preparer

    async def search(
        self,
        caller: AuthContext,
        question: FindQuestion,
        permits: Callable[[str], bool] = lambda tool: True,
    ) -> FindResult:
        """Return the best results; a kind that cannot be searched is named, not an error."""
        if not question.query.strip():
            raise CommonplaceError(
                INVALID_ARGUMENT,
                "query: say in words what you are looking for.",
                details={"field": "query"},
            )
        wanted = [kind for kind in RefKind if kind in question.kinds]
        unavailable = {
            kind: EXCLUDED for kind in wanted if not all(map(permits, UNDERLYING[kind][0]))
        }
        asked = [kind for kind in wanted if kind not in unavailable]
        if asked and self._preparer is not None:
            await self._preparer.prepare(question.query)
        found = await asyncio.gather(*(self._ask(caller, kind, question) for kind in asked))
        answers = dict(zip(asked, found, strict=True))
        unavailable |= {kind: answer for kind, answer in answers.items() if isinstance(answer, str)}
        results = [answer for answer in answers.values() if isinstance(answer, SourceResult)]
        items = merge_items([item for result in results for item in result.items])
        notes = dict.fromkeys(note for result in results for note in result.notes)
        return FindResult(items[: question.limit], unavailable, tuple(notes))

    async def _ask(
        self, caller: AuthContext, kind: RefKind, question: FindQuestion
    ) -> SourceResult | str:
        """Search one kind; a domain that cannot answer now leaves its reason."""
        try:
            return await self._sources[kind].search(caller, question)
        except CommonplaceError as error:
            if error.code.kind in ASKED_KINDS:
                raise
            return error.message
        except Exception:  # a defect of one domain must not hide what the others found
            log.exception("the search of %s failed", kind)
            return "The search failed; the server's log says why."
