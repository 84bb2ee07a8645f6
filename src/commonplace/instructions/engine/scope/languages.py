"""Languages of files, by extension or name."""

from __future__ import annotations

import re
from collections.abc import Iterable

LANGUAGE = re.compile(r"[a-z0-9][a-z0-9+#._-]{0,39}")
"""Form of a language's name, in lower case."""

_BY_EXTENSION = {
    "c": "c h",
    "clojure": "clj cljs cljc edn",
    "cpp": "cc cpp cxx hh hpp hxx ipp",
    "csharp": "cs csx",
    "css": "css",
    "dart": "dart",
    "elixir": "ex exs",
    "erlang": "erl hrl",
    "fsharp": "fs fsi fsx",
    "go": "go",
    "graphql": "graphql gql",
    "groovy": "groovy gradle",
    "haskell": "hs lhs",
    "html": "html htm",
    "java": "java",
    "javascript": "js cjs mjs jsx",
    "json": "json jsonc json5",
    "kotlin": "kt kts",
    "less": "less",
    "lua": "lua",
    "markdown": "md markdown mdx",
    "nix": "nix",
    "objective-c": "m mm",
    "ocaml": "ml mli",
    "perl": "pl pm",
    "php": "php",
    "powershell": "ps1 psm1 psd1",
    "protobuf": "proto",
    "python": "py pyi pyw",
    "r": "r rmd",
    "ruby": "rb rake gemspec",
    "rust": "rs",
    "scala": "scala sc",
    "scss": "scss sass",
    "shell": "sh bash zsh fish ksh",
    "sql": "sql",
    "svelte": "svelte",
    "swift": "swift",
    "terraform": "tf tfvars hcl",
    "toml": "toml",
    "typescript": "ts cts mts tsx",
    "vue": "vue",
    "xml": "xml xsd xsl",
    "yaml": "yml yaml",
    "zig": "zig",
}
_EXTENSIONS = {
    extension: language for language, known in _BY_EXTENSION.items() for extension in known.split()
}
_NAMES = {
    "dockerfile": "dockerfile",
    "containerfile": "dockerfile",
    "makefile": "makefile",
    "gnumakefile": "makefile",
    "gemfile": "ruby",
    "rakefile": "ruby",
    "jenkinsfile": "groovy",
    "cmakelists.txt": "cmake",
}
_OTHER_SPELLINGS = {
    "bash": "shell",
    "c#": "csharp",
    "c++": "cpp",
    "docker": "dockerfile",
    "f#": "fsharp",
    "golang": "go",
    "hcl": "terraform",
    "javascriptreact": "javascript",
    "jsx": "javascript",
    "make": "makefile",
    "objc": "objective-c",
    "shellscript": "shell",
    "tsx": "typescript",
    "typescriptreact": "typescript",
}


def language_of(path: str) -> str | None:
    """Return the language of a file; None if neither name nor extension tells."""
    name = path.rpartition("/")[2].lower()
    if name in _NAMES:
        return _NAMES[name]
    if name.startswith("dockerfile."):
        return "dockerfile"
    stem, dot, extension = name.rpartition(".")
    return _EXTENSIONS.get(extension) if dot and stem else None


def normal_languages(names: Iterable[str]) -> frozenset[str]:
    """Return the languages that names stand for: `ts`, `tsx` and TypeScript are one."""
    return frozenset(_normal_language(name.strip().lower()) for name in names)


def globs_of_languages(names: Iterable[str]) -> tuple[str, ...]:
    """Return globs for the files of languages, by their extensions."""
    return tuple(
        f"**/*.{extension}"
        for language in sorted(normal_languages(names))
        for extension in _BY_EXTENSION.get(language, "").split()
    )


def _normal_language(name: str) -> str:
    if name in _BY_EXTENSION:
        return name
    return _OTHER_SPELLINGS.get(name) or _EXTENSIONS.get(name) or name
