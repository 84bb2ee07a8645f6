"""The catalogue in memory: one value per instruction, the orders and facets that reads need, the
hash of the whole.

Every change updates it in place. Facets and orders are built when first asked for and kept from
then on.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from commonplace.instructions.engine.hashing import HashTree
from commonplace.instructions.engine.normalise import parse_time
from commonplace.instructions.model import Instruction

SortKey = tuple[Any, str]

FACETS: Mapping[str, Callable[[Mapping[str, Any]], Iterable[str]]] = {
    "categories": lambda d: d["categories"],
    "priorityTiers": lambda d: (d["priorityTier"],),
    "status": lambda d: (d["status"],),
    "owners": lambda d: (d["owner"].lower(),),
    "classification": lambda d: (d["classification"],),
    "requirements": lambda d: (d["requirement"],),
    "workspaceId": lambda d: (d["workspaceId"].lower(),) if d.get("workspaceId") else (),
    "userId": lambda d: (d["userId"].lower(),) if d.get("userId") else (),
    "teamIds": lambda d: {team.lower() for team in d.get("teamIds", ())},
    "audience": lambda d: (d["audience"],),
}
ORDERS: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "createdAt": lambda d: parse_time(d["createdAt"]) or 0.0,
    "updatedAt": lambda d: parse_time(d["updatedAt"]) or 0.0,
    "priority": lambda d: d["priority"],
    "title": lambda d: d["title"].lower(),
}

FEW = 32  # ids to put in order one by one


class Catalogue:
    """Not thread-safe by itself: its owner holds one lock around each use."""

    def __init__(self) -> None:
        self.entries: dict[str, Instruction] = {}
        self._ids: list[str] = []  # in byte order
        self._new_ids: list[str] = []  # not among them yet
        self.generation = 0  # moves with every change: caches compare it
        self._tree = HashTree()
        self._facets: dict[str, dict[str, set[str]]] = {}
        self._orders: dict[str, list[SortKey]] = {}
        self._listeners: list[Callable[[Instruction | None, Instruction | None], None]] = []
        self._members: dict[str, tuple[int, list[str]]] = {}

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Instruction]:
        return (self.entries[id_] for id_ in self.ids)

    @property
    def ids(self) -> list[str]:
        """In byte order; for reading only.

        New ones take their place when somebody looks: each moves half of a long list.
        """
        if self._new_ids:
            if len(self._new_ids) > FEW:
                self._ids += self._new_ids
                self._ids.sort()
            else:
                for id_ in self._new_ids:
                    insort(self._ids, id_)
            self._new_ids = []
        return self._ids

    def get(self, id_: str) -> Instruction | None:
        return self.entries.get(id_)

    def load(self, instructions: Iterable[Instruction]) -> None:
        """Fill an empty catalogue at once."""
        self.entries = {instruction.id: instruction for instruction in instructions}
        self._tree.fill((id_, entry.fingerprint) for id_, entry in self.entries.items())
        self._ids = sorted(self.entries)
        self.generation += 1

    def put(self, instruction: Instruction) -> None:
        before = self.entries.get(instruction.id)
        if before is None:
            self._new_ids.append(instruction.id)
        self.entries[instruction.id] = instruction
        self._tree.put(
            instruction.id, instruction.fingerprint, before.fingerprint if before else None
        )
        self._changed(before, instruction)

    def drop(self, id_: str) -> Instruction | None:
        before = self.entries.pop(id_, None)
        if before is not None:
            ids = self.ids
            del ids[bisect_left(ids, id_)]
            self._tree.drop(id_, before.fingerprint)
            self._changed(before, None)
        return before

    def follow(self, listener: Callable[[Instruction | None, Instruction | None], None]) -> None:
        """Tell a derived index of every change: (before, after)."""
        self._listeners.append(listener)

    def _changed(self, before: Instruction | None, after: Instruction | None) -> None:
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
        for listener in self._listeners:
            listener(before, after)

    @property
    def hash(self) -> str:
        return self._tree.root

    def facet(self, name: str) -> dict[str, set[str]]:
        """Value to ids; for reading only."""
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
        """(key, id) ascending; for reading only."""
        ordered = self._orders.get(name)
        if ordered is None:
            read = ORDERS[name]
            ordered = self._orders[name] = sorted(
                (read(entry.document), entry.id) for entry in self.entries.values()
            )
        return ordered

    def members(self, category: str) -> list[str]:
        """Ids of a category in byte order."""
        known = self._members.get(category)
        if known is None or known[0] != self.generation:
            if len(self._members) > 256:
                self._members.clear()
            known = self._members[category] = (
                self.generation,
                sorted(self.facet("categories").get(category, ())),
            )
        return known[1]

    def last_modified(self) -> str:
        """The newest updatedAt, or the beginning of time for an empty catalogue."""
        newest = self.order("updatedAt")
        return (
            str(self.entries[newest[-1][1]].document["updatedAt"])
            if newest
            else "1970-01-01T00:00:00.000Z"
        )
