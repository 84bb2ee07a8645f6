"""Globs of rule files, as the clients share them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.kernel.text.globs import (
    BRACE_LIMIT,
    compile_glob,
    expand_braces,
)

if TYPE_CHECKING:
    from collections.abc import Iterable


def matches_any(path: str, patterns: Iterable[str]) -> bool:
    """Tell whether a repository path matches one of the patterns.

    A pattern that starts with `!` takes back what the ones before it matched. Patterns with
    braces share a budget; one that would exceed it matches nothing.
    """
    matched, budget = False, BRACE_LIMIT
    for pattern in patterns:
        excluding = pattern.startswith("!")
        expanded = expand_braces(pattern[1:] if excluding else pattern, budget)
        if "{" in pattern:
            budget -= len(expanded)
        if any(_matches(path, alternative) for alternative in expanded):
            matched = not excluding
    return matched


def _matches(path: str, pattern: str) -> bool:
    compiled = compile_glob(pattern)
    return compiled is not None and compiled.fullmatch(path) is not None
