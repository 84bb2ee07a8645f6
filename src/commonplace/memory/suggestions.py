"""Suggestions from birth to decision: proposed when an entry comes, decided once, and never proposed again after a rejection."""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.kernel.auth import Tenant
from commonplace.kernel.clock import Clock
from commonplace.memory.engine.suggest import Neighbour, Thresholds, propose_cluster, propose_pairs
from commonplace.memory.errors import SUGGESTION_NOT_FOUND, failure
from commonplace.memory.model import Decision, Entry, Link, MemoryType, Relation, Suggestion, SuggestionType
from commonplace.memory.store import Store
from commonplace.memory.ulid import Ulids, read_prefix

PAIRS = (SuggestionType.CONTRADICTION, SuggestionType.LINK)
CLUSTERS = (SuggestionType.GENERALIZE,)


class Suggestions:
    """What is proposed about entries, and what people and agents made of it."""

    def __init__(self, store: Store, ulids: Ulids, clock: Clock, thresholds: Thresholds) -> None:
        self._store = store
        self._ulids = ulids
        self._clock = clock
        self._thresholds = thresholds

    async def propose(self, tenant: Tenant, entry: Entry, neighbours: Sequence[Neighbour]) -> int:
        """Keep what the neighbours of an entry suggest; returns how many suggestions are new."""
        near = [neighbour for neighbour in neighbours if neighbour.score >= self._thresholds.least]
        if not near:
            return 0
        ids = [entry.id, *(neighbour.entry.id for neighbour in near)]
        links = await self._store.links_among(tenant, ids)
        linked = frozenset(
            end for link in links if entry.id in (link.source_id, link.target_id) for end in (link.source_id, link.target_id)
        )
        proposals = propose_pairs(entry, near, linked, self._thresholds)
        if entry.memory_type is MemoryType.EPISODIC and len(near) + 1 >= self._thresholds.generalize_entries:
            generalized = frozenset(link.target_id for link in links if link.relation is Relation.DERIVED_FROM)
            settled = await self._store.clusters_with(tenant, ids)
            cluster = propose_cluster(entry, near, generalized, settled, self._thresholds)
            proposals += [cluster] if cluster is not None else []
        if not proposals:
            return 0
        moment = self._clock()
        return await self._store.add_suggestions(
            tenant,
            [Suggestion(self._ulids.next(moment), p.type, p.entry_ids, p.score, p.reason, moment) for p in proposals],
        )

    async def pending(
        self, tenant: Tenant, types: Sequence[SuggestionType], limit: int
    ) -> tuple[tuple[Suggestion, ...], int, dict[str, Entry]]:
        """Undecided suggestions, best first, how many there are, and the entries they speak of."""
        found, total = await self._store.pending(tenant, types, limit)
        entries = await self._store.get_all(tenant, {id_ for suggestion in found for id_ in suggestion.entry_ids})
        return found, total, entries

    async def accept(self, tenant: Tenant, reference: str) -> tuple[Suggestion, Link | None]:
        """A pair becomes a link; a cluster stays for `generalize`, which its caller is told to run."""
        suggestion = await self._undecided(tenant, reference)
        gone = set(suggestion.entry_ids) - (await self._store.get_all(tenant, suggestion.entry_ids)).keys()
        if gone:
            raise failure(
                SUGGESTION_NOT_FOUND,
                f"Suggestion '{suggestion.id}' is about entries that were deleted: {', '.join(sorted(gone))}",
                hint="memory_delete with restore=true brings an entry back; rekall_reject_suggestion settles the suggestion.",
            )
        moment = self._clock()
        link = None
        if suggestion.type is not SuggestionType.GENERALIZE:
            relation = Relation.CONTRADICTS if suggestion.type is SuggestionType.CONTRADICTION else Relation.RELATED
            link = Link(self._ulids.next(moment), suggestion.entry_ids[0], suggestion.entry_ids[1], relation, moment)
        return await self._decide(tenant, suggestion, Decision.ACCEPTED, link), link

    async def reject(self, tenant: Tenant, reference: str) -> Suggestion:
        return await self._decide(tenant, await self._undecided(tenant, reference), Decision.REJECTED, None)

    async def _undecided(self, tenant: Tenant, reference: str) -> Suggestion:
        suggestion = await self._store.suggestion(tenant, read_prefix(reference) or reference.strip()[:64])
        if suggestion is None:
            raise failure(
                SUGGESTION_NOT_FOUND,
                f"Suggestion with ID '{reference.strip()[:64]}' not found",
                hint="rekall_suggest_links and rekall_suggest_generalize list what is pending.",
            )
        if suggestion.decision is not Decision.PENDING:
            raise _decided(suggestion)
        return suggestion

    async def _decide(self, tenant: Tenant, suggestion: Suggestion, decision: Decision, link: Link | None) -> Suggestion:
        settled = await self._store.decide(tenant, suggestion.id, decision, self._clock(), link)
        if settled is None:  # somebody was faster
            raise _decided(await self._store.suggestion(tenant, suggestion.id) or suggestion)
        return settled


def _decided(suggestion: Suggestion) -> Exception:
    return failure(
        SUGGESTION_NOT_FOUND,
        f"Suggestion '{suggestion.id}' was {suggestion.decision} already",
        hint="A decision is final.",
        status=suggestion.decision.value,
    )
