"""The values of the openapi domain: where documents are, what they hold, where results go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, TypeVar

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.number_literals import NumberLiterals

Format = Literal["json", "yaml"]
Item = TypeVar("Item")

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
DEFAULT_LIMIT = 100
MAX_LIMIT = 1000


class Family(StrEnum):
    """The supported minor versions of OpenAPI; patch levels share a family."""

    V20 = "2.0"
    V30 = "3.0"
    V31 = "3.1"
    V32 = "3.2"

    @property
    def methods(self) -> tuple[str, ...]:
        """Return the fixed operation fields of a path item."""
        return {
            Family.V20: METHODS[:7],
            Family.V30: METHODS[:8],
            Family.V31: METHODS[:8],
            Family.V32: METHODS,
        }[self]

    @property
    def json_schema(self) -> bool:
        """Tell whether Schema Objects are full JSON Schema 2020-12.

        Then schemas may be booleans, `type` may be an array, and `$ref` may have siblings.
        """
        return self in (Family.V31, Family.V32)


SUPPORTED = tuple(family.value for family in Family)


@dataclass(frozen=True, slots=True)
class Spec:
    """Where a document is: exactly one of `file`, `url`, `content` and `ref`.

    A stored file that has been read carries its text in `content` beside its `ref`.
    """

    file: str | None = None
    url: str | None = None
    content: str | bytes | None = None  # bytes are UTF-8
    ref: str | None = None


@dataclass(frozen=True, slots=True)
class DocumentLimits:
    """The largest document that is accepted."""

    size_bytes: int = 64 * 1024 * 1024
    depth: int = 500
    nodes: int = 5_000_000
    alias_nodes: int = 1_000_000


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Which part of a list to return; at most 1,000 items."""

    limit: int | None = None
    offset: int = 0

    def of(self, items: Sequence[Item]) -> Sequence[Item]:
        """Return the items of this page."""
        return items[self.offset : self.offset + min(self.limit or DEFAULT_LIMIT, MAX_LIMIT)]


@dataclass(frozen=True, slots=True)
class Delivery:
    """Where a resulting document goes: to the file `output`, into the answer, or both."""

    output: str | None = None
    include: bool = True
    overwrite: bool = False  # replace `output` even if it is not an API description


@dataclass(frozen=True, slots=True)
class DuplicateKey:
    """A mapping key that occurs twice; the later value won. `line` is 1-based if known."""

    key: str
    pointer: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class SourceTree:
    """Parsed text of any kind: a description, an overlay, a referenced fragment."""

    data: Json
    format: Format
    raw: bytes | str
    duplicates: tuple[DuplicateKey, ...] = ()
    numbers: NumberLiterals = field(default_factory=NumberLiterals)

    @property
    def text(self) -> str:
        """Return the source as text."""
        return decode_source(self.raw)


def decode_source(raw: bytes | str) -> str:
    """Return source text; JSON that was parsed from bytes is decoded only on demand."""
    return raw if isinstance(raw, str) else raw.decode("utf-8", "replace")


@dataclass(slots=True)
class ApiDocument:
    """A loaded API description.

    `data` is shared by all readers: copy it before changing it. `derived` holds what engines
    compute once per document, such as the index and the findings.
    """

    data: JsonObject
    version: str  # as declared, such as 3.0.3
    family: Family
    format: Format
    raw: bytes | str  # the source as it was read
    name: str = "content"  # for messages: a path, a URL or `content`
    base: str | None = None  # absolute path or URL that relative references start from
    duplicates: tuple[DuplicateKey, ...] = ()
    derived: JsonObject = field(default_factory=dict)
    # Literals of `data` that a float cannot hold as they are written.
    numbers: NumberLiterals = field(default_factory=NumberLiterals)
    kept: bool = False  # large and cached, so the garbage collector skips it

    @property
    def text(self) -> str:
        """Return the source as text."""
        return decode_source(self.raw)

    @property
    def source(self) -> bytes:
        """Return the source as UTF-8."""
        return (
            self.raw if isinstance(self.raw, bytes) else self.raw.encode("utf-8", "surrogatepass")
        )

    @property
    def is_v2(self) -> bool:
        """Tell whether this is a Swagger 2.0 document."""
        return self.family is Family.V20

    @property
    def schemas(self) -> JsonObject:
        """Return the named schemas."""
        return self.components("schemas")

    def components(self, kind: str) -> JsonObject:
        """Return the named components of a kind (3.x names); empty if there are none."""
        if self.is_v2:
            found = self.data.get(V2_COMPONENTS.get(kind, ""))
        else:
            container = self.data.get("components")
            found = container.get(kind) if isinstance(container, dict) else None
        return found if isinstance(found, dict) else {}

    def component_pointer(self, kind: str) -> str:
        """Return `#/components/schemas`, or its counterpart in 2.0."""
        return f"#/{V2_COMPONENTS.get(kind, kind)}" if self.is_v2 else f"#/components/{kind}"


V2_COMPONENTS = {
    "schemas": "definitions",
    "parameters": "parameters",
    "responses": "responses",
    "securitySchemes": "securityDefinitions",
}
