"""Files and folders that only their owner can access."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

FILE_MODE = 0o600
FOLDER_MODE = 0o700
OTHERS = 0o077


def make_private_folder(folder: Path) -> None:
    """Create a folder, and missing ones above it, for the owner alone.

    An existing folder keeps its mode.
    """
    if folder.is_dir():
        return
    make_private_folder(folder.parent)
    folder.mkdir(exist_ok=True, mode=FOLDER_MODE)


def make_private_file(path: Path, *suffixes: str) -> None:
    """Create a file for the owner alone, and restrict it and files beside it with these suffixes.

    Existing content is kept.
    """
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE))
    for suffix in suffixes:
        restrict_to_owner(Path(f"{path}{suffix}"))


def open_private(path: Path | str, mode: str = "wb") -> IO[Any]:
    """Open a file for writing; a new one is for the owner alone."""
    return open(
        path, mode, opener=lambda name, flags: os.open(name, flags | os.O_CLOEXEC, FILE_MODE)
    )


def restrict_to_owner(path: Path) -> bool:
    """Remove the access of others to a path that we own. Return whether there was any."""
    try:
        status = path.lstat()
        mode = stat.S_IMODE(status.st_mode)
        if stat.S_ISLNK(status.st_mode) or not mode & OTHERS or status.st_uid != os.geteuid():
            return False
        path.chmod(mode & ~OTHERS)
    except OSError:
        return False
    return True


def find_exposed_paths(folder: Path) -> Iterator[Path]:
    """Yield what others can access of a data folder: the folder, and what is directly in it.

    A restricted folder protects everything below it.
    """
    try:
        candidates = [folder, *sorted(folder.iterdir())]
    except OSError:
        return
    for path in candidates:
        try:
            status = path.lstat()
        except OSError:
            continue
        if (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)) and stat.S_IMODE(
            status.st_mode
        ) & OTHERS:
            yield path


def restrict_data_folder(folder: Path) -> int:
    """Restrict what is directly in a data folder; the folder itself belongs to the operator.

    Returns how many paths were exposed.
    """
    return sum(restrict_to_owner(path) for path in find_exposed_paths(folder) if path != folder)
