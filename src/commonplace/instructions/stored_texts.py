"""All instructions and all feedback as text, for examinations by the operator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from commonplace.instructions.service import Service


def stored_texts(service: Service) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield a reference to every instruction and feedback entry, and its fields."""
    service.load()
    with service.shelf.lock:
        entries = tuple(service.shelf.fresh().entries.values())
    for entry in entries:
        yield f"instruction:{entry.id}", entry.document.whole()
    for record in service.feedback.select({}, limit=1_000_000, offset=0)[0]:
        yield f"feedback:{record.get('id')}", record
