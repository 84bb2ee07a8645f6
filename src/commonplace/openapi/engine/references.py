"""Renaming components, with every reference to them."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from commonplace.openapi.engine.shape import Json, escape_token

Renames = dict[str, dict[str, str]]  # section (schemas, definitions, ...) to old name to new name


def rename_components(document: dict[str, Any], renames: Renames, *, old: bool) -> dict[str, Any]:
    """The document with components renamed in place. Pointers into them, discriminator mappings and security names follow."""
    changed = _References(renames, old=old).rewrite(document)
    result: dict[str, Any] = dict(changed)
    container = result if old else dict(result.get("components") or {})
    for section, names in renames.items():
        if isinstance(container.get(section), dict):
            container[section] = {names.get(name, name): value for name, value in container[section].items()}
    if not old:
        result["components"] = container
    return result


class _References:
    def __init__(self, renames: Renames, *, old: bool) -> None:
        self.base = "#/" if old else "#/components/"
        self.renames = renames
        self.schemas = renames.get("definitions" if old else "schemas", {})
        self.schemes = renames.get("securityDefinitions" if old else "securitySchemes", {})

    def rewrite(self, node: Json) -> Json:
        if isinstance(node, dict):
            result = None
            for key, value in node.items():
                if key == "$ref" and isinstance(value, str):
                    new: Json = self._reference(value)
                elif key == "discriminator" and isinstance(value, dict) and isinstance(value.get("mapping"), dict):
                    mapping = {name: self._mapped(target) for name, target in value["mapping"].items()}
                    new = {**value, "mapping": mapping} if mapping != value["mapping"] else value
                elif key == "security" and self.schemes and isinstance(value, list):
                    new = [self._requirement(one) for one in value]
                    new = value if new == value else new
                elif isinstance(value, (dict, list)):
                    new = self.rewrite(value)
                else:
                    continue
                if new is not value and new != value:
                    result = result if result is not None else dict(node)
                    result[key] = new
            return node if result is None else result
        if isinstance(node, list):
            items = [self.rewrite(value) if isinstance(value, (dict, list)) else value for value in node]
            return node if all(one is other for one, other in zip(items, node, strict=True)) else items
        return node

    def _reference(self, reference: str) -> str:
        if not reference.startswith(self.base):
            return reference
        section, _, rest = reference[len(self.base) :].partition("/")
        names = self.renames.get(section)
        if not names or not rest:
            return reference
        token, slash, tail = rest.partition("/")
        plain = token.replace("~1", "/").replace("~0", "~")
        new = names.get(plain, names.get(unquote(plain)))
        return reference if new is None else f"{self.base}{section}/{escape_token(new)}{slash}{tail}"

    def _mapped(self, target: Json) -> Json:
        if not isinstance(target, str):
            return target
        return self._reference(target) if "/" in target else self.schemas.get(target, target)

    def _requirement(self, requirement: Json) -> Json:
        if not isinstance(requirement, dict):
            return requirement
        return {self.schemes.get(name, name): scopes for name, scopes in requirement.items()}
