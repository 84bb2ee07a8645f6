"""Replace a file so that readers see the old or the new content, never a part of it."""

from __future__ import annotations

import os
from pathlib import Path

from commonplace.kernel.durability import sync_file, sync_folder
from commonplace.storage.disk.private_files import FILE_MODE


def write_atomically(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Replace the content of a file, for the owner alone.

    With `durable`, return when the content and the name are on the disk.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, FILE_MODE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        if durable:
            file.flush()
            sync_file(descriptor)
    draft.replace(path)
    if durable:
        sync_folder(path.parent)
