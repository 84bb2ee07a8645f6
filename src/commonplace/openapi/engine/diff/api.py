"""A document as the operations that it offers, in one shape for all versions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.diff.model import (
    ContentView,
    HeaderView,
    OperationView,
    ParameterView,
    RawOperation,
    ResponseView,
)
from commonplace.openapi.engine.diff.schema.model import SchemaSite
from commonplace.openapi.engine.diff.schema.views import SchemaViews
from commonplace.openapi.engine.document.references.resolver import ReferenceResolver
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
_MAX_CALLBACK_DEPTH = 3  # callbacks of callbacks of callbacks
_COLLECTIONS = {
    "csv": ("form", False),
    "ssv": ("spaceDelimited", False),
    "tsv": ("tabDelimited", False),
    "pipes": ("pipeDelimited", False),
    "multi": ("form", True),
}
LocatedParameters = dict[tuple[str, str], tuple[JsonObject, str]]
"""(in, name) -> a parameter and its pointer."""


class ApiView:
    """The operations of a document; details of each are read on demand."""

    def __init__(self, document: ApiDocument, resolver: ReferenceResolver) -> None:
        self.document = document
        self.resolver = resolver
        self.views = SchemaViews(document, resolver)
        self.schemes = {
            name: resolver.try_follow(value)
            for name, value in document.components("securitySchemes").items()
        }
        self.servers = list_servers(document)
        self.operations = self._read_operations(document.data.get("paths"), "/paths")
        self.webhooks = self._read_operations(document.data.get("webhooks"), "/webhooks")

    def _read_operations(
        self, items: Json, pointer: str, depth: int = 0
    ) -> dict[str, RawOperation]:
        """Return operations by method and path; the names of path parameters do not matter."""
        found: dict[str, RawOperation] = {}
        for path, item in items.items() if isinstance(items, dict) else ():
            if path.startswith("x-"):
                continue
            item, here = self._follow(item, f"{pointer}/{escape_token(path)}")
            if not isinstance(item, dict):
                continue
            for method, operation, steps in self._list_methods(item):
                key = f"{method.upper()} {_EXPRESSION.sub('{}', path)}"
                if key in found:
                    key = f"{method.upper()} {path}"
                found[key] = RawOperation(
                    path, method, operation, f"{here}/{steps}", item, here, depth
                )
        return found

    def _list_methods(self, item: JsonObject) -> Iterator[tuple[str, JsonObject, str]]:
        for method in self.document.family.methods:
            if isinstance(item.get(method), dict):
                yield method, item[method], method
        extra = item.get("additionalOperations") if self.document.family is Family.V32 else None
        for method, operation in extra.items() if isinstance(extra, dict) else ():
            if isinstance(operation, dict):
                yield method, operation, f"additionalOperations/{escape_token(method)}"

    def operation(self, raw: RawOperation) -> OperationView:
        """Read an operation into the shape that is compared."""
        merged = self._merge_parameters(raw)
        body, required = self._read_body(raw.operation, raw.pointer, merged)
        holders = (raw.operation, raw.item)
        return OperationView(
            label=raw.label,
            pointer=raw.pointer,
            value=raw.operation,
            parameters={
                key: self._read_parameter(value, here)
                for key, (value, here) in merged.items()
                if key[0] not in ("body", "formData")
            },
            body=body,
            body_required=required,
            responses=self._read_responses(raw.operation, raw.pointer),
            security=self._read_security(raw.operation),
            callbacks=self._read_callbacks(raw),
            servers=next((_list_servers(h["servers"]) for h in holders if h.get("servers")), None),
        )

    def _merge_parameters(self, raw: RawOperation) -> LocatedParameters:
        """Return the parameters of an operation and its path item; the operation's own win."""
        positions = {
            name: str(position) for position, name in enumerate(_EXPRESSION.findall(raw.path))
        }
        merged: LocatedParameters = {}
        for holder, start in ((raw.item, raw.item_pointer), (raw.operation, raw.pointer)):
            values = holder.get("parameters")
            for position, value in enumerate(values if isinstance(values, list) else ()):
                value, here = self._follow(value, f"{start}/parameters/{position}")
                if (
                    isinstance(value, dict)
                    and isinstance(value.get("name"), str)
                    and isinstance(value.get("in"), str)
                ):
                    name = value["name"].lower() if value["in"] == "header" else value["name"]
                    name = positions.get(name, name) if value["in"] == "path" else name
                    merged[(value["in"], name)] = (value, here)
        return merged

    def _read_callbacks(self, raw: RawOperation) -> dict[str, dict[str, RawOperation]]:
        callbacks: dict[str, dict[str, RawOperation]] = {}
        values = raw.operation.get("callbacks") if raw.depth < _MAX_CALLBACK_DEPTH else None
        for name, callback in values.items() if isinstance(values, dict) else ():
            where = f"{raw.pointer}/callbacks/{escape_token(name)}"
            callback, here = self._follow(callback, where)
            callbacks[name] = self._read_operations(callback, here, raw.depth + 1)
        return callbacks

    def _follow(self, value: Json, pointer: str) -> tuple[Json, str]:
        """Follow the references of a value; return the target and its pointer."""
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

    def _read_parameter(self, value: JsonObject, pointer: str) -> ParameterView:
        schema = self._read_schema(value, pointer)
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
            _find_media_type(value),
        )

    def _read_schema(self, value: JsonObject, pointer: str) -> SchemaSite:
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

    def _read_body(
        self,
        operation: JsonObject,
        pointer: str,
        parameters: LocatedParameters,
    ) -> tuple[ContentView | None, bool]:
        if not self.document.is_v2:
            declared = operation.get("requestBody")
            if not isinstance(declared, dict):
                return None, False
            value, here = self._follow(declared, f"{pointer}/requestBody")
            if not isinstance(value, dict):
                return None, False
            return self._read_content(value.get("content"), here), value.get("required") is True
        consumes = self._list_media_types(operation, "consumes")
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
        return self._read_form(fields, consumes, pointer)

    def _read_form(
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

    def _list_media_types(self, operation: JsonObject, name: str) -> list[str]:
        values = operation.get(name, self.document.data.get(name))
        return (
            [value for value in values if isinstance(value, str)]
            if isinstance(values, list)
            else []
        )

    def _read_content(self, values: Json, pointer: str) -> ContentView:
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

    def _read_responses(self, operation: JsonObject, pointer: str) -> dict[str, ResponseView]:
        found: dict[str, ResponseView] = {}
        values = operation.get("responses")
        for status, response in values.items() if isinstance(values, dict) else ():
            if status.startswith("x-"):
                continue
            value, here = self._follow(response, f"{pointer}/responses/{escape_token(status)}")
            if not isinstance(value, dict):
                continue
            content = self._read_content(value.get("content"), here)
            if self.document.is_v2 and "schema" in value:
                site = SchemaSite(value["schema"], f"{here}/schema")
                content.media = dict.fromkeys(
                    self._list_media_types(operation, "produces") or ["application/json"], site
                )
            links = value.get("links")
            description = value.get("description")
            found[status.upper() if status.lower().endswith("xx") else status] = ResponseView(
                here,
                content,
                self._read_headers(value.get("headers"), here),
                links if isinstance(links, dict) else {},
                description if isinstance(description, str) else None,
            )
        return found

    def _read_headers(self, values: Json, pointer: str) -> dict[str, HeaderView]:
        found = {}
        for name, header in values.items() if isinstance(values, dict) else ():
            value, here = self._follow(header, f"{pointer}/headers/{escape_token(name)}")
            if isinstance(value, dict) and name.lower() != "content-type":
                found[name.lower()] = HeaderView(
                    value.get("required") is True,
                    self._read_schema(value, here),
                    here,
                    _find_media_type(value),
                )
        return found

    def _read_security(self, operation: JsonObject) -> list[dict[str, frozenset[str]]]:
        """Return the sets of credentials of which one is enough; an empty set needs none."""
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


def _find_media_type(value: JsonObject) -> str:
    content = value.get("content")
    return (
        str(next(iter(content), "")).lower()
        if isinstance(content, dict) and "schema" not in value
        else ""
    )


def _list_servers(values: Json) -> list[JsonObject]:
    return (
        [server for server in values if isinstance(server, dict)]
        if isinstance(values, list)
        else []
    )
