"""Files and folders that hold private data are for their owner alone: made so, and tightened
where an older version made them.
"""

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
    """Make a folder for its owner alone, and the missing ones above it.

    One that is there keeps its mode.
    """
    if folder.is_dir():
        return
    make_private_folder(folder.parent)
    folder.mkdir(exist_ok=True, mode=FOLDER_MODE)


def make_private_file(path: Path, *suffixes: str) -> None:
    """Make a file for its owner alone, and tighten it and those beside it that have these suffixes.

    Content is left alone.
    """
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE))
    for suffix in suffixes:
        tighten(Path(f"{path}{suffix}"))


def open_private(path: Path | str, mode: str = "wb") -> IO[Any]:
    """Open a file for writing, made for its owner alone."""
    return open(
        path, mode, opener=lambda name, flags: os.open(name, flags | os.O_CLOEXEC, FILE_MODE)
    )


def tighten(path: Path) -> bool:
    """Take the access of others from a file or folder of ours. Returns whether it had any."""
    try:
        status = path.lstat()
        mode = stat.S_IMODE(status.st_mode)
        if stat.S_ISLNK(status.st_mode) or not mode & OTHERS or status.st_uid != os.geteuid():
            return False
        path.chmod(mode & ~OTHERS)
    except OSError:
        return False
    return True


def open_to_others(folder: Path) -> Iterator[Path]:
    """Yield what others may use of a data folder: the folder, and what lies directly in it.

    A closed folder closes all below it.
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


def tighten_data_folder(folder: Path) -> int:
    """Tighten what lies directly in a data folder; the folder itself is the operator's.

    Returns how many were open.
    """
    return sum(tighten(path) for path in open_to_others(folder) if path != folder)
