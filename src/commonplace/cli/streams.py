"""A stderr that cannot fail.

A closed stderr or a full disk behind it must not stop a server or change an exit code.
"""

from __future__ import annotations

import io
import os
import sys
from typing import TextIO

STDERR = 2


class TolerantStream(io.TextIOBase):
    """Write directly to a descriptor and ignore errors; unbuffered, so nothing fails at exit."""

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
            pass  # nowhere left to report it
        return len(text)

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return self._stream.isatty()

    def writable(self) -> bool:
        return True


def tolerate_stderr() -> None:
    """Replace sys.stderr by a stream that cannot fail, unless it was replaced already."""
    if sys.stderr is None:  # the descriptor was closed
        nowhere = os.open(os.devnull, os.O_WRONLY)
        if nowhere != STDERR:  # else a database file could get descriptor 2
            os.dup2(nowhere, STDERR)
            os.close(nowhere)
        sys.stderr = os.fdopen(STDERR, "w", encoding="utf-8", closefd=False)
    elif sys.__stderr__ is not None and sys.stderr is sys.__stderr__:
        sys.stderr = TolerantStream(sys.__stderr__)
