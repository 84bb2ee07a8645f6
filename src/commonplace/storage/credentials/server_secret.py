"""The secret that all servers of one installation share, created by its first use.

It is a row of the database on PostgreSQL, else a file of the owner in the data folder. Use it to
sign what one server hands out and another must accept, such as the cookie of the console.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.kernel.errors import INVALID_CONFIG, CommonplaceError
from commonplace.storage.disk.atomic_write import write_atomically
from commonplace.storage.disk.private_files import make_private_folder
from commonplace.storage.locks.file_lock import exclusive_lock
from commonplace.storage.queries import load_postgres_queries

if TYPE_CHECKING:
    from commonplace.storage.postgres.connection import PostgresConnection
    from commonplace.storage.postgres.database import PostgresDatabase

SECRET_BYTES = 32
FILE_NAME = "server.secret"
ROW_NAME = "server"


class ServerSecret:
    """The shared secret. It is read once, when a key is first derived from it. Thread-safe."""

    def __init__(self, read: Callable[[], bytes]) -> None:
        self._read = read
        self._secret: bytes | None = None
        self._lock = threading.Lock()

    def derive(self, purpose: str) -> bytes:
        """Return a key of 32 bytes for one purpose, the same on every server.

        Keys of different purposes reveal nothing of each other. Raises STORAGE_UNAVAILABLE if the
        database cannot be reached before the secret was ever read.
        """
        with self._lock:
            if self._secret is None:
                self._secret = self._read()
            return hmac.new(self._secret, purpose.encode(), hashlib.sha256).digest()


def read_secret_file(data: Path) -> bytes:
    """Return the secret of a data folder; create it if it is missing."""
    path = data / FILE_NAME
    make_private_folder(data)
    with exclusive_lock(path.with_suffix(".lock")):
        if not path.exists():
            write_atomically(path, secrets.token_hex(SECRET_BYTES).encode() + b"\n")
        try:
            secret = bytes.fromhex(path.read_text("ascii").strip())
        except ValueError:
            secret = b""
    if len(secret) != SECRET_BYTES:
        raise CommonplaceError(
            INVALID_CONFIG,
            f"The file {path} is damaged.",
            hint="Restore it from a backup, or remove it: a new secret is made, and people sign "
            "in to the console again.",
        )
    return secret


def read_secret_row(database: PostgresDatabase) -> bytes:
    """Return the secret of a database; create it if it is missing."""
    queries = load_postgres_queries("commonplace.storage.credentials")

    def read_or_add(connection: PostgresConnection) -> bytes:
        made = {"name": ROW_NAME, "secret": secrets.token_bytes(SECRET_BYTES)}
        connection.execute(queries["add_secret"], made)
        row = connection.execute(queries["read_secret"], {"name": ROW_NAME}).fetchone()
        assert row is not None
        return bytes(row[0])

    return database.write_now(read_or_add)
