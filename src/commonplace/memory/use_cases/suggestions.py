"""Suggestions from birth to decision: proposed when an entry comes, decided once, and never
proposed again after a rejection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from commonplace.kernel.auth import Tenant
from commonplace.kernel.clock import Clock
from commonplace.memory.engine.suggest import (
    Neighbour,
    Proposal,
    SettledPairs,
    Thresholds,
    propose_cluster,
    propose_pairs,
)
from commonplace.memory.errors import SUGGESTION_NOT_FOUND, failure
from commonplace.memory.model import (
    Decision,
    Entry,
    Link,
    MemoryType,
    RelationType,
    Suggestion,
    SuggestionType,
)
from commonplace.memory.store.protocol import MemoryStore
from commonplace.memory.ulid import Ulids, read_prefix

PAIRS = (SuggestionType.CONTRADICTION, SuggestionType.LINK)
CLUSTERS = (SuggestionType.GENERALIZE,)


class Suggestions:
    """What is proposed about entries, and what people and agents made of it."""

    def __init__(
        self, store: MemoryStore, ulids: Ulids, clock: Clock, thresholds: Thresholds
    ) -> None:
        self._store = store
        self._ulids = ulids
        self._clock = clock
        self._thresholds = thresholds

    async def propose(self, tenant: Tenant, entry: Entry, neighbours: Sequence[Neighbour]) -> int:
        """Keep what the neighbours of an entry suggest; returns how many suggestions are new."""
        near = self._near_enough(neighbours)
        if not near:
            return 0
        links = await self._links(tenant, entry, near)
        linked = frozenset(end for link in links if entry.id in link.ends for end in link.ends)
        proposals = propose_pairs(entry, near, SettledPairs(linked, linked), self._thresholds)
        proposals += await self._cluster(tenant, entry, near, links)
        return (
            await self._store.add_suggestions(tenant, self._suggestions(proposals))
            if proposals
            else 0
        )

    async def about(self, tenant: Tenant, entry_id: str) -> tuple[Suggestion, ...]:
        """Return the pending suggestions that name an entry."""
        return await self._store.suggestions_about(tenant, entry_id)

    async def reexamine(
        self,
        tenant: Tenant,
        entry: Entry,
        neighbours: Sequence[Neighbour],
        before: Sequence[Suggestion],
    ) -> int:
        """Judge the pending suggestions about an entry again after it changed, and propose what
        is new.

        `neighbours` include every entry that a suggestion of `before` names. A suggestion that
        still holds keeps its id; what no longer holds is withdrawn. Returns how many suggestions
        are new.
        """
        near = self._near_enough(neighbours)
        pairs = {
            _other(suggestion, entry): suggestion
            for suggestion in before
            if suggestion.type in PAIRS
        }
        links = await self._links(tenant, entry, near)
        ends = [
            (link.relation, end) for link in links if entry.id in link.ends for end in link.ends
        ]
        opposed = frozenset(
            end
            for relation, end in ends
            if relation in (RelationType.CONTRADICTS, RelationType.SUPERSEDES)
        )
        settled = SettledPairs(frozenset(end for _, end in ends), opposed, frozenset(pairs))
        proposals = propose_pairs(entry, near, settled, self._thresholds)
        found = {proposal.entry_ids[1]: proposal for proposal in proposals}
        moment = self._clock()
        revised = []
        for id_, suggestion in pairs.items():
            if (proposal := found.get(id_)) is not None and _judgement(proposal) != _judgement(
                suggestion
            ):
                created = suggestion.created_at if proposal.type is suggestion.type else moment
                revised.append(
                    replace(
                        suggestion,
                        type=proposal.type,
                        score=proposal.score,
                        reason=proposal.reason,
                        created_at=created,
                    )
                )
        withdrawn = [suggestion for id_, suggestion in pairs.items() if id_ not in found]
        withdrawn += [
            s for s in before if s.type in CLUSTERS and not self._holds_together(s, entry, near)
        ]
        added = self._suggestions([proposal for id_, proposal in found.items() if id_ not in pairs])
        count = 0
        if added or revised or withdrawn:
            count = await self._store.add_suggestions(
                tenant, added, revised=revised, withdrawn=withdrawn
            )
        clusters = self._suggestions(await self._cluster(tenant, entry, near, links))
        return count + (await self._store.add_suggestions(tenant, clusters) if clusters else 0)

    def _near_enough(self, neighbours: Sequence[Neighbour]) -> list[Neighbour]:
        return [neighbour for neighbour in neighbours if neighbour.score >= self._thresholds.least]

    async def _links(
        self, tenant: Tenant, entry: Entry, near: Sequence[Neighbour]
    ) -> tuple[Link, ...]:
        return await self._store.links_among(
            tenant, [entry.id, *(neighbour.entry.id for neighbour in near)]
        )

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
        known = await self._store.clusters_with(
            tenant, [entry.id, *(neighbour.entry.id for neighbour in near)]
        )
        cluster = propose_cluster(entry, near, generalized, known, self._thresholds)
        return [cluster] if cluster is not None else []

    def _holds_together(self, cluster: Suggestion, entry: Entry, near: Sequence[Neighbour]) -> bool:
        """Whether an entry is still as near as clusters need to half of the other members.

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

    async def pending(
        self, tenant: Tenant, types: Sequence[SuggestionType], limit: int
    ) -> tuple[tuple[Suggestion, ...], int, dict[str, Entry]]:
        """Undecided suggestions, best first, how many there are, and the entries they speak of."""
        found, total = await self._store.pending(tenant, types, limit)
        entries = await self._store.get_all(
            tenant, {id_ for suggestion in found for id_ in suggestion.entry_ids}
        )
        return found, total, entries

    async def accept(self, tenant: Tenant, reference: str) -> tuple[Suggestion, Link | None]:
        """A pair becomes a link; a cluster stays for `generalize`, which its caller is told to
        run.
        """
        suggestion = await self._undecided(tenant, reference)
        gone = (
            set(suggestion.entry_ids)
            - (await self._store.get_all(tenant, suggestion.entry_ids)).keys()
        )
        if gone:
            raise failure(
                SUGGESTION_NOT_FOUND,
                f"Suggestion '{suggestion.id}' is about entries that were deleted: "
                f"{', '.join(sorted(gone))}",
                hint="memory_delete with restore=true brings an entry back; "
                "rekall_reject_suggestion settles the suggestion.",
            )
        moment = self._clock()
        link = None
        if suggestion.type is not SuggestionType.GENERALIZE:
            relation = (
                RelationType.CONTRADICTS
                if suggestion.type is SuggestionType.CONTRADICTION
                else RelationType.RELATED
            )
            link = Link(
                self._ulids.next(moment),
                suggestion.entry_ids[0],
                suggestion.entry_ids[1],
                relation,
                moment,
            )
        return await self._decide(tenant, suggestion, Decision.ACCEPTED, link), link

    async def reject(self, tenant: Tenant, reference: str) -> Suggestion:
        return await self._decide(
            tenant, await self._undecided(tenant, reference), Decision.REJECTED, None
        )

    async def _undecided(self, tenant: Tenant, reference: str) -> Suggestion:
        suggestion = await self._store.suggestion(
            tenant, read_prefix(reference) or reference.strip()[:64]
        )
        if suggestion is None:
            raise failure(
                SUGGESTION_NOT_FOUND,
                f"Suggestion with ID '{reference.strip()[:64]}' not found",
                hint="rekall_suggest_links and rekall_suggest_generalize list what is pending.",
            )
        if suggestion.decision is not Decision.PENDING:
            raise _decided(suggestion)
        return suggestion

    async def _decide(
        self, tenant: Tenant, suggestion: Suggestion, decision: Decision, link: Link | None
    ) -> Suggestion:
        settled = await self._store.decide(tenant, suggestion.id, decision, self._clock(), link)
        if settled is None:  # somebody was faster
            raise _decided(await self._store.suggestion(tenant, suggestion.id) or suggestion)
        return settled


def _other(pair: Suggestion, entry: Entry) -> str:
    """The id of the entry that a pair names beside this one."""
    return next(id_ for id_ in pair.entry_ids if id_ != entry.id)


def _judgement(judged: Proposal | Suggestion) -> tuple[SuggestionType, float, str]:
    return judged.type, judged.score, judged.reason


def _decided(suggestion: Suggestion) -> Exception:
    return failure(
        SUGGESTION_NOT_FOUND,
        f"Suggestion '{suggestion.id}' was {suggestion.decision} already",
        hint="A decision is final.",
        status=suggestion.decision.value,
    )
