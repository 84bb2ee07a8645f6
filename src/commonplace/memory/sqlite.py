"""Memory in SQLite: entries, links, suggestions and history; the words of each entry are indexed in the same transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import orjson

from commonplace.kernel.auth import Tenant
from commonplace.kernel.clock import iso
from commonplace.memory.documents import document, document_key, partition
from commonplace.memory.errors import DUPLICATE_ENTRY, LINK_ALREADY_EXISTS, failure
from commonplace.memory.model import Decision, Entry, Link, LinkedEntry, Relation, Status, Suggestion, SuggestionType, Usage
from commonplace.memory.rows import (
    as_json,
    entry_row,
    history_row,
    link_row,
    read_entry,
    read_link,
    read_moment,
    read_suggestion,
    suggestion_row,
)
from commonplace.memory.store import Added, Counts, Filter, Neighbourhood, Page, Revision
from commonplace.search.sqlite import SqlitePostings
from commonplace.storage.migrations import load_migrations, migrate
from commonplace.storage.queries import load_queries
from commonplace.storage.sqlite import Connection, Database

_QUERIES = load_queries("commonplace.memory", "sqlite.sql")
LOCK_SECONDS = 10  # several processes may share the database: rather wait than refuse what was learned


class _TakenBackError(Exception):
    """Rolls a dry run back and carries what it would have done."""

    def __init__(self, added: Added) -> None:
        super().__init__("dry run")
        self.added = added


class SqliteStore:
    """Point reads run on the caller's thread, scans in the reader pool, writes in the writer's."""

    def __init__(self, database: Database, postings: SqlitePostings) -> None:
        self._database = database
        self._postings = postings
        migrate(database, "memory", load_migrations("commonplace.memory", "migrations/sqlite"))

    async def add(self, tenant: Tenant, entry: Entry) -> str | None:
        indexed = document(entry)  # analysed here, not in the writer's thread

        def work(connection: Connection) -> str | None:
            existing = _same_text(connection, tenant, entry)
            if existing is None:
                self._insert(connection, tenant, entry)
                self._postings.put(connection, partition(tenant), [indexed])
            return existing

        return await self._database.write(work, lock_timeout_seconds=LOCK_SECONDS)

    async def add_all(
        self, tenant: Tenant, entries: Sequence[Entry], links: Sequence[Link], usage: Mapping[str, Usage], *, dry_run: bool = False
    ) -> Added:
        documents = {entry.id: document(entry) for entry in entries}

        def work(connection: Connection) -> Added:
            known: dict[str, str] = {}
            kept: list[Entry] = []
            for entry in entries:
                here = connection.execute(_QUERIES["entry"], {"tenant": tenant, "id": entry.id, "deleted": True}).fetchone()
                existing = entry.id if here else _known_text(connection, tenant, entry)
                if existing is not None:
                    known[entry.id] = existing
                else:
                    self._insert(connection, tenant, entry)
                    kept.append(entry)
            self._postings.put(connection, partition(tenant), [documents[entry.id] for entry in kept])
            made = sum(self._import_link(connection, tenant, link, known) for link in links)
            for entry in kept:
                used = usage.get(entry.id)
                if used is not None and used.access_count and used.last_accessed:
                    _add_usage(connection, tenant, entry.id, used.access_count, used.last_accessed)
            added = Added(len(kept), made, known)
            if dry_run:
                raise _TakenBackError(added)
            return added

        try:
            return await self._database.write(work, lock_timeout_seconds=60)
        except _TakenBackError as taken_back:
            return taken_back.added

    async def replace(self, tenant: Tenant, entry: Entry, action: str) -> None:
        indexed = document(entry)

        def work(connection: Connection) -> None:
            before = _entry(connection, tenant, entry.id)
            visible = entry.deleted_at is None
            if visible and entry.status is Status.ACTIVE and (existing := _same_text(connection, tenant, entry)):
                raise failure(DUPLICATE_ENTRY, f"Entry {existing} already says this", hint="Change that one, or supersede it.", id=existing)
            connection.execute(_QUERIES["insert_history"], history_row(tenant, before, action, entry.updated_at))
            connection.execute(_QUERIES["update_entry"], entry_row(tenant, entry))
            self._put_tags(connection, tenant, entry)
            self._postings.remove(connection, partition(tenant), [document_key(before)])
            if visible:
                self._postings.put(connection, partition(tenant), [indexed])

        await self._database.write(work, lock_timeout_seconds=LOCK_SECONDS)

    async def get(self, tenant: Tenant, id_: str, *, deleted: bool = False) -> Entry | None:
        row = self._database.reader().execute(_QUERIES["entry"], {"tenant": tenant, "id": id_, "deleted": deleted}).fetchone()
        return read_entry(row) if row else None

    async def get_all(self, tenant: Tenant, ids: Iterable[str]) -> dict[str, Entry]:
        wanted = {"tenant": tenant, "ids": as_json(sorted(set(ids)))}
        return {row[0]: read_entry(row) for row in self._database.reader().execute(_QUERIES["entries_by_id"], wanted)}

    async def with_prefix(self, tenant: Tenant, prefix: str, limit: int, *, deleted: bool = False) -> tuple[Entry, ...]:
        wanted = {"tenant": tenant, "prefix": prefix, "limit": limit, "deleted": deleted}
        return tuple(read_entry(row) for row in self._database.reader().execute(_QUERIES["entries_by_prefix"], wanted))

    async def page(self, tenant: Tenant, wanted: Filter, limit: int, offset: int) -> Page:
        filters = {
            "tenant": tenant,
            "type": wanted.type,
            "project": wanted.project,
            "status": wanted.status,
            "tag": wanted.tag,
            "deleted": wanted.deleted,
        }

        def scan(connection: Connection) -> Page:
            rows = connection.execute(_QUERIES["entries_page"], {**filters, "limit": limit, "offset": offset})
            return Page(tuple(read_entry(row) for row in rows), _number(connection, "entries_count", filters))

        return await self._database.read(scan)

    async def everything(self, tenant: Tenant) -> tuple[Entry, ...]:
        return await self._database.read(lambda c: tuple(read_entry(row) for row in c.execute(_QUERIES["entries_all"], {"tenant": tenant})))

    async def history(self, tenant: Tenant, id_: str) -> tuple[Revision, ...]:
        rows = self._database.reader().execute(_QUERIES["history"], {"tenant": tenant, "entry_id": id_})
        return tuple(Revision(row[0], row[1], read_moment(row[2]), orjson.loads(row[3])) for row in rows)

    async def usage(self, tenant: Tenant, ids: Iterable[str]) -> dict[str, Usage]:
        rows = self._database.reader().execute(_QUERIES["usage"], {"tenant": tenant, "ids": as_json(sorted(set(ids)))})
        return {row[0]: Usage(row[1], read_moment(row[2])) for row in rows}

    async def record_use(self, counts: Mapping[tuple[Tenant, str], tuple[int, datetime]]) -> None:
        await self._database.write(lambda connection: _add_usages(connection, counts))

    def record_use_now(self, counts: Mapping[tuple[Tenant, str], tuple[int, datetime]]) -> None:
        self._database.write_now(lambda connection: _add_usages(connection, counts))

    async def unread_since(self, tenant: Tenant, moment: datetime, limit: int) -> tuple[tuple[Entry, ...], int]:
        wanted = {"tenant": tenant, "moment": iso(moment)}

        def scan(connection: Connection) -> tuple[tuple[Entry, ...], int]:
            rows = connection.execute(_QUERIES["entries_unread"], {**wanted, "limit": limit})
            return tuple(read_entry(row) for row in rows), _number(connection, "entries_unread_count", wanted)

        return await self._database.read(scan)

    async def add_link(self, tenant: Tenant, link: Link) -> None:
        def work(connection: Connection) -> None:
            if not self._link(connection, tenant, link):
                row = connection.execute(_QUERIES["link_id"], link_row(tenant, link)).fetchone()
                raise failure(
                    LINK_ALREADY_EXISTS,
                    f"{link.source_id} and {link.target_id} are already linked as {link.relation}",
                    hint="rekall_show lists the links of an entry.",
                    link_id=row[0] if row else None,
                )

        await self._database.write(work, lock_timeout_seconds=LOCK_SECONDS)

    async def links_of(self, tenant: Tenant, id_: str) -> Neighbourhood:
        connection = self._database.reader()
        ends = [
            tuple(
                LinkedEntry(row[0], row[1], Relation(row[2])) for row in connection.execute(_QUERIES[name], {"tenant": tenant, "id": id_})
            )
            for name in ("links_outgoing", "links_incoming")
        ]
        return Neighbourhood(*ends)

    async def links_among(self, tenant: Tenant, ids: Iterable[str]) -> tuple[Link, ...]:
        wanted = {"tenant": tenant, "ids": as_json(sorted(set(ids)))}
        return tuple(read_link(row) for row in self._database.reader().execute(_QUERIES["links_among"], wanted))

    async def all_links(self, tenant: Tenant) -> tuple[Link, ...]:
        return await self._database.read(lambda c: tuple(read_link(row) for row in c.execute(_QUERIES["links_all"], {"tenant": tenant})))

    async def add_suggestions(self, tenant: Tenant, suggestions: Sequence[Suggestion]) -> int:
        def work(connection: Connection) -> int:
            return sum(self._suggest(connection, tenant, suggestion) for suggestion in suggestions)

        return await self._database.write(work, lock_timeout_seconds=LOCK_SECONDS)

    async def suggestion(self, tenant: Tenant, id_: str) -> Suggestion | None:
        row = self._database.reader().execute(_QUERIES["suggestion"], {"tenant": tenant, "id": id_}).fetchone()
        return read_suggestion(row) if row else None

    async def pending(self, tenant: Tenant, types: Sequence[SuggestionType], limit: int) -> tuple[tuple[Suggestion, ...], int]:
        wanted = {"tenant": tenant, "types": as_json([type_.value for type_ in types])}

        def scan(connection: Connection) -> tuple[tuple[Suggestion, ...], int]:
            rows = connection.execute(_QUERIES["suggestions_pending"], {**wanted, "limit": limit})
            return tuple(read_suggestion(row) for row in rows), _number(connection, "suggestions_pending_count", wanted)

        return await self._database.read(scan)

    async def clusters_with(self, tenant: Tenant, ids: Iterable[str]) -> tuple[Suggestion, ...]:
        return _clusters(self._database.reader(), tenant, ids)

    async def decide(self, tenant: Tenant, id_: str, decision: Decision, moment: datetime, link: Link | None) -> Suggestion | None:
        def work(connection: Connection) -> Suggestion | None:
            parameters = {"tenant": tenant, "id": id_, "decision": decision.value, "moment": iso(moment)}
            row = connection.execute(_QUERIES["decide"], parameters).fetchone()
            if row is not None and link is not None:
                self._link(connection, tenant, link)  # that the two are linked by now is what was wanted
            return read_suggestion(row) if row else None

        return await self._database.write(work, lock_timeout_seconds=LOCK_SECONDS)

    async def reindex(self, tenant: Tenant) -> int:
        def work(connection: Connection) -> int:
            entries = [read_entry(row) for row in connection.execute(_QUERIES["entries_all"], {"tenant": tenant})]
            self._postings.clear(connection, partition(tenant))
            self._postings.put(connection, partition(tenant), [document(entry) for entry in entries])
            return len(entries)

        return await self._database.write(work, lock_timeout_seconds=60)

    async def move_tenant(self, old: Tenant, new: Tenant) -> int:
        def work(connection: Connection) -> int:
            names = {"old": old, "new": new}
            if connection.execute(_QUERIES["entry_of_any"], {"tenant": new}).fetchone() is not None:
                raise failure(DUPLICATE_ENTRY, "The new tenant has entries of its own.", hint="Choose a name without data.")
            entries = [read_entry(row) for row in connection.execute(_QUERIES["entries_all"], {"tenant": old})]
            self._postings.clear(connection, partition(old))
            for table in ("entries", "tags", "usage", "links", "suggestions", "suggestion_entries", "history"):
                connection.execute(_QUERIES[f"move_{table}"], names)
            self._postings.put(connection, partition(new), [document(entry) for entry in entries])
            return len(entries)

        return await self._database.write(work, lock_timeout_seconds=60)

    async def counts(self, tenant: Tenant) -> Counts:
        def scan(connection: Connection) -> Counts:
            groups: tuple[dict[str, int], ...] = ({}, {}, {})
            for *names, count in connection.execute(_QUERIES["count_entries"], {"tenant": tenant}):
                for group, name in zip(groups, names, strict=True):
                    group[name] = group.get(name, 0) + count
            return Counts(
                entries=sum(groups[0].values()),
                by_type=groups[0],
                by_project=groups[1],
                by_status=groups[2],
                deleted=_number(connection, "count_deleted", {"tenant": tenant}),
                links=_number(connection, "count_links", {"tenant": tenant}),
                suggestions={row[0]: row[1] for row in connection.execute(_QUERIES["count_suggestions"], {"tenant": tenant})},
                accesses=_number(connection, "count_accesses", {"tenant": tenant}),
                indexed=self._postings.count(connection, partition(tenant)),
            )

        return await self._database.read(scan)

    async def tenants(self) -> tuple[Tenant, ...]:
        return await self._database.read(lambda c: tuple(Tenant(row[0]) for row in c.execute(_QUERIES["tenants"])))

    def _insert(self, connection: Connection, tenant: Tenant, entry: Entry) -> None:
        connection.execute(_QUERIES["insert_entry"], entry_row(tenant, entry))
        self._put_tags(connection, tenant, entry, new=True)

    def _put_tags(self, connection: Connection, tenant: Tenant, entry: Entry, *, new: bool = False) -> None:
        if not new:
            connection.execute(_QUERIES["delete_tags"], {"tenant": tenant, "entry_id": entry.id})
        for tag in entry.tags:
            connection.execute(_QUERIES["insert_tag"], {"tenant": tenant, "tag": tag, "entry_id": entry.id})

    def _link(self, connection: Connection, tenant: Tenant, link: Link) -> bool:
        """Whether it is new. A successor makes what it supersedes obsolete."""
        if connection.execute(_QUERIES["insert_link"], link_row(tenant, link)).fetchone() is None:
            return False
        if link.relation is Relation.SUPERSEDES:
            before = _entry(connection, tenant, link.target_id)
            if before.superseded_by == link.source_id:  # an import that already says so
                return True
            after = replace(before, status=Status.OBSOLETE, superseded_by=link.source_id, updated_at=link.created_at)
            connection.execute(_QUERIES["insert_history"], history_row(tenant, before, "supersede", link.created_at))
            connection.execute(_QUERIES["update_entry"], entry_row(tenant, after))
        return True

    def _import_link(self, connection: Connection, tenant: Tenant, link: Link, known: Mapping[str, str]) -> bool:
        """A link of an import: between what its ends became, if both are here and are two."""
        source, target = known.get(link.source_id, link.source_id), known.get(link.target_id, link.target_id)
        here = connection.execute(_QUERIES["entries_by_id"], {"tenant": tenant, "ids": as_json([source, target])}).fetchall()
        return len(here) == 2 and self._link(connection, tenant, replace(link, source_id=source, target_id=target))

    def _suggest(self, connection: Connection, tenant: Tenant, suggestion: Suggestion) -> bool:
        if connection.execute(_QUERIES["insert_suggestion"], suggestion_row(tenant, suggestion)).fetchone() is None:
            return False
        if suggestion.type is SuggestionType.GENERALIZE:
            for smaller in _clusters(connection, tenant, suggestion.entry_ids):
                if smaller.decision is Decision.PENDING and set(smaller.entry_ids) < set(suggestion.entry_ids):
                    connection.execute(_QUERIES["delete_suggestion"], {"tenant": tenant, "id": smaller.id})
                    for entry_id in smaller.entry_ids:
                        _suggestion_entry(connection, "delete_suggestion_entries", tenant, entry_id, smaller.id)
            for entry_id in suggestion.entry_ids:
                _suggestion_entry(connection, "insert_suggestion_entry", tenant, entry_id, suggestion.id)
        return True


def _entry(connection: Connection, tenant: Tenant, id_: str) -> Entry:
    row = connection.execute(_QUERIES["entry"], {"tenant": tenant, "id": id_, "deleted": True}).fetchone()
    assert row is not None, "entries are never removed, only marked as deleted"
    return read_entry(row)


def _same_text(connection: Connection, tenant: Tenant, entry: Entry) -> str | None:
    if entry.status is not Status.ACTIVE or entry.deleted_at is not None:
        return None
    row = connection.execute(_QUERIES["same_text"], {"tenant": tenant, "digest": entry.digest, "id": entry.id}).fetchone()
    return row[0] if row else None


def _known_text(connection: Connection, tenant: Tenant, entry: Entry) -> str | None:
    """For imports: an entry that says the same, active or not, so that importing twice adds nothing."""
    row = connection.execute(_QUERIES["known_text"], {"tenant": tenant, "digest": entry.digest}).fetchone()
    return row[0] if row else None


def _clusters(connection: Connection, tenant: Tenant, ids: Iterable[str]) -> tuple[Suggestion, ...]:
    rows = connection.execute(_QUERIES["clusters_with"], {"tenant": tenant, "ids": as_json(sorted(set(ids)))})
    return tuple(read_suggestion(row) for row in rows)


def _suggestion_entry(connection: Connection, query: str, tenant: Tenant, entry_id: str, suggestion_id: str) -> None:
    connection.execute(_QUERIES[query], {"tenant": tenant, "entry_id": entry_id, "suggestion_id": suggestion_id})


def _add_usages(connection: Connection, counts: Mapping[tuple[Tenant, str], tuple[int, datetime]]) -> None:
    for (tenant, entry_id), (count, moment) in counts.items():
        _add_usage(connection, tenant, entry_id, count, moment)


def _add_usage(connection: Connection, tenant: Tenant, entry_id: str, count: int, moment: datetime) -> None:
    connection.execute(_QUERIES["add_usage"], {"tenant": tenant, "entry_id": entry_id, "count": count, "moment": iso(moment)})


def _number(connection: Connection, query: str, parameters: Mapping[str, Any]) -> int:
    row = connection.execute(_QUERIES[query], parameters).fetchone()
    return int(row[0]) if row else 0
