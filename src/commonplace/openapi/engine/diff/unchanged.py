"""Parts that two documents have in common literally, which need no comparison."""

from __future__ import annotations

from collections import defaultdict

from commonplace.kernel.json_types import Json
from commonplace.openapi.engine.diff.api import ApiView
from commonplace.openapi.engine.diff.model import RawOperation
from commonplace.openapi.engine.document.keywords import collect_references
from commonplace.openapi.engine.json_values import same_json
from commonplace.openapi.engine.pointers import decode_pointer, escape_token
from commonplace.openapi.model import ApiDocument

_SHARED_V2 = ("consumes", "produces")
_TABLES_V2 = ("definitions", "parameters", "responses")


class UnchangedParts:
    """Knows which components of two documents differ, directly or through references.

    Documents of different versions have nothing in common.
    """

    def __init__(self, old: ApiView, new: ApiView) -> None:
        self.comparable = old.document.family is new.document.family
        self.same_security = old.document.data.get("security") == new.document.data.get("security")
        self.same_media = all(
            old.document.data.get(name) == new.document.data.get(name) for name in _SHARED_V2
        )
        self.changed = _find_changed(old.document, new.document) if self.comparable else set()
        self._depth = 2 if old.document.is_v2 else 3

    def is_unchanged(self, old: Json, new: Json) -> bool:
        """Tell whether two values are equal and refer to nothing that changed."""
        if not self.comparable or not same_json(old, new):
            return False
        if not isinstance(old, (dict, list)):
            return True
        return not any(self.touches(ref) for ref in collect_references(new))

    def touches(self, ref: str) -> bool:
        """Tell whether a reference may lead to something that changed."""
        components = _find_component(ref, self._depth)
        return not components or not self.changed.isdisjoint(components)

    def operation(self, old: RawOperation, new: RawOperation) -> bool:
        """Tell whether nothing about an operation changed."""
        if not self.comparable or old.path != new.path or not self.same_media:
            return False
        if old.item.get("servers") != new.item.get("servers") or (
            not self.same_security and "security" not in new.operation
        ):
            return False
        return self.is_unchanged(old.operation, new.operation) and self.is_unchanged(
            old.item.get("parameters"), new.item.get("parameters")
        )


def _find_component(ref: str, depth: int) -> set[str]:
    """Return the component that a reference leads to, as written and percent-decoded.

    The result is empty if the reference leads elsewhere.
    """
    parts = ref.split("/")
    if (
        len(parts) <= depth
        or parts[0] != "#"
        or parts[1] not in (_TABLES_V2 if depth == 2 else ("components",))
    ):
        return set()
    written = "/".join(parts[: depth + 1])
    return {written, decode_pointer(written)}


def _list_components(document: ApiDocument) -> dict[str, Json]:
    if document.is_v2:
        tables = {f"#/{kind}": document.data.get(kind) for kind in _TABLES_V2}
    else:
        components = document.data.get("components")
        tables = (
            {f"#/components/{kind}": values for kind, values in components.items()}
            if isinstance(components, dict)
            else {}
        )
    return {
        f"{base}/{escape_token(name)}": value
        for base, values in tables.items()
        if isinstance(values, dict)
        for name, value in values.items()
    }


def _find_changed(old: ApiDocument, new: ApiDocument) -> set[str]:
    before, after = _list_components(old), _list_components(new)
    changed = {
        name
        for name in before.keys() | after.keys()
        if name not in before or name not in after or not same_json(before[name], after[name])
    }
    if not changed:
        return changed
    depth = 2 if old.is_v2 else 3
    users: dict[str, set[str]] = defaultdict(set)
    for name, value in after.items():
        for ref in collect_references(value):
            components = _find_component(ref, depth)
            if not components:
                changed.add(name)  # it leads outside the components: compare it
            for component in components:
                users[component].add(name)
    waiting = list(changed)
    while waiting:
        for user in users[waiting.pop()]:
            if user not in changed:
                changed.add(user)
                waiting.append(user)
    return changed
