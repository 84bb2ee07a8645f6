"""The rows of one tenant in a unit of work: entries with tags and history, links, suggestions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

import orjson

from commonplace.kernel.auth import Tenant
from commonplace.kernel.clock import iso
from commonplace.memory.errors import ENTRY_NOT_FOUND, LINK_ALREADY_EXISTS, failure
from commonplace.memory.model import (
    Decision,
    Entry,
    EntryStatus,
    EntryUsage,
    Link,
    LinkedEntry,
    RelationType,
    Revision,
    Suggestion,
    SuggestionType,
)
from commonplace.memory.store.protocol import SameText
from commonplace.memory.store.rows import (
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
from commonplace.storage.relational import Row, SqlConnection, SqlRows

# Actions in the history.
SUPERSEDE = "supersede"
REACTIVATE = "bring back"
REPOINT = "lead on"  # to the successor of a deleted successor
DELETE = "delete"
RESTORE = "restore"
RELEASING = (REACTIVATE, REPOINT, DELETE, RESTORE)  # what deleting and restoring a chain leaves


@dataclass(frozen=True, slots=True)
class TenantRows:
    """Statements of one tenant; those whose answers are not read are pipelined to PostgreSQL."""

    connection: SqlConnection
    queries: Mapping[str, str]
    tenant: Tenant

    def execute(self, query: str, /, **parameters: object) -> SqlRows:
        """Run a named statement for the tenant."""
        return self.connection.execute(self.queries[query], {"tenant": self.tenant, **parameters})

    def execute_row(self, query: str, row: Mapping[str, object]) -> SqlRows:
        """Run a named statement with a whole row, which includes the tenant."""
        return self.connection.execute(self.queries[query], row)

    def fetch_one(self, query: str, /, **parameters: object) -> Row | None:
        """Return the first row of an answer."""
        return self.execute(query, **parameters).fetchone()

    def fetch_count(self, query: str, /, **parameters: object) -> int:
        """Return the number that a statement counts."""
        row = self.fetch_one(query, **parameters)
        return int(row[0]) if row else 0

    def entries(self, query: str, /, **parameters: object) -> tuple[Entry, ...]:
        """Return the entries of an answer."""
        return tuple(read_entry(row) for row in self.execute(query, **parameters))

    def get_existing(self, id_: str) -> Entry:
        """Return an entry, deleted or not; raises ENTRY_NOT_FOUND if it was purged."""
        row = self.fetch_one("entry", id=id_, deleted=True)
        if row is None:  # purged meanwhile
            raise failure(ENTRY_NOT_FOUND, f"Entry with ID '{id_}' not found", id=id_)
        return read_entry(row)

    def active_duplicate(self, entry: Entry) -> str | None:
        """Return the id of another active entry with the same text."""
        if entry.status is not EntryStatus.ACTIVE or entry.deleted_at is not None:
            return None
        row = self.fetch_one("same_text", digest=entry.digest, id=entry.id)
        return str(row[0]) if row else None

    def find_same_text(self, entry: Entry) -> SameText:
        """Return the entry with the same text, active or obsolete."""
        row = self.fetch_one("known_text", digest=entry.digest)
        if row is None:
            return SameText()
        return (
            SameText(active=row[0]) if row[1] == EntryStatus.ACTIVE else SameText(obsolete=row[0])
        )

    def find_imported(self, entry: Entry) -> str | None:
        """Return the id of an entry with the id or the text of an imported one."""
        by_id = self.execute("entry", id=entry.id, deleted=True)  # both in one round trip
        by_text = self.execute("known_text", digest=entry.digest)
        if by_id.fetchone() is not None:
            return entry.id
        row = by_text.fetchone()
        return str(row[0]) if row else None

    def insert(self, entry: Entry) -> None:
        """Insert an entry and its tags."""
        self.execute_row("insert_entry", entry_row(self.tenant, entry))
        self._insert_tags(entry)

    def update(self, before: Entry, after: Entry, action: str, moment: datetime) -> None:
        """Update an entry and add its previous state to the history."""
        self.execute_row("insert_history", history_row(self.tenant, before, action, moment))
        self.execute_row("update_entry", entry_row(self.tenant, after))
        if before.tags != after.tags:
            self.execute("delete_tags", entry_id=after.id)
            self._insert_tags(after)
        if (before.status, before.deleted_at) != (after.status, after.deleted_at):
            self.refresh_suggestions([after.id])

    def _insert_tags(self, entry: Entry) -> None:
        for tag in entry.tags:
            self.execute("insert_tag", tag=tag, entry_id=entry.id)

    def add_link(self, link: Link) -> bool:
        """Insert a link; returns False if it exists.

        `supersedes` makes its target obsolete; raises LINK_ALREADY_EXISTS if that closes a circle.
        """
        if not self._insert_link(link):
            return False
        if link.relation is RelationType.SUPERSEDES:
            before = self.get_existing(link.target_id)
            if before.superseded_by != link.source_id:  # an import may have set it
                self._check_circle(link)
                self._supersede(before, link.source_id, link.created_at)
        self.refresh_suggestions([link.target_id])
        return True

    def forget_reverted_link(self, link: Link) -> None:
        """Remove an earlier `supersedes` link whose target was reactivated by hand since.

        Otherwise the target could not be superseded by the same entry again.
        """
        if link.relation is not RelationType.SUPERSEDES:
            return
        if self.get_existing(link.target_id).status is EntryStatus.ACTIVE:
            self.execute_row("delete_link", link_row(self.tenant, link))

    def import_link(
        self, link: Link, known: Mapping[str, str], with_status: Collection[str]
    ) -> bool:
        """Insert an imported link between the entries that its ends became, if both exist.

        Entries in `with_status` state themselves what supersedes them.
        """
        source = known.get(link.source_id, link.source_id)
        target = known.get(link.target_id, link.target_id)
        link = replace(link, source_id=source, target_id=target)
        if len(self.entries("entries_by_id", ids=as_json([source, target]))) != 2:
            return False
        if target in with_status:
            added = self._insert_link(link)
            self.refresh_suggestions([target])
            return added
        if link.relation is RelationType.SUPERSEDES and self._closes_circle(source, target):
            return False
        return self.add_link(link)

    def release_superseded(
        self, deleted: Entry, new_id: Callable[[], str], moment: datetime
    ) -> None:
        """Point what a deleted entry superseded to another successor, or reactivate it.

        Without another one, that of the deleted entry follows, so that a chain keeps its end.
        """
        for before in self._targets(deleted.id):
            if before.superseded_by == deleted.id:
                self._release(before, deleted.superseded_by, new_id, moment)

    def release_restored(self, entry: Entry, new_id: Callable[[], str], moment: datetime) -> None:
        """Do the same for a restored entry whose successor was deleted meanwhile.

        One that had lost its successor is superseded again if that was restored meanwhile.
        """
        if entry.superseded_by is None:
            self._rejoin_chain(entry, moment)
            return
        row = self.fetch_one("entry", id=entry.superseded_by, deleted=True)
        successor = read_entry(row) if row is not None else None
        if successor is None:
            self._release(entry, None, new_id, moment)
        elif successor.deleted_at is not None:
            self._release(entry, successor.superseded_by, new_id, moment)

    def _release(
        self, before: Entry, heir: str | None, new_id: Callable[[], str], moment: datetime
    ) -> None:
        others = [
            link.source_id
            for link in self._supersedes_links([before.id])
            if link.target_id == before.id
        ]
        candidates = [*([heir] if heir else []), *others]
        present = {entry.id for entry in self.entries("entries_by_id", ids=as_json(candidates))}
        left = [id_ for id_ in candidates if id_ in present]  # without the deleted ones
        if not left:
            after = replace(
                before, status=EntryStatus.ACTIVE, superseded_by=None, updated_at=moment
            )
            if self.active_duplicate(after) is None:  # else another entry has its text by now
                self.update(before, after, REACTIVATE, moment)
            return
        successor = left[-1]
        self._insert_link(Link(new_id(), successor, before.id, RelationType.SUPERSEDES, moment))
        after = replace(before, superseded_by=successor, updated_at=moment)
        self.update(before, after, REPOINT, moment)

    def supersede_again(self, successor: str, moment: datetime) -> None:
        """Let a restored successor supersede again what its deletion released.

        Entries that changed since are left alone.
        """
        for before in self._targets(successor):
            if successor in self._lost_successors(before):
                self._supersede_in_chain(before, successor, moment)

    def _rejoin_chain(self, entry: Entry, moment: datetime) -> None:
        """Let the last of the successors that an entry had lost and that exist supersede it."""
        lost = self._lost_successors(entry)
        present = {found.id for found in self.entries("entries_by_id", ids=as_json(lost))}
        successor = next((id_ for id_ in lost if id_ in present), None)
        if successor is not None:
            self._supersede_in_chain(entry, successor, moment)

    def _lost_successors(self, entry: Entry) -> list[str]:
        """Return what superseded an entry until it was deleted, the last one first.

        Only since the entry was changed in another way.
        """
        revisions = itertools.takewhile(
            lambda revision: revision.action in RELEASING, reversed(self.history(entry.id))
        )
        found = (revision.before["superseded_by"] for revision in revisions)
        return [str(id_) for id_ in dict.fromkeys(found) if id_ is not None]

    def _supersede_in_chain(self, before: Entry, successor: str, moment: datetime) -> None:
        """Supersede an entry, unless it supersedes its successor by now."""
        if before.superseded_by != successor and not self._is_superseded(successor, before.id):
            self._supersede(before, successor, moment)

    def _insert_link(self, link: Link) -> bool:
        row = link_row(self.tenant, link)
        return self.execute_row("insert_link", row).fetchone() is not None

    def _supersede(self, before: Entry, successor: str, moment: datetime) -> None:
        after = replace(
            before, status=EntryStatus.OBSOLETE, superseded_by=successor, updated_at=moment
        )
        self.update(before, after, SUPERSEDE, moment)

    def _targets(self, successor: str) -> tuple[Entry, ...]:
        """Return the entries that a `supersedes` link from an entry leads to."""
        links = self._supersedes_links([successor])
        ids = {link.target_id for link in links if link.source_id == successor}
        return self.entries("entries_by_id", ids=as_json(sorted(ids)))

    def _check_circle(self, link: Link) -> None:
        if self._is_superseded(link.source_id, link.target_id):
            raise failure(
                LINK_ALREADY_EXISTS,
                f"{link.target_id} already supersedes {link.source_id}, directly or through "
                "others; two entries cannot supersede each other",
                hint="Reactivate the older one first: memory_update with status=active.",
            )

    def history(self, id_: str) -> tuple[Revision, ...]:
        """Return the earlier states of an entry, oldest first."""
        rows = self.execute("history", entry_id=id_).fetchall()
        return tuple(
            Revision(row[0], row[1], read_moment(row[2]), orjson.loads(row[3])) for row in rows
        )

    def _closes_circle(self, source: str, target: str) -> bool:
        return self.get_existing(target).superseded_by != source and self._is_superseded(
            source, target
        )

    def _is_superseded(self, id_: str, by: str) -> bool:
        """Say whether an entry is superseded by another, directly or through others.

        A reactivated entry is not.
        """
        visited: set[str] = set()
        ahead = {id_}
        while ahead and by not in ahead:
            visited |= ahead
            entries = self.entries("entries_by_id", ids=as_json(sorted(ahead)))
            replaced = {entry.id: entry.superseded_by for entry in entries if entry.superseded_by}
            ahead = {
                link.source_id
                for link in self._supersedes_links(replaced)
                if link.target_id in replaced
            } | set(replaced.values())
            ahead -= visited
        return by in ahead

    def _supersedes_links(self, ids: Iterable[str]) -> list[Link]:
        """Return the `supersedes` links from or to entries, oldest first."""
        links = [read_link(row) for row in self.execute("links_among", ids=as_json(sorted(ids)))]
        return [link for link in links if link.relation is RelationType.SUPERSEDES]

    def link_ends(self, query: str, id_: str) -> tuple[LinkedEntry, ...]:
        """Return the other ends of the links of an entry."""
        return tuple(
            LinkedEntry(row[0], row[1], RelationType(row[2])) for row in self.execute(query, id=id_)
        )

    def add_suggestion(self, suggestion: Suggestion) -> bool:
        """Insert a suggestion; returns False if its key was suggested before.

        Pending clusters that a new one contains are withdrawn.
        """
        row = suggestion_row(self.tenant, suggestion)
        if not (self._insert_suggestion(row) or self._add_contradiction_of_link(row)):
            return False
        if suggestion.type is SuggestionType.GENERALIZE:
            members = set(suggestion.entry_ids)
            for cluster in self.clusters(suggestion.entry_ids):
                if cluster.decision is Decision.PENDING and set(cluster.entry_ids) < members:
                    self.withdraw_suggestion(cluster)
        for entry_id in suggestion.entry_ids:
            self.execute("insert_suggestion_entry", entry_id=entry_id, suggestion_id=suggestion.id)
        return True

    def _insert_suggestion(self, row: Mapping[str, object]) -> bool:
        return self.execute_row("insert_suggestion", row).fetchone() is not None

    def _add_contradiction_of_link(self, row: Mapping[str, object]) -> bool:
        """Insert a contradiction under its own key if its pair was accepted as a link."""
        if row["type"] != SuggestionType.CONTRADICTION:
            return False
        if self.fetch_one("accepted_link", key=row["key"]) is None:
            return False
        return self._insert_suggestion({**row, "key": f"contradiction {row['key']}"})

    def revise_suggestion(self, suggestion: Suggestion) -> None:
        """Give a pending suggestion a new type, score and reason."""
        row = suggestion_row(self.tenant, suggestion)
        self.execute_row(
            "revise_suggestion",
            {key: row[key] for key in ("tenant", "id", "type", "score", "reason", "created_at")},
        )

    def withdraw_suggestion(self, suggestion: Suggestion) -> None:
        """Remove a pending suggestion, so that the same may be suggested again."""
        self.execute("delete_suggestion", id=suggestion.id)
        for entry_id in suggestion.entry_ids:
            self.execute(
                "delete_suggestion_entries", entry_id=entry_id, suggestion_id=suggestion.id
            )

    def refresh_suggestions(self, entry_ids: Iterable[str]) -> None:
        """Decide again which pending suggestions about these entries are listed."""
        self.execute("refresh_suggestions", ids=as_json(sorted(set(entry_ids))))

    def clusters(self, ids: Iterable[str]) -> tuple[Suggestion, ...]:
        """Return the generalisations, decided or not, that contain any of the ids."""
        return tuple(
            read_suggestion(row)
            for row in self.execute("clusters_with", ids=as_json(sorted(set(ids))))
        )

    def contradictions(self, ids: Iterable[str]) -> tuple[Suggestion, ...]:
        """Return the undecided contradictions that name any of the ids."""
        return tuple(
            read_suggestion(row)
            for row in self.execute("pending_contradictions", ids=as_json(sorted(set(ids))))
        )

    def decide(self, id_: str, decision: Decision, moment: datetime) -> Suggestion | None:
        """Decide a pending suggestion; returns None if it is already decided."""
        row = self.fetch_one("decide", id=id_, decision=decision.value, moment=iso(moment))
        return read_suggestion(row) if row else None

    def import_decision(self, suggestion: Suggestion, known: Mapping[str, str]) -> None:
        """Save an imported decision about the entries that its entries became, if all exist.

        A suggestion that was decided here stays so; a pending one is rejected if the import says.
        """
        ids = tuple(dict.fromkeys(known.get(id_, id_) for id_ in suggestion.entry_ids))
        present = {entry.id for entry in self.entries("entries_by_id", ids=as_json(ids))}
        if len(ids) != len(suggestion.entry_ids) or present != set(ids):
            return
        suggestion = replace(suggestion, entry_ids=ids)
        moment = suggestion.resolved_at or suggestion.created_at
        if self.add_suggestion(suggestion):
            self.execute("resolve_suggestion", id=suggestion.id, moment=iso(moment))
        elif suggestion.decision is Decision.REJECTED:
            self.execute("reject_pending", key=suggestion.key, moment=iso(moment))

    def copy_links(self, source: str, target: str, new_id: Callable[[], str]) -> int:
        """Give an entry the links of another; returns how many it did not have.

        What superseded the other entry does not supersede this one.
        """
        copied = 0
        for row in self.execute("links_among", ids=as_json([source])).fetchall():
            link = read_link(row)
            ends = tuple(target if id_ == source else id_ for id_ in link.ends)
            superseded = link.relation is RelationType.SUPERSEDES and link.target_id == source
            if ends[0] == ends[1] or superseded:
                continue
            copied += self._insert_link(
                replace(link, id=new_id(), source_id=ends[0], target_id=ends[1])
            )
        return copied

    def usage(self, ids: Iterable[str]) -> dict[str, EntryUsage]:
        """Return the accesses and reports of entries."""
        rows = self.execute("usage", ids=as_json(sorted(set(ids)))).fetchall()
        return {
            row[0]: EntryUsage(
                row[1],
                read_moment(row[2]),
                row[3],
                row[4],
                read_moment(row[5]) if row[5] else None,
            )
            for row in rows
        }

    def add_usage(self, entry_id: str, usage: EntryUsage) -> None:
        """Add accesses and reports to the counters of an entry."""
        if usage.last_accessed is None:
            return
        self.execute(
            "add_reports",
            entry_id=entry_id,
            count=usage.access_count,
            moment=iso(usage.last_accessed),
            confirmed=usage.confirmed,
            refuted=usage.refuted,
            last_confirmed=iso(usage.last_confirmed) if usage.last_confirmed else None,
        )

    def move_usage(self, source: str, target: str) -> None:
        """Add the counters of an entry to those of another, and start it anew."""
        usage = self.usage([source]).get(source)
        if usage is not None:
            self.add_usage(target, usage)
            self.execute("purge_usage", entry_id=source)

    def purge(self, entry: Entry) -> int | None:
        """Remove a deleted entry with all that is about it but what `forget` does.

        Returns how many earlier states; None if it was restored meanwhile.
        """
        if self.fetch_one("purge_entry", id=entry.id) is None:
            return None
        revisions = self.fetch_count("revisions_of", entry_id=entry.id)
        self.execute("delete_tags", entry_id=entry.id)
        for statement in (
            "purge_usage",
            "purge_links",
            "purge_history",
            "purge_outcomes",
            "purge_suggestions",
            "purge_mentions",
        ):
            self.execute(statement, entry_id=entry.id)
        self.execute("blank_suggestions", entry_id=entry.id)
        return revisions

    def forget(self, successors: Mapping[str, str | None]) -> None:
        """Remove the vectors of purged entries; what they superseded leads to their successors.

        Once for many entries, because each statement reads all entries or all vectors.
        """
        ids = as_json(list(successors))
        for id_, purged in self.execute("superseded_by_any", ids=ids).fetchall():
            successor: str | None = str(purged)
            for _ in successors:  # a successor may be purged too
                if successor is None or successor not in successors:
                    break
                successor = successors[successor]
            self.execute("repoint_superseded", id=id_, successor=successor)
        self.execute("purge_vectors", ids=ids)

    def add_accesses(self, entry_id: str, count: int, moment: datetime) -> None:
        """Add accesses to the counters of an entry."""
        self.execute("add_usage", entry_id=entry_id, count=count, moment=iso(moment))
