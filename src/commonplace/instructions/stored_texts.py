"""All instructions and feedback as text, for examinations by the operator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from commonplace.instructions.service import InstructionsService
from commonplace.instructions.store.feedback import FeedbackFilter
from commonplace.kernel.auth import local_user
from commonplace.kernel.json_types import Json


def stored_texts(service: InstructionsService) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """Yield a reference to every instruction and feedback entry, and its fields."""
    caller = local_user()
    for entry in service.instructions(caller):
        yield f"instruction:{entry.id}", entry.document.whole()
    for record in service.feedback.list_entries(caller, FeedbackFilter(), limit=1_000_000).entries:
        yield f"feedback:{record.get('id')}", record
