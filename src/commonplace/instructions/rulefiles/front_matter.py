"""Front matter of rule files: read as people write it, which is often not valid YAML."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from commonplace.kernel.json_types import Json

LONGEST_HEADER = 65_536
MOST_BRACKETS = 500
_NESTING = re.compile(r"(?:[-?][ \t]+){20}|^[ \t]{200}", re.M)
_BLOCK = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)(?:\r?\n)?^---[ \t]*(?:\r?\n|\Z)", re.S | re.M)
_LINE = re.compile(r"^([A-Za-z_][\w-]*)[ \t]*:[ \t]*(.*?)[ \t]*$")
_ITEM = re.compile(r"^[ \t]*-[ \t]+(.*?)[ \t]*$")


@dataclass(frozen=True, slots=True)
class RuleText:
    """A rule file taken apart. `valid` is false where its header is not YAML."""

    fields: Mapping[str, Json] = field(default_factory=dict)
    body: str = ""
    has_header: bool = False
    valid: bool = True


def split_front_matter(text: str) -> RuleText:
    """Split a rule file into fields and body; an unreadable header is read line by line."""
    block = _BLOCK.match(text) if text.lstrip("\ufeff").startswith("---") else None
    if block is None or len(block[1]) > LONGEST_HEADER:
        return RuleText(body=text)
    header, body = block[1], text[block.end() :]
    fields = _parse_yaml(header)
    if fields is None:
        return RuleText(_parse_lines(header), body, has_header=True, valid=False)
    return RuleText(fields, body, has_header=True)


def _parse_yaml(header: str) -> Mapping[str, Json] | None:
    """Read a header as YAML; None if it is not, or not a mapping of plain values."""
    import yaml

    if _NESTING.search(header) or header.count("[") + header.count("{") > MOST_BRACKETS:
        return None  # libyaml needs seconds for thousands of levels
    try:
        if "&" in header and any(
            isinstance(event, yaml.AliasEvent)
            for event in yaml.parse(header, Loader=yaml.CSafeLoader)
        ):
            return None  # aliases could make a small header large
        value = yaml.load(header, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    if value is None:
        return {}
    if not isinstance(value, dict):
        return None
    return {str(key): entry for key, entry in value.items()}


def _parse_lines(header: str) -> dict[str, Json]:
    """Read `key: value` lines and `- item` lists without YAML's rules for quoting."""
    fields: dict[str, Json] = {}
    items: list[Json] = []
    for line in header.splitlines():
        if found := _LINE.match(line):
            items = []
            fields[found[1]] = _scalar(found[2]) if found[2] else items
        elif found := _ITEM.match(line):
            items.append(_unquote(found[1]))
    return fields


def _scalar(value: str) -> Json:
    if value in ("true", "false"):
        return value == "true"
    if value.startswith("[") and value.endswith("]"):
        return [_unquote(part.strip()) for part in value[1:-1].split(",") if part.strip()]
    return _unquote(value)


def _unquote(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value


def patterns_of(value: Json, *, commas: bool = True) -> tuple[str, ...]:
    """Read globs from a list or a string; commas inside braces do not separate."""
    if isinstance(value, str):
        value = list(_split_commas(value)) if commas else [value]
    if not isinstance(value, list):
        return ()
    return tuple(item.strip() for item in value if isinstance(item, str) and item.strip())


def _split_commas(value: str) -> list[str]:
    parts, depth = [""], 0
    for character in value:
        depth += (character == "{") - (character == "}" and depth > 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [_unquote(part.strip()) for part in parts]
