"""Memory in a relational database, by named SQL.

`sqlite.py` and `postgres.py` run the units of work. `common.sql` has the statements that both
share; each dialect adds its own. The words of an entry are indexed in its own transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from commonplace.kernel.auth import Tenant
from commonplace.kernel.clock import iso
from commonplace.kernel.paging import ResultPage, counted_page
from commonplace.memory.engine.documents import document, document_key, partition
from commonplace.memory.errors import DUPLICATE_ENTRY, LINK_ALREADY_EXISTS, failure
from commonplace.memory.model import (
    AccessCounts,
    Decision,
    Entry,
    EntryFilter,
    EntryUsage,
    Link,
    MemoryCounts,
    Neighbourhood,
    Revision,
    Suggestion,
    SuggestionType,
)
from commonplace.memory.store.housekeeping import RelationalHousekeeping
from commonplace.memory.store.protocol import BulkAddResult, SameText
from commonplace.memory.store.rows import (
    as_json,
    entry_row,
    link_row,
    read_entry,
    read_link,
    read_suggestion,
)
from commonplace.memory.store.tenant_rows import TenantRows
from commonplace.memory.store.units import UnitsOfWork
from commonplace.memory.ulid import Ulids
from commonplace.search.lexical.index_writer import IndexWriter
from commonplace.storage.relational import SqlConnection

# Tables with a tenant.
MOVED = (
    "entries",
    "tags",
    "usage",
    "links",
    "suggestions",
    "suggestion_entries",
    "history",
    "outcomes",
    "purges",
)


class _DryRunError(Exception):
    """Rolls back a dry run and carries its result."""

    def __init__(self, result: BulkAddResult) -> None:
        super().__init__("dry run")
        self.result = result


class RelationalMemoryStore:
    """Implements `MemoryStore` on any relational database."""

    def __init__(
        self, units: UnitsOfWork, queries: Mapping[str, str], postings: IndexWriter
    ) -> None:
        self.units = units
        self._queries = queries
        self._postings = postings
        self._ulids = Ulids()
        self.housekeeping = RelationalHousekeeping(units, queries, postings)

    def _rows(self, connection: SqlConnection, tenant: Tenant) -> TenantRows:
        return TenantRows(connection, self._queries, tenant)

    # Entries

    async def add(self, tenant: Tenant, entry: Entry) -> SameText:
        indexed = document(entry)  # analysed before the lock is taken

        def work(connection: SqlConnection) -> SameText:
            rows = self._rows(connection, tenant)
            known = rows.find_same_text(entry)
            if known.active is None:
                rows.insert(entry)
                self._postings.put_soon(connection, partition(tenant), indexed)
            return known

        return await self.units.commit(work, tenant)

    async def add_all(
        self,
        tenant: Tenant,
        entries: Sequence[Entry],
        links: Sequence[Link],
        usage: Mapping[str, EntryUsage],
        *,
        decided: Sequence[Suggestion] = (),
        with_status: Collection[str] = (),
        dry_run: bool = False,
    ) -> BulkAddResult:
        documents = {entry.id: document(entry) for entry in entries}

        def work(connection: SqlConnection) -> BulkAddResult:
            rows = self._rows(connection, tenant)
            known, new = _insert_unknown(rows, entries)
            self._postings.put(
                connection, partition(tenant), [documents[entry.id] for entry in new]
            )
            stated = {entry.id for entry in new if entry.id in with_status}
            links_added = sum(rows.import_link(link, known, stated) for link in links)
            for entry in new:
                if entry.superseded_by in known:
                    successor = known[entry.superseded_by]
                    row = entry_row(tenant, replace(entry, superseded_by=successor))
                    rows.execute_row("update_entry", row)
                if entry.id in usage:
                    rows.add_usage(entry.id, usage[entry.id])
            for suggestion in decided:
                rows.import_decision(suggestion, known)
            result = BulkAddResult(len(new), links_added, known)
            if dry_run:
                raise _DryRunError(result)
            return result

        try:
            return await self.units.commit_bulk(work, tenant)
        except _DryRunError as rolled_back:
            return rolled_back.result

    async def replace(self, tenant: Tenant, entry: Entry, action: str) -> None:
        indexed = document(entry)

        def work(connection: SqlConnection) -> None:
            rows = self._rows(connection, tenant)
            before = rows.get_existing(entry.id)
            visible = entry.deleted_at is None
            if existing := rows.active_duplicate(entry):
                raise failure(
                    DUPLICATE_ENTRY,
                    f"Entry {existing} has the same text",
                    hint="Change that entry, or supersede it.",
                    id=existing,
                )
            moment = entry.updated_at

            def new_id() -> str:
                return self._ulids.next(moment)

            rows.update(before, entry, action, moment)
            self._postings.remove(connection, partition(tenant), [document_key(before)])
            if visible:
                self._postings.put_soon(connection, partition(tenant), indexed)
                if before.deleted_at is not None:
                    rows.supersede_again(entry.id, moment)
                    rows.release_restored(entry, new_id, moment)
            else:
                rows.release_superseded(entry, new_id, moment)

        await self.units.commit(work, tenant)

    async def get(self, tenant: Tenant, id_: str, *, deleted: bool = False) -> Entry | None:
        row = await self.units.look(
            lambda c: self._rows(c, tenant).fetch_one("entry", id=id_, deleted=deleted)
        )
        return read_entry(row) if row else None

    async def get_all(self, tenant: Tenant, ids: Iterable[str]) -> dict[str, Entry]:
        wanted = sorted(set(ids))
        if not wanted:
            return {}
        found = await self.units.look(
            lambda c: self._rows(c, tenant).entries("entries_by_id", ids=as_json(wanted))
        )
        return {entry.id: entry for entry in found}

    async def with_prefix(
        self, tenant: Tenant, prefix: str, limit: int, *, deleted: bool = False
    ) -> tuple[Entry, ...]:
        wanted = {"prefix": prefix, "limit": limit, "deleted": deleted}
        return await self.units.look(
            lambda c: self._rows(c, tenant).entries("entries_by_prefix", **wanted)
        )

    async def page(
        self, tenant: Tenant, wanted: EntryFilter, limit: int, offset: int
    ) -> ResultPage[Entry]:
        filters = {
            "type": wanted.type.value if wanted.type else None,
            "project": wanted.project,
            "status": wanted.status.value if wanted.status else None,
            "tag": wanted.tag,
            "deleted": wanted.deleted,
        }

        def scan(connection: SqlConnection) -> ResultPage[Entry]:
            rows = self._rows(connection, tenant)
            return counted_page(
                rows.entries("entries_page", **filters, limit=limit, offset=offset),
                offset,
                rows.fetch_count("entries_count", **filters),
            )

        return await self.units.scan(scan)

    async def everything(self, tenant: Tenant) -> tuple[Entry, ...]:
        return await self.units.scan(lambda c: self._rows(c, tenant).entries("entries_all"))

    async def anchored(self, tenant: Tenant, after: str, limit: int) -> tuple[Entry, ...]:
        wanted = {"after": after, "limit": limit}
        return await self.units.scan(
            lambda c: self._rows(c, tenant).entries("entries_anchored", **wanted)
        )

    async def history(self, tenant: Tenant, id_: str) -> tuple[Revision, ...]:
        return await self.units.look(lambda c: self._rows(c, tenant).history(id_))

    async def usage(self, tenant: Tenant, ids: Iterable[str]) -> dict[str, EntryUsage]:
        wanted = frozenset(ids)
        return await self.units.look(lambda c: self._rows(c, tenant).usage(wanted))

    async def record_use(self, counts: AccessCounts) -> None:
        await self.units.count(lambda connection: self._add_accesses(connection, counts))

    def record_use_now(self, counts: AccessCounts) -> None:
        self.units.count_now(lambda connection: self._add_accesses(connection, counts))

    def _add_accesses(self, connection: SqlConnection, counts: AccessCounts) -> None:
        # Sorted, so that two processes cannot deadlock.
        for (tenant, entry_id), (count, moment) in sorted(counts.items()):
            self._rows(connection, tenant).add_accesses(entry_id, count, moment)

    async def unread_since(
        self, tenant: Tenant, moment: datetime, limit: int
    ) -> tuple[tuple[Entry, ...], int]:
        since = iso(moment)

        def scan(connection: SqlConnection) -> tuple[tuple[Entry, ...], int]:
            rows = self._rows(connection, tenant)
            return rows.entries("entries_unread", moment=since, limit=limit), rows.fetch_count(
                "entries_unread_count", moment=since
            )

        return await self.units.scan(scan)

    # Links

    async def add_link(self, tenant: Tenant, link: Link) -> None:
        def work(connection: SqlConnection) -> None:
            rows = self._rows(connection, tenant)
            rows.forget_reverted_link(link)
            if not rows.add_link(link):
                row = rows.execute_row("link_id", link_row(tenant, link)).fetchone()
                raise failure(
                    LINK_ALREADY_EXISTS,
                    f"{link.source_id} and {link.target_id} are already linked as {link.relation}",
                    hint="Use rekall_show to list the links of an entry.",
                    link_id=row[0] if row else None,
                )

        await self.units.commit(work, tenant)

    async def links_of(self, tenant: Tenant, id_: str) -> Neighbourhood:
        def look(connection: SqlConnection) -> Neighbourhood:
            rows = self._rows(connection, tenant)
            return Neighbourhood(
                rows.link_ends("links_outgoing", id_), rows.link_ends("links_incoming", id_)
            )

        return await self.units.look(look)

    async def links_among(self, tenant: Tenant, ids: Iterable[str]) -> tuple[Link, ...]:
        wanted = sorted(set(ids))
        if not wanted:
            return ()
        rows = await self.units.look(
            lambda c: self._rows(c, tenant).execute("links_among", ids=as_json(wanted)).fetchall()
        )
        return tuple(read_link(row) for row in rows)

    async def all_links(self, tenant: Tenant) -> tuple[Link, ...]:
        return await self.units.scan(
            lambda c: tuple(read_link(row) for row in self._rows(c, tenant).execute("links_all"))
        )

    # Suggestions

    async def add_suggestions(
        self,
        tenant: Tenant,
        suggestions: Sequence[Suggestion],
        *,
        revised: Sequence[Suggestion] = (),
        withdrawn: Sequence[Suggestion] = (),
    ) -> int:
        def work(connection: SqlConnection) -> int:
            rows = self._rows(connection, tenant)
            for suggestion in withdrawn:
                rows.withdraw_suggestion(suggestion)
            for suggestion in revised:
                rows.revise_suggestion(suggestion)
            added = [suggestion for suggestion in suggestions if rows.add_suggestion(suggestion)]
            if added or revised:
                rows.refresh_suggestions(
                    suggestion.entry_ids[0] for suggestion in (*added, *revised)
                )
            return len(added)

        return await self.units.commit(work, tenant)

    async def suggestions_about(self, tenant: Tenant, entry_id: str) -> tuple[Suggestion, ...]:
        rows = await self.units.look(
            lambda c: (
                self._rows(c, tenant).execute("suggestions_about", entry_id=entry_id).fetchall()
            )
        )
        return tuple(read_suggestion(row) for row in rows)

    async def suggestion(self, tenant: Tenant, id_: str) -> Suggestion | None:
        row = await self.units.look(lambda c: self._rows(c, tenant).fetch_one("suggestion", id=id_))
        return read_suggestion(row) if row else None

    async def pending(
        self, tenant: Tenant, types: Sequence[SuggestionType], limit: int
    ) -> tuple[tuple[Suggestion, ...], int]:
        def scan(connection: SqlConnection) -> tuple[tuple[Suggestion, ...], int]:
            rows = self._rows(connection, tenant)
            found: list[Suggestion] = []
            total = 0
            for type_ in sorted(types):  # each type is read in index order
                total += rows.fetch_count("suggestions_listed_count", type=type_.value)
                if len(found) < limit:
                    listed = rows.execute(
                        "suggestions_listed", type=type_.value, limit=limit - len(found)
                    )
                    found += [read_suggestion(row) for row in listed]
            return tuple(found), total

        return await self.units.scan(scan)

    async def pending_contradictions(
        self, tenant: Tenant, ids: Iterable[str]
    ) -> tuple[Suggestion, ...]:
        wanted = frozenset(ids)
        return await self.units.look(lambda c: self._rows(c, tenant).contradictions(wanted))

    async def clusters_with(self, tenant: Tenant, ids: Iterable[str]) -> tuple[Suggestion, ...]:
        wanted = frozenset(ids)
        return await self.units.look(lambda c: self._rows(c, tenant).clusters(wanted))

    async def decide(
        self, tenant: Tenant, id_: str, decision: Decision, moment: datetime, link: Link | None
    ) -> Suggestion | None:
        def work(connection: SqlConnection) -> Suggestion | None:
            rows = self._rows(connection, tenant)
            suggestion = rows.decide(id_, decision, moment)
            if suggestion is not None and link is not None:
                rows.add_link(link)  # if they are linked by now, that is fine
            return suggestion

        return await self.units.commit(work, tenant)

    # Whole tenants

    async def reindex(self, tenant: Tenant) -> int:
        def work(connection: SqlConnection) -> int:
            entries = self._rows(connection, tenant).entries("entries_all")
            self._postings.clear(connection, partition(tenant))
            self._postings.put(
                connection, partition(tenant), [document(entry) for entry in entries]
            )
            return len(entries)

        return await self.units.commit_bulk(work, tenant)

    async def delete_tenant(self, tenant: Tenant) -> int:
        def work(connection: SqlConnection) -> int:
            counted = len(self._rows(connection, tenant).entries("entries_all"))
            self._postings.clear(connection, partition(tenant))
            connection.execute(
                self._queries["delete_all_partitions"],
                {"tenant": tenant, "collection": partition(tenant).collection},
            )
            for table in ("vectors", *reversed(MOVED)):
                connection.execute(self._queries[f"delete_all_{table}"], {"tenant": tenant})
            return counted

        return await self.units.commit_bulk(work, tenant)

    async def move_tenant(self, old: Tenant, new: Tenant) -> int:
        def work(connection: SqlConnection) -> int:
            if self._rows(connection, new).fetch_one("entry_of_any") is not None:
                raise failure(
                    DUPLICATE_ENTRY,
                    "The new tenant already has entries.",
                    hint="Choose a name without data.",
                )
            entries = self._rows(connection, old).entries("entries_all")
            self._postings.clear(connection, partition(old))
            for table in MOVED:
                connection.execute(self._queries[f"move_{table}"], {"old": old, "new": new})
            self._postings.put(connection, partition(new), [document(entry) for entry in entries])
            return len(entries)

        return await self.units.commit_bulk(work, old)

    async def counts(self, tenant: Tenant) -> MemoryCounts:
        def scan(connection: SqlConnection) -> MemoryCounts:
            rows = self._rows(connection, tenant)
            groups: tuple[dict[str, int], ...] = ({}, {}, {})
            for *names, count in rows.execute("count_entries"):
                for group, name in zip(groups, names, strict=True):
                    group[name] = group.get(name, 0) + count
            return MemoryCounts(
                entries=sum(groups[0].values()),
                by_type=groups[0],
                by_project=groups[1],
                by_status=groups[2],
                deleted=rows.fetch_count("count_deleted"),
                links=rows.fetch_count("count_links"),
                suggestions={row[0]: row[1] for row in rows.execute("count_suggestions")},
                accesses=rows.fetch_count("count_accesses"),
                indexed=self._postings.count(connection, partition(tenant)),
            )

        return await self.units.scan(scan)

    async def tenants(self) -> tuple[Tenant, ...]:
        return await self.units.scan(
            lambda c: tuple(Tenant(row[0]) for row in c.execute(self._queries["tenants"]))
        )


def _insert_unknown(
    rows: TenantRows, entries: Iterable[Entry]
) -> tuple[dict[str, str], list[Entry]]:
    """Insert entries; returns the existing ids of those that are known, and the new entries."""
    known: dict[str, str] = {}
    new: list[Entry] = []
    for entry in entries:
        existing = rows.find_imported(entry)
        if existing is not None:
            known[entry.id] = existing
        else:
            rows.insert(entry)
            new.append(entry)
    return known, new
