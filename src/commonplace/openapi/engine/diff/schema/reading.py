"""Reading of the keywords of one schema into a view, alike for all versions."""

from __future__ import annotations

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.diff.schema.model import (
    SchemaSite,
    SchemaView,
)
from commonplace.openapi.engine.diff.schema.values import (
    is_number,
    refuses_all,
)
from commonplace.openapi.engine.pointers import decode_pointer, unescape_token

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
"""Keywords whose effect is not analysed: a difference is a warning."""


_SIZES = ("minLength", "minItems", "minProperties")


def _read_types(schema: JsonObject) -> frozenset[str] | None:
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


def _read_content(view: SchemaView, schema: JsonObject) -> None:
    """Read what 2.0 and 3.1 write for the formats `byte` and `binary` of 3.0."""
    encoding, media = schema.get("contentEncoding"), schema.get("contentMediaType")
    if encoding == "base64" and media is None:
        view.formats.add("byte")
        del view.undecided["contentEncoding"]
    elif schema.get("type") == "file" or (media == "application/octet-stream" and encoding is None):
        view.formats.add("binary")
        view.undecided.pop("contentMediaType", None)


def _read_mapping(mapping: Json) -> dict[str, str]:
    """Return a discriminator's mapping by schema name, without entries that are implied."""
    entries = mapping.items() if isinstance(mapping, dict) else ()
    named = {
        value: unescape_token(decode_pointer(target).rpartition("/")[2])
        for value, target in entries
        if isinstance(target, str)
    }
    return {value: name for value, name in named.items() if value != name}


def read_keywords(site: SchemaSite, schema: JsonObject) -> SchemaView:
    """Return what the keywords of a schema say, without its allOf, oneOf and anyOf."""
    view = SchemaView(site)
    view.types = _read_types(schema)
    if "const" in schema:
        view.enum = [schema["const"]]
    elif isinstance(schema.get("enum"), list):
        view.enum = list(schema["enum"])
    _read_bounds(view, schema)
    _read_children(view, schema)
    for keyword, values in (("pattern", view.patterns), ("format", view.formats)):
        if isinstance(schema.get(keyword), str):
            values.add(schema[keyword])
    if is_number(schema.get("multipleOf")):
        view.multiples.add(schema["multipleOf"])
    view.undecided = {keyword: schema[keyword] for keyword in UNDECIDED if keyword in schema}
    if "format" not in schema:
        _read_content(view, schema)
    _read_annotations(view, schema)
    return view


def _read_children(view: SchemaView, schema: JsonObject) -> None:
    """Read the keywords of objects and arrays."""
    site = view.site
    properties = schema.get("properties")
    if isinstance(properties, dict):
        view.properties = {
            name: SchemaSite(value, site.at("properties", name), site.base)
            for name, value in properties.items()
        }
    required = schema.get("required")
    if isinstance(required, list):
        where = site.at("required")
        view.required = {name: where for name in required if isinstance(name, str)}
    extra = schema.get("additionalProperties")
    if refuses_all(extra):
        view.closed = site.at("additionalProperties")
    elif isinstance(extra, dict) and extra:
        view.additional = SchemaSite(extra, site.at("additionalProperties"), site.base)
    items = schema.get("items")
    if isinstance(items, (dict, bool)) and items not in (True, {}):
        view.items = SchemaSite(items, site.at("items"), site.base)
    view.unique = schema.get("uniqueItems") is True


def _read_annotations(view: SchemaView, schema: JsonObject) -> None:
    discriminator = schema.get("discriminator")
    if isinstance(discriminator, dict):
        view.discriminator = discriminator.get("propertyName")
        view.mapping = _read_mapping(discriminator.get("mapping"))
    else:
        view.discriminator = discriminator
    if "default" in schema:
        view.default, view.has_default = schema["default"], True
    description = schema.get("description")
    view.description = description if isinstance(description, str) else None
    view.deprecated = schema.get("deprecated") is True
    view.read_only = schema.get("readOnly") is True
    view.write_only = schema.get("writeOnly") is True


def _read_bounds(view: SchemaView, schema: JsonObject) -> None:
    for keyword in _SIZES:
        if is_number(schema.get(keyword)) and schema[keyword] > 0:
            view.lower[keyword[3:]] = (schema[keyword], False)
        upper = "max" + keyword[3:]
        if is_number(schema.get(upper)):
            view.upper[keyword[3:]] = (schema[upper], False)
    for bound, exclusive, table in (
        ("minimum", "exclusiveMinimum", view.lower),
        ("maximum", "exclusiveMaximum", view.upper),
    ):
        value: Json = schema.get(bound)
        strict: Json = schema.get(exclusive)
        limits: list[tuple[float, bool]] = []
        if is_number(value):
            limits.append((value, strict is True))
        if is_number(strict):
            limits.append((strict, True))
        if limits:
            sign = 1 if table is view.lower else -1
            table["value"] = max(limits, key=lambda limit: (sign * limit[0], limit[1]))
