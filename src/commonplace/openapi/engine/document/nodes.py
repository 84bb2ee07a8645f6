"""Entries of the index: parts of a document and their positions."""

from __future__ import annotations

from typing import NamedTuple

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.pointers import escape_token, unescape_token


class NodePlace(NamedTuple):
    """A position: that of the parent, and one step.

    `key` marks entries of a map; other steps are fixed fields or list positions.
    """

    parent: NodePlace | None
    step: str | int
    key: bool = False

    @property
    def pointer(self) -> str:
        """The JSON pointer (RFC 6901), without a leading `#`."""
        steps = [escape_token(str(place.step)) for place in self._chain()]
        return "".join("/" + step for step in steps)

    @property
    def json_path(self) -> str:
        """The JSON path: `$.paths['/pets'].get.parameters[0]`."""
        parts = []
        for place in self._chain():
            step = place.step
            if isinstance(step, int):
                parts.append(f"[{step}]")
            elif place.key:
                parts.append("['" + step.replace("\\", "\\\\").replace("'", "\\'") + "']")
            else:
                parts.append("." + step)
        return "$" + "".join(parts)

    def _chain(self) -> list[NodePlace]:
        chain = []
        place: NodePlace | None = self
        while place is not None and place.parent is not None:
            chain.append(place)
            place = place.parent
        return chain[::-1]


ROOT = NodePlace(None, "")


def place_at(data: Json, pointer: str) -> NodePlace:
    """Return the place that a pointer names."""
    place, node = ROOT, data
    for position, token in enumerate(pointer.split("/")[1:]):
        step: str | int = int(token) if type(node) is list else unescape_token(token)
        node = (
            node[int(token)]
            if type(node) is list
            else node.get(step)
            if type(node) is dict
            else None
        )
        # Names of components and paths are keys of a map; the steps below them are fixed fields.
        place = NodePlace(place, step, position == (2 if pointer.startswith("/components/") else 1))
    return place


class NodeScope(NamedTuple):
    """What surrounds a node: its path, method and status, or that it is a component."""

    path: str = ""
    method: str = ""
    status: str = ""
    component: bool = False
    callback: str = ""
    webhook: bool = False
    resource: str = ""


class SchemaNode(NamedTuple):
    """A schema and its position."""

    schema: JsonObject
    name: str  # of a component, property or definition; else empty
    place: NodePlace
    scope: NodeScope


class ObjectNode(NamedTuple):
    """A parameter, response, header, media type, path item, operation, ... and its position."""

    value: JsonObject
    name: str
    place: NodePlace
    scope: NodeScope
    home: NodePlace | None = None  # of a referenced path item: where its content is


class RefNode(NamedTuple):
    """A reference and its position."""

    ref: str
    place: NodePlace  # of the object with the $ref
    node_type: str
    resource: str = ""  # `$id` of the nearest schema around it: pointers start there
