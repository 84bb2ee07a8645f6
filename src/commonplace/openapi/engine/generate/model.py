"""The language-neutral model of an API: types, operations, security schemes."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from commonplace.kernel.json_types import Json, JsonArray, JsonObject


class Scalar(StrEnum):
    """The scalar types that generated code distinguishes."""

    STRING = "string"
    INT32 = "int32"
    INT64 = "int64"
    UINT64 = "uint64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    BOOLEAN = "boolean"
    DATE = "date"
    DATE_TIME = "date-time"
    BYTES = "bytes"  # base64 in JSON
    ANY = "any"


@dataclass(frozen=True, slots=True)
class Primitive:
    """A scalar."""

    scalar: Scalar


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list."""

    item: TypeUse


@dataclass(frozen=True, slots=True)
class MapOf:
    """A map with string keys."""

    value: TypeUse


@dataclass(frozen=True, slots=True)
class NamedType:
    """A reference to a declaration."""

    declaration: Declaration


Type = Primitive | ListOf | MapOf | NamedType


@dataclass(frozen=True, slots=True)
class TypeUse:
    """A type where it is used, which may allow null."""

    type: Type
    nullable: bool = False


@dataclass(slots=True, eq=False)
class Declaration:
    """A type with a name.

    `hint` holds the parts of that name as the document spells them; each backend derives its own
    spelling.
    """

    hint: tuple[str, ...]
    doc: str = ""
    deprecated: bool = False
    component: bool = False


@dataclass(slots=True, eq=False)
class Field:
    """A property of a struct."""

    name: str
    use: TypeUse
    required: bool
    doc: str = ""
    deprecated: bool = False
    declared: bool = True  # the schema names a type


@dataclass(slots=True, eq=False)
class Struct(Declaration):
    """An object with known properties."""

    fields: list[Field] = field(default_factory=list)
    additional: TypeUse | None = (
        None  # type of members beyond the fields, where the schema speaks of them
    )


@dataclass(slots=True, eq=False)
class Enum(Declaration):
    """A closed set of strings or integers."""

    scalar: Scalar = Scalar.STRING
    values: JsonArray = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Variant:
    """One alternative of a union."""

    hint: str
    use: TypeUse
    schema: Json
    discriminators: list[str] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Union(Declaration):
    """A value of one of several types."""

    variants: list[Variant] = field(default_factory=list)
    discriminator: str | None = None
    exclusive: bool = True  # oneOf


@dataclass(slots=True, eq=False)
class Alias(Declaration):
    """A name for a list, a map, a scalar or another declaration."""

    target: TypeUse = TypeUse(Primitive(Scalar.ANY))


ANY_USE = TypeUse(Primitive(Scalar.ANY))

Place = Literal["path", "query", "querystring", "header", "cookie"]
BodyKind = Literal["json", "form", "multipart", "text", "bytes"]


@dataclass(slots=True, eq=False)
class Parameter:
    """A parameter of an operation."""

    name: str
    place: str
    required: bool
    use: TypeUse
    schema: Json
    style: str
    explode: bool
    as_json: bool = False
    reserved: bool = False
    doc: str = ""
    deprecated: bool = False


@dataclass(slots=True, eq=False)
class Encoding:
    """How a property of a form or multipart body is sent."""

    style: str
    explode: bool
    content_type: str


@dataclass(slots=True, eq=False)
class ContentBody:
    """One content of a request or response."""

    kind: BodyKind
    media_types: list[str]
    use: TypeUse
    schema: Json
    encoding: dict[str, Encoding] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Response:
    """A response by status."""

    status: str  # 200, 4XX or default
    contents: list[ContentBody]
    doc: str = ""


@dataclass(slots=True, eq=False)
class Operation:
    """An operation with its parameters, bodies and responses."""

    hint: str
    method: str
    path: str
    pointer: str
    tags: list[str]
    doc: str
    deprecated: bool
    parameters: list[Parameter]
    bodies: list[ContentBody]
    body_required: bool
    responses: list[Response]
    security: list[list[tuple[str, list[str]]]]
    server: str = ""  # of the operation or its path, where they have their own
    fixed_query: str = ""  # what the path key says after `?`, encoded


@dataclass(frozen=True, slots=True)
class SecurityScheme:
    """How clients authenticate."""

    name: str
    kind: str
    place: str = ""
    parameter: str = ""
    scheme: str = ""
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that the generated code does not do, or a choice that was made."""

    path: str
    message: str
    critical: bool = False


@dataclass(slots=True)
class Api:
    """Everything that a backend needs."""

    title: str
    version: str
    description: str
    server: str
    declarations: list[Declaration]
    operations: list[Operation]
    schemes: list[SecurityScheme]
    warnings: list[Notice]
    document: JsonObject
