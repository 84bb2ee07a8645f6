"""Schema Objects of 2.0, and the values of its parameters, as Schema Objects of 3.0."""

from __future__ import annotations

from collections.abc import Callable

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.convert.issues import IssueLog
from commonplace.openapi.engine.convert.keywords import SCHEMA_30, VALUE_KEYWORDS
from commonplace.openapi.engine.document.rewriter import Rewriter


class SchemaUp(Rewriter):
    """Rewrites one 2.0 schema; references must already point to 3.0 places."""

    booleans_stay = frozenset(("additionalProperties",))

    def __init__(self, issues: IssueLog, at: list[str]) -> None:
        super().__init__()
        self.issues = issues
        self.at = at

    def on_boolean_schema(self, node: bool) -> Json:
        return {} if node else {"not": {}}

    def on_schema(self, node: JsonObject) -> Json:
        if "$ref" in node:
            return node if len(node) == 1 else {"$ref": node["$ref"]}
        result = dict(node)
        if result.get("type") == "file":
            result.update(type="string", format="binary")
        if isinstance(result.get("discriminator"), str):
            result["discriminator"] = {"propertyName": result["discriminator"]}
        elif "discriminator" in result and not isinstance(result["discriminator"], dict):
            del result["discriminator"]
        nullable = result.pop("x-nullable", None)
        if nullable is True:
            result["nullable"] = True
        split_types(result)
        if isinstance(result.get("items"), list):
            self.issues.warning(
                self.pointer("items"),
                "A list of item schemas became one schema that allows each of them.",
            )
            result["items"] = {"anyOf": result["items"]} if result["items"] else {}
        if result.get("type") == "array" and "items" not in result:
            result["items"] = {}
        if result.get("required") == [] or isinstance(result.get("required"), bool):
            del result["required"]
        for key in [key for key in result if key not in SCHEMA_30 and not key.startswith("x-")]:
            self.issues.warning(
                self.pointer(key), f"`{key}` is not a keyword of a 3.0 schema and was dropped."
            )
            del result[key]
        return result if result != node else node


class Restored(Rewriter):
    """Turns extensions that the conversion to 2.0 left back into the fields they were."""

    def __init__(self, issues: IssueLog) -> None:
        super().__init__()
        self.issues = issues

    def enter_schema(self, node: JsonObject) -> JsonObject:
        node = self._restore_keywords(
            node, ("oneOf", "anyOf", "not", "discriminator", "writeOnly", "deprecated")
        )
        mapping = node.get("x-discriminator-mapping")
        if not isinstance(node.get("discriminator"), str) or not _is_mapping(mapping):
            return node
        result = {key: value for key, value in node.items() if key != "x-discriminator-mapping"}
        return {
            **result,
            "discriminator": {"propertyName": node["discriminator"], "mapping": mapping},
        }

    def enter_parameter(self, node: JsonObject) -> JsonObject:
        return self._restore_keywords(
            node,
            ("deprecated", "example")
            if node.get("in") in ("path", "query", "header")
            else ("deprecated",),
        )

    def enter_header(self, node: JsonObject) -> JsonObject:
        return self._restore_keywords(node, ("required", "deprecated", "example"))

    def enter_path_item(self, node: JsonObject) -> JsonObject:
        return self._restore_keywords(node, ("summary", "description"))

    def _restore_keywords(self, node: JsonObject, keywords: tuple[str, ...]) -> JsonObject:
        found = [
            keyword
            for keyword in keywords
            if f"x-{keyword}" in node
            and keyword not in node
            and _FORMS[keyword](node[f"x-{keyword}"])
        ]
        if not found or "$ref" in node:
            return node
        for keyword in found:
            self.issues.info(self.pointer(f"x-{keyword}"), f"`x-{keyword}` became `{keyword}`.")
        words = {f"x-{keyword}": keyword for keyword in found}
        return {words.get(key, key): value for key, value in node.items()}


def _is_choice(value: Json) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(branch, dict) for branch in value)
    )


def _is_mapping(value: Json) -> bool:
    return isinstance(value, dict) and all(isinstance(target, str) for target in value.values())


def _is_discriminator(value: Json) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("propertyName"), str)
        and _is_mapping(value.get("mapping", {}))
    )


_FORMS: dict[str, Callable[[Json], bool]] = {
    "oneOf": _is_choice,
    "anyOf": _is_choice,
    "not": lambda value: isinstance(value, dict),
    "discriminator": _is_discriminator,
    **dict.fromkeys(("writeOnly", "deprecated", "required"), lambda value: value is True),
    **dict.fromkeys(("summary", "description"), lambda value: isinstance(value, str)),
    "example": lambda value: True,
}


def split_types(schema: JsonObject) -> None:
    """Replace a list of types: `nullable` for null, `anyOf` for several types.

    Changes the schema, which must be a copy.
    """
    types = schema.get("type")
    if types == "null":
        types = ["null"]
    if not isinstance(types, list):
        return
    real = [name for name in types if name != "null" and isinstance(name, str)]
    if not real and "null" in types:
        del schema["type"]
        schema.setdefault("enum", [None])
        schema["nullable"] = True
        return
    if len(real) < len(types):
        schema["nullable"] = True
    if len(real) == 1:
        schema["type"] = real[0]
        return
    del schema["type"]
    if real:
        branches: list[JsonObject] = [
            {"type": name, **({"items": schema.get("items", {})} if name == "array" else {})}
            for name in real
        ]
        if schema.get("nullable"):
            del schema["nullable"]
            for branch in branches:
                branch["nullable"] = True
        if "array" in real:
            schema.pop("items", None)
        if "anyOf" in schema:
            schema["allOf"] = [*schema.get("allOf", []), {"anyOf": branches}]
        else:
            schema["anyOf"] = branches


def value_schema(source: JsonObject, issues: IssueLog, at: list[str]) -> JsonObject:
    """Return the schema of a 2.0 parameter, header or items object."""
    schema = {key: value for key, value in source.items() if key in VALUE_KEYWORDS}
    items = schema.get("items")
    if isinstance(items, dict):
        if items.get("collectionFormat", "csv") != "csv":
            issues.warning(
                pointer_of(at, "items"),
                f"3.0 has no collectionFormat {items['collectionFormat']!r} for nested items.",
            )
        schema["items"] = (
            value_schema(items, issues, [*at, "items"]) if "$ref" not in items else items
        )
        schema["items"].update(
            {
                key: value
                for key, value in items.items()
                if key.startswith("x-") and key != "x-nullable"
            }
        )
    return dict(SchemaUp(issues, list(at)).on_schema(schema))


def pointer_of(at: list[str], *more: str) -> str:
    """Return the JSON pointer of a route."""
    return "".join("/" + token.replace("~", "~0").replace("/", "~1") for token in (*at, *more))
