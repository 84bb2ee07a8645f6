"""Write user content: unchanged to a pipe or a file, hidden characters visible on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TextIO

from commonplace.kernel.hidden_characters import reveal, reveal_json


def is_terminal(stream: TextIO) -> bool:
    """Tell whether a stream is a terminal; closed or replaced streams are not."""
    try:
        return stream.isatty()
    except (AttributeError, ValueError):
        return False


def write_text(text: str) -> None:
    """Write text to stdout, as UTF-8 if it is a pipe or a file."""
    _write(sys.stdout, text, reveal)


def write_json(text: str) -> None:
    """Write JSON to stdout; on a terminal hidden characters become JSON escapes."""
    _write(sys.stdout, text, reveal_json)


def write_error(text: str) -> None:
    """Write a line to stderr."""
    sys.stderr.write((reveal(text) if is_terminal(sys.stderr) else text) + "\n")


def _write(stream: TextIO, text: str, shown: Callable[[str], str]) -> None:
    if is_terminal(stream):
        stream.write(shown(text))
        return
    binary = getattr(stream, "buffer", None)
    if binary is None:  # a stream that a test put in place
        stream.write(text)
        return
    stream.flush()
    binary.write(text.encode("utf-8", "surrogatepass"))
    binary.flush()
