"""Imports in rule files: `@path` outside code, as Claude Code and Gemini CLI read them."""

from __future__ import annotations

import posixpath
import re

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_SPAN = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.S)
_IMPORT = re.compile(r"(?:^|(?<=\s))@((?:\\ |[^\s`])+)", re.M)
_COMMENT = re.compile(r"^[ \t]*<!--.*?-->[ \t]*\n?", re.S | re.M)


def blank_code(text: str) -> str:
    """Replace fenced blocks and code spans by spaces, so that offsets stay the same."""
    lines, fence = [], ""
    for line in text.splitlines(keepends=True):
        found = _FENCE.match(line)
        if fence:
            closing = found is not None and found[1].startswith(fence)
            lines.append(_blank(line))
            fence = "" if closing else fence
        elif found:
            fence = found[1]
            lines.append(_blank(line))
        else:
            lines.append(line)
    return _SPAN.sub(lambda span: _blank(span[0]), "".join(lines))


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def imported_paths(text: str) -> list[str]:
    """List the paths that a text imports, in order, as they are written."""
    paths = [found[1].replace("\\ ", " ") for found in _IMPORT.finditer(blank_code(text))]
    return [path for path in paths if path.strip("@")]


def strip_block_comments(text: str) -> str:
    """Remove HTML comments that stand on lines of their own, outside code."""
    visible = blank_code(text)
    kept, at = [], 0
    for comment in _COMMENT.finditer(visible):
        kept.append(text[at : comment.start()])
        at = comment.end()
    return "".join(kept) + text[at:]


def resolve(importer: str, written: str) -> str | None:
    """Turn a written path into one of the tree; None for URLs and what leaves every root."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", written):
        return None
    if written.startswith("~/"):
        path = "~/" + posixpath.normpath(written[2:])
        return None if path.startswith("~/..") else path
    if written.startswith("/"):
        return posixpath.normpath(written)
    base = posixpath.dirname(importer)
    path = posixpath.normpath(posixpath.join(base, written))
    return None if path.startswith("..") or path in (".", "~") else path
