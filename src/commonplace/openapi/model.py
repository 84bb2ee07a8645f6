"""What an API description is to this product: plain JSON values with a version, a format and the
text they came from.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.number_literals import NumberLiterals

Format = Literal["json", "yaml"]

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")


class Family(StrEnum):
    """The minor versions of OpenAPI that are supported. Patch levels share a family."""

    V20 = "2.0"
    V30 = "3.0"
    V31 = "3.1"
    V32 = "3.2"

    @property
    def methods(self) -> tuple[str, ...]:
        """The fixed operation fields of a path item."""
        return {
            Family.V20: METHODS[:7],
            Family.V30: METHODS[:8],
            Family.V31: METHODS[:8],
            Family.V32: METHODS,
        }[self]

    @property
    def json_schema(self) -> bool:
        """Schema Objects are full JSON Schema 2020-12 (booleans, type arrays, siblings of $ref)."""
        return self in (Family.V31, Family.V32)


SUPPORTED = tuple(family.value for family in Family)


@dataclass(frozen=True, slots=True)
class DocumentLimits:
    """What a document may cost before it is refused."""

    size_bytes: int = 64 * 1024 * 1024
    depth: int = 500
    nodes: int = 5_000_000
    alias_nodes: int = 1_000_000


@dataclass(frozen=True, slots=True)
class DuplicateKey:
    """A mapping key that occurs twice; the later value won. `line` is 1-based where it is known."""

    key: str
    pointer: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Tree:
    """Parsed text of any kind: a description, an overlay, a fragment that a reference names."""

    data: Json
    format: Format
    raw: bytes | str
    duplicates: tuple[DuplicateKey, ...] = ()
    numbers: NumberLiterals = field(default_factory=NumberLiterals)

    @property
    def text(self) -> str:
        return decode_source(self.raw)


def decode_source(raw: bytes | str) -> str:
    """Source text; bytes that were parsed as JSON are decoded only when somebody looks at them."""
    return raw if isinstance(raw, str) else raw.decode("utf-8", "replace")


@dataclass(slots=True)
class ApiDocument:
    """One loaded API description.

    `data` is shared by everybody who reads it: never change it, copy first.

    `derived` holds what engines compute once per document (the index, its findings).
    """

    data: JsonObject
    version: str  # as declared, such as 3.0.3
    family: Family
    format: Format
    raw: bytes | str  # the source as it was read
    name: str = "content"  # for messages: a path, an address, or `content`
    base: str | None = None  # absolute path or address that relative references start from
    duplicates: tuple[DuplicateKey, ...] = ()
    derived: dict[str, Any] = field(default_factory=dict)
    numbers: NumberLiterals = field(
        default_factory=NumberLiterals
    )  # literals of `data` that a float does not hold as written
    kept: bool = False  # it is large and cached: the garbage collector does not look at it

    @property
    def text(self) -> str:
        """The source as text."""
        return decode_source(self.raw)

    @property
    def source(self) -> bytes:
        return (
            self.raw if isinstance(self.raw, bytes) else self.raw.encode("utf-8", "surrogatepass")
        )

    @property
    def is_v2(self) -> bool:
        return self.family is Family.V20

    @property
    def schemas(self) -> JsonObject:
        """The named schemas, wherever this version keeps them."""
        return self.components("schemas")

    def components(self, kind: str) -> JsonObject:
        """The named components of a kind (3.x names), wherever this version keeps them; empty
        where there are none.
        """
        if self.is_v2:
            found = self.data.get(V2_COMPONENTS.get(kind, ""))
        else:
            container = self.data.get("components")
            found = container.get(kind) if isinstance(container, dict) else None
        return found if isinstance(found, dict) else {}

    def component_pointer(self, kind: str) -> str:
        """`#/components/schemas` or what stands for it in 2.0."""
        return f"#/{V2_COMPONENTS.get(kind, kind)}" if self.is_v2 else f"#/components/{kind}"


V2_COMPONENTS = {
    "schemas": "definitions",
    "parameters": "parameters",
    "responses": "responses",
    "securitySchemes": "securityDefinitions",
}
