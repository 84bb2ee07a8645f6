"""The name of a data folder among those that feed one audit trail."""

from __future__ import annotations

import re
import secrets
import socket
from pathlib import Path

from commonplace.storage.disk.atomic_write import write_atomically
from commonplace.storage.disk.private_files import make_private_folder
from commonplace.storage.locks.file_lock import exclusive_lock

FILE_NAME = "server.id"
_FORM = re.compile(r"[A-Za-z0-9._-]{1,100}")


def read_origin(data: Path) -> str:
    """Return the name of a data folder: its host and a random part, made once."""
    path = data / FILE_NAME
    make_private_folder(data)
    with exclusive_lock(path.with_suffix(".lock")):
        try:
            name = path.read_text("ascii").strip()
        except (OSError, UnicodeDecodeError):
            name = ""
        if not _FORM.fullmatch(name):
            host = re.sub(r"[^A-Za-z0-9._-]", "-", socket.gethostname())[:80] or "server"
            name = f"{host}-{secrets.token_hex(4)}"
            write_atomically(path, f"{name}\n".encode())
    return name
