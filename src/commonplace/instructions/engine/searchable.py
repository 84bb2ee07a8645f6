"""What a search reads of an instruction: title, body, labels, and how it stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

from commonplace.instructions.engine.normalise import read_status, title_of
from commonplace.instructions.fields import UNCATEGORIZED
from commonplace.instructions.model import Instruction
from commonplace.kernel.json_types import Json

MAX_LABEL_CHARS = 4_000
_LABELS = ("description", "categories", "tags", "languages", "appliesTo")


class Standing(IntEnum):
    """Order of equally good matches; deprecated ones come after all others."""

    APPROVED = 0
    REVIEW = 1
    DRAFT = 2
    DEPRECATED = 3


_STANDINGS = {"approved": Standing.APPROVED, "review": Standing.REVIEW, "draft": Standing.DRAFT}


@dataclass(frozen=True, slots=True)
class SearchableText:
    """The texts of an instruction that a search reads; `labels` are its id, categories, tags."""

    title: str
    body: str
    labels: str
    standing: Standing
    summary: str = ""  # what a passage of its own says

    @property
    def lowered(self) -> str:
        """Return everything, lower-cased, for the search for parts of the text."""
        return f"{self.title}\n{self.body}\n{self.labels}".lower()


def read_searchable(entry: Instruction) -> SearchableText:
    """Return what a search reads, without normalising an entry that was not read yet."""
    raw = entry.raw()
    title, body = title_of(raw, entry.id), raw["body"]
    labels = " ".join(_labels(raw, entry.id))
    described = raw.get("description")
    summary = described.strip() if isinstance(described, str) else ""
    return SearchableText(title, body, labels, standing_of(raw), summary)


def standing_of(document: Mapping[str, Json]) -> Standing:
    """Return how an instruction stands; one that was replaced counts as deprecated."""
    if document.get("deprecatedBy"):
        return Standing.DEPRECATED
    return _STANDINGS.get(read_status(document), Standing.DEPRECATED)


def _labels(raw: Mapping[str, Json], id_: str) -> Iterator[str]:
    yield id_
    for field in _LABELS:
        value = raw.get(field)
        for label in value if isinstance(value, list) else (value,):
            if isinstance(label, str) and label != UNCATEGORIZED:
                yield label[:MAX_LABEL_CHARS]
