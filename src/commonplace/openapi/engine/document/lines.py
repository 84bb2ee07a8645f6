"""Line numbers for JSON pointers: a second, lazy look at the source for the reported places.

YAML in block style is read by indentation, everything else by brackets. If neither finds a place,
the line of its nearest parent is used.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable

from commonplace.openapi.engine.pointers import unescape_token
from commonplace.openapi.model import ApiDocument

MOST_BLANKS = 1_000  # before and after a value on its lines
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\']|\'\')*\'|[{}\[\],:]', re.DOTALL)


def find_lines(document: ApiDocument, pointers: Iterable[str]) -> dict[str, int]:
    """Return the 1-based line of each pointer, or of its nearest parent that is found."""
    finder: _LineFinder | None = document.derived.get("lines")
    if finder is None:
        finder = document.derived["lines"] = _LineFinder(document.text, document.format == "json")
    return {pointer: finder.line(pointer) for pointer in pointers}


def find_line_spans(
    document: ApiDocument, pointers: Iterable[str], until: Callable[[], bool] = lambda: False
) -> dict[str, tuple[int, int]]:
    """Return the lines of each value that fills whole lines, until told to stop."""
    finder = _LineFinder(document.text, document.format == "json")
    spans = {}
    for pointer in pointers:
        if until():
            break
        span = finder.locate(pointer)
        if pointer in finder.spans and finder.fills_lines(span):
            spans[pointer] = (finder.line_at(span.at), finder.line_at(finder.last_of(span)))
    return spans


class _LineFinder:
    """Finds values in a text; remembers those on the way to each pointer."""

    def __init__(self, text: str, flow: bool) -> None:
        self.text = text
        self.starts = [0, *(match.end() for match in re.finditer("\n", text))]
        start = len(text) - len(text.lstrip())
        self.spans: dict[str, _TextSpan] = {
            "": _TextSpan(start, start, len(text), 0 if not flow else -1)
        }
        self.children: dict[str, dict[str, _TextSpan]] = {}

    def line(self, pointer: str) -> int:
        return self.line_at(self.locate(pointer).at)

    def line_at(self, position: int) -> int:
        return bisect_right(self.starts, position)

    def fills_lines(self, span: _TextSpan) -> bool:
        """Tell whether nothing else is on the lines of a value, but a comma after it."""
        last = self.last_of(span)
        begin, following = self.starts[self.line_at(span.at) - 1], self.line_at(last)
        end = self.starts[following] if following < len(self.starts) else len(self.text)
        if max(span.at - begin, end - last) > MOST_BLANKS:
            return False
        before, after = self.text[begin : span.at], self.text[last + 1 : end]
        return not before.strip() and after.strip() in ("", ",")

    def last_of(self, span: _TextSpan) -> int:
        """Return where the last character of a value is that is no blank."""
        position = span.end - 1
        while position > span.body and self.text[position] in " \t\r\n":
            position -= 1
        return max(position, span.at)

    def locate(self, pointer: str) -> _TextSpan:
        here = ""
        value = self.spans[""]
        for raw in pointer.split("/")[1:]:
            following = f"{here}/{raw}"
            known = self.spans.get(following)
            if known is None:
                known = self._find_child(here, value, unescape_token(raw))
                if known is None:
                    return value
                self.spans[following] = known
            here, value = following, known
        return value

    def _find_child(self, pointer: str, value: _TextSpan, step: str) -> _TextSpan | None:
        if value.indent < 0 or self.text[value.body : value.body + 1] in ("{", "["):
            if value.indent < 0 and self.text[value.body + 1 : value.body + 3] in ("\n ", "\n\t"):
                printed = self._find_printed_child(value, step)
                if printed is not None:
                    return printed
            table = self.children.get(pointer)
            if table is None:
                table = self.children[pointer] = self._list_flow_children(value)
            return table.get(step)
        return self._find_block_child(value, step)

    def _find_printed_child(self, value: _TextSpan, step: str) -> _TextSpan | None:
        """Find a child in indented JSON by its indentation, without reading the rest."""
        text = self.text
        first = self._skip_blanks(value.body + 1)
        margin = text[text.rfind("\n", 0, first) : first]  # newline and indentation of the entries
        if text[value.body] == "[":
            position = first
            for _ in range(int(step) if step.isdigit() else 0):
                position = self._skip_blanks(self._find_printed_end(position, margin, value.end))
                if position >= value.end or text[position] in "]}":
                    return None
            return _TextSpan(
                position, position, self._find_printed_end(position, margin, value.end), -1
            )
        key = json.dumps(step, ensure_ascii=False)
        position = value.body
        while (position := text.find(margin + key, position, value.end)) >= 0:
            at = position + len(margin)
            colon = self._skip_blanks(at + len(key))
            if text[colon : colon + 1] == ":":
                body = self._skip_blanks(colon + 1)
                return _TextSpan(at, body, self._find_printed_end(body, margin, value.end), -1)
            position = at
        return None

    def _find_printed_end(self, body: int, margin: str, end: int) -> int:
        """Return the end of an entry: a closing bracket has its indentation, a scalar one line."""
        text = self.text
        if text[body] in "{[" and text[body + 1 : body + 2] == "\n":
            closing = text.find(margin + ("}" if text[body] == "{" else "]"), body, end)
            body = closing + len(margin) if closing >= 0 else body
        line = text.find("\n", body, end)
        return end if line < 0 else line

    def _list_flow_children(self, value: _TextSpan) -> dict[str, _TextSpan]:
        """Return the entries of a mapping or list in brackets, skipping inner brackets."""
        text, children = self.text, {}
        if text[value.body : value.body + 1] not in ("{", "["):
            return {}
        mapping = text[value.body] == "{"
        position, at, body, key, depth, number = value.body + 1, value.body + 1, -1, None, 0, 0
        for token in _TOKEN.finditer(text, position):  # until the closing bracket
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
                    start = at if mapping else self._skip_blanks(at)
                    first = self._skip_blanks(body) if body >= 0 else start
                    children[name] = _TextSpan(start, first, token.start(), -1)
                number += 1
                at, body, key = token.end(), -1, None
                if depth < 0:
                    break
            elif depth == 0 and character == ":" and mapping and key is None:
                raw = text[at : token.start()].strip()
                key = _unquote(raw)
                at, body = self._skip_blanks(at), token.end()
            elif depth == 0 and not mapping and body < 0 and character in "\"'":
                body = token.start()
        return children

    def _skip_blanks(self, position: int) -> int:
        while position < len(self.text) and self.text[position] in " \t\r\n":
            position += 1
        return position

    def _find_block_child(self, value: _TextSpan, step: str) -> _TextSpan | None:
        text = self.text
        body = self._skip_to_value(value.body, value.end)
        if body >= value.end:
            return None
        indent = body - (text.rfind("\n", 0, body) + 1)
        if text.startswith(("- ", "-\n", "-\r"), body):
            return self._find_sequence_item(body, value.end, indent, step)
        return self._find_mapping_value(body, value.end, indent, step)

    def _skip_to_value(self, position: int, end: int) -> int:
        """Return the position after blanks, comments, document markers, anchors and tags."""
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

    def _find_mapping_value(self, body: int, end: int, indent: int, step: str) -> _TextSpan | None:
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
        return _TextSpan(
            best,
            self._skip_to_value(colon + 1, end),
            self._find_block_end(best, end, indent, key=True),
            indent + 1,
        )

    def _find_sequence_item(self, body: int, end: int, indent: int, step: str) -> _TextSpan | None:
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
        first = self._skip_to_value(position + 1, end)
        return _TextSpan(
            first if first < end else position,
            first,
            self._find_block_end(position, end, indent, key=False),
            indent + 1,
        )

    def _find_block_end(self, position: int, end: int, indent: int, *, key: bool) -> int:
        """Return the end of a block value: the next line that is not indented further."""
        stop = r"(?!-[ \r\n])" if key else ""
        pattern = re.compile(rf"^ {{0,{indent}}}{stop}[^ #\r\n]", re.MULTILINE)
        after = self.text.find("\n", position, end)
        match = pattern.search(self.text, after + 1, end) if after >= 0 else None
        return match.start() if match else end


class _TextSpan:
    """A value in the text, with its key."""

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
