"""Walks over parameters, responses, headers and security schemes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from commonplace.kernel.json_types import JsonObject
from commonplace.openapi.engine.document.nodes import ObjectNode
from commonplace.openapi.engine.document.patterns import describe_type, match_glob, match_status
from commonplace.openapi.engine.walk.query import WalkResult
from commonplace.openapi.engine.walk.rows import (
    HeaderRow,
    ParameterRow,
    ResponseRow,
    SecuritySchemeRow,
)
from commonplace.openapi.engine.walk.walker import (
    RowFormat,
    Walker,
    method_filter,
    node_value,
    path_filter,
    read_text,
)


@dataclass(frozen=True, slots=True)
class ParameterFilter:
    """Which parameters to list; unset fields match all."""

    name: str | None = None
    location: str | None = None
    path: str | None = None
    method: str | None = None


@dataclass(frozen=True, slots=True)
class ResponseFilter:
    """Which responses to list; unset fields match all."""

    status: str | None = None
    path: str | None = None
    method: str | None = None


@dataclass(frozen=True, slots=True)
class HeaderFilter:
    """Which headers to list; unset fields match all."""

    name: str | None = None
    path: str | None = None
    method: str | None = None
    status: str | None = None
    component: bool = False


@dataclass(frozen=True, slots=True)
class SecurityFilter:
    """Which security schemes to list; unset fields match all."""

    name: str | None = None
    type: str | None = None


def walk_parameters(walker: Walker, where: ParameterFilter) -> WalkResult[ParameterRow]:
    """List parameters; references are followed to filter by name or location."""
    nodes = walker.index.parameters
    name, location = where.name, where.location
    follows = walker.query.resolve_refs or bool(name or location)

    def target(node: ObjectNode) -> JsonObject:
        value = walker.inliner.resolver.try_follow(node.value) if follows else node.value
        return value if type(value) is dict else node.value

    def own_name(node: ObjectNode) -> str:
        return str(target(node).get("name") or ("" if "$ref" in node.value else node.name))

    def location_of(node: ObjectNode) -> str:
        return str(target(node).get("in", "")).lower()

    matched = walker.select(
        nodes,
        node_value,
        (lambda node: own_name(node).casefold() == name.casefold()) if name else None,
        (lambda node: location_of(node) == location.lower()) if location else None,
        path_filter(where.path),
        method_filter(where.method),
    )

    def summarise(node: ObjectNode) -> ParameterRow:
        value = target(node)
        schema = value.get("schema")
        typed = walker.follow(schema) if type(schema) is dict else value
        return ParameterRow(
            own_name(node),
            node.scope.path,
            node.scope.method.upper(),
            location=read_text(value.get("in")),
            required=value.get("required") is True,
            type=describe_type(typed),
            ref=read_text(node.value.get("$ref")),
        )

    def detail(node: ObjectNode) -> ParameterRow:
        resolves = walker.query.resolve_refs
        return ParameterRow(
            own_name(node),
            node.scope.path,
            node.scope.method.upper(),
            parameter=walker.resolve(node.value) if resolves else target(node),
        )

    rows: RowFormat[ObjectNode, ParameterRow] = RowFormat(
        summarise,
        detail,
        {
            "location": lambda node: (str(target(node).get("in") or "(ref)"),),
            "name": lambda node: (own_name(node) or "(ref)",),
        },
    )
    return walker.answer(len(nodes), matched, rows)


def walk_responses(walker: Walker, where: ResponseFilter) -> WalkResult[ResponseRow]:
    """List responses of operations and of components."""
    nodes, status = walker.index.responses, where.status
    matched = walker.select(
        nodes,
        node_value,
        (lambda node: match_status(status, node.scope.status)) if status else None,
        path_filter(where.path),
        method_filter(where.method),
    )

    def place(node: ObjectNode) -> ResponseRow:
        scope = node.scope
        name = "" if scope.status else node.name
        return ResponseRow(scope.status, scope.path, scope.method.upper(), name)

    def summarise(node: ObjectNode) -> ResponseRow:
        description = read_text(walker.follow(node.value).get("description"))
        ref = read_text(node.value.get("$ref"))
        return replace(place(node), description=description, ref=ref)

    def detail(node: ObjectNode) -> ResponseRow:
        return replace(place(node), response=walker.resolve(node.value))

    rows: RowFormat[ObjectNode, ResponseRow] = RowFormat(
        summarise,
        detail,
        {
            "status_code": lambda node: (node.scope.status or "(component)",),
            "method": lambda node: (node.scope.method.upper() or "(component)",),
        },
    )
    return walker.answer(len(nodes), matched, rows)


def walk_headers(walker: Walker, where: HeaderFilter) -> WalkResult[HeaderRow]:
    """List response headers and shared ones."""
    nodes = walker.index.headers
    name, status = where.name, where.status
    matched = walker.select(
        nodes,
        node_value,
        (lambda node: match_glob(name, node.name)) if name else None,
        path_filter(where.path),
        method_filter(where.method),
        (lambda node: match_status(status, node.scope.status)) if status else None,
        (lambda node: node.scope.component) if where.component else None,
    )

    def place(node: ObjectNode) -> HeaderRow:
        scope = node.scope
        return HeaderRow(node.name, scope.path, scope.method.upper(), scope.status)

    def summarise(node: ObjectNode) -> HeaderRow:
        value = walker.follow(node.value)
        return replace(
            place(node),
            description=read_text(value.get("description")),
            required=value.get("required") is True,
            deprecated=value.get("deprecated") is True,
            ref=read_text(node.value.get("$ref")),
        )

    def detail(node: ObjectNode) -> HeaderRow:
        return replace(place(node), header=walker.resolve(node.value))

    rows: RowFormat[ObjectNode, HeaderRow] = RowFormat(
        summarise,
        detail,
        {
            "name": lambda node: (node.name,),
            "status_code": lambda node: (node.scope.status,) if node.scope.status else (),
        },
    )
    return walker.answer(len(nodes), matched, rows)


def walk_security(walker: Walker, where: SecurityFilter) -> WalkResult[SecuritySchemeRow]:
    """List security schemes."""
    nodes = walker.index.security_schemes
    name, type_ = where.name, where.type

    def field(node: ObjectNode, key: str) -> str:
        return read_text(walker.follow(node.value).get(key))

    matched = walker.select(
        nodes,
        node_value,
        (lambda node: node.name.casefold() == name.casefold()) if name else None,
        (lambda node: field(node, "type").lower() == type_.lower()) if type_ else None,
    )

    def summarise(node: ObjectNode) -> SecuritySchemeRow:
        type_, location, text = (field(node, key) for key in ("type", "in", "description"))
        return SecuritySchemeRow(node.name, type_, location, text)

    def detail(node: ObjectNode) -> SecuritySchemeRow:
        return SecuritySchemeRow(node.name, security_scheme=walker.resolve(node.value))

    keys = {"type": lambda node: (field(node, "type") or "(untyped)",)}
    rows: RowFormat[ObjectNode, SecuritySchemeRow] = RowFormat(summarise, detail, keys)
    return walker.answer(len(nodes), matched, rows)
