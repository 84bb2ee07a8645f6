"""List pending suggestions, and accept or reject them once, one by one or many at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from commonplace.kernel.auth import Tenant
from commonplace.kernel.clock import Clock
from commonplace.kernel.errors import CommonplaceError
from commonplace.memory.errors import SUGGESTION_NOT_FOUND, failure
from commonplace.memory.housekeeping import (
    MOST_DECIDED,
    BulkDecision,
    Merge,
    SuggestionFilter,
)
from commonplace.memory.model import Decision, Link, RelationType, Suggestion, SuggestionType
from commonplace.memory.results import AcceptResult, PendingSuggestions
from commonplace.memory.store.protocol import MemoryStore
from commonplace.memory.text import clean_project
from commonplace.memory.ulid import Ulids, read_prefix

REFERENCE_CHARACTERS = 64
SHOWN = 50  # suggestions that a dry run names
_RELATIONS = {
    SuggestionType.LINK: RelationType.RELATED,
    SuggestionType.CONTRADICTION: RelationType.CONTRADICTS,
}


class SuggestionDecisions:
    """What people and agents decide about suggestions."""

    def __init__(
        self,
        store: MemoryStore,
        merge: Callable[[Tenant, str], Awaitable[Merge | None]],
        ulids: Ulids,
        clock: Clock,
    ) -> None:
        self._store = store
        self._merge = merge
        self._ulids = ulids
        self._clock = clock

    async def pending(
        self, tenant: Tenant, types: Sequence[SuggestionType], limit: int
    ) -> PendingSuggestions:
        """Return the undecided suggestions of some types, best first, with their entries."""
        suggestions, total = await self._store.pending(tenant, types, limit)
        ids = {id_ for suggestion in suggestions for id_ in suggestion.entry_ids}
        return PendingSuggestions(suggestions, total, await self._store.get_all(tenant, ids))

    async def accept(self, tenant: Tenant, reference: str) -> AcceptResult:
        """Link the entries of a pair, or merge duplicates.

        A cluster is only marked, and `generalize` drafts it.
        """
        suggestion = await self._find_pending(tenant, reference)
        present = await self._store.get_all(tenant, suggestion.entry_ids)
        if deleted_ids := set(suggestion.entry_ids) - present.keys():
            raise failure(
                SUGGESTION_NOT_FOUND,
                f"Suggestion '{suggestion.id}' is about deleted entries: "
                f"{', '.join(sorted(deleted_ids))}",
                hint="Restore them with memory_delete and restore=true, or reject the suggestion "
                "with rekall_reject_suggestion.",
            )
        if suggestion.type is SuggestionType.DUPLICATE:
            merge = await self._merge(tenant, suggestion.id)
            if merge is None:
                raise await self._find_faster(tenant, suggestion)
            return AcceptResult(replace(suggestion, decision=Decision.ACCEPTED), merge.link, merge)
        link = self._link_of(suggestion)
        return AcceptResult(await self._decide(tenant, suggestion, Decision.ACCEPTED, link), link)

    def _link_of(self, suggestion: Suggestion) -> Link | None:
        """Return the link that a suggestion becomes."""
        relation = _RELATIONS.get(suggestion.type)
        if relation is None:
            return None
        moment = self._clock()
        source_id, target_id = suggestion.entry_ids
        return Link(self._ulids.next(moment), source_id, target_id, relation, moment)

    async def decide_all(
        self, tenant: Tenant, wanted: SuggestionFilter, decision: Decision, *, dry_run: bool
    ) -> BulkDecision:
        """Decide the best of the pending suggestions that a filter admits; a dry run counts them.

        Accepted links are saved before duplicates are merged, so that a merged entry takes them
        over. Clusters are marked as accepted.
        """
        wanted = replace(wanted, project=clean_project(wanted.project))
        store = self._store.housekeeping
        found, matched = await store.matching(tenant, wanted, MOST_DECIDED)
        if dry_run or not found:
            shown = found[:SHOWN]
            ids = {id_ for suggestion in shown for id_ in suggestion.entry_ids}
            entries = await self._store.get_all(tenant, ids)
            return BulkDecision(decision, matched, dry_run=dry_run, shown=shown, entries=entries)
        accepts = decision is Decision.ACCEPTED
        merged_later = [s for s in found if accepts and s.type is SuggestionType.DUPLICATE]
        links = {
            suggestion.id: self._link_of(suggestion) if accepts else None
            for suggestion in found
            if suggestion not in merged_later
        }
        decided = list(await store.decide_all(tenant, links, decision, self._clock()))
        merges: list[Merge] = []
        refused: dict[str, str] = {}
        for suggestion in merged_later:
            try:
                merge = await self._merge(tenant, suggestion.id)
            except CommonplaceError as error:
                refused[suggestion.id] = error.message
                continue
            if merge is not None:
                merges.append(merge)
                decided.append(replace(suggestion, decision=decision))
        saved = tuple(link for s in decided if (link := links.get(s.id)) is not None)
        return BulkDecision(
            decision, matched, tuple(decided), len(found), saved, tuple(merges), refused
        )

    async def reject(self, tenant: Tenant, reference: str) -> Suggestion:
        """Reject a suggestion, so that it is never proposed again."""
        suggestion = await self._find_pending(tenant, reference)
        return await self._decide(tenant, suggestion, Decision.REJECTED, None)

    async def _find_pending(self, tenant: Tenant, reference: str) -> Suggestion:
        quoted = reference.strip()[:REFERENCE_CHARACTERS]
        suggestion = await self._store.suggestion(tenant, read_prefix(reference) or quoted)
        if suggestion is None:
            raise failure(
                SUGGESTION_NOT_FOUND,
                f"Suggestion with ID '{quoted}' not found",
                hint="List pending suggestions with rekall_suggest_links or "
                "rekall_suggest_generalize.",
            )
        if suggestion.decision is not Decision.PENDING:
            raise _already_decided(suggestion)
        return suggestion

    async def _decide(
        self, tenant: Tenant, suggestion: Suggestion, decision: Decision, link: Link | None
    ) -> Suggestion:
        decided = await self._store.decide(tenant, suggestion.id, decision, self._clock(), link)
        if decided is None:
            raise await self._find_faster(tenant, suggestion)
        return decided

    async def _find_faster(self, tenant: Tenant, suggestion: Suggestion) -> Exception:
        """Return the error that another caller was faster."""
        return _already_decided(await self._store.suggestion(tenant, suggestion.id) or suggestion)


def _already_decided(suggestion: Suggestion) -> Exception:
    return failure(
        SUGGESTION_NOT_FOUND,
        f"Suggestion '{suggestion.id}' was already {suggestion.decision}",
        hint="A decision is final.",
        status=suggestion.decision.value,
    )
