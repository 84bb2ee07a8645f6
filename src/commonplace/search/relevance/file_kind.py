"""Kinds of files by their path: code, tests, prose, and what tools wrote."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache


class FileKind(StrEnum):
    """What a file is for a reader who looks for an answer."""

    CODE = "code"
    TEST = "test"
    PROSE = "prose"
    HISTORY = "history"  # what changed when: it names everything and answers little
    DATA = "data"
    GENERATED = "generated"
    BUILT = "built"  # code that was made from other code, often of the same package
    OTHER = "other"


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_CODE = _set(
    """
    py pyi pyx js jsx mjs cjs ts tsx mts cts vue svelte go java kt kts scala groovy rs c h
    cc cpp cxx hh hpp hxx m mm cs fs vb rb php pl pm lua swift dart ex exs erl hs ml r jl
    zig nim sh bash zsh ps1 sql proto graphql el clj cljs
    """
)
_PROSE = _set(
    """
    md mdx markdown rst txt adoc asciidoc tex org wiki
    """
)
_DATA = _set(
    """
    json yaml yml toml ini cfg conf xml csv tsv html htm css scss sass less svg env
    """
)
_GENERATED = _set(
    """
    po pot lock map min snap
    """
)
_LOCK_FILES = _set(
    """
    package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml cargo.lock poetry.lock
    pdm.lock uv.lock pipfile.lock composer.lock gemfile.lock go.sum gradle.lockfile
    packages.lock.json
    """
)
_VENDORED = _set(
    """
    vendor vendored vendors node_modules third_party third-party thirdparty bower_components
    site-packages generated __generated__ _vendor
    """
)
_BUILT_FOLDERS = _set(
    """
    dist umd
    """
)
_TEST_FOLDERS = _set(
    """
    test tests __tests__ spec specs testdata fixtures mock mocks __mocks__ e2e test_data
    """
)
_HISTORY_FOLDERS = _set(
    """
    changelog changelogs changes releases release-notes release_notes whatsnew news
    """
)
_TEST_NAME = re.compile(
    r"^tests?[_.-]|[_.-](?:tests?|spec)(?:[_.-]|$)|^conftest$|[a-z0-9](?:Tests?|Spec|IT)$"
)
_HISTORY_NAME = re.compile(
    r"^(?:changes|change[_-]?logs?|history|news|releases|release[_-]?notes?|whats[_-]?new)(?:\.|$)"
)
_GENERATED_NAME = re.compile(
    r"\.min\.|[_.-]pb2?(?:_grpc)?\.|\.g\.|[._]generated\.|^generated[_.-]|\.bundle\."
)


@lru_cache(maxsize=4096)
def kind_of_path(path: str) -> FileKind:
    """Judge a file by its path alone."""
    *folders, name = path.strip("/").split("/")
    stem, _, extension = name.rpartition(".")
    extension = extension.lower()
    folded = {folder.lower() for folder in folders}
    if (
        name.lower() in _LOCK_FILES
        or extension in _GENERATED
        or _GENERATED_NAME.search(name.lower())
        or folded & _VENDORED
    ):
        return FileKind.GENERATED
    if extension in _CODE:
        if folded & _TEST_FOLDERS or _TEST_NAME.search(stem):
            return FileKind.TEST
        return FileKind.BUILT if folded & _BUILT_FOLDERS else FileKind.CODE
    is_prose = extension in _PROSE or not stem
    if is_prose and (folded & _HISTORY_FOLDERS or _HISTORY_NAME.match(name.lower())):
        return FileKind.HISTORY
    if extension in _PROSE or name.isupper() or name.lower() in ("readme", "license", "changelog"):
        return FileKind.PROSE
    return FileKind.DATA if extension in _DATA else FileKind.OTHER
