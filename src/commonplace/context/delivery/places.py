"""Paths of the repository, from paths as clients write them."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Sequence

MAX_LEVELS = 64

RootFinder = Callable[[str], str | None]


def find_repository(folder: str) -> str | None:
    """Return the nearest folder that contains `.git`, from a folder that may not exist yet."""
    for _ in range(MAX_LEVELS):
        if os.path.lexists(posixpath.join(folder, ".git")):
            return folder
        above = posixpath.dirname(folder)
        if above == folder:
            return None
        folder = above
    return None


def no_repository(folder: str) -> str | None:
    """Look at no disk: the client runs on another machine."""
    return None


def repository_path(path: str, roots: Sequence[str], find_root: RootFinder) -> str | None:
    """Return a path relative to its repository, or None outside of any.

    Without a repository, the folders that the client works in count as its top, the widest first.
    """
    if "\\" in path and "/" not in path:
        path = path.replace("\\", "/")
    base = roots[0] if roots else "/"
    absolute = posixpath.normpath(posixpath.join(base, path))
    if not absolute.startswith("/"):
        return None
    root = find_root(posixpath.dirname(absolute))
    tops = [root] if root is not None else sorted(roots, key=len)
    for top in tops:
        relative = posixpath.relpath(absolute, posixpath.normpath(top))
        if relative != "." and not relative.startswith("../") and relative != "..":
            return relative
    return None
