"""Operations as they are compared, in one shape for all versions."""

from __future__ import annotations

from dataclasses import dataclass, field

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.diff.schema.model import SchemaSite


@dataclass(slots=True)
class ParameterView:
    """A parameter other than a body or form field."""

    name: str
    location: str
    required: bool
    schema: SchemaSite
    pointer: str
    style: str
    explode: bool
    deprecated: bool
    description: str | None
    media: str  # the media type it is written in; empty if `style` decides


@dataclass(slots=True)
class ContentView:
    """Schemas by media type."""

    pointer: str
    media: dict[str, SchemaSite] = field(default_factory=dict)
    encodings: dict[str, Json] = field(default_factory=dict)
    items: dict[str, SchemaSite] = field(default_factory=dict)  # itemSchema of 3.2


@dataclass(slots=True)
class HeaderView:
    """A header of a response."""

    required: bool
    schema: SchemaSite
    pointer: str
    media: str


@dataclass(slots=True)
class ResponseView:
    """A response of an operation."""

    pointer: str
    content: ContentView
    headers: dict[str, HeaderView]
    links: dict[str, Json]
    description: str | None


@dataclass(frozen=True, slots=True)
class RawOperation:
    """An operation as it is written, with the path item around it."""

    path: str
    method: str
    operation: JsonObject
    pointer: str
    item: JsonObject
    item_pointer: str
    depth: int

    @property
    def label(self) -> str:
        return f"{self.method.upper()} {self.path}"


@dataclass(slots=True)
class OperationView:
    """An operation with its parameters, body, responses and credentials."""

    label: str
    pointer: str
    value: JsonObject
    parameters: dict[tuple[str, str], ParameterView]
    body: ContentView | None
    body_required: bool
    responses: dict[str, ResponseView]
    security: list[dict[str, frozenset[str]]]
    callbacks: dict[str, dict[str, RawOperation]]
    servers: list[JsonObject] | None  # None: the servers of the document
