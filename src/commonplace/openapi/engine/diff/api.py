"""What an API offers, in one shape for all versions: operations with their parameters, bodies,
responses and credentials.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.diff.schema.model import SchemaSite
from commonplace.openapi.engine.diff.schema.views import SchemaViews
from commonplace.openapi.engine.document.resolver import ReferenceResolver
from commonplace.openapi.engine.document.summary import list_servers
from commonplace.openapi.engine.pointers import decode_pointer, escape_token
from commonplace.openapi.model import ApiDocument, Family

_EXPRESSION = re.compile(r"\{([^{}]*)\}")
_V2_SCHEMA = frozenset(
    {"type", "format", "items", "default", "enum", "pattern", "multipleOf", "x-nullable"}
    | {
        "maximum",
        "exclusiveMaximum",
        "minimum",
        "exclusiveMinimum",
        "maxLength",
        "minLength",
        "maxItems",
        "minItems",
        "uniqueItems",
    }
)
_COLLECTIONS = {
    "csv": ("form", False),
    "ssv": ("spaceDelimited", False),
    "tsv": ("tabDelimited", False),
    "pipes": ("pipeDelimited", False),
    "multi": ("form", True),
}


@dataclass(slots=True)
class ParameterView:
    name: str
    location: str
    required: bool
    schema: SchemaSite
    pointer: str
    style: str
    explode: bool
    deprecated: bool
    description: str | None
    media: str  # the media type that it is written in; empty where style decides


@dataclass(slots=True)
class ContentView:
    """Schemas by media type."""

    pointer: str
    media: dict[str, SchemaSite] = field(default_factory=dict)
    encodings: dict[str, Json] = field(default_factory=dict)
    items: dict[str, SchemaSite] = field(default_factory=dict)  # itemSchema of 3.2


@dataclass(slots=True)
class Header:
    required: bool
    schema: SchemaSite
    pointer: str
    media: str


@dataclass(slots=True)
class ResponseView:
    pointer: str
    content: ContentView
    headers: dict[str, Header]
    links: dict[str, Json]
    description: str | None


@dataclass(frozen=True, slots=True)
class RawOperation:
    """An operation as it is written, with the path item around it."""

    path: str
    method: str
    operation: JsonObject
    pointer: str
    item: JsonObject
    item_pointer: str
    depth: int

    @property
    def label(self) -> str:
        return f"{self.method.upper()} {self.path}"


@dataclass(slots=True)
class OperationView:
    label: str
    method: str
    path: str
    pointer: str
    value: JsonObject
    parameters: dict[tuple[str, str], ParameterView]
    body: ContentView | None
    body_required: bool
    responses: dict[str, ResponseView]
    security: list[dict[str, frozenset[str]]]
    callbacks: dict[str, dict[str, RawOperation]]
    servers: list[JsonObject] | None  # None: those of the document


class ApiView:
    """A document as its operations."""

    def __init__(self, document: ApiDocument, resolver: ReferenceResolver) -> None:
        self.document = document
        self.resolver = resolver
        self.views = SchemaViews(document, resolver)
        self.schemes = {
            name: resolver.try_follow(value)
            for name, value in document.components("securitySchemes").items()
        }
        self.servers = list_servers(document)
        self.operations = self._operations(document.data.get("paths"), "/paths")
        self.webhooks = self._operations(document.data.get("webhooks"), "/webhooks")

    def _operations(self, items: Json, pointer: str, depth: int = 0) -> dict[str, RawOperation]:
        """Operations by method and path, where the names of path parameters do not count."""
        found: dict[str, RawOperation] = {}
        for path, item in items.items() if isinstance(items, dict) else ():
            if path.startswith("x-"):
                continue
            item, here = self._followed(item, f"{pointer}/{escape_token(path)}")
            if not isinstance(item, dict):
                continue
            for method, operation, steps in self._methods(item):
                key = f"{method.upper()} {_EXPRESSION.sub('{}', path)}"
                if key in found:
                    key = f"{method.upper()} {path}"
                found[key] = RawOperation(
                    path, method, operation, f"{here}/{steps}", item, here, depth
                )
        return found

    def _methods(self, item: JsonObject) -> Iterator[tuple[str, JsonObject, str]]:
        for method in self.document.family.methods:
            if isinstance(item.get(method), dict):
                yield method, item[method], method
        extra = item.get("additionalOperations") if self.document.family is Family.V32 else None
        for method, operation in extra.items() if isinstance(extra, dict) else ():
            if isinstance(operation, dict):
                yield method, operation, f"additionalOperations/{escape_token(method)}"

    def operation(self, raw: RawOperation) -> OperationView:
        """An operation in the shape that is compared."""
        path, method, operation, pointer, item, above = (
            raw.path,
            raw.method,
            raw.operation,
            raw.pointer,
            raw.item,
            raw.item_pointer,
        )
        names = {name: str(position) for position, name in enumerate(_EXPRESSION.findall(path))}
        merged: dict[tuple[str, str], tuple[JsonObject, str]] = {}
        for values, start in (
            (item.get("parameters"), above),
            (operation.get("parameters"), pointer),
        ):
            for position, value in enumerate(values if isinstance(values, list) else ()):
                value, here = self._followed(value, f"{start}/parameters/{position}")
                if (
                    isinstance(value, dict)
                    and isinstance(value.get("name"), str)
                    and isinstance(value.get("in"), str)
                ):
                    name = value["name"].lower() if value["in"] == "header" else value["name"]
                    name = names.get(name, name) if value["in"] == "path" else name
                    merged[(value["in"], name)] = (value, here)
        body, required = self._body(operation, pointer, merged)
        callbacks: dict[str, dict[str, RawOperation]] = {}
        declared = operation.get("callbacks")
        for name, callback in (
            declared.items() if isinstance(declared, dict) and raw.depth < 3 else ()
        ):
            callback, here = self._followed(callback, f"{pointer}/callbacks/{escape_token(name)}")
            callbacks[name] = self._operations(callback, here, raw.depth + 1)
        return OperationView(
            label=raw.label,
            method=method,
            path=path,
            pointer=pointer,
            value=operation,
            parameters={
                key: self._parameter(value, here)
                for key, (value, here) in merged.items()
                if key[0] not in ("body", "formData")
            },
            body=body,
            body_required=required,
            responses=self._responses(operation, pointer),
            security=self._security(operation),
            callbacks=callbacks,
            servers=next(
                (
                    _servers(holder["servers"])
                    for holder in (operation, item)
                    if holder.get("servers")
                ),
                None,
            ),
        )

    def _followed(self, value: Json, pointer: str) -> tuple[Json, str]:
        """A value behind its references, and the pointer it really has."""
        target = value
        for _ in range(20):
            ref = target.get("$ref") if isinstance(target, dict) else None
            if not isinstance(ref, str) or not ref.startswith("#/"):
                break
            following = self.resolver.try_follow({"$ref": ref})
            if isinstance(following, dict) and following.get("$ref") == ref:
                break
            target, pointer = following, decode_pointer(ref[1:])
        return (
            (self.resolver.try_follow(target), pointer)
            if isinstance(target, dict)
            else (target, pointer)
        )

    def _parameter(self, value: JsonObject, pointer: str) -> ParameterView:
        schema = self._schema_of(value, pointer)
        location = value["in"]
        style, explode = value.get("style"), value.get("explode")
        if self.document.is_v2:
            style, explode = _COLLECTIONS.get(
                str(value.get("collectionFormat", "csv")), ("form", False)
            )
            if location in ("path", "header"):
                style = "simple"
        if not isinstance(style, str):
            style = "form" if location in ("query", "cookie") else "simple"
        if not isinstance(explode, bool):
            explode = style in ("form", "cookie")
        description = value.get("description")
        return ParameterView(
            value["name"],
            location,
            value.get("required") is True or location == "path",
            schema,
            pointer,
            style,
            explode,
            value.get("deprecated") is True,
            description if isinstance(description, str) else None,
            _media_of(value),
        )

    def _schema_of(self, value: JsonObject, pointer: str) -> SchemaSite:
        if "schema" in value:
            return SchemaSite(value["schema"], f"{pointer}/schema")
        content = value.get("content")
        if isinstance(content, dict) and content:
            name, media = next(iter(content.items()))
            schema = media.get("schema", {}) if isinstance(media, dict) else {}
            return SchemaSite(schema, f"{pointer}/content/{escape_token(name)}/schema")
        own = (
            {key: item for key, item in value.items() if key in _V2_SCHEMA}
            if self.document.is_v2
            else {}
        )
        return SchemaSite(self.views.keep(own), pointer)

    def _body(
        self,
        operation: JsonObject,
        pointer: str,
        parameters: dict[tuple[str, str], tuple[JsonObject, str]],
    ) -> tuple[ContentView | None, bool]:
        if not self.document.is_v2:
            declared = operation.get("requestBody")
            if not isinstance(declared, dict):
                return None, False
            value, here = self._followed(declared, f"{pointer}/requestBody")
            if not isinstance(value, dict):
                return None, False
            return self._content(value.get("content"), here), value.get("required") is True
        consumes = self._media_list(operation, "consumes")
        body = next(
            (
                (value, here)
                for (location, _), (value, here) in parameters.items()
                if location == "body"
            ),
            None,
        )
        if body is not None:
            content = ContentView(body[1])
            content.media = {
                media: SchemaSite(body[0].get("schema", {}), f"{body[1]}/schema")
                for media in consumes or ["application/json"]
            }
            return content, body[0].get("required") is True
        fields = {
            name: (value, here)
            for (location, name), (value, here) in parameters.items()
            if location == "formData"
        }
        if not fields:
            return None, False
        return self._form(fields, consumes, pointer)

    def _form(
        self, fields: dict[str, tuple[JsonObject, str]], consumes: list[str], pointer: str
    ) -> tuple[ContentView, bool]:
        properties = {
            name: {k: v for k, v in value.items() if k in _V2_SCHEMA or k == "description"}
            for name, (value, _) in fields.items()
        }
        for (value, _), own in zip(fields.values(), properties.values(), strict=True):
            if value.get("type") == "file":
                own.update({"type": "string", "format": "binary"})
        required = [name for name, (value, _) in fields.items() if value.get("required") is True]
        schema: JsonObject = {"type": "object", "properties": properties} | (
            {"required": required} if required else {}
        )
        files = any(value.get("type") == "file" for value, _ in fields.values())
        fallback = "multipart/form-data" if files else "application/x-www-form-urlencoded"
        forms = [media for media in consumes if "form" in media] or [fallback]
        content = ContentView(f"{pointer}/parameters")
        content.media = {
            media: SchemaSite(self.views.keep(schema), f"{pointer}/parameters") for media in forms
        }
        return content, bool(required)

    def _media_list(self, operation: JsonObject, name: str) -> list[str]:
        values = operation.get(name, self.document.data.get(name))
        return (
            [value for value in values if isinstance(value, str)]
            if isinstance(values, list)
            else []
        )

    def _content(self, values: Json, pointer: str) -> ContentView:
        content = ContentView(pointer)
        for name, media in values.items() if isinstance(values, dict) else ():
            if isinstance(media, dict):
                media = self.resolver.try_follow(media)
                if not isinstance(media, dict):
                    continue
                content.media[name] = SchemaSite(
                    media.get("schema", {}), f"{pointer}/content/{escape_token(name)}/schema"
                )
                content.encodings[name] = media.get("encoding")
                if "itemSchema" in media:
                    content.items[name] = SchemaSite(
                        media["itemSchema"], f"{pointer}/content/{escape_token(name)}/itemSchema"
                    )
        return content

    def _responses(self, operation: JsonObject, pointer: str) -> dict[str, ResponseView]:
        found: dict[str, ResponseView] = {}
        values = operation.get("responses")
        for status, response in values.items() if isinstance(values, dict) else ():
            if status.startswith("x-"):
                continue
            value, here = self._followed(response, f"{pointer}/responses/{escape_token(status)}")
            if not isinstance(value, dict):
                continue
            content = self._content(value.get("content"), here)
            if self.document.is_v2 and "schema" in value:
                site = SchemaSite(value["schema"], f"{here}/schema")
                content.media = dict.fromkeys(
                    self._media_list(operation, "produces") or ["application/json"], site
                )
            links = value.get("links")
            description = value.get("description")
            found[status.upper() if status.lower().endswith("xx") else status] = ResponseView(
                here,
                content,
                self._headers(value.get("headers"), here),
                links if isinstance(links, dict) else {},
                description if isinstance(description, str) else None,
            )
        return found

    def _headers(self, values: Json, pointer: str) -> dict[str, Header]:
        found = {}
        for name, header in values.items() if isinstance(values, dict) else ():
            value, here = self._followed(header, f"{pointer}/headers/{escape_token(name)}")
            if isinstance(value, dict) and name.lower() != "content-type":
                found[name.lower()] = Header(
                    value.get("required") is True,
                    self._schema_of(value, here),
                    here,
                    _media_of(value),
                )
        return found

    def _security(self, operation: JsonObject) -> list[dict[str, frozenset[str]]]:
        """The sets of credentials of which one is enough. Nothing declared: none are needed."""
        values = operation.get("security", self.document.data.get("security"))
        found = []
        for requirement in values if isinstance(values, list) else ():
            if isinstance(requirement, dict):
                found.append(
                    {
                        name: frozenset(s for s in scopes if isinstance(s, str))
                        if isinstance(scopes, list)
                        else frozenset()
                        for name, scopes in requirement.items()
                    }
                )
        return found or [{}]


def _media_of(value: JsonObject) -> str:
    content = value.get("content")
    return (
        str(next(iter(content), "")).lower()
        if isinstance(content, dict) and "schema" not in value
        else ""
    )


def _servers(values: Json) -> list[JsonObject]:
    return (
        [server for server in values if isinstance(server, dict)]
        if isinstance(values, list)
        else []
    )
