"""Syntax of globs: `*` stays in a folder, `**` crosses folders, braces expand."""

from __future__ import annotations

import functools
import re

BRACE_LIMIT = 1_000  # expanded patterns of one rule, as Claude Code has it
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")


def expand_braces(pattern: str, limit: int = BRACE_LIMIT) -> list[str]:
    """Expand `{a,b}` groups; a pattern with more than `limit` expansions gives none."""
    expanded = [pattern]
    while any(_BRACES.search(alternative) for alternative in expanded):
        following: list[str] = []
        for alternative in expanded:
            group = _BRACES.search(alternative)
            if group is None:
                following.append(alternative)
                continue
            head, tail = alternative[: group.start()], alternative[group.end() :]
            following += [head + choice + tail for choice in group[1].split(",")]
            if len(following) > limit:
                return []
        expanded = following
    return expanded


@functools.lru_cache(16_384)
def compile_glob(pattern: str) -> re.Pattern[str] | None:
    """Translate a glob without braces to an expression that runs in linear time.

    Returns None if the text is not a glob.
    """
    import re2

    source = _translate(pattern.strip().removeprefix("./"))
    if source is None:
        return None
    options = re2.Options()
    options.log_errors = False  # RE2 writes them to stderr
    try:
        compiled: re.Pattern[str] = re2.compile(source, options)
    except re2.error:
        return None
    return compiled


def _translate(pattern: str) -> str | None:
    out, at = [], 0
    while at < len(pattern):
        if pattern.startswith("**/", at) and (at == 0 or pattern[at - 1] == "/"):
            out.append("(?:.*/)?")
            at += 3
        elif pattern.startswith("**", at):
            out.append(".*")
            at += 2
        elif pattern[at] == "*":
            out.append("[^/]*")
            at += 1
        elif pattern[at] == "?":
            out.append("[^/]")
            at += 1
        elif pattern[at] == "[":
            end = pattern.find("]", at + 2)
            if end < 0:
                return None
            members = pattern[at + 1 : end].replace("\\", "\\\\")
            out.append("[" + ("^" + members[1:] if members[0] in "!^" else members) + "]")
            at = end + 1
        elif pattern[at] == "\\" and at + 1 < len(pattern):
            out.append(re.escape(pattern[at + 1]))
            at += 2
        else:
            out.append(re.escape(pattern[at]))
            at += 1
    return "(?s)" + "".join(out)
