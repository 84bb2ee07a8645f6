"""Changes to a YAML text that leave the rest of it alone: comments, quotes, order and spacing stay.

The old and the new value are compared; only the spans that differ are rewritten. The result is read
back, and where that does not give the new value (anchors, exotic layouts) the whole text is written
anew.
"""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import Json
from commonplace.openapi.engine.document.load import parse_text
from commonplace.openapi.engine.json_values import same_json
from commonplace.openapi.engine.yaml.emit import to_yaml, yaml_key
from commonplace.openapi.number_literals import NumberLiterals

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Impossible(Exception):
    """This place cannot be edited in the text; the caller replaces a larger one."""


class _Edit:
    __slots__ = ("end", "start", "text")

    def __init__(self, start: int, end: int, text: str) -> None:
        self.start, self.end, self.text = start, end, text


def edit_yaml(text: str, old: Json, new: Json, numbers: NumberLiterals | None = None) -> str:
    """The text with the least changes after which it reads as `new`; `numbers` are the literals
    that both were read with.
    """
    numbers = numbers if numbers is not None else NumberLiterals()
    if same_json(old, new):
        return text
    if text.count("\n") == text.count("\r\n") > 0:
        return edit_yaml(text.replace("\r\n", "\n"), old, new, numbers).replace("\n", "\r\n")
    try:
        root = yaml.compose(text, Loader=_Loader)
        edits: list[_Edit] = []
        if root is None:
            raise _Impossible
        _Editor(text, edits, numbers).change(root, old, new)
        pieces, at = [], 0
        for edit in sorted(
            edits, key=lambda one: one.start
        ):  # of two at one place, the inner was noted first
            pieces += [text[at : edit.start], edit.text]
            at = edit.end
        result = "".join((*pieces, text[at:]))
        if same_json(parse_text(result).data, new):
            return result
    except (_Impossible, yaml.YAMLError, CommonplaceError, RecursionError):
        pass
    return to_yaml(new, numbers=numbers)


class _Editor:
    """`flow`: whether a place lies inside of braces or brackets, where values are written as
    JSON.
    """

    def __init__(self, text: str, edits: list[_Edit], numbers: NumberLiterals) -> None:
        self.text = text
        self.edits = edits
        self.numbers = numbers

    def _block(self, value: Json, indent: int = 0) -> str:
        return to_yaml(value, indent, self.numbers)

    def _flow(self, value: Json) -> str:
        """One line, valid inside of braces and brackets."""
        return self.numbers.written(
            json.dumps(self.numbers.marked(value), ensure_ascii=False), json=False
        )

    def change(self, node: yaml.Node, old: Json, new: Json, *, flow: bool = False) -> None:
        if isinstance(node, yaml.MappingNode) and isinstance(old, dict) and isinstance(new, dict):
            self._mapping(node, old, new, flow=flow or bool(node.flow_style))
        elif (
            isinstance(node, yaml.SequenceNode) and isinstance(old, list) and isinstance(new, list)
        ):
            self._sequence(node, old, new, flow=flow or bool(node.flow_style))
        elif isinstance(node, yaml.ScalarNode) and not isinstance(new, (dict, list)):
            self._scalar(node, new, flow=flow)
        else:
            raise _Impossible

    def _mapping(
        self, node: yaml.MappingNode, old: dict[str, Any], new: dict[str, Any], *, flow: bool
    ) -> None:
        pairs = {
            str(key.value): (key, value)
            for key, value in node.value
            if isinstance(key, yaml.ScalarNode)
        }
        if len(pairs) != len(node.value) or pairs.keys() != old.keys():
            raise _Impossible  # merge keys, duplicate or odd keys
        renamed = _renamed(old, new)
        for name, (key, value) in pairs.items():
            target = renamed.get(name, name)
            if target not in new:
                if flow or not any(one in new or one in renamed for one in old):
                    raise _Impossible
                self._delete(key, value)
                continue
            if target != name:
                self.edits.append(
                    _Edit(
                        key.start_mark.index,
                        key.end_mark.index,
                        self._flow(target) if flow else yaml_key(target),
                    )
                )
            if not same_json(old[name], new[target]):
                self._child(value, old[name], new[target], key, flow=flow)
        kept = set(renamed.values())
        added = {name: value for name, value in new.items() if name not in old and name not in kept}
        if added and flow:
            words = [
                f"{yaml_key(name) if _WORD.fullmatch(name) else self._flow(name)}: "
                f"{self._flow(value)}"
                for name, value in added.items()
            ]
            self._append(node.value[-1][1] if node.value else None, words)
        elif added:
            self._add(node, added)

    def _child(self, value: yaml.Node, old: Json, new: Json, key: yaml.Node, *, flow: bool) -> None:
        mark = len(self.edits)
        try:
            self.change(value, old, new, flow=flow)
        except _Impossible:
            del self.edits[mark:]
            self._replace(value, new, key, flow=flow)

    def _replace(self, value: yaml.Node, new: Json, key: yaml.Node, *, flow: bool) -> None:
        """The whole value anew, behind or under its key."""
        start, end = int(value.start_mark.index), self._end(value)
        if flow:
            self.edits.append(_Edit(start, end, self._flow(new)))
            return
        behind = self.text[end : self._line_end(end)].lstrip().startswith("#")
        if isinstance(new, str) and "\n" in new and behind:
            self.edits.append(
                _Edit(start, end, self._flow(new))
            )  # the comment behind it would become a part of it
            return
        commented = "#" in self.text[key.end_mark.index : start]
        while self.text[start - 1] in " \n":
            start -= 1
        if isinstance(new, (dict, list)) and new:
            if behind:
                end = self._line_end(
                    end
                )  # a comment about what is gone must not stand behind something else
            self.edits.append(
                _Edit(start, end, "\n" + self._block(new, key.start_mark.column + 2).rstrip("\n"))
            )
        else:
            written = self._block({"k": new}, key.start_mark.column).rstrip("\n").lstrip()
            lead = (
                f"\n{' ' * (key.start_mark.column + 2)}" if commented else ""
            )  # else it would join the comment
            self.edits.append(
                _Edit(
                    start, end, lead + written.removeprefix("k:").lstrip(" " if commented else "")
                )
            )

    def _scalar(self, node: yaml.ScalarNode, new: Json, *, flow: bool) -> None:
        if (
            node.style in ("|", ">")
            or (isinstance(new, str) and "\n" in new and not flow)
            or node.start_mark.index == node.end_mark.index
        ):
            raise _Impossible
        text = (
            self._block(new).rstrip("\n")
            if not flow or not isinstance(new, str) or _WORD.fullmatch(new)
            else self._flow(new)
        )
        if node.style in ("'", '"') and isinstance(new, str):
            text = (
                "'" + new.replace("'", "''") + "'"
                if node.style == "'"
                else text
                if text.startswith('"')
                else f'"{new}"'
            )
            if '"' in new or "\\" in new or "\n" in new:
                text = self._flow(new) if flow else self._block(new).rstrip("\n")
        self.edits.append(_Edit(node.start_mark.index, node.end_mark.index, text))

    def _sequence(
        self, node: yaml.SequenceNode, old: list[Any], new: list[Any], *, flow: bool
    ) -> None:
        if len(node.value) != len(old):
            raise _Impossible
        if len(new) < len(old):
            self._shorten(node, old, new, flow=flow)
            return
        for child, before, after in zip(node.value, old, new, strict=False):
            if not same_json(before, after):
                self._item(child, before, after, node, flow=flow)
        extra = new[len(old) :]
        if extra and flow:
            self._append(node.value[-1] if node.value else None, [self._flow(one) for one in extra])
        elif extra:
            end = self._line_end(self._end(node.value[-1]))
            self.edits.append(
                _Edit(end, end, "\n" + self._block(extra, node.start_mark.column).rstrip("\n"))
            )

    def _item(
        self, child: yaml.Node, before: Json, after: Json, node: yaml.SequenceNode, *, flow: bool
    ) -> None:
        mark = len(self.edits)
        try:
            self.change(child, before, after, flow=flow)
        except _Impossible:
            del self.edits[mark:]
            start, end = (
                (int(child.start_mark.index), self._end(child))
                if flow
                else (self._dash(child), self._end(child))
            )
            text = (
                self._flow(after) if flow else self._block([after], node.start_mark.column).strip()
            )
            self.edits.append(_Edit(start, end, text))

    def _shorten(
        self, node: yaml.SequenceNode, old: list[Any], new: list[Any], *, flow: bool
    ) -> None:
        """Items that are gone leave with their lines, where the others are as they were."""
        if flow or not new:
            raise _Impossible
        left = list(new)
        for child, before in zip(node.value, old, strict=True):
            if left and same_json(before, left[0]):
                left.pop(0)
                continue
            start = self.text.rfind("\n", 0, self._dash(child)) + 1
            self.edits.append(
                _Edit(start, min(self._line_end(self._end(child)) + 1, len(self.text)), "")
            )
        if left:
            raise _Impossible

    def _dash(self, item: yaml.Node) -> int:
        """Where the dash of a list item stands, which must be the first on its line."""
        start = self.text.rfind("\n", 0, item.start_mark.index) + 1
        before = self.text[start : item.start_mark.index]
        if before.strip() != "-":
            raise _Impossible
        return start + before.index("-")

    def _append(self, last: yaml.Node | None, words: list[str]) -> None:
        if last is None:
            raise _Impossible
        end = self._end(last)
        self.edits.append(_Edit(end, end, "".join(f", {word}" for word in words)))

    def _add(self, node: yaml.MappingNode, added: dict[str, Any]) -> None:
        if not node.value:
            raise _Impossible
        column = node.value[0][0].start_mark.column
        end = self._line_end(self._end(node.value[-1][1]))
        self.edits.append(_Edit(end, end, "\n" + self._block(added, column).rstrip("\n")))

    def _delete(self, key: yaml.Node, value: yaml.Node) -> None:
        start = key.start_mark.index - key.start_mark.column
        if self.text[start : key.start_mark.index].strip():
            raise _Impossible  # the first key of a list item stands behind its dash
        end = self._line_end(self._end(value))
        self.edits.append(_Edit(start, min(end + 1, len(self.text)), ""))

    def _end(self, node: yaml.Node) -> int:
        """Where the text of a node ends; composed block nodes reach to the start of the next
        token.
        """
        if isinstance(node, yaml.ScalarNode):
            if node.style in ("|", ">"):
                end = int(node.end_mark.index)
                while end and self.text[end - 1] == "\n":
                    end -= 1
                return end
            return int(node.end_mark.index)
        if not isinstance(node, yaml.CollectionNode) or node.flow_style or not node.value:
            return int(node.end_mark.index)
        last = node.value[-1]
        return self._end(last[1] if isinstance(last, tuple) else last)

    def _line_end(self, index: int) -> int:
        """The end of the line: a comment behind a value stays with it."""
        end = self.text.find("\n", index)
        return len(self.text) if end < 0 else end


def _renamed(old: dict[str, Any], new: dict[str, Any]) -> dict[str, str]:
    """Keys that only changed their name: their value is the same, or as many came as went, in
    the same order.
    """
    gone = [name for name in old if name not in new]
    come = [name for name in new if name not in old]
    found: dict[str, str] = {}
    same: dict[str, list[str]] = {}
    for name in reversed(come):
        same.setdefault(json.dumps(new[name]), []).append(name)
    for name in gone if come else ():
        matches = same.get(json.dumps(old[name]))
        if matches:
            found[name] = matches.pop()
    left = [name for name in gone if name not in found]
    taken = set(found.values())
    come = [name for name in come if name not in taken]
    if len(old) == len(new) and len(left) == len(come):
        found.update(zip(left, come, strict=True))
    return found
