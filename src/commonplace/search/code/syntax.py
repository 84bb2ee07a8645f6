"""Syntax trees by tree-sitter: definitions and names of a file, by the queries of its language.

The packages are imported when a language is first parsed. A parse can neither be limited in time
nor be stopped (ADR 0280), so hostile text is parsed in a process of its own: `worker.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import TYPE_CHECKING

from commonplace.search.code.languages import LANGUAGES
from commonplace.search.code.structure import MAX_DEFINITIONS

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Query

REFERENCES = "; references"
MAX_MATCHES = 100_000  # in progress: bounds the memory of a query
# Nodes around a definition that belong to it, and how many named children they may have then.
_WRAPPERS = {
    "decorated_definition": 64,
    "export_statement": 8,
    "template_declaration": 8,
    "lexical_declaration": 1,
    "variable_declaration": 1,
    "expression_statement": 1,
    "type_declaration": 1,
}


Region = tuple[int, int]


@dataclass(frozen=True, slots=True)
class RawDefinition:
    """A definition as a query finds it, before names are joined."""

    kind: str
    name: str
    owner: str  # the type that a method names itself
    start: int
    end: int
    name_start: int
    body: int | None  # the first byte of its body
    is_sound: bool = True  # the grammar could read all of it


@dataclass(frozen=True, slots=True)
class RawNames:
    """Offsets of names: every use, the calls among them, imports, and names that they bring."""

    uses: tuple[tuple[int, int], ...] = ()
    calls: frozenset[int] = field(default_factory=frozenset)  # starts of uses
    imports: tuple[tuple[int, int], ...] = ()
    imported: frozenset[int] = field(default_factory=frozenset)  # starts of uses


@dataclass(frozen=True, slots=True)
class SyntaxOfFile:
    """What the queries found in a file, and the tree they searched."""

    root: Node
    definitions: list[RawDefinition]
    names: RawNames
    broken: float = 0.0  # share of bytes that the grammar could not read
    errors: tuple[Region, ...] = ()  # those bytes, in order, without overlaps
    edges: tuple[int, ...] = ()  # bytes where the text is cut best, if the tree does not tell


@dataclass(frozen=True, slots=True)
class _Grammar:
    parser: Parser
    definitions: Query
    references: Query
    errors: Query


def read_syntax(language: str, source: bytes) -> SyntaxOfFile:
    """Parse a source and run the queries of its language."""
    from tree_sitter import QueryCursor

    grammar = _grammar(language)
    grammar.parser.reset()
    root = grammar.parser.parse(source).root_node
    errors: tuple[Region, ...] = ()
    if root.has_error:
        found = QueryCursor(grammar.errors, match_limit=MAX_MATCHES).captures(root)
        errors = merge_regions(
            [(node.start_byte, node.end_byte) for node in found.get("error", [])]
        )
    definitions = _definitions(
        source, QueryCursor(grammar.definitions, match_limit=MAX_MATCHES).matches(root)
    )
    captures = QueryCursor(grammar.references, match_limit=MAX_MATCHES).captures(root)
    # calls first: in some grammars they are no references by themselves
    uses = {node.start_byte: node.end_byte for node in captures.get("call", [])}
    calls = frozenset(uses)
    uses |= {node.start_byte: node.end_byte for node in captures.get("reference", [])}
    names = RawNames(
        tuple(sorted(uses.items())),
        calls,
        tuple((node.start_byte, node.end_byte) for node in captures.get("import", [])),
        frozenset(node.start_byte for node in captures.get("imported", [])),
    )
    return SyntaxOfFile(root, definitions, names, share_of(errors, len(source)), errors)


@cache
def _grammar(name: str) -> _Grammar:
    import tree_sitter

    language = LANGUAGES[name]
    pointer = getattr(import_module(language.package), language.grammar)()
    grammar = tree_sitter.Language(pointer)
    text = files("commonplace.search.code").joinpath(f"grammars/{language.queries}.scm").read_text()
    definitions, _, references = text.partition(REFERENCES)
    return _Grammar(
        tree_sitter.Parser(grammar),
        tree_sitter.Query(grammar, definitions),
        tree_sitter.Query(grammar, references),
        tree_sitter.Query(grammar, "(ERROR) @error"),
    )


def merge_regions(regions: Iterable[Region]) -> tuple[Region, ...]:
    """Return regions in order; those that touch or overlap are one."""
    merged: list[Region] = []
    for start, end in sorted(regions):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


def share_of(regions: Iterable[Region], size: int) -> float:
    """Return the part of a text that merged regions cover."""
    return sum(end - start for start, end in regions) / max(1, size)


def _definitions(
    source: bytes, matches: list[tuple[int, dict[str, list[Node]]]]
) -> list[RawDefinition]:
    """Return the definitions in order of their start, the outer one first.

    The first pattern that matches a name wins.
    """
    found: dict[tuple[int, int], tuple[int, RawDefinition]] = {}
    for pattern, captures in matches:
        kind = next(key for key in captures if key not in ("name", "owner") and key[0] != "_")
        node = captures[kind][0]
        names = captures.get("name")
        name = names[0] if names else None
        place = (name.start_byte, name.end_byte) if name else (node.start_byte, node.start_byte)
        known = found.get(place)
        if known is not None and known[0] <= pattern:
            continue
        owner = captures.get("owner")
        whole = _with_wrappers(node)
        body = node.child_by_field_name("body")
        found[place] = (
            pattern,
            RawDefinition(
                kind,
                _text(source, name) if name else kind,
                _text(source, owner[0]) if owner else "",
                whole.start_byte,
                whole.end_byte,
                place[0],
                body.start_byte if body else None,
                not whole.has_error,
            ),
        )
        if len(found) >= MAX_DEFINITIONS:
            break
    ordered = [definition for _, definition in found.values()]
    ordered.sort(key=lambda definition: (definition.start, -definition.end, definition.name_start))
    return ordered


def _with_wrappers(node: Node) -> Node:
    """Return the outermost node around a definition that belongs to it, with its decorators."""
    while (parent := node.parent) is not None and parent.named_child_count <= _WRAPPERS.get(
        parent.type, 0
    ):
        node = parent
    return node


def _text(source: bytes, node: Node) -> str:
    return source[node.start_byte : node.end_byte].decode(errors="replace")
