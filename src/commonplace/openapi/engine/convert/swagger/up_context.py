"""What all parts of a conversion from 2.0 to 3.0 share: component names and references."""

from __future__ import annotations

import re
from urllib.parse import unquote

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.convert.issues import IssueLog
from commonplace.openapi.engine.convert.swagger.schema_up import SchemaUp, pointer_of
from commonplace.openapi.engine.pointers import resolve_pointer

_COMPONENT_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_SECTIONS = ("definitions", "parameters", "responses", "securityDefinitions")


class UpContext:
    """The 2.0 document being converted, with the names that its components get in 3.0.

    `document` is the source with references that point to 3.0 places, so that nothing else has
    to rewrite them.
    """

    def __init__(self, source: JsonObject, issues: IssueLog) -> None:
        self.source = source
        self.issues = issues
        self.renamed: dict[str, dict[str, str]] = {}
        self.originals: dict[str, dict[str, str]] = {}
        for section in _SECTIONS:
            self.renamed[section] = map_component_names(list(mapping(source, section)))
            self.originals[section] = {new: old for old, new in self.renamed[section].items()}
            for old, new in self.renamed[section].items():
                if old != new:
                    issues.info(
                        pointer_of([section, old]),
                        f"Renamed to {new!r}: 3.0 allows only letters, digits, `.`, `_`, `-` here.",
                    )
        self.document: JsonObject = self._with_new_references(source)

    def schema(self, schema: Json, at: list[str]) -> Json:
        """Convert a schema."""
        return SchemaUp(self.issues, list(at)).rewrite(schema, "schema")

    def resolve(self, parameter: Json) -> JsonObject:
        """Return the 2.0 parameter that a reference with a 3.0 name leads to."""
        if not isinstance(parameter, dict):
            return {}
        reference = parameter.get("$ref")
        if not isinstance(reference, str):
            return parameter
        name = reference.rsplit("/", 1)[-1]
        if name in self.originals["parameters"] and reference.startswith(
            ("#/components/parameters/", "#/components/requestBodies/")
        ):
            found = self.document["parameters"][self.originals["parameters"][name]]
            return found if isinstance(found, dict) else {}
        try:
            found = resolve_pointer(self.document, reference)
        except LookupError:
            return {}
        return found if isinstance(found, dict) else {}

    def _with_new_references(self, node: Json) -> Json:
        if isinstance(node, dict):
            reference = node.get("$ref")
            if isinstance(reference, str):
                new = self._reference(reference)
                return {**node, "$ref": new} if new != reference else node
            return {
                key: self._with_new_mapping(value)
                if key == "discriminator" and isinstance(value, dict)
                else self._with_new_references(value)
                for key, value in node.items()
            }
        if isinstance(node, list):
            return [self._with_new_references(value) for value in node]
        return node

    def _with_new_mapping(self, discriminator: JsonObject) -> JsonObject:
        """Rewrite a discriminator's mapping, which gives references or names.

        A property may be called `discriminator` too; then it is a schema like any other.
        """
        mapping = discriminator.get("mapping")
        if not isinstance(discriminator.get("propertyName"), str) or not isinstance(mapping, dict):
            return dict(self._with_new_references(discriminator))
        names = self.renamed["definitions"]
        new = {
            key: names.get(target, self._reference(target)) if isinstance(target, str) else target
            for key, target in mapping.items()
        }
        return {**discriminator, "mapping": new}

    def _reference(self, reference: str) -> str:
        tokens = reference.split("/")
        if len(tokens) < 3 or tokens[0] != "#":
            return reference
        section, name = tokens[1], tokens[2].replace("~1", "/").replace("~0", "~")
        if name not in self.renamed.get(section, {}):
            name = unquote(name)
        new = self.renamed.get(section, {}).get(name, name)
        rest = "".join("/" + token for token in tokens[3:])
        if section == "definitions":
            return f"#/components/schemas/{new}{rest}"
        if section == "responses":
            return f"#/components/responses/{new}{rest}"
        if section == "parameters":
            target = mapping(self.source, "parameters").get(name)
            kind = (
                "requestBodies"
                if isinstance(target, dict) and target.get("in") in ("body", "formData")
                else "parameters"
            )
            return f"#/components/{kind}/{new}{rest}"
        return reference


def map_component_names(names: list[str]) -> dict[str, str]:
    """Map each name to one that components allow; distinct names stay distinct."""
    taken: set[str] = set()
    result = {}
    for name in sorted(names, key=lambda wanted: bool(_COMPONENT_NAME.search(wanted))):
        plain = _COMPONENT_NAME.sub("_", name).strip("_") or "unnamed"
        if not _COMPONENT_NAME.search(name) and name:
            plain = name
        unique, number = plain, 2
        while unique in taken:
            unique, number = f"{plain}_{number}", number + 1
        taken.add(unique)
        result[name] = unique
    return result


def mapping(node: JsonObject, key: str) -> JsonObject:
    """Return the object under a key; an empty one if there is none."""
    value = node.get(key)
    return value if isinstance(value, dict) else {}


def strings(value: Json) -> list[str]:
    """Return the strings of a list, each once."""
    return (
        list(dict.fromkeys(item for item in value if isinstance(item, str)))
        if isinstance(value, list)
        else []
    )


def kept_extensions(node: JsonObject) -> JsonObject:
    """Return the extensions that stay extensions in 3.0."""
    return {
        key: value for key, value in node.items() if key.startswith("x-") and key != "x-nullable"
    }
