"""One tenant's rows inside one unit of work: entries with their tags and history, links with
what they mean, suggestions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import orjson

from commonplace.kernel.auth import Tenant
from commonplace.kernel.clock import iso
from commonplace.memory.errors import LINK_ALREADY_EXISTS, failure
from commonplace.memory.model import (
    Decision,
    Entry,
    EntryStatus,
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
from commonplace.storage.relational import Connection, Row, Rows

BRING_BACK = "bring back"  # what history calls it


@dataclass(frozen=True, slots=True)
class TenantRows:
    """Statements whose answers are not read travel to PostgreSQL together."""

    connection: Connection
    queries: Mapping[str, str]
    tenant: Tenant

    def ask(self, query: str, /, **parameters: Any) -> Rows:
        return self.connection.execute(self.queries[query], {"tenant": self.tenant, **parameters})

    def put(self, query: str, row: Mapping[str, Any]) -> Rows:
        """A statement with a whole row of rows.py, which names the tenant already."""
        return self.connection.execute(self.queries[query], row)

    def one(self, query: str, /, **parameters: Any) -> Row | None:
        return self.ask(query, **parameters).fetchone()

    def number(self, query: str, /, **parameters: Any) -> int:
        row = self.one(query, **parameters)
        return int(row[0]) if row else 0

    def entries(self, query: str, /, **parameters: Any) -> tuple[Entry, ...]:
        return tuple(read_entry(row) for row in self.ask(query, **parameters))

    def known(self, id_: str) -> Entry:
        """An entry that must be there, deleted or not."""
        row = self.one("entry", id=id_, deleted=True)
        assert row is not None, "entries are never removed, only marked as deleted"
        return read_entry(row)

    def same_text(self, entry: Entry) -> str | None:
        """The active entry that says what this one says."""
        if entry.status is not EntryStatus.ACTIVE or entry.deleted_at is not None:
            return None
        row = self.one("same_text", digest=entry.digest, id=entry.id)
        return str(row[0]) if row else None

    def text_known(self, entry: Entry) -> SameText:
        """The entry that says what this one says, active or obsolete."""
        row = self.one("known_text", digest=entry.digest)
        if row is None:
            return SameText()
        return (
            SameText(active=row[0]) if row[1] == EntryStatus.ACTIVE else SameText(obsolete=row[0])
        )

    def imported_before(self, entry: Entry) -> str | None:
        """By id, deleted or not, or by its text, active or not: importing twice adds nothing."""
        if self.one("entry", id=entry.id, deleted=True) is not None:
            return entry.id
        row = self.one("known_text", digest=entry.digest)
        return str(row[0]) if row else None

    def insert(self, entry: Entry) -> None:
        self.put("insert_entry", entry_row(self.tenant, entry))
        self._insert_tags(entry)

    def change(self, before: Entry, after: Entry, action: str, moment: datetime) -> None:
        """What it was goes to its history."""
        self.put("insert_history", history_row(self.tenant, before, action, moment))
        self.put("update_entry", entry_row(self.tenant, after))
        if before.tags != after.tags:
            self.ask("delete_tags", entry_id=after.id)
            self._insert_tags(after)
        if (before.status, before.deleted_at) != (after.status, after.deleted_at):
            self.refresh_suggestions([after.id])

    def _insert_tags(self, entry: Entry) -> None:
        for tag in entry.tags:
            self.ask("insert_tag", tag=tag, entry_id=entry.id)

    def link(self, link: Link) -> bool:
        """Whether it is new.

        A successor makes what it supersedes obsolete. Raises LINK_ALREADY_EXISTS for a circle of
        successors.
        """
        if self.put("insert_link", link_row(self.tenant, link)).fetchone() is None:
            return False
        if link.relation is RelationType.SUPERSEDES:
            before = self.known(link.target_id)
            if before.superseded_by != link.source_id:  # an import may say so already
                if self._replaced(link.source_id, link.target_id):
                    raise failure(
                        LINK_ALREADY_EXISTS,
                        f"{link.target_id} supersedes {link.source_id} already, itself or "
                        f"through others; two cannot replace each other",
                        hint="memory_update with status=active brings the older one back first.",
                    )
                after = replace(
                    before,
                    status=EntryStatus.OBSOLETE,
                    superseded_by=link.source_id,
                    updated_at=link.created_at,
                )
                self.change(before, after, "supersede", link.created_at)
        self.refresh_suggestions([link.target_id])
        return True

    def import_link(self, link: Link, known: Mapping[str, str], settled: Collection[str]) -> bool:
        """A link of an import: between what its ends became, if both are here and are two.

        Entries that are settled came with their own word on what supersedes them."""
        source, target = (
            known.get(link.source_id, link.source_id),
            known.get(link.target_id, link.target_id),
        )
        here = self.ask("entries_by_id", ids=as_json([source, target])).fetchall()
        if len(here) == 2 and target in settled:
            row = link_row(self.tenant, replace(link, source_id=source, target_id=target))
            added = self.put("insert_link", row).fetchone() is not None
            self.refresh_suggestions([target])
            return added
        if len(here) != 2 or (
            link.relation is RelationType.SUPERSEDES and self._closes_circle(source, target)
        ):
            return False
        return self.link(replace(link, source_id=source, target_id=target))

    def bring_back(self, successor: str, moment: datetime) -> None:
        """What a deleted entry superseded points to its other successor, or is active again
        where it has none.
        """
        mine = {
            link.target_id for link in self._successions([successor]) if link.source_id == successor
        }
        for before in self.entries("entries_by_id", ids=as_json(sorted(mine))):
            if before.superseded_by != successor:
                continue
            others = [
                link.source_id
                for link in self._successions([before.id])
                if link.target_id == before.id
            ]
            here = {
                entry.id for entry in self.entries("entries_by_id", ids=as_json(others))
            }  # not the deleted ones
            left = [id_ for id_ in others if id_ in here]
            after = replace(before, superseded_by=left[-1] if left else None, updated_at=moment)
            after = after if left else replace(after, status=EntryStatus.ACTIVE)
            if self.same_text(after) is None:  # else it stays obsolete: another one says it by now
                self.change(before, after, BRING_BACK, moment)

    def supersede_again(self, successor: str, moment: datetime) -> None:
        """A successor that is restored takes the place that its deletion took from it, unless
        something else happened since.
        """
        mine = {
            link.target_id for link in self._successions([successor]) if link.source_id == successor
        }
        for before in self.entries("entries_by_id", ids=as_json(sorted(mine))):
            last = self.history(before.id)[-1:]
            if (
                last
                and last[0].action == BRING_BACK
                and last[0].before["superseded_by"] == successor
            ):
                self.change(
                    before,
                    replace(
                        before,
                        status=EntryStatus.OBSOLETE,
                        superseded_by=successor,
                        updated_at=moment,
                    ),
                    "supersede",
                    moment,
                )

    def history(self, id_: str) -> tuple[Revision, ...]:
        rows = self.ask("history", entry_id=id_).fetchall()
        return tuple(
            Revision(row[0], row[1], read_moment(row[2]), orjson.loads(row[3])) for row in rows
        )

    def _closes_circle(self, source: str, target: str) -> bool:
        return self.known(target).superseded_by != source and self._replaced(source, target)

    def _replaced(self, id_: str, by: str) -> bool:
        """Whether an entry was superseded by another, directly or through others.

        One that was brought back was not.
        """
        seen: set[str] = set()
        ahead = {id_}
        while ahead and by not in ahead:
            seen |= ahead
            entries = self.entries("entries_by_id", ids=as_json(sorted(ahead)))
            replaced = {entry.id: entry.superseded_by for entry in entries if entry.superseded_by}
            ahead = {
                link.source_id for link in self._successions(replaced) if link.target_id in replaced
            } | set(replaced.values())
            ahead -= seen
        return by in ahead

    def _successions(self, ids: Iterable[str]) -> list[Link]:
        """The `supersedes` links from or to entries, oldest first."""
        links = [read_link(row) for row in self.ask("links_among", ids=as_json(sorted(ids)))]
        return [link for link in links if link.relation is RelationType.SUPERSEDES]

    def ends(self, query: str, id_: str) -> tuple[LinkedEntry, ...]:
        return tuple(
            LinkedEntry(row[0], row[1], RelationType(row[2])) for row in self.ask(query, id=id_)
        )

    def suggest(self, suggestion: Suggestion) -> bool:
        """Whether its key was never suggested.

        Pending clusters that a new one contains give way to it.
        """
        row = suggestion_row(self.tenant, suggestion)
        if self.put(
            "insert_suggestion", row
        ).fetchone() is None and not self._contradicts_accepted_link(row):
            return False
        if suggestion.type is SuggestionType.GENERALIZE:
            for smaller in self.clusters(suggestion.entry_ids):
                if smaller.decision is Decision.PENDING and set(smaller.entry_ids) < set(
                    suggestion.entry_ids
                ):
                    self.withdraw(smaller)
        for entry_id in suggestion.entry_ids:
            self.ask("insert_suggestion_entry", entry_id=entry_id, suggestion_id=suggestion.id)
        return True

    def _contradicts_accepted_link(self, row: Mapping[str, Any]) -> bool:
        """Keep a contradiction under a key of its own where its pair was accepted as a link;
        return whether it is new.
        """
        if (
            row["type"] != SuggestionType.CONTRADICTION
            or self.one("accepted_link", key=row["key"]) is None
        ):
            return False
        return (
            self.put("insert_suggestion", {**row, "key": f"contradiction {row['key']}"}).fetchone()
            is not None
        )

    def revise(self, suggestion: Suggestion) -> None:
        """Give a pending suggestion a new type, score and reason."""
        row = suggestion_row(self.tenant, suggestion)
        self.put(
            "revise_suggestion",
            {key: row[key] for key in ("tenant", "id", "type", "score", "reason", "created_at")},
        )

    def withdraw(self, suggestion: Suggestion) -> None:
        """Remove a pending suggestion, so that the same may be suggested again."""
        self.ask("delete_suggestion", id=suggestion.id)
        for entry_id in suggestion.entry_ids:
            self.ask("delete_suggestion_entries", entry_id=entry_id, suggestion_id=suggestion.id)

    def refresh_suggestions(self, entry_ids: Iterable[str]) -> None:
        """Work out again which pending suggestions about these entries are listed."""
        self.ask("refresh_suggestions", ids=as_json(sorted(set(entry_ids))))

    def clusters(self, ids: Iterable[str]) -> tuple[Suggestion, ...]:
        return tuple(
            read_suggestion(row) for row in self.ask("clusters_with", ids=as_json(sorted(set(ids))))
        )

    def count_use(self, entry_id: str, count: int, moment: datetime) -> None:
        self.ask("add_usage", entry_id=entry_id, count=count, moment=iso(moment))
