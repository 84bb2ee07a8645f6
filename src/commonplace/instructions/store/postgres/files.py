"""Files of an instruction folder on their way into the shared catalogue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import orjson

from commonplace.instructions.engine.normalise import ReadingRules
from commonplace.instructions.fields import stored_form
from commonplace.instructions.model import Instruction, RecordedChange
from commonplace.instructions.store.directory import parse_entry
from commonplace.instructions.store.postgres.changes import HistoryRow


@dataclass(frozen=True, slots=True)
class InstructionFile:
    """The bytes of a valid instruction file, and the history that its folder recorded."""

    id: str
    content: bytes
    modified_ns: int
    action: str
    history: Sequence[RecordedChange] = ()

    def parse(self, rules: ReadingRules) -> Instruction:
        """Return the instruction. Raises ValueError if the file holds none."""
        stamp = (self.modified_ns, len(self.content), 0)
        entry = parse_entry(f"{self.id}.json", self.content, stamp, rules)
        if entry.instruction is None:
            raise ValueError(f"{self.id} is not an instruction: {entry.rejection}")
        return entry.instruction

    def earlier_changes(self, after: Instruction) -> Iterator[HistoryRow]:
        """Yield the recorded changes without numbers.

        What a change led to, where the folder did not record it, is what the next one replaced.
        """
        replaced = [change.before for change in self.history[1:]]
        last = stored_form(after.document)
        for change, following in zip(self.history, [*replaced, last], strict=False):
            led_to = change.after if change.has_after else following
            yield HistoryRow(
                0,
                self.id,
                change.at,
                change.action,
                change.by,
                change.tenant,
                change.agent,
                None if change.before is None else orjson.dumps(change.before),
                None if led_to is None else orjson.dumps(led_to),
            )
