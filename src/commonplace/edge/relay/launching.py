"""Starting servers: the one of a data folder in the background, or one for a single client."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time

from commonplace.edge.relay.endpoint import (
    LOG_FOLDER,
    LOST_RACE,
    STRAY_NAME,
    connect,
    is_server_alive,
)

TYPE_CHECKING = False  # importing it costs a megabyte
if TYPE_CHECKING:
    from collections.abc import Sequence

START_SECONDS = 30.0
FIRST_PAUSE = 0.01
LONGEST_PAUSE = 0.1
MOST_STRAY_BYTES = 1 << 20


class StartFailed(Exception):
    """The server could not be started; `exit_code` is that of its process, if it ended."""

    def __init__(self, message: str, exit_code: int | None = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def serve_command(arguments: Sequence[str]) -> list[str]:
    """Return the command of a server with these options, in this installation.

    `-P` keeps a folder named commonplace in the working folder out of the way.
    """
    return [sys.executable, "-P", "-m", "commonplace", "serve", *arguments]


def connect_or_start(
    data: str, arguments: Sequence[str], seconds: float = START_SECONDS
) -> socket.socket:
    """Connect to the server of a data folder, starting it if none runs.

    `arguments` are those of `serve` that choose configuration and data. Processes that start one at
    the same time are settled by the lock of the server: the losers end and wait for the winner.
    Raises StartFailed.
    """
    deadline = time.monotonic() + seconds
    pause, child = FIRST_PAUSE, 0
    try:
        while True:
            try:
                return connect(data)
            except (FileNotFoundError, ConnectionRefusedError):
                pass
            except OSError as error:
                raise StartFailed(f"cannot connect: {error.strerror or error}") from None
            if child:
                child = _check_child(child)
            elif not is_server_alive(data):
                child = start_in_background(data, arguments)
            if time.monotonic() > deadline:
                raise StartFailed(f"it did not listen within {seconds:.0f} s")
            time.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
    finally:
        if child:
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombie when it stops one day


def _check_child(child: int) -> int:
    """Return the process, or 0 if it ended because another one serves. Raises StartFailed."""
    try:
        pid, status = os.waitpid(child, os.WNOHANG)
    except ChildProcessError:
        return 0
    if pid == 0:
        return child
    code = os.waitstatus_to_exitcode(status)
    if code != LOST_RACE:
        raise StartFailed(f"it ended with exit code {code}", code)
    return 0


def start_in_background(data: str, arguments: Sequence[str]) -> int:
    """Start the server of a data folder in a session of its own; return its process id."""
    folder = os.path.join(data, LOG_FOLDER)
    before = os.umask(0o077)
    try:
        os.makedirs(folder, exist_ok=True)
    finally:
        os.umask(before)
    path = os.path.join(folder, STRAY_NAME)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    stray = os.open(path, flags, 0o600)
    if os.fstat(stray).st_size > MOST_STRAY_BYTES:
        os.ftruncate(stray, 0)
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    command = serve_command(["--socket", *arguments])
    try:
        return spawn(command, (null, null, stray), detach=True)
    finally:
        os.close(stray)
        os.close(null)


def start_own(arguments: Sequence[str]) -> tuple[int, int, int]:
    """Start a server for one client on pipes; return where to read, where to write, its id."""
    read_here, write_there = os.pipe()
    read_there, write_here = os.pipe()
    try:
        child = spawn(serve_command(arguments), (read_there, write_there, 2), detach=False)
    finally:
        os.close(read_there)
        os.close(write_there)
    return read_here, write_here, child


def spawn(
    command: list[str], streams: tuple[int, int, int], *, detach: bool, folder: str = ""
) -> int:
    """Start a process on these streams and return its id.

    With `detach` it gets a session of its own; `folder` is where it runs.
    """
    child = os.fork()
    if child:
        return child
    try:
        if detach:
            os.setsid()
        if folder:
            os.chdir(folder)
        for number, descriptor in enumerate(streams):
            if descriptor != number:
                os.dup2(descriptor, number)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.execv(command[0], command)
    finally:
        os._exit(127)
