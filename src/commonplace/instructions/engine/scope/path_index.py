"""Index of scopes by path: which instructions a repository path brings into effect."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set

from commonplace.instructions.engine.scope.languages import language_of
from commonplace.instructions.engine.scope.rule_scope import RuleScope
from commonplace.kernel.text.globs import compile_glob

_WILDCARD = re.compile(r"[*?\[\\]")
_Key = tuple[str, str | None]  # folder and extension that a glob names; "" is any folder


class PathIndex:
    """Scopes by the folder and the extension that their globs begin and end with.

    A path is compared only with globs that could match it, each distinct glob once.
    """

    def __init__(self, scopes: Iterable[tuple[str, RuleScope]] = ()) -> None:
        self.open: set[str] = set()  # hold for every path
        self._limited: dict[str, RuleScope] = {}
        self._without_includes: set[str] = set()
        self._including: dict[str, set[str]] = {}  # ids by glob
        self._globs: dict[_Key, set[str]] = {}
        for id_, scope in scopes:
            self.put(id_, scope)

    def put(self, id_: str, scope: RuleScope) -> None:
        """Add the scope of a new id."""
        if scope.is_open:
            self.open.add(id_)
            return
        self._limited[id_] = scope
        if not scope.includes:
            self._without_includes.add(id_)
        for glob in scope.includes:
            if glob not in self._including:
                self._including[glob] = set()
                self._globs.setdefault(_key_of(glob), set()).add(glob)
            self._including[glob].add(id_)

    def drop(self, id_: str) -> None:
        """Remove the scope of an id."""
        self.open.discard(id_)
        self._without_includes.discard(id_)
        scope = self._limited.pop(id_, None)
        for glob in dict.fromkeys(scope.includes) if scope is not None else ():
            self._including[glob].discard(id_)
            if not self._including[glob]:
                del self._including[glob]
                key = _key_of(glob)
                self._globs[key].discard(glob)
                if not self._globs[key]:
                    del self._globs[key]

    def admitting(self, path: str) -> Set[str]:
        """Return the ids of the scopes that a path matches."""
        return self.open | self.matching(path).keys()

    def matching(self, path: str) -> dict[str, str]:
        """Return the ids that state a condition which a path meets, each with the reason.

        The reason is the first glob of the scope that matches, or the language.
        """
        language = language_of(path)
        matched = {glob for glob in self._candidates(path) if _matches(glob, path)}
        found: dict[str, str] = {}
        for id_ in set().union(*(self._including[glob] for glob in matched)):
            scope = self._limited[id_]
            if _allows(scope, path, language):
                found[id_] = next(glob for glob in scope.includes if glob in matched)
        for id_ in self._without_includes:
            scope = self._limited[id_]
            if _allows(scope, path, language):
                found[id_] = language if scope.languages and language else "**"
        return found

    def _candidates(self, path: str) -> Iterator[str]:
        _, dot, extension = path.rpartition("/")[2].rpartition(".")
        end = 0
        while end >= 0:  # every folder on the way to the path
            folder = path[:end]
            yield from self._globs.get((folder, None), ())
            if dot:
                yield from self._globs.get((folder, extension), ())
            end = path.find("/", end + 1)


def _matches(glob: str, path: str) -> bool:
    compiled = compile_glob(glob)
    return compiled is not None and compiled.fullmatch(path) is not None


def _allows(scope: RuleScope, path: str, language: str | None) -> bool:
    if scope.languages and language not in scope.languages:
        return False
    return not any(_matches(glob, path) for glob in scope.excludes)


def _key_of(glob: str) -> _Key:
    if "\\" in glob:
        return "", None
    wildcards = list(_WILDCARD.finditer(glob))
    folder = (glob[: wildcards[0].start()] if wildcards else glob).rpartition("/")[0]
    name = (glob[wildcards[-1].end() :] if wildcards else glob).rpartition("/")[2]
    _, dot, extension = name.rpartition(".")
    if "[" in glob:  # what follows the bracket belongs to a set of characters
        dot = ""
    return folder, (extension if dot else None)
