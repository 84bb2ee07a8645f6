"""The module of pydantic models."""

from __future__ import annotations

from commonplace.openapi.engine.generate.model import (
    Alias,
    Api,
    Enum,
    ListOf,
    MapOf,
    Scalar,
    Struct,
    Union,
)
from commonplace.openapi.engine.generate.names import NameScope
from commonplace.openapi.engine.generate.python.text import (
    HEADER,
    TYPE_WORDS,
    docstring,
    literal,
    one_line,
    snake,
)
from commonplace.openapi.engine.generate.python.types import PythonTypes

# Attributes that a field may not hide.
_FIELD_RESERVED = frozenset(TYPE_WORDS) | {
    "copy",
    "construct",
    "datetime",
    "dict",
    "fields",
    "from_orm",
    "json",
    "model",
    "parse_file",
    "parse_obj",
    "parse_raw",
    "root",
    "schema",
    "schema_json",
    "update_forward_refs",
    "validate",
}


class PythonModels:
    """Writes the models of an API."""

    def __init__(self, api: Api, types: PythonTypes) -> None:
        self.api = api
        self.types = types

    def write(self) -> str:
        """Write the module of the models."""
        lines = [
            HEADER,
            f'"""Models of {one_line(self.api.title)}."""',
            "",
            "from __future__ import annotations",
            "",
            "import datetime",
            "from enum import IntEnum, StrEnum",
            "from typing import Any, TypeAlias",
            "",
            "from pydantic import Field",
            "",
            "from .runtime import Bytes, Model, OpenModel, Root",
            "",
        ]
        aliases: list[str] = []
        for declaration in sorted(self.api.declarations, key=self.types.names.__getitem__):
            name = self.types.names[declaration]
            if isinstance(declaration, Struct):
                lines += self._struct(name, declaration)
            elif isinstance(declaration, Enum):
                lines += self._enum(name, declaration)
            elif isinstance(declaration, Union):
                variants = list(
                    dict.fromkeys(self.types.use(variant.use) for variant in declaration.variants)
                )
                lines += self._root(name, " | ".join(variants), declaration.doc)
            elif isinstance(declaration, Alias):
                if isinstance(declaration.target.type, (ListOf, MapOf)):
                    lines += self._root(
                        name, self.types.spell(declaration.target.type), declaration.doc
                    )
                elif (target := self.types.spell(declaration.target.type)) != name:
                    aliases.append(f"{name}: TypeAlias = {target}")
        names = sorted(self.types.names[declaration] for declaration in self.api.declarations)
        exported = [f"    {literal(name)}," for name in names]
        used = "\n".join(lines[13:] + aliases)
        head = [
            line
            for line in lines[:13]
            if not (line == "import datetime" and "datetime." not in used)
        ]
        return (
            "\n".join(
                [*head, *lines[13:], "", *aliases, "", "__all__ = [", *exported, "]", ""]
            ).rstrip("\n")
            + "\n"
        )

    def _struct(self, name: str, struct: Struct) -> list[str]:
        base = "OpenModel" if struct.additional is not None else "Model"
        lines = ["", f"class {name}({base}):", *docstring(struct.doc, "    ")]
        scope = NameScope(_FIELD_RESERVED)
        for member in struct.fields:
            wanted = snake(member.name)
            if wanted.startswith("model_"):
                wanted = f"{wanted}_"
            field = scope.claim(wanted, f"{wanted}_")
            spelled = (
                self.types.use(member.use) if member.required else self.types.optional(member.use)
            )
            if member.required:
                default = f" = Field(alias={literal(member.name)})" if field != member.name else ""
            else:
                default = (
                    f" = Field(default=None, alias={literal(member.name)})"
                    if field != member.name
                    else " = None"
                )
            lines.append(f"    {field}: {spelled}{default}")
        if not struct.fields and len(lines) == 2:
            lines.append("    pass")
        return [*lines, ""]

    def _enum(self, name: str, enum: Enum) -> list[str]:
        base = "StrEnum" if enum.scalar is Scalar.STRING else "IntEnum"
        lines = ["", f"class {name}({base}):", *docstring(enum.doc, "    ")]
        scope = NameScope(("_", "MRO", "NAME", "VALUE", "_VALUE_"))
        for value in enum.values:
            label = snake(str(value)).upper() if str(value) else "EMPTY"
            if isinstance(value, int):
                label = f"MINUS_{-value}" if value < 0 else f"N{value}"
            lines.append(f"    {scope.claim(label)} = {value!r}")
        return [*lines, ""]

    def _root(self, name: str, target: str, doc: str) -> list[str]:
        return ["", f"class {name}(Root):", *docstring(doc, "    "), f"    root: {target}", ""]
