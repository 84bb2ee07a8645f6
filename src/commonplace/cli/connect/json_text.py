"""Change a JSON text and keep every other byte of it: order, indentation, comments.

Reads JSON with comments and trailing commas, as editors write their settings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from commonplace.kernel.json_types import Json

_SPACE = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_SCALAR = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"|[-+.\w]+')
_INDENT = re.compile(r"\n([ \t]+)\S")
MAX_DEPTH = 200


@dataclass(slots=True)
class JsonNode:
    """A value with its place in the text; `parts` are its members or items."""

    start: int
    end: int
    value: Json
    parts: list[JsonPart] = field(default_factory=list)


@dataclass(slots=True)
class JsonPart:
    """A member of an object (`key`) or an item of a list, which begins at `start`."""

    start: int
    node: JsonNode
    key: str = ""


def parse(text: str) -> JsonNode:
    """Return the value of a text with its places. Raises ValueError with the line."""
    start = _SPACE.match(text, 0).end()  # type: ignore[union-attr]  # it matches nothing, too
    node = _read(text, start, 0)
    rest = _SPACE.match(text, node.end).end()  # type: ignore[union-attr]
    if rest != len(text):
        raise _broken(text, rest)
    return node


def rewrite(text: str, new: Json) -> str:
    """Return the text with another value; what did not change keeps its bytes."""
    if not text.strip():
        return json.dumps(new, indent=2, ensure_ascii=False) + "\n"
    root = parse(text)
    found = _INDENT.search(text)
    unit = "\t" if found and found[1][0] == "\t" else " " * (len(found[1]) if found else 2)
    edits = sorted(_edits(text, root, new, unit))
    changed, at = [], 0
    for start, end, replacement in edits:
        changed += [text[at:start], replacement]
        at = end
    result = "".join([*changed, text[at:]])
    if parse(result).value != new:  # for example a key twice
        return json.dumps(new, indent=2, ensure_ascii=False) + "\n"
    return result


def same_tokens(one: str, other: str) -> bool:
    """Tell whether two texts differ in white space only."""
    return _squeeze(one) == _squeeze(other)


def _squeeze(text: str) -> list[str]:
    return re.findall(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|[^\s"]', text, re.DOTALL)


Edit = tuple[int, int, str]


def _edits(text: str, node: JsonNode, new: Json, unit: str) -> Iterator[Edit]:
    if _equal(node.value, new):
        return
    if isinstance(node.value, dict) and isinstance(new, dict):
        kept = {part.key: part for part in node.parts if part.key in new}
        names = [f"{json.dumps(key, ensure_ascii=False)}: " for key in new if key not in kept]
        values = [new[key] for key in new if key not in kept]
        for key, part in kept.items():
            yield from _edits(text, part.node, new[key], unit)
        yield from _change_parts(text, node, list(kept.values()), names, values, unit)
    elif isinstance(node.value, list) and isinstance(new, list):
        kept_items, values = _match(node.parts, new)
        yield from _change_parts(text, node, kept_items, [""] * len(values), values, unit)
    else:
        yield node.start, node.end, _dump(new, unit, _line_indent(text, node.start))


def _change_parts(
    text: str,
    node: JsonNode,
    kept: list[JsonPart],
    names: list[str],
    values: list[Json],
    unit: str,
) -> Iterator[Edit]:
    """Cut the parts that are not kept and append new ones; `names` begin their members."""
    if not kept:
        outer = _line_indent(text, node.start)
        inner = outer + unit
        opening, closing = ("{", "}") if isinstance(node.value, dict) else ("[", "]")
        shown = (
            f"\n{inner}{name}{_dump(value, unit, inner)}"
            for name, value in zip(names, values, strict=True)
        )
        body = ",".join(shown)
        end = f"\n{outer}{closing}" if body else closing
        yield node.start, node.end, f"{opening}{body}{end}"
        return
    yield from _cuts(node.parts, kept)
    first, last = node.parts[0], kept[-1]
    is_one_line = "\n" not in text[node.start : first.start]
    indent = _line_indent(text, first.start)
    gap = ", " if is_one_line else f",\n{indent}"
    added = [
        f"{gap}{name}"
        + (json.dumps(value, ensure_ascii=False) if is_one_line else _dump(value, unit, indent))
        for name, value in zip(names, values, strict=True)
    ]
    if added:
        yield last.node.end, last.node.end, "".join(added)


def _cuts(parts: list[JsonPart], kept: list[JsonPart]) -> Iterator[Edit]:
    """Yield the cuts of the parts that are not kept, each with a comma before or after it."""
    places = {part.start for part in kept}
    previous: JsonPart | None = None
    leading: int | None = None
    for part in parts:
        if part.start in places:
            if leading is not None:
                yield leading, part.start, ""
                leading = None
            previous = part
        elif previous is not None:
            yield previous.node.end, part.node.end, ""
            previous = JsonPart(part.start, JsonNode(part.start, part.node.end, None))
        elif leading is None:
            leading = part.start


def _match(parts: list[JsonPart], new: list[Json]) -> tuple[list[JsonPart], list[Json]]:
    """Return the items that stay, in their order, and the values that follow them."""
    kept: list[JsonPart] = []
    at = 0
    for part in parts:
        if at < len(new) and _equal(part.node.value, new[at]):
            kept.append(part)
            at += 1
    return kept, new[at:]


def _equal(one: Json, other: Json) -> bool:
    """Compare as JSON does: `1` is not `true`, and the order of members does not count."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _dump(value: Json, unit: str, indent: str) -> str:
    shown = json.dumps(value, indent=unit, ensure_ascii=False)
    return shown.replace("\n", f"\n{indent}")


def _line_indent(text: str, at: int) -> str:
    """Return the white space at the beginning of a line."""
    line = text.rfind("\n", 0, at) + 1
    return re.match(r"[ \t]*", text[line:at])[0]  # type: ignore[index]  # it matches nothing, too


def _read(text: str, at: int, depth: int) -> JsonNode:
    if depth > MAX_DEPTH:
        raise ValueError("it is nested too deeply")
    if text[at : at + 1] in ("{", "["):
        return _read_container(text, at, depth)
    found = _SCALAR.match(text, at)
    if found is None:
        raise _broken(text, at)
    try:
        return JsonNode(at, found.end(), json.loads(found[0]))
    except ValueError:
        raise _broken(text, at) from None


def _read_container(text: str, start: int, depth: int) -> JsonNode:
    is_object = text[start] == "{"
    closing = "}" if is_object else "]"
    parts: list[JsonPart] = []
    at = _skip(text, start + 1)
    while text[at : at + 1] != closing:
        part_start, key = at, ""
        if is_object:
            name = _read(text, at, depth + 1)
            at = _skip(text, name.end)
            if not isinstance(name.value, str) or text[at : at + 1] != ":":
                raise _broken(text, at)
            key, at = name.value, _skip(text, at + 1)
        node = _read(text, at, depth + 1)
        parts.append(JsonPart(part_start, node, key))
        at = _skip(text, node.end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
        elif text[at : at + 1] != closing:
            raise _broken(text, at)
    value: Json = (
        {part.key: part.node.value for part in parts}
        if is_object
        else [part.node.value for part in parts]
    )
    return JsonNode(start, at + 1, value, parts)


def _skip(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing, too


def _broken(text: str, at: int) -> ValueError:
    return ValueError(f"it is not JSON (line {text.count(chr(10), 0, at) + 1})")
