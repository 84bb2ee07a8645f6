"""Force written data to the disk, on each platform by the call that really does so.

On macOS `fsync` hands the data to the drive, which may keep it in a volatile cache; only
`fcntl(F_FULLFSYNC)` waits for the disk. File systems that do not support it (network shares) get
`fsync`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def sync_file(descriptor: int) -> None:
    """Wait until the content and the metadata of a file are on the disk."""
    if sys.platform == "darwin" and _full_sync(descriptor):
        return
    os.fsync(descriptor)


def sync_data(descriptor: int) -> None:
    """Wait until the content of a file is on the disk; metadata such as times may follow later."""
    if hasattr(os, "fdatasync"):
        os.fdatasync(descriptor)
    else:
        sync_file(descriptor)


def sync_folder(folder: Path | str) -> None:
    """Wait until the names in a folder are on the disk: after files were created or renamed."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _full_sync(descriptor: int) -> bool:
    import fcntl

    command: int | None = getattr(fcntl, "F_FULLFSYNC", None)
    if command is None:
        return False
    try:
        fcntl.fcntl(descriptor, command)
    except OSError:
        return False
    return True
