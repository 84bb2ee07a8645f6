"""Views of schemas: references followed, allOf merged, versions made alike."""

from __future__ import annotations

from dataclasses import replace

from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.diff.schema.merging import (
    NULL_SCHEMA,
    allow_null,
    conjoin,
    normalize_view,
)
from commonplace.openapi.engine.diff.schema.model import (
    SchemaChoice,
    SchemaIdentity,
    SchemaSite,
    SchemaView,
)
from commonplace.openapi.engine.diff.schema.reading import read_keywords
from commonplace.openapi.engine.diff.schema.values import (
    canonical,
    only_null,
    refuses_all,
    type_name,
)
from commonplace.openapi.engine.document.nullable import has_nullable_part
from commonplace.openapi.engine.document.references.resolver import ReferenceResolver
from commonplace.openapi.engine.pointers import decode_pointer, escape_token
from commonplace.openapi.errors import SPEC_TOO_LARGE
from commonplace.openapi.model import ApiDocument

_MAX_WAITING = 64  # nested references that are merged at once
# Sum over all views of the square of their parts, which takes seconds. A real description of 13 MB
# needs 10,000.
MAX_PARTS = 2_000_000


class SchemaViews:
    """The views of one document, each computed once."""

    def __init__(self, document: ApiDocument, resolver: ReferenceResolver) -> None:
        self.document = document
        self.resolver = resolver
        self._known: dict[SchemaIdentity, SchemaView] = {}
        self._targets = _MergedTargets(self)
        self._cost = 0
        self._alive: list[Json] = []  # keeps generated schemas alive, so that their ids stay unique

    def keep(self, schema: JsonObject) -> JsonObject:
        """Keep a generated schema alive as long as the views; return it."""
        self._alive.append(schema)
        return schema

    def reference(self, site: SchemaSite) -> SchemaSite | None:
        """Return the target of a schema that is only a reference; None if it is more, or broken."""
        schema = site.schema
        if site.also or not isinstance(schema, dict) or not isinstance(schema.get("$ref"), str):
            return None
        if self.document.family.json_schema and schema.keys() - _ANNOTATIONS - {"$ref"}:
            return None
        return self._resolve(schema["$ref"], site.base)

    def _resolve(self, ref: str, base: str) -> SchemaSite | None:
        try:
            target = self.resolver.resolve(ref, base)
        except CommonplaceError:
            return None
        pointer = (
            decode_pointer(target.pointer)
            if target.pointer.startswith("/") or not target.pointer
            else f"/{escape_token(target.pointer)}"
        )
        return SchemaSite(
            target.value, pointer if not target.base else f"{target.base}#{pointer}", target.base
        )

    def hidden(self, site: SchemaSite, sent: bool) -> bool:
        """Tell whether a property is absent from requests (readOnly) or responses (writeOnly)."""
        if any(self.hidden(other, sent) for other in site.also):
            return True
        flag = "readOnly" if sent else "writeOnly"
        schema = site.schema
        if not isinstance(schema, dict):
            return False
        if schema.get(flag) is True:
            return True
        if "$ref" not in schema and "allOf" not in schema:
            return False
        target = self.reference(site)
        if target is not None:
            return isinstance(target.schema, dict) and target.schema.get(flag) is True
        return getattr(self.view(site), "read_only" if sent else "write_only") is True

    def view(self, site: SchemaSite) -> SchemaView:
        """Return the view of a schema."""
        key = site.identity
        known = self._known.get(key)
        if known is None:
            known = SchemaView(site)
            self._add_cost(len(key))
            for part in (site, *site.also):
                self.merge(known, part)
            normalize_view(known)
            self._known[key] = known
            self._alive.append(site.schema)
        return known

    def _add_cost(self, parts: int) -> None:
        """Refuse documents whose schemas redefine each other's properties without end."""
        self._cost += parts * parts
        if self._cost > MAX_PARTS:
            raise CommonplaceError(
                SPEC_TOO_LARGE,
                "The schemas of this document redefine each other's properties too often to be "
                "compared.",
                hint="Describe a property once, in one part of an allOf.",
            )

    def flatten_choice(self, view: SchemaView) -> SchemaView:
        """Turn a choice among types or values into a view that lists them.

        Any other view is returned unchanged.
        """
        if not view.only_a_choice:
            return view
        branches, exclusive = view.choices[0]
        parts = [self.view(branch) for branch in branches]
        if any(part.enum is None for part in parts):
            kinds = [part.types for part in parts]
            if (
                not all(kinds)
                or any(not part.only_types for part in parts)
                or (exclusive and _types_overlap(kinds))
            ):
                return view
            return replace(
                view, types=frozenset[str]().union(*(kind for kind in kinds if kind)), choices=[]
            )
        values = [value for part in parts for value in part.enum or ()]
        if exclusive and len({canonical(value) for value in values}) < len(values):
            return view
        return replace(view, enum=values, types=frozenset(map(type_name, values)), choices=[])

    def merge(self, view: SchemaView, site: SchemaSite) -> None:
        """Add the constraints of a schema to a view."""
        schema = site.schema
        if refuses_all(schema):
            view.nothing = True
        if not isinstance(schema, dict):
            return
        ref = schema.get("$ref")
        if isinstance(ref, str):
            target = self._resolve(ref, site.base)
            if target is not None:
                conjoin(view, self._targets.get(target))
            if not self.document.family.json_schema:
                return
        parts = schema.get("allOf")
        parts = parts if isinstance(parts, list) else []
        if not (
            schema.get("nullable") is True
            or schema.get("x-nullable") is True
            or has_nullable_part(parts)
        ):
            self._combine(view, site, schema, parts, nullable=False)
            return
        inner = SchemaView(site)
        self._combine(inner, site, schema, parts, nullable=True)
        allow_null(inner)
        conjoin(view, inner)

    def _combine(
        self,
        view: SchemaView,
        site: SchemaSite,
        schema: JsonObject,
        parts: list[Json],
        *,
        nullable: bool,
    ) -> None:
        """Add a schema's own keywords, its allOf and its choices."""
        conjoin(view, read_keywords(site, schema))
        for position, part in enumerate(parts):
            self.merge(view, SchemaSite(part, site.at("allOf", position), site.base))
        for keyword in ("oneOf", "anyOf"):
            branches = schema.get(keyword)
            if isinstance(branches, list) and branches:
                if nullable and not any(map(only_null, branches)):
                    branches = [*branches, NULL_SCHEMA]
                sites = [
                    SchemaSite(b, site.at(keyword, i), site.base) for i, b in enumerate(branches)
                ]
                self._add_choice(view, SchemaChoice(sites, keyword == "oneOf"))

    def _add_choice(self, view: SchemaView, choice: SchemaChoice) -> None:
        """Add a choice to a view; a choice between a schema and null is a nullable schema."""
        branches = choice.branches
        substantial = [branch for branch in branches if not only_null(branch.schema)]
        if len(substantial) != 1:
            view.choices.append(choice)
            return
        inner = SchemaView(substantial[0])
        self.merge(inner, substantial[0])
        if len(branches) > 1:
            allow_null(inner)
        conjoin(view, inner)


class _MergedTargets:
    """Merges the target of each reference once, however many parts share it.

    Cycles are found as strongly connected components (Tarjan). While one is merged, references
    back into it add nothing; in the end each member gets the constraints of the head, because in
    a conjunction all of them hold.
    """

    def __init__(self, views: SchemaViews) -> None:
        self.views = views
        self._done: dict[SchemaIdentity, SchemaView] = {}
        self._waiting: dict[SchemaIdentity, int] = {}
        self._partial: dict[SchemaIdentity, tuple[SchemaView, int]] = {}
        self._low = 0  # lowest waiting position that the current target leads back to

    def get(self, target: SchemaSite) -> SchemaView:
        key = target.identity
        if key in self._done:
            return self._done[key]
        if key in self._partial:
            view, low = self._partial[key]
            self._low = min(self._low, low)
            return view
        if key in self._waiting or len(self._waiting) >= _MAX_WAITING:
            self._low = min(self._low, self._waiting.get(key, -1))  # -1: cut short
            return SchemaView(target)
        return self._merge(target, key)

    def _merge(self, target: SchemaSite, key: SchemaIdentity) -> SchemaView:
        outer, position = self._low, len(self._waiting)
        self._waiting[key] = self._low = position
        view = SchemaView(target)
        self.views.merge(view, target)
        del self._waiting[key]
        low, self._low = self._low, min(outer, self._low)
        if low < position and position:
            self._partial[key] = (view, low)
            return view
        self._done[key] = view
        for member, (part, reached) in list(self._partial.items()):
            if reached >= position:
                conjoin(part, view)
                self._done[member] = part
                del self._partial[member]
        if not position:
            # Keep incomplete views: starting again for each would take minutes.
            self._done |= {member: part for member, (part, _) in self._partial.items()}
            self._partial.clear()
            self._low = 0
        return view


_ANNOTATIONS = frozenset(
    {
        "description",
        "summary",
        "title",
        "example",
        "examples",
        "deprecated",
        "externalDocs",
        "$comment",
    }
)


def _types_overlap(kinds: list[frozenset[str] | None]) -> bool:
    """Tell whether some value has two of the types."""
    names = [
        name
        for kind in kinds
        if kind
        for name in ("number" if type_ == "integer" else type_ for type_ in kind)
    ]
    return len(set(names)) < len(names)
