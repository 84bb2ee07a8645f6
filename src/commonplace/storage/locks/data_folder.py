"""The lock of a data folder: servers share it, `restore` needs it exclusively."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from commonplace.kernel.errors import Code, CommonplaceError, Kind
from commonplace.storage.disk.private_files import FOLDER_MODE
from commonplace.storage.locks.file_lock import FileLock, lock_descriptor

DATA_IN_USE = Code(
    "DATA_IN_USE", Kind.CONFLICT, "A server is using the data folder; stop it first."
)
CODES: tuple[Code, ...] = (DATA_IN_USE,)
LOCK_NAME = ".in-use.lock"


@contextlib.contextmanager
def share_data_folder(data: Path) -> Iterator[None]:
    """Use the folder together with other servers. Waits for a running restore."""
    lock = FileLock(data / LOCK_NAME)
    with contextlib.suppress(OSError):  # not writable: reads work, each write reports it
        data.mkdir(parents=True, exist_ok=True, mode=FOLDER_MODE)
        lock.acquire(shared=True)
    try:
        yield
    finally:
        lock.release()


def is_data_folder_in_use(data: Path) -> bool:
    """Tell whether a server uses the folder now."""
    try:
        descriptor = os.open(data / LOCK_NAME, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # no lock file: no server has run here
        return False
    try:
        return not lock_descriptor(descriptor, wait=False)
    except OSError:
        return False
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def claim_data_folder(data: Path) -> Iterator[None]:
    """Use the folder exclusively. Raises DATA_IN_USE while a server uses it."""
    data.mkdir(parents=True, exist_ok=True, mode=FOLDER_MODE)
    lock = FileLock(data / LOCK_NAME)
    if not lock.acquire(wait=False):
        raise CommonplaceError(
            DATA_IN_USE, f"A server is using {data}.", hint="Stop it, then try again."
        )
    try:
        yield
    finally:
        lock.release()
