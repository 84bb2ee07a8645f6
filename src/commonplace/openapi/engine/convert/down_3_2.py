"""From 3.2 to 3.1: new fields are rewritten, kept as extensions, or reported as lost."""

from __future__ import annotations

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.convert.issues import IssueLog
from commonplace.openapi.engine.convert.places import replace_lost_references
from commonplace.openapi.engine.document.rewriter import DROP, Rewriter
from commonplace.openapi.engine.pointers import resolve_pointer
from commonplace.openapi.model import Family

_FIELDS: dict[str, frozenset[str]] = {
    "tag": frozenset(("name", "description", "externalDocs")),
    "server": frozenset(("url", "description", "variables")),
    "media_type": frozenset(("schema", "example", "examples", "encoding")),
    "encoding": frozenset(("contentType", "headers", "style", "explode", "allowReserved")),
    "xml": frozenset(("name", "namespace", "prefix", "attribute", "wrapped")),
    "discriminator": frozenset(("propertyName", "mapping")),
    "response": frozenset(("description", "headers", "content", "links")),
    "security_scheme": frozenset(
        ("type", "description", "name", "in", "scheme", "bearerFormat", "flows", "openIdConnectUrl")
    ),
}
_FLOWS = frozenset(("implicit", "password", "clientCredentials", "authorizationCode"))


class DownTo31(Rewriter):
    """Rewrites a 3.2 document."""

    def __init__(self, document: JsonObject, issues: IssueLog) -> None:
        super().__init__()
        self.document = document
        self.issues = issues

    def _drop_unknown_fields(self, kind: str, node: JsonObject) -> JsonObject:
        """Return the node without fields unknown to 3.1; texts are kept as extensions."""
        known = _FIELDS[kind]
        lost = [key for key in node if key not in known and not key.startswith("x-")]
        if not lost:
            return node
        result = {key: value for key, value in node.items() if key not in lost}
        for key in lost:
            if isinstance(node[key], str) and f"x-{key}" not in result:
                self.issues.info(
                    self.pointer(key), f"`{key}` is new in 3.2; it is kept as `x-{key}`."
                )
                result[f"x-{key}"] = node[key]
            else:
                self.issues.warning(self.pointer(key), f"`{key}` is new in 3.2 and was dropped.")
        return result

    def on_tag(self, node: JsonObject) -> Json:
        return self._drop_unknown_fields("tag", node)

    def on_server(self, node: JsonObject) -> Json:
        return self._drop_unknown_fields("server", node)

    def on_discriminator(self, node: JsonObject) -> Json:
        return self._drop_unknown_fields("discriminator", node)

    def on_encoding(self, node: JsonObject) -> Json:
        return self._drop_unknown_fields("encoding", node)

    def enter_media_type(self, node: JsonObject) -> JsonObject:
        """Report a reference to a media type that does not resolve.

        The others were already replaced by what they refer to.
        """
        if "$ref" not in node:
            return node
        self.issues.critical(
            self.pointer("$ref"),
            f"{node['$ref']!r} leads to no media type; the content is not described.",
        )
        return {}

    def on_media_type(self, node: JsonObject) -> Json:
        item = node.get("itemSchema")
        result = {key: value for key, value in node.items() if key != "itemSchema"}
        if item is not None:
            if "schema" in node:
                self.issues.warning(
                    self.pointer("itemSchema"),
                    "`itemSchema` is new in 3.2 and was dropped beside `schema`.",
                )
            else:
                self.issues.warning(
                    self.pointer("itemSchema"),
                    "`itemSchema` is new in 3.2; the stream is described as an array of its items.",
                )
                result = {"schema": {"type": "array", "items": item}, **result}
        elif result.keys() == node.keys():
            result = node
        return self._drop_unknown_fields("media_type", result)

    def on_example(self, node: JsonObject) -> Json:
        if not node.keys() & {"dataValue", "serializedValue"}:
            return node
        result = {
            key: value for key, value in node.items() if key not in ("dataValue", "serializedValue")
        }
        if "dataValue" in node:
            result["value"] = node["dataValue"]
            if "serializedValue" in node:
                self.issues.info(
                    self.pointer("serializedValue"),
                    "`serializedValue` is new in 3.2; it is kept as `x-serializedValue`.",
                )
                result["x-serializedValue"] = node["serializedValue"]
        elif "externalValue" not in node:
            result["value"] = node["serializedValue"]
        return result

    def on_response(self, node: JsonObject) -> Json:
        if "$ref" in node:
            return node
        result = self._drop_unknown_fields("response", node)
        if "description" not in result:
            result = {"description": node.get("summary", ""), **result}
        return result

    def on_xml(self, node: JsonObject) -> Json:
        kind = node.get("nodeType")
        if kind is None:
            return node
        result = {key: value for key, value in node.items() if key != "nodeType"}
        if kind == "attribute":
            result["attribute"] = True
        elif kind == "element":
            if self.at and len(self.at) > 1:
                result["wrapped"] = True
        elif kind != "none":
            self.issues.warning(
                self.pointer("nodeType"), f"XML node type {kind!r} cannot be expressed in 3.1."
            )
        return result

    def on_security_scheme(self, node: JsonObject) -> Json:
        if "$ref" in node:
            return node
        flows = node.get("flows")
        if isinstance(flows, dict):
            lost = [name for name in flows if name not in _FLOWS and not name.startswith("x-")]
            if lost:
                for name in lost:
                    self.issues.critical(
                        self.pointer("flows", name),
                        f"OAuth flow {name!r} is new in 3.2 and was dropped.",
                    )
                node = {
                    **node,
                    "flows": {name: flow for name, flow in flows.items() if name not in lost},
                }
        return self._drop_unknown_fields("security_scheme", node)

    def on_parameter(self, node: JsonObject) -> Json:
        if "$ref" in node:
            target = node
            for _ in range(10):
                try:
                    target = resolve_pointer(self.document, str(target.get("$ref", "")))
                except LookupError:
                    break
                if not isinstance(target, dict) or "$ref" not in target:
                    break
            return DROP if isinstance(target, dict) and target.get("in") == "querystring" else node
        if node.get("in") == "querystring":
            self.issues.critical(
                self.pointer(),
                "3.1 has no parameter for the whole query string; it was dropped.",
            )
            return DROP
        result = node
        if node.get("in") == "cookie" and node.get("style") == "cookie":
            self.issues.warning(
                self.pointer("style"), "Style `cookie` is new in 3.2; `form` is used."
            )
            result = {**result, "style": "form"}
        if "allowReserved" in node and node.get("in") != "query":
            self.issues.warning(
                self.pointer("allowReserved"),
                "`allowReserved` outside of queries is new in 3.2 and was dropped.",
            )
            result = {key: value for key, value in result.items() if key != "allowReserved"}
        if "content" in node and node.keys() & {"example", "examples"}:
            self.issues.info(
                self.pointer(),
                "Examples beside `content` are new in 3.2; they moved into the content.",
            )
            given = {key: node[key] for key in ("example", "examples") if key in node}
            content = {
                kind: {**given, **media} if isinstance(media, dict) else media
                for kind, media in result["content"].items()
            }
            result = {key: value for key, value in result.items() if key not in given} | {
                "content": content
            }
        return result

    on_header = on_parameter

    def on_path_item(self, node: JsonObject) -> Json:
        lost = [key for key in ("query", "additionalOperations") if key in node]
        if not lost:
            return node
        for key in lost:
            self.issues.critical(
                self.pointer(key),
                f"3.1 has no `{key}`; it is kept as `x-{key}`.",
            )
        return {(f"x-{key}" if key in lost else key): value for key, value in node.items()}

    def on_components(self, node: JsonObject) -> Json:
        if "mediaTypes" not in node:
            return node
        return {key: value for key, value in node.items() if key != "mediaTypes"}

    def on_document(self, node: JsonObject) -> Json:
        result = {key: value for key, value in node.items() if key != "$self"}
        if "$self" in node:
            self.issues.info("/$self", "`$self` is new in 3.2; it is kept as `x-self`.")
            result["x-self"] = node["$self"]
        dialect = node.get("jsonSchemaDialect")
        if isinstance(dialect, str) and dialect.startswith(
            "https://spec.openapis.org/oas/3.2/dialect/"
        ):
            del result["jsonSchemaDialect"]
        return result


def down_to_3_1(document: JsonObject, issues: IssueLog, version: str) -> JsonObject:
    """Convert a 3.2 document to 3.1."""
    document = replace_lost_references(document, issues, Family.V32, Family.V31)
    result = DownTo31(document, issues).rewrite(document, "document")
    if not result.keys() & {"paths", "components", "webhooks"}:
        result = {**result, "paths": {}}
    return {**result, "openapi": version}
