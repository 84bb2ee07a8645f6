"""Editing of a YAML text in place: comments, quotes, order and spacing stay.

The old and the new value are compared and only the spans that differ are rewritten. The result is
parsed again; if it does not give the new value (anchors, unusual layouts) the whole text is
rewritten.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

import yaml

from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import Json, JsonArray, JsonObject
from commonplace.openapi.engine.document.load import parse_text
from commonplace.openapi.engine.json_values import same_json
from commonplace.openapi.engine.yaml.emit import to_yaml, yaml_key
from commonplace.openapi.number_literals import NumberLiterals

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _NotEditableError(Exception):
    """This place cannot be edited in the text; the caller replaces a larger one."""


class _Edit(NamedTuple):
    """A span of the text and its replacement."""

    start: int
    end: int
    text: str


def edit_yaml(text: str, old: Json, new: Json, numbers: NumberLiterals | None = None) -> str:
    """Return the text with as few changes as possible, so that its value is `new`.

    `numbers` are the literals that both values were read with.
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
            raise _NotEditableError
        _Editor(text, edits, numbers).change(root, old, new)
        pieces, at = [], 0
        # The sort is stable: of two edits at one place the inner one was added first.
        for edit in sorted(edits, key=lambda edit: edit.start):
            pieces += [text[at : edit.start], edit.text]
            at = edit.end
        result = "".join((*pieces, text[at:]))
        if same_json(parse_text(result).data, new):
            return result
    except (_NotEditableError, yaml.YAMLError, CommonplaceError, RecursionError):
        pass
    return to_yaml(new, numbers=numbers)


class _Editor:
    """Collects the edits of a text.

    `flow`: the place is inside braces or brackets, where values are written as JSON.
    """

    def __init__(self, text: str, edits: list[_Edit], numbers: NumberLiterals) -> None:
        self.text = text
        self.edits = edits
        self.numbers = numbers

    def _write_block(self, value: Json, indent: int = 0) -> str:
        return to_yaml(value, indent, self.numbers)

    def _write_flow(self, value: Json) -> str:
        """Write a value in one line, valid inside braces and brackets."""
        return self.numbers.restore(
            json.dumps(self.numbers.mark(value), ensure_ascii=False), json=False
        )

    def change(self, node: yaml.Node, old: Json, new: Json, *, flow: bool = False) -> None:
        """Add the edits that turn the old value of a node into the new one."""
        if isinstance(node, yaml.MappingNode) and isinstance(old, dict) and isinstance(new, dict):
            self._change_mapping(node, old, new, flow=flow or bool(node.flow_style))
        elif (
            isinstance(node, yaml.SequenceNode) and isinstance(old, list) and isinstance(new, list)
        ):
            self._change_sequence(node, old, new, flow=flow or bool(node.flow_style))
        elif isinstance(node, yaml.ScalarNode) and not isinstance(new, (dict, list)):
            self._change_scalar(node, new, flow=flow)
        else:
            raise _NotEditableError

    def _change_mapping(
        self, node: yaml.MappingNode, old: JsonObject, new: JsonObject, *, flow: bool
    ) -> None:
        pairs = {
            str(key.value): (key, value)
            for key, value in node.value
            if isinstance(key, yaml.ScalarNode)
        }
        if len(pairs) != len(node.value) or pairs.keys() != old.keys():
            raise _NotEditableError  # merge keys, duplicate or odd keys
        renamed = _find_renames(old, new)
        for name, (key, value) in pairs.items():
            target = renamed.get(name, name)
            if target not in new:
                if flow or not any(key in new or key in renamed for key in old):
                    raise _NotEditableError
                self._delete_entry(key, value)
                continue
            if target != name:
                self.edits.append(
                    _Edit(
                        key.start_mark.index,
                        key.end_mark.index,
                        self._write_flow(target) if flow else yaml_key(target),
                    )
                )
            if not same_json(old[name], new[target]):
                self._change_value(value, old[name], new[target], key, flow=flow)
        kept = set(renamed.values())
        added = {name: value for name, value in new.items() if name not in old and name not in kept}
        if added and flow:
            words = [
                f"{yaml_key(name) if _WORD.fullmatch(name) else self._write_flow(name)}: "
                f"{self._write_flow(value)}"
                for name, value in added.items()
            ]
            self._append_flow(node.value[-1][1] if node.value else None, words)
        elif added:
            self._append_entries(node, added)

    def _change_value(
        self, value: yaml.Node, old: Json, new: Json, key: yaml.Node, *, flow: bool
    ) -> None:
        mark = len(self.edits)
        try:
            self.change(value, old, new, flow=flow)
        except _NotEditableError:
            del self.edits[mark:]
            self._replace(value, new, key, flow=flow)

    def _replace(self, value: yaml.Node, new: Json, key: yaml.Node, *, flow: bool) -> None:
        """Rewrite a whole value, beside or under its key."""
        start, end = int(value.start_mark.index), self._find_end(value)
        if flow:
            self.edits.append(_Edit(start, end, self._write_flow(new)))
            return
        behind = self.text[end : self._find_line_end(end)].lstrip().startswith("#")
        if isinstance(new, str) and "\n" in new and behind:
            # In block style the comment behind it would become part of the text.
            self.edits.append(_Edit(start, end, self._write_flow(new)))
            return
        commented = "#" in self.text[key.end_mark.index : start]
        while self.text[start - 1] in " \n":
            start -= 1
        if isinstance(new, (dict, list)) and new:
            if behind:
                end = self._find_line_end(end)  # drop a comment about the old value
            self.edits.append(
                _Edit(
                    start,
                    end,
                    "\n" + self._write_block(new, key.start_mark.column + 2).rstrip("\n"),
                )
            )
        else:
            written = self._write_block({"k": new}, key.start_mark.column).rstrip("\n").lstrip()
            # After a comment the value needs a line of its own.
            lead = f"\n{' ' * (key.start_mark.column + 2)}" if commented else ""
            self.edits.append(
                _Edit(
                    start, end, lead + written.removeprefix("k:").lstrip(" " if commented else "")
                )
            )

    def _change_scalar(self, node: yaml.ScalarNode, new: Json, *, flow: bool) -> None:
        if (
            node.style in ("|", ">")
            or (isinstance(new, str) and "\n" in new and not flow)
            or node.start_mark.index == node.end_mark.index
        ):
            raise _NotEditableError
        text = (
            self._write_block(new).rstrip("\n")
            if not flow or not isinstance(new, str) or _WORD.fullmatch(new)
            else self._write_flow(new)
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
                text = self._write_flow(new) if flow else self._write_block(new).rstrip("\n")
        self.edits.append(_Edit(node.start_mark.index, node.end_mark.index, text))

    def _change_sequence(
        self, node: yaml.SequenceNode, old: JsonArray, new: JsonArray, *, flow: bool
    ) -> None:
        if len(node.value) != len(old):
            raise _NotEditableError
        if len(new) < len(old):
            self._shorten(node, old, new, flow=flow)
            return
        for child, before, after in zip(node.value, old, new, strict=False):
            if not same_json(before, after):
                self._change_item(child, before, after, node, flow=flow)
        extra = new[len(old) :]
        if extra and flow:
            self._append_flow(
                node.value[-1] if node.value else None, [self._write_flow(item) for item in extra]
            )
        elif extra:
            end = self._find_line_end(self._find_end(node.value[-1]))
            self.edits.append(
                _Edit(
                    end, end, "\n" + self._write_block(extra, node.start_mark.column).rstrip("\n")
                )
            )

    def _change_item(
        self, child: yaml.Node, before: Json, after: Json, node: yaml.SequenceNode, *, flow: bool
    ) -> None:
        mark = len(self.edits)
        try:
            self.change(child, before, after, flow=flow)
        except _NotEditableError:
            del self.edits[mark:]
            start, end = (
                (int(child.start_mark.index), self._find_end(child))
                if flow
                else (self._find_dash(child), self._find_end(child))
            )
            text = (
                self._write_flow(after)
                if flow
                else self._write_block([after], node.start_mark.column).strip()
            )
            self.edits.append(_Edit(start, end, text))

    def _shorten(
        self, node: yaml.SequenceNode, old: JsonArray, new: JsonArray, *, flow: bool
    ) -> None:
        """Delete the lines of removed items; possible if the other items are unchanged."""
        if flow or not new:
            raise _NotEditableError
        left = list(new)
        for child, before in zip(node.value, old, strict=True):
            if left and same_json(before, left[0]):
                left.pop(0)
                continue
            start = self.text.rfind("\n", 0, self._find_dash(child)) + 1
            self.edits.append(
                _Edit(
                    start, min(self._find_line_end(self._find_end(child)) + 1, len(self.text)), ""
                )
            )
        if left:
            raise _NotEditableError

    def _find_dash(self, item: yaml.Node) -> int:
        """Return the position of an item's dash, which must be the first on its line."""
        start = self.text.rfind("\n", 0, item.start_mark.index) + 1
        before = self.text[start : item.start_mark.index]
        if before.strip() != "-":
            raise _NotEditableError
        return start + before.index("-")

    def _append_flow(self, last: yaml.Node | None, words: list[str]) -> None:
        if last is None:
            raise _NotEditableError
        end = self._find_end(last)
        self.edits.append(_Edit(end, end, "".join(f", {word}" for word in words)))

    def _append_entries(self, node: yaml.MappingNode, added: JsonObject) -> None:
        if not node.value:
            raise _NotEditableError
        column = node.value[0][0].start_mark.column
        end = self._find_line_end(self._find_end(node.value[-1][1]))
        self.edits.append(_Edit(end, end, "\n" + self._write_block(added, column).rstrip("\n")))

    def _delete_entry(self, key: yaml.Node, value: yaml.Node) -> None:
        start = key.start_mark.index - key.start_mark.column
        if self.text[start : key.start_mark.index].strip():
            raise _NotEditableError  # the first key of a list item is behind its dash
        end = self._find_line_end(self._find_end(value))
        self.edits.append(_Edit(start, min(end + 1, len(self.text)), ""))

    def _find_end(self, node: yaml.Node) -> int:
        """Return the end of a node's text; the parser's mark may be at the next token."""
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
        return self._find_end(last[1] if isinstance(last, tuple) else last)

    def _find_line_end(self, index: int) -> int:
        """Return the end of the line, so that a comment behind a value stays with it."""
        end = self.text.find("\n", index)
        return len(self.text) if end < 0 else end


def _find_renames(old: JsonObject, new: JsonObject) -> dict[str, str]:
    """Return the keys that only changed their name: old name -> new name.

    Their value is the same, or as many keys were added as removed, in the same order.
    """
    removed = [name for name in old if name not in new]
    added = [name for name in new if name not in old]
    renames: dict[str, str] = {}
    names_by_value: dict[str, list[str]] = {}
    for name in reversed(added):
        names_by_value.setdefault(json.dumps(new[name]), []).append(name)
    for name in removed if added else ():
        matches = names_by_value.get(json.dumps(old[name]))
        if matches:
            renames[name] = matches.pop()
    unmatched = [name for name in removed if name not in renames]
    used = set(renames.values())
    added = [name for name in added if name not in used]
    if len(old) == len(new) and len(unmatched) == len(added):
        renames.update(zip(unmatched, added, strict=True))
    return renames
