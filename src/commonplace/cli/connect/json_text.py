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
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_COMMENT_BESIDE = re.compile(r"[ \t]*(,?)[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/)(?=[ \t]*\r?\n)")
_LINE_END = re.compile(r"[ \t]*\r?\n")
_MARK = "\ufeff"  # of the byte order, which some editors write
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
    node = _read(text, _skip(text, len(_MARK) if text.startswith(_MARK) else 0), 0)
    rest = _skip(text, node.end)
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
    if not _equal(parse(result).value, new):  # it is better written anew than wrong
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
        kept = [part for part in node.parts if part.key in new]
        known = {part.key: part for part in kept}  # of a key that is there twice, the last counts
        names = [f"{json.dumps(key, ensure_ascii=False)}: " for key in new if key not in known]
        values = [new[key] for key in new if key not in known]
        for key, part in known.items():
            yield from _edits(text, part.node, new[key], unit)
        yield from _change_parts(text, node, kept, names, values, unit)
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
        yield from _fill(text, node, names, values, unit)
        return
    yield from _cuts(text, node.parts, kept)
    first, last = node.parts[0], kept[-1]
    is_one_line = "\n" not in text[node.start : first.start]
    indent = _line_indent(text, first.start)
    gap = ", " if is_one_line else f",\n{indent}"
    added = [
        name
        + (json.dumps(value, ensure_ascii=False) if is_one_line else _dump(value, unit, indent))
        for name, value in zip(names, values, strict=True)
    ]
    if not added:
        return
    beside = None
    if last is node.parts[-1] and not is_one_line:
        beside = _COMMENT_BESIDE.match(text, last.node.end)
    if beside is None:
        yield last.node.end, last.node.end, gap + gap.join(added)
        return
    if not beside[1]:  # a comment stays on the line of its value
        yield last.node.end, last.node.end, ","
    yield beside.end(), beside.end(), f"\n{indent}{gap.join(added)}{beside[1]}"


def _fill(
    text: str, node: JsonNode, names: list[str], values: list[Json], unit: str
) -> Iterator[Edit]:
    """Replace all parts; comments around them stay."""
    outer = _line_indent(text, node.start)
    inner = outer + unit
    body = ",".join(
        f"\n{inner}{name}{_dump(value, unit, inner)}"
        for name, value in zip(names, values, strict=True)
    )
    start, end = node.start + 1, node.end - 1
    first, last = (node.parts[0].start, node.parts[-1].node.end) if node.parts else (end, end)
    if not _COMMENT.search(text[start:first] + "\n" + text[last:end]):
        yield start, end, f"{body}\n{outer}" if body else ""
    elif node.parts:
        comma = _skip(text, last)
        yield first, last, body.lstrip()
        if not body and text[comma] == ",":
            yield comma, comma + 1, ""
    else:
        place = [comment.end() for comment in _COMMENT.finditer(text, start, end)][-1]
        yield place, end, body + (text[place:end] if "\n" in text[place:end] else f"\n{outer}")


def _cuts(text: str, parts: list[JsonPart], kept: list[JsonPart]) -> Iterator[Edit]:
    """Yield the cuts of the parts that are not kept, each with a comma before or after it."""
    places = {part.start for part in kept}
    at = 0
    while at < len(parts):
        run = at
        while run < len(parts) and parts[run].start not in places:
            run += 1
        if run > at:
            previous = parts[at - 1] if at else None
            following = parts[run] if run < len(parts) else None
            yield from _cut(text, (parts[at], parts[run - 1]), previous, following)
        at = run + 1


def _cut(
    text: str,
    run: tuple[JsonPart, JsonPart],
    previous: JsonPart | None,
    following: JsonPart | None,
) -> Iterator[Edit]:
    """Yield the cut of neighbouring parts, from the first to the last of a run."""
    start, end = run[0].start, run[1].node.end
    comma = _skip(text, end)
    has_comma = text[comma] == ","
    if previous is None and following is not None:
        if _COMMENT.search(text, end, following.start):
            yield from ((start, end, ""), (comma, comma + 1, ""))
        else:
            yield start, following.start, ""
        return
    if previous is None:
        return
    comments = list(_COMMENT.finditer(text, previous.node.end, start))
    if not comments:
        yield previous.node.end, end, ""
        return
    comment = comments[-1]
    comma_before = _skip(text, previous.node.end)
    if comma_before > comment.start():  # it is cut, too
        rest = end
    elif has_comma:
        rest = comma + 1
        yield comma, rest, ""
    else:
        rest = end
        yield comma_before, comma_before + 1, ""
    needs_line = comment[0].startswith("//") and not _LINE_END.match(text, rest)
    yield comment.end(), end, "\n" if needs_line else ""


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
