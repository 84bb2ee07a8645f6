"""From 3.1 to 3.0: schemas as far as 3.0 can express them, and objects that 3.0 lacks."""

from __future__ import annotations

from commonplace.kernel.json_types import Json, JsonArray, JsonObject
from commonplace.openapi.engine.convert.issues import IssueLog
from commonplace.openapi.engine.convert.keywords import SCHEMA_30
from commonplace.openapi.engine.convert.places import replace_lost_references
from commonplace.openapi.engine.convert.swagger.schema_up import split_types
from commonplace.openapi.engine.document.references.anchors import replace_anchors
from commonplace.openapi.engine.document.rewriter import DROP, Rewriter
from commonplace.openapi.engine.require import require_object
from commonplace.openapi.model import Family

_UNSPOKEN = frozenset(("$comment", "$schema", "$id", "$anchor", "$vocabulary", "$dynamicAnchor"))
OCTETS = "application/octet-stream"
_ANNOTATIONS = frozenset(
    (
        "title",
        "description",
        "default",
        "deprecated",
        "readOnly",
        "writeOnly",
        "example",
        "externalDocs",
        "xml",
    )
)


class DownTo30(Rewriter):
    """Rewrites a 3.1 document."""

    booleans_stay = frozenset(("additionalProperties",))

    def __init__(self, document: JsonObject, issues: IssueLog) -> None:
        super().__init__()
        self.issues = issues
        self.mutual_tls = _find_mutual_tls(document)

    def on_boolean_schema(self, node: bool) -> Json:
        return {} if node else {"not": {}}

    def on_schema(self, node: JsonObject) -> Json:
        result = dict(node)
        if "$ref" in result:
            result = self._reference(result)
            if "$ref" in result:
                return node if result == node else result
        self._rewrite_constants(result)
        self._rewrite_bounds(result)
        self._rewrite_content(result)
        self._rewrite_conditions(result)
        self._rewrite_arrays(result)
        enum = result.get("enum")
        refuses_null = isinstance(enum, list) and None not in enum  # whatever the type says
        self._rewrite_null_branches(result)
        split_types(result)
        if refuses_null:
            result.pop("nullable", None)
        elif (
            result.get("nullable") is True
            and isinstance(result.get("enum"), list)
            and None not in result["enum"]
        ):
            result["enum"] = [*result["enum"], None]
        if result.get("type") == "array" and "items" not in result:
            result["items"] = {}
        if isinstance(result.get("items"), bool):
            result["items"] = {}
        patterns = result.pop("patternProperties", None)
        if isinstance(patterns, dict) and patterns:
            self._rewrite_patterns(result, list(patterns.values()))
        if result.get("required") == []:
            del result["required"]
        if result.get("enum") == []:
            self.issues.warning(
                self.pointer("enum"),
                "An empty `enum`, which allows nothing, is not valid in 3.0 and was dropped.",
            )
            del result["enum"]
        if isinstance(result.get("additionalProperties"), dict) and result[
            "additionalProperties"
        ] == {"not": {}}:
            result["additionalProperties"] = False
        for key in [key for key in result if key not in SCHEMA_30 and not key.startswith("x-")]:
            if key == "$defs" or key in _UNSPOKEN:
                pass
            else:
                self.issues.warning(
                    self.pointer(key),
                    f"`{key}` is not valid in a 3.0 schema and was dropped; it allows more.",
                )
            del result[key]
        return node if result == node else result

    def _reference(self, schema: JsonObject) -> JsonObject:
        reference = schema["$ref"]
        if (
            isinstance(reference, str)
            and not reference.startswith("#/")
            and reference.startswith("#")
        ):
            self.issues.critical(
                self.pointer("$ref"),
                f"The anchor {reference!r} cannot be followed in 3.0; any value is allowed.",
            )
            return {key: value for key, value in schema.items() if key != "$ref"}
        rest = {
            key: value
            for key, value in schema.items()
            if key != "$ref" and key not in _UNSPOKEN and key != "$defs"
        }
        if not rest:
            return {"$ref": reference}
        self.issues.info(
            self.pointer(),
            "3.0 ignores what is beside `$ref`, so the reference moved into `allOf`.",
        )
        parts = rest.get("allOf")
        return {**rest, "allOf": [{"$ref": reference}, *(parts if isinstance(parts, list) else [])]}

    def _rewrite_constants(self, schema: JsonObject) -> None:
        if "const" in schema:
            value = schema.pop("const")
            schema["enum"] = [value]
            if value is None:
                schema["nullable"] = True
        examples = schema.pop("examples", None)
        if isinstance(examples, list) and examples:
            schema.setdefault("example", examples[0])
            if len(examples) > 1:
                self.issues.info(
                    self.pointer("examples"),
                    f"3.0 schemas have one example; {len(examples) - 1} of {len(examples)} were "
                    f"dropped.",
                )

    def _rewrite_bounds(self, schema: JsonObject) -> None:
        for exclusive, bound, tighter in (
            ("exclusiveMinimum", "minimum", max),
            ("exclusiveMaximum", "maximum", min),
        ):
            limit = schema.get(exclusive)
            if isinstance(limit, (int, float)) and not isinstance(limit, bool):
                inclusive = schema.get(bound)
                if (
                    isinstance(inclusive, (int, float))
                    and inclusive != limit
                    and tighter(inclusive, limit) == inclusive
                ):
                    del schema[exclusive]
                else:
                    schema[bound] = limit
                    schema[exclusive] = True

    def _rewrite_content(self, schema: JsonObject) -> None:
        encoding, media_type = schema.get("contentEncoding"), schema.get("contentMediaType")
        if encoding == "base64" and "format" not in schema:
            del schema["contentEncoding"]
            schema["format"] = "byte"
            if schema.pop("contentMediaType", OCTETS) != OCTETS:
                self.issues.info(
                    self.pointer("contentMediaType"),
                    f"3.0 cannot declare that these bytes are {media_type}; it was dropped.",
                )
        elif encoding is None and media_type == OCTETS and "format" not in schema:
            del schema["contentMediaType"]
            schema["format"] = "binary"

    def _rewrite_conditions(self, schema: JsonObject) -> None:
        """Express `if`/`then`/`else` and dependencies with `not` and `anyOf`."""
        extra: list[JsonObject] = []
        condition = schema.pop("if", None)
        then, otherwise = schema.pop("then", None), schema.pop("else", None)
        if isinstance(condition, dict):
            if isinstance(then, dict):
                extra.append({"anyOf": [{"not": condition}, then]})
            if isinstance(otherwise, dict):
                extra.append({"anyOf": [condition, otherwise]})
            if extra:
                self.issues.info(
                    self.pointer("if"),
                    "`if` is unknown to 3.0; the condition is expressed with `not` and `anyOf`.",
                )
        for keyword in ("dependentRequired", "dependentSchemas"):
            dependent = schema.pop(keyword, None)
            for name, demand in dependent.items() if isinstance(dependent, dict) else ():
                part = {"required": demand} if keyword == "dependentRequired" else demand
                if part == {"required": []}:
                    continue
                extra.append({"anyOf": [{"not": {"required": [name]}}, part]})
        if extra:
            parts = schema.get("allOf")
            schema["allOf"] = [*(parts if isinstance(parts, list) else []), *extra]

    def _rewrite_arrays(self, schema: JsonObject) -> None:
        prefix = schema.pop("prefixItems", None)
        if not isinstance(prefix, list):
            return
        self.issues.warning(
            self.pointer("prefixItems"),
            "3.0 has no tuples; every item may have any of the listed forms.",
        )
        rest = schema.get("items")
        limit = schema.get("maxItems")
        if rest == {"not": {}}:  # what `items: false` has become
            schema["maxItems"] = min(limit, len(prefix)) if isinstance(limit, int) else len(prefix)
            forms = prefix
        elif isinstance(rest, dict) and rest:
            forms = [*prefix, rest]
        elif isinstance(limit, int) and limit <= len(prefix):
            forms = prefix
        else:
            schema["items"] = {}
            return
        distinct = [form for index, form in enumerate(forms) if form not in forms[:index]]
        schema["items"] = distinct[0] if len(distinct) == 1 else {"anyOf": distinct}

    def _rewrite_null_branches(self, schema: JsonObject) -> None:
        """Turn a choice between a schema and null into `nullable`."""
        for keyword in ("oneOf", "anyOf"):
            branches = schema.get(keyword)
            if not isinstance(branches, list):
                continue
            real = [branch for branch in branches if not _is_null(branch)]
            if len(real) == len(branches):
                continue
            if not real:
                del schema[keyword]
                schema.update(enum=[None], nullable=True)
                continue
            if len(real) > 1:
                schema[keyword] = real
                schema["nullable"] = True
                continue
            del schema[keyword]
            only = real[0]
            if (
                isinstance(only, dict)
                and "$ref" not in only
                and isinstance(only.get("type"), str)
                and not (only.keys() & schema.keys())
            ):
                schema.update(only)
            else:
                parts = schema.get("allOf")
                schema["allOf"] = [*(parts if isinstance(parts, list) else []), only]
            schema["nullable"] = True

    def _rewrite_patterns(self, schema: JsonObject, forms: JsonArray) -> None:
        self.issues.warning(
            self.pointer("patternProperties"),
            "3.0 cannot name members by pattern; every other member may have these forms.",
        )
        additional = schema.get("additionalProperties", True)
        if additional is True or additional == {}:
            return
        if isinstance(additional, dict):
            forms = [*forms, additional]
        distinct = [form for index, form in enumerate(forms) if form not in forms[:index]]
        schema["additionalProperties"] = distinct[0] if len(distinct) == 1 else {"anyOf": distinct}

    # Objects around schemas
    def on_license(self, node: JsonObject) -> Json:
        identifier = node.get("identifier")
        if identifier is None:
            return node
        result = {key: value for key, value in node.items() if key != "identifier"}
        self.issues.info(
            self.pointer("identifier"),
            "`identifier` is unknown to 3.0; the licence's address on spdx.org is given.",
        )
        result.setdefault("url", f"https://spdx.org/licenses/{identifier}.html")
        return result

    def on_info(self, node: JsonObject) -> Json:
        if "summary" not in node:
            return node
        self.issues.info(
            self.pointer("summary"), "`summary` is unknown to 3.0 here; it is kept as `x-summary`."
        )
        return {("x-summary" if key == "summary" else key): value for key, value in node.items()}

    def on_operation(self, node: JsonObject) -> Json:
        responses = node.get("responses")
        if isinstance(responses, dict) and any(not key.startswith("x-") for key in responses):
            return node
        self.issues.info(self.pointer(), "3.0 needs a response; an empty default one was added.")
        kept = require_object(responses, self.pointer("responses"))
        return {**node, "responses": {**kept, "default": {"description": ""}}}

    def _plain_reference(self, node: JsonObject) -> JsonObject:
        if "$ref" in node and len(node) > 1:
            self.issues.info(
                self.pointer(), "3.0 ignores what is beside a reference, so it was dropped."
            )
            return {"$ref": node["$ref"]}
        return node

    def on_response(self, node: JsonObject) -> Json:
        return self._plain_reference(node)

    def on_parameter(self, node: JsonObject) -> Json:
        node = self._plain_reference(node)
        return (
            {**node, "required": True}
            if node.get("in") == "path" and node.get("required") is not True
            else node
        )

    def on_header(self, node: JsonObject) -> Json:
        return self._plain_reference(node)

    def on_request_body(self, node: JsonObject) -> Json:
        return self._plain_reference(node)

    def on_example(self, node: JsonObject) -> Json:
        return self._plain_reference(node)

    def on_link(self, node: JsonObject) -> Json:
        node = self._plain_reference(node)
        operation = node.get("operationRef")
        if isinstance(operation, str) and operation.startswith("#/webhooks/"):
            return {**node, "operationRef": "#/x-" + operation[2:]}
        if isinstance(operation, str) and operation.startswith("#/components/pathItems/"):
            self.issues.warning(
                self.pointer("operationRef"),
                "3.0 has no `components.pathItems`, so this does not resolve.",
            )
        return node

    def on_security_scheme(self, node: JsonObject) -> Json:
        if self.at[-1] not in self.mutual_tls:
            return self._plain_reference(node)
        self.issues.critical(
            self.pointer(),
            "3.0 has no mutual TLS; the scheme was dropped and must be demanded outside of the "
            "document.",
        )
        return DROP

    def on_requirement(self, node: JsonObject) -> Json:
        kept = {name: scopes for name, scopes in node.items() if name not in self.mutual_tls}
        return node if len(kept) == len(node) else kept

    def on_components(self, node: JsonObject) -> Json:
        if "pathItems" not in node:
            return node
        return {key: value for key, value in node.items() if key != "pathItems"}

    def on_document(self, node: JsonObject) -> Json:
        result = {
            key: value
            for key, value in node.items()
            if key not in ("webhooks", "jsonSchemaDialect")
        }
        if "webhooks" in node:
            self.issues.critical(
                "/webhooks",
                "3.0 has no webhooks; they are kept as `x-webhooks`, which most tools ignore.",
            )
            result["x-webhooks"] = node["webhooks"]
        result.setdefault("paths", {})
        return result


def _is_null(branch: Json) -> bool:
    """Tell whether a branch, already rewritten, allows nothing but null."""
    return (
        isinstance(branch, dict)
        and branch.get("enum") == [None]
        and branch.keys() <= {"enum", "nullable"} | _ANNOTATIONS
    )


def _find_mutual_tls(document: JsonObject) -> set[str]:
    """Return the names of mutual TLS schemes, defined directly or by reference."""
    components = require_object(document.get("components"), "/components")
    schemes = require_object(components.get("securitySchemes"), "/components/securitySchemes")
    found = {
        name
        for name, scheme in schemes.items()
        if isinstance(scheme, dict) and scheme.get("type") == "mutualTLS"
    }
    while True:
        references = {f"#/components/securitySchemes/{name}" for name in found}
        more = {
            name
            for name, scheme in schemes.items()
            if isinstance(scheme, dict) and scheme.get("$ref") in references
        } - found
        if not more:
            return found
        found |= more


def down_to_3_0(document: JsonObject, issues: IssueLog, version: str) -> JsonObject:
    """Convert a 3.1 document to 3.0."""
    document = replace_anchors(
        document,
        lambda where: issues.warning(
            where, "3.0 has no `$dynamicRef`; it refers to the anchor it starts from."
        ),
    )
    document = replace_lost_references(document, issues, Family.V31, Family.V30)
    result = DownTo30(document, issues).rewrite(document, "document")
    return {**result, "openapi": version}
