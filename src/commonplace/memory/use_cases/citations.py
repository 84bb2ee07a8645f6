"""Check the citations of a text against the entries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from commonplace.kernel.auth import Tenant
from commonplace.memory.engine.citations import Citation, find_citations
from commonplace.memory.model import Entry, EntryStatus
from commonplace.memory.results import CheckedCitation, CitationStatus
from commonplace.memory.store.protocol import MemoryStore
from commonplace.memory.use_cases.anchoring import AnchorReview
from commonplace.memory.use_cases.lookup import EntryLookup

MOST_CANDIDATES = 2_000  # entries that a short id may mean


class CitationCheck:
    """Says of each citation whether it names an entry that holds."""

    def __init__(self, store: MemoryStore, lookup: EntryLookup, anchors: AnchorReview) -> None:
        self._store = store
        self._lookup = lookup
        self._anchors = anchors

    async def check(self, tenant: Tenant, text: str) -> tuple[CheckedCitation, ...]:
        """Return every citation of a text with its status; each is looked up once."""
        known: dict[tuple[str, str], CheckedCitation] = {}
        candidates: dict[str, Sequence[Entry]] = {}
        checked = []
        for found in find_citations(text):
            reference = found.reference.upper()
            if reference not in candidates:
                candidates[reference] = await self._store.with_prefix(
                    tenant, reference, MOST_CANDIDATES, deleted=True
                )
            key = reference, found.following
            if key not in known:
                known[key] = await self._check(tenant, found, candidates[reference])
            checked.append(replace(known[key], citation=found))
        return tuple(checked)

    async def _check(
        self, tenant: Tenant, citation: Citation, candidates: Sequence[Entry]
    ) -> CheckedCitation:
        if len(candidates) > 1:  # a short id: the title decides
            named = [entry for entry in candidates if citation.claimed_title]
            named = [entry for entry in named if citation.names(entry.title)]
            alive = [entry for entry in named if entry.deleted_at is None]
            if len(alive or named) != 1:
                return CheckedCitation(citation, CitationStatus.AMBIGUOUS)
            candidates = tuple(alive or named)
        if not candidates:
            return CheckedCitation(citation, CitationStatus.NOT_FOUND)
        return await self._judge(tenant, citation, candidates[0])

    async def _judge(self, tenant: Tenant, citation: Citation, entry: Entry) -> CheckedCitation:
        if entry.deleted_at is not None:
            return CheckedCitation(citation, CitationStatus.DELETED, entry)
        if entry.superseded_by:
            successor = await self._lookup.successor(tenant, entry)
            return CheckedCitation(citation, CitationStatus.SUPERSEDED, entry, successor)
        if entry.status is EntryStatus.OBSOLETE:
            return CheckedCitation(citation, CitationStatus.OBSOLETE, entry)
        if not citation.names(entry.title):
            return CheckedCitation(citation, CitationStatus.OTHER_TITLE, entry)
        states = await self._anchors.compare(tenant, [entry], fresh=True)
        stale = tuple(verdict for verdict in states.get(entry.id, ()) if verdict.is_stale)
        status = CitationStatus.STALE if stale else CitationStatus.OK
        return CheckedCitation(citation, status, entry, anchors=stale)
