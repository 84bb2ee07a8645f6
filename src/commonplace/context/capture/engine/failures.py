"""Errors in the output of commands: the line that says what is wrong, and its signature."""

from __future__ import annotations

import re

MOST_LINE = 240
# Patterns of lines that say what is wrong, best first.
_SAYING = tuple(
    re.compile(pattern)
    for pattern in (
        r"^E {2,}(?P<line>\w*(?:Error|Exception|Warning|Failed)\b.*)$",
        (
            r"^\s*(?P<line>(?:[A-Za-z_][\w.]*\.)?[A-Z]\w*(?:Error|Exception|Failure|Panic|Timeout|"
            r"Interrupt|Exit|Fault)\b(?::|$| \[).*)$"
        ),
        (
            r"^(?:\S{1,160}:\d+:in [`'][^']{1,80}': )?(?P<line>.{4,200} "
            r"\((?:\w+::){0,4}\w*(?:Error|Exception)\))$"
        ),
        r"^\s*(?P<line>error(?:\[\w+\])?: .+)$",
        r"^(?P<line>.{0,160}\berror (?:TS|CS|C|LNK|MSB|NU|NETSDK)\d+:? .+)$",
        r"^(?P<line>\S{1,160}:\d+(?::\d+)?: (?:fatal )?error: .+)$",
        r"^\s*(?P<line>(?:thread '[^']{1,80}' panicked at|panic: |ERR_[A-Z_]{4,} ).+)$",
        r"^\s*(?P<line>\*\* \(\w[\w.]*\) .+)$",
        (
            r"^(?P<line>(?:ERROR|FATAL|fatal|Fatal error|PHP Fatal error|ERROR in|"
            r"Error response from daemon|psql: error|Error)(?:: |:\s|\s{1,2}).{4,})$"
        ),
        (
            r"^(?P<line>.{0,160}: (?:command not found|No such file or directory|not found|"
            r"Permission denied))$"
        ),
        r"^(?:bash|zsh|sh): (?:line \d+: )?(?P<line>.+)$",
        (
            r"^\s*(?:npm (?:ERR!|error)) (?P<line>(?!code |errno |syscall |path |A complete log|"
            r"This is|node |cwd |command |Test failed|Lifecycle |\s*$).{8,})$"
        ),
        r"^\s*(?P<line>(?:Caused by|cause|reason): .{6,})$",
        r"^(?P<line>make(?:\[\d+\])?: \*\*\* .+)$",
        (
            r"^(?P<line>.{0,120}\b(?:undefined: |undefined reference to |cannot find |"
            r"could not (?:find|resolve|connect|compile|load|open)|unable to |connection refused|"
            r"permission denied|timed? ?out|no such |not found|already in use|out of memory|"
            r"is not (?:defined|a function|assignable|installed|recognized)|unknown |unsupported |"
            r"incompatible |denied|refused|invalid |missing |mismatch|conflict).{0,160})$"
        ),
        r"^E {2,}(?P<line>assert .+)$",
        r"^\s*(?P<line>(?:Assertion|assertion) .+)$",
        r"^FAILED (?P<line>\S+ - .+)$",
    )
)
_IGNORED_CASE = 14  # from this pattern on, case does not matter
_NOISE = re.compile(r"^\s*(?:at |File \"|\d+ \||\^|~|-->|warning|note:|help:|info|#\d+ )", re.I)
_VARIABLE = re.compile(
    r"0x[0-9a-fA-F]+|\b\d+(?:[.:]\d+)*\b|(?:[\w.~-]*/)+(?=[\w.-])|\b[0-9a-f]{7,40}\b|\[masked\]"
)
_PLAIN_TEST = re.compile(
    r"^(?:assert |AssertionError(?:: (?:assert|expected|\d)|$)|Assertion\b|\S+::\S+ - (?:assert|"
    r"AssertionError))",
    re.I,
)
_MOST_LINES = 4_000


def find_error(output: str) -> str:
    """Return the line of an output that says best what is wrong; empty if none does."""
    lines = output.split("\n")[-_MOST_LINES:]
    for at, pattern in enumerate(_SAYING):
        matches = []
        for line in lines:
            text = line.rstrip()[:MOST_LINE]
            if not text or _NOISE.match(text):
                continue
            match = pattern.match(text) if at < _IGNORED_CASE else re.match(pattern, text.lower())
            if match:
                matches.append(match["line"].strip() if at < _IGNORED_CASE else text.strip())
        if matches:
            # the last exception of a chain, but the first error of a compiler
            return matches[-1] if at in (0, 1) else matches[0]
    return ""


def error_signature(line: str) -> str:
    """Return what stays the same when the same error happens elsewhere."""
    return " ".join(_VARIABLE.sub(" ", line).lower().split())[:160]


def is_plain_assertion(line: str) -> bool:
    """Tell whether an error is only a test that expects something else."""
    return _PLAIN_TEST.match(line) is not None
