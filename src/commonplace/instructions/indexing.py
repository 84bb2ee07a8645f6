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
    old = before.document.whole() if before is not None else None
    new = after.document.whole() if after is not None else None
    if old is not None and new is not None and old["title"] == new["title"] and old["body"] == new["body"]:
        return
    if before is not None and old is not None:
        index.drop(before.id, old["title"], old["body"])
        del texts[before.id]
    if after is not None and new is not None:
        title, body = new["title"], new["body"]
        texts[after.id] = f"{title}\n{body}".lower()
        index.put(after.id, title, body)
