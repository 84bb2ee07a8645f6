"""Configuration documents that the servers of a team share, as rows of the database."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from commonplace.instructions.errors import INVALID_CRITERIA, INVALID_GATES
from commonplace.instructions.store.configuration import (
    CRITERIA,
    GATES,
    OWNERS,
    CatalogueConfiguration,
    parse_document,
    parse_gate_list,
    parse_owners,
    parse_prompt_criteria,
)
from commonplace.kernel.errors import INVALID_CONFIG, Code, CommonplaceError
from commonplace.kernel.json_types import Json
from commonplace.storage.postgres.connection import Row

T = TypeVar("T")


class SharedDocuments:
    """The stored bytes of the documents in memory; the store keeps them in step."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._contents: Mapping[str, bytes] = {}
        self._sequence = 0  # number of the newest change when they were read

    def get(self, name: str) -> bytes | None:
        """Return the bytes of a document."""
        return self._contents.get(name)

    def all(self) -> Mapping[str, bytes]:
        """Return all documents by name."""
        return self._contents

    def take(self, rows: Iterable[Row], sequence: int, *, restored: bool = False) -> bool:
        """Replace all documents by rows read at a number; return whether owner rules changed.

        Rows older than the documents are ignored, except those of a restored database.
        """
        contents = {row[0]: bytes(row[1]) for row in rows}
        with self._lock:
            if sequence < self._sequence and not restored:
                return False
            before, self._contents, self._sequence = self._contents, contents, sequence
        return contents.get(OWNERS) != before.get(OWNERS)

    def configuration(self) -> CatalogueConfiguration:
        """Return the configuration that these documents describe."""
        return CatalogueConfiguration(
            SharedDocument(OWNERS, self, parse_owners, INVALID_CONFIG),
            SharedDocument(GATES, self, parse_gate_list, INVALID_GATES),
            SharedDocument(CRITERIA, self, parse_prompt_criteria, INVALID_CRITERIA),
        )


class SharedDocument(Generic[T]):
    """One of the documents, parsed when its bytes change."""

    def __init__(
        self, name: str, documents: SharedDocuments, parse: Callable[[Json], T], invalid: Code
    ) -> None:
        self.name = name
        self._documents = documents
        self._parse = parse
        self._invalid = invalid
        self._known: tuple[bytes, T | CommonplaceError] | None = None

    def read(self) -> T | None:
        """Return the parsed document, or None if there is none. Raises its error code."""
        content = self._documents.get(self.name)
        if content is None:
            return None
        known = self._known
        if known is None or known[0] != content:
            parsed = parse_document(self.name, content, self._parse, self._invalid)
            known = self._known = (content, parsed)
        if isinstance(known[1], CommonplaceError):
            raise known[1]
        return known[1]
