"""Repository paths as callers write them."""

from __future__ import annotations

import posixpath

from commonplace.instructions.errors import INVALID_RULE_PATH
from commonplace.instructions.fields import MAX_PATH_CHARS
from commonplace.kernel.errors import CommonplaceError


def normalise_path(path: str, field: str = "path") -> str:
    """Return a path relative to the repository with `/` between its parts.

    Raises INVALID_RULE_PATH for a path that is absolute, leaves the repository, is empty or too
    long, or holds control characters.
    """
    problem = _find_problem(path)
    normal = posixpath.normpath(path.replace("\\", "/")) if problem is None else ""
    if problem is None and (normal.startswith("../") or normal in ("..", ".")):
        problem = "leaves the repository" if normal != "." else "names no file"
    if problem is not None:
        raise CommonplaceError(
            INVALID_RULE_PATH,
            f"The path {problem}.",
            hint="Give a path relative to the top of the repository, such as src/app.py.",
            details={"field": field},
        )
    return normal


def _find_problem(path: str) -> str | None:
    if not path.strip():
        return "is empty"
    if len(path) > MAX_PATH_CHARS:
        return f"has {len(path)} characters; at most {MAX_PATH_CHARS} are allowed"
    if any(ord(character) < 32 or ord(character) == 127 for character in path):
        return "holds control characters"
    if any("\ud800" <= character <= "\udfff" for character in path):
        return "is not valid text"
    if path.startswith(("/", "~", "\\")) or path[1:3] in (":/", ":\\"):
        return "is not relative"
    return None
