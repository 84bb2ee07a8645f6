"""Statements of SQL in any dialect, and what they create, without a grammar.

Dialects differ more than a grammar can read. Where statements end is much the same in all of them:
at a semicolon outside of quotes, comments and blocks, or at a line with `GO` or `/`. Linear in the
length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from commonplace.search.code.syntax import RawDefinition

MAX_COLUMNS = 500  # of one table
_HEAD_BYTES = 600  # of a statement that say what it creates

_TOKENS = rb"""
    (?P<skip>--[^\n]* | ^[ \t]*\#[^\n]* | /\*.*?(?:\*/|\Z)
      | '(?:[^'\\]|''|\\.)*(?:'|\Z) | "(?:[^"]|"")*(?:"|\Z) | `[^`]*(?:`|\Z)
      | \$(?P<tag>[A-Za-z_]\w*|)\$.*?(?:\$(?P=tag)\$|\Z))
  | (?P<line>^[ \t]*(?:GO|/)[ \t]*\r?$ | ^\\[^\n]*)
  | (?P<delimiter>^[ \t]*DELIMITER[ \t]+(?P<mark>[^\s\w=,\'"]{1,8})[ \t]*\r?$)
  | \bEND[ \t]+(?:IF|LOOP|WHILE|REPEAT|FOR)\b
  | (?P<opens>\b(?:BEGIN|CASE)\b) | (?P<closes>\bEND\b)
"""
_ROUTINE = re.compile(
    rb"\s*(?:CREATE|ALTER)\b[^;(]{0,200}?\b(?:TRIGGER|PROCEDURE|PROC|FUNCTION|EVENT|PACKAGE)\b"
    rb"|\s*DECLARE\b",
    re.IGNORECASE,
)
_COPY = re.compile(rb"\s*COPY\b[^;]{0,2000}\bFROM\s+STDIN\b", re.IGNORECASE)
_NAME = rb"(?:\"[^\"\n]+\"|`[^`\n]+`|\[[^\]\n]+\]|[\w$@#]+)"
_CREATES = re.compile(
    rb"CREATE\s+(?:OR\s+(?:REPLACE|ALTER)\s+)?"
    rb"(?:(?:GLOBAL|LOCAL|TEMP|TEMPORARY|UNLOGGED|FOREIGN|EXTERNAL|VIRTUAL|UNIQUE|CLUSTERED"
    rb"|NONCLUSTERED|FULLTEXT|SPATIAL|MATERIALIZED|RECURSIVE|CONSTRAINT|EDITIONABLE|TRUSTED"
    rb"|(?:DEFINER|ALGORITHM)\s*=\s*\S+|SQL\s+SECURITY\s+\w+)\s+)*"
    rb"(?P<what>TABLE|VIEW|FUNCTION|PROCEDURE|PROC|AGGREGATE|TRIGGER|EVENT|INDEX|TYPE|DOMAIN|SCHEMA"
    rb"|DATABASE|SEQUENCE|PACKAGE(?:\s+BODY)?)\s+"
    rb"(?:CONCURRENTLY\s+)?(?:IF\s+NOT\s+EXISTS\s+)?(?!ON\b)"
    rb"(?:" + _NAME + rb"\s*\.\s*){0,3}(?P<name>" + _NAME + rb")",
    re.IGNORECASE,
)
_KINDS = {
    "table": "table",
    "view": "view",
    "function": "function",
    "procedure": "function",
    "proc": "function",
    "aggregate": "function",
    "trigger": "trigger",
    "event": "trigger",
    "index": "index",
    "type": "type",
    "domain": "type",
    "schema": "namespace",
    "database": "namespace",
    "sequence": "variable",
    "package": "module",
}
_COLUMN = re.compile(
    rb"[(,\n]\s*(?!(?:PRIMARY|UNIQUE|KEY|INDEX|CONSTRAINT|FOREIGN|CHECK|FULLTEXT|SPATIAL|EXCLUDE"
    rb"|LIKE|PERIOD|PARTITION)\b)(?P<name>" + _NAME + rb")\s+[A-Za-z]\w*",
    re.IGNORECASE,
)
_VERB = re.compile(
    rb"(?:ALTER|ANALYZE|ATTACH|BEGIN|CALL|CLUSTER|COMMENT|COMMIT|COPY|CREATE|DEALLOCATE|DECLARE"
    rb"|DELETE|DENY|DESCRIBE|DETACH|DO|DROP|END|EXEC|EXECUTE|EXPLAIN|FLUSH|GRANT|IF|IMPORT|INSERT"
    rb"|INSTALL|LOAD|LOCK|MERGE|OPTIMIZE|PRAGMA|PREPARE|PRINT|PURGE|REFRESH|REINDEX|RENAME|REPLACE"
    rb"|RESET|REVOKE|ROLLBACK|SAVEPOINT|SELECT|SET|SHOW|START|TABLE|TRUNCATE|UNLOCK|UPDATE|UPSERT"
    rb"|USE|VACUUM|VALUES|WITH)\b|\\|\(",
    re.IGNORECASE,
)
_BLANK = re.compile(
    rb"(?:\s+|--[^\n]*|^[ \t]*#[^\n]*|/\*.*?(?:\*/|\Z)|;)+", re.DOTALL | re.MULTILINE
)


def split_statements(source: bytes) -> list[tuple[int, int]]:
    """Return the statements of a text, in order; comments before one do not belong to it."""
    found = []
    for start, end in _cut(source):
        blank = _BLANK.match(source, start, end)
        first = blank.end() if blank else start
        if first < end:
            found.append((first, end))
    return found


def is_statement(source: bytes, start: int, end: int) -> bool:
    """Return whether a statement begins as statements do, in some dialect."""
    return _VERB.match(source, start, end) is not None


def definitions_of(source: bytes, start: int, end: int) -> Iterator[RawDefinition]:
    """Yield what a statement creates: the object, and the columns of a table."""
    created = _CREATES.match(source, start, min(end, start + _HEAD_BYTES))
    if created is None:
        return
    kind = _KINDS[created["what"].split()[0].lower().decode()]
    name_start = created.start("name")
    name = created["name"].strip(b'"`[]').decode(errors="replace")
    yield RawDefinition(kind, name, "", start, end, name_start, None)
    opening = source.find(b"(", created.end(), end)
    if kind != "table" or opening < 0:
        return
    for count, column in enumerate(_COLUMN.finditer(source, opening, end)):
        if count == MAX_COLUMNS:
            break
        at, to = column.span("name")
        text = source[at:to].strip(b'"`[]').decode(errors="replace")
        yield RawDefinition("field", text, "", at, _end_of_line(source, at, end), at, None)


def _end_of_line(source: bytes, at: int, end: int) -> int:
    found = source.find(b"\n", at, end)
    return end if found < 0 else found


def _cut(source: bytes) -> Iterator[tuple[int, int]]:
    """Yield pieces that end with a delimiter."""
    start = at = depth = 0
    tokens = _tokens(b";")
    is_routine: bool | None = None  # unknown until the first block of the statement
    while (token := tokens.search(source, at)) is not None:
        at = max(token.end(), at + 1)
        if token["end"] is not None and depth == 0:
            at = _after_data(source, start, at)
        elif token["line"] is not None and depth == 0:
            pass
        elif token["delimiter"] is not None:
            tokens = _tokens(token["mark"])
        else:
            if token["opens"] or token["closes"]:
                if is_routine is None:
                    blank = _BLANK.match(source, start)
                    is_routine = _ROUTINE.match(source, blank.end() if blank else start) is not None
                if is_routine:
                    depth = max(0, depth + (1 if token["opens"] else -1))
            continue
        yield start, at
        start, depth, is_routine = at, 0, None
    if start < len(source):
        yield start, len(source)


def _after_data(source: bytes, start: int, at: int) -> int:
    """Return the end of a statement with the data that follows a COPY."""
    blank = _BLANK.match(source, start)
    if _COPY.match(source, blank.end() if blank else start, at) is None:
        return at
    end = source.find(b"\n\\.", at)
    return end + 3 if end >= 0 else at


@lru_cache(maxsize=16)
def _tokens(delimiter: bytes) -> re.Pattern[bytes]:
    # `$$` as a delimiter of MySQL would else open a quoted text of PostgreSQL
    pattern = rb"(?P<end>" + re.escape(delimiter) + rb") | " + _TOKENS
    return re.compile(pattern, re.VERBOSE | re.DOTALL | re.MULTILINE | re.IGNORECASE)
