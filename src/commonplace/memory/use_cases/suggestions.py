"""Propose links, contradictions and generalisations when entries come or change.

A rejected suggestion is never proposed again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from commonplace.kernel.auth import Tenant
from commonplace.kernel.clock import Clock
from commonplace.memory.engine.suggest import (
    Neighbour,
    Proposal,
    SettledPairs,
    SimilarityCandidate,
    Thresholds,
    nearest,
    propose_cluster,
    propose_pairs,
)
from commonplace.memory.model import (
    CLUSTER_TYPES,
    PAIR_TYPES,
    Entry,
    Link,
    MemoryType,
    RelationType,
    Suggestion,
    SuggestionType,
)
from commonplace.memory.retrieval.protocol import EntryIndex
from commonplace.memory.store.protocol import MemoryStore
from commonplace.memory.ulid import Ulids

NEIGHBOURS_READ = 10


class Suggestions:
    """Keeps the suggestions about entries in step with the entries."""

    def __init__(
        self,
        store: MemoryStore,
        index: EntryIndex,
        ulids: Ulids,
        clock: Clock,
        thresholds: Thresholds,
    ) -> None:
        self._store = store
        self._index = index
        self._ulids = ulids
        self._clock = clock
        self._thresholds = thresholds

    async def neighbours(
        self, tenant: Tenant, entry: Entry, also: Sequence[Entry] = ()
    ) -> list[Neighbour]:
        """Return similar entries, and those in `also`, nearest first.

        Similarity is the cosine of vectors where the entry has one, else of words.
        """
        similar = await self._index.similar(tenant, entry, NEIGHBOURS_READ, also)
        if not similar.matches:
            return []
        entries = await self._store.get_all(tenant, [match.entry_id for match in similar.matches])
        candidates = [
            SimilarityCandidate(entries[match.entry_id], match.semantic, match.words)
            for match in similar.matches
            if match.entry_id in entries
        ]
        return nearest(entry, candidates, similar.rarity, self._thresholds.least)

    async def propose(
        self, tenant: Tenant, entry: Entry, neighbours: Sequence[Neighbour]
    ) -> tuple[int, tuple[Suggestion, ...]]:
        """Save what the neighbours of an entry suggest.

        Returns how many suggestions are new, and the contradictions among all of them.
        """
        near = self._select_near(neighbours)
        if not near:
            return 0, ()
        links = await self._links(tenant, entry, near)
        linked = frozenset(end for link in links if entry.id in link.ends for end in link.ends)
        proposals = propose_pairs(entry, near, SettledPairs(linked, linked), self._thresholds)
        proposals += await self._cluster(tenant, entry, near, links)
        if not proposals:
            return 0, ()
        suggestions = self._suggestions(proposals)
        contradictions = tuple(s for s in suggestions if s.type is SuggestionType.CONTRADICTION)
        return await self._store.add_suggestions(tenant, suggestions), contradictions

    async def propose_for(self, tenant: Tenant, entry: Entry) -> int:
        """Look for neighbours of an entry and save what they suggest; returns how many are new."""
        return (await self.propose(tenant, entry, await self.neighbours(tenant, entry)))[0]

    async def review(self, tenant: Tenant, entry: Entry, *, withdraw: bool = True) -> int:
        """Judge the pending suggestions about a changed entry again, and propose new ones.

        A suggestion that still holds keeps its id; one that no longer holds is withdrawn, but not
        if the entry only came back, with the text that it had. Returns how many are new.
        """
        pending = await self._store.suggestions_about(tenant, entry.id)
        partner_ids = {id_ for suggestion in pending for id_ in suggestion.entry_ids} - {entry.id}
        partners = await self._store.get_all(tenant, partner_ids)
        near = self._select_near(await self.neighbours(tenant, entry, tuple(partners.values())))
        present = partners.keys() | {entry.id}
        pending = tuple(s for s in pending if present >= {*s.entry_ids})
        links = await self._links(tenant, entry, near)
        count = await self._review_pairs(tenant, entry, near, pending, links, withdraw=withdraw)
        clusters = self._suggestions(await self._cluster(tenant, entry, near, links))
        return count + (await self._store.add_suggestions(tenant, clusters) if clusters else 0)

    async def _review_pairs(
        self,
        tenant: Tenant,
        entry: Entry,
        near: Sequence[Neighbour],
        pending: Sequence[Suggestion],
        links: Sequence[Link],
        *,
        withdraw: bool,
    ) -> int:
        pairs = {_get_other_id(s, entry): s for s in pending if s.type in PAIR_TYPES}
        settled = _find_settled(entry, links, frozenset(pairs))
        proposals = {
            proposal.entry_ids[1]: proposal
            for proposal in propose_pairs(entry, near, settled, self._thresholds)
        }
        withdrawn = [pair for id_, pair in pairs.items() if id_ not in proposals]
        withdrawn += [
            suggestion
            for suggestion in pending
            if suggestion.type in CLUSTER_TYPES
            and not self._holds_together(suggestion, entry, near)
        ]
        withdrawn = withdrawn if withdraw else []
        revised = self._revise(pairs, proposals)
        added = self._suggestions([p for id_, p in proposals.items() if id_ not in pairs])
        if not (added or revised or withdrawn):
            return 0
        return await self._store.add_suggestions(
            tenant, added, revised=revised, withdrawn=withdrawn
        )

    def _revise(
        self, pairs: Mapping[str, Suggestion], proposals: Mapping[str, Proposal]
    ) -> list[Suggestion]:
        """Return the pending pairs whose type, score or reason changed."""
        moment = self._clock()
        revised = []
        for id_, pair in pairs.items():
            proposal = proposals.get(id_)
            if proposal is None or _judgement(proposal) == _judgement(pair):
                continue
            revised.append(
                replace(
                    pair,
                    type=proposal.type,
                    score=proposal.score,
                    reason=proposal.reason,
                    created_at=pair.created_at if proposal.type is pair.type else moment,
                )
            )
        return revised

    def _select_near(self, neighbours: Sequence[Neighbour]) -> list[Neighbour]:
        return [neighbour for neighbour in neighbours if neighbour.score >= self._thresholds.least]

    async def _links(
        self, tenant: Tenant, entry: Entry, near: Sequence[Neighbour]
    ) -> tuple[Link, ...]:
        return await self._store.links_among(tenant, [entry.id, *(n.entry.id for n in near)])

    async def _cluster(
        self, tenant: Tenant, entry: Entry, near: Sequence[Neighbour], links: Sequence[Link]
    ) -> list[Proposal]:
        """Propose at most one generalisation around an entry."""
        if (
            entry.memory_type is not MemoryType.EPISODIC
            or len(near) + 1 < self._thresholds.generalize_entries
        ):
            return []
        generalized = frozenset(
            link.target_id for link in links if link.relation is RelationType.DERIVED_FROM
        )
        known = await self._store.clusters_with(tenant, [entry.id, *(n.entry.id for n in near)])
        cluster = propose_cluster(entry, near, generalized, known, self._thresholds)
        return [cluster] if cluster is not None else []

    def _holds_together(self, cluster: Suggestion, entry: Entry, near: Sequence[Neighbour]) -> bool:
        """Say whether an entry is still near enough to half of the other members of a cluster.

        A cluster is built around one of its members, so the others need not be near to each other.
        """
        if entry.memory_type is not MemoryType.EPISODIC:
            return False
        others = set(cluster.entry_ids) - {entry.id}
        members = {
            n.entry.id for n in near if n.score >= self._thresholds.generalize_at(n.semantic)
        }
        return 2 * len(others & members) >= len(others)

    def _suggestions(self, proposals: Sequence[Proposal]) -> list[Suggestion]:
        moment = self._clock()
        return [
            Suggestion(self._ulids.next(moment), p.type, p.entry_ids, p.score, p.reason, moment)
            for p in proposals
        ]


def _find_settled(entry: Entry, links: Sequence[Link], suggested: frozenset[str]) -> SettledPairs:
    ends = [(link.relation, end) for link in links if entry.id in link.ends for end in link.ends]
    opposing = (RelationType.CONTRADICTS, RelationType.SUPERSEDES)
    return SettledPairs(
        frozenset(end for _, end in ends),
        frozenset(end for relation, end in ends if relation in opposing),
        suggested,
    )


def _get_other_id(pair: Suggestion, entry: Entry) -> str:
    """Return the id of the other entry of a pair."""
    return next(id_ for id_ in pair.entry_ids if id_ != entry.id)


def _judgement(judged: Proposal | Suggestion) -> tuple[SuggestionType, float, str]:
    return judged.type, judged.score, judged.reason
