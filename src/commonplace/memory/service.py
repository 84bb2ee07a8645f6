"""The facade of memory: one method per use case, tenant first."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from commonplace.kernel.auth import Tenant
from commonplace.kernel.clock import Clock, utc_now
from commonplace.kernel.paging import ResultPage
from commonplace.memory.anchors import CodeAnchor
from commonplace.memory.code.protocol import AnchorChecker
from commonplace.memory.engine.generalize import draft_pattern
from commonplace.memory.engine.strength import rate_reliability
from commonplace.memory.errors import INVALID_GENERALIZATION, SELF_LINK_ERROR, failure
from commonplace.memory.housekeeping import BulkDecision, SuggestionFilter
from commonplace.memory.model import (
    CLUSTER_TYPES,
    PAIR_TYPES,
    Decision,
    Draft,
    Entry,
    EntryChanges,
    EntryFilter,
    EntryType,
    EntryUsage,
    Link,
    MemoryCounts,
    MemoryType,
    RelationType,
    Revision,
    Suggestion,
    consolidation_score,
    join_anchors,
    one_supersedes_other,
)
from commonplace.memory.policy import MemoryPolicy
from commonplace.memory.results import (
    AcceptResult,
    AddResult,
    CheckedCitation,
    EntryDetails,
    GeneralizeResult,
    LinkGraph,
    LinkResult,
    PendingSuggestions,
    SearchAnswer,
    StaleEntries,
    UpdateResult,
)
from commonplace.memory.retrieval.protocol import EntryIndex, SearchText
from commonplace.memory.store.protocol import MemoryStore
from commonplace.memory.ulid import Ulids
from commonplace.memory.use_cases.access_counter import AccessCounter
from commonplace.memory.use_cases.anchoring import AnchorReview
from commonplace.memory.use_cases.citations import CitationCheck
from commonplace.memory.use_cases.decisions import SuggestionDecisions
from commonplace.memory.use_cases.drafting import make_draft
from commonplace.memory.use_cases.entries import EntryWriter
from commonplace.memory.use_cases.health import examine
from commonplace.memory.use_cases.housekeeping import Housekeeping
from commonplace.memory.use_cases.lookup import EntryLookup
from commonplace.memory.use_cases.search import EntrySearch
from commonplace.memory.use_cases.stored_texts import stored_texts
from commonplace.memory.use_cases.suggestions import Suggestions
from commonplace.memory.use_cases.vectors import VectorBackfill

if TYPE_CHECKING:  # formats are costly to import and only commands use them
    from pathlib import Path

    from commonplace.memory.use_cases.transfer import (
        Exported,
        ExportFormat,
        Imported,
        ImportOptions,
    )


class MemoryService:
    """One service for all tenants."""

    def __init__(
        self,
        store: MemoryStore,
        index: EntryIndex,
        policy: MemoryPolicy | None = None,
        clock: Clock = utc_now,
        on_close: Callable[[], None] | None = None,
        checker: AnchorChecker | None = None,
    ) -> None:
        self.store = store
        self.index = index
        self.policy = policy or MemoryPolicy()
        self.clock = self._clock = clock
        self._ulids = Ulids()
        self._on_close = on_close
        self._checker = checker
        self.anchors = AnchorReview(store, checker)
        self._accesses = AccessCounter(store.record_use, store.record_use_now)
        self._lookup = EntryLookup(store)
        self.suggestions = Suggestions(store, index, self._ulids, clock, self.policy.thresholds)
        self._search = EntrySearch(store, index, self._lookup, clock)
        self.vectors = VectorBackfill(store, index, self.suggestions)
        self._writer = EntryWriter(
            store,
            index,
            self._lookup,
            self.suggestions,
            self.vectors,
            self.policy,
            self._ulids,
            clock,
        )
        self._decisions = SuggestionDecisions(store, self._writer.merge, self._ulids, clock)
        self.housekeeping = Housekeeping(
            store, index, self._lookup, self.new_id, clock, self.policy.secrets
        )

    def close(self) -> None:
        """Write the counted accesses, then close what memory was opened with.

        Background tasks end with their event loop.
        """
        self._accesses.close()
        self.index.close()
        if self._checker is not None:
            self._checker.close()
        if self._on_close is not None:
            self._on_close()

    # Entries

    def draft(
        self,
        type_: EntryType,
        title: str,
        content: str = "",
        tags: Sequence[str] = (),
        context: str = "",
        project: str | None = None,
        confidence: int = 3,
        memory_type: MemoryType = MemoryType.EPISODIC,
        anchors: Sequence[CodeAnchor] = (),
    ) -> Draft:
        """Clean the texts of an entry, check their sizes and screen them for secrets."""
        return make_draft(
            type_,
            title,
            content,
            tags,
            context,
            project,
            confidence,
            memory_type,
            anchors,
            secrets=self.policy.secrets,
        )

    async def add(self, tenant: Tenant, draft: Draft, stated: Collection[str] = ()) -> AddResult:
        """Save a draft; works without an embedding model.

        If an active entry has the same text, it is returned instead of a second one. It takes over
        the draft's tags, context and anchors, and confidence and memory type if they are in
        `stated`. Anchors without a hash get that of the code of today.
        """
        if draft.anchors:
            completed = await self.anchors.complete(tenant, draft.anchors)
            draft = replace(draft, anchors=join_anchors((), completed))
        added = await self._writer.add(tenant, draft, stated)
        if added.created:
            self.vectors.start(tenant)
        return added

    async def find(self, tenant: Tenant, reference: str, *, deleted: bool = False) -> Entry:
        """Return the entry with this id, or the only one whose id begins with it."""
        return await self._lookup.find(tenant, reference, deleted=deleted)

    async def show(self, tenant: Tenant, reference: str) -> EntryDetails:
        """Return an entry with everything about it; counts as an access."""
        entry = await self.find(tenant, reference)
        moment = self._clock()
        before = await self._usage(tenant, entry.id)
        self._accesses.record(tenant, entry.id, moment)
        usage = replace(before, access_count=before.access_count + 1, last_accessed=moment)
        consolidation = consolidation_score(
            usage.access_count, before.last_accessed or entry.created_at, moment
        )
        links = await self.store.links_of(tenant, entry.id)
        opposed = [
            end.id
            for end in (*links.outgoing, *links.incoming)
            if end.relation is RelationType.CONTRADICTS
        ]
        pending = await self.store.pending_contradictions(tenant, [entry.id])
        named = {id_ for suggestion in pending for id_ in suggestion.entry_ids} - {entry.id}
        others = await self.store.get_all(tenant, {*opposed, *named})
        settled = {other.id for other in others.values() if one_supersedes_other(entry, other)}
        return EntryDetails(
            entry,
            usage,
            await self.index.coverage(tenant, entry),
            consolidation,
            links.without(RelationType.CONTRADICTS, settled),
            await self._lookup.successor(tenant, entry),
            rate_reliability(entry, before, moment),
            (await self.anchors.compare(tenant, [entry], fresh=True)).get(entry.id, ()),
            tuple((s, others[id_]) for s in pending for id_ in s.entry_ids if id_ in others),
        )

    async def browse(
        self, tenant: Tenant, wanted: EntryFilter, limit: int, offset: int = 0
    ) -> ResultPage[Entry]:
        """Return a page of entries, newest first."""
        return await self.store.page(tenant, wanted.cleaned(), limit, offset)

    async def update(self, tenant: Tenant, reference: str, changes: EntryChanges) -> UpdateResult:
        """Correct an entry; its previous state goes to its history."""
        entry = await self.find(tenant, reference)
        if changes.anchors is not None:
            completed = await self.anchors.complete(tenant, changes.anchors, entry.anchors)
            changes = replace(changes, anchors=join_anchors((), completed))
        entry, changed = await self._writer.update(tenant, entry, changes)
        return UpdateResult(entry, changed, len(await self.history(tenant, entry.id)))

    async def delete(self, tenant: Tenant, reference: str) -> Entry:
        """Hide an entry from searches, lists and links until it is restored."""
        return await self._writer.delete(tenant, await self.find(tenant, reference))

    async def restore(self, tenant: Tenant, reference: str) -> Entry:
        """Bring a deleted entry back."""
        return await self._writer.restore(tenant, await self.find(tenant, reference, deleted=True))

    async def history(self, tenant: Tenant, entry_id: str) -> tuple[Revision, ...]:
        """Return the earlier states of an entry, oldest first."""
        return await self.store.history(tenant, entry_id)

    async def stale(self, tenant: Tenant, days: int | None, limit: int) -> StaleEntries:
        """Return the active entries that were neither read nor changed for some days."""
        await self._accesses.flush()
        days = days or self.policy.stale_days
        since = self._clock() - timedelta(days=days)
        entries, total = await self.store.unread_since(tenant, since, limit)
        usage = await self.store.usage(tenant, [entry.id for entry in entries])
        return StaleEntries(entries, total, usage, days)

    # Search and links

    async def search(
        self,
        tenant: Tenant,
        query: str,
        context: str,
        wanted: EntryFilter,
        limit: int,
        *,
        require_embeddings: bool = False,
    ) -> SearchAnswer:
        """Return the best entries for any text.

        With `require_embeddings`, a search that embeddings cannot take part in raises
        EMBEDDINGS_DISABLED or MODEL_NOT_AVAILABLE.
        """
        answer = await self._search.search(
            tenant,
            SearchText(query, context),
            wanted,
            limit,
            require_embeddings=require_embeddings,
        )
        self.vectors.start(tenant)
        return await self._with_anchors(tenant, answer)

    async def _with_anchors(self, tenant: Tenant, answer: SearchAnswer) -> SearchAnswer:
        """Add the states of anchors to hits, and leave stale ones out if the policy says so."""
        states = await self.anchors.compare(tenant, (hit.entry for hit in answer.hits), fresh=False)
        if not states:
            return answer
        hits = tuple(replace(hit, anchors=states.get(hit.entry.id, ())) for hit in answer.hits)
        if self.policy.stale_code == "mark":
            return replace(answer, hits=hits)
        kept = tuple(hit for hit in hits if not hit.is_stale)
        return replace(answer, hits=kept, withheld=len(hits) - len(kept))

    async def check_citations(self, tenant: Tenant, text: str) -> tuple[CheckedCitation, ...]:
        """Say of each citation in a text whether it names an entry that holds."""
        return await CitationCheck(self.store, self._lookup, self.anchors).check(tenant, text)

    async def find_related(self, tenant: Tenant, reference: str, depth: int) -> LinkGraph:
        """Return the links around an entry, up to `depth` steps away."""
        return await self._search.find_related(tenant, await self.find(tenant, reference), depth)

    async def link(
        self, tenant: Tenant, source: str, target: str, relation: RelationType
    ) -> LinkResult:
        """Link two entries; `supersedes` makes the target obsolete and point to the source."""
        first, second = await self.find(tenant, source), await self.find(tenant, target)
        if first.id == second.id:
            raise failure(
                SELF_LINK_ERROR,
                "An entry cannot be linked to itself",
                hint="Give two different entries.",
                id=first.id,
            )
        return LinkResult(await self._link(tenant, first, second, relation), first, second)

    async def generalize(
        self, tenant: Tenant, references: Sequence[str], title: str | None, *, dry_run: bool
    ) -> GeneralizeResult:
        """Add a semantic pattern drafted from several entries, linked as derived from each.

        A dry run saves nothing.
        """
        found = [await self.find(tenant, reference) for reference in references]
        sources = tuple({entry.id: entry for entry in found}.values())
        if len(sources) < 2:
            raise failure(
                INVALID_GENERALIZATION,
                "A generalisation needs at least two different entries.",
                hint="Give two or more ids.",
            )
        pattern = draft_pattern(sources, title)
        draft = self.draft(
            EntryType.PATTERN,
            pattern.title,
            pattern.content,
            pattern.tags,
            project=pattern.project,
            memory_type=MemoryType.SEMANTIC,
        )
        if dry_run:
            return GeneralizeResult(draft, sources, None)
        added = await self.add(tenant, draft)
        for source in sources if added.created else ():
            await self._link(tenant, added.entry, source, RelationType.DERIVED_FROM)
        return GeneralizeResult(draft, sources, added)

    # Suggestions

    async def pending_pairs(self, tenant: Tenant, limit: int) -> PendingSuggestions:
        """Return the undecided links and contradictions, best first."""
        return await self._decisions.pending(tenant, PAIR_TYPES, limit)

    async def pending_clusters(self, tenant: Tenant, limit: int) -> PendingSuggestions:
        """Return the undecided generalisations, best first."""
        return await self._decisions.pending(tenant, CLUSTER_TYPES, limit)

    async def accept_suggestion(self, tenant: Tenant, reference: str) -> AcceptResult:
        """Accept a suggestion; a pair becomes a link, duplicates become one entry."""
        return await self._decisions.accept(tenant, reference)

    async def decide_suggestions(
        self, tenant: Tenant, wanted: SuggestionFilter, decision: Decision, *, dry_run: bool
    ) -> BulkDecision:
        """Accept or reject the pending suggestions that a filter admits; a dry run counts them."""
        return await self._decisions.decide_all(tenant, wanted, decision, dry_run=dry_run)

    async def reject_suggestion(self, tenant: Tenant, reference: str) -> Suggestion:
        """Reject a suggestion, so that it is never proposed again."""
        return await self._decisions.reject(tenant, reference)

    # Import and export

    async def import_file(
        self, tenant: Tenant, path: Path, options: ImportOptions | None = None
    ) -> Imported:
        """Import a file or folder in one transaction; entries that exist are left as they are."""
        from commonplace.memory.use_cases.transfer import Importer

        importer = Importer(
            self.store, self.suggestions, self.policy.secrets, self.new_id, self._clock
        )
        imported = await importer.run(tenant, path, options)
        self.vectors.restart(tenant)
        return imported

    async def export_file(
        self,
        tenant: Tenant,
        path: Path,
        format_: ExportFormat,
        *,
        project: str | None = None,
        force: bool = False,
    ) -> Exported:
        """Write a snapshot of everything that is not deleted, or of one project."""
        from commonplace.memory.use_cases.transfer import export_entries

        return await export_entries(
            self.store, tenant, path, format_, now=self._clock(), project=project, force=force
        )

    # Operation

    async def counts(self, tenant: Tenant) -> MemoryCounts:
        """Count what a tenant has."""
        return await self.store.counts(tenant)

    async def prepare(self, seconds: float) -> str:
        """Wait for the embedding model; returns why it is unavailable, or an empty string."""
        return await self.index.prepare(seconds)

    async def embed_missing(self) -> int:
        """Embed the entries of every tenant that lack vectors; returns how many.

        Raises EMBEDDINGS_DISABLED or MODEL_NOT_AVAILABLE without a model.
        """
        return await self.vectors.fill_all()

    async def reindex(self) -> tuple[int, int]:
        """Rebuild the indexes of every tenant; returns how many entries and vectors."""
        return await self.vectors.rebuild()

    async def settle(self) -> None:
        """Wait until the passages of entries that were added are embedded."""
        await self.vectors.settle()

    async def flush_accesses(self) -> None:
        """Write the accesses that are still only counted in memory."""
        await self._accesses.flush()

    async def tenants(self) -> tuple[Tenant, ...]:
        """Return every tenant with entries, for operators only."""
        return await self.store.tenants()

    async def delete_tenant(self, tenant: Tenant) -> int:
        """Delete all entries of a tenant with what was derived from them; returns how many."""
        await self._accesses.flush()
        deleted = await self.store.delete_tenant(tenant)
        await self.index.forget_all(tenant)
        return deleted

    async def move_tenant(self, old: Tenant, new: Tenant) -> int:
        """Move all entries of a tenant to a new name; returns how many."""
        await self._accesses.flush()
        moved = await self.store.move_tenant(old, new)
        await self.index.forget_all(old)
        self.vectors.restart(new)
        return moved

    def doctor(self) -> list[dict[str, str]]:
        """Return health checks for the command line; runs an event loop of its own."""
        return asyncio.run(examine(self.store, self.index))

    def stored_texts(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield a reference to every entry of all tenants and its texts."""
        return stored_texts(self.store)

    async def _usage(self, tenant: Tenant, entry_id: str) -> EntryUsage:
        usage = (await self.store.usage(tenant, [entry_id])).get(entry_id, EntryUsage())
        waiting = self._accesses.get_unwritten(tenant, entry_id)
        if waiting is None:
            return usage
        count, last = waiting
        return replace(usage, access_count=usage.access_count + count, last_accessed=last)

    async def _link(
        self, tenant: Tenant, source: Entry, target: Entry, relation: RelationType
    ) -> Link:
        moment = self._clock()
        link = Link(self._ulids.next(moment), source.id, target.id, relation, moment)
        await self.store.add_link(tenant, link)
        return link

    def new_id(self) -> str:
        """Return an id for a new entry or link."""
        return self._ulids.next(self._clock())
