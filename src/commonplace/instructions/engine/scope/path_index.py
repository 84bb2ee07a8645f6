"""Index of scopes by path: which instructions a repository path brings into effect."""

from __future__ import annotations

import re
from collections.abc import Iterable, Set

from commonplace.instructions.engine.scope.glob_syntax import compile_glob
from commonplace.instructions.engine.scope.languages import language_of
from commonplace.instructions.engine.scope.rule_scope import RuleScope

_WILDCARD = re.compile(r"[*?\[\\]")
_Key = tuple[str | None, str | None]  # first folder and extension, where a glob names them


class PathIndex:
    """Scopes by the folder and the extension that their globs begin and end with.

    A path is compared only with globs that could match it, each distinct glob once.
    """

    def __init__(self, scopes: Iterable[tuple[str, RuleScope]]) -> None:
        self.open: set[str] = set()  # hold for every path
        self._limited: dict[str, RuleScope] = {}
        self._without_includes: set[str] = set()
        self._including: dict[str, list[str]] = {}  # ids by glob
        self._globs: dict[_Key, list[str]] = {}
        for id_, scope in scopes:
            if scope.is_open:
                self.open.add(id_)
                continue
            self._limited[id_] = scope
            if not scope.includes:
                self._without_includes.add(id_)
            for glob in scope.includes:
                if glob not in self._including:
                    self._including[glob] = []
                    self._globs.setdefault(_key_of(glob), []).append(glob)
                self._including[glob].append(id_)

    def admitting(self, path: str) -> Set[str]:
        """Return the ids of the scopes that a path matches."""
        return self.open | self.matching(path).keys()

    def matching(self, path: str) -> dict[str, str]:
        """Return the ids that state a condition which a path meets, each with the reason.

        The reason is the first glob that matches, in order of the index, or the language.
        """
        language = language_of(path)
        found: dict[str, str] = {}
        for glob in self._candidates(path):
            compiled = compile_glob(glob)
            if compiled is not None and compiled.fullmatch(path) is not None:
                for id_ in self._including[glob]:
                    if id_ not in found and self._allows(id_, path, language):
                        found[id_] = glob
        for id_ in self._without_includes:
            if self._allows(id_, path, language):
                found[id_] = language if self._limited[id_].languages and language else "**"
        return found

    def _candidates(self, path: str) -> Iterable[str]:
        folder, separator, _ = path.partition("/")
        name = path.rpartition("/")[2]
        _, dot, extension = name.rpartition(".")
        keys: list[_Key] = [(None, None)]
        if dot:
            keys.append((None, extension))
        if separator:
            keys += [(folder, None), (folder, extension)] if dot else [(folder, None)]
        for key in keys:
            yield from self._globs.get(key, ())

    def _allows(self, id_: str, path: str, language: str | None) -> bool:
        scope = self._limited[id_]
        if scope.languages and language not in scope.languages:
            return False
        return not any(
            (compiled := compile_glob(glob)) is not None and compiled.fullmatch(path) is not None
            for glob in scope.excludes
        )


def _key_of(glob: str) -> _Key:
    wildcards = list(_WILDCARD.finditer(glob))
    if not wildcards or "\\" in glob:
        return None, None
    folder, separator, _ = glob[: wildcards[0].start()].partition("/")
    name = glob[wildcards[-1].end() :].rpartition("/")[2]
    _, dot, extension = name.rpartition(".")
    if "[" in glob:  # what follows the bracket belongs to a set of characters
        dot = ""
    return (folder if separator else None), (extension if dot else None)
