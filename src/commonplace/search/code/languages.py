"""Languages by path, and where the grammar of each is installed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec

MARKDOWN = "markdown"
EXTRA = "commonplace[code]"

_SLASHES = ("//", "/*", "*")
_HASH = ("#",)


@dataclass(frozen=True, slots=True)
class CodeLanguage:
    """A language with a grammar: its file names, its queries and its comments."""

    name: str
    package: str  # that holds the grammar
    grammar: str  # the function of the package that returns it
    queries: str  # the file in `grammars/`
    extensions: tuple[str, ...]
    file_names: tuple[str, ...] = ()
    comments: tuple[str, ...] = _SLASHES  # how a line of a comment above a definition starts

    @property
    def installed(self) -> bool:
        """Return whether the grammar and the parser can be imported."""
        return _is_installed("tree_sitter") and _is_installed(self.package)


def _language(
    name: str,
    extensions: str,
    *,
    package: str = "",
    grammar: str = "language",
    queries: str = "",
    file_names: str = "",
    comments: tuple[str, ...] = _SLASHES,
) -> CodeLanguage:
    return CodeLanguage(
        name,
        f"tree_sitter_{package or name}",
        grammar,
        queries or name,
        tuple(extensions.split()),
        tuple(file_names.split()),
        comments,
    )


LANGUAGES = {
    language.name: language
    for language in (
        _language("python", "py pyi pyw", comments=(*_HASH, "@")),
        _language("javascript", "js mjs cjs jsx"),
        _language("typescript", "ts mts cts", grammar="language_typescript"),
        _language("tsx", "tsx", package="typescript", grammar="language_tsx", queries="typescript"),
        _language("go", "go"),
        _language("java", "java", comments=(*_SLASHES, "@")),
        _language("rust", "rs", comments=(*_SLASHES, "#[")),
        _language("c", "c h"),
        _language("cpp", "cc cpp cxx hh hpp hxx ipp inl"),
        _language("csharp", "cs", package="c_sharp", queries="c_sharp"),
        _language(
            "ruby", "rb rake gemspec", file_names="Rakefile Gemfile Vagrantfile", comments=_HASH
        ),
        _language("php", "php phtml", grammar="language_php", comments=(*_SLASHES, *_HASH)),
        _language("kotlin", "kt kts", comments=(*_SLASHES, "@")),
        _language("swift", "swift", comments=(*_SLASHES, "@")),
        _language(
            "shell",
            "sh bash zsh ksh",
            package="bash",
            queries="bash",
            file_names=".bashrc .profile .bash_profile .zshrc",
            comments=_HASH,
        ),
        _language("sql", "sql ddl", comments=("--", "/*", "*")),
        _language("html", "html htm xhtml", comments=("<!--",)),
        _language("css", "css"),
    )
}

_BY_EXTENSION = {
    extension: language.name for language in LANGUAGES.values() for extension in language.extensions
} | dict.fromkeys(("md", "markdown", "mdx", "mdc"), MARKDOWN)
_BY_NAME = {
    file_name: language.name for language in LANGUAGES.values() for file_name in language.file_names
}


def language_of(path: str) -> str:
    """Return the language of a path by its name: a key of LANGUAGES, `markdown` or ``."""
    name = path.rpartition("/")[2]
    known = _BY_NAME.get(name)
    if known is not None:
        return known
    stem, dot, extension = name.rpartition(".")
    return _BY_EXTENSION.get(extension.lower(), "") if dot and stem else ""


def missing_grammars() -> tuple[str, ...]:
    """Return the languages whose grammar is not installed."""
    return tuple(language.name for language in LANGUAGES.values() if not language.installed)


@lru_cache(maxsize=64)
def _is_installed(package: str) -> bool:
    return find_spec(package) is not None
