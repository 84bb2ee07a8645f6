"""Paths that begin with `~`."""

from __future__ import annotations

import os
from pathlib import Path


def expanded(path: str | Path) -> Path:
    """`~` and `~user` resolved.

    Where there is no such home the path stays as it is; pathlib would raise.
    """
    return Path(os.path.expanduser(path))  # noqa: PTH111 - see above
