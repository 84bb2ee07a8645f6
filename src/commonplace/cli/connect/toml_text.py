"""Cut a table out of a TOML text and keep every other byte of it, comments included."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass

from commonplace.kernel.json_types import Json

BYTE_ORDER_MARK = "\ufeff"
_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}'  # a string of several lines may end with two quotes of its own
    r"|'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|\#[^\n]*"
    r"|\n"
    r"|[\[\]{}]"
    r"|[^\n\[\]{}\"'\#]+",
    re.DOTALL,
)
_BLANK_LINES = re.compile(r"(?:[ \t]*\r?\n)*")


@dataclass(frozen=True, slots=True)
class TomlStatement:
    """A header or an assignment with its lines; `path` are the names of what it is about."""

    start: int
    end: int
    path: tuple[str, ...]


def cut_table(text: str, table: tuple[str, ...]) -> str:
    """Return a valid text without a table, however it is spelled, and the blank lines after it.

    Comments before it and after it stay, because they may belong to its neighbours.
    """
    kept: list[str] = []
    at = 0
    was_cut = False
    for statement in _statements(text):
        is_cut = statement.path[: len(table)] == table
        if is_cut:
            if not was_cut:
                kept.append(text[at : statement.start])
            at = _BLANK_LINES.match(text, statement.end).end()  # type: ignore[union-attr]
        was_cut = is_cut
    return "".join([*kept, text[at:]])


def _statements(text: str) -> Iterator[TomlStatement]:
    table: tuple[str, ...] = ()
    for start, end in _spans(text):
        statement = text[start:end].removeprefix(BYTE_ORDER_MARK)
        names = tuple(_names(tomllib.loads(statement)))
        if statement.lstrip().startswith("["):
            table = names
            yield TomlStatement(start, end, table)
        else:
            yield TomlStatement(start, end, table + names)


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of statements, in whole lines."""
    start: int | None = None
    depth = 0
    for token in _TOKEN.finditer(text):
        word = token[0]
        if word == "\n" and depth == 0:
            if start is not None:
                yield start, token.end()
            start = None
        elif word.strip() and not word.startswith("#"):
            if start is None:
                start = text.rfind("\n", 0, token.start()) + 1
            depth += (word in "[{") - (word in "]}")
    if start is not None:
        yield start, len(text)


def _names(value: Json) -> Iterator[str]:
    """Yield the names that lead to what a statement says, as far as there is one way."""
    while isinstance(value, dict) and len(value) == 1:
        [(name, value)] = value.items()
        yield name
