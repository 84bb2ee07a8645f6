"""The platforms the product runs on: Linux, macOS, and Windows through WSL."""

from __future__ import annotations

import sys

UNSUPPORTED = (
    "commonplace does not run on Windows itself. Install it inside the Windows Subsystem for "
    "Linux: run `wsl --install` once, then install and start commonplace in the WSL shell."
)


def unsupported_platform() -> str | None:
    """Return what to tell the user of a platform that is not supported, or None."""
    return UNSUPPORTED if sys.platform == "win32" else None
