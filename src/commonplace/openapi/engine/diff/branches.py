"""What a branch of a oneOf or anyOf is known by, so that it is found again in the other
document.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from hashlib import blake2b

from commonplace.openapi.engine.diff.model import SchemaIdentity, SchemaSite, SchemaView
from commonplace.openapi.engine.diff.values import canonical
from commonplace.openapi.engine.diff.views import SchemaViews
from commonplace.openapi.engine.pointers import decode_pointer

_DEEPEST = 4


class Shapes:
    """Shapes of the schemas of one document, each computed once."""

    def __init__(self, views: SchemaViews) -> None:
        self.views = views
        self._deep: dict[tuple[SchemaIdentity, int], bytes] = {}

    def deep(self, site: SchemaSite, depth: int = _DEEPEST) -> bytes:
        """A digest of all that a schema says to some depth, by reference or in place, in any
        order.
        """
        known = self._deep.get((site.identity, depth))
        if known is None:
            view = self.views.view(site)
            said = [*_said(view)]
            if depth:
                inner = {f"p{name}": one for name, one in view.properties.items()}
                inner |= {
                    name: one
                    for name, one in (("items", view.items), ("additional", view.additional))
                    if one is not None
                }
                said += sorted(
                    f"{name}={self.deep(one, depth - 1).hex()}" for name, one in inner.items()
                )
                for choice in view.choices:
                    said += [
                        "choice",
                        *sorted(self.deep(branch, depth - 1).hex() for branch in choice.branches),
                    ]
            known = self._deep[site.identity, depth] = blake2b(
                "\n".join(said).encode(errors="replace"), digest_size=16
            ).digest()
        return known

    def plain(self, site: SchemaSite) -> Hashable:
        """What tells a schema from others at first sight: its kind, the names of its properties
        and the values they are held to.
        """
        view = self.views.view(site)
        within = [
            self.views.view(inner) for inner in (view.items, view.additional) if inner is not None
        ]
        told = {name: self.views.view(one) for name, one in view.properties.items()}
        fixed = frozenset(
            (name, _values(one)) for name, one in told.items() if one.enum is not None
        )
        names = (
            frozenset(view.properties),
            frozenset(view.required),
            bool(view.closed),
            len(view.choices),
        )
        return (
            (view.types, _values(view)),
            *((one.types, _values(one)) for one in within),
            names,
            fixed,
        )


Keys = Callable[[Shapes, SchemaSite, bool], Iterable[Hashable]]
"""What a branch is known by.

The last argument: all that it may be found by, not what to look for.
"""


def own_key(shapes: Shapes, site: SchemaSite, found: bool) -> Iterable[Hashable]:
    """The name of what it refers to, or its text."""
    return [name_of(site) or canonical(site.schema)]


def deep_key(shapes: Shapes, site: SchemaSite, found: bool) -> Iterable[Hashable]:
    return [shapes.deep(site)]


def plain_key(shapes: Shapes, site: SchemaSite, found: bool) -> Iterable[Hashable]:
    return [shapes.plain(site)]


def kind_keys(shapes: Shapes, site: SchemaSite, found: bool) -> Iterable[Hashable]:
    """Its types, and of objects one property at least."""
    view = shapes.views.view(site)
    if view.types is not None:
        properties = view.properties if "object" in view.types else {}
        yield from ((view.types, name) for name in properties)
        if found or not properties:
            yield view.types, None


def name_of(site: SchemaSite) -> str:
    """The name of the schema that a branch refers to; empty where it stands in place."""
    ref = site.schema.get("$ref") if isinstance(site.schema, dict) else None
    return decode_pointer(ref).rpartition("/")[2] if isinstance(ref, str) else ""


def _values(view: SchemaView) -> frozenset[bytes] | None:
    return None if view.enum is None else frozenset(map(canonical, view.enum))


def _said(view: SchemaView) -> list[str]:
    values = _values(view)
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
