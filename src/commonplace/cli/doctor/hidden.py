"""Find hidden characters in stored text."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from commonplace.kernel.hidden_characters import count_hidden, summarize
from commonplace.kernel.json_types import JsonObject

if TYPE_CHECKING:
    from commonplace.bootstrap.services import Services

SCAN_SECONDS = 10.0  # limit of `doctor`; `doctor --hidden` reads everything
NAMED_PLACES = 3


@dataclass(frozen=True, slots=True)
class HiddenText:
    """A reference to a stored text, and the count of each hidden character in it."""

    where: str
    counted: Counter[str]

    def as_dict(self) -> JsonObject:
        return {
            "where": self.where,
            "count": sum(self.counted.values()),
            "characters": summarize(self.counted),
        }


@dataclass(frozen=True, slots=True)
class HiddenScan:
    """The texts found and the number read; `whole` if every text was read."""

    found: list[HiddenText]
    read: int
    whole: bool

    @property
    def finding(self) -> str:
        part = (
            ""
            if self.whole
            else f" in the first {self.read} texts (the check stops after {SCAN_SECONDS:.0f} s)"
        )
        if not self.found:
            return f"none{part}" if part else f"none in {self.read} stored texts"
        total: Counter[str] = Counter()
        for text in self.found:
            total += text.counted
        names = [text.where for text in self.found[:NAMED_PLACES]]
        more = (
            f" and {len(self.found) - NAMED_PLACES} more" if len(self.found) > NAMED_PLACES else ""
        )
        return (
            f"{summarize(total)} in {len(self.found)} of {self.read} texts{part}: "
            f"{', '.join(names)}{more}"
        )


def scan(services: Services, seconds: float | None = SCAN_SECONDS) -> HiddenScan:
    """Read the stored texts of all domains, for at most `seconds`."""
    ends = None if seconds is None else time.monotonic() + seconds
    found: list[HiddenText] = []
    read = 0
    for where, value in _texts(services):
        read += 1
        counted = count_hidden(value)
        if counted:
            found.append(HiddenText(where, counted))
        if ends is not None and time.monotonic() > ends:
            return HiddenScan(found, read, whole=False)
    return HiddenScan(found, read, whole=True)


def _texts(services: Services) -> Iterator[tuple[str, Any]]:
    from commonplace.files.store import stored_texts as of_files
    from commonplace.instructions import stored_texts as of_instructions

    yield from of_instructions.stored_texts(services.instructions)
    yield from services.memory.stored_texts()
    yield from of_files.stored_texts(services.files.store)
