"""Syntax of files that their grammar reads in part: an error costs its region, not the file."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

from commonplace.search.code.macros import mask_macros
from commonplace.search.code.sql_statements import definitions_of, is_statement, split_statements
from commonplace.search.code.syntax import (
    RawDefinition,
    RawNames,
    Region,
    SyntaxOfFile,
    read_syntax,
    share_of,
)

MAX_BROKEN_SHARE = 0.4  # of the bytes: above it only definitions without an error count
MIN_SOUND_SHARE = 0.2  # of the bytes in such definitions: below it the text is in another language
MAX_REPARSED = 2_000  # statements; the others are read without the grammar
_PROLOG = re.compile(rb"\s*<\?xml[^>]{0,200}\?>")  # of XHTML: the grammar knows no such thing


def read_tolerantly(language: str, source: bytes) -> SyntaxOfFile | None:
    """Return what can be read of a source; None if that is too little to follow it."""
    syntax = read_syntax(language, source)
    if not syntax.root.has_error:
        return syntax
    if language == "sql":
        syntax = _read_statements(syntax, source)
        return syntax if syntax.broken <= MAX_BROKEN_SHARE else None
    if language in ("c", "cpp"):
        syntax = _best_of_c(language, syntax, source)
    elif language == "html" and (prolog := _PROLOG.match(source)) is not None:
        syntax = read_syntax(language, b" " * prolog.end() + source[prolog.end() :])
    return syntax if syntax.broken <= MAX_BROKEN_SHARE else _only_sound(syntax, len(source))


def _best_of_c(language: str, syntax: SyntaxOfFile, source: bytes) -> SyntaxOfFile:
    """Try a source without its macros, and a header as C++; return what reads most of it."""
    tries = [syntax]
    masked = mask_macros(source)
    if masked != source:
        tries.append(_with_names_of(syntax, read_syntax(language, masked)))
    if language == "c" and min(one.broken for one in tries) > 0:
        tries.append(read_syntax("cpp", source))
        if masked != source:
            tries.append(_with_names_of(tries[-1], read_syntax("cpp", masked)))
    return min(tries, key=lambda one: (round(one.broken, 2), -_functions(one)))


def _functions(syntax: SyntaxOfFile) -> int:
    return sum(definition.kind == "function" for definition in syntax.definitions)


def _with_names_of(plain: SyntaxOfFile, masked: SyntaxOfFile) -> SyntaxOfFile:
    """Keep the uses of names that were masked."""
    uses = {**dict(plain.names.uses), **dict(masked.names.uses)}
    calls = frozenset(at for at in plain.names.calls | masked.names.calls if at in uses)
    return replace(
        masked, names=replace(masked.names, uses=tuple(sorted(uses.items())), calls=calls)
    )


def _only_sound(syntax: SyntaxOfFile, size: int) -> SyntaxOfFile | None:
    """Keep the definitions without an error, if they make up enough of the text."""
    sound = [entry for entry in syntax.definitions if entry.is_sound]
    covered = reached = 0
    for entry in sound:
        covered += max(0, entry.end - max(entry.start, reached))
        reached = max(reached, entry.end)
    if covered < MIN_SOUND_SHARE * size:
        return None
    return replace(syntax, definitions=sound)


def _touches(regions: Sequence[Region], start: int, end: int) -> bool:
    at = bisect_left(regions, (end, 0))
    return at > 0 and regions[at - 1][1] > start


def _read_statements(whole: SyntaxOfFile, source: bytes) -> SyntaxOfFile:
    """Read statements with an error by themselves, and by their first words if that fails too."""
    statements = split_statements(source)
    broken = [(start, end) for start, end in statements if _touches(whole.errors, start, end)]
    definitions = [
        entry
        for entry in whole.definitions
        if not _touches(broken, entry.name_start, entry.name_start + 1)
    ]
    uses, calls = dict(whole.names.uses), set(whole.names.calls)
    unknown: list[Region] = []
    for number, (start, end) in enumerate(broken):
        part = read_syntax("sql", source[start:end]) if number < MAX_REPARSED else None
        if part is not None:
            uses |= {at + start: to + start for at, to in part.names.uses}
            calls |= {at + start for at in part.names.calls}
        if part is not None and not part.root.has_error:
            definitions += [_moved(entry, start) for entry in part.definitions]
            continue
        definitions += definitions_of(source, start, end)
        if not is_statement(source, start, end):
            unknown.append((start, end))
    definitions.sort(key=lambda entry: (entry.start, -entry.end, entry.name_start))
    return replace(
        whole,
        definitions=definitions,
        names=RawNames(tuple(sorted(uses.items())), frozenset(calls)),
        broken=share_of(unknown, len(source)),
        errors=tuple(unknown),
        edges=tuple(start for start, _ in statements),
    )


def _moved(entry: RawDefinition, by: int) -> RawDefinition:
    return replace(
        entry,
        start=entry.start + by,
        end=entry.end + by,
        name_start=entry.name_start + by,
        body=None if entry.body is None else entry.body + by,
    )
