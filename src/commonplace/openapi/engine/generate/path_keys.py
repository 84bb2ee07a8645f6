"""Path keys with a query or a fragment, which OpenAPI forbids but real documents have."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote

# Operators of RFC 6570; OpenAPI has plain {name} only.
_EXPANSION = re.compile(r"\{([?&#+./;])([^{}]*)\}")
_WHOLE = re.compile(r"\{([^{}]+)\}")
_QUERY_SAFE = "!$'()*+,;:@/?%-._~[]"


@dataclass(frozen=True, slots=True)
class PathKey:
    """The parts of a path key."""

    path: str
    fixed: tuple[str, ...] = ()  # encoded `name=value` pairs that every request carries
    templates: tuple[
        tuple[str, str], ...
    ] = ()  # query name and template name of pairs such as `q={text}`
    expanded: tuple[str, ...] = ()  # names of `{?q,page}`
    left_out: tuple[str, ...] = ()  # parts of the query that cannot be sent
    fragment: str = ""

    @property
    def has_query(self) -> bool:
        """Tell whether the key has a query."""
        return bool(self.fixed or self.templates or self.expanded or self.left_out)


def read_path_key(key: str) -> PathKey:
    """Split a path key into its path, its query and its fragment."""
    expanded: list[str] = []
    fragments: list[str] = []

    def expand(found: re.Match[str]) -> str:
        operator, names = found.groups()
        if operator in "?&":
            expanded.extend(name.strip().rstrip("*") for name in names.split(",") if name.strip())
            return ""
        if operator == "#":
            fragments.append(names)
            return ""
        return found.group()

    path = _EXPANSION.sub(expand, key)
    path, _, fragment = path.partition("#")
    path, _, query = path.partition("?")
    fixed: list[str] = []
    templates: list[tuple[str, str]] = []
    left_out: list[str] = []
    for pair in filter(None, query.split("&")):
        name, _, value = pair.partition("=")
        whole = _WHOLE.fullmatch(value)
        if whole is not None and "{" not in name:
            templates.append((name, whole.group(1)))
        elif "{" in pair:
            left_out.append(pair)
        else:
            fixed.append(quote(pair, safe=_QUERY_SAFE + "="))
    return PathKey(
        path,
        tuple(fixed),
        tuple(templates),
        tuple(expanded),
        tuple(left_out),
        fragment or "".join(fragments),
    )
