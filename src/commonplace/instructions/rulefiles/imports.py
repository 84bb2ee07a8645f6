"""Imports in rule files: `@path` outside code, as Claude Code and Gemini CLI read them."""

from __future__ import annotations

import posixpath
import re

from commonplace.instructions.rulefiles.markdown_code import blank_code

_IMPORT = re.compile(r"(?:^|(?<=\s))@((?:\\ |[^\s`])+)", re.M)
_COMMENT_START = re.compile(r"^[ \t]*<!--", re.M)
_LINE_END = re.compile(r"[ \t]*(?:\n|\Z)")


def imported_paths(text: str) -> list[str]:
    """List the paths that a text imports, in order, as they are written."""
    paths = [found[1].replace("\\ ", " ") for found in _IMPORT.finditer(blank_code(text))]
    return [path for path in paths if path.strip("@")]


def strip_block_comments(text: str) -> str:
    """Remove HTML comments that have whole lines, outside code."""
    visible = blank_code(text)
    kept, at = [], 0
    for opening in _COMMENT_START.finditer(visible):
        if opening.start() < at:
            continue
        closing = visible.find("-->", opening.end())
        if closing < 0:
            break
        line_end = _LINE_END.match(visible, closing + 3)
        if line_end:
            kept.append(text[at : opening.start()])
            at = line_end.end()
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
