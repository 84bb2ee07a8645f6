"""Line numbers for JSON pointers: a second, lazy look at the source text for the few places that
are reported.

YAML in block style is read by indentation, everything else by brackets; where neither leads on, the
nearest parent's line counts.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable

from commonplace.openapi.engine.pointers import unescape_token
from commonplace.openapi.model import ApiDocument

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\']|\'\')*\'|[{}\[\],:]', re.DOTALL)


def find_lines(document: ApiDocument, pointers: Iterable[str]) -> dict[str, int]:
    """The 1-based line of each pointer, or of its nearest parent that is found."""
    finder: _Finder | None = document.derived.get("lines")
    if finder is None:
        finder = document.derived["lines"] = _Finder(document.text, document.format == "json")
    return {pointer: finder.line(pointer) for pointer in pointers}


class _Finder:
    """Remembers the offset and the extent of every value on the way to a pointer."""

    def __init__(self, text: str, flow: bool) -> None:
        self.text = text
        self.starts = [0, *(match.end() for match in re.finditer("\n", text))]
        start = len(text) - len(text.lstrip())
        self.found: dict[str, _Value] = {"": _Value(start, start, len(text), 0 if not flow else -1)}
        self.children: dict[str, dict[str, _Value]] = {}

    def line(self, pointer: str) -> int:
        return bisect_right(self.starts, self.locate(pointer).at)

    def locate(self, pointer: str) -> _Value:
        here = ""
        value = self.found[""]
        for raw in pointer.split("/")[1:]:
            following = f"{here}/{raw}"
            known = self.found.get(following)
            if known is None:
                known = self._child(here, value, unescape_token(raw))
                if known is None:
                    return value
                self.found[following] = known
            here, value = following, known
        return value

    def _child(self, pointer: str, value: _Value, step: str) -> _Value | None:
        if value.indent < 0 or self.text[value.body : value.body + 1] in ("{", "["):
            if value.indent < 0 and self.text[value.body + 1 : value.body + 3] in ("\n ", "\n\t"):
                printed = self._printed_child(value, step)
                if printed is not None:
                    return printed
            table = self.children.get(pointer)
            if table is None:
                table = self.children[pointer] = self._flow_children(value)
            return table.get(step)
        return self._block_child(value, step)

    def _printed_child(self, value: _Value, step: str) -> _Value | None:
        """A child in JSON that was printed with one entry a line: its line is found by its
        indentation, without reading the rest.
        """
        text = self.text
        first = self._skip(value.body + 1)
        margin = text[
            text.rfind("\n", 0, first) : first
        ]  # the newline and the indentation of the entries
        if text[value.body] == "[":
            position = first
            for _ in range(int(step) if step.isdigit() else 0):
                position = self._skip(self._printed_end(position, margin, value.end))
                if position >= value.end or text[position] in "]}":
                    return None
            return _Value(position, position, self._printed_end(position, margin, value.end), -1)
        key = json.dumps(step, ensure_ascii=False)
        position = value.body
        while (position := text.find(margin + key, position, value.end)) >= 0:
            at = position + len(margin)
            colon = self._skip(at + len(key))
            if text[colon : colon + 1] == ":":
                body = self._skip(colon + 1)
                return _Value(at, body, self._printed_end(body, margin, value.end), -1)
            position = at
        return None

    def _printed_end(self, body: int, margin: str, end: int) -> int:
        """Just after an entry: its closing bracket stands at its own indentation, a scalar ends
        with its line.
        """
        text = self.text
        if text[body] in "{[" and text[body + 1 : body + 2] == "\n":
            closing = text.find(margin + ("}" if text[body] == "{" else "]"), body, end)
            body = closing + len(margin) if closing >= 0 else body
        line = text.find("\n", body, end)
        return end if line < 0 else line

    def _flow_children(self, value: _Value) -> dict[str, _Value]:
        """The entries of a mapping or list in brackets; one pass, inner brackets are skipped."""
        text, children = self.text, {}
        if text[value.body : value.body + 1] not in ("{", "["):
            return {}
        mapping = text[value.body] == "{"
        position, at, body, key, depth, number = value.body + 1, value.body + 1, -1, None, 0, 0
        for token in _TOKEN.finditer(
            text, position
        ):  # ends at the closing bracket, wherever that stands
            character = token[0][0]
            if character in "{[":
                if depth == 0 and body < 0:
                    body = token.start()
                depth += 1
            elif character in "}]":
                depth -= 1
            if depth < 0 or (character == "," and depth == 0):
                name = key if mapping else str(number)
                if name is not None:
                    start = at if mapping else self._skip(at)
                    first = self._skip(body) if body >= 0 else start
                    children[name] = _Value(start, first, token.start(), -1)
                number += 1
                at, body, key = token.end(), -1, None
                if depth < 0:
                    break
            elif depth == 0 and character == ":" and mapping and key is None:
                raw = text[at : token.start()].strip()
                key = _unquote(raw)
                at, body = self._skip(at), token.end()
            elif depth == 0 and not mapping and body < 0 and character in "\"'":
                body = token.start()
        return children

    def _skip(self, position: int) -> int:
        while position < len(self.text) and self.text[position] in " \t\r\n":
            position += 1
        return position

    def _block_child(self, value: _Value, step: str) -> _Value | None:
        text = self.text
        body = self._first(value.body, value.end)
        if body >= value.end:
            return None
        indent = body - (text.rfind("\n", 0, body) + 1)
        if text.startswith(("- ", "-\n", "-\r"), body):
            return self._sequence_item(body, value.end, indent, step)
        return self._mapping_value(body, value.end, indent, step)

    def _first(self, position: int, end: int) -> int:
        """The first character that is neither blank, comment, document marker, anchor nor tag."""
        text = self.text
        while position < end:
            character = text[position]
            if character in " \t\r\n":
                position += 1
            elif character == "#" or text.startswith(("---", "%"), position):
                following = text.find("\n", position)
                position = end if following < 0 else following + 1
            elif character in "&!":
                match = re.compile(r"\S+").match(text, position)
                position = match.end() if match else end
            else:
                break
        return position

    def _mapping_value(self, body: int, end: int, indent: int, step: str) -> _Value | None:
        text = self.text
        best = -1
        for quoted in (
            step,
            f"'{step.replace(chr(39), chr(39) * 2)}'",
            '"' + step.replace("\\", "\\\\").replace('"', '\\"') + '"',
        ):
            pattern = re.compile(rf"{re.escape(quoted)}[ \t]*:(?=\s|$)")
            if pattern.match(text, body):
                best = body
                break
            needle, position = f"\n{' ' * indent}{quoted}", body
            while True:
                position = text.find(needle, position, end)
                if position < 0:
                    break
                if pattern.match(text, position + 1 + indent):
                    best = position + 1 + indent
                    break
                position += 1
            if best >= 0:
                break
        if best < 0:
            return None
        colon = text.index(":", best + max(len(step), 1)) if len(step) else text.index(":", best)
        return _Value(
            best, self._inner(colon + 1, end), self._extent(best, end, indent, key=True), indent + 1
        )

    def _inner(self, position: int, end: int) -> int:
        return self._first(position, end)

    def _sequence_item(self, body: int, end: int, indent: int, step: str) -> _Value | None:
        if not step.isdigit():
            return None
        pattern = re.compile(rf"^ {{{indent}}}-(?=\s|$)", re.MULTILINE)
        position = body
        for number in range(int(step) + 1):
            if number == 0:
                position = body
                continue
            match = pattern.search(self.text, position + 1, end)
            if match is None:
                return None
            position = match.start() + indent
        first = self._first(position + 1, end)
        return _Value(
            first if first < end else position,
            first,
            self._extent(position, end, indent, key=False),
            indent + 1,
        )

    def _extent(self, position: int, end: int, indent: int, *, key: bool) -> int:
        """Where a block value ends: at the next line that is not indented further."""
        stop = r"(?!-[ \r\n])" if key else ""
        pattern = re.compile(rf"^ {{0,{indent}}}{stop}[^ #\r\n]", re.MULTILINE)
        after = self.text.find("\n", position, end)
        match = pattern.search(self.text, after + 1, end) if after >= 0 else None
        return match.start() if match else end


class _Value:
    __slots__ = ("at", "body", "end", "indent")

    def __init__(self, at: int, body: int, end: int, indent: int) -> None:
        self.at = at  # where the key or the item starts
        self.body = body  # where its value starts
        self.end = end
        self.indent = indent  # of block values; -1 inside brackets


def _unquote(raw: str) -> str:
    if len(raw) >= 2 and raw[0] == raw[-1] == '"':
        try:
            return str(json.loads(raw))
        except ValueError:
            return raw[1:-1]
    if len(raw) >= 2 and raw[0] == raw[-1] == "'":
        return raw[1:-1].replace("''", "'")
    return raw
