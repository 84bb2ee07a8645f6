"""A bottom-up rewriter that walks a document by the table of its shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from commonplace.kernel.json_types import Json
from commonplace.openapi.engine.document.shape import LIST, MAP, ONE, ONE_OR_LIST, OPEN_SHAPE, SHAPE

Hook = Callable[[dict[str, Json]], Json]


class Drop:
    """The type of DROP, which a hook returns to remove its object."""


DROP: Final = Drop()


class Rewriter:
    """Rewrites a document bottom up.

    A subclass defines `on_<kind>(node)` for the kinds it changes. The hook gets a node whose
    children are already rewritten and returns that node, a new one or DROP; it must not change
    the node. `enter_<kind>(node)` is called before the children. Untouched branches are shared
    with the source.
    """

    booleans_stay: frozenset[str] = frozenset()
    """Keywords whose boolean schemas stay booleans in the target."""

    def __init__(self) -> None:
        self.at: list[str] = []
        self._hooks: dict[str, Hook] = {}
        self._entering: dict[str, Callable[[dict[str, Json]], dict[str, Json]]] = {}
        for kind in {**SHAPE, **OPEN_SHAPE}:
            hook = getattr(self, f"on_{kind}", None)
            if hook is not None:
                self._hooks[kind] = hook
            before = getattr(self, f"enter_{kind}", None)
            if before is not None:
                self._entering[kind] = before

    def pointer(self, *more: str) -> str:
        """Return the pointer of the object being rewritten."""
        return "".join(
            "/" + token.replace("~", "~0").replace("/", "~1") for token in (*self.at, *more)
        )

    def rewrite(self, node: Json, kind: str) -> Json:
        """Return the rewritten form of an object of a kind."""
        if not isinstance(node, dict):
            return (
                self.on_boolean_schema(node)
                if kind == "schema" and isinstance(node, bool)
                else node
            )
        entering = self._entering.get(kind)
        if entering is not None:
            node = entering(node)
        result = node
        shape = SHAPE.get(kind)
        if shape is None:
            child_kind = OPEN_SHAPE[kind]
            for key, value in node.items():
                if isinstance(value, dict) and not key.startswith("x-"):
                    result = self._child(node, result, key, value, ONE, child_kind)
        elif "$ref" not in node or kind in ("schema", "path_item"):
            for key, value in node.items():
                entry = shape.get(key)
                if entry is not None and (
                    value.__class__ is dict or value.__class__ is list or entry[1] == "schema"
                ):
                    result = self._child(node, result, key, value, entry[0], entry[1])
        hook = self._hooks.get(kind)
        return hook(result) if hook is not None else result

    def on_boolean_schema(self, node: bool) -> Json:
        """Rewrite a schema that is true or false."""
        return node

    def _child(
        self,
        node: dict[str, Json],
        result: dict[str, Json],
        key: str,
        value: Json,
        container: int,
        kind: str,
    ) -> dict[str, Json]:
        at = self.at
        at.append(key)
        try:
            if container == MAP:
                new = self._map(value, kind)
            elif container == LIST or (container == ONE_OR_LIST and isinstance(value, list)):
                new = self._list(value, kind)
            elif value.__class__ is bool and key in self.booleans_stay:
                new = value
            else:
                new = self.rewrite(value, kind)
        finally:
            at.pop()
        if new is value:
            return result
        if result is node:
            result = dict(node)
        if new is DROP:
            del result[key]
        else:
            result[key] = new
        return result

    def _map(self, value: Json, kind: str) -> Json:
        if not isinstance(value, dict):
            return value
        result = value
        at = self.at
        for key, item in value.items():
            at.append(key)
            new = self.rewrite(item, kind)
            at.pop()
            if new is not item:
                if result is value:
                    result = dict(value)
                if new is DROP:
                    del result[key]
                else:
                    result[key] = new
        return result

    def _list(self, value: Json, kind: str) -> Json:
        if not isinstance(value, list):
            return value
        items = []
        changed = False
        at = self.at
        for index, item in enumerate(value):
            at.append(str(index))
            new = self.rewrite(item, kind)
            at.pop()
            changed = changed or new is not item
            if new is not DROP:
                items.append(new)
        return items if changed else value
