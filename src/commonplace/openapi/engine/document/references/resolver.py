"""Resolution of references, on demand and across files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import unquote, urldefrag, urljoin

from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.pointers import MISSING, decode_pointer, lookup_pointer
from commonplace.openapi.errors import CIRCULAR_REF, UNRESOLVED_REF
from commonplace.openapi.model import ApiDocument, SourceTree

MAX_HOPS = 100


class Target(NamedTuple):
    """The target of a reference: the value, its document ('' is the root) and its pointer."""

    value: Json
    base: str
    pointer: str


FetchTree = Callable[[str], SourceTree]
"""Loads the text at an absolute path or URL, or raises a CommonplaceError."""


def follow_local_references(data: Json, value: JsonObject) -> tuple[JsonObject, str]:
    """Follow a chain of references within a document; return the object and its pointer.

    Without references these are the value itself and ''. The chain ends at the last object before
    another file, a missing target or a cycle.
    """
    pointer = ""
    for _ in range(MAX_HOPS):
        ref = value.get("$ref")
        if type(ref) is not str or not ref.startswith("#/"):
            break
        target = lookup_pointer(data, ref[1:])
        if type(target) is not dict:
            break
        value, pointer = target, decode_pointer(ref[1:])
    return value, pointer


def collect_anchors(data: Json) -> dict[str, Json]:
    """Return the schemas with `$anchor`, `$dynamicAnchor` or `$id`, by their references."""
    anchors: dict[str, Json] = {}
    stack = [data]
    while stack:
        node = stack.pop()
        if type(node) is dict:
            for keyword in ("$anchor", "$dynamicAnchor"):
                name = node.get(keyword)
                if type(name) is str:
                    anchors.setdefault("#" + name, node)
            name = node.get("$id")
            if type(name) is str:
                anchors.setdefault(name.rstrip("#"), node)
            stack.extend(value for value in node.values() if type(value) in (dict, list))
        elif type(node) is list:
            stack.extend(value for value in node if type(value) in (dict, list))
    return anchors


@dataclass(slots=True)
class ReferenceResolver:
    """Resolves the references of a document, across files if `fetch` is given."""

    document: ApiDocument
    fetch: FetchTree | None = None
    trees: dict[str, Json] = field(default_factory=dict)
    _anchors: dict[str, dict[str, Json]] = field(default_factory=dict)
    _followed: dict[str, Json] = field(default_factory=dict)

    def resolve(self, ref: str, base: str = "") -> Target:
        """Return the target of a reference, one hop; raise UNRESOLVED_REF if there is nothing."""
        address, fragment = urldefrag(ref)
        where = self._make_absolute(address, base) if address else base
        anchors = self._get_anchors(base) if address or not fragment.startswith("/") else {}
        if address and address in anchors:
            value = lookup_pointer(anchors[address], fragment)
            if value is not MISSING:
                return Target(value, base, ref)
        data = self._load_tree(where, ref)
        if fragment and not fragment.startswith("/"):
            value = self._get_anchors(where).get("#" + unquote(fragment), MISSING)
        else:
            value = lookup_pointer(data, fragment)
            if value is MISSING and not address:
                value = self._lookup_in_resources(fragment, where)
            elif value is MISSING and fragment == "/":
                # Strictly this is an entry without a name, but many mean the whole file.
                value, fragment = data, ""
        if value is MISSING:
            raise CommonplaceError(
                UNRESOLVED_REF,
                f"{ref} points to nothing.",
                hint="Define the target or correct the reference.",
                details={"ref": ref},
            )
        return Target(value, where, fragment)

    def follow(self, value: Json, base: str = "") -> Target:
        """Follow a chain of references to its end; raise UNRESOLVED_REF or CIRCULAR_REF."""
        target = Target(value, base, "")
        visited: dict[
            tuple[str, str], None
        ] = {}  # the same text may lead elsewhere in another file
        while type(target.value) is dict and type(target.value.get("$ref")) is str:
            ref = target.value["$ref"]
            if (target.base, ref) in visited or len(visited) > MAX_HOPS:
                raise CommonplaceError(
                    CIRCULAR_REF,
                    f"{ref} leads back to itself.",
                    details={"refs": [reference for _, reference in visited][:20]},
                )
            visited[target.base, ref] = None
            target = self.resolve(ref, target.base)
        return target

    def try_follow(self, value: Json, base: str = "") -> Json:
        """Follow a chain of references; return the value itself if the chain is broken."""
        if type(value) is not dict or "$ref" not in value:
            return value
        ref = value["$ref"]
        if not base and type(ref) is str and ref in self._followed:
            end = self._followed[ref]
            return value if end is MISSING else end
        try:
            end = self.follow(value, base).value
        except CommonplaceError:
            end = MISSING
        if not base and type(ref) is str:
            self._followed[ref] = end
        return value if end is MISSING else end

    def _make_absolute(self, address: str, base: str) -> str:
        start = base or self.document.base or ""
        own = self.document.data.get("$self")
        if not base and isinstance(own, str) and address == own:
            return ""
        absolute = (
            urljoin(start, unquote(address))
            if "://" in start or "://" in address
            else _join_path(start, unquote(address))
        )
        return "" if absolute == self.document.base else absolute

    def _load_tree(self, where: str, ref: str) -> Json:
        if not where:
            return self.document.data
        if where not in self.trees:
            if self.fetch is None or (not self.document.base and "://" not in where):
                raise CommonplaceError(
                    UNRESOLVED_REF,
                    f"{ref} is in another file, whose location is not known.",
                    hint="Pass the document as `file` or `url` to resolve relative references.",
                    details={"ref": ref, "external": True},
                )
            try:
                self.trees[where] = self.fetch(where).data
            except CommonplaceError as error:
                details = {"ref": ref, "external": True, "cause": error.code.name}
                raise CommonplaceError(
                    UNRESOLVED_REF, f"{ref}: {error.message}", hint=error.hint, details=details
                ) from None
        return self.trees[where]

    def _lookup_in_resources(self, fragment: str, where: str) -> Json:
        """Look a pointer up in the schemas with `$id`; MISSING unless exactly one has it."""
        table = self._get_anchors(where)
        named = [
            value
            for name, node in table.items()
            if name[:1] != "#" and (value := lookup_pointer(node, fragment)) is not MISSING
        ]
        return named[0] if len(named) == 1 else MISSING

    def _get_anchors(self, base: str) -> dict[str, Json]:
        table = self._anchors.get(base)
        if table is None:
            data = self.document.data if not base else self.trees.get(base)
            needed = base or self.document.family.json_schema
            table = self._anchors[base] = collect_anchors(data) if needed else {}
        return table


def _join_path(start: str, address: str) -> str:
    if address.startswith("/"):
        return address
    folder = start.rsplit("/", 1)[0] if "/" in start else ""
    parts: list[str] = [] if not folder else folder.split("/")
    for part in address.split("/"):
        if part == ".." and parts and parts[-1] not in ("", ".."):
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)
