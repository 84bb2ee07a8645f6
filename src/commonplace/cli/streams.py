"""stderr that cannot fail: a full disk behind it, or none at all, must not stop a server or
change an exit code.
"""

from __future__ import annotations

import io
import os
import sys
from typing import TextIO

STDERR = 2


class TolerantStream(io.TextIOBase):
    """Writes straight to a descriptor and drops what it does not take.

    Nothing is buffered, so nothing fails at exit.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._descriptor = stream.fileno()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._stream.encoding or "utf-8"

    @property
    def errors(self) -> str:  # type: ignore[override]
        return self._stream.errors or "backslashreplace"

    def write(self, text: str) -> int:
        data = text.encode(self.encoding, self.errors)
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError:
            pass  # there is nowhere to say so
        return len(text)

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return self._stream.isatty()

    def writable(self) -> bool:
        return True


def tolerate_stderr() -> None:
    """Make stderr of this process one that cannot fail.

    A stream that somebody put in its place is left alone.
    """
    if sys.stderr is None:  # the descriptor was closed
        nowhere = os.open(os.devnull, os.O_WRONLY)
        if nowhere != STDERR:  # else a database could get this number, and stray lines with it
            os.dup2(nowhere, STDERR)
            os.close(nowhere)
        sys.stderr = os.fdopen(STDERR, "w", encoding="utf-8", closefd=False)
    elif sys.__stderr__ is not None and sys.stderr is sys.__stderr__:
        sys.stderr = TolerantStream(sys.__stderr__)
