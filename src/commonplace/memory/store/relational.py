"""Memory over named SQL: one implementation of the `Store`, whichever database holds the tables.

`sqlite.py` and `postgres.py` say how a unit of work runs; their `.sql` files define the same
statements in two dialects. The words of an entry are indexed in its own transaction.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Protocol, TypeVar

from commonplace.kernel.auth import Tenant
from commonplace.kernel.clock import iso
from commonplace.memory.engine.documents import document, document_key, partition
from commonplace.memory.errors import DUPLICATE_ENTRY, LINK_ALREADY_EXISTS, failure
from commonplace.memory.model import (
    Decision,
    Entry,
    EntryFilter,
    EntryPage,
    EntryStatus,
    EntryUsage,
    Link,
    MemoryCounts,
    Neighbourhood,
    Revision,
    Suggestion,
    SuggestionType,
)
from commonplace.memory.store.protocol import BulkAddResult, SameText
from commonplace.memory.store.rows import (
    as_json,
    entry_row,
    link_row,
    read_entry,
    read_link,
    read_moment,
    read_suggestion,
)
from commonplace.memory.store.tenant_rows import TenantRows
from commonplace.search.model import IndexDocument, Partition
from commonplace.storage.relational import Connection

Result = TypeVar("Result")
Uses = Mapping[tuple[Tenant, str], tuple[int, datetime]]
LOCK_SECONDS = (
    10  # several processes may share the database: rather wait than refuse what was learned
)
BULK_SECONDS = 60  # an import or a rebuild holds the lock for long, so it waits for it as long
MOVED = (
    "entries",
    "tags",
    "usage",
    "links",
    "suggestions",
    "suggestion_entries",
    "history",
)  # tables with a tenant


class PostingWriter(Protocol):
    """The words of entries, written in the entries' own transaction."""

    def put(
        self, connection: Any, partition: Partition, documents: Iterable[IndexDocument]
    ) -> None: ...

    def put_soon(self, connection: Any, partition: Partition, document: IndexDocument) -> None: ...

    def remove(self, connection: Any, partition: Partition, keys: Iterable[str]) -> None: ...

    def clear(self, connection: Any, partition: Partition) -> None: ...

    def count(self, connection: Any, partition: Partition) -> int: ...


class _TakenBackError(Exception):
    """Rolls a dry run back and carries what it would have done."""

    def __init__(self, added: BulkAddResult) -> None:
        super().__init__("dry run")
        self.added = added


class SqlStore(ABC):
    """The `Store`, but for how its units of work run."""

    def __init__(self, queries: Mapping[str, str], postings: PostingWriter) -> None:
        self._queries = queries
        self._postings = postings

    @abstractmethod
    async def _look(self, work: Callable[[Connection], Result]) -> Result:
        """Run a bounded read."""

    @abstractmethod
    async def _scan(self, work: Callable[[Connection], Result]) -> Result:
        """Run a read of several statements, or of many rows, in one snapshot."""

    @abstractmethod
    async def _commit(
        self, work: Callable[[Connection], Result], tenant: Tenant, seconds: float = LOCK_SECONDS
    ) -> Result:
        """Run a change, alone among the changes of this tenant; waits at most so long for its
        turn.
        """

    @abstractmethod
    async def _count(self, work: Callable[[Connection], Result]) -> Result:
        """Run a change of counters only, which needs no turn."""

    @abstractmethod
    def _count_now(self, work: Callable[[Connection], Result]) -> Result:
        """The same without an event loop."""

    def _rows(self, connection: Connection, tenant: Tenant) -> TenantRows:
        return TenantRows(connection, self._queries, tenant)

    # -- entries

    async def add(self, tenant: Tenant, entry: Entry) -> SameText:
        indexed = document(entry)  # analysed here, not where others wait

        def work(connection: Connection) -> SameText:
            rows = self._rows(connection, tenant)
            known = rows.text_known(entry)
            if known.active is None:
                rows.insert(entry)
                self._postings.put_soon(connection, partition(tenant), indexed)
            return known

        return await self._commit(work, tenant)

    async def add_all(
        self,
        tenant: Tenant,
        entries: Sequence[Entry],
        links: Sequence[Link],
        usage: Mapping[str, EntryUsage],
        *,
        told: Collection[str] = (),
        dry_run: bool = False,
    ) -> BulkAddResult:
        documents = {entry.id: document(entry) for entry in entries}

        def work(connection: Connection) -> BulkAddResult:
            rows = self._rows(connection, tenant)
            known: dict[str, str] = {}
            kept: list[Entry] = []
            for entry in entries:
                existing = rows.imported_before(entry)
                if existing is not None:
                    known[entry.id] = existing
                else:
                    rows.insert(entry)
                    kept.append(entry)
            self._postings.put(
                connection, partition(tenant), [documents[entry.id] for entry in kept]
            )
            settled = {entry.id for entry in kept if entry.id in told}
            made = sum(rows.import_link(link, known, settled) for link in links)
            for entry in kept:
                if entry.superseded_by in known:
                    rows.put(
                        "update_entry",
                        entry_row(tenant, replace(entry, superseded_by=known[entry.superseded_by])),
                    )
                used = usage.get(entry.id)
                if used is not None and used.access_count and used.last_accessed:
                    rows.count_use(entry.id, used.access_count, used.last_accessed)
            added = BulkAddResult(len(kept), made, known)
            if dry_run:
                raise _TakenBackError(added)
            return added

        try:
            return await self._commit(work, tenant, BULK_SECONDS)
        except _TakenBackError as taken_back:
            return taken_back.added

    async def replace(self, tenant: Tenant, entry: Entry, action: str) -> None:
        indexed = document(entry)

        def work(connection: Connection) -> None:
            rows = self._rows(connection, tenant)
            before = rows.known(entry.id)
            visible = entry.deleted_at is None
            if (
                visible
                and entry.status is EntryStatus.ACTIVE
                and (existing := rows.same_text(entry))
            ):
                raise failure(
                    DUPLICATE_ENTRY,
                    f"Entry {existing} already says this",
                    hint="Change that one, or supersede it.",
                    id=existing,
                )
            rows.change(before, entry, action, entry.updated_at)
            self._postings.remove(connection, partition(tenant), [document_key(before)])
            if visible:
                self._postings.put_soon(connection, partition(tenant), indexed)
                if before.deleted_at is not None:
                    rows.supersede_again(entry.id, entry.updated_at)
            else:
                rows.bring_back(entry.id, entry.updated_at)

        await self._commit(work, tenant)

    async def get(self, tenant: Tenant, id_: str, *, deleted: bool = False) -> Entry | None:
        row = await self._look(
            lambda c: self._rows(c, tenant).one("entry", id=id_, deleted=deleted)
        )
        return read_entry(row) if row else None

    async def get_all(self, tenant: Tenant, ids: Iterable[str]) -> dict[str, Entry]:
        asked = sorted(set(ids))
        if not asked:
            return {}
        found = await self._look(
            lambda c: self._rows(c, tenant).entries("entries_by_id", ids=as_json(asked))
        )
        return {entry.id: entry for entry in found}

    async def with_prefix(
        self, tenant: Tenant, prefix: str, limit: int, *, deleted: bool = False
    ) -> tuple[Entry, ...]:
        wanted = {"prefix": prefix, "limit": limit, "deleted": deleted}
        return await self._look(
            lambda c: self._rows(c, tenant).entries("entries_by_prefix", **wanted)
        )

    async def page(self, tenant: Tenant, wanted: EntryFilter, limit: int, offset: int) -> EntryPage:
        filters = {
            "type": wanted.type.value if wanted.type else None,
            "project": wanted.project,
            "status": wanted.status.value if wanted.status else None,
            "tag": wanted.tag,
            "deleted": wanted.deleted,
        }

        def scan(connection: Connection) -> EntryPage:
            rows = self._rows(connection, tenant)
            return EntryPage(
                rows.entries("entries_page", **filters, limit=limit, offset=offset),
                rows.number("entries_count", **filters),
            )

        return await self._scan(scan)

    async def everything(self, tenant: Tenant) -> tuple[Entry, ...]:
        return await self._scan(lambda c: self._rows(c, tenant).entries("entries_all"))

    async def history(self, tenant: Tenant, id_: str) -> tuple[Revision, ...]:
        return await self._look(lambda c: self._rows(c, tenant).history(id_))

    async def usage(self, tenant: Tenant, ids: Iterable[str]) -> dict[str, EntryUsage]:
        wanted = as_json(sorted(set(ids)))
        rows = await self._look(lambda c: self._rows(c, tenant).ask("usage", ids=wanted).fetchall())
        return {row[0]: EntryUsage(row[1], read_moment(row[2])) for row in rows}

    async def record_use(self, counts: Uses) -> None:
        await self._count(lambda connection: self._add_uses(connection, counts))

    def record_use_now(self, counts: Uses) -> None:
        self._count_now(lambda connection: self._add_uses(connection, counts))

    def _add_uses(self, connection: Connection, counts: Uses) -> None:
        for (tenant, entry_id), (count, moment) in sorted(
            counts.items()
        ):  # in one order: two processes never wait for each other
            self._rows(connection, tenant).count_use(entry_id, count, moment)

    async def unread_since(
        self, tenant: Tenant, moment: datetime, limit: int
    ) -> tuple[tuple[Entry, ...], int]:
        since = iso(moment)

        def scan(connection: Connection) -> tuple[tuple[Entry, ...], int]:
            rows = self._rows(connection, tenant)
            return rows.entries("entries_unread", moment=since, limit=limit), rows.number(
                "entries_unread_count", moment=since
            )

        return await self._scan(scan)

    # -- links

    async def add_link(self, tenant: Tenant, link: Link) -> None:
        def work(connection: Connection) -> None:
            rows = self._rows(connection, tenant)
            if not rows.link(link):
                row = rows.put("link_id", link_row(tenant, link)).fetchone()
                raise failure(
                    LINK_ALREADY_EXISTS,
                    f"{link.source_id} and {link.target_id} are already linked as {link.relation}",
                    hint="rekall_show lists the links of an entry.",
                    link_id=row[0] if row else None,
                )

        await self._commit(work, tenant)

    async def links_of(self, tenant: Tenant, id_: str) -> Neighbourhood:
        def look(connection: Connection) -> Neighbourhood:
            rows = self._rows(connection, tenant)
            return Neighbourhood(rows.ends("links_outgoing", id_), rows.ends("links_incoming", id_))

        return await self._look(look)

    async def links_among(self, tenant: Tenant, ids: Iterable[str]) -> tuple[Link, ...]:
        asked = sorted(set(ids))
        if not asked:
            return ()
        rows = await self._look(
            lambda c: self._rows(c, tenant).ask("links_among", ids=as_json(asked)).fetchall()
        )
        return tuple(read_link(row) for row in rows)

    async def all_links(self, tenant: Tenant) -> tuple[Link, ...]:
        return await self._scan(
            lambda c: tuple(read_link(row) for row in self._rows(c, tenant).ask("links_all"))
        )

    # -- suggestions

    async def add_suggestions(
        self,
        tenant: Tenant,
        suggestions: Sequence[Suggestion],
        *,
        revised: Sequence[Suggestion] = (),
        withdrawn: Sequence[Suggestion] = (),
    ) -> int:
        def work(connection: Connection) -> int:
            rows = self._rows(connection, tenant)
            for suggestion in withdrawn:
                rows.withdraw(suggestion)
            for suggestion in revised:
                rows.revise(suggestion)
            added = [suggestion for suggestion in suggestions if rows.suggest(suggestion)]
            if added or revised:
                rows.refresh_suggestions(
                    suggestion.entry_ids[0] for suggestion in (*added, *revised)
                )
            return len(added)

        return await self._commit(work, tenant)

    async def suggestions_about(self, tenant: Tenant, entry_id: str) -> tuple[Suggestion, ...]:
        rows = await self._look(
            lambda c: self._rows(c, tenant).ask("suggestions_about", entry_id=entry_id).fetchall()
        )
        return tuple(read_suggestion(row) for row in rows)

    async def suggestion(self, tenant: Tenant, id_: str) -> Suggestion | None:
        row = await self._look(lambda c: self._rows(c, tenant).one("suggestion", id=id_))
        return read_suggestion(row) if row else None

    async def pending(
        self, tenant: Tenant, types: Sequence[SuggestionType], limit: int
    ) -> tuple[tuple[Suggestion, ...], int]:
        def scan(connection: Connection) -> tuple[tuple[Suggestion, ...], int]:
            rows = self._rows(connection, tenant)
            found: list[Suggestion] = []
            total = 0
            for type_ in sorted(types):  # one type at a time is read in the order of the index
                total += rows.number("suggestions_listed_count", type=type_.value)
                if len(found) < limit:
                    listed = rows.ask(
                        "suggestions_listed", type=type_.value, limit=limit - len(found)
                    )
                    found += [read_suggestion(row) for row in listed]
            return tuple(found), total

        return await self._scan(scan)

    async def clusters_with(self, tenant: Tenant, ids: Iterable[str]) -> tuple[Suggestion, ...]:
        wanted = frozenset(ids)
        return await self._look(lambda c: self._rows(c, tenant).clusters(wanted))

    async def decide(
        self, tenant: Tenant, id_: str, decision: Decision, moment: datetime, link: Link | None
    ) -> Suggestion | None:
        def work(connection: Connection) -> Suggestion | None:
            rows = self._rows(connection, tenant)
            row = rows.one("decide", id=id_, decision=decision.value, moment=iso(moment))
            if row is not None and link is not None:
                rows.link(link)  # that the two are linked by now is what was wanted
            return read_suggestion(row) if row else None

        return await self._commit(work, tenant)

    # -- all of a tenant

    async def reindex(self, tenant: Tenant) -> int:
        def work(connection: Connection) -> int:
            entries = self._rows(connection, tenant).entries("entries_all")
            self._postings.clear(connection, partition(tenant))
            self._postings.put(
                connection, partition(tenant), [document(entry) for entry in entries]
            )
            return len(entries)

        return await self._commit(work, tenant, BULK_SECONDS)

    async def move_tenant(self, old: Tenant, new: Tenant) -> int:
        def work(connection: Connection) -> int:
            if self._rows(connection, new).one("entry_of_any") is not None:
                raise failure(
                    DUPLICATE_ENTRY,
                    "The new tenant has entries of its own.",
                    hint="Choose a name without data.",
                )
            entries = self._rows(connection, old).entries("entries_all")
            self._postings.clear(connection, partition(old))
            for table in MOVED:
                connection.execute(self._queries[f"move_{table}"], {"old": old, "new": new})
            self._postings.put(connection, partition(new), [document(entry) for entry in entries])
            return len(entries)

        return await self._commit(work, old, BULK_SECONDS)

    async def counts(self, tenant: Tenant) -> MemoryCounts:
        def scan(connection: Connection) -> MemoryCounts:
            rows = self._rows(connection, tenant)
            groups: tuple[dict[str, int], ...] = ({}, {}, {})
            for *names, count in rows.ask("count_entries"):
                for group, name in zip(groups, names, strict=True):
                    group[name] = group.get(name, 0) + count
            return MemoryCounts(
                entries=sum(groups[0].values()),
                by_type=groups[0],
                by_project=groups[1],
                by_status=groups[2],
                deleted=rows.number("count_deleted"),
                links=rows.number("count_links"),
                suggestions={row[0]: row[1] for row in rows.ask("count_suggestions")},
                accesses=rows.number("count_accesses"),
                indexed=self._postings.count(connection, partition(tenant)),
            )

        return await self._scan(scan)

    async def tenants(self) -> tuple[Tenant, ...]:
        return await self._scan(
            lambda c: tuple(Tenant(row[0]) for row in c.execute(self._queries["tenants"]))
        )
