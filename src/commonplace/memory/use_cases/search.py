"""Search entries, and walk the links around one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence

from commonplace.kernel.auth import Tenant
from commonplace.kernel.clock import Clock
from commonplace.memory.engine.answerability import (
    JUDGED_MATCHES,
    MatchEvidence,
    Verdict,
    judge,
    judge_words,
    language_of,
    lines_of,
    script_of,
)
from commonplace.memory.engine.strength import Reliability, rate_reliability
from commonplace.memory.model import (
    Entry,
    EntryFilter,
    EntryStatus,
    EntryUsage,
    Link,
    RelationType,
    final_successor,
    one_supersedes_other,
)
from commonplace.memory.results import EntryHit, LinkGraph, SearchAnswer
from commonplace.memory.retrieval.protocol import (
    EntryIndex,
    EntryMatch,
    IndexMatches,
    SearchText,
)
from commonplace.memory.store.protocol import MemoryStore
from commonplace.memory.text import QUERY_CHARACTERS, clean_context, clean_text
from commonplace.memory.use_cases.lookup import EntryLookup
from commonplace.search.lexical.text import query_terms

OUTDATED_FACTOR = 0.5  # multiplies the score of an entry that is superseded or obsolete
AROUND_LINE = 0.15  # of a perfect match with the conversation: such an entry is not ruled out
AROUND_SHARE = 0.5  # how much words of the conversation count beside those of the query
CANDIDATES = 5  # times the limit are read, so that demoted entries leave room for others
UNREAD = EntryUsage()
GRAPH_DEPTH = 3
GRAPH_ENTRIES = 200
MODEL_SECONDS = 5.0  # how long a search that requires embeddings waits for their model


class EntrySearch:
    """Reads only: accesses are counted when an entry is shown."""

    def __init__(
        self, store: MemoryStore, index: EntryIndex, lookup: EntryLookup, clock: Clock
    ) -> None:
        self._store = store
        self._index = index
        self._lookup = lookup
        self._clock = clock

    async def search(
        self,
        tenant: Tenant,
        text: SearchText,
        wanted: EntryFilter,
        limit: int,
        *,
        require_embeddings: bool,
    ) -> SearchAnswer:
        """Return the best entries for any text.

        Outdated ones have a lower score. Age and refutations change the order a little, and
        neither the scores nor what is found.
        """
        if require_embeddings:
            await self._index.prepare(MODEL_SECONDS)
            self._index.require()
        text = SearchText(clean_text(text.query), clean_context(text.context)[0])
        wanted = wanted.cleaned()
        # The verdict is the same for any limit.
        candidates = max(limit * CANDIDATES, JUDGED_MATCHES)
        found = await self._index.search(tenant, text, wanted, candidates)
        ids = [match.entry_id for match in found.matches]
        entries, links, undecided, usage = await asyncio.gather(
            self._store.get_all(tenant, ids),
            self._store.links_among(tenant, ids),
            self._store.pending_contradictions(tenant, ids),
            self._store.usage(tenant, ids),
        )
        opposed = [frozenset(suggestion.entry_ids) for suggestion in undecided] + [
            frozenset(link.ends) for link in links if link.relation is RelationType.CONTRADICTS
        ]
        others = {e.superseded_by for e in entries.values() if e.superseded_by}.union(*opposed)
        known = await self._lookup.with_successors(
            tenant, entries | await self._store.get_all(tenant, others - entries.keys())
        )
        now = self._clock()
        rated = [
            (entry, match, rate_reliability(entry, usage.get(entry.id, UNREAD), now))
            for match in found.matches
            if (entry := entries.get(match.entry_id)) is not None
        ]
        hits = [_rate(entry, match, known, opposed, rating) for entry, match, rating in rated]
        hits.sort(key=lambda hit: (-hit.score * hit.reliability.weight, hit.entry.id))
        return SearchAnswer(
            tuple(hits[:limit]),
            found.total,
            found.semantic,
            self._index.loading,
            _judge(
                text.query,
                found,
                hits,
                is_filtered=wanted != EntryFilter(),
                is_loading=self._index.loading,
            ),
            self._find_unread_language(text.query, found),
            found.documents,
            has_model=self._index.ready(),
        )

    def _find_unread_language(self, query: str, found: IndexMatches) -> str | None:
        """Return the language or the script of a query that no model read."""
        has_no_model = not (self._index.ready() or self._index.loading)
        if not (found.is_unread or has_no_model):
            return None
        return language_of(query) or script_of(query)

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


def _judge(
    query: str,
    found: IndexMatches,
    hits: Sequence[EntryHit],
    *,
    is_filtered: bool,
    is_loading: bool,
) -> Verdict:
    """Judge whether hits answer a query that a model read, or that no model read."""
    evidence = [
        MatchEvidence(
            hit.match.semantic or 0.0, (hit.match.lexical or 0.0) + AROUND_SHARE * hit.match.around
        )
        for hit in hits[:JUDGED_MATCHES]
    ]
    if not hits:
        return Verdict.NOTHING
    entries = 0 if is_filtered else found.documents  # a filter admits fewer, nobody knows how many
    language = language_of(query)
    # The words of an answer in another language say nothing, and its cosine is lower.
    is_foreign = language != language_of(hits[0].entry.text)
    may_answer = is_foreign or _has_every_word(query, hits[:JUDGED_MATCHES])
    if found.model is None:
        return judge_words(evidence, entries=entries, may_answer=may_answer or is_loading)
    lines = lines_of(found.model, language)
    if lines is None:
        return Verdict.LIKELY
    fits_context = any(hit.match.around >= AROUND_LINE for hit in hits[:JUDGED_MATCHES])
    return judge(evidence, lines, entries=entries, may_answer=may_answer or fits_context)


def _has_every_word(query: str, hits: Iterable[EntryHit]) -> bool:
    """Say whether one entry has all words of a query: a long one may have them anywhere."""
    terms = set(query_terms(query[:QUERY_CHARACTERS]))
    return len(terms) > 1 and any(terms <= set(hit.match.terms) for hit in hits)


def _rate(
    entry: Entry,
    match: EntryMatch,
    known: Mapping[str, Entry],
    opposed: Iterable[frozenset[str]],
    reliability: Reliability,
) -> EntryHit:
    outdated = entry.superseded_by is not None or entry.status is EntryStatus.OBSOLETE
    others = sorted(
        id_ for pair in opposed if entry.id in pair for id_ in pair - {entry.id} if id_ in known
    )
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
        reliability,
    )


def _is_settled_contradiction(link: Link, entries: Mapping[str, Entry]) -> bool:
    return link.relation is RelationType.CONTRADICTS and one_supersedes_other(
        *(entries[id_] for id_ in link.ends)
    )
