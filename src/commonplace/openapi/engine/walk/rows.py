"""Rows of walks, one type per kind of node.

A summary leaves the object (`operation`, `schema`, ...) unset; a detail sets it, and leaves unset
what can be read from the object.
"""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.kernel.json_types import Json


@dataclass(frozen=True, slots=True)
class WalkGroup:
    """A value that nodes share, and their number."""

    key: str
    count: int


@dataclass(frozen=True, slots=True)
class OperationRow:
    """An operation of a path, a webhook or a callback."""

    method: str
    path: str
    callback: str = ""
    webhook: bool = False
    operation_id: str = ""
    summary: str = ""
    tags: tuple[str, ...] = ()
    deprecated: bool = False
    operation: Json = None


@dataclass(frozen=True, slots=True)
class PathRow:
    """A path item."""

    path: str
    callback: str = ""
    summary: str = ""
    method_count: int = 0
    path_item: Json = None


@dataclass(frozen=True, slots=True)
class SchemaRow:
    """A schema, named or nested."""

    name: str
    json_path: str
    component: bool
    type: str = ""
    property_count: int = 0
    required: tuple[str, ...] = ()
    ref: str = ""
    schema: Json = None


@dataclass(frozen=True, slots=True)
class ParameterRow:
    """A parameter of an operation, a path item or the components."""

    name: str
    path: str
    method: str
    location: str = ""
    required: bool = False
    type: str = ""
    ref: str = ""
    parameter: Json = None


@dataclass(frozen=True, slots=True)
class ResponseRow:
    """A response of an operation or of the components."""

    status: str
    path: str
    method: str
    name: str
    description: str = ""
    ref: str = ""
    response: Json = None


@dataclass(frozen=True, slots=True)
class HeaderRow:
    """A header of a response or of the components."""

    name: str
    path: str
    method: str
    status: str
    description: str = ""
    required: bool = False
    deprecated: bool = False
    ref: str = ""
    header: Json = None


@dataclass(frozen=True, slots=True)
class SecuritySchemeRow:
    """A security scheme."""

    name: str
    type: str = ""
    location: str = ""
    description: str = ""
    security_scheme: Json = None


@dataclass(frozen=True, slots=True)
class RefRow:
    """A target of references and their number, or one reference with its place."""

    ref: str
    count: int = 1
    source_path: str = ""
    node_type: str = ""
    value: Json = None
