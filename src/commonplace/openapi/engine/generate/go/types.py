"""Type declarations in Go."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from commonplace.openapi.engine.generate.go.schemas import SchemaTable
from commonplace.openapi.engine.generate.go.text import columns, comment, make_exported_name, quoted
from commonplace.openapi.engine.generate.model import (
    Alias,
    Api,
    Declaration,
    Enum,
    Field,
    ListOf,
    MapOf,
    NamedType,
    Primitive,
    Scalar,
    Struct,
    Type,
    TypeUse,
    Union,
)
from commonplace.openapi.engine.generate.names import NameScope

_SCALARS = {
    Scalar.STRING: "string",
    Scalar.INT32: "int32",
    Scalar.INT64: "int64",
    Scalar.UINT64: "uint64",
    Scalar.FLOAT32: "float32",
    Scalar.FLOAT64: "float64",
    Scalar.BOOLEAN: "bool",
    Scalar.DATE: "Date",
    Scalar.DATE_TIME: "time.Time",
    Scalar.BYTES: "[]byte",
    Scalar.ANY: "any",
}
_TAG_SIGNS = frozenset("!#$%&()*+-./:;<=>?@[]^_{|}~ ")
_COMMON_NAME = re.compile(r"[A-Za-z0-9_-]+").fullmatch
_FIELD_RESERVED = ("MarshalJSON", "UnmarshalJSON")


@dataclass(slots=True)
class GoTypes:
    """Names and spells all types of a package."""

    api: Api
    package: NameScope
    schemas: SchemaTable
    names: dict[Declaration, str] = field(default_factory=dict)
    imports: set[str] = field(default_factory=set)
    loops: set[tuple[Declaration, Declaration]] = field(default_factory=set)

    def name_components(self) -> None:
        """Name the components; they come first to get the plain names."""
        for declaration in self.api.declarations:
            if declaration.component:
                plain = make_exported_name(*declaration.hint)
                self.names[declaration] = self.package.claim(plain, plain + "Model")

    def name_inline(self) -> None:
        """Name the inline types."""
        for declaration in self.api.declarations:
            if declaration not in self.names:
                self.names[declaration] = self.package.claim(make_exported_name(*declaration.hint))
        self.loops = _find_loops(self.api.declarations)

    def spell(self, kind: Type) -> str:
        """Return the Go type of a value that is present."""
        if isinstance(kind, Primitive):
            if kind.scalar is Scalar.DATE_TIME:
                self.imports.add("time")
            return _SCALARS[kind.scalar]
        if isinstance(kind, ListOf):
            return "[]" + self.element(kind.item)
        if isinstance(kind, MapOf):
            return "map[string]" + self.element(kind.value)
        return self.names[kind.declaration]

    def element(self, use: TypeUse) -> str:
        """Return the type of an item of a list or map: a pointer only if it may be null."""
        plain = self.spell(use.type)
        return "*" + plain if use.nullable and not nilable(use.type) else plain

    def optional(self, use: TypeUse) -> str:
        """Return the type of a value that may be absent, where null means the same."""
        plain = self.spell(use.type)
        return plain if nilable(use.type) else "*" + plain

    def field_type(
        self, owner: Declaration | None, use: TypeUse, *, required: bool
    ) -> tuple[str, str]:
        """Return the type of a field and the options of its JSON tag."""
        plain = self.spell(use.type)
        if is_any(use.type) and (required or not use.nullable):
            return plain, "" if required else ",omitempty"
        if required:
            target = _contained_struct(use.type)
            looped = owner is not None and target is not None and (owner, target) in self.loops
            return (
                "*" + plain if (use.nullable or looped) and not nilable(use.type) else plain
            ), ""
        if use.nullable:
            return f"Nullable[{plain}]", ",omitzero"
        return (plain, ",omitzero") if nilable(use.type) else ("*" + plain, ",omitempty")

    def declare(self) -> list[str]:
        """Write all type declarations."""
        lines: list[str] = []
        for declaration in sorted(
            self.api.declarations, key=lambda declaration: self.names[declaration]
        ):
            name = self.names[declaration]
            lines += comment(declaration.doc, name=name, deprecated=declaration.deprecated) or [
                f"// {name} is a type of the API."
            ]
            if isinstance(declaration, Struct):
                lines += self._struct(name, declaration)
            elif isinstance(declaration, Enum):
                lines += self._enum(name, declaration)
            elif isinstance(declaration, Union):
                lines += self._union(name, declaration)
            elif isinstance(declaration, Alias):
                sign = " " if isinstance(declaration.target.type, (ListOf, MapOf)) else " = "
                lines += [f"type {name}{sign}{self.spell(declaration.target.type)}", ""]
        return lines

    def _struct(self, name: str, struct: Struct) -> list[str]:
        scope = NameScope(_FIELD_RESERVED)
        rows: list[tuple[str, str, str]] = []
        lines = [f"type {name} struct {{"]
        empty_lists: list[str] = []
        awkward: list[tuple[Field, str, str]] = []
        for member in struct.fields:
            identifier = scope.claim(make_exported_name(member.name))
            spelled, options = self.field_type(struct, member.use, required=member.required)
            tag = json_tag(member.name, options)
            if tag is None:
                awkward.append((member, identifier, spelled))
                tag = '`json:"-"`'
            if (
                member.required
                and not member.use.nullable
                and nilable(member.use.type)
                and not is_any(member.use.type)
            ):
                empty_lists.append(
                    f"\tif m.{identifier} == nil {{\n\t\tm.{identifier} = {spelled}{{}}\n\t}}"
                )
            doc = comment(member.doc, "\t", deprecated=member.deprecated, limit=300)
            if doc:
                lines += columns(rows)
                rows = []
                if lines[-1] != f"type {name} struct {{":
                    lines.append("")
                lines += doc
            rows.append((identifier, spelled, tag))
        if struct.additional is not None:
            lines += columns(rows)
            if struct.fields:
                lines.append("")
            rest = scope.claim("AdditionalProperties")
            lines += [
                f"\t// {rest} holds the members that have no field.",
                f'\t{rest} map[string]{self.element(struct.additional)} `json:"-"`',
            ]
        else:
            rest = ""
            lines += columns(rows)
        lines += ["}", ""]
        if not struct.fields and struct.additional is None:
            lines[-3:] = [f"type {name} struct{{}}", ""]
        known = ", ".join(quoted(member.name) for member in struct.fields) if rest else ""
        return lines + self._codec(name, empty_lists, awkward, rest, known)

    def _codec(
        self,
        name: str,
        empty_lists: list[str],
        awkward: list[tuple[Field, str, str]],
        rest: str,
        known: str,
    ) -> list[str]:
        """Write MarshalJSON and UnmarshalJSON where struct tags alone do not say enough.

        `awkward` are fields whose names tags cannot spell, `rest` is the field of other members.
        """
        if not (empty_lists or awkward or rest):
            return []
        self.imports.add("encoding/json")
        lines = [
            f"// MarshalJSON writes {name} as a JSON object.",
            f"func (m {name}) MarshalJSON() ([]byte, error) {{",
            *empty_lists,
            f"\ttype plain {name}",
        ]
        if not awkward and not rest:
            return [*lines, "\treturn json.Marshal(plain(m))", "}", ""]
        lines += [
            *_collect_members(awkward, rest),
            "\treturn marshalObject(plain(m), rest)",
            "}",
            "",
            f"// UnmarshalJSON reads {name} from a JSON object.",
            f"func (m *{name}) UnmarshalJSON(data []byte) error {{",
            f"\ttype plain {name}",
            "\tif err := json.Unmarshal(data, (*plain)(m)); err != nil {",
            "\t\treturn err",
            "\t}",
        ]
        for member, identifier, _ in awkward:
            call = f"unmarshalMember(data, {quoted(member.name)}, &m.{identifier})"
            lines += [f"\tif err := {call}; err != nil {{", "\t\treturn err", "\t}"]
        arguments = f"data, &m.{rest}{', ' + known if known else ''}"
        lines.append(f"\treturn unmarshalRest({arguments})" if rest else "\treturn nil")
        return [*lines, "}", ""]

    def _enum(self, name: str, enum: Enum) -> list[str]:
        base = "string" if enum.scalar is Scalar.STRING else "int64"
        lines = [f"type {name} {base}", "", f"// The values of {name}.", "const ("]
        rows = []
        for value in enum.values:
            label = make_exported_name(str(value)) if str(value) else "Empty"
            if isinstance(value, int):
                label = f"Minus{-value}" if value < 0 else str(value)
            rows.append(
                (
                    self.package.claim(name + label),
                    name,
                    f"= {quoted(value) if isinstance(value, str) else value}",
                )
            )
        return [*lines, *columns(rows), ")", ""]

    def _union(self, name: str, union: Union) -> list[str]:
        scope = NameScope(_FIELD_RESERVED)
        rows: list[tuple[str, str]] = []
        keys: list[str] = []
        mapping: dict[str, int] = {}
        for index, variant in enumerate(union.variants):
            named = (
                variant.use.type.declaration if isinstance(variant.use.type, NamedType) else None
            )
            label = self.names[named] if named is not None else _label(variant.use.type)
            rows.append((scope.claim(label), self.optional(variant.use)))
            keys.append(self.schemas.add(f"{name}.{index}", variant.schema))
            for value in variant.discriminators:
                mapping.setdefault(value, index)
        table = self.package.claim(f"union{name}")
        entries = (
            ", ".join(f"{quoted(value)}: {index}" for value, index in mapping.items())
            if union.discriminator
            else ""
        )
        text = ", ".join(quoted(key) for key in keys)
        fields = [label for label, _ in rows]
        cells = (
            f"discriminator: {quoted(union.discriminator or '')}, mapping: "
            f"map[string]int{{{entries}}}, schemas: []string{{{text}}}"
        )
        cells += f", all: {'false' if union.exclusive else 'true'}"
        how = "Exactly one variant is set." if union.exclusive else "At least one variant is set."
        lines = [f"type {name} struct {{", f"\t// {how}", *columns(rows), "}", ""]
        lines += [
            f"var {table} = &union{{{cells}}}",
            "",
            "// MarshalJSON writes the variant that is set.",
            f"func (u {name}) MarshalJSON() ([]byte, error) {{",
            f"\treturn marshalVariants({', '.join('u.' + name for name in fields)})",
            "}",
            "",
            "// UnmarshalJSON reads the variant that fits.",
            f"func (u *{name}) UnmarshalJSON(data []byte) error {{",
            f"\t*u = {name}{{}}",
            (
                f"\treturn unmarshalVariants(data, {table}, "
                f"{', '.join('&u.' + name for name in fields)})"
            ),
            "}",
            "",
        ]
        return lines


def _collect_members(awkward: list[tuple[Field, str, str]], rest: str) -> list[str]:
    """Write the statements that collect the members without a struct tag in `rest`."""
    lines = ["\trest := map[string]any{}"]
    if rest:
        lines += [f"\tfor name, value := range m.{rest} {{", "\t\trest[name] = value", "\t}"]
    for member, identifier, spelled in awkward:
        assignment = f"rest[{quoted(member.name)}] = m.{identifier}"
        if member.required:
            lines.append(f"\t{assignment}")
            continue
        nullable = spelled.startswith("Nullable[")
        check = f"!m.{identifier}.IsZero()" if nullable else f"m.{identifier} != nil"
        lines += [f"\tif {check} {{", f"\t\t{assignment}", "\t}"]
    return lines


def is_any(kind: Type) -> bool:
    """Tell whether values of a type are plain JSON."""
    return isinstance(kind, Primitive) and kind.scalar is Scalar.ANY


def nilable(kind: Type) -> bool:
    """Tell whether nil can mean the absence of a value."""
    if isinstance(kind, Primitive):
        return kind.scalar in (Scalar.BYTES, Scalar.ANY)
    if isinstance(kind, NamedType):
        return isinstance(kind.declaration, Alias) and nilable(kind.declaration.target.type)
    return True


def _contained_struct(kind: Type) -> Declaration | None:
    """Return the struct that a value of this type contains directly."""
    steps = 0
    while isinstance(kind, NamedType) and isinstance(kind.declaration, Alias) and steps < 50:
        kind, steps = kind.declaration.target.type, steps + 1
    return (
        kind.declaration
        if isinstance(kind, NamedType) and isinstance(kind.declaration, Struct)
        else None
    )


def _find_loops(declarations: list[Declaration]) -> set[tuple[Declaration, Declaration]]:
    """Return pairs of structs that contain each other by value, which Go cannot lay out.

    They are in the same strongly connected component.
    """
    edges: dict[Declaration, list[Declaration]] = {}
    for declaration in declarations:
        if isinstance(declaration, Struct):
            targets = [
                _contained_struct(member.use.type)
                for member in declaration.fields
                if member.required and not member.use.nullable
            ]
            edges[declaration] = [target for target in targets if target is not None]
    component = _find_components(edges)
    return {
        (member, other)
        for member, targets in edges.items()
        for other in targets
        if component[member] == component.get(other)
    }


def _find_components(edges: dict[Declaration, list[Declaration]]) -> dict[Declaration, int]:
    """Return strongly connected components by Tarjan's algorithm, without recursion."""
    index: dict[Declaration, int] = {}
    low: dict[Declaration, float] = {}
    stack: list[Declaration] = []
    component: dict[Declaration, int] = {}
    for root in edges:
        if root in index:
            continue
        work = [(root, iter(edges[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        while work:
            node, targets = work[-1]
            target = next(targets, None)
            if target is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    number = len(component)
                    while True:
                        member = stack.pop()
                        component[member] = number
                        low[member] = math.inf
                        if member is node:
                            break
            elif target not in index:
                index[target] = low[target] = len(index)
                stack.append(target)
                work.append((target, iter(edges.get(target, []))))
            else:
                low[node] = min(low[node], low[target])
    return component


def json_tag(name: str, options: str) -> str | None:
    """Return the struct tag, or None for a name that encoding/json does not accept in one."""
    if not (_COMMON_NAME(name) or _fits_tag(name)):
        return None
    if name == "-" and not options:
        options = ","
    return f'`json:"{name}{options}"`'


def _fits_tag(name: str) -> bool:
    return bool(name) and all(
        (char.isalnum() or char in _TAG_SIGNS) and (ord(char) < 128 or char.isalpha())
        for char in name
    )


def _label(kind: Type) -> str:
    if isinstance(kind, Primitive):
        return {
            Scalar.STRING: "String",
            Scalar.INT32: "Int32",
            Scalar.INT64: "Int64",
            Scalar.UINT64: "Uint64",
            Scalar.FLOAT32: "Float32",
            Scalar.FLOAT64: "Float64",
            Scalar.BOOLEAN: "Bool",
            Scalar.DATE: "Date",
            Scalar.DATE_TIME: "Time",
            Scalar.BYTES: "Bytes",
            Scalar.ANY: "Any",
        }[kind.scalar]
    if isinstance(kind, ListOf):
        return _label_named(kind.item.type) + "List"
    if isinstance(kind, MapOf):
        return _label_named(kind.value.type) + "Map"
    return "Value"


def _label_named(kind: Type) -> str:
    return (
        make_exported_name(*kind.declaration.hint) if isinstance(kind, NamedType) else _label(kind)
    )
