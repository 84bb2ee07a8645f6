"""From 3.0 to 3.1, whose schemas are JSON Schema 2020-12, and from 3.1 to 3.2."""

from __future__ import annotations

import json

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.convert.issues import IssueLog
from commonplace.openapi.engine.convert.places import replace_lost_references
from commonplace.openapi.engine.document.nullable import ANNOTATIONS as _ANNOTATIONS
from commonplace.openapi.engine.document.nullable import has_nullable_part, is_only_nullable
from commonplace.openapi.engine.document.rewriter import Rewriter
from commonplace.openapi.engine.document.shape import SHAPE
from commonplace.openapi.engine.pointers import resolve_pointer
from commonplace.openapi.model import Family

# Beside a $ref, 3.0 ignores everything and 3.1 nothing. Words may stay, rules may not.
_KEPT_BESIDE_REF = frozenset(("$ref", "description", "title"))
_PATH_ITEM = frozenset((*SHAPE["path_item"], "$ref", "summary", "description")) - {
    "query",
    "additionalOperations",
}
OCTETS = "application/octet-stream"


class UpTo31(Rewriter):
    """Rewrites a 3.0 document."""

    def __init__(self, document: JsonObject, issues: IssueLog) -> None:
        super().__init__()
        self.document = document
        self.issues = issues

    def enter_schema(self, node: JsonObject) -> JsonObject:
        """Read `allOf: [X, {nullable: true}]`, a common way to say that X may be null."""
        parts = node.get("allOf")
        if not isinstance(parts, list) or not has_nullable_part(parts):
            return node
        kept = []
        for part in parts:
            rest = (
                {key: value for key, value in part.items() if key != "nullable"}
                if is_only_nullable(part)
                else part
            )
            if rest:
                kept.append(rest)
        return {**node, "allOf": kept, "nullable": True}

    def on_schema(self, node: JsonObject) -> Json:
        if "$ref" in node:
            return self._reference(node)
        if not (
            "nullable" in node
            or "example" in node
            or "exclusiveMinimum" in node
            or "exclusiveMaximum" in node
            or node.get("format") in ("binary", "byte")
        ):
            return node
        result = dict(node)
        for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            flag = result.get(exclusive)
            if isinstance(flag, bool):
                if flag and bound in result:
                    result = {
                        (exclusive if key == bound else key): value
                        for key, value in result.items()
                        if key != exclusive
                    }
                else:
                    del result[exclusive]
        if "example" in result:
            example = result.pop("example")
            result.setdefault("examples", [example])
        if result.get("type") == "string" and result.get("format") in ("binary", "byte"):
            if result.pop("format") == "byte":
                result["contentEncoding"] = "base64"
            else:
                result["contentMediaType"] = OCTETS
        if "nullable" in result:
            result = self._nullable(result)
        return result

    def _nullable(self, schema: JsonObject) -> JsonObject:
        """Allow null wherever the author meant it, even where 3.0 strictly would not."""
        if schema.pop("nullable") is not True:
            return schema
        kind, enum = schema.get("type"), schema.get("enum")
        if enum == [None] and kind is None:
            return {
                "type": "null",
                **{key: value for key, value in schema.items() if key != "enum"},
            }
        if isinstance(enum, list) and None not in enum:
            self.issues.info(
                self.pointer("enum"),
                "`nullable` says that null is allowed, so it was added to `enum`.",
            )
            schema["enum"] = [*enum, None]
        unions = [union for union in ("oneOf", "anyOf") if isinstance(schema.get(union), list)]
        if unions or schema.get("allOf"):
            return self._nullable_combination(schema, unions)
        if isinstance(kind, str):
            return {
                key: [kind, "null"] if key == "type" else value for key, value in schema.items()
            }
        if enum is None:
            self.issues.info(
                self.pointer(), "`nullable` without `type` has no effect in 3.0 and was dropped."
            )
        return schema

    def _nullable_combination(self, schema: JsonObject, unions: list[str]) -> JsonObject:
        """Add null as one more branch of a combination.

        If that would count it twice or another rule would refuse it, wrap the whole in a choice.
        """
        kind = schema.get("type")
        if len(unions) == 1 and not schema.keys() & {"allOf", "not"}:
            union = unions[0]
            if union == "anyOf" or all(self._refuses_null(branch) for branch in schema[union]):
                widened = {**schema, union: [*schema[union], {"type": "null"}]}
                return {**widened, "type": [kind, "null"]} if isinstance(kind, str) else widened
        if not unions:
            self.issues.info(
                self.pointer(),
                "`nullable` beside `allOf` became a choice between the schema and null.",
            )
        # A discriminator belongs beside its choice.
        rules = {
            key: value
            for key, value in schema.items()
            if key == "discriminator" or not _is_annotation(key)
        }
        if rules.keys() == {"allOf"} and len(rules["allOf"]) == 1:
            rules = rules["allOf"][0]
        kept = {
            key: value
            for key, value in schema.items()
            if key != "discriminator" and _is_annotation(key)
        }
        return {**kept, "anyOf": [rules, {"type": "null"}]}

    def _refuses_null(self, schema: Json, depth: int = 0) -> bool:
        """Tell whether a schema certainly does not allow null.

        The schema may already be rewritten, or come from the source through a reference.
        """
        if not isinstance(schema, dict) or depth > 20:
            return False
        reference = schema.get("$ref")
        if isinstance(reference, str):
            try:
                return self._refuses_null(resolve_pointer(self.document, reference), depth + 1)
            except LookupError:
                return False
        kind, enum, parts = schema.get("type"), schema.get("enum"), schema.get("allOf")
        if schema.get("nullable") is True or (isinstance(parts, list) and has_nullable_part(parts)):
            return False
        if isinstance(enum, list) and None not in enum:
            return True
        if kind is not None and "null" not in (kind if isinstance(kind, list) else [kind]):
            return True
        if isinstance(parts, list) and any(self._refuses_null(part, depth + 1) for part in parts):
            return True
        unions = [
            schema[union] for union in ("oneOf", "anyOf") if isinstance(schema.get(union), list)
        ]
        return any(
            all(self._refuses_null(branch, depth + 1) for branch in branches) for branches in unions
        )

    def _reference(self, node: JsonObject) -> JsonObject:
        if len(node) == 1:
            return node
        kept = {
            key: value
            for key, value in node.items()
            if key in _KEPT_BESIDE_REF or key.startswith("x-")
        }
        lost = [key for key in node if key not in kept]
        if not lost:
            return node
        self.issues.info(
            self.pointer(),
            f"Beside `$ref`, 3.0 ignores {', '.join(lost)} and 3.1 would apply it, so it was "
            f"dropped.",
        )
        return kept

    def on_server(self, node: JsonObject) -> Json:
        variables = node.get("variables")
        if not isinstance(variables, dict) or not any(
            isinstance(variable, dict) and variable.get("enum") == []
            for variable in variables.values()
        ):
            return node
        return {
            **node,
            "variables": {
                name: {key: value for key, value in variable.items() if key != "enum" or value}
                if isinstance(variable, dict)
                else variable
                for name, variable in variables.items()
            },
        }

    def on_parameter(self, node: JsonObject) -> Json:
        """Drop `allowReserved` and `allowEmptyValue` where the 3.1 schema forbids them."""
        if "$ref" in node:
            return {"$ref": node["$ref"]} if len(node) > 1 else node
        lost = [
            key
            for key in ("allowReserved", "allowEmptyValue")
            if key in node and node.get("in") != "query"
        ]
        if not lost:
            return node
        for key in lost:
            self.issues.info(
                self.pointer(key),
                f"`{key}` means something only for query parameters and was dropped.",
            )
        return {key: value for key, value in node.items() if key not in lost}

    def on_header(self, node: JsonObject) -> Json:
        if "$ref" in node:
            return {"$ref": node["$ref"]} if len(node) > 1 else node
        lost = [key for key in ("allowReserved", "allowEmptyValue", "name", "in") if key in node]
        return {key: value for key, value in node.items() if key not in lost} if lost else node

    def on_link(self, node: JsonObject) -> Json:
        """Turn the parameters of a link into strings, as the 3.1 schema requires."""
        parameters = node.get("parameters")
        if not isinstance(parameters, dict) or all(
            isinstance(value, str) for value in parameters.values()
        ):
            return node
        self.issues.info(
            self.pointer("parameters"),
            "3.1 gives the parameters of a link as strings; other constants are written as text.",
        )
        written = {
            name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            for name, value in parameters.items()
        }
        return {**node, "parameters": written}

    def on_document(self, node: JsonObject) -> Json:
        hooks = node.get("x-webhooks")
        if (
            isinstance(hooks, dict)
            and "webhooks" not in node
            and not all(_is_path_item(item) for item in hooks.values())
        ):
            self.issues.info(
                "/x-webhooks", "`x-webhooks` holds more than path items, so it stays an extension."
            )
        elif isinstance(hooks, dict) and "webhooks" not in node:
            self.issues.info("/x-webhooks", "`x-webhooks` became `webhooks`.")
            self.at.append("x-webhooks")
            hooks = self._map(hooks, "path_item")
            self.at.pop()
            return {
                ("webhooks" if key == "x-webhooks" else key): (hooks if key == "x-webhooks" else v)
                for key, v in node.items()
            }
        return node


def _is_path_item(node: Json) -> bool:
    return isinstance(node, dict) and all(key in _PATH_ITEM or key.startswith("x-") for key in node)


def _is_annotation(key: str) -> bool:
    return key in _ANNOTATIONS or key.startswith("x-")


def up_to_3_1(document: JsonObject, issues: IssueLog, version: str) -> JsonObject:
    """Convert a 3.0 document to 3.1."""
    document = replace_lost_references(document, issues, Family.V30, Family.V31)
    result = UpTo31(document, issues).rewrite(document, "document")
    return {**result, "openapi": version}


def up_to_3_2(document: JsonObject, issues: IssueLog, version: str) -> JsonObject:
    """Convert a 3.1 document to 3.2, which says everything the same way."""
    result = {**document, "openapi": version}
    dialect = result.get("jsonSchemaDialect")
    if isinstance(dialect, str) and dialect.startswith(
        "https://spec.openapis.org/oas/3.1/dialect/"
    ):
        del result["jsonSchemaDialect"]
    return result
