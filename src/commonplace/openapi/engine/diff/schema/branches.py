"""Matching of the branches of a oneOf or anyOf with those of the other document."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from hashlib import blake2b
from typing import NamedTuple

from commonplace.openapi.engine.diff.schema.model import SchemaIdentity, SchemaSite, SchemaView
from commonplace.openapi.engine.diff.schema.values import canonical
from commonplace.openapi.engine.diff.schema.views import SchemaViews
from commonplace.openapi.engine.pointers import decode_pointer

_MAX_DEPTH = 4


class BranchShapes:
    """Shapes of the schemas of one document, each computed once."""

    def __init__(self, views: SchemaViews) -> None:
        self.views = views
        self._digests: dict[tuple[SchemaIdentity, int], bytes] = {}

    def digest(self, site: SchemaSite, depth: int = _MAX_DEPTH) -> bytes:
        """Return a digest of a schema down to some depth, in any order.

        It is the same whether parts are written in place or by reference.
        """
        known = self._digests.get((site.identity, depth))
        if known is None:
            view = self.views.view(site)
            statements = _list_statements(view)
            if depth:
                inner = {f"p{name}": child for name, child in view.properties.items()}
                inner |= {
                    name: child
                    for name, child in (("items", view.items), ("additional", view.additional))
                    if child is not None
                }
                statements += sorted(
                    f"{name}={self.digest(child, depth - 1).hex()}" for name, child in inner.items()
                )
                for choice in view.choices:
                    digests = [self.digest(branch, depth - 1).hex() for branch in choice.branches]
                    statements += ["choice", *sorted(digests)]
            text = "\n".join(statements).encode(errors="replace")
            known = self._digests[site.identity, depth] = blake2b(text, digest_size=16).digest()
        return known

    def outline(self, site: SchemaSite) -> Hashable:
        """Return the types of a schema, the names of its properties and their fixed values."""
        view = self.views.view(site)
        inner = [
            self.views.view(child) for child in (view.items, view.additional) if child is not None
        ]
        properties = {name: self.views.view(child) for name, child in view.properties.items()}
        fixed = frozenset(
            (name, _collect_values(child))
            for name, child in properties.items()
            if child.enum is not None
        )
        names = (
            frozenset(view.properties),
            frozenset(view.required),
            bool(view.closed),
            len(view.choices),
        )
        return (
            (view.types, _collect_values(view)),
            *((child.types, _collect_values(child)) for child in inner),
            names,
            fixed,
        )


MatchKeys = Callable[[BranchShapes, SchemaSite, bool], Iterable[Hashable]]
"""Returns the keys of a branch.

The last argument asks for all keys under which it can be found, not only those to look up.
"""


class MatchedBranches(NamedTuple):
    """Pairs of branches with a common key, and the rest of both sides."""

    pairs: list[tuple[SchemaSite, SchemaSite]]
    before: list[SchemaSite]
    after: list[SchemaSite]


class BranchMatcher:
    """Finds the branches of one document among those of the other."""

    def __init__(self, old: SchemaViews, new: SchemaViews) -> None:
        self.old, self.new = BranchShapes(old), BranchShapes(new)

    def match(
        self, before: list[SchemaSite], after: list[SchemaSite], keys: MatchKeys, apart: bool
    ) -> MatchedBranches:
        """Pair the branches that share a key.

        `apart`: never pair two branches that both have names.
        """
        waiting: dict[Hashable, deque[int]] = {}
        for position, site in enumerate(after if before else ()):
            named = apart and bool(get_name(site))
            for key in keys(self.new, site, True):
                waiting.setdefault((key, named), deque()).append(position)
        taken: set[int] = set()
        pairs, unmatched = [], []
        for branch in before:
            sorts = (False, True) if apart and not get_name(branch) else (False,)
            queues = (
                waiting.get((key, sort)) for key in keys(self.old, branch, False) for sort in sorts
            )
            free = (_find_free(queue, taken) for queue in queues if queue)
            position_found = next((position for position in free if position is not None), None)
            if position_found is None:
                unmatched.append(branch)
            else:
                taken.add(position_found)
                pairs.append((branch, after[position_found]))
        rest = [site for position, site in enumerate(after) if position not in taken]
        return MatchedBranches(pairs, unmatched, rest)


def _find_free(queue: deque[int], taken: set[int]) -> int | None:
    while queue and queue[0] in taken:
        queue.popleft()
    return queue[0] if queue else None


def list_match_keys(named: bool) -> tuple[tuple[MatchKeys, bool], ...]:
    """Return how to match branches, the surest way first, with `apart` for each.

    `named`: a discriminator selects branches by their names.
    """
    return (own_key, False), (digest_key, named), (outline_key, named), (type_keys, True)


def label_branch(site: SchemaSite) -> str:
    """Name a branch in a message: by its reference, its title or its place."""
    schema = site.schema
    if isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            return f"#{decode_pointer(schema['$ref'].partition('#')[2])}"
        if isinstance(schema.get("title"), str):
            return repr(schema["title"])
    return f"at {site.pointer}"


def own_key(shapes: BranchShapes, site: SchemaSite, found: bool) -> Iterable[Hashable]:
    """Return the name of the schema it refers to, or its text."""
    return [get_name(site) or canonical(site.schema)]


def digest_key(shapes: BranchShapes, site: SchemaSite, found: bool) -> Iterable[Hashable]:
    """Return what it says down to some depth."""
    return [shapes.digest(site)]


def outline_key(shapes: BranchShapes, site: SchemaSite, found: bool) -> Iterable[Hashable]:
    """Return its types and the names of its properties."""
    return [shapes.outline(site)]


def type_keys(shapes: BranchShapes, site: SchemaSite, found: bool) -> Iterable[Hashable]:
    """Yield its types, for objects together with each property."""
    view = shapes.views.view(site)
    if view.types is not None:
        properties = view.properties if "object" in view.types else {}
        yield from ((view.types, name) for name in properties)
        if found or not properties:
            yield view.types, None


def get_name(site: SchemaSite) -> str:
    """Return the name of the schema that a branch refers to; empty if it is written in place."""
    ref = site.schema.get("$ref") if isinstance(site.schema, dict) else None
    return decode_pointer(ref).rpartition("/")[2] if isinstance(ref, str) else ""


def _collect_values(view: SchemaView) -> frozenset[bytes] | None:
    return None if view.enum is None else frozenset(map(canonical, view.enum))


def _list_statements(view: SchemaView) -> list[str]:
    values = _collect_values(view)
    return [
        "any" if view.types is None else f"types {sorted(view.types)}",
        "" if values is None else f"values {sorted(values)}",
        (
            f"{sorted(view.required)} {sorted(view.lower.items())} {sorted(view.upper.items())} "
            f"{sorted(view.patterns)} {sorted(view.formats)}"
        ),
        (
            f"{bool(view.closed)} {view.unique} {view.nothing} {sorted(view.multiples)} "
            f"{canonical(view.undecided)!r}"
        ),
    ]
