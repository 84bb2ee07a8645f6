"""Renaming of components and of every reference to them."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import unquote

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.document.keywords import NAME_MAPS, is_literal
from commonplace.openapi.engine.document.rewriter import Rewriter
from commonplace.openapi.engine.pointers import escape_token

Renames = dict[str, dict[str, str]]  # section (schemas, definitions, ...) to old name to new name


def rename_components(document: JsonObject, renames: Renames, *, old: bool) -> JsonObject:
    """Return a copy of the document with components renamed.

    References to them, discriminator mappings and security requirements follow; data such as
    examples stays as it is.
    """
    changed = _ReferenceRenamer(renames, old=old).rewrite(document)
    result: JsonObject = dict(changed)
    container = result if old else dict(result.get("components") or {})
    for section, names in renames.items():
        if isinstance(container.get(section), dict):
            container[section] = {
                names.get(name, name): value for name, value in container[section].items()
            }
    if not old:
        result["components"] = container
    return result


class _ReferenceRenamer:
    def __init__(self, renames: Renames, *, old: bool) -> None:
        self.base = "#/" if old else "#/components/"
        self.renames = renames
        self.schemas = renames.get("definitions" if old else "schemas", {})
        self.schemes = renames.get("securityDefinitions" if old else "securitySchemes", {})

    def rewrite(self, node: Json, *, named: bool = False) -> Json:
        """Rename inside a value; the keys of a `named` object are names, not keywords."""
        if isinstance(node, dict):
            result = None
            for key, value in node.items():
                new = self.rewrite(value) if named else self._rewrite_keyword(key, value)
                if new is not value and new != value:
                    result = result if result is not None else dict(node)
                    result[key] = new
            return node if result is None else result
        if isinstance(node, list):
            items = [
                self.rewrite(value) if isinstance(value, (dict, list)) else value for value in node
            ]
            return node if all(new is old for new, old in zip(items, node, strict=True)) else items
        return node

    def _rewrite_keyword(self, key: str, value: Json) -> Json:
        if key == "$ref" and isinstance(value, str):
            return self._rename_reference(value)
        if key == "discriminator" and isinstance(value, dict):
            return self._rename_discriminator(value)
        if key == "security" and self.schemes and isinstance(value, list):
            return [self._rename_requirement(requirement) for requirement in value]
        if not isinstance(value, (dict, list)) or is_literal(key, value):
            return value
        return self.rewrite(value, named=key in NAME_MAPS)

    def _rename_discriminator(self, node: JsonObject) -> Json:
        if not isinstance(node.get("mapping"), dict) and not isinstance(
            node.get("defaultMapping"), str
        ):
            return self.rewrite(node)  # a property called `discriminator`
        result = dict(node)
        if isinstance(node.get("mapping"), dict):
            result["mapping"] = {
                name: self._rename_target(target) for name, target in node["mapping"].items()
            }
        if "defaultMapping" in node:
            result["defaultMapping"] = self._rename_target(node["defaultMapping"])
        return result

    def _rename_reference(self, reference: str) -> str:
        if not reference.startswith(self.base):
            return reference
        section, _, rest = reference[len(self.base) :].partition("/")
        names = self.renames.get(section)
        if not names or not rest:
            return reference
        token, slash, tail = rest.partition("/")
        plain = token.replace("~1", "/").replace("~0", "~")
        new = names.get(plain, names.get(unquote(plain)))
        return (
            reference if new is None else f"{self.base}{section}/{escape_token(new)}{slash}{tail}"
        )

    def _rename_target(self, target: Json) -> Json:
        if not isinstance(target, str):
            return target
        return self._rename_reference(target) if "/" in target else self.schemas.get(target, target)

    def _rename_requirement(self, requirement: Json) -> Json:
        if not isinstance(requirement, dict):
            return requirement
        return {self.schemes.get(name, name): scopes for name, scopes in requirement.items()}


def parse_component_reference(reference: Json, *, old: bool) -> tuple[str, str] | None:
    """Return section and name of the component that a local reference leads to, or into."""
    base = "#/" if old else "#/components/"
    if not isinstance(reference, str) or not reference.startswith(base):
        return None
    section, _, rest = reference[len(base) :].partition("/")
    token = unquote(rest.partition("/")[0]).replace("~1", "/").replace("~0", "~")
    return (section, token) if token else None


def find_subtypes(schemas: Json, *, old: bool) -> dict[str, set[str]]:
    """Return the schemas that extend each named schema by `allOf`, directly or indirectly.

    A discriminator of the extended schema may name them.
    """
    direct: dict[str, set[str]] = {}
    for name, schema in schemas.items() if isinstance(schemas, dict) else ():
        for parent in _list_branches(schema, ("allOf",), old=old):
            direct.setdefault(parent, set()).add(name)
    result = {}
    for parent, children in direct.items():
        known, waiting = set(children), list(children)
        while waiting:
            new = direct.get(waiting.pop(), set()) - known
            known |= new
            waiting.extend(new)
        result[parent] = known
    return result


def _list_branches(schema: Json, keywords: tuple[str, ...], *, old: bool) -> Iterator[str]:
    """Yield the named schemas that are branches of a schema."""
    for keyword in keywords if isinstance(schema, dict) else ():
        branches = schema.get(keyword)
        for branch in branches if isinstance(branches, list) else ():
            found = (
                parse_component_reference(branch.get("$ref"), old=old)
                if isinstance(branch, dict)
                else None
            )
            if found is not None and found[0] in ("schemas", "definitions"):
                yield found[1]


def add_discriminator_mappings(document: JsonObject, names: dict[str, str]) -> JsonObject:
    """Return the 3.x document with mappings for renamed schemas that discriminators name."""
    result: JsonObject = (
        _MappingAdder(document, names).rewrite(document, "document") if names else document
    )
    return result


class _MappingAdder(Rewriter):
    def __init__(self, document: JsonObject, names: dict[str, str]) -> None:
        super().__init__()
        self.names = names
        self.heirs = find_subtypes((document.get("components") or {}).get("schemas"), old=False)

    def on_schema(self, node: dict[str, Json]) -> Json:
        discriminator = node.get("discriminator")
        if not isinstance(discriminator, dict):
            return node
        listed = dict.fromkeys(_list_branches(node, ("oneOf", "anyOf"), old=False))
        if len(self.at) == 3 and self.at[:2] == ["components", "schemas"]:
            listed.update(dict.fromkeys(sorted(self.heirs.get(self.at[2], ()))))
        mapping = discriminator.get("mapping")
        mapping = mapping if isinstance(mapping, dict) else {}
        mapped = {
            parse_component_reference(target, old=False) or ("schemas", target)
            for target in mapping.values()
            if isinstance(target, str)
        }
        implicit = {
            name: f"#/components/schemas/{escape_token(name)}"
            for name in listed
            if name in self.names and name not in mapping and ("schemas", name) not in mapped
        }
        return (
            {**node, "discriminator": {**discriminator, "mapping": {**mapping, **implicit}}}
            if implicit
            else node
        )
