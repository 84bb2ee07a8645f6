"""Schemas as they are compared: a schema in its place, and the view of its constraints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from commonplace.kernel.json_types import Json
from commonplace.openapi.engine.pointers import escape_token

ALL_TYPES = frozenset({"string", "integer", "number", "boolean", "array", "object", "null"})
SchemaIdentity = tuple[tuple[int, str], ...]


class SchemaSite(NamedTuple):
    """A schema and its position; `base` is the file ('' for the document itself).

    `also` holds what other parts of an allOf say about the same property.
    """

    schema: Json
    pointer: str
    base: str = ""
    also: tuple[SchemaSite, ...] = ()

    @property
    def identity(self) -> SchemaIdentity:
        """A key that is unique among the sites of a document while the document is alive."""
        return (
            (id(self.schema), self.pointer),
            *((id(other.schema), other.pointer) for other in self.also),
        )

    def at(self, *steps: str | int) -> str:
        """Return the pointer of something inside the schema."""
        return self.pointer + "".join("/" + escape_token(str(step)) for step in steps)


class SchemaChoice(NamedTuple):
    """The branches of a oneOf (exclusive) or an anyOf."""

    branches: list[SchemaSite]
    exclusive: bool


@dataclass(slots=True)
class SchemaView:
    """The conjunction of a schema's own keywords and those of everything in its allOf."""

    site: SchemaSite
    types: frozenset[str] | None = None  # None: any
    enum: list[Json] | None = None
    # Keyword group -> (value, exclusive); a larger lower bound is stricter.
    lower: dict[str, tuple[float, bool]] = field(default_factory=dict)
    upper: dict[str, tuple[float, bool]] = field(default_factory=dict)
    properties: dict[str, SchemaSite] = field(default_factory=dict)
    required: dict[str, str] = field(default_factory=dict)  # name -> pointer of the list
    closed: str | None = None  # pointer of additionalProperties: false
    additional: SchemaSite | None = None
    items: SchemaSite | None = None
    unique: bool = False
    patterns: set[str] = field(default_factory=set)
    formats: set[str] = field(default_factory=set)
    multiples: set[float] = field(default_factory=set)
    choices: list[SchemaChoice] = field(default_factory=list)
    discriminator: str | None = None
    # Of the discriminator: value -> name of the schema, where they differ.
    mapping: dict[str, str] = field(default_factory=dict)
    undecided: dict[str, Json] = field(default_factory=dict)
    default: Json = None
    has_default: bool = False
    description: str | None = None
    deprecated: bool = False
    read_only: bool = False
    write_only: bool = False
    nothing: bool = False  # the schema `false`

    def allows(self, kind: str) -> bool:
        """Tell whether values of a type may be valid."""
        return (
            self.types is None
            or kind in self.types
            or (kind == "integer" and "number" in self.types)
        )

    @property
    def empty(self) -> bool:
        """True if no value is valid: the schema `false`, or parts that exclude each other."""
        return self.nothing or (self.types is not None and not self.types)

    @property
    def only_a_choice(self) -> bool:
        """True if there is one oneOf or anyOf and no other constraint."""
        return (
            len(self.choices) == 1
            and self.types is None
            and self.enum is None
            and not self._other_rules
        )

    @property
    def only_types(self) -> bool:
        """True if nothing but types is constrained."""
        return self.enum is None and not self.choices and not self._other_rules

    @property
    def _other_rules(self) -> bool:
        rules = (
            self.lower,
            self.upper,
            self.properties,
            self.required,
            self.closed,
            self.additional,
            self.items,
            self.patterns,
        )
        return any(rules) or any(
            (self.formats, self.multiples, self.undecided, self.unique, self.nothing)
        )
