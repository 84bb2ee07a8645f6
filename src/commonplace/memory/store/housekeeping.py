"""Housekeeping in a relational database: many decisions, merges, reports, timeline and purges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, tzinfo

from commonplace.kernel.auth import Tenant
from commonplace.kernel.clock import iso
from commonplace.memory.engine.documents import document, document_key, partition
from commonplace.memory.engine.merge import choose_kept, merge_entries
from commonplace.memory.errors import DUPLICATE_ENTRY, SUGGESTION_NOT_FOUND, failure
from commonplace.memory.housekeeping import (
    EntryTimeline,
    EventKind,
    Merge,
    PurgeCounts,
    PurgeScope,
    SuggestionFilter,
    TimelineEvent,
    TimelineFilter,
    UseOutcome,
    UseReport,
)
from commonplace.memory.model import (
    Decision,
    Entry,
    EntryStatus,
    EntryUsage,
    Link,
    RelationType,
    Suggestion,
    SuggestionType,
)
from commonplace.memory.store.rows import (
    RowValues,
    as_json,
    read_entry,
    read_moment,
    read_suggestion,
)
from commonplace.memory.store.tenant_rows import TenantRows
from commonplace.memory.store.units import UnitsOfWork
from commonplace.search.lexical.index_writer import IndexWriter
from commonplace.storage.relational import Row, SqlConnection

PURGED_AT_ONCE = 500  # entries in one transaction, so that other changes need not wait long
DAY_CHARACTERS, MINUTE_CHARACTERS = 10, 16  # of a time, as ISO 8601 writes it
MERGE = "merge"  # action in the history


class RelationalHousekeeping:
    """Implements `HousekeepingStore` on any relational database."""

    def __init__(
        self, units: UnitsOfWork, queries: Mapping[str, str], postings: IndexWriter
    ) -> None:
        self._units = units
        self._queries = queries
        self._postings = postings

    def _rows(self, connection: SqlConnection, tenant: Tenant) -> TenantRows:
        return TenantRows(connection, self._queries, tenant)

    # Suggestions

    async def matching(
        self, tenant: Tenant, wanted: SuggestionFilter, limit: int
    ) -> tuple[tuple[Suggestion, ...], dict[SuggestionType, int]]:
        filters: RowValues = {
            "types": as_json([type_.value for type_ in wanted.types]),
            "least": wanted.least_score,
            "most": wanted.most_score,
            "project": wanted.project,
            "ids": as_json(list(wanted.ids)) if wanted.ids else None,
        }

        def scan(
            connection: SqlConnection,
        ) -> tuple[tuple[Suggestion, ...], dict[SuggestionType, int]]:
            rows = self._rows(connection, tenant)
            found = rows.execute("suggestions_matching", **filters, limit=limit).fetchall()
            counts = rows.execute("suggestions_matching_count", **filters).fetchall()
            return (
                tuple(read_suggestion(row) for row in found),
                {SuggestionType(row[0]): int(row[1]) for row in counts},
            )

        return await self._units.scan(scan)

    async def decide_all(
        self,
        tenant: Tenant,
        links: Mapping[str, Link | None],
        decision: Decision,
        moment: datetime,
    ) -> tuple[Suggestion, ...]:
        def work(connection: SqlConnection) -> tuple[Suggestion, ...]:
            rows = self._rows(connection, tenant)
            decided: list[Suggestion] = []
            for id_, link in links.items():
                suggestion = rows.decide(id_, decision, moment)
                if suggestion is None:
                    continue
                decided.append(suggestion)
                if link is not None:
                    rows.add_link(link)
            return tuple(decided)

        return await self._units.commit_bulk(work, tenant)

    async def decided(self, tenant: Tenant) -> tuple[Suggestion, ...]:
        rows = await self._units.scan(
            lambda c: self._rows(c, tenant).execute("suggestions_decided").fetchall()
        )
        return tuple(read_suggestion(row) for row in rows)

    # Merges

    async def merge(
        self, tenant: Tenant, suggestion_id: str, new_id: Callable[[], str], moment: datetime
    ) -> Merge | None:
        def work(connection: SqlConnection) -> Merge | None:
            rows = self._rows(connection, tenant)
            suggestion = rows.decide(suggestion_id, Decision.ACCEPTED, moment)
            if suggestion is None:
                return None
            before, other = choose_kept(*_both_active(rows, suggestion))
            kept = replace(merge_entries(before, other), updated_at=moment)
            if existing := rows.active_duplicate(kept):
                raise failure(
                    DUPLICATE_ENTRY,
                    f"Entry {existing} has the text of the merged entry",
                    hint="Merge that entry first, or reject the suggestion.",
                    id=existing,
                )
            rows.update(before, kept, MERGE, moment)
            self._postings.remove(connection, partition(tenant), [document_key(before)])
            self._postings.put_soon(connection, partition(tenant), document(kept))
            copied = rows.copy_links(other.id, kept.id, new_id)
            link = Link(new_id(), kept.id, other.id, RelationType.SUPERSEDES, moment)
            rows.add_link(link)
            rows.move_usage(other.id, kept.id)
            rows.refresh_suggestions([kept.id, other.id])
            return Merge(before, kept, other, link, copied)

        return await self._units.commit(work, tenant)

    # Reports of use

    async def report_use(self, tenant: Tenant, report: UseReport) -> EntryUsage:
        confirmed = int(report.outcome is UseOutcome.CONFIRMED)

        def work(connection: SqlConnection) -> EntryUsage:
            rows = self._rows(connection, tenant)
            rows.execute(
                "insert_outcome",
                entry_id=report.entry_id,
                id=report.id,
                outcome=report.outcome.value,
                note=report.note,
                created_at=iso(report.created_at),
            )
            rows.add_usage(
                report.entry_id,
                EntryUsage(
                    1,
                    report.created_at,
                    confirmed,
                    1 - confirmed,
                    report.created_at if confirmed else None,
                ),
            )
            return rows.usage([report.entry_id])[report.entry_id]

        return await self._units.commit(work, tenant)

    # Timeline

    async def timeline(
        self, tenant: Tenant, wanted: TimelineFilter, limit: int, offset: int
    ) -> EntryTimeline:
        filters: RowValues = {
            "since": iso(wanted.since),
            "until": iso(wanted.until),
            "project": wanted.project,
            "entry_id": wanted.entry_id,
            "kinds": as_json([kind.value for kind in wanted.kinds]),
        }

        def scan(connection: SqlConnection) -> EntryTimeline:
            rows = self._rows(connection, tenant)
            found = rows.execute("timeline", **filters, limit=limit, offset=offset).fetchall()
            characters = DAY_CHARACTERS if wanted.zone is UTC else MINUTE_CHARACTERS
            counted = rows.execute("timeline_days", **filters, characters=characters)
            days = _count_days(counted.fetchall(), wanted.zone)
            total = sum(count for kinds in days.values() for count in kinds.values())
            return EntryTimeline(tuple(_event(*row) for row in found), days, total)

        return await self._units.scan(scan)

    # Purges

    async def count_purgeable(self, tenant: Tenant, scope: PurgeScope) -> PurgeCounts:
        def scan(connection: SqlConnection) -> PurgeCounts:
            rows = self._rows(connection, tenant)
            ids = tuple(entry.id for entry in _purgeable(rows, scope, limit=1_000_000))
            kept = rows.fetch_count("revisions_purgeable", **_revisions(scope))
            own = sum(rows.fetch_count("revisions_of", entry_id=id_) for id_ in ids)
            return PurgeCounts(ids, own + kept)

        return await self._units.scan(scan)

    async def purgeable(self, tenant: Tenant, scope: PurgeScope) -> tuple[Entry, ...]:
        return await self._units.scan(
            lambda c: _purgeable(self._rows(c, tenant), scope, PURGED_AT_ONCE)
        )

    async def purge(
        self,
        tenant: Tenant,
        entries: Sequence[Entry],
        scope: PurgeScope,
        purge_id: str,
        moment: datetime,
    ) -> PurgeCounts:
        def work(connection: SqlConnection) -> PurgeCounts:
            rows = self._rows(connection, tenant)
            purged: dict[str, str | None] = {}
            revisions = 0
            for entry in entries:
                own = rows.purge(entry)
                if own is not None:
                    purged[entry.id] = entry.superseded_by
                    revisions += own
            if purged:
                rows.forget(purged)
            if scope.history:
                stripped = rows.execute("strip_revisions", **_revisions(scope))
                revisions += len(stripped.fetchall())
            self._postings.remove(
                connection,
                partition(tenant),
                [document_key(entry) for entry in entries if entry.id in purged],
            )
            self._postings.drop_unused_terms(connection, partition(tenant))
            counts = PurgeCounts(tuple(purged), revisions)
            if not counts.is_empty:
                rows.execute(
                    "insert_purge",
                    id=purge_id,
                    entries=len(purged),
                    revisions=revisions,
                    created_at=iso(moment),
                )
            return counts

        return await self._units.commit_bulk(work, tenant)

    async def last_purge(self, tenant: Tenant) -> datetime | None:
        row = await self._units.look(lambda c: self._rows(c, tenant).fetch_one("last_purge"))
        return read_moment(row[0]) if row is not None and row[0] is not None else None

    async def overwrite_freed_space(self) -> bool:
        return await self._units.overwrite_freed_space()


def _both_active(rows: TenantRows, suggestion: Suggestion) -> tuple[Entry, Entry]:
    found = {e.id: e for e in rows.entries("entries_by_id", ids=as_json(suggestion.entry_ids))}
    missing = [
        id_
        for id_ in suggestion.entry_ids
        if id_ not in found or found[id_].status is not EntryStatus.ACTIVE
    ]
    if missing:
        raise failure(
            SUGGESTION_NOT_FOUND,
            f"Suggestion '{suggestion.id}' is about entries that are deleted or obsolete: "
            f"{', '.join(missing)}",
            hint="Reject the suggestion with rekall_reject_suggestion.",
        )
    first, second = (found[id_] for id_ in suggestion.entry_ids)
    return first, second


def _purgeable(rows: TenantRows, scope: PurgeScope, limit: int) -> tuple[Entry, ...]:
    """Return the deleted entries of a scope; named ones whenever they were deleted."""
    if not scope.entry_ids:
        return rows.entries("entries_deleted_before", before=iso(scope.before), limit=limit)
    found = (rows.fetch_one("entry", id=id_, deleted=True) for id_ in scope.entry_ids)
    entries = (read_entry(row) for row in found if row is not None)
    return tuple(entry for entry in entries if entry.deleted_at is not None)


def _revisions(scope: PurgeScope) -> RowValues:
    """Return the parameters that choose the earlier states of entries that stay."""
    named = as_json(list(scope.entry_ids)) if scope.entry_ids else None
    before = iso(scope.before) if scope.history else "0001-01-01T00:00:00.000Z"
    return {"before": before, "ids": named}


def _count_days(rows: Sequence[Row], zone: tzinfo) -> dict[str, dict[EventKind, int]]:
    """Return the events of each kind by day of a zone, from counts by UTC day or minute."""
    days: dict[str, dict[EventKind, int]] = {}
    for at, kind, count in rows:
        day = str(at)
        if zone is not UTC:
            moment = datetime.fromisoformat(day).replace(tzinfo=UTC)
            day = moment.astimezone(zone).date().isoformat()
        kinds = days.setdefault(day, {})
        kinds[EventKind(kind)] = kinds.get(EventKind(kind), 0) + int(count)
    return {day: dict(sorted(kinds.items())) for day, kinds in days.items()}


def _event(
    at: str | datetime,
    kind: str,
    entry_id: str,
    title: str | None,
    other_id: str,
    other_title: str | None,
    detail: str,
) -> TimelineEvent:
    return TimelineEvent(
        read_moment(at),
        EventKind(kind),
        entry_id,
        title or "",
        other_id,
        other_title or "",
        detail,
    )
