"""Comparison of what two documents have under one name, including what it refers to."""

from __future__ import annotations

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.document.references.renaming import (
    find_subtypes,
    parse_component_reference,
)
from commonplace.openapi.engine.document.rewriter import Rewriter
from commonplace.openapi.engine.document.shape import SHAPE
from commonplace.openapi.engine.join.operations import Place, collect_operation_ids
from commonplace.openapi.engine.json_values import same_json
from commonplace.openapi.engine.pointers import resolve_pointer

Component = tuple[str, str]  # section and name


class Meaning:
    """Compares the components of two documents."""

    def __init__(self, left: JsonObject, right: JsonObject, *, old: bool) -> None:
        self.left = left
        self.right = right
        self.old = old
        self._left_places = _places(left)
        self._right_places = _places(right)

    def are_equal(self, value: Json, other: Json, kind: str) -> bool:
        """Tell whether two objects are equal, including the components they refer to."""
        return same_json(value, other) and self._references_agree(_References(value, kind))

    def find_differing(self, sections: tuple[str, ...]) -> tuple[list[Component], list[Component]]:
        """Return components that differ themselves, and those that differ by reference only."""
        direct: list[Component] = []
        users: dict[Component, list[Component]] = {}
        for section in sections:
            kind = SHAPE["document" if self.old else "components"][section][1]
            left, right = (
                self.get_section(self.left, section),
                self.get_section(self.right, section),
            )
            for name in right:
                if name not in left:
                    continue
                references = _References(right[name], kind)
                if not same_json(left[name], right[name]) or not self._references_agree(references):
                    direct.append((section, name))
                    continue
                for used in references.components(old=self.old):
                    users.setdefault(used, []).append((section, name))
        if direct:
            self._add_subtypes(users)
        return direct, _find_users(direct, users)

    def get_section(self, document: JsonObject, section: str) -> JsonObject:
        container = document if self.old else document.get("components")
        found = container.get(section) if isinstance(container, dict) else None
        return found if isinstance(found, dict) else {}

    def _references_agree(self, references: _References) -> bool:
        """Tell whether references outside the components lead to the same on both sides.

        The operations that links name count too.
        """
        if any(
            self._left_places.get(name) != self._right_places.get(name)
            for name in references.operations
        ):
            return False
        outside = (reference for reference in references.local if reference.startswith("#/paths/"))
        return all(
            same_json(_look_up(self.left, reference), _look_up(self.right, reference))
            for reference in outside
        )

    def _add_subtypes(self, users: dict[Component, list[Component]]) -> None:
        """Add the subtypes of a schema with a discriminator, which it does not refer to."""
        section = "definitions" if self.old else "schemas"
        left, right = self.get_section(self.left, section), self.get_section(self.right, section)
        for schemas in (left, right):
            for parent, children in find_subtypes(schemas, old=self.old).items():
                if (
                    parent in left
                    and isinstance(right.get(parent), dict)
                    and "discriminator" in right[parent]
                ):
                    for child in sorted(children & left.keys() & right.keys()):
                        users.setdefault((section, child), []).append((section, parent))


def _find_users(
    changed: list[Component], users: dict[Component, list[Component]]
) -> list[Component]:
    """Return the users of changed components, direct and indirect."""
    reached = set(changed)
    found: list[Component] = []
    waiting = list(changed)
    while waiting:
        for user in users.get(waiting.pop(), ()):
            if user not in reached:
                reached.add(user)
                found.append(user)
                waiting.append(user)
    return found


def _places(document: JsonObject) -> dict[str, Place]:
    return {name: place for place, name in collect_operation_ids(document).items()}


def _look_up(document: JsonObject, reference: str) -> Json:
    try:
        return resolve_pointer(document, reference)
    except LookupError:
        return None


class _References(Rewriter):
    """Collects the references in an object of any kind."""

    def __init__(self, node: Json, kind: str) -> None:
        super().__init__()
        self.local: dict[str, None] = {}
        self.schemas: dict[str, None] = {}
        self.operations: dict[str, None] = {}
        self.rewrite(node, kind)

    def rewrite(self, node: Json, kind: str) -> Json:
        if isinstance(node, dict):
            if isinstance(node.get("$ref"), str):
                self.local[node["$ref"]] = None
            if kind == "link" and isinstance(node.get("operationId"), str):
                self.operations[node["operationId"]] = None
        return super().rewrite(node, kind)

    def on_discriminator(self, node: JsonObject) -> Json:
        mapping = node.get("mapping")
        targets = [
            *(mapping.values() if isinstance(mapping, dict) else ()),
            node.get("defaultMapping"),
        ]
        for target in targets:
            if isinstance(target, str):
                (self.local if "/" in target else self.schemas)[target] = None
        return node

    def components(self, *, old: bool) -> list[Component]:
        found = [parse_component_reference(reference, old=old) for reference in self.local]
        return [component for component in found if component is not None] + [
            ("schemas", name) for name in self.schemas
        ]
