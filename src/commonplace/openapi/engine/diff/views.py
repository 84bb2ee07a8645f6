"""Schemas as what they accept: references followed, allOf merged, versions made alike.

What comparison looks at.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.diff.model import (
    SchemaChoice,
    SchemaIdentity,
    SchemaSite,
    SchemaView,
)
from commonplace.openapi.engine.diff.values import (
    among,
    canonical,
    fits,
    is_number,
    only_null,
    refuses_all,
    type_name,
)
from commonplace.openapi.engine.document.nullable import has_nullable_part
from commonplace.openapi.engine.document.resolver import ReferenceResolver
from commonplace.openapi.engine.pointers import decode_pointer, escape_token, unescape_token
from commonplace.openapi.errors import SPEC_TOO_LARGE
from commonplace.openapi.model import ApiDocument

UNDECIDED = (
    "not",
    "if",
    "then",
    "else",
    "contains",
    "minContains",
    "maxContains",
    "propertyNames",
    "dependentSchemas",
    "dependentRequired",
    "unevaluatedProperties",
    "unevaluatedItems",
    "patternProperties",
    "prefixItems",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
)
"""Keywords whose effect is not decided: a difference is a warning."""
_SIZES = (("minLength", "string"), ("minItems", "array"), ("minProperties", "object"))
_MOST = 64
# parts of allOf that meet for one property, squared: seconds. 13 MB of a real description make
# 10,000
MOST_PARTS = 2_000_000


class SchemaViews:
    """Views of one document, each computed once."""

    def __init__(self, document: ApiDocument, resolver: ReferenceResolver) -> None:
        self.document = document
        self.resolver = resolver
        self._known: dict[SchemaIdentity, SchemaView] = {}
        self._targets = _Targets(self)
        self._met = 0
        self._alive: list[Json] = []  # keeps made-up schemas alive, so that their ids stay theirs

    def keep(self, schema: JsonObject) -> JsonObject:
        self._alive.append(schema)
        return schema

    def reference(self, site: SchemaSite) -> SchemaSite | None:
        """The target of a schema that is nothing but a reference; None where it is more, or
        broken.
        """
        schema = site.schema
        if site.also or not isinstance(schema, dict) or not isinstance(schema.get("$ref"), str):
            return None
        if self.document.family.json_schema and schema.keys() - _ANNOTATIONS - {"$ref"}:
            return None
        return self._target(schema["$ref"], site.base)

    def _target(self, ref: str, base: str) -> SchemaSite | None:
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
        """Whether a property is left out of what is sent (readOnly) or received (writeOnly)."""
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
        key = site.identity
        known = self._known.get(key)
        if known is None:
            known = SchemaView(site)
            self._count(len(key))
            for part in (site, *site.also):
                self.merge(known, part)
            _settle(known)
            self._known[key] = known
            self._alive.append(site.schema)
        return known

    def _count(self, parts: int) -> None:
        """Schemas that redefine each other's properties without end are many views of many parts
        each.
        """
        self._met += parts * parts
        if self._met > MOST_PARTS:
            raise CommonplaceError(
                SPEC_TOO_LARGE,
                "The schemas of this document redefine each other's properties too often to be "
                "compared.",
                hint="Describe a property once, in one part of an allOf.",
            )

    def levelled(self, view: SchemaView) -> SchemaView:
        """A choice among plain types, or among values, as a schema that lists them; any other
        view as it is.
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
                or (exclusive and _overlap(kinds))
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
        """Add what a schema says to a view."""
        schema = site.schema
        if refuses_all(schema):
            view.nothing = True
        if not isinstance(schema, dict):
            return
        ref = schema.get("$ref")
        if isinstance(ref, str):
            target = self._target(ref, site.base)
            if target is not None:
                _conjoin(view, self._targets.merged(target))
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
        _admit_null(inner)
        _conjoin(view, inner)

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
        self._own(view, site, schema)
        for position, part in enumerate(parts):
            self.merge(view, SchemaSite(part, site.at("allOf", position), site.base))
        for keyword in ("oneOf", "anyOf"):
            branches = schema.get(keyword)
            if isinstance(branches, list) and branches:
                if nullable and not any(map(only_null, branches)):
                    branches = [*branches, _NULL]
                sites = [
                    SchemaSite(b, site.at(keyword, i), site.base) for i, b in enumerate(branches)
                ]
                self._choice(view, SchemaChoice(sites, keyword == "oneOf"))

    def _choice(self, view: SchemaView, choice: SchemaChoice) -> None:
        """A choice of one is no choice, and one of two that is only null makes the other
        nullable.
        """
        branches = choice.branches
        solid = [branch for branch in branches if not only_null(branch.schema)]
        if len(solid) != 1:
            view.choices.append(choice)
            return
        inner = SchemaView(solid[0])
        self.merge(inner, solid[0])
        if len(branches) > 1:
            _admit_null(inner)
        _conjoin(view, inner)

    def _own(self, view: SchemaView, site: SchemaSite, schema: JsonObject) -> None:
        own = SchemaView(site)
        own.types = _types(schema)
        if "const" in schema:
            own.enum = [schema["const"]]
        elif isinstance(schema.get("enum"), list):
            own.enum = list(schema["enum"])
        self._bounds(own, schema)
        properties = schema.get("properties")
        if isinstance(properties, dict):
            own.properties = {
                name: SchemaSite(value, site.at("properties", name), site.base)
                for name, value in properties.items()
            }
        required = schema.get("required")
        if isinstance(required, list):
            own.required = {name: site.at("required") for name in required if isinstance(name, str)}
        extra = schema.get("additionalProperties")
        if refuses_all(extra):
            own.closed = site.at("additionalProperties")
        elif isinstance(extra, dict) and extra:
            own.additional = SchemaSite(extra, site.at("additionalProperties"), site.base)
        if isinstance(schema.get("items"), (dict, bool)) and schema["items"] not in (True, {}):
            own.items = SchemaSite(schema["items"], site.at("items"), site.base)
        own.unique = schema.get("uniqueItems") is True
        for keyword, found in (("pattern", own.patterns), ("format", own.formats)):
            if isinstance(schema.get(keyword), str):
                found.add(schema[keyword])
        own.undecided = {keyword: schema[keyword] for keyword in UNDECIDED if keyword in schema}
        if "format" not in schema:
            _contents(own, schema)
        if is_number(schema.get("multipleOf")):
            own.multiples.add(schema["multipleOf"])
        discriminator = schema.get("discriminator")
        own.discriminator = (
            discriminator.get("propertyName") if isinstance(discriminator, dict) else discriminator
        )
        own.mapping = (
            _mapping(discriminator.get("mapping")) if isinstance(discriminator, dict) else {}
        )
        if "default" in schema:
            own.default, own.has_default = schema["default"], True
        own.description = (
            schema.get("description") if isinstance(schema.get("description"), str) else None
        )
        own.deprecated = schema.get("deprecated") is True
        own.read_only, own.write_only = (
            schema.get("readOnly") is True,
            schema.get("writeOnly") is True,
        )
        _conjoin(view, own)

    def _bounds(self, view: SchemaView, schema: JsonObject) -> None:
        for keyword, _ in _SIZES:
            if is_number(schema.get(keyword)) and schema[keyword] > 0:
                view.lower[keyword[3:]] = (schema[keyword], False)
            upper = "max" + keyword[3:]
            if is_number(schema.get(upper)):
                view.upper[keyword[3:]] = (schema[upper], False)
        for bound, exclusive, table in (
            ("minimum", "exclusiveMinimum", view.lower),
            ("maximum", "exclusiveMaximum", view.upper),
        ):
            value: Any = schema.get(bound)
            strict: Any = schema.get(exclusive)
            limits: list[tuple[float, bool]] = []
            if is_number(value):
                limits.append((value, strict is True))
            if is_number(strict):
                limits.append((strict, True))
            if limits:
                sign = 1 if table is view.lower else -1
                table["value"] = max(limits, key=lambda limit: (sign * limit[0], limit[1]))


class _Targets:
    """What references lead to, merged once for each target however many parts of however many
    allOf share it.

    Circular ones are found as strongly connected components (Tarjan): while one is being merged,
    the references back to what is waiting for it add nothing, and in the end each member gets all
    of what its head has, for in a conjunction all of them hold.
    """

    def __init__(self, views: SchemaViews) -> None:
        self.views = views
        self._done: dict[SchemaIdentity, SchemaView] = {}
        self._waiting: dict[SchemaIdentity, int] = {}
        self._partial: dict[SchemaIdentity, tuple[SchemaView, int]] = {}
        self._low = 0  # the first of the waiting that what is being merged leads back to

    def merged(self, target: SchemaSite) -> SchemaView:
        key = target.identity
        if key in self._done:
            return self._done[key]
        if key in self._partial:
            view, low = self._partial[key]
            self._low = min(self._low, low)
            return view
        if key in self._waiting or len(self._waiting) >= _MOST:
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
                _conjoin(part, view)
                self._done[member] = part
                del self._partial[member]
        if not position:
            # What was cut short is kept as far as it came: to begin again for each would take
            # minutes.
            self._done |= {member: part for member, (part, _) in self._partial.items()}
            self._partial.clear()
            self._low = 0
        return view


_NULL: JsonObject = {"type": "null"}
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


def _admit_null(view: SchemaView) -> None:
    """Let null through every rule of a view."""
    if view.types is not None:
        view.types |= {"null"}
    if view.enum is not None and None not in view.enum:
        view.enum = [*view.enum, None]
    for position, (branches, exclusive) in enumerate(view.choices):
        if not any(only_null(branch.schema) for branch in branches):
            null = SchemaSite(_NULL, view.site.at("null"), view.site.base)
            view.choices[position] = SchemaChoice([*branches, null], exclusive)


def _types(schema: JsonObject) -> frozenset[str] | None:
    kind = schema.get("type")
    found = (
        frozenset({kind})
        if isinstance(kind, str)
        else frozenset(k for k in kind if isinstance(k, str))
        if isinstance(kind, list)
        else None
    )
    if found is None:
        return None
    if "file" in found:
        return frozenset({"string"})
    if (schema.get("nullable") is True or schema.get("x-nullable") is True) and found:
        found |= {"null"}
    return found


def _contents(view: SchemaView, schema: JsonObject) -> None:
    """What 3.0 calls the formats byte and binary, as 2.0 and 3.1 write them."""
    encoding, media = schema.get("contentEncoding"), schema.get("contentMediaType")
    if encoding == "base64" and media is None:
        view.formats.add("byte")
        del view.undecided["contentEncoding"]
    elif schema.get("type") == "file" or (media == "application/octet-stream" and encoding is None):
        view.formats.add("binary")
        view.undecided.pop("contentMediaType", None)


def _mapping(mapping: Json) -> dict[str, str]:
    """By name of the schema, whether it is written as a name or as a reference; without what
    holds anyway, a name for itself.
    """
    entries = mapping.items() if isinstance(mapping, dict) else ()
    named = {
        value: unescape_token(decode_pointer(target).rpartition("/")[2])
        for value, target in entries
        if isinstance(target, str)
    }
    return {value: name for value, name in named.items() if value != name}


def _conjoin(view: SchemaView, other: SchemaView) -> None:
    """Add another part's constraints: both must hold."""
    if other.types is not None:
        view.types = other.types if view.types is None else _common(view.types, other.types)
    if other.enum is not None:
        view.enum = (
            other.enum
            if view.enum is None
            else [value for value in view.enum if among(value, other.enum)]
        )
    for own, added, sign in ((view.lower, other.lower, 1), (view.upper, other.upper, -1)):
        for group, limit in added.items():
            own[group] = max(
                own.get(group, limit), limit, key=lambda entry: (sign * entry[0], entry[1])
            )
    for name, site in other.properties.items():
        known = view.properties.get(name)
        view.properties[name] = site if known is None else _both(known, site)
    for name, pointer in other.required.items():
        view.required.setdefault(name, pointer)
    view.closed = view.closed or other.closed
    view.additional = (
        _both(view.additional, other.additional)
        if view.additional and other.additional
        else view.additional or other.additional
    )
    view.items = (
        _both(view.items, other.items) if view.items and other.items else view.items or other.items
    )
    view.unique = view.unique or other.unique
    view.patterns |= other.patterns
    view.formats |= other.formats
    view.multiples |= other.multiples
    view.choices += [choice for choice in other.choices if choice not in view.choices]
    view.discriminator = view.discriminator or other.discriminator
    view.mapping = {**other.mapping, **view.mapping}
    view.undecided = {**other.undecided, **view.undecided}
    if other.has_default and not view.has_default:
        view.default, view.has_default = other.default, True
    view.description = view.description if view.description is not None else other.description
    view.deprecated = view.deprecated or other.deprecated
    view.read_only = view.read_only or other.read_only
    view.write_only = view.write_only or other.write_only
    view.nothing = view.nothing or other.nothing


def _both(first: SchemaSite, second: SchemaSite) -> SchemaSite:
    """What two parts of an allOf say about the same place, each thing once."""
    said = [first, *first.also]
    names = {_name(part) for part in said}
    for part in (second._replace(also=()), *second.also):
        name = _name(part)
        if name in names or part.schema in (True, {}):
            continue
        names.add(name)
        if isinstance(name[0], str) or all(
            (part.schema, part.base) != (other.schema, other.base) for other in said
        ):
            said.append(part)
    return first if len(said) == 1 + len(first.also) else first._replace(also=tuple(said[1:]))


def _name(site: SchemaSite) -> tuple[str | int, str]:
    """A reference by where it leads, which tells it from all others; anything else by the object
    that it is.
    """
    schema = site.schema
    if isinstance(schema, dict) and len(schema) == 1 and isinstance(ref := schema.get("$ref"), str):
        return ref, site.base
    return id(schema), site.base


def _settle(view: SchemaView) -> None:
    """Drop what cannot matter, so that equal meanings look equal."""
    if view.types is not None and "number" in view.types:
        view.types -= {"integer"}
    if view.types is not None and view.types <= {"integer", "null"}:
        for table, sign in ((view.lower, 1), (view.upper, -1)):
            if "value" in table and math.isfinite(table["value"][0]):
                value, exclusive = table["value"]
                whole = math.ceil(value * sign)
                table["value"] = (
                    (whole + 1 if exclusive and whole == value * sign else whole) * sign,
                    False,
                )
    for group, kind in (
        ("Length", "string"),
        ("Items", "array"),
        ("Properties", "object"),
        ("value", "number"),
    ):
        if not view.allows(kind) and not (kind == "number" and view.allows("integer")):
            view.lower.pop(group, None)
            view.upper.pop(group, None)
    if view.enum is not None:
        if view.types is not None:
            view.enum = [value for value in view.enum if fits(view.types, value)]
        view.types = frozenset(type_name(value) for value in view.enum)
        view.lower, view.upper, view.unique = {}, {}, False


def _overlap(kinds: list[frozenset[str] | None]) -> bool:
    """Whether some value has two of the kinds."""
    names = [
        name
        for kind in kinds
        if kind
        for name in ("number" if one == "integer" else one for one in kind)
    ]
    return len(set(names)) < len(names)


def _common(first: frozenset[str], second: frozenset[str]) -> frozenset[str]:
    both = first & second
    if ("integer" in first and "number" in second) or ("integer" in second and "number" in first):
        both |= {"integer"}
    return both
