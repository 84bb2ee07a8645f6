"""Read front matter that is not valid YAML: field by field, each as far as it can be read."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from commonplace.kernel.json_types import Json

MOST_FIELDS = 100  # that are tried as YAML
FIELD = re.compile(r"""^(["']?)([A-Za-z_][\w-]*)\1[ \t]*:[ \t]*(.*?)[ \t]*$""")
_ITEM = re.compile(r"^[ \t]*-[ \t]+(.*?)[ \t]*$")
_BLOCK = re.compile(r"[|>][+-]?\d?\Z")
_LISTED = re.compile(r"""(["'])\s*,\s*\1""")
_COMMENTED = re.compile(r"([^\s,]+(?:,[ \t]*[^\s,]+)*),?[ \t]+#.*")
_PART = re.compile(r"[\]\[\"'*{},]")  # of a list in brackets, without indentation

ParseYaml = Callable[[str], Mapping[str, Json] | None]


@dataclass(slots=True)
class _Field:
    """The lines of one field of a header."""

    name: str
    value: str
    lines: list[str]
    rest: list[str] = field(default_factory=list)
    open: bool = False
    """Whether it is a list in brackets that no line has closed yet."""

    def add(self, line: str) -> None:
        self.lines.append(line)
        self.rest.append(line)
        self.open = self.open and "]" not in line


def read_fields(header: str, parse_yaml: ParseYaml) -> tuple[dict[str, Json], tuple[str, ...]]:
    """Return the fields of a header, and the lines that belong to none.

    A field that is YAML on its own keeps its value; only the others are read without YAML's rules
    for quoting, so that `globs: **/*` costs nothing but itself.
    """
    fields: dict[str, Json] = {}
    found, unread = _split(textwrap.dedent(header))
    for count, entry in enumerate(found):
        parsed = parse_yaml("\n".join(entry.lines)) if count < MOST_FIELDS else None
        if parsed is not None and entry.name in parsed:
            fields[entry.name] = parsed[entry.name]
        else:
            fields[entry.name] = _read_value(entry)
    return fields, tuple(unread)


def _split(header: str) -> tuple[list[_Field], list[str]]:
    """Give every line to the field above it, if it can belong to one."""
    fields: list[_Field] = []
    unread: list[str] = []
    for line in header.splitlines():
        if found := FIELD.match(line):
            entry = _Field(found[2], found[3], [line])
            entry.open = entry.value.startswith("[") and "]" not in entry.value
            fields.append(entry)
        elif fields and (
            line[:1].isspace() or _ITEM.match(line) or (fields[-1].open and _PART.match(line))
        ):
            fields[-1].add(line)
        elif line.strip() and not line.startswith("#"):
            unread.append(line.strip())
    return fields, unread


def _read_value(entry: _Field) -> Json:
    value, rest = entry.value, [line.strip() for line in entry.rest if line.strip()]
    if value.startswith("["):
        return list(_items_of_brackets(" ".join([_without_comment(value), *rest])))
    if _BLOCK.match(value):
        return ("\n" if value[0] == "|" else " ").join(rest)
    if not value:
        items = [_ITEM.match(line) for line in entry.rest]
        if not rest or any(items):
            return [_unquote(_without_comment(item[1])) for item in items if item]
        return rest if not any(" " in line for line in rest) else " ".join(rest)
    return _scalar(" ".join([_without_comment(value), *rest]))


def _scalar(value: str) -> Json:
    if value.lower() in ("true", "false"):
        return value.lower() == "true"
    return _unquote(value)


def _items_of_brackets(text: str) -> Iterator[str]:
    """Split a list in brackets, whether it is closed or not."""
    inner = text.rstrip(", \t")[1:].removesuffix("]")
    for part in split_commas(inner):
        if part:
            yield part


def _without_comment(value: str) -> str:
    """Cut off a comment after a list or a single word; a sentence may contain a `#`."""
    found = _COMMENTED.fullmatch(value)
    return found[1] if found else value


def _unquote(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted and not _LISTED.search(value) else value


def split_commas(value: str) -> list[str]:
    """Split at commas; those inside braces do not separate."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(value):
        depth += (character == "{") - (character == "}" and depth > 0)
        if character == "," and depth == 0:
            parts.append(value[start:at])
            start = at + 1
    return [_unquote(part.strip()) for part in (*parts, value[start:])]
