"""Edits of a text: pieces replaced one after the other, all or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from commonplace.files.checks import invalid
from commonplace.files.engine.content import encode
from commonplace.files.errors import EDIT_NOT_UNIQUE
from commonplace.kernel.errors import CommonplaceError

MOST_EDITS = 100
LINES_SHOWN = 10


@dataclass(frozen=True, slots=True)
class TextEdit:
    """A piece of text that occurs once, or any number of times with `replace_all`, and its heir."""

    old_text: str
    new_text: str
    replace_all: bool = False


class EditSequence:
    """The edits of one call; each sees what the ones before it made.

    Raises INVALID_ARGUMENT if they are not text. `size` are their bytes.
    """

    def __init__(self, edits: Sequence[TextEdit]) -> None:
        if not 1 <= len(edits) <= MOST_EDITS:
            raise invalid("edits", f"edits has 1 to {MOST_EDITS} items, not {len(edits)}")
        self._many = len(edits) > 1
        self._edits = [self._encode(at, edit) for at, edit in enumerate(edits)]
        self.size = sum(len(old) + len(new) for old, new, _ in self._edits)
        self.replacements = 0

    def apply(self, content: bytes) -> bytes:
        """Return the edited content, and count `replacements`; EDIT_NOT_UNIQUE."""
        original, self.replacements = content, 0
        for at, (old, new, replace_all) in enumerate(self._edits):
            count = content.count(old)
            if count == 0 or (count > 1 and not replace_all):
                raise self._refuse(at, content, original)
            content = content.replace(old, new)
            self.replacements += count
        return content

    def _encode(self, at: int, edit: TextEdit) -> tuple[bytes, bytes, bool]:
        prefix = self._name(at)
        if not edit.old_text:
            raise invalid(f"{prefix}old_text", f"{prefix}old_text must not be empty")
        old = encode(edit.old_text, f"{prefix}old_text")
        return old, encode(edit.new_text, f"{prefix}new_text"), edit.replace_all

    def _name(self, at: int) -> str:
        return f"edits[{at}]." if self._many else ""

    def _refuse(self, at: int, content: bytes, original: bytes) -> CommonplaceError:
        """Say which edit cannot be made, where its text occurs, and why it does not."""
        old = self._edits[at][0]
        places = _find_lines(content, old)
        count = content.count(old)
        if places:
            more = ", ..." if count > len(places) else ""
            found = f"{count} times, on lines {', '.join(map(str, places))}{more}"
            hint = "Add surrounding lines until it is unique, or pass replace_all."
        else:
            found, hint = "0 times", _explain_absence(content, original, old)
        details = {"count": count, **({"lines": places} if places else {})}
        if self._many:
            details["edit"] = at
        return CommonplaceError(
            EDIT_NOT_UNIQUE,
            f"{self._name(at)}old_text occurs {found}; nothing was changed.",
            hint=hint,
            details=details,
        )


def _find_lines(content: bytes, old: bytes) -> list[int]:
    """Return the lines on which the first occurrences begin."""
    lines: list[int] = []
    line, counted = 1, 0
    at = content.find(old)
    while at >= 0 and len(lines) < LINES_SHOWN:
        line += content.count(b"\n", counted, at)
        counted = at
        lines.append(line)
        at = content.find(old, at + len(old))
    return lines


def _explain_absence(content: bytes, original: bytes, old: bytes) -> str:
    if old in original:
        return "An earlier edit of this call changed this text; edits are applied in order."
    if b"\r\n" in content and old.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n") in content:
        return "The lines of this file end with CR LF; write \\r\\n in old_text and new_text."
    if b"\r\n" in old and old.replace(b"\r\n", b"\n") in content:
        return "The lines of this file end with LF alone; write \\n in old_text."
    if stripped := old.strip():
        places = _find_lines(content, stripped)
        if places:
            return f"With other white space around it, it is on line {places[0]}."
    return "Copy the text exactly as file_read shows it, white space included."
