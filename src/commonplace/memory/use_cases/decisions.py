"""List pending suggestions, and accept or reject them once."""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.kernel.auth import Tenant
from commonplace.kernel.clock import Clock
from commonplace.memory.errors import SUGGESTION_NOT_FOUND, failure
from commonplace.memory.model import Decision, Link, RelationType, Suggestion, SuggestionType
from commonplace.memory.results import AcceptResult, PendingSuggestions
from commonplace.memory.store.protocol import MemoryStore
from commonplace.memory.ulid import Ulids, read_prefix

REFERENCE_CHARACTERS = 64
_RELATIONS = {
    SuggestionType.LINK: RelationType.RELATED,
    SuggestionType.CONTRADICTION: RelationType.CONTRADICTS,
}


class SuggestionDecisions:
    """What people and agents decide about suggestions."""

    def __init__(self, store: MemoryStore, ulids: Ulids, clock: Clock) -> None:
        self._store = store
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
        """Link the entries of a pair; a cluster is only marked, and `generalize` drafts it."""
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
        link = None
        if suggestion.type is not SuggestionType.GENERALIZE:
            moment = self._clock()
            source_id, target_id = suggestion.entry_ids
            relation = _RELATIONS[suggestion.type]
            link = Link(self._ulids.next(moment), source_id, target_id, relation, moment)
        return AcceptResult(await self._decide(tenant, suggestion, Decision.ACCEPTED, link), link)

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
        if decided is None:  # another caller was faster
            raise _already_decided(
                await self._store.suggestion(tenant, suggestion.id) or suggestion
            )
        return decided


def _already_decided(suggestion: Suggestion) -> Exception:
    return failure(
        SUGGESTION_NOT_FOUND,
        f"Suggestion '{suggestion.id}' was already {suggestion.decision}",
        hint="A decision is final.",
        status=suggestion.decision.value,
    )
