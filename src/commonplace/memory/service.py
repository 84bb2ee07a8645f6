"""The use cases of memory: add, search, show, link, list, correct, delete, relate.

Owns the rules; knows no database and no protocol.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Literal

from commonplace.kernel.auth import Tenant
from commonplace.kernel.clock import Clock, utc_now
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.secrets.detection import find_secrets, mask_secrets
from commonplace.memory.engine.generalize import draft_pattern
from commonplace.memory.engine.suggest import Neighbour, SimilarityCandidate, Thresholds, nearest
from commonplace.memory.errors import (
    ENTRY_NOT_FOUND,
    ENTRY_TOO_LARGE,
    INVALID_GENERALIZATION,
    SECRET_REFUSED,
    SELF_LINK_ERROR,
    failure,
)
from commonplace.memory.model import (
    Draft,
    Entry,
    EntryFilter,
    EntryPage,
    EntryStatus,
    EntryType,
    EntryUsage,
    Link,
    MemoryType,
    RelationType,
    Revision,
    changed_fields,
    consolidation_score,
    final_successor,
    merge_draft,
    one_supersedes_other,
)
from commonplace.memory.results import (
    AddResult,
    EntryDetails,
    EntryHit,
    GeneralizeResult,
    LinkGraph,
    SearchAnswer,
)
from commonplace.memory.retrieval.protocol import EntryIndex, EntryMatch, IndexMatches, SearchText
from commonplace.memory.store.protocol import MemoryStore
from commonplace.memory.text import (
    CONTENT_CHARACTERS,
    PROJECT_CHARACTERS,
    TAG_CHARACTERS,
    TAGS,
    TITLE_CHARACTERS,
    clean_context,
    clean_project,
    clean_tags,
    clean_text,
    clean_title,
)
from commonplace.memory.ulid import LENGTH, MINIMUM_PREFIX, Ulids, read_prefix
from commonplace.memory.use_cases.access_counter import AccessCounter
from commonplace.memory.use_cases.health import examine
from commonplace.memory.use_cases.suggestions import Suggestions

SIMILAR_SHOWN = 5
SIMILAR_SHARE = (
    2 / 3
)  # of what makes a link: nearer than this is worth telling whoever adds an entry
SIMILAR_READ = 10
SUNK = 0.5  # what is left of the score of an entry that is superseded or obsolete
CANDIDATES = 5  # as many times the limit are read, so that what sinks leaves room for what stays
GRAPH_DEPTH = 3
GRAPH_ENTRIES = 200
BACKFILL = 32
MODEL_SECONDS = 5.0  # how long a search that needs embeddings waits for their model


@dataclass(frozen=True, slots=True)
class MemoryPolicy:
    """The settings of memory."""

    thresholds: Thresholds = field(default_factory=Thresholds)
    secrets: Literal["refuse", "mask"] = "mask"
    language: Literal["en", "fr"] = "en"
    stale_days: int = 90


class MemoryService:
    """One service for all tenants; every method names the tenant first."""

    def __init__(
        self,
        store: MemoryStore,
        index: EntryIndex,
        policy: MemoryPolicy | None = None,
        clock: Clock = utc_now,
        on_close: Callable[[], None] | None = None,
    ) -> None:
        self.store = store
        self.policy = policy or MemoryPolicy()
        self._index = index
        self._clock = clock
        self._ulids = Ulids()
        self._uses = AccessCounter(store.record_use, store.record_use_now)
        self._on_close = on_close
        self.suggestions = Suggestions(store, self._ulids, clock, self.policy.thresholds)
        self._filled: set[Tenant] = set()
        self._filling: dict[Tenant, asyncio.Task[int]] = {}

    def close(self) -> None:
        """Write what is still counted, then close what memory was opened with.

        Background tasks end with their event loop.
        """
        self._uses.close()
        self._index.close()
        if self._on_close is not None:
            self._on_close()

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
    ) -> Draft:
        """Clean and bound an entry and mask its secrets, or refuse it."""
        content = clean_text(content)
        if not clean_text(title).strip():
            raise CommonplaceError(
                INVALID_ARGUMENT,
                "The title is empty.",
                hint=f"Give a title of 1 to {TITLE_CHARACTERS} characters that says what was "
                f"learned.",
                details={"field": "title"},
            )
        kept_context, truncated = clean_context(context)
        kept_tags = clean_tags(list(tags))
        project = clean_project(project)
        _check_size(content, kept_tags, project)
        masked: list[str] = []
        title, content, kept_context = (
            self._without_secrets(text, masked) for text in (title, content, kept_context)
        )
        kept_tags = tuple(self._without_secrets(tag, masked) for tag in kept_tags)
        project = self._without_secrets(project, masked) if project else None
        return Draft(
            type=type_,
            title=clean_title(title, content),
            content=content,
            tags=kept_tags,
            context=kept_context,
            project=project,
            confidence=confidence,
            memory_type=memory_type,
            context_truncated=truncated,
            masked=tuple(dict.fromkeys(masked)),
        )

    async def add(self, tenant: Tenant, draft: Draft, stated: Collection[str] = ()) -> AddResult:
        """Keep a draft. Never fails for want of a model.

        An active entry with the same text is returned instead of a second one; it takes over the
        draft's tags and context, and its confidence and memory type where they are among the
        `stated` fields.
        """
        moment = self._clock()
        entry = draft.entry(self._ulids.next(moment), moment)
        known = await self.store.add(tenant, entry)
        if known.active is not None:
            existing = await self.store.get(tenant, known.active) or entry
            merged = merge_draft(existing, draft, stated)
            updated = changed_fields(existing, merged)
            if updated:
                merged = replace(merged, updated_at=moment)
                await self._change(tenant, existing, merged, "add again")
            embedded, _ = await self._index.vectors_of(tenant, merged)
            return AddResult(
                merged, False, embedded, (), 0, draft.context_truncated, draft.masked, updated
            )
        embedded = bool(await self._index.embed(tenant, [entry]))
        near = await self._near(tenant, entry)
        created = await self.suggestions.propose(tenant, entry, near)
        self._fill_later(tenant)
        similar = tuple(
            n
            for n in near[:SIMILAR_SHOWN]
            if n.score >= SIMILAR_SHARE * self.policy.thresholds.link_at(n.semantic)
        )
        retired = await self.store.get(tenant, known.obsolete) if known.obsolete else None
        retired_for = await self._successor(tenant, retired) if retired else None
        return AddResult(
            entry,
            True,
            embedded,
            similar,
            created,
            draft.context_truncated,
            draft.masked,
            (),
            retired,
            retired_for,
        )

    async def search(
        self,
        tenant: Tenant,
        query: str,
        context: str,
        wanted: EntryFilter,
        limit: int,
        *,
        need_meaning: bool = False,
    ) -> SearchAnswer:
        """Any text is a valid question. Reads only: accesses are counted when an entry is shown.

        With `need_meaning` a search that embeddings cannot take part in fails with
        EMBEDDINGS_DISABLED or MODEL_NOT_AVAILABLE.
        """
        if need_meaning:
            await self._index.prepare(MODEL_SECONDS)
            self._index.require()
        query, (context, _) = clean_text(query), clean_context(context)
        found: IndexMatches = await self._index.search(
            tenant, SearchText(query, context), wanted.cleaned(), limit * CANDIDATES
        )
        ids = [match.entry_id for match in found.matches]
        entries, links = await asyncio.gather(
            self.store.get_all(tenant, ids), self.store.links_among(tenant, ids)
        )
        against = [link for link in links if link.relation is RelationType.CONTRADICTS]
        others = {e.superseded_by for e in entries.values() if e.superseded_by} | {
            id_ for link in against for id_ in link.ends
        }
        known = await self._with_successors(
            tenant, entries | await self.store.get_all(tenant, others - entries.keys())
        )
        hits = [
            _judge(entries[match.entry_id], match, known, against)
            for match in found.matches
            if match.entry_id in entries
        ]
        hits.sort(key=lambda hit: (-hit.score, hit.entry.id))
        self._fill_later(tenant)
        return SearchAnswer(tuple(hits[:limit]), found.total, found.semantic, self._index.loading)

    async def show(self, tenant: Tenant, reference: str) -> EntryDetails:
        """The whole entry; counts as an access, which its own answer includes."""
        entry = await self.find(tenant, reference)
        moment = self._clock()
        before = await self._usage(tenant, entry.id)
        self._uses.record(tenant, entry.id, moment)
        summary, context = await self._index.vectors_of(tenant, entry)
        usage = EntryUsage(before.access_count + 1, moment, summary, context)
        consolidation = consolidation_score(
            usage.access_count, before.last_accessed or entry.created_at, moment
        )
        links, successor = (
            await self.store.links_of(tenant, entry.id),
            await self._successor(tenant, entry),
        )
        opposed = [
            end.id
            for end in (*links.outgoing, *links.incoming)
            if end.relation is RelationType.CONTRADICTS
        ]
        others = await self.store.get_all(tenant, opposed)
        replaced = {other.id for other in others.values() if one_supersedes_other(entry, other)}
        return EntryDetails(
            entry,
            usage,
            consolidation,
            links.without(RelationType.CONTRADICTS, replaced),
            successor,
        )

    async def find(self, tenant: Tenant, reference: str, *, deleted: bool = False) -> Entry:
        """The entry with this id, or the only one whose id begins with it."""
        prefix = read_prefix(reference)
        shown = reference.strip()[:LENGTH]  # the caller's own text, not what it was read as
        if prefix is None:
            short = len(reference.strip()) < MINIMUM_PREFIX
            hint = (
                f"Give at least {MINIMUM_PREFIX} characters of the id."
                if short
                else "rekall_search shows ids."
            )
            raise failure(
                ENTRY_NOT_FOUND, f"Entry with ID '{shown}' not found", hint=hint, id=shown
            )
        if len(prefix) == LENGTH:
            entry = await self.store.get(tenant, prefix, deleted=deleted)
            if entry is not None:
                return entry
        matches = await self.store.with_prefix(tenant, prefix, 6, deleted=deleted)
        if len(matches) == 1:
            return matches[0]
        if matches:
            candidates = [{"id": entry.id, "title": entry.title} for entry in matches[:5]]
            raise failure(
                ENTRY_NOT_FOUND,
                f"'{shown}' begins the ids of several entries",
                hint="Give more characters: "
                + ", ".join(f"{entry.id} ({entry.title[:40]})" for entry in matches[:5]),
                id=shown,
                candidates=candidates,
            )
        raise failure(
            ENTRY_NOT_FOUND,
            f"Entry with ID '{shown}' not found",
            hint="rekall_search shows ids.",
            id=shown,
        )

    async def link(
        self, tenant: Tenant, source: str, target: str, relation: RelationType
    ) -> tuple[Link, Entry, Entry]:
        """Relate two entries. `supersedes` makes the target obsolete and point to the source."""
        first, second = await self.find(tenant, source), await self.find(tenant, target)
        if first.id == second.id:
            raise failure(
                SELF_LINK_ERROR,
                "An entry cannot be linked to itself",
                hint="Give two different entries.",
                id=first.id,
            )
        moment = self._clock()
        link = Link(self._ulids.next(moment), first.id, second.id, relation, moment)
        await self.store.add_link(tenant, link)
        return link, first, second

    async def browse(
        self, tenant: Tenant, wanted: EntryFilter, limit: int, offset: int = 0
    ) -> EntryPage:
        return await self.store.page(tenant, wanted.cleaned(), limit, offset)

    async def update(
        self, tenant: Tenant, reference: str, changes: dict[str, object]
    ) -> tuple[Entry, tuple[str, ...]]:
        """Correct an entry: any field of a draft, or its status; returns it and which of the
        fields changed.

        What it was is kept in its history. Where nothing changed, nothing is written.
        """
        entry = await self.find(tenant, reference)
        draft = self.draft(
            EntryType(str(changes.get("type", entry.type))),
            str(changes.get("title", entry.title)),
            str(changes.get("content", entry.content)),
            _strings(changes.get("tags", entry.tags)),
            entry.context,
            entry.project if "project" not in changes else str(changes["project"] or "") or None,
            int(str(changes.get("confidence", entry.confidence))),
            MemoryType(str(changes.get("memory_type", entry.memory_type))),
        )
        status = EntryStatus(str(changes.get("status", entry.status)))
        changed = replace(
            draft.entry(entry.id, entry.created_at),
            updated_at=entry.updated_at,
            status=status,
            superseded_by=entry.superseded_by,
        )
        if status is EntryStatus.ACTIVE and entry.status is EntryStatus.OBSOLETE:
            changed = replace(changed, superseded_by=None)
        fields = tuple(name for name in changes if getattr(changed, name) != getattr(entry, name))
        if changed == entry:
            return entry, fields
        changed = replace(changed, updated_at=self._clock())
        await self._change(tenant, entry, changed, "update")
        return changed, fields

    async def _change(self, tenant: Tenant, before: Entry, after: Entry, action: str) -> None:
        """Write a changed entry; embed it and judge the suggestions about it again where what it
        says changed.
        """
        await self.store.replace(tenant, after, action)
        said_before, says = ((e.text, e.context, e.project, e.type) for e in (before, after))
        if said_before != says:
            await self._index.forget(tenant, [before])
            await self._index.embed(tenant, [after])
        if said_before != says or before.memory_type is not after.memory_type:
            pending = await self.suggestions.about(tenant, after.id)
            partners = {id_ for suggestion in pending for id_ in suggestion.entry_ids} - {after.id}
            named = await self.store.get_all(tenant, partners)
            near = await self._near(tenant, after, tuple(named.values()))
            await self.suggestions.reexamine(
                tenant,
                after,
                near,
                [s for s in pending if named.keys() | {after.id} >= {*s.entry_ids}],
            )

    async def delete(self, tenant: Tenant, reference: str) -> Entry:
        """Out of sight: searches, lists and links pass it by until it is restored."""
        entry = await self.find(tenant, reference)
        moment = self._clock()
        await self.store.replace(
            tenant, replace(entry, deleted_at=moment, updated_at=moment), "delete"
        )
        await self._index.forget(tenant, [entry])
        return entry

    async def restore(self, tenant: Tenant, reference: str) -> Entry:
        entry = await self.find(tenant, reference, deleted=True)
        if entry.deleted_at is None:
            return entry
        restored = replace(entry, deleted_at=None, updated_at=self._clock())
        await self.store.replace(tenant, restored, "restore")
        await self._index.embed(tenant, [restored])
        return restored

    async def generalize(
        self, tenant: Tenant, references: Sequence[str], title: str | None, *, dry_run: bool
    ) -> GeneralizeResult:
        """A semantic pattern drawn from two or more entries, linked to each as derived from it;
        a dry run keeps nothing.
        """
        found = [await self.find(tenant, reference) for reference in references]
        sources = tuple({entry.id: entry for entry in found}.values())
        if len(sources) < 2:
            raise failure(
                INVALID_GENERALIZATION,
                "A generalisation needs at least two different entries.",
                hint="Give two or more ids.",
            )
        drawn = draft_pattern(sources, title)
        draft = self.draft(
            EntryType.PATTERN,
            drawn.title,
            drawn.content,
            drawn.tags,
            project=drawn.project,
            memory_type=MemoryType.SEMANTIC,
        )
        if dry_run:
            return GeneralizeResult(draft, sources, None)
        added = await self.add(tenant, draft)
        for source in sources if added.created else ():
            moment = self._clock()
            await self.store.add_link(
                tenant,
                Link(
                    self._ulids.next(moment),
                    added.entry.id,
                    source.id,
                    RelationType.DERIVED_FROM,
                    moment,
                ),
            )
        return GeneralizeResult(draft, sources, added)

    async def history(self, tenant: Tenant, entry_id: str) -> tuple[Revision, ...]:
        return await self.store.history(tenant, entry_id)

    async def related(self, tenant: Tenant, reference: str, depth: int) -> LinkGraph:
        """The links around an entry, breadth first, up to `depth` steps and a bounded number of
        entries.
        """
        root = await self.find(tenant, reference)
        distance = {root.id: 0}
        links: dict[str, Link] = {}
        frontier: set[str] = {root.id}
        truncated = False
        for step in range(1, depth + 1):
            found = await self.store.links_among(tenant, frontier)
            links.update({link.id: link for link in found})
            frontier = {
                end for link in found for end in (link.source_id, link.target_id)
            } - distance.keys()
            if len(distance) + len(frontier) > GRAPH_ENTRIES:
                frontier, truncated = set(sorted(frontier)[: GRAPH_ENTRIES - len(distance)]), True
            distance.update(dict.fromkeys(frontier, step))
            if not frontier:
                break
        entries = await self.store.get_all(tenant, distance)
        kept = tuple(
            link
            for link in links.values()
            if link.source_id in entries and link.target_id in entries
        )
        kept = tuple(link for link in kept if not _superseded_contradiction(link, entries))
        return LinkGraph(
            root,
            {id_: far for id_, far in distance.items() if id_ in entries},
            entries,
            kept,
            truncated,
        )

    async def stale(
        self, tenant: Tenant, days: int | None, limit: int
    ) -> tuple[tuple[Entry, ...], int, dict[str, EntryUsage]]:
        """Active entries that nobody read or wrote for that long, longest first."""
        await self._uses.flush()
        entries, total = await self.store.unread_since(
            tenant, self._clock() - timedelta(days=days or self.policy.stale_days), limit
        )
        return entries, total, await self.store.usage(tenant, [entry.id for entry in entries])

    async def fill_vectors(self, tenant: Tenant) -> int:
        """Compute the vectors that are missing, and what they let us suggest; returns how many
        entries got theirs.
        """
        missing = await self._index.missing(tenant, await self.store.everything(tenant))
        done = 0
        for start in range(0, len(missing), BACKFILL):
            batch = missing[start : start + BACKFILL]
            embedded = await self._index.embed(tenant, batch)
            for entry in batch:
                if entry.id in embedded:
                    await self.suggestions.propose(tenant, entry, await self._near(tenant, entry))
            done += len(embedded)
            if len(embedded) < len(batch):  # the model went away; the next call begins again
                return done
        self._filled.add(tenant)
        return done

    async def prepare(self, seconds: float) -> str:
        """Wait for the model as long as allowed; returns why there is none, or nothing when
        vectors take part from now on.
        """
        return await self._index.prepare(seconds)

    async def embed_missing(self) -> int:
        """Every tenant's missing vectors, now.

        Only a model can do it: EMBEDDINGS_DISABLED or MODEL_NOT_AVAILABLE without one.
        """
        self._index.require()
        return sum([await self.fill_vectors(tenant) for tenant in await self.store.tenants()])

    async def reindex(self) -> tuple[int, int]:
        """Make everything derived anew, for every tenant: the words of all entries, and their
        vectors where there is a model.
        """
        entries = vectors = 0
        for tenant in await self.store.tenants():
            entries += await self.store.reindex(tenant)
            if self._index.ready():
                await self._index.forget_all(tenant)
                vectors += await self.fill_vectors(tenant)
        return entries, vectors

    def doctor(self) -> list[dict[str, str]]:
        """What an operator should know. For the command line: it runs an event loop of its own."""
        return asyncio.run(examine(self.store, self._index))

    def without_secrets(self, entry: Entry) -> Entry:
        """An entry from elsewhere as the setting wants it: masked, or refused."""
        masked: list[str] = []
        title, content, context = (
            self._without_secrets(text, masked)
            for text in (entry.title, entry.content, entry.context)
        )
        tags = tuple(self._without_secrets(tag, masked) for tag in entry.tags)
        project = self._without_secrets(entry.project, masked) if entry.project else None
        if not masked:
            return entry
        return replace(
            entry,
            title=clean_title(title, content),
            content=content,
            context=context,
            tags=clean_tags(tags),
            project=project,
        )

    async def suggest_for(
        self, tenant: Tenant, entries: Sequence[Entry], progress: Callable[[str, int, int], None]
    ) -> int:
        """What can be suggested about entries that came in together."""
        created = 0
        for number, entry in enumerate(entries, start=1):
            created += await self.suggestions.propose(
                tenant, entry, await self._near(tenant, entry)
            )
            progress("suggest", number, len(entries))
        return created

    async def move_tenant(self, old: Tenant, new: Tenant) -> int:
        """All of a tenant's entries under another name."""
        await self._uses.flush()
        moved = await self.store.move_tenant(old, new)
        await self._index.forget_all(old)
        self._filled.discard(new)
        return moved

    def now(self) -> datetime:
        return self._clock()

    def new_id(self) -> str:
        return self._ulids.next(self._clock())

    async def _usage(self, tenant: Tenant, entry_id: str) -> EntryUsage:
        usage = (await self.store.usage(tenant, [entry_id])).get(entry_id, EntryUsage())
        waiting = self._uses.waiting(tenant, entry_id)
        if waiting is None:
            return usage
        return replace(
            usage, access_count=usage.access_count + waiting[0], last_accessed=waiting[1]
        )

    async def _successor(self, tenant: Tenant, entry: Entry) -> Entry | None:
        """The active entry at the end of an entry's chain of successors."""
        return final_successor(entry, await self._with_successors(tenant, {entry.id: entry}))

    async def _with_successors(self, tenant: Tenant, entries: dict[str, Entry]) -> dict[str, Entry]:
        """These entries and all that superseded them, directly or through others; chains are
        short and never circles.
        """
        known, ahead = dict(entries), entries
        while (
            missing := {e.superseded_by for e in ahead.values() if e.superseded_by} - known.keys()
        ):
            ahead = await self.store.get_all(tenant, missing)
            known |= ahead
        return known

    async def _near(
        self, tenant: Tenant, entry: Entry, also: Sequence[Entry] = ()
    ) -> list[Neighbour]:
        """Neighbours, and the entries in `also`, nearest first: by the cosine of vectors where
        the entry has one, else of words.
        """
        similar = await self._index.similar(tenant, entry, SIMILAR_READ, also)
        if not similar.matches:
            return []
        entries = await self.store.get_all(tenant, [match.entry_id for match in similar.matches])
        candidates = [
            SimilarityCandidate(entries[m.entry_id], m.semantic, m.words)
            for m in similar.matches
            if m.entry_id in entries
        ]
        return nearest(entry, candidates, similar.rarity, self.policy.thresholds.least)

    def _fill_later(self, tenant: Tenant) -> None:
        """Entries kept while the model was away get their vectors in the background, once per
        process and tenant.
        """
        if tenant in self._filled or not self._index.ready():
            return
        running = self._filling.get(tenant)
        if running is None or running.done():
            self._filling[tenant] = asyncio.create_task(
                self.fill_vectors(tenant), name="memory-vectors"
            )

    def _without_secrets(self, text: str, masked: list[str]) -> str:
        secrets = find_secrets(text)
        if not secrets:
            return text
        kinds = list(dict.fromkeys(secret.kind for secret in secrets))
        if self.policy.secrets == "refuse":
            raise failure(
                SECRET_REFUSED,
                f"The text holds what looks like a credential ({', '.join(kinds)}); nothing was "
                f"kept.",
                hint="Remove it and add the entry again, or set memory.secrets to mask.",
                kinds=kinds,
            )
        masked += kinds
        return mask_secrets(text, secrets)


def _judge(
    entry: Entry, match: EntryMatch, known: dict[str, Entry], against: Iterable[Link]
) -> EntryHit:
    sunk = entry.superseded_by is not None or entry.status is EntryStatus.OBSOLETE
    others = [
        id_
        for link in against
        if entry.id in link.ends
        for id_ in link.ends
        if id_ != entry.id and id_ in known
    ]
    live = [
        id_
        for id_ in others
        if known[id_].status is EntryStatus.ACTIVE and not one_supersedes_other(entry, known[id_])
    ]
    score = round(max(0.0, min(1.0, match.score * (SUNK if sunk else 1.0))), 4)
    return EntryHit(entry, score, match, final_successor(entry, known), tuple(dict.fromkeys(live)))


def _superseded_contradiction(link: Link, entries: Mapping[str, Entry]) -> bool:
    return link.relation is RelationType.CONTRADICTS and one_supersedes_other(
        *(entries[id_] for id_ in link.ends)
    )


def _check_size(content: str, tags: Sequence[str], project: str | None) -> None:
    sizes = (
        ("content", len(content), CONTENT_CHARACTERS, "characters"),
        ("tags", len(tags), TAGS, "tags"),
        ("tags", max(map(len, tags), default=0), TAG_CHARACTERS, "characters a tag"),
        ("project", len(project or ""), PROJECT_CHARACTERS, "characters"),
    )
    for name, size, most, unit in sizes:
        if size > most:
            message = f"{name} has {size} {unit}; at most {most} are kept."
            raise failure(
                ENTRY_TOO_LARGE,
                message,
                hint="Shorten it, or keep the long text as a file.",
                field=name,
                size=size,
                limit=most,
            )


def _strings(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, (list, tuple)) else []
