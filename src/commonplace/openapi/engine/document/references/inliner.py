"""Replacement of references by their targets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.document.keywords import NAME_MAPS, collect_references, is_literal
from commonplace.openapi.engine.document.references.resolver import ReferenceResolver, Target
from commonplace.openapi.errors import SPEC_TOO_DEEP


class InlinedValue(NamedTuple):
    """A value with references replaced, and its number of nodes and levels."""

    value: Json
    nodes: int
    depth: int


_ReferenceKey = tuple[str, str]  # document and reference


@dataclass(slots=True)
class Inliner:
    """Replaces references by their targets.

    Equal references share one value, so the result must not be changed.

    References on a cycle are replaced once; inside, those of the same cycle stay. So a result
    does not depend on where it is used, and the work is linear even if thousands of schemas refer
    to each other.
    """

    resolver: ReferenceResolver
    node_limit: int = 200_000
    depth_limit: int = 200
    circular: set[str] = field(default_factory=set)
    unresolved: set[str] = field(default_factory=set)
    left: set[str] = field(default_factory=set)  # not replaced: the result would be too large
    _done: dict[_ReferenceKey, InlinedValue | None] = field(default_factory=dict)
    # The strongly connected component of each reference; 0 if it is on no cycle.
    _cycle: dict[_ReferenceKey, int] = field(default_factory=dict)
    _targets: dict[_ReferenceKey, Target | None] = field(default_factory=dict)

    def write(self, value: Json, base: str = "", *, named: bool = False) -> InlinedValue:
        """Return a value with its references replaced.

        `named`: the keys of the value are names (the properties of a schema), not keywords.
        """
        try:
            return self._write(value, base, 0, named)
        except RecursionError:
            hint = "Omit resolve_refs, or ask for one component at a time."
            raise CommonplaceError(
                SPEC_TOO_DEEP,
                "The chain of references is too long to be replaced in one answer.",
                hint=hint,
            ) from None

    def _write(self, value: Json, base: str, cycle: int, named: bool = False) -> InlinedValue:
        if type(value) is dict:
            ref = value.get("$ref")
            return (
                self._reference(value, ref, base, cycle)
                if type(ref) is str
                else self._object(value, base, cycle, named)
            )
        if type(value) is list:
            inlined = [self._write(item, base, cycle) for item in value]
            depth = max((item.depth for item in inlined), default=0) + 1
            return InlinedValue(
                [item.value for item in inlined], sum(item.nodes for item in inlined) + 1, depth
            )
        return InlinedValue(value, 1, 0)

    def _object(
        self, value: JsonObject, base: str, cycle: int, named: bool = False
    ) -> InlinedValue:
        result: JsonObject = {}
        nodes, depth = 1, 0
        for key, item in value.items():
            kind = type(item)
            if (kind is dict or kind is list) and (named or not is_literal(key, item)):
                inlined = self._write(item, base, cycle, not named and key in NAME_MAPS)
                result[key] = inlined.value
                nodes += inlined.nodes
                if inlined.depth > depth:
                    depth = inlined.depth
            else:
                result[key] = item
                nodes += 1
        return InlinedValue(result, nodes, depth + 1)

    def _reference(self, value: JsonObject, ref: str, base: str, cycle: int) -> InlinedValue:
        key = (base, ref)
        if key not in self._cycle:
            self._find_cycles(key)
        own = self._cycle[key]
        if own and own == cycle:
            self.circular.add(ref)
            return InlinedValue(value, 2, 1)
        if key not in self._done:
            target = self._targets[key]
            self._done[key] = (
                None if target is None else self._write(target.value, target.base, own)
            )
        inlined = self._done[key]
        if inlined is None:
            self.unresolved.add(ref)
            return InlinedValue(value, 2, 1)
        if inlined.nodes > self.node_limit or inlined.depth > self.depth_limit:
            self.left.add(ref)
            return InlinedValue(value, 2, 1)
        if (
            len(value) > 1
            and type(inlined.value) is dict
            and self.resolver.document.family.json_schema
        ):
            extra = self._object(
                {name: item for name, item in value.items() if name != "$ref"}, base, cycle
            )
            return InlinedValue(
                {**inlined.value, **extra.value},
                inlined.nodes + extra.nodes,
                max(inlined.depth, extra.depth),
            )
        return inlined

    def _successors(self, key: _ReferenceKey) -> list[_ReferenceKey]:
        base, ref = key
        try:
            target = self._targets[key] = self.resolver.resolve(ref, base)
        except CommonplaceError:
            self._targets[key] = None
            return []
        return [(target.base, reference) for reference in collect_references(target.value)]

    def _find_cycles(self, start: _ReferenceKey) -> None:
        """Find cycles among the references reachable from here (Tarjan, without recursion)."""
        order: dict[_ReferenceKey, int] = {}
        low: dict[_ReferenceKey, int] = {}
        stack: list[_ReferenceKey] = []
        on_stack: set[_ReferenceKey] = set()
        work: list[tuple[_ReferenceKey, list[_ReferenceKey]]] = [(start, self._successors(start))]
        order[start] = low[start] = 0
        stack.append(start)
        on_stack.add(start)
        loops: set[_ReferenceKey] = set()
        while work:
            key, rest = work[-1]
            if rest:
                following = rest.pop()
                if following == key:
                    loops.add(key)
                if following in self._cycle:
                    continue
                if following not in order:
                    order[following] = low[following] = len(order)
                    stack.append(following)
                    on_stack.add(following)
                    work.append((following, self._successors(following)))
                elif following in on_stack:
                    low[key] = min(low[key], order[following])
                continue
            work.pop()
            if work:
                above = work[-1][0]
                low[above] = min(low[above], low[key])
            if low[key] == order[key]:
                members = []
                while True:
                    member = stack.pop()
                    on_stack.discard(member)
                    members.append(member)
                    if member == key:
                        break
                number = len(self._cycle) + 1 if len(members) > 1 or key in loops else 0
                for member in members:
                    self._cycle[member] = number
