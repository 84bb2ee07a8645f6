"""Globs over the paths of a project."""

from __future__ import annotations

import re
from collections.abc import Sequence

from commonplace.files.checks import invalid
from commonplace.files.model import FilePath
from commonplace.kernel.text.globs import compile_glob, expand_braces

MOST_GLOBS = 20
MOST_EXPANDED = 200  # after braces
_LITERAL = re.compile(r"[A-Za-z0-9_./-]*/")


class PathGlobs:
    """Which paths a search reads; any of them without globs.

    A glob without a slash is about the name of a file, in any folder; one with a slash about the
    whole path. `!` excludes. Raises INVALID_ARGUMENT.
    """

    def __init__(self, globs: Sequence[str]) -> None:
        if len(globs) > MOST_GLOBS:
            raise invalid("globs", f"globs has at most {MOST_GLOBS} items, not {len(globs)}")
        self._includes: list[re.Pattern[str]] = []
        self._excludes: list[re.Pattern[str]] = []
        starts: list[str] = []
        for at, written in enumerate(globs):
            excludes = written.startswith("!")
            plain = written[excludes:].strip().removeprefix("./")
            expanded = expand_braces(plain, MOST_EXPANDED)
            compiled = [compile_glob(_whole(pattern)) for pattern in expanded]
            patterns = [pattern for pattern in compiled if pattern is not None]
            if not plain or not patterns or len(patterns) < len(compiled):
                raise invalid("globs", f"globs[{at}] is not a glob: {written[:80]!r}")
            (self._excludes if excludes else self._includes).extend(patterns)
            if not excludes:
                starts += [_literal_start(_whole(pattern)) for pattern in expanded]
        self.prefix = _common_start(starts)
        """What every included path starts with."""

    def match(self, path: FilePath) -> bool:
        """Tell whether a path is included and not excluded."""
        return (
            not self._includes or any(pattern.fullmatch(path) for pattern in self._includes)
        ) and not any(pattern.fullmatch(path) for pattern in self._excludes)


def _whole(pattern: str) -> str:
    """Return a glob over whole paths, which start with a slash; a folder means all below it."""
    if "/" not in pattern.rstrip("/"):
        pattern = f"**/{pattern}"
    whole = pattern if pattern.startswith("/") else f"/{pattern}"
    return f"{whole}**" if whole.endswith("/") else whole


def _literal_start(pattern: str) -> str:
    start = _LITERAL.match(pattern)
    return start[0] if start is not None else ""


def _common_start(starts: Sequence[str]) -> str:
    if not starts:
        return ""
    first, last = min(starts), max(starts)
    common = next(
        (at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other),
        min(len(first), len(last)),
    )
    return first[:common]
