"""Front matter of rule files: read as people write it, which is often not valid YAML."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from commonplace.instructions.rulefiles.lenient_header import FIELD, read_fields, split_commas
from commonplace.kernel.json_types import Json

LONGEST_HEADER = 65_536
MOST_BRACKETS = 500
_NESTING = re.compile(r"(?:[-?][ \t]+){20}|^[ \t]{200}", re.M)
_BLOCK = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)(?:\r?\n)?^---[ \t]*(?:\r?\n|\Z)", re.S | re.M)
_MISPLACED = re.compile(
    r"\A[\s\ufeff]*-{3,}[ \t]*(?:\r\n|\n|\r(?!\n))"
    r"(?:[^\r\n]*(?:\r\n|\n|\r(?!\n))){0,15}?[ \t]*"
    r"(?:globs|alwaysApply|applyTo|paths|inclusion|fileMatchPattern|trigger|description|name)"
    r"[ \t]*:"
)
NOT_YAML = "The front matter is not valid YAML; it was read field by field."
NO_HEADER = (
    "It seems to begin with front matter, but is read as text: the first and the last line "
    "of front matter must be exactly ---."
)
LONGEST_EXCERPT = 60


@dataclass(frozen=True, slots=True)
class RuleText:
    """A rule file taken apart. `valid` is false where its header is not YAML.

    `notes` say what in the header clients may read in another way than it was meant.
    """

    fields: Mapping[str, Json] = field(default_factory=dict)
    body: str = ""
    has_header: bool = False
    valid: bool = True
    notes: tuple[str, ...] = ()


def split_front_matter(text: str) -> RuleText:
    """Split a rule file into fields and body; an unreadable header is read field by field."""
    block = _BLOCK.match(text) if text.lstrip("\ufeff").startswith("---") else None
    if block is None or len(block[1]) > LONGEST_HEADER:
        misplaced = _MISPLACED.match(text) is not None
        return RuleText(body=text, notes=(NO_HEADER,) if misplaced else ())
    header, body = block[1], text[block.end() :]
    notes = tuple(f"`{name}` is there twice; the last one holds." for name in _repeated(header))
    fields = _parse_yaml(header)
    if fields is not None:
        return RuleText(fields, body, has_header=True, notes=notes)
    fields, unread = read_fields(header, _parse_yaml)
    notes = (NOT_YAML, *notes)
    if unread:
        excerpt = unread[0][:LONGEST_EXCERPT]
        notes = (*notes, f"{len(unread)} lines of it belong to no field, such as: {excerpt}")
    return RuleText(fields, body, has_header=True, valid=False, notes=notes)


def _repeated(header: str) -> list[str]:
    """Return the fields that a header has more than once."""
    names = [found[2] for line in header.splitlines() if (found := FIELD.match(line))]
    return [name for name, count in Counter(names).items() if count > 1]


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


def patterns_of(value: Json, *, commas: bool = True) -> tuple[str, ...]:
    """Read globs from a list or a string; commas inside braces do not separate."""
    if isinstance(value, str):
        value = split_commas(value) if commas else [value]
    if not isinstance(value, list):
        return ()
    return tuple(item.strip() for item in value if isinstance(item, str) and item.strip())
