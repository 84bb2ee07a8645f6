"""The socket of the local server: where it is, how to connect, how to take it over.

The holder of the lock file is the server. Only the holder removes a socket or binds it, so that a
socket of a server that was killed is recognised by the free lock and replaced.
"""

from __future__ import annotations

import os
import socket

TYPE_CHECKING = False  # importing it costs a megabyte
if TYPE_CHECKING:
    from collections.abc import Callable

SOCKET_NAME = "server.sock"
LOCK_NAME = "server.lock"
LOG_FOLDER = "logs"
LOG_NAME = "server.log"
STRAY_NAME = "server.err"  # what the interpreter prints beside the log
LONGEST_ADDRESS = 100  # bytes; systems allow 104 or 108
CONNECT_SECONDS = 5.0
BACKLOG = 64
LOST_RACE = 75  # exit code of a server that found another one (EX_TEMPFAIL)


def socket_path(data: str) -> str:
    """Return the path of the socket in a data folder."""
    return os.path.join(data, SOCKET_NAME)


def connect(data: str) -> socket.socket:
    """Connect to the server of a data folder.

    Raises FileNotFoundError or ConnectionRefusedError if none listens.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(CONNECT_SECONDS)
        _address(data, connection.connect)
    except BaseException:
        connection.close()
        raise
    connection.settimeout(None)
    return connection


def listen(data: str) -> socket.socket:
    """Return a listening socket for the owner alone. The caller holds the lock of the server."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        remove_socket(data)
        before = os.umask(0o177)
        try:
            _address(data, listener.bind)
        finally:
            os.umask(before)
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except BaseException:
        listener.close()
        raise
    return listener


def remove_socket(data: str) -> None:
    """Remove the socket. The caller holds the lock of the server."""
    try:
        os.unlink(socket_path(data))
    except FileNotFoundError:
        pass


def is_server_alive(data: str) -> bool:
    """Tell whether a server of the data folder runs or starts: whether its lock is held."""
    import fcntl

    try:
        descriptor = os.open(os.path.join(data, LOCK_NAME), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _address(data: str, use: Callable[[str], None]) -> None:
    """Call `use` with the address of the socket.

    A path that is too long for the system is used from inside its folder. The working folder is
    that of the whole process: call this before threads start.
    """
    path = socket_path(data)
    if len(os.fsencode(path)) <= LONGEST_ADDRESS:
        use(path)
        return
    here = os.open(".", os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.chdir(data)
        try:
            use(SOCKET_NAME)
        finally:
            os.fchdir(here)
    finally:
        os.close(here)
