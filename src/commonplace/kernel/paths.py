"""File paths: `~`, working folders, and names spelled in the alphabet of stored paths.

The working folder is that of the process, except in a server that several clients share.
A byte of UTF-8 that is not in the alphabet `A-Za-z0-9_.-` is spelled `_xHH` (ADR 0225).
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

_ILLEGAL = re.compile(rb"[^A-Za-z0-9_.-]")
_SUFFIX = re.compile(r"(.*)_([0-9]+)(\.[^.]*)?", re.DOTALL)
_folder: ContextVar[Path | None] = ContextVar("working_folder", default=None)


def expand_home(path: str | Path) -> Path:
    """Replace `~` and `~user`. A path stays as it is where there is no such home folder."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 - Path.expanduser would raise


def spell_segment(name: str) -> str:
    """Return a path segment in the alphabet of stored paths; a legal one is returned unchanged.

    Raises `UnicodeEncodeError` for a name that is not valid UTF-8.
    """
    return _ILLEGAL.sub(lambda found: b"_x%02X" % found[0][0], name.encode()).decode()


def number_segment(name: str, count: int) -> str:
    """Return the `count`-th choice for a name: itself, then `name_2.md`, `name_3.md`, ..."""
    if count == 1:
        return name
    stem, dot, extension = name.rpartition(".")
    return f"{stem}_{count}.{extension}" if stem and dot else f"{name}_{count}"


def is_spelling_of(name: str, source: str) -> bool:
    """Tell whether a stored segment spells an original name, with or without a number."""
    if name == source:
        return True
    try:
        spelled = spell_segment(source)
    except UnicodeEncodeError:
        return False
    if spelled == source:  # a legal name is stored unchanged
        return False
    found = _SUFFIX.fullmatch(name)
    return name == spelled or (found is not None and number_segment(spelled, int(found[2])) == name)


def working_folder() -> Path:
    """Return the folder of the present call."""
    return _folder.get() or Path.cwd()


def start_at_folder(path: Path) -> Path:
    """Return a path that starts at the folder of the present call, unless it is absolute."""
    return path if path.is_absolute() else working_folder() / path


@contextlib.contextmanager
def working_in(folder: str) -> Iterator[None]:
    """Let calls inside start at a folder; empty: at that of the process.

    A thread sees only what it entered itself.
    """
    token = _folder.set(Path(folder) if folder else None)
    try:
        yield
    finally:
        _folder.reset(token)
