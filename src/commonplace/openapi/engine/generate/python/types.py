"""Names and annotations of types in Python."""

from __future__ import annotations

from commonplace.openapi.engine.generate.model import (
    Alias,
    Api,
    Declaration,
    ListOf,
    MapOf,
    NamedType,
    Primitive,
    Scalar,
    Type,
    TypeUse,
)
from commonplace.openapi.engine.generate.names import NameScope
from commonplace.openapi.engine.generate.python.text import class_name

_SCALARS = {
    Scalar.STRING: "str",
    Scalar.INT32: "int",
    Scalar.INT64: "int",
    Scalar.UINT64: "int",
    Scalar.FLOAT32: "float",
    Scalar.FLOAT64: "float",
    Scalar.BOOLEAN: "bool",
    Scalar.DATE: "datetime.date",
    Scalar.DATE_TIME: "datetime.datetime",
    Scalar.BYTES: "Bytes",
    Scalar.ANY: "Any",
}
_CLASS_NAMES = (
    "Model",
    "OpenModel",
    "Any",
    "Bytes",
    "Enum",
    "Field",
    "Root",
    "RootModel",
    "IntEnum",
    "StrEnum",
    "TypeAlias",
    "Client",
    "ApiError",
)
_CLIENT_NAMES = (
    "Operation",
    "Parameter",
    "Body",
    "Encoding",
    "Scheme",
    "Credential",
    "BaseClient",
    "Mapping",
    "httpx",
    "models",
)


class PythonTypes:
    """Names and spells all types of a package."""

    def __init__(self, api: Api) -> None:
        self.names: dict[Declaration, str] = {}
        scope = NameScope((*_CLASS_NAMES, *_CLIENT_NAMES))
        for component in (True, False):
            for declaration in api.declarations:
                if declaration.component is component:
                    self.names[declaration] = scope.claim(class_name(*declaration.hint))

    def spell(self, kind: Type, prefix: str = "") -> str:
        """Return the type of a value that is present."""
        if isinstance(kind, Primitive):
            return (
                _SCALARS[kind.scalar] if not prefix or kind.scalar is not Scalar.BYTES else "bytes"
            )
        if isinstance(kind, ListOf):
            return f"list[{self.use(kind.item, prefix)}]"
        if isinstance(kind, MapOf):
            return f"dict[str, {self.use(kind.value, prefix)}]"
        declaration = kind.declaration
        if isinstance(declaration, Alias) and isinstance(
            declaration.target.type, (Primitive, NamedType)
        ):
            return self.spell(declaration.target.type, prefix)
        return prefix + self.names[declaration]

    def use(self, use: TypeUse, prefix: str = "") -> str:
        """Return the type of a value, which may be null."""
        plain = self.spell(use.type, prefix)
        return f"{plain} | None" if use.nullable and plain != "Any" else plain

    def optional(self, use: TypeUse, prefix: str = "") -> str:
        """Return the type of a value that may be absent."""
        plain = self.spell(use.type, prefix)
        return plain if plain == "Any" else f"{plain} | None"
