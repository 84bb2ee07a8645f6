"""The scope that an instruction states: globs, languages and activation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast, get_args

from commonplace.instructions.engine.scope.languages import normal_languages
from commonplace.instructions.fields import Activation
from commonplace.kernel.json_types import Json
from commonplace.kernel.text.globs import compile_glob, expand_braces

MAX_GLOBS = 100
MAX_GLOB_CHARS = 300
MAX_EXPANDED = 200  # globs of one instruction after its braces are expanded
MAX_LANGUAGES = 50


@dataclass(frozen=True, slots=True)
class RuleScope:
    """Where an instruction applies. Globs are expanded; a file must match both conditions.

    A file matches the globs if one includes it (or none includes any) and none excludes it.
    """

    activation: Activation = "always"
    includes: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    languages: frozenset[str] = frozenset()

    @classmethod
    def of(cls, document: Mapping[str, Json]) -> RuleScope:
        """Read the scope of a normalised document."""
        globs = document.get("appliesTo") or ()
        languages = document.get("languages") or ()
        activation = effective_activation(document)
        if not globs and not languages:
            return _WITHOUT_PATHS[activation]
        includes, excludes = split_globs(globs)
        return cls(activation, includes, excludes, normal_languages(languages))

    @property
    def is_open(self) -> bool:
        """Tell whether it holds for every path."""
        return self.activation == "always" or not (self.includes or self.excludes or self.languages)


_WITHOUT_PATHS: Mapping[str, RuleScope] = {
    activation: RuleScope(activation) for activation in get_args(Activation)
}


def effective_activation(document: Mapping[str, Json]) -> Activation:
    """Return the activation: as stated, else `glob` with globs or languages, else `always`.

    `glob` without either (in a file that was edited by hand) is `manual`.
    """
    stated = document.get("activation")
    has_paths = bool(document.get("appliesTo") or document.get("languages"))
    if stated and stated != "glob":
        return cast(Activation, stated)
    return "glob" if has_paths else "manual" if stated else "always"


def split_globs(globs: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what globs include and what they exclude, without braces and `./`."""
    includes: list[str] = []
    excludes: list[str] = []
    for written in globs:
        excluding = written.startswith("!")
        for pattern in expand_braces(written[excluding:].strip(), MAX_EXPANDED):
            plain = pattern.removeprefix("./")
            whole = f"{plain}**" if plain.endswith("/") else plain
            (excludes if excluding else includes).append(whole)
    return tuple(includes), tuple(excludes)


def find_glob_problem(written: object) -> str | None:
    """Say why a text is not a glob over repository paths; None if it is one."""
    if not isinstance(written, str):
        return "must be a string"
    pattern = written.removeprefix("!").strip()
    if not pattern:
        return "must not be empty"
    if len(written) > MAX_GLOB_CHARS:
        return f"has {len(written)} characters; at most {MAX_GLOB_CHARS} are allowed"
    if not written.isprintable():
        return "holds control or invisible characters"
    if pattern.startswith(("/", "~")) or ".." in pattern.split("/"):
        return "must be relative to the repository, without '..'"
    expanded = expand_braces(pattern, MAX_EXPANDED)
    if not expanded:
        return f"expands to more than {MAX_EXPANDED} globs"
    # Only a set of characters can be malformed; compiling every glob would slow loading down.
    if "[" in pattern and any(compile_glob(alternative) is None for alternative in expanded):
        return "is not a glob: a '[' or a range is not closed"
    return None
