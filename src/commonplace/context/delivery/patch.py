"""Read the paths out of a patch in the format of Codex's tool `apply_patch`.

The format: a line `*** Add File: PATH`, `*** Update File: PATH` (optionally followed by
`*** Move to: PATH`) or `*** Delete File: PATH` begins each file. The patch may be inside a shell
command (`apply_patch <<'EOF'`).
"""

from __future__ import annotations

import re

MAX_PATCH_CHARS = 4_000_000
_HEADER = re.compile(r"^\*\*\* (?:Add File|Update File|Move to): (.+?)[ \t\r]*$", re.MULTILINE)


def find_patched_paths(patch: str, limit: int) -> tuple[str, ...]:
    """Return the distinct paths that a patch writes, in its order; deleted files are left out."""
    paths: dict[str, None] = {}
    for header in _HEADER.finditer(patch[:MAX_PATCH_CHARS]):
        paths[header[1]] = None
        if len(paths) == limit:
            break
    return tuple(paths)
