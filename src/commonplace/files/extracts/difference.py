"""Which extracts of a changed file must be indexed again."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import orjson

from commonplace.files.extracts.model import (
    AddedExtract,
    Extract,
    ExtractChange,
    IndexedExtract,
)
from commonplace.files.model import FilePath, Terms
from commonplace.search.lexical.text import analyze

NAMES, TEXT, CONTEXT = "names", "text", "context"
WEIGHTS = {NAMES: 1.0, TEXT: 0.6, CONTEXT: 0.3}
"""The search fields of an extract."""


def compare_extracts(
    extracts: Sequence[Extract], indexed: Sequence[IndexedExtract], *, reword: bool
) -> ExtractChange:
    """Compare the extracts a file should have with those it has.

    Equal ones keep their id and only move. `reword`: their words were made by an older analysis.
    """
    kept = {(old.key, old.digest): old for old in indexed}
    moved: list[IndexedExtract] = []
    added: list[AddedExtract] = []
    reworded: list[AddedExtract] = []
    for position, extract in enumerate({extract.key: extract for extract in extracts}.values()):
        digest = digest_of(extract)
        old = kept.pop((extract.key, digest), None)
        if old is None:
            added.append(AddedExtract(position, extract, digest))
            continue
        new = IndexedExtract(
            old.id, position, extract.key, digest, extract.start_line, extract.end_line
        )
        if new != old:
            moved.append(new)
        if reword:
            reworded.append(AddedExtract(position, extract, digest, old.id))
    removed = tuple(sorted(old.id for old in kept.values()))
    return ExtractChange(removed, tuple(moved), tuple(added), tuple(reworded))


def digest_of(extract: Extract) -> str:
    """Return a digest of everything but the place."""
    parts = [extract.title, extract.summary, extract.names, extract.text, extract.context]
    encoded = orjson.dumps([*parts, dict(extract.facts)], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(encoded).hexdigest()


def terms_of_extract(path: FilePath, extract: Extract) -> Terms:
    """Analyse an extract; the path of its file is part of its context."""
    return {
        NAMES: analyze(extract.names),
        TEXT: analyze(extract.text),
        CONTEXT: analyze(f"{path.replace('/', ' ')} {extract.context}"),
    }
