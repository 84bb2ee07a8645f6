"""Definitions with their qualified names, and the tree of those that chunks follow."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from commonplace.search.code.structure import (
    MAX_IMPORTS,
    MAX_NAME_CHARACTERS,
    MAX_QUALIFIED_CHARACTERS,
    MAX_REFERENCE_LINES,
    MAX_REFERENCES,
    MAX_SIGNATURE_CHARACTERS,
    Definition,
    Import,
    LineIndex,
    Reference,
)
from commonplace.search.code.syntax import RawDefinition, RawNames, Region

MAX_DEPTH = 32
MIN_NAME_CHARACTERS = 2
_TYPES = frozenset(
    ("class", "struct", "interface", "trait", "enum", "implementation", "companion", "protocol")
)
# Kinds whose text is one chunk, or several, but never a part of another definition's line.
_UNITS = _TYPES | {
    "function",
    "method",
    "constructor",
    "namespace",
    "module",
    "macro",
    "property",
    "table",
    "view",
    "trigger",
    "rule",
    "block",
    "type",
}
_UNNAMED = frozenset(("implementation", "companion", "block"))  # containers, not definitions
_TYPE_ARGUMENTS = re.compile(r"<[^<>]{1,200}>(?=\.)")  # of the owner, as in `List<T>::add`
_SIGNATURE_BYTES = 600  # read of a definition without a body
_QUOTES = "\"'`<> \t\r\n"
_ACCESS = (b".", b">", b":")  # before a member, as in a.b, a->b and A::b
_NOISE = frozenset(("self", "this", "cls", "super", "None", "True", "False", "undefined"))


@dataclass(slots=True)
class CodeUnit:
    """A definition that chunks follow, and those inside it."""

    start: int
    end: int
    qualified: str = ""
    kind: str = ""
    signature: str = ""
    units: list[CodeUnit] = field(default_factory=list)


def outline_of(
    source: bytes, raw: Iterable[RawDefinition], lines: LineIndex
) -> tuple[list[Definition], CodeUnit]:
    """Return the definitions in order, and the file as a unit with its units inside."""
    file = CodeUnit(0, len(source))
    definitions: list[Definition] = []
    # The definitions around the current one, each with its qualified name, kind and unit.
    around: list[tuple[Region, str, str, CodeUnit]] = []
    for entry in raw:
        # a statement that declares several names, such as `int a, b;`, is not inside itself
        place = (entry.start, entry.end)
        while around and (around[-1][0][1] < entry.end or around[-1][0] == place):
            around.pop()
        above, above_kind, parent = around[-1][1:] if around else ("", "", file)
        owner, name = _split_name(entry)
        kind = _kind(entry.kind, above_kind, owner)
        if above and owner and (above == owner or above.endswith(f".{owner}")):
            owner = ""
        nameless = entry.kind in ("companion", "block")
        parts = (above,) if nameless else (above, owner, name)
        qualified = ".".join(part for part in parts if part)[:MAX_QUALIFIED_CHARACTERS]
        signature = _signature(source, entry)
        unit = parent
        if entry.kind in _UNITS and len(around) < MAX_DEPTH:
            unit = CodeUnit(entry.start, entry.end, qualified, kind, signature)
            parent.units.append(unit)
        if len(around) < MAX_DEPTH:
            around.append((place, qualified, kind, unit))
        if entry.kind in _UNNAMED or not name:
            continue
        definitions.append(
            Definition(
                name[:MAX_NAME_CHARACTERS],
                qualified,
                kind,
                entry.start,
                entry.end,
                lines.line_of(entry.start),
                lines.last_line_of(entry.start, entry.end),
                lines.line_of(entry.name_start),
                signature,
            )
        )
    return definitions, file


def references_of(
    source: bytes, names: RawNames, definitions: Sequence[Definition], lines: LineIndex
) -> tuple[tuple[Reference, ...], tuple[Import, ...]]:
    """Return the names that a file uses, in order of first use, and what it imports.

    A name on the line of its own definition is no use of it.
    """
    defined = {(definition.name, definition.line) for definition in definitions}
    uses: dict[str, dict[int, bool]] = {}
    names_of: dict[bytes, str] = {}  # a name is decoded and judged once
    members: set[str] = {definition.name for definition in definitions}
    line, next_start = 1, lines.start_of(2)
    for start, end in names.uses:
        if start >= next_start:  # uses are in order: most are on the line of the last one
            line = lines.line_of(start)
            next_start = lines.start_of(line + 1)
        raw = source[start:end]
        name = names_of.get(raw)
        if name is None:
            name = names_of[raw] = _used_name(raw) if len(uses) < MAX_REFERENCES else ""
            if name:
                uses.setdefault(name, {})
        if not name:
            continue
        known = uses[name]
        called = start in names.calls
        if line in known:
            known[line] = known[line] or called
        elif (
            not called
            and name not in members
            and start not in names.imported
            and _is_local(source, start, name)
        ):
            continue
        elif len(known) < MAX_REFERENCE_LINES and (name, line) not in defined:
            known[line] = called
            members.add(name)
    references = tuple(
        Reference(name, tuple(known), tuple(at for at, called in known.items() if called))
        for name, known in uses.items()
        if known
    )
    return references, tuple(_imports(source, names, lines))


def _used_name(raw: bytes) -> str:
    """Return a name without its sign; empty for names that are left out."""
    name = raw.decode(errors="replace").lstrip("$@:")
    fits = MIN_NAME_CHARACTERS <= len(name) <= MAX_NAME_CHARACTERS
    return name if fits and name not in _NOISE else ""


def _is_local(source: bytes, start: int, name: str) -> bool:
    """Return whether a name is probably a local variable: one plain word, not of an object.

    Most uses of names are of these, and nobody asks the index of a project for them.
    """
    return name.isalpha() and name.islower() and source[start - 1 : start] not in _ACCESS


def _imports(source: bytes, names: RawNames, lines: LineIndex) -> Iterator[Import]:
    for start, end in sorted(names.imports)[:MAX_IMPORTS]:
        target = source[start:end].decode(errors="replace").strip(_QUOTES)
        if target:
            yield Import(" ".join(target.split())[:MAX_QUALIFIED_CHARACTERS], lines.line_of(start))


def _split_name(entry: RawDefinition) -> tuple[str, str]:
    """Return the owner that a name carries, as in `Shape::area`, and the name without it."""
    name = " ".join(entry.name.split()).lstrip("$")
    if entry.kind in ("rule", "section", "element"):
        return "", name
    spelled = name.lstrip(":").replace("::", ".").replace("\\", ".").replace(".prototype.", ".")
    if entry.kind == "namespace":
        return "", spelled.strip("\"'")
    owner, _, last = _TYPE_ARGUMENTS.sub("", spelled).rpartition(".")
    owner = owner.removeprefix("module.").removeprefix("exports")
    if owner in ("this", "self", "module"):
        owner = ""
    return entry.owner or owner, last.strip("\"'")


def _kind(kind: str, above: str, owner: str) -> str:
    if kind == "function" and (above in _TYPES or (owner and above != "function")):
        return "method"
    return kind


def _signature(source: bytes, entry: RawDefinition) -> str:
    """Return the text before the body on one line, or the first line."""
    if entry.body is not None and entry.body > entry.start:
        text = source[entry.start : min(entry.body, entry.start + 4 * MAX_SIGNATURE_CHARACTERS)]
    else:
        text = source[entry.start : min(entry.end, entry.start + _SIGNATURE_BYTES)]
        text = text.partition(b"\n")[0]
    line = " ".join(text.decode(errors="ignore").split())
    return line.rstrip("{:= ")[:MAX_SIGNATURE_CHARACTERS]
