"""Search over extracts: retrieve by words and meaning, drop those whose file is gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from commonplace.files.errors import SEARCH_BACKEND_ERROR, search_is_off
from commonplace.files.extracts.difference import WEIGHTS
from commonplace.files.extracts.model import (
    AdmitCaller,
    ExtractSearchResult,
    FoundExtract,
    StoredExtract,
    extract_partition,
)
from commonplace.files.model import FilePath, Project
from commonplace.kernel.auth import AuthContext
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.settings import FilesSearch
from commonplace.search.lexical.retriever import MAX_QUERY_CHARACTERS
from commonplace.search.model import Retriever, SearchUnavailableError
from commonplace.search.partitions import choose_partitions
from commonplace.search.relevance.query import read_query
from commonplace.storage.errors import STORAGE_UNAVAILABLE

CANDIDATES = 60


class ExtractStore(Protocol):
    """Indexed extracts as search results need them."""

    async def extracts(
        self, tenant: str, project: Project, keys: Sequence[str]
    ) -> list[StoredExtract]:
        """Return the extracts of search keys, in order, without those of deleted files."""
        ...

    async def extract_at(
        self, tenant: str, project: Project, path: FilePath, key: str
    ) -> StoredExtract | None:
        """Return the extract of a live file by its key."""
        ...

    async def projects_with_extracts(self, tenant: str) -> list[Project]: ...


class ExtractSearch:
    """Finds extracts of live files."""

    def __init__(
        self,
        store: ExtractStore,
        retriever: Retriever,
        admit: AdmitCaller,
        options: FilesSearch | None = None,
    ) -> None:
        self._store = store
        self._retriever = retriever
        self._admit = admit
        self._options = options or FilesSearch()

    async def projects(self, caller: AuthContext) -> list[Project]:
        """Return the caller's projects that have extracts. Raises SEARCH_BACKEND_ERROR."""
        if not self._options.enabled:
            raise search_is_off()
        return await self._store.projects_with_extracts(caller.apikey_hash)

    async def likeliest_projects(
        self, caller: AuthContext, query: str, most: int
    ) -> tuple[list[Project], int]:
        """Return the likeliest projects for a query by words, and how many have extracts."""
        tenant = caller.apikey_hash
        partitions = [extract_partition(tenant, name) for name in await self.projects(caller)]
        reading = read_query(query[:MAX_QUERY_CHARACTERS])
        chosen = await choose_partitions(self._retriever, partitions, reading, most, WEIGHTS)
        return [Project(partition.scope) for partition in chosen], len(partitions)

    async def find(
        self, caller: AuthContext, project: str, path: str, key: str
    ) -> StoredExtract | None:
        """Return one extract of a live file; None if there is none."""
        tenant, name, place = await self._admit(caller, project, path)
        return await self._store.extract_at(tenant, name, place, key)

    async def search(
        self, caller: AuthContext, project: str, query: str, limit: int
    ) -> ExtractSearchResult:
        """Return the best extracts of a project. Raises SEARCH_BACKEND_ERROR."""
        tenant, name, _ = await self._admit(caller, project, "")
        if not self._options.enabled:
            raise search_is_off()
        text = query[:MAX_QUERY_CHARACTERS]
        try:
            found = await self._retriever.retrieve(
                extract_partition(tenant, name),
                text,
                limit=max(limit, CANDIDATES),
                weights=WEIGHTS,
                model_key=caller.model_key,
                reading=read_query(text),
            )
        except SearchUnavailableError as unavailable:
            cause = unavailable.__cause__
            if isinstance(cause, CommonplaceError) and cause.code is STORAGE_UNAVAILABLE:
                raise cause from unavailable
            raise CommonplaceError(
                SEARCH_BACKEND_ERROR,
                "The search index cannot be read now.",
                hint="Retry; then run commonplace doctor. The server's log says why.",
                retryable=True,
            ) from unavailable
        hits = {hit.key: hit for hit in found.hits}
        live = await self._store.extracts(tenant, name, list(hits)[: limit + CANDIDATES])
        results = [
            FoundExtract(extract, hit.score, hit.terms, hit.explain, hit.words, hit.semantic)
            for extract in live
            if (hit := hits[extract.search_key])
        ]
        doubt = (found.doubt,) if found.doubt and results else ()
        return ExtractSearchResult(results[:limit], found.mode, found.notes + doubt)
