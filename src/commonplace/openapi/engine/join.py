"""Several descriptions as one: collisions by strategy, references rewritten, servers, tags and security kept true."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal

from commonplace.kernel.errors import CommonplaceError
from commonplace.openapi.engine.references import Renames, rename_components
from commonplace.openapi.engine.shape import METHODS, Json
from commonplace.openapi.errors import JOIN_COLLISION, MIXED_VERSIONS
from commonplace.openapi.model import Family

Strategy = Literal["accept-left", "accept-right", "fail", "rename-left", "rename-right", "deduplicate", "deduplicate-or-rename"]
STRATEGIES: tuple[Strategy, ...] = (
    "accept-left",
    "accept-right",
    "fail",
    "rename-left",
    "rename-right",
    "deduplicate",
    "deduplicate-or-rename",
)
PATH_STRATEGIES: tuple[Strategy, ...] = ("accept-left", "accept-right", "fail")
_SECTIONS_3 = (
    "schemas",
    "responses",
    "parameters",
    "examples",
    "requestBodies",
    "headers",
    "securitySchemes",
    "links",
    "callbacks",
    "pathItems",
    "mediaTypes",
)
_SECTIONS_2 = ("definitions", "parameters", "responses", "securityDefinitions")
_OPERATION_KEYS = frozenset(METHODS)


@dataclass(frozen=True, slots=True)
class Part:
    """One document to join. `name` says where it came from, for messages and new names."""

    data: dict[str, Any]
    version: str
    family: Family
    name: str


@dataclass(slots=True)
class Joined:
    document: dict[str, Any]
    collisions: int = 0
    warnings: list[str] = field(default_factory=list)


def join(parts: list[Part], *, path_strategy: Strategy = "fail", schema_strategy: Strategy = "accept-left") -> Joined:
    """All parts in one document, left to right."""
    _same_family(parts)
    result = Joined(parts[0].data)
    left_name = _label(parts[0])
    servers_differ = any(_servers(part) != _servers(parts[0]) for part in parts)
    result.document = _settled(parts[0], parts[0], servers_differ=servers_differ)
    labels = {left_name}
    for part in parts[1:]:
        label = _label(part)
        number = 2
        while label in labels:
            label, number = f"{_label(part)}{number}", number + 1
        labels.add(label)
        right = _settled(part, parts[0], servers_differ=servers_differ)
        _Pair(result, left_name, right, label, part.family, path_strategy, schema_strategy).join()
    return result


def _same_family(parts: list[Part]) -> None:
    families = list(dict.fromkeys(part.family for part in parts))
    if len(families) == 1:
        return
    versions = ", ".join(f"{part.name} is {part.version}" for part in parts)
    target = max(families)
    raise CommonplaceError(
        MIXED_VERSIONS,
        f"The documents have different versions: {versions}.",
        hint=f"Convert them first, e.g. with `convert` (commonplace oas convert FILE --target {target.value} --output FILE).",
        details={"versions": [part.version for part in parts], "target": target.value},
    )


def _label(part: Part) -> str:
    stem = re.split(r"[/\\]", part.name)[-1].rsplit(".", 1)[0] if part.name != "content" else ""
    if not stem:
        info = part.data.get("info")
        stem = str(info.get("title", "")) if isinstance(info, dict) else ""
    return re.sub(r"[^A-Za-z0-9]+", "_", stem).strip("_") or "Right"


def _servers(part: Part) -> Json:
    if part.family is Family.V20:
        return [part.data.get("host"), part.data.get("basePath")]
    return [server.get("url") for server in part.data.get("servers") or [{"url": "/"}] if isinstance(server, dict)]


def _settled(part: Part, first: Part, *, servers_differ: bool) -> dict[str, Any]:
    """The document with what it says once for all operations said at the operations, where the other documents say otherwise."""
    data = part.data
    own_security = "security" in data and data["security"] != first.data.get("security")
    lacks_security = part is not first and "security" not in data and bool(first.data.get("security"))
    servers = data.get("servers") if servers_differ and part.family is not Family.V20 else None
    if not own_security and not lacks_security and not servers:
        return data
    paths = {}
    for path, item in (data.get("paths") or {}).items():
        if isinstance(item, dict) and not path.startswith("x-"):
            item = dict(item)
            if servers and "servers" not in item:
                item["servers"] = servers
            if own_security or lacks_security:
                for method in METHODS:
                    operation = item.get(method)
                    if isinstance(operation, dict) and "security" not in operation:
                        item[method] = {**operation, "security": data.get("security", [])}
        paths[path] = item
    return {**data, "paths": paths}


class _Pair:
    def __init__(
        self, result: Joined, left_name: str, right: dict[str, Any], label: str, family: Family, paths: Strategy, schemas: Strategy
    ) -> None:
        self.result = result
        self.left = result.document
        self.left_name = left_name
        self.right = right
        self.label = label
        self.old = family is Family.V20
        self.path_strategy = paths
        self.schema_strategy = schemas

    def join(self) -> None:
        self._rename_components()
        self._rename_operations()
        document = dict(self.left)
        document["paths"] = self._merge_paths()
        if not self.old and (self.left.get("webhooks") or self.right.get("webhooks")):
            document["webhooks"] = self._merge_named("webhooks", self.left, self.right)
        self._merge_components(document)
        self._merge_lists(document)
        for key, value in self.right.items():
            document.setdefault(key, value)
        self.result.document = document

    def _container(self, document: dict[str, Any]) -> dict[str, Any]:
        found = document if self.old else document.get("components")
        return found if isinstance(found, dict) else {}

    def _sections(self) -> tuple[str, ...]:
        return _SECTIONS_2 if self.old else _SECTIONS_3

    def _collisions(self, section: str) -> list[str]:
        left, right = self._container(self.left).get(section), self._container(self.right).get(section)
        if not isinstance(left, dict) or not isinstance(right, dict):
            return []
        return [name for name in right if name in left and left[name] != right[name]]

    def _rename_components(self) -> None:
        """Names that mean different things on both sides get new names where the strategy says so."""
        left_renames: Renames = {}
        right_renames: Renames = {}
        for section in self._sections():
            kind = "security scheme" if section in ("securitySchemes", "securityDefinitions") else section.rstrip("s")
            for name in self._collisions(section):
                self.result.collisions += 1
                strategy = "rename-right" if kind == "security scheme" and self.schema_strategy != "fail" else self.schema_strategy
                if strategy in ("fail", "deduplicate"):
                    raise self._collision(kind, name)
                if strategy == "rename-left":
                    left_renames.setdefault(section, {})[name] = self._free(section, name, self.left_name)
                elif strategy in ("rename-right", "deduplicate-or-rename"):
                    right_renames.setdefault(section, {})[name] = self._free(section, name, self.label)
                side = {"accept-left": "the left one was kept", "accept-right": "the right one was kept"}.get(strategy)
                renamed = left_renames.get(section, {}).get(name) or right_renames.get(section, {}).get(name)
                self.result.warnings.append(f"{kind} {name!r} differs between the documents: {side or f'one is now {renamed!r}'}.")
        if left_renames:
            self.left = rename_components(self.left, left_renames, old=self.old)
        if right_renames:
            self.right = rename_components(self.right, right_renames, old=self.old)

    def _free(self, section: str, name: str, label: str) -> str:
        taken = {*(self._container(self.left).get(section) or {}), *(self._container(self.right).get(section) or {})}
        new, number = f"{name}_{label}", 2
        while new in taken:
            new, number = f"{name}_{label}{number}", number + 1
        return new

    def _collision(self, kind: str, name: str) -> CommonplaceError:
        return CommonplaceError(
            JOIN_COLLISION,
            f"Both documents define {kind} {name!r}, differently.",
            hint=f"Choose another strategy: {', '.join(PATH_STRATEGIES if kind == 'path' else STRATEGIES)}.",
            details={"kind": kind, "name": name},
        )

    def _rename_operations(self) -> None:
        """Operation ids are unique in a document: the right one's are made so."""
        taken = {identifier for _, _, identifier in _operation_ids(self.left)}
        shared = {(path, method) for path, method, _ in _operation_ids(self.left)}
        new_names: dict[str, str] = {}
        for path, method, identifier in _operation_ids(self.right):
            if identifier in taken and (path, method) not in shared:
                new, number = f"{identifier}_{self.label}", 2
                while new in taken:
                    new, number = f"{identifier}_{self.label}{number}", number + 1
                taken.add(new)
                new_names[identifier] = new
                self.result.warnings.append(f"operation {identifier!r} exists on both sides: the right one is now {new!r}.")
        if new_names:
            self.right = _with_operation_ids(self.right, new_names)

    def _merge_paths(self) -> dict[str, Any]:
        left, right = self.left.get("paths") or {}, self.right.get("paths") or {}
        merged = dict(left)
        for path, item in right.items():
            if path not in left or left[path] == item:
                merged[path] = item
                continue
            together = _disjoint(left[path], item)
            if together is not None:
                merged[path] = together
                self.result.warnings.append(f"path {path!r} has operations from both documents.")
                continue
            self.result.collisions += 1
            if self.path_strategy not in ("accept-left", "accept-right"):
                raise self._collision("path", path)
            if self.path_strategy == "accept-right":
                merged[path] = item
            side = "left" if self.path_strategy == "accept-left" else "right"
            self.result.warnings.append(f"path {path!r} differs between the documents: the {side} one was kept.")
        return merged

    def _merge_named(self, key: str, left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
        one, other = left.get(key) or {}, right.get(key) or {}
        return {**one, **other} if self.schema_strategy == "accept-right" else {**other, **one} if not one else {**one, **_new(one, other)}

    def _merge_components(self, document: dict[str, Any]) -> None:
        container = document if self.old else dict(document.get("components") or {})
        for section in self._sections():
            left, right = self._container(self.left).get(section), self._container(self.right).get(section)
            if isinstance(right, dict):
                container[section] = self._merge_named(section, {section: left}, {section: right})
        if not self.old and container:
            for key, value in self._container(self.right).items():
                container.setdefault(key, value)
            document["components"] = container

    def _merge_lists(self, document: dict[str, Any]) -> None:
        tags = [*(self.left.get("tags") or []), *(self.right.get("tags") or [])]
        if tags:
            seen: set[Any] = set()
            kept = []
            for tag in tags:
                name = tag.get("name") if isinstance(tag, dict) else None
                if name not in seen:
                    seen.add(name)
                    kept.append(tag)
            document["tags"] = kept
        if not self.old:
            servers = [*(self.left.get("servers") or []), *(self.right.get("servers") or [])]
            if servers:
                document["servers"] = [server for index, server in enumerate(servers) if server not in servers[:index]]
            return
        for key in ("host", "basePath"):
            if self.left.get(key) != self.right.get(key):
                self.result.warnings.append(f"{key} differs between the documents: {self.left.get(key)!r} was kept.")
        if "schemes" in self.left or "schemes" in self.right:
            document["schemes"] = list(dict.fromkeys([*(self.left.get("schemes") or []), *(self.right.get("schemes") or [])]))


def _new(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in other.items() if key not in one}


def _disjoint(left: Json, right: Json) -> dict[str, Any] | None:
    """Both path items in one, where they have no operation in common and agree on the rest."""
    if not isinstance(left, dict) or not isinstance(right, dict) or "$ref" in left or "$ref" in right:
        return None
    if left.keys() & right.keys() & _OPERATION_KEYS or "additionalOperations" in left or "additionalOperations" in right:
        return None
    rest_left = {key: value for key, value in left.items() if key not in _OPERATION_KEYS}
    rest_right = {key: value for key, value in right.items() if key not in _OPERATION_KEYS}
    return {**left, **right} if rest_left == rest_right else None


def _operation_ids(document: dict[str, Any]) -> list[tuple[str, str, str]]:
    found = []
    for path, item in (document.get("paths") or {}).items():
        for method in METHODS if isinstance(item, dict) else ():
            operation = item.get(method)
            if isinstance(operation, dict) and isinstance(operation.get("operationId"), str):
                found.append((path, method, operation["operationId"]))
    return found


def _with_operation_ids(node: Json, names: dict[str, str]) -> Any:
    """Renames operation ids where operations and links carry them."""
    if isinstance(node, dict):
        return {
            key: names.get(value, value) if key == "operationId" and isinstance(value, str) else _with_operation_ids(value, names)
            for key, value in node.items()
        }
    return [_with_operation_ids(value, names) for value in node] if isinstance(node, list) else node
