"""Instructions in the inverted index: all of them at first, then each as it changes. `texts` keeps their lower-cased texts."""

from __future__ import annotations

from collections.abc import Iterable

from commonplace.instructions.model import Instruction
from commonplace.kernel.collector import collector_off
from commonplace.search.inverted import InvertedIndex


def first_index(entries: Iterable[Instruction], texts: dict[str, str]) -> InvertedIndex:
    index = InvertedIndex(lambda name: texts.get(name, ""))
    with collector_off(keep=True):
        for entry in entries:
            index_entry(index, texts, None, entry)
    return index


def index_entry(index: InvertedIndex, texts: dict[str, str], before: Instruction | None, after: Instruction | None) -> None:
    old = before.text if before is not None else None
    new = after.text if after is not None else None
    if old == new:
        return
    if before is not None and old is not None:
        index.drop(before.id, *old)
        del texts[before.id]
    if after is not None and new is not None:
        texts[after.id] = "\n".join(new).lower()
        index.put(after.id, *new)
