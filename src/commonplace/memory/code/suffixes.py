"""Which files a text may move to: those whose names end alike, or that hold the same language."""

from __future__ import annotations

_FAMILIES = (
    (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte"),
    (".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".ino", ".m", ".mm"),
    (".py", ".pyi", ".pyx"),
    (".kt", ".kts", ".java"),
    (".md", ".mdx", ".markdown", ".rst", ".txt"),
    (".yaml", ".yml"),
    (".html", ".htm"),
    (".css", ".scss", ".sass", ".less"),
    (".sh", ".bash", ".zsh"),
)
_FAMILY_OF = {suffix: family for family in _FAMILIES for suffix in family}


def suffixes_of(path: str) -> tuple[str, ...]:
    """Return the ends of the names of files that the text of a path may move to."""
    name = path.rpartition("/")[2]
    suffix = f".{name.rpartition('.')[2]}" if "." in name.lstrip(".") else name
    return _FAMILY_OF.get(suffix, (suffix,))
