"""The name and the path of this program, as a shell or a client would call it."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

NAME = "commonplace"


def find_program_name() -> str:
    """Return the name to call this program by: its path if it is not on PATH."""
    invoked = Path(sys.argv[0])
    if invoked.name == "__main__.py" and invoked.parent.name == NAME:
        return f"{_short(Path(sys.executable))} -m {NAME}"
    found = shutil.which(NAME)
    if found is not None and os.path.realpath(found) == os.path.realpath(invoked):
        return NAME
    return _short(invoked) if invoked.name == NAME and invoked.exists() else NAME


def _short(path: Path) -> str:
    """Return the path relative to the working directory if it is below it."""
    absolute = path.absolute()  # not resolved: the interpreter of a virtual environment is a link
    return (
        str(absolute.relative_to(Path.cwd()))
        if absolute.is_relative_to(Path.cwd())
        else str(absolute)
    )


def executable() -> Path:
    """Return the path of the `commonplace` command that belongs to this Python."""
    beside = Path(sys.executable).with_name("commonplace")
    return beside if beside.exists() else Path(shutil.which("commonplace") or sys.argv[0])
