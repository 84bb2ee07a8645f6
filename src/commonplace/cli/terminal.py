"""Write text that others wrote: byte for byte to a pipe or a file, with hidden characters made
visible on a terminal.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TextIO

from commonplace.kernel.hidden_characters import reveal, reveal_json


def is_terminal(stream: TextIO) -> bool:
    """Tell whether a person reads this stream; a closed or replaced one is no terminal."""
    try:
        return stream.isatty()
    except (AttributeError, ValueError):
        return False


def write_text(text: str) -> None:
    """Write to stdout.

    A pipe or a file gets the UTF-8 bytes of the text, whatever the terminal's encoding.
    """
    _write(sys.stdout, text, reveal)


def write_json(text: str) -> None:
    """Write JSON text to stdout; on a terminal hidden characters become escapes of JSON."""
    _write(sys.stdout, text, reveal_json)


def complain(text: str) -> None:
    """Write a line to stderr."""
    sys.stderr.write((reveal(text) if is_terminal(sys.stderr) else text) + "\n")


def _write(stream: TextIO, text: str, shown: Callable[[str], str]) -> None:
    if is_terminal(stream):
        stream.write(shown(text))
        return
    binary = getattr(stream, "buffer", None)
    if binary is None:  # one that stands for another thing, in a test
        stream.write(text)
        return
    stream.flush()
    binary.write(text.encode("utf-8", "surrogatepass"))
    binary.flush()
