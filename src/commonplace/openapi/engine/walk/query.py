"""Queries over an index: filters, groups and pages that all walk tools share, and the fields
each of them shows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import orjson

from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.document.index import DocumentIndex
from commonplace.openapi.engine.document.inliner import Inliner
from commonplace.openapi.engine.document.nodes import (
    ROOT,
    NodePlace,
    ObjectNode,
    RefNode,
    SchemaNode,
)
from commonplace.openapi.engine.document.patterns import (
    describe_type,
    extension_filter,
    match_glob,
    match_path,
    match_status,
)
from commonplace.openapi.engine.pointers import lookup_pointer
from commonplace.openapi.engine.walk.order import in_order
from commonplace.openapi.errors import ANSWER_TOO_LARGE
from commonplace.openapi.model import ApiDocument

DEFAULT_LIMIT = 100
DETAIL_LIMIT = 25
MAX_LIMIT = 1000
ANSWER_LIMIT_BYTES = 1_000_000

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Query:
    """What every walk takes besides its own filters."""

    detail: bool = False
    resolve_refs: bool = False
    limit: int | None = None
    offset: int = 0
    group_by: str | None = None
    extension: str | None = None

    @property
    def page_size(self) -> int:
        return min(self.limit or (DETAIL_LIMIT if self.detail else DEFAULT_LIMIT), MAX_LIMIT)

    def page(self, items: Sequence[Item]) -> Sequence[Item]:
        return items[self.offset : self.offset + self.page_size]


def answer(
    query: Query,
    total: int,
    matched: Sequence[Item],
    *,
    summaries: str = "summaries",
    details: str,
    summary: Callable[[Item], JsonObject],
    detail: Callable[[Item], JsonObject],
    groups: Callable[[Item], Iterable[str]] | None = None,
    notes: Callable[[], JsonObject] | None = None,
    limit_bytes: int = ANSWER_LIMIT_BYTES,
) -> JsonObject:
    """The output of a walk: totals, then groups, summaries or details. Empty lists are left out."""
    result: JsonObject = {"total": total, "matched": len(matched)}
    if groups is not None:
        counts = Counter(key for item in matched for key in groups(item))
        ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
        page = [{"key": key, "count": count} for key, count in query.page(ordered)]
        return _listed(result, "groups", page)
    if not query.detail:
        return _listed(result, summaries, [summary(item) for item in query.page(matched)])
    shown = query.page(matched)
    fitting, truncated = fit((detail(item) for item in shown), limit_bytes)
    _listed(result, details, fitting)
    if truncated:
        result["truncated"] = True
        result["next_offset"] = query.offset + len(fitting)
    if notes is not None:
        result.update(notes())
    return result


def _listed(result: JsonObject, name: str, items: list[JsonObject]) -> JsonObject:
    result["returned"] = len(items)
    if items:
        result[name] = items
    return result


def fit(
    items: Iterable[JsonObject], limit_bytes: int = ANSWER_LIMIT_BYTES
) -> tuple[list[JsonObject], bool]:
    """As many items as an answer holds.

    The first one alone being too large is an error: paging would not help.
    """
    used = 0
    kept: list[JsonObject] = []
    for item in items:
        used += encoded_size(item)
        if used > limit_bytes:
            if not kept:
                raise CommonplaceError(
                    ANSWER_TOO_LARGE,
                    f"The first result alone is {used} bytes; an answer holds {limit_bytes}.",
                    hint="Ask without resolve_refs, or without detail.",
                    details={"bytes": used, "limit_bytes": limit_bytes},
                )
            return kept, True
        kept.append(item)
    return kept, False


def encoded_size(value: Json) -> int:
    try:
        return len(orjson.dumps(value))
    except (TypeError, ValueError):
        raise CommonplaceError(
            ANSWER_TOO_LARGE, "The result nests too deeply to be shown.", hint="Ask without detail."
        ) from None


@dataclass(slots=True)
class Walk:
    """Walks over one document."""

    document: ApiDocument
    index: DocumentIndex
    inliner: Inliner
    query: Query
    limit_bytes: int = ANSWER_LIMIT_BYTES

    def _out(self, value: Json) -> Json:
        return self.inliner.write(value).value if self.query.resolve_refs else value

    def _notes(self) -> JsonObject:
        if not self.query.resolve_refs:
            return {}
        found = {
            "circular_refs": self.inliner.circular,
            "unresolved_refs": self.inliner.unresolved,
            "refs_left": self.inliner.left,
        }
        return {name: sorted(refs)[:100] for name, refs in found.items() if refs}

    def _select(
        self,
        nodes: Sequence[Item],
        value: Callable[[Item], Json],
        *tests: Callable[[Item], bool] | None,
    ) -> Sequence[Item]:
        extension = extension_filter(self.query.extension)
        for test in tests:
            if test is not None:
                nodes = list(filter(test, nodes))
        if extension is not None:
            nodes = [node for node in nodes if extension(self._followed(value(node)))]
        return nodes

    def _followed(self, value: Json) -> Json:
        """An object behind its references where that is asked for; itself where they lead to
        something else.
        """
        target = self.inliner.resolver.try_follow(value) if self.query.resolve_refs else value
        return target if type(target) is type(value) else value

    def operations(
        self,
        *,
        method: str | None,
        path: str | None,
        tag: str | None,
        operation_id: str | None,
        deprecated: bool,
    ) -> JsonObject:
        matched = self._select(
            self.index.operations,
            _value,
            _method_test(method),
            _path_test(path),
            (lambda node: tag in _strings(node.value.get("tags"))) if tag else None,
            (lambda node: node.value.get("operationId") == operation_id) if operation_id else None,
            (lambda node: node.value.get("deprecated") is True) if deprecated else None,
        )
        keys: dict[str, Callable[[ObjectNode], Iterable[str]]] = {
            "tag": lambda node: dict.fromkeys(_strings(node.value.get("tags"))),
            "method": lambda node: (node.scope.method.upper(),),
        }

        def summary(node: ObjectNode) -> JsonObject:
            value = node.value
            return {"method": node.scope.method.upper(), "path": node.scope.path} | _present(
                operation_id=_text(value.get("operationId")),
                summary=_text(value.get("summary")),
                tags=_strings(value.get("tags")),
                deprecated=value.get("deprecated") is True,
                callback=node.scope.callback,
                webhook=node.scope.webhook,
            )

        def detail(node: ObjectNode) -> JsonObject:
            place = {"method": node.scope.method.upper(), "path": node.scope.path}
            return (
                place
                | _present(callback=node.scope.callback, webhook=node.scope.webhook)
                | {"operation": self._out(node.value)}
            )

        return (
            self._answer(self.index.operations, matched, "operations", summary, detail, keys)
            | self._beside_paths()
        )

    def _beside_paths(self) -> JsonObject:
        """How many operations of `total` are not under `paths`, where there are any."""
        callbacks = sum(1 for node in self.index.operations if node.scope.callback)
        webhooks = sum(
            1 for node in self.index.operations if node.scope.webhook and not node.scope.callback
        )
        return _present(webhook_operations=webhooks, callback_operations=callbacks)

    def paths(self, *, path: str | None) -> JsonObject:
        everything = [
            node for node in self.index.paths if node.scope.path and not node.scope.webhook
        ]
        matched = self._select(everything, _value, _path_test(path))
        keys: dict[str, Callable[[ObjectNode], Iterable[str]]] = {
            "segment": lambda node: (first_segment(node.scope.path),)
        }

        def summary(node: ObjectNode) -> JsonObject:
            item = self._followed(node.value)
            return {"path": node.scope.path, "method_count": self._method_count(item)} | _present(
                summary=_text(item.get("summary")), callback=node.scope.callback
            )

        def detail(node: ObjectNode) -> JsonObject:
            return (
                {"path": node.scope.path}
                | _present(callback=node.scope.callback)
                | {"path_item": self._out(node.value)}
            )

        return self._answer(everything, matched, "paths", summary, detail, keys)

    def _method_count(self, item: JsonObject) -> int:
        count = sum(1 for method in self.document.family.methods if type(item.get(method)) is dict)
        extra = item.get("additionalOperations")
        return count + (len(extra) if type(extra) is dict else 0)

    def schemas(
        self,
        *,
        name: str | None,
        type_: str | None,
        component: bool,
        inline: bool,
        named: bool = False,
    ) -> JsonObject:
        if component and inline:
            raise CommonplaceError(
                INVALID_ARGUMENT,
                "component and inline exclude each other.",
                hint="Pass one of them.",
            )
        wanted = type_.lower() if type_ else None
        matched = self._select(
            self._called(name) if name else self.index.schemas,
            lambda node: node.schema,
            (lambda node: node.scope.component) if component else None,
            (lambda node: not node.scope.component) if inline else None,
            (lambda node: _is_named(node.place)) if named else None,
            (lambda node: describe_type(node.schema).lower() == wanted) if wanted else None,
        )
        keys: dict[str, Callable[[SchemaNode], Iterable[str]]] = {
            "type": lambda node: (describe_type(node.schema) or "(untyped)",),
            "location": lambda node: (_location(node),),
        }

        def summary(node: SchemaNode) -> JsonObject:
            schema = self._followed(node.schema)
            properties = schema.get("properties")
            fields: JsonObject = {"name": node.name or node.place.json_path} | _present(
                type=describe_type(schema)
            )
            fields["location"] = _location(node)
            fields["property_count"] = len(properties) if type(properties) is dict else 0
            return fields | _present(
                required=_strings(schema.get("required")), ref=_text(node.schema.get("$ref"))
            )

        def detail(node: SchemaNode) -> JsonObject:
            return {
                "name": node.name or node.place.json_path,
                "json_path": node.place.json_path,
                "is_component": node.scope.component,
                "schema": self._out(node.schema),
            }

        return self._answer(self.index.schemas, matched, "schemas", summary, detail, keys)

    def _called(self, pattern: str) -> list[SchemaNode]:
        """The schemas whose name a pattern means, in document order.

        There are far fewer names than schemas.
        """
        known: dict[str, list[int]] | None = self.index.memo.get("schema names")
        if known is None:
            known = {}
            for position, node in enumerate(self.index.schemas):
                if node.name:
                    known.setdefault(node.name, []).append(position)
            self.index.memo["schema names"] = known
        found = [
            position
            for name, positions in known.items()
            if match_glob(pattern, name)
            for position in positions
        ]
        return [self.index.schemas[position] for position in sorted(found)]

    def parameters(
        self, *, name: str | None, location: str | None, path: str | None, method: str | None
    ) -> JsonObject:
        resolve = self.query.resolve_refs or bool(name or location)

        def value(node: ObjectNode) -> JsonObject:
            found = self.inliner.resolver.try_follow(node.value) if resolve else node.value
            return found if type(found) is dict else node.value

        def own_name(node: ObjectNode) -> str:
            return str(value(node).get("name") or ("" if "$ref" in node.value else node.name))

        matched = self._select(
            self.index.parameters,
            _value,
            (lambda node: own_name(node).casefold() == name.casefold()) if name else None,
            (lambda node: str(value(node).get("in", "")).lower() == location.lower())
            if location
            else None,
            _path_test(path),
            _method_test(method),
        )
        keys: dict[str, Callable[[ObjectNode], Iterable[str]]] = {
            "location": lambda node: (str(value(node).get("in") or "(ref)"),),
            "name": lambda node: (own_name(node) or "(ref)",),
        }

        def summary(node: ObjectNode) -> JsonObject:
            found = value(node)
            schema = found.get("schema")
            kind = (
                describe_type(self._followed(schema))
                if type(schema) is dict
                else describe_type(found)
            )
            return {"name": own_name(node), "in": _text(found.get("in")) or ""} | _present(
                path=node.scope.path,
                method=node.scope.method.upper(),
                required=found.get("required") is True,
                type=kind,
                ref=_text(node.value.get("$ref")),
            )

        def detail(node: ObjectNode) -> JsonObject:
            place = _present(path=node.scope.path, method=node.scope.method.upper())
            shown = self._out(node.value) if self.query.resolve_refs else value(node)
            return {"name": own_name(node)} | place | {"parameter": shown}

        return self._answer(self.index.parameters, matched, "parameters", summary, detail, keys)

    def responses(self, *, status: str | None, path: str | None, method: str | None) -> JsonObject:
        matched = self._select(
            self.index.responses,
            _value,
            (lambda node: match_status(status, node.scope.status)) if status else None,
            _path_test(path),
            _method_test(method),
        )
        keys: dict[str, Callable[[ObjectNode], Iterable[str]]] = {
            "status_code": lambda node: (node.scope.status or "(component)",),
            "method": lambda node: (node.scope.method.upper() or "(component)",),
        }

        def place(node: ObjectNode) -> JsonObject:
            own = node.name if not node.scope.status else ""
            return {"status": node.scope.status} | _present(
                path=node.scope.path, method=node.scope.method.upper(), name=own
            )

        def summary(node: ObjectNode) -> JsonObject:
            found = self._followed(node.value)
            return place(node) | _present(
                description=_text(found.get("description")), ref=_text(node.value.get("$ref"))
            )

        def detail(node: ObjectNode) -> JsonObject:
            return place(node) | {"response": self._out(node.value)}

        return self._answer(self.index.responses, matched, "responses", summary, detail, keys)

    def headers(
        self,
        *,
        name: str | None,
        path: str | None,
        method: str | None,
        status: str | None,
        component: bool,
    ) -> JsonObject:
        matched = self._select(
            self.index.headers,
            _value,
            (lambda node: match_glob(name, node.name)) if name else None,
            _path_test(path),
            _method_test(method),
            (lambda node: match_status(status, node.scope.status)) if status else None,
            (lambda node: node.scope.component) if component else None,
        )
        keys: dict[str, Callable[[ObjectNode], Iterable[str]]] = {
            "name": lambda node: (node.name,),
            "status_code": lambda node: (node.scope.status,) if node.scope.status else (),
        }

        def place(node: ObjectNode) -> JsonObject:
            return {"name": node.name} | _present(
                path=node.scope.path, method=node.scope.method.upper(), status=node.scope.status
            )

        def summary(node: ObjectNode) -> JsonObject:
            found = self._followed(node.value)
            return place(node) | _present(
                description=_text(found.get("description")),
                required=found.get("required") is True,
                deprecated=found.get("deprecated") is True,
                ref=_text(node.value.get("$ref")),
            )

        def detail(node: ObjectNode) -> JsonObject:
            return place(node) | {"header": self._out(node.value)}

        return self._answer(self.index.headers, matched, "headers", summary, detail, keys)

    def security(self, *, name: str | None, type_: str | None) -> JsonObject:
        def field(node: ObjectNode, name: str) -> str:
            return _text(self._followed(node.value).get(name)) or ""

        matched = self._select(
            self.index.security_schemes,
            _value,
            (lambda node: node.name.casefold() == name.casefold()) if name else None,
            (lambda node: field(node, "type").lower() == type_.lower()) if type_ else None,
        )

        def summary(node: ObjectNode) -> JsonObject:
            extra = _present(**{"in": field(node, "in"), "description": field(node, "description")})
            return {"name": node.name, "type": field(node, "type")} | extra

        def detail(node: ObjectNode) -> JsonObject:
            return {"name": node.name, "security_scheme": self._out(node.value)}

        keys: dict[str, Callable[[ObjectNode], Iterable[str]]] = {
            "type": lambda node: (field(node, "type") or "(untyped)",)
        }
        return self._answer(self.index.security_schemes, matched, "schemes", summary, detail, keys)

    def refs(self, *, target: str | None, node_type: str | None) -> JsonObject:
        everything = self.index.refs
        kind = node_type.lower() if node_type else None
        matched = [
            node
            for node in everything
            if (not target or match_glob(target, node.ref))
            and (kind is None or node.node_type.lower() == kind)
        ]
        if self.query.extension:
            extension = extension_filter(self.query.extension)
            holders = {id(node.place): node for node in matched}
            matched = [
                node
                for node in holders.values()
                if extension is not None and extension(self._at(node))
            ]
        if not self.query.detail and not self.query.group_by:
            counts = sorted(
                Counter(node.ref for node in matched).items(),
                key=lambda entry: (-entry[1], entry[0]),
            )
            result: JsonObject = {
                "total": len({node.ref for node in everything}),
                "matched": len(counts),
            }
            return _listed(
                result,
                "refs",
                [{"ref": ref, "count": count} for ref, count in self.query.page(counts)],
            )

        def detail(node: RefNode) -> JsonObject:
            found: JsonObject = {
                "ref": node.ref,
                "source_path": node.place.json_path,
                "node_type": node.node_type,
            }
            if self.query.resolve_refs:
                found["value"] = self._out({"$ref": node.ref})
            return found

        keys: dict[str, Callable[[RefNode], Iterable[str]]] = {
            "node_type": lambda node: (node.node_type,)
        }
        return self._answer(
            everything, matched, "details", lambda node: {"ref": node.ref}, detail, keys
        )

    def _at(self, node: RefNode) -> Json:
        return lookup_pointer(self.document.data, node.place.pointer)

    def _answer(
        self,
        everything: Sequence[Any],
        matched: Sequence[Item],
        details: str,
        summary: Callable[[Item], JsonObject],
        detail: Callable[[Item], JsonObject],
        keys: dict[str, Callable[[Item], Iterable[str]]],
    ) -> JsonObject:
        groups = None
        if self.query.group_by:
            groups = keys.get(self.query.group_by)
            if groups is None:
                known = ", ".join(keys) or "nothing"
                raise CommonplaceError(
                    INVALID_ARGUMENT,
                    f"group_by: {self.query.group_by[:40]!r} is not known here; valid: {known}.",
                    details={"field": "group_by"},
                )
            if self.query.detail:
                raise CommonplaceError(
                    INVALID_ARGUMENT,
                    "group_by returns counts and detail returns objects; pass one of them.",
                    details={"field": "group_by"},
                )
        return answer(
            self.query,
            len(everything),
            matched if groups is not None else in_order(self.index, matched),
            details=details,
            summary=summary,
            detail=detail,
            groups=groups,
            notes=self._notes,
            limit_bytes=self.limit_bytes,
        )


def first_segment(path: str) -> str:
    """`/users/{id}` -> `users`"""
    return path.strip("/").split("/", 1)[0] or "/"


def _value(node: ObjectNode) -> Json:
    return node.value


def _method_test(wanted: str | None) -> Callable[[ObjectNode], bool] | None:
    if not wanted:
        return None
    lowered = wanted.lower()
    return lambda node: node.scope.method.lower() == lowered


def _path_test(pattern: str | None) -> Callable[[ObjectNode], bool] | None:
    if not pattern:
        return None
    return lambda node: bool(node.scope.path) and match_path(pattern, node.scope.path)


def _is_named(place: NodePlace) -> bool:
    """Whether it stands directly in components.schemas or definitions."""
    above = place.parent
    if (
        above is not None
        and above.step == "schemas"
        and above.parent is not None
        and above.parent.step == "components"
    ):
        return above.parent.parent == ROOT
    return above is not None and above.step == "definitions" and above.parent == ROOT


def _location(node: SchemaNode) -> str:
    return "component" if node.scope.component else "inline"


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) and value else None


def _strings(value: Json) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _present(**fields: Json) -> JsonObject:
    """Fields that say something: empty and false ones are left out."""
    return {name: value for name, value in fields.items() if value}
