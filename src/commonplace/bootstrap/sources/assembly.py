"""Context packs over the domains of this product."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from commonplace.bootstrap.sources.captured import capture_books
from commonplace.bootstrap.sources.lessons import LessonSource
from commonplace.bootstrap.sources.operations import ApiOperationSource
from commonplace.bootstrap.sources.passages import FilePassageSource
from commonplace.bootstrap.sources.readings import ref_readers
from commonplace.bootstrap.sources.rules import RuleSource
from commonplace.bootstrap.sources.searches import find_sources
from commonplace.bootstrap.team import on_postgres
from commonplace.context.capture.service import CaptureService
from commonplace.context.finding.opening import OpenRefService
from commonplace.context.finding.searching import SearchAllService
from commonplace.context.model import PackSection
from commonplace.context.service import ContextService
from commonplace.search.semantic.embed import EmbedderUnavailableError

if TYPE_CHECKING:
    from commonplace.bootstrap.services import Services
    from commonplace.context.capture.store.protocol import ProposalQueue
    from commonplace.context.store.protocol import PackStore


def open_context(services: Services) -> ContextService:
    """Open context; a domain is opened by the first question that needs it."""
    return ContextService(
        {
            PackSection.RULES: RuleSource(services),
            PackSection.LESSONS: LessonSource(services),
            PackSection.FILES: FilePassageSource(services),
            PackSection.OPERATIONS: ApiOperationSource(services),
        },
        _open_packs(services),
        QueryEmbedding(services),
    )


def open_search_all(services: Services) -> SearchAllService:
    """Open the search over all toolsets."""
    return SearchAllService(find_sources(services), QueryEmbedding(services))


def open_refs(services: Services) -> OpenRefService:
    """Open the reading of references."""
    return OpenRefService(ref_readers(services))


def open_capture(services: Services) -> CaptureService:
    """Open the queue of proposals; memory and the catalogue are opened when they are needed."""
    return CaptureService(
        _open_queue(services),
        capture_books(services),
        accept_lessons=services.settings.capture.accept_lessons,
    )


def _open_queue(services: Services) -> ProposalQueue:
    if on_postgres(services.settings):
        from commonplace.context.capture.store.postgres import open_postgres_queue

        return open_postgres_queue(services.postgres)
    from commonplace.context.capture.store.sqlite import open_sqlite_queue

    return open_sqlite_queue(services.settings.data)


def _open_packs(services: Services) -> PackStore:
    if on_postgres(services.settings):
        from commonplace.context.store.postgres import open_postgres_packs

        return open_postgres_packs(services.postgres)
    from commonplace.context.store.sqlite import open_sqlite_packs

    return open_sqlite_packs(services.settings.data)


class QueryEmbedding:
    """Lets the searches of all domains find a model that can embed the task."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def prepare(self, text: str) -> None:
        """Wait for the model where it is loading: the same question gets the same pack.

        A loaded one embeds while the first search looks up the words; the others share the vector.
        """
        semantics = self._services.semantic.semantics
        if semantics is None or semantics.embedder.state == "ready":
            return
        with contextlib.suppress(EmbedderUnavailableError):  # the searches go on by words
            await asyncio.to_thread(semantics.embedder.embed_query, text)
