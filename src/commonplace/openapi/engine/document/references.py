"""References: finding what a `$ref` names, and writing values with their references replaced.

Resolution is on demand and remembers what it has resolved. A cycle stays a `$ref` and is reported;
so is what would not fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import unquote, urldefrag, urljoin

from commonplace.kernel.errors import CommonplaceError
from commonplace.openapi.engine.yaml.parse import escape
from commonplace.openapi.errors import CIRCULAR_REF, SPEC_TOO_DEEP, UNRESOLVED_REF
from commonplace.openapi.model import Document, Json, JsonObject, Tree

MISSING: Any = object()
MAX_HOPS = 100


class Target(NamedTuple):
    """What a reference names: the value, the document it is in ('' is the root document), and
    its pointer there.
    """

    value: Json
    base: str
    pointer: str


Fetch = Callable[[str], Tree]
"""Loads the text at an absolute path or address, or raises a CommonplaceError."""


def unescape(token: str) -> str:
    return token.replace("~1", "/").replace("~0", "~")


def decoded(ref: str) -> str:
    """A reference or pointer without percent-encoding, so that two spellings of one place
    compare equal.
    """
    if "%" not in ref:
        return ref
    return "/".join(escape(unescape(unquote(token))) for token in ref.split("/"))


def at_pointer(data: Json, pointer: str) -> Json:
    """The value at a JSON pointer (percent-encoded as in a URI fragment), or MISSING."""
    if not pointer:
        return data
    if not pointer.startswith("/"):
        return MISSING
    node = data
    for raw in pointer[1:].split("/"):
        if type(node) is dict:
            token = unescape(raw)
            if token in node:
                node = node[token]
                continue
            token = unescape(unquote(raw))
            if token not in node:
                return MISSING
            node = node[token]
        elif type(node) is list:
            if (
                not raw.isdigit()
                or (len(raw) > 1 and raw[0] == "0")
                or len(raw) > 9
                or int(raw) >= len(node)
            ):
                return MISSING
            node = node[int(raw)]
        else:
            return MISSING
    return node


def local_target(data: Json, value: JsonObject) -> tuple[JsonObject, str]:
    """The object behind a chain of references inside one document, and its pointer; the value
    itself and '' where there are none.

    A chain that leads to another file, to nothing or back to itself ends where it does.
    """
    pointer = ""
    for _ in range(MAX_HOPS):
        ref = value.get("$ref")
        if type(ref) is not str or not ref.startswith("#/"):
            break
        target = at_pointer(data, ref[1:])
        if type(target) is not dict:
            break
        value, pointer = target, decoded(ref[1:])
    return value, pointer


def anchors_of(data: Json) -> dict[str, Json]:
    """`$anchor`, `$dynamicAnchor` and `$id` of a tree, by the reference that names them."""
    found: dict[str, Json] = {}
    stack = [data]
    while stack:
        node = stack.pop()
        if type(node) is dict:
            for keyword in ("$anchor", "$dynamicAnchor"):
                name = node.get(keyword)
                if type(name) is str:
                    found.setdefault("#" + name, node)
            name = node.get("$id")
            if type(name) is str:
                found.setdefault(name.rstrip("#"), node)
            stack.extend(value for value in node.values() if type(value) in (dict, list))
        elif type(node) is list:
            stack.extend(value for value in node if type(value) in (dict, list))
    return found


@dataclass(slots=True)
class Resolver:
    """Resolves references of one document, across files where `fetch` allows it."""

    document: Document
    fetch: Fetch | None = None
    trees: dict[str, Json] = field(default_factory=dict)
    _anchors: dict[str, dict[str, Json]] = field(default_factory=dict)
    _ends: dict[str, Json] = field(default_factory=dict)

    def resolve(self, ref: str, base: str = "") -> Target:
        """What a reference names, one hop. UNRESOLVED_REF where there is nothing."""
        address, fragment = urldefrag(ref)
        where = self._absolute(address, base) if address else base
        anchors = self._anchor_table(base) if address or not fragment.startswith("/") else {}
        if address and address in anchors:
            value = at_pointer(anchors[address], fragment)
            if value is not MISSING:
                return Target(value, base, ref)
        data = self._data(where, ref)
        if fragment and not fragment.startswith("/"):
            value = self._anchor_table(where).get("#" + unquote(fragment), MISSING)
        else:
            value = at_pointer(data, fragment)
            if value is MISSING and not address:
                value = self._within_a_resource(fragment, where)
            elif value is MISSING and fragment == "/":
                value, fragment = (
                    data,
                    "",
                )  # strictly an entry without a name, but many mean the whole file
        if value is MISSING:
            raise CommonplaceError(
                UNRESOLVED_REF,
                f"{ref} points to nothing.",
                hint="Define the target or correct the reference.",
                details={"ref": ref},
            )
        return Target(value, where, fragment)

    def follow(self, value: Json, base: str = "") -> Target:
        """The value at the end of a chain of references."""
        target = Target(value, base, "")
        seen: dict[tuple[str, str], None] = {}  # the same words in another file may lead elsewhere
        while type(target.value) is dict and type(target.value.get("$ref")) is str:
            ref = target.value["$ref"]
            if (target.base, ref) in seen or len(seen) > MAX_HOPS:
                raise CommonplaceError(
                    CIRCULAR_REF,
                    f"{ref} leads back to itself.",
                    details={"refs": [one for _, one in seen][:20]},
                )
            seen[target.base, ref] = None
            target = self.resolve(ref, target.base)
        return target

    def try_follow(self, value: Json, base: str = "") -> Json:
        """The value at the end of a chain, or the value itself where the chain is broken."""
        if type(value) is not dict or "$ref" not in value:
            return value
        ref = value["$ref"]
        if not base and type(ref) is str and ref in self._ends:
            end = self._ends[ref]
            return value if end is MISSING else end
        try:
            end = self.follow(value, base).value
        except CommonplaceError:
            end = MISSING
        if not base and type(ref) is str:
            self._ends[ref] = end
        return value if end is MISSING else end

    def _absolute(self, address: str, base: str) -> str:
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

    def _data(self, where: str, ref: str) -> Json:
        if not where:
            return self.document.data
        if where not in self.trees:
            if self.fetch is None or (not self.document.base and "://" not in where):
                raise CommonplaceError(
                    UNRESOLVED_REF,
                    f"{ref} is in another file, which cannot be found from here.",
                    hint="Pass the document as `file` or `url`, so that relative references have "
                    "a start.",
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

    def _within_a_resource(self, fragment: str, where: str) -> Json:
        """What a pointer names in a schema with `$id`, against which pointers inside it count;
        MISSING unless just one has it.
        """
        table = self._anchor_table(where)
        named = [
            value
            for name, node in table.items()
            if name[:1] != "#" and (value := at_pointer(node, fragment)) is not MISSING
        ]
        return named[0] if len(named) == 1 else MISSING

    def _anchor_table(self, base: str) -> dict[str, Json]:
        table = self._anchors.get(base)
        if table is None:
            data = self.document.data if not base else self.trees.get(base)
            needed = base or self.document.family.json_schema
            table = self._anchors[base] = anchors_of(data) if needed else {}
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


class Written(NamedTuple):
    """A value with references replaced, and how many nodes and levels it has."""

    value: Json
    nodes: int
    depth: int


Key = tuple[str, str]  # document and reference


@dataclass(slots=True)
class Inliner:
    """Replaces references by what they name.

    Equal references share one value, so the result must not be changed.

    References that lie on a cycle are replaced once: inside, those of the same cycle stay. So a
    result does not depend on where it is used, and the work is linear even where thousands of
    schemas refer to each other.
    """

    resolver: Resolver
    node_limit: int = 200_000
    depth_limit: int = 200
    circular: set[str] = field(default_factory=set)
    unresolved: set[str] = field(default_factory=set)
    left: set[str] = field(
        default_factory=set
    )  # kept as they are, because the answer would grow too large
    _done: dict[Key, Written | None] = field(default_factory=dict)
    _cycle: dict[Key, int] = field(
        default_factory=dict
    )  # strongly connected component of each reference; 0: on no cycle
    _targets: dict[Key, Target | None] = field(default_factory=dict)

    def write(self, value: Json, base: str = "", *, named: bool = False) -> Written:
        """`named`: the value is a map of names, such as the properties of a schema, so its keys
        are not keywords.
        """
        try:
            return self._write(value, base, 0, named)
        except RecursionError:
            hint = "Ask without resolve_refs, or for one component at a time."
            raise CommonplaceError(
                SPEC_TOO_DEEP,
                "The references chain too deeply to be replaced in one answer.",
                hint=hint,
            ) from None

    def _write(self, value: Json, base: str, cycle: int, named: bool = False) -> Written:
        if type(value) is dict:
            ref = value.get("$ref")
            return (
                self._reference(value, ref, base, cycle)
                if type(ref) is str
                else self._object(value, base, cycle, named)
            )
        if type(value) is list:
            written = [self._write(item, base, cycle) for item in value]
            depth = max((item.depth for item in written), default=0) + 1
            return Written(
                [item.value for item in written], sum(item.nodes for item in written) + 1, depth
            )
        return Written(value, 1, 0)

    def _object(self, value: JsonObject, base: str, cycle: int, named: bool = False) -> Written:
        result: JsonObject = {}
        nodes, depth = 1, 0
        for key, item in value.items():
            kind = type(item)
            if (kind is dict or kind is list) and (named or not is_literal(key, item)):
                written = self._write(item, base, cycle, not named and key in NAME_MAPS)
                result[key] = written.value
                nodes += written.nodes
                if written.depth > depth:
                    depth = written.depth
            else:
                result[key] = item
                nodes += 1
        return Written(result, nodes, depth + 1)

    def _reference(self, value: JsonObject, ref: str, base: str, cycle: int) -> Written:
        key = (base, ref)
        if key not in self._cycle:
            self._find_cycles(key)
        own = self._cycle[key]
        if own and own == cycle:
            self.circular.add(ref)
            return Written(value, 2, 1)
        if key not in self._done:
            target = self._targets[key]
            self._done[key] = (
                None if target is None else self._write(target.value, target.base, own)
            )
        written = self._done[key]
        if written is None:
            self.unresolved.add(ref)
            return Written(value, 2, 1)
        if written.nodes > self.node_limit or written.depth > self.depth_limit:
            self.left.add(ref)
            return Written(value, 2, 1)
        if (
            len(value) > 1
            and type(written.value) is dict
            and self.resolver.document.family.json_schema
        ):
            extra = self._object(
                {name: item for name, item in value.items() if name != "$ref"}, base, cycle
            )
            return Written(
                {**written.value, **extra.value},
                written.nodes + extra.nodes,
                max(written.depth, extra.depth),
            )
        return written

    def _successors(self, key: Key) -> list[Key]:
        base, ref = key
        try:
            target = self._targets[key] = self.resolver.resolve(ref, base)
        except CommonplaceError:
            self._targets[key] = None
            return []
        return [(target.base, found) for found in refs_in(target.value)]

    def _find_cycles(self, start: Key) -> None:
        """Tarjan's algorithm without recursion, over the references reachable from here."""
        order: dict[Key, int] = {}
        low: dict[Key, int] = {}
        stack: list[Key] = []
        held: set[Key] = set()
        work: list[tuple[Key, list[Key]]] = [(start, self._successors(start))]
        order[start] = low[start] = 0
        stack.append(start)
        held.add(start)
        loops: set[Key] = set()
        while work:
            key, rest = work[-1]
            if rest:
                following = rest.pop()
                if following == key:
                    loops.add(key)
                if following in self._cycle:
                    continue
                if following not in order:
                    order[following] = low[following] = len(order)
                    stack.append(following)
                    held.add(following)
                    work.append((following, self._successors(following)))
                elif following in held:
                    low[key] = min(low[key], order[following])
                continue
            work.pop()
            if work:
                above = work[-1][0]
                low[above] = min(low[above], low[key])
            if low[key] == order[key]:
                members = []
                while True:
                    member = stack.pop()
                    held.discard(member)
                    members.append(member)
                    if member == key:
                        break
                number = len(self._cycle) + 1 if len(members) > 1 or key in loops else 0
                for member in members:
                    self._cycle[member] = number


def refs_in(value: Json) -> list[str]:
    """The references inside a value, in no particular order."""
    found: list[str] = []
    stack = [(value, False)] if type(value) is dict or type(value) is list else []
    while stack:
        node, named = stack.pop()
        if type(node) is dict:
            ref = node.get("$ref")
            if type(ref) is str:
                found.append(ref)
            for key, item in node.items():
                if (type(item) is dict or type(item) is list) and (
                    named or not is_literal(key, item)
                ):
                    stack.append((item, not named and key in NAME_MAPS))
        else:
            stack.extend((item, False) for item in node if type(item) is dict or type(item) is list)
    return found


# Values that are data, not description: a `$ref` inside them is a string like any other. Only as
# keywords: a property, a response
# or a component may be called `default`.
_LITERAL = frozenset({"example", "default", "enum", "const", "value", "dataValue"})
NAME_MAPS = frozenset(
    {
        *("properties", "patternProperties", "dependentSchemas", "$defs", "definitions"),
        *(
            "schemas",
            "responses",
            "parameters",
            "examples",
            "requestBodies",
            "headers",
            "securitySchemes",
            "links",
            "callbacks",
        ),
        *(
            "pathItems",
            "mediaTypes",
            "paths",
            "webhooks",
            "additionalOperations",
            "content",
            "encoding",
            "securityDefinitions",
        ),
    }
)
"""Fields whose values are maps of names (where they are objects), not objects of keywords."""


def is_literal(keyword: str, value: Json) -> bool:
    """Whether the value of a keyword is data.

    The `examples` of a schema are a list of data, those of a media type a map of objects.
    """
    return keyword in _LITERAL or (keyword == "examples" and type(value) is list)
