"""What a document says once for all of its operations (security, servers, media types,
addresses), kept true in a joined document.
"""

from __future__ import annotations

from commonplace.kernel.json_types import Json, JsonArray, JsonObject
from commonplace.openapi.engine.document.renaming import rename_components
from commonplace.openapi.engine.join.operations import OperationRewriter
from commonplace.openapi.engine.json_values import same_json
from commonplace.openapi.model import METHODS

_DEFAULT_SERVERS: JsonArray = [{"url": "/"}]
_LABELS = frozenset({"description", "name"})  # what a server is called does not change where it is


def settle(
    left: JsonObject, right: JsonObject, warnings: list[str], *, old: bool
) -> tuple[JsonObject, JsonObject]:
    """Both documents, ready for one root: where they disagree, the one whose root is not kept
    says it at its operations.

    The root that is kept is the left one, or the right one where only that has it.
    """
    left_pins: JsonObject = {}
    right_pins: JsonObject = {}
    for key in ("security", "consumes", "produces") if old else ("security",):
        if _agree(left.get(key) or [], right.get(key) or []):
            continue
        if key in left:
            right_pins[key] = right.get(key) or []
        else:
            left_pins[key] = []
    if not old:
        return _settle_servers(left, right, left_pins, right_pins)
    left, right = _settle_schemes(left, right, left_pins, right_pins)
    left, right = _settle_addresses(left, right, warnings)
    return _pinned(left, left_pins), _pinned(right, right_pins)


def _agree(one: Json, other: Json) -> bool:
    """Whether two lists have the same members.

    The order of security requirements, servers and media types means nothing.
    """
    if not isinstance(one, list) or not isinstance(other, list):
        return same_json(one, other)
    return all(_among(value, other) for value in one) and all(_among(value, one) for value in other)


def _among(value: Json, values: JsonArray) -> bool:
    return any(same_json(value, other) for other in values)


def _settle_servers(
    left: JsonObject,
    right: JsonObject,
    left_pins: JsonObject,
    right_pins: JsonObject,
) -> tuple[JsonObject, JsonObject]:
    """The root gets the servers of both; path items keep those of their document."""
    own_left, own_right = _servers(left), _servers(right)
    left_servers = right_servers = None
    if not _agree(_addresses(own_left), _addresses(own_right)):
        declared = left.get("servers") or []
        known = _addresses(declared)
        united = [
            *declared,
            *(one for one in right.get("servers") or [] if not _among(_address(one), known)),
        ]
        left_servers = None if _agree(_addresses(own_left), _addresses(united)) else own_left
        right_servers = None if _agree(_addresses(own_right), _addresses(united)) else own_right
        left, right = {**left, "servers": united}, {**right, "servers": united}
    return _pinned(left, left_pins, left_servers), _pinned(right, right_pins, right_servers)


def _servers(document: JsonObject) -> JsonArray:
    declared = document.get("servers")
    return declared if isinstance(declared, list) and declared else _DEFAULT_SERVERS


def _addresses(servers: JsonArray) -> JsonArray:
    return [_address(server) for server in servers]


def _address(server: Json) -> Json:
    return (
        {key: value for key, value in server.items() if key not in _LABELS}
        if isinstance(server, dict)
        else server
    )


def _settle_schemes(
    left: JsonObject,
    right: JsonObject,
    left_pins: JsonObject,
    right_pins: JsonObject,
) -> tuple[JsonObject, JsonObject]:
    """Without schemes a document means the one it is read by, which no list can say: then the
    root has none.
    """
    if _agree(left.get("schemes") or [], right.get("schemes") or []):
        return left, right
    if left.get("schemes") and right.get("schemes"):
        right_pins["schemes"] = right["schemes"]
        return left, right
    for document, pins in ((left, left_pins), (right, right_pins)):
        if document.get("schemes"):
            pins["schemes"] = document["schemes"]
    return _without(left, "schemes"), _without(right, "schemes")


def _without(document: JsonObject, key: str) -> JsonObject:
    return {name: value for name, value in document.items() if name != key}


def _settle_addresses(
    left: JsonObject, right: JsonObject, warnings: list[str]
) -> tuple[JsonObject, JsonObject]:
    """2.0 has one host and one base path: a host can only be chosen, a base path can become part
    of the paths.
    """
    one, other = left.get("host"), right.get("host")
    if one != other:
        which = (
            f"{one!r} and {other!r}"
            if one and other
            else f"only the {'left' if one else 'right'} one has it"
        )
        warnings.append(
            f"host differs between the documents ({which}): the result has {one or other!r} for "
            f"all operations."
        )
    mine, its = _segments(left), _segments(right)
    if mine == its:
        return left, right
    shared = 0
    while shared < min(len(mine), len(its)) and mine[shared] == its[shared]:
        shared += 1
    base = _path(mine[:shared])
    warnings.append(
        f"basePath differs between the documents ({_path(mine)!r} and {_path(its)!r}): "
        f"the result has {base!r}, and the rest is part of the paths."
    )
    return _rebased(left, base, mine[shared:]), _rebased(right, base, its[shared:])


def _segments(document: JsonObject) -> list[str]:
    base = document.get("basePath")
    return [segment for segment in base.split("/") if segment] if isinstance(base, str) else []


def _path(segments: list[str]) -> str:
    return "/" + "/".join(segments)


def _rebased(document: JsonObject, base: str, rest: list[str]) -> JsonObject:
    document = _without(document, "basePath") if base == "/" else {**document, "basePath": base}
    paths = document.get("paths")
    if not rest or not isinstance(paths, dict):
        return document
    return rename_components(
        document,
        {"paths": {path: _path(rest) + path for path in paths if path.startswith("/")}},
        old=True,
    )


def _pinned(document: JsonObject, pins: JsonObject, servers: JsonArray | None = None) -> JsonObject:
    if not pins and servers is None:
        return document
    result: JsonObject = _Pins(pins, servers).rewrite(document, "document")
    return result


class _Pins(OperationRewriter):
    """Says at operations and path items what the root said for them, unless they speak for
    themselves.
    """

    def __init__(self, pins: JsonObject, servers: JsonArray | None) -> None:
        super().__init__()
        self.pins = pins
        self.servers = servers

    def on_operation(self, node: JsonObject) -> Json:
        missing = {key: value for key, value in self.pins.items() if key not in node}
        return {**node, **missing} if missing else node

    def on_path_item(self, node: JsonObject) -> Json:
        """Servers matter to what is called there, not to webhooks and callbacks.

        A reference leads to an item that gets them itself.
        """
        called = (len(self.at) == 2 and self.at[0] == "paths") or (
            len(self.at) == 3 and self.at[1] == "pathItems"
        )
        if self.servers is None or not called or "servers" in node or "$ref" in node:
            return node
        has_operations = "additionalOperations" in node or any(method in node for method in METHODS)
        return {**node, "servers": self.servers} if has_operations else node
