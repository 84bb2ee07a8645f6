"""Macros of C and C++ that hide declarations from a grammar, which does not run a preprocessor."""

from __future__ import annotations

import re

# an attribute of a function: `int API_EXPORT open_device(...)`, `FORCE_INLINE void push(...)`
_MACRO = rb"_{0,2}[A-Z][A-Z0-9_]{2,}(?:\([\w \t,.\"]*\))?|__?[a-z]\w*|forceinline|force_inline"
_HEADER = re.compile(
    rb"^(?P<before>[ \t]*(?:[A-Za-z_][\w:]*(?:[ \t]+|[ \t]*[*&]+[ \t]*)){0,6}?)"
    rb"(?P<macro>" + _MACRO + rb")(?=[ \t*&\r\n]+[A-Za-z_~][\w:*& \t]*\()",
    re.MULTILINE,
)
# a line with nothing but a macro, with or without arguments and no semicolon: EXPORT_SYMBOL(open)
_ALONE = re.compile(
    rb"^[ \t]*(?:_{0,2}[A-Z][A-Z0-9_]{3,}|[A-Z]\w*_(?:HEAD|BEGIN_DECLS|END_DECLS))"
    rb"(?:[ \t]*\([^;{}()\n]*\))?[ \t\r]*$(?!\n[ \t]*\{)",
    re.MULTILINE,
)
_KEYWORDS = frozenset(
    (b"__attribute__", b"__declspec", b"__asm__", b"__extension__", b"_Bool", b"_Noreturn")
)
_NOT_BLANK = re.compile(rb"[^\r\n]")
MOST_ROUNDS = 3  # attributes of one function


def mask_macros(source: bytes) -> bytes:
    """Return a source of the same length in which such macros are blanks."""
    masked = _ALONE.sub(_blank, source)
    for _ in range(MOST_ROUNDS):
        again = _HEADER.sub(_blank_macro, masked)
        if again == masked:
            break
        masked = again
    return masked


def _blank(found: re.Match[bytes]) -> bytes:
    return _NOT_BLANK.sub(b" ", found[0])


def _blank_macro(found: re.Match[bytes]) -> bytes:
    macro = found["macro"]
    if macro.partition(b"(")[0] in _KEYWORDS:
        return found[0]
    return found["before"] + _NOT_BLANK.sub(b" ", macro)
