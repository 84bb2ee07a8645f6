"""Who uses a data folder: servers hold a shared lock on it, `restore` needs it alone."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path

from commonplace.kernel.errors import Code, CommonplaceError, Kind
from commonplace.storage.disk.private_files import open_private

DATA_IN_USE = Code(
    "DATA_IN_USE", Kind.CONFLICT, "A server is using the data folder; stop it first."
)
CODES: tuple[Code, ...] = (DATA_IN_USE,)
LOCK_NAME = ".in-use.lock"


@contextlib.contextmanager
def occupied(data: Path) -> Iterator[None]:
    """Share the folder with other servers. Waits for a restore under way."""
    try:
        data.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = open_private(data / LOCK_NAME, "a")
    except OSError:  # a data folder that cannot be written: reads go on, each write says so itself
        yield
        return
    with lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield


def in_use(data: Path) -> bool:
    """Whether a server uses the folder now."""
    try:
        with (data / LOCK_NAME).open("r") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # no such file: no server has ever run here
        return False
    return False


@contextlib.contextmanager
def alone(data: Path) -> Iterator[None]:
    """Have the folder to oneself, or raise DATA_IN_USE."""
    data.mkdir(parents=True, exist_ok=True, mode=0o700)
    with open_private(data / LOCK_NAME, "a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CommonplaceError(
                DATA_IN_USE, f"A server is using {data}.", hint="Stop it, then try again."
            ) from None
        yield
