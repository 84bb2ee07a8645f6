"""Catalogue in memory: instructions, facets, sort orders, and the hash of all of them.

A change updates it in place. Facets and orders are built on first use. Archived instructions are
kept apart: lists, search, graph and hashes do not see them.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from commonplace.instructions.engine.hashing import HashTree
from commonplace.instructions.engine.scope.languages import normal_languages
from commonplace.instructions.engine.scope.path_index import PathIndex
from commonplace.instructions.engine.scope.rule_scope import RuleScope, effective_activation
from commonplace.instructions.engine.times import parse_time
from commonplace.instructions.model import Instruction
from commonplace.kernel.json_types import Json

SortKey = tuple[Json, str]  # value of the sort field (a number or a text), id

FACETS: Mapping[str, Callable[[Mapping[str, Json]], Iterable[str]]] = {
    "categories": lambda d: d["categories"],
    "priority_tiers": lambda d: (d["priorityTier"],),
    "status": lambda d: (d["status"],),
    "owners": lambda d: (d["owner"].lower(),),
    "classification": lambda d: (d["classification"],),
    "requirements": lambda d: (d["requirement"],),
    "workspace_id": lambda d: (d["workspaceId"].lower(),) if d.get("workspaceId") else (),
    "user_id": lambda d: (d["userId"].lower(),) if d.get("userId") else (),
    "team_ids": lambda d: {team.lower() for team in d.get("teamIds", ())},
    "audience": lambda d: (d["audience"],),
    "activation": lambda d: (effective_activation(d),),
    "languages": lambda d: normal_languages(d.get("languages") or ()),
}
ORDERS: Mapping[str, Callable[[Mapping[str, Json]], Json]] = {
    "createdAt": lambda d: parse_time(d["createdAt"]) or 0.0,
    "updatedAt": lambda d: parse_time(d["updatedAt"]) or 0.0,
    "priority": lambda d: d["priority"],
    "title": lambda d: d["title"].lower(),
}

INSERT_LIMIT = 32  # more new ids than this are sorted at once


class Catalogue:
    """Instructions by id. The store holds a lock around changes and around each reader.

    Its only writer reads without that lock, beside readers, so derived data (the hash, sorted ids,
    facets, orders) is built under a lock of its own.
    """

    def __init__(self) -> None:
        self._derived = threading.RLock()
        self.entries: dict[str, Instruction] = {}
        self.archived: dict[str, Instruction] = {}
        self._ids: list[str] = []  # in byte order
        self._new_ids: list[str] = []  # not inserted yet
        self.generation = 0  # increases with every change; caches compare it
        self._tree = HashTree()
        self._facets: dict[str, dict[str, set[str]]] = {}
        self._orders: dict[str, list[SortKey]] = {}
        self._listeners: list[Callable[[Instruction | None, Instruction | None], None]] = []
        self._followers: list[Callable[[str, Instruction | None], None]] = []
        self._members: dict[str, tuple[int, list[str]]] = {}
        self._paths: PathIndex | None = None
        self._counts: dict[str, tuple[int, Counter[str]]] = {}
        self._due: tuple[int, list[tuple[float, str]]] | None = None

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Instruction]:
        return (self.entries[id_] for id_ in self.ids)

    @property
    def ids(self) -> list[str]:
        """Return all ids in byte order; do not modify the list.

        New ids are inserted on demand, because an insertion moves half of a long list.
        """
        with self._derived:
            if self._new_ids:
                if len(self._new_ids) > INSERT_LIMIT:
                    self._ids += self._new_ids
                    self._ids.sort()
                else:
                    for id_ in self._new_ids:
                        insort(self._ids, id_)
                self._new_ids = []
            return self._ids

    def get(self, id_: str) -> Instruction | None:
        """Return the instruction with this id, unless it is archived."""
        return self.entries.get(id_)

    def stored(self, id_: str) -> Instruction | None:
        """Return the instruction with this id, archived or not."""
        return self.entries.get(id_) or self.archived.get(id_)

    def load(self, instructions: Iterable[Instruction]) -> None:
        """Fill an empty catalogue."""
        for instruction in instructions:
            kept = self.archived if instruction.archived else self.entries
            kept[instruction.id] = instruction
        self._tree.fill((id_, entry.fingerprint) for id_, entry in self.entries.items())
        self._ids = sorted(self.entries)
        self.generation += 1

    def put(self, instruction: Instruction) -> None:
        """Add or replace an instruction."""
        if instruction.archived:
            self._drop(instruction.id)
            self.archived[instruction.id] = instruction
            self.generation += 1
        else:
            self.archived.pop(instruction.id, None)
            self._put(instruction)
        for follower in self._followers:
            follower(instruction.id, instruction)

    def _put(self, instruction: Instruction) -> None:
        with self._derived:
            before = self.entries.get(instruction.id)
            if before is None:
                self._new_ids.append(instruction.id)
            self.entries[instruction.id] = instruction
            self._tree.put(
                instruction.id, instruction.fingerprint, before.fingerprint if before else None
            )
            self._update_facets(before, instruction)

    def drop(self, id_: str) -> Instruction | None:
        """Remove an instruction and return it."""
        before = self._drop(id_)
        for follower in self._followers if before is not None else ():
            follower(id_, None)
        return before

    def _drop(self, id_: str) -> Instruction | None:
        with self._derived:
            before = self.entries.pop(id_, None)
            if before is None:
                before = self.archived.pop(id_, None)
                self.generation += before is not None
            else:
                ids = self.ids
                del ids[bisect_left(ids, id_)]
                self._tree.drop(id_, before.fingerprint)
                self._update_facets(before, None)
            return before

    def subscribe(self, listener: Callable[[Instruction | None, Instruction | None], None]) -> None:
        """Call a listener with (before, after) of every change, archived instructions left out."""
        self._listeners.append(listener)

    def follow(self, follower: Callable[[str, Instruction | None], None]) -> None:
        """Call a follower with every id that changes and its new state, archived ones included."""
        self._followers.append(follower)

    def _update_facets(self, before: Instruction | None, after: Instruction | None) -> None:
        self.generation += 1
        for name, values in self._facets.items():
            if before is not None:
                for value in FACETS[name](before.document):
                    members = values.get(value)
                    if members is not None:
                        members.discard(before.id)
                        if not members:
                            del values[value]
            if after is not None:
                for value in FACETS[name](after.document):
                    values.setdefault(value, set()).add(after.id)
        for name, order in self._orders.items():
            if before is not None:
                at = bisect_left(order, (ORDERS[name](before.document), before.id))
                del order[at]
            if after is not None:
                insort(order, (ORDERS[name](after.document), after.id))
        if self._paths is not None:
            if before is not None:
                self._paths.drop(before.id)
            if after is not None:
                self._paths.put(after.id, RuleScope.of(after.document))
        for listener in self._listeners:
            listener(before, after)

    @property
    def hash(self) -> str:
        """Return the hash of the whole catalogue."""
        with self._derived:
            return self._tree.root

    def facet(self, name: str) -> dict[str, set[str]]:
        """Return ids by value of a facet; do not modify the sets."""
        with self._derived:
            values = self._facets.get(name)
            if values is None:
                values = {}
                read = FACETS[name]
                for entry in self.entries.values():
                    for value in read(entry.document):
                        values.setdefault(value, set()).add(entry.id)
                self._facets[name] = values
            return values

    def order(self, name: str) -> list[SortKey]:
        """Return (key, id) in ascending order; do not modify the list."""
        with self._derived:
            ordered = self._orders.get(name)
            if ordered is None:
                read = ORDERS[name]
                ordered = self._orders[name] = sorted(
                    (read(entry.document), entry.id) for entry in self.entries.values()
                )
            return ordered

    def members(self, category: str) -> list[str]:
        """Return the ids of a category in byte order."""
        known = self._members.get(category)
        if known is None or known[0] != self.generation:
            if len(self._members) > 256:
                self._members.clear()
            known = self._members[category] = (
                self.generation,
                sorted(self.facet("categories").get(category, ())),
            )
        return known[1]

    def paths(self) -> PathIndex:
        """Return the index of scopes by path; do not modify it."""
        with self._derived:
            if self._paths is None:
                self._paths = PathIndex(
                    (id_, RuleScope.of(entry.document)) for id_, entry in self.entries.items()
                )
            return self._paths

    def counts(self, field: str) -> Counter[str]:
        """Count the values of a field, `(none)` where it is empty, once per change.

        Do not modify the counter.
        """
        known = self._counts.get(field)
        if known is None or known[0] != self.generation:
            values = (entry.document.get(field) or "(none)" for entry in self)
            known = self._counts[field] = (self.generation, Counter(map(str, values)))
        return known[1]

    def reviews(self) -> list[tuple[float, str]]:
        """Return the times of next reviews with ids, earliest first, built once per change.

        Do not modify the list.
        """
        if self._due is None or self._due[0] != self.generation:
            times = (
                (parse_time(entry.document.get("nextReviewDue")), id_)
                for id_, entry in self.entries.items()
            )
            due = sorted((moment, id_) for moment, id_ in times if moment is not None)
            self._due = self.generation, due
        return self._due[1]

    def last_modified(self) -> str:
        """Return the newest `updatedAt`, or 1970 for an empty catalogue."""
        newest = self.order("updatedAt")
        return (
            str(self.entries[newest[-1][1]].document["updatedAt"])
            if newest
            else "1970-01-01T00:00:00.000Z"
        )
