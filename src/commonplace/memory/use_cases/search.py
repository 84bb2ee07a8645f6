"""Search entries, and walk the links around one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from commonplace.kernel.auth import Tenant
from commonplace.memory.model import (
    Entry,
    EntryFilter,
    EntryStatus,
    Link,
    RelationType,
    final_successor,
    one_supersedes_other,
)
from commonplace.memory.results import EntryHit, LinkGraph, SearchAnswer
from commonplace.memory.retrieval.protocol import EntryIndex, EntryMatch, SearchText
from commonplace.memory.store.protocol import MemoryStore
from commonplace.memory.text import clean_context, clean_text
from commonplace.memory.use_cases.lookup import EntryLookup

OUTDATED_FACTOR = 0.5  # multiplies the score of an entry that is superseded or obsolete
CANDIDATES = 5  # times the limit are read, so that demoted entries leave room for others
GRAPH_DEPTH = 3
GRAPH_ENTRIES = 200
MODEL_SECONDS = 5.0  # how long a search that requires embeddings waits for their model


class EntrySearch:
    """Reads only: accesses are counted when an entry is shown."""

    def __init__(self, store: MemoryStore, index: EntryIndex, lookup: EntryLookup) -> None:
        self._store = store
        self._index = index
        self._lookup = lookup

    async def search(
        self,
        tenant: Tenant,
        text: SearchText,
        wanted: EntryFilter,
        limit: int,
        *,
        require_embeddings: bool,
    ) -> SearchAnswer:
        """Return the best entries for any text; outdated ones rank lower."""
        if require_embeddings:
            await self._index.prepare(MODEL_SECONDS)
            self._index.require()
        text = SearchText(clean_text(text.query), clean_context(text.context)[0])
        found = await self._index.search(tenant, text, wanted.cleaned(), limit * CANDIDATES)
        ids = [match.entry_id for match in found.matches]
        entries, links = await asyncio.gather(
            self._store.get_all(tenant, ids), self._store.links_among(tenant, ids)
        )
        contradictions = [link for link in links if link.relation is RelationType.CONTRADICTS]
        others = {e.superseded_by for e in entries.values() if e.superseded_by} | {
            id_ for link in contradictions for id_ in link.ends
        }
        known = await self._lookup.with_successors(
            tenant, entries | await self._store.get_all(tenant, others - entries.keys())
        )
        hits = [
            _rate(entries[match.entry_id], match, known, contradictions)
            for match in found.matches
            if match.entry_id in entries
        ]
        hits.sort(key=lambda hit: (-hit.score, hit.entry.id))
        return SearchAnswer(tuple(hits[:limit]), found.total, found.semantic, self._index.loading)

    async def find_related(self, tenant: Tenant, root: Entry, depth: int) -> LinkGraph:
        """Walk the links around an entry, breadth first, up to a number of steps and entries."""
        distance = {root.id: 0}
        links: dict[str, Link] = {}
        frontier: set[str] = {root.id}
        truncated = False
        for step in range(1, depth + 1):
            found = await self._store.links_among(tenant, frontier)
            links.update({link.id: link for link in found})
            frontier = {end for link in found for end in link.ends} - distance.keys()
            if len(distance) + len(frontier) > GRAPH_ENTRIES:
                frontier, truncated = set(sorted(frontier)[: GRAPH_ENTRIES - len(distance)]), True
            distance.update(dict.fromkeys(frontier, step))
            if not frontier:
                break
        entries = await self._store.get_all(tenant, distance)
        shown = tuple(
            link
            for link in links.values()
            if entries.keys() >= set(link.ends) and not _is_settled_contradiction(link, entries)
        )
        distance = {id_: steps for id_, steps in distance.items() if id_ in entries}
        return LinkGraph(root, distance, entries, shown, truncated)


def _rate(
    entry: Entry, match: EntryMatch, known: Mapping[str, Entry], contradictions: Iterable[Link]
) -> EntryHit:
    outdated = entry.superseded_by is not None or entry.status is EntryStatus.OBSOLETE
    others = [
        id_
        for link in contradictions
        if entry.id in link.ends
        for id_ in link.ends
        if id_ != entry.id and id_ in known
    ]
    active = [
        id_
        for id_ in others
        if known[id_].status is EntryStatus.ACTIVE and not one_supersedes_other(entry, known[id_])
    ]
    score = match.score * (OUTDATED_FACTOR if outdated else 1.0)
    return EntryHit(
        entry,
        round(max(0.0, min(1.0, score)), 4),
        match,
        final_successor(entry, known),
        tuple(dict.fromkeys(active)),
    )


def _is_settled_contradiction(link: Link, entries: Mapping[str, Entry]) -> bool:
    return link.relation is RelationType.CONTRADICTS and one_supersedes_other(
        *(entries[id_] for id_ in link.ends)
    )
