"""Names outside the alphabet of stored paths, spelled in it: each other byte of UTF-8 becomes
`_xHH`.
"""

from __future__ import annotations

import re

_ILLEGAL = re.compile(rb"[^A-Za-z0-9_.-]")
_SUFFIX = re.compile(r"(.*)_([0-9]+)(\.[^.]*)?", re.DOTALL)


def spell(name: str) -> str:
    """Return a path segment in the alphabet `A-Za-z0-9_.-`; a legal one is returned unchanged.

    Raises `UnicodeEncodeError` for a name that is not valid UTF-8."""
    return _ILLEGAL.sub(lambda found: b"_x%02X" % found[0][0], name.encode()).decode()


def number(name: str, count: int) -> str:
    """Return the `count`-th choice for a spelled name: itself, then `name_2.md`, `name_3.md`,
    ...
    """
    if count == 1:
        return name
    stem, dot, extension = name.rpartition(".")
    return f"{stem}_{count}.{extension}" if stem and dot else f"{name}_{count}"


def spells(name: str, source: str) -> bool:
    """Tell whether a stored segment stands for this original one, with or without a number."""
    if name == source:
        return True
    try:
        spelled = spell(source)
    except UnicodeEncodeError:
        return False
    if spelled == source:  # a legal name is never spelled otherwise
        return False
    found = _SUFFIX.fullmatch(name)
    return name == spelled or (found is not None and number(spelled, int(found[2])) == name)
