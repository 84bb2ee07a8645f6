"""Settings of the document root that hold for all operations, kept true after a merge.

These are security, servers, media types and addresses.
"""

from __future__ import annotations

from commonplace.kernel.json_types import Json, JsonArray, JsonObject
from commonplace.openapi.engine.document.references.renaming import rename_components
from commonplace.openapi.engine.join.operations import OperationRewriter
from commonplace.openapi.engine.json_values import same_json
from commonplace.openapi.model import METHODS

_DEFAULT_SERVERS: JsonArray = [{"url": "/"}]
_LABELS = frozenset({"description", "name"})  # what a server is called does not change where it is


def prepare_roots(
    left: JsonObject, right: JsonObject, warnings: list[str], *, old: bool
) -> tuple[JsonObject, JsonObject]:
    """Prepare both documents for one root.

    The root keeps the left document's settings, or the right one's if only that has them. The other
    document repeats its settings at its operations where they differ.
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
    return _pin(left, left_pins), _pin(right, right_pins)


def _agree(left: Json, right: Json) -> bool:
    """Tell whether two lists have the same members.

    The order of security requirements, servers and media types has no meaning.
    """
    if not isinstance(left, list) or not isinstance(right, list):
        return same_json(left, right)
    return all(_contains(value, right) for value in left) and all(
        _contains(value, left) for value in right
    )


def _contains(value: Json, values: JsonArray) -> bool:
    return any(same_json(value, other) for other in values)


def _settle_servers(
    left: JsonObject,
    right: JsonObject,
    left_pins: JsonObject,
    right_pins: JsonObject,
) -> tuple[JsonObject, JsonObject]:
    """Give the root the servers of both; path items keep those of their document."""
    own_left, own_right = _servers(left), _servers(right)
    left_servers = right_servers = None
    if not _agree(_addresses(own_left), _addresses(own_right)):
        declared = left.get("servers") or []
        known = _addresses(declared)
        united = [
            *declared,
            *(
                server
                for server in right.get("servers") or []
                if not _contains(_address(server), known)
            ),
        ]
        left_servers = None if _agree(_addresses(own_left), _addresses(united)) else own_left
        right_servers = None if _agree(_addresses(own_right), _addresses(united)) else own_right
        left, right = {**left, "servers": united}, {**right, "servers": united}
    return _pin(left, left_pins, left_servers), _pin(right, right_pins, right_servers)


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
    """Keep the schemes of 2.0 apart where the documents differ.

    Without schemes a document means the one it was read by, which a list cannot express; then the
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
    return _drop_key(left, "schemes"), _drop_key(right, "schemes")


def _drop_key(document: JsonObject, key: str) -> JsonObject:
    return {name: value for name, value in document.items() if name != key}


def _settle_addresses(
    left: JsonObject, right: JsonObject, warnings: list[str]
) -> tuple[JsonObject, JsonObject]:
    """Choose the host, and move what differs in the base paths into the paths.

    2.0 has one host and one base path per document.
    """
    left_host, right_host = left.get("host"), right.get("host")
    if left_host != right_host:
        which = (
            f"{left_host!r} and {right_host!r}"
            if left_host and right_host
            else f"only the {'left' if left_host else 'right'} one has it"
        )
        chosen = left_host or right_host
        warnings.append(
            f"host differs between the documents ({which}): the result has {chosen!r} for all "
            f"operations."
        )
    left_base, right_base = _segments(left), _segments(right)
    if left_base == right_base:
        return left, right
    shared = 0
    while shared < min(len(left_base), len(right_base)) and left_base[shared] == right_base[shared]:
        shared += 1
    base = _path(left_base[:shared])
    warnings.append(
        f"basePath differs between the documents ({_path(left_base)!r} and {_path(right_base)!r}): "
        f"the result has {base!r}, and the rest is part of the paths."
    )
    return _rebase(left, base, left_base[shared:]), _rebase(right, base, right_base[shared:])


def _segments(document: JsonObject) -> list[str]:
    base = document.get("basePath")
    return [segment for segment in base.split("/") if segment] if isinstance(base, str) else []


def _path(segments: list[str]) -> str:
    return "/" + "/".join(segments)


def _rebase(document: JsonObject, base: str, rest: list[str]) -> JsonObject:
    """Return the document with another base path and the rest of its own in the paths."""
    document = _drop_key(document, "basePath") if base == "/" else {**document, "basePath": base}
    paths = document.get("paths")
    if not rest or not isinstance(paths, dict):
        return document
    return rename_components(
        document,
        {"paths": {path: _path(rest) + path for path in paths if path.startswith("/")}},
        old=True,
    )


def _pin(document: JsonObject, pins: JsonObject, servers: JsonArray | None = None) -> JsonObject:
    """Return the document with settings repeated at its operations and path items."""
    if not pins and servers is None:
        return document
    result: JsonObject = _Pins(pins, servers).rewrite(document, "document")
    return result


class _Pins(OperationRewriter):
    """Repeats settings of the root at operations and path items that lack them."""

    def __init__(self, pins: JsonObject, servers: JsonArray | None) -> None:
        super().__init__()
        self.pins = pins
        self.servers = servers

    def on_operation(self, node: JsonObject) -> Json:
        missing = {key: value for key, value in self.pins.items() if key not in node}
        return {**node, **missing} if missing else node

    def on_path_item(self, node: JsonObject) -> Json:
        """Add servers to the path items of paths, but not of webhooks and callbacks.

        A path item that is a reference gets them at its target.
        """
        called = (len(self.at) == 2 and self.at[0] == "paths") or (
            len(self.at) == 3 and self.at[1] == "pathItems"
        )
        if self.servers is None or not called or "servers" in node or "$ref" in node:
            return node
        has_operations = "additionalOperations" in node or any(method in node for method in METHODS)
        return {**node, "servers": self.servers} if has_operations else node
