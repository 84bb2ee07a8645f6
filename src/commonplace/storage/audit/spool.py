"""The audit chains of a data folder as a spool: what was written, read on from any position."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from commonplace.telemetry.chain import EMPTY, Head, chains_folder, heads_folder, unseal

BATCH_BYTES = 1 << 20
BATCH_LINES = 500
TAIL_BYTES = 100
_TAIL = re.compile(rb',"hash":"([0-9a-f]{64})"}\n\Z')


@dataclass(frozen=True, slots=True)
class SpoolPosition:
    """A place in the file of a chain: its offset in bytes, and the head there."""

    offset: int = 0
    head: Head = EMPTY


class AuditSpool:
    """Reads the chains of a folder while processes append to them."""

    def __init__(self, directory: Path) -> None:
        self._chains = chains_folder(directory)
        self._heads = heads_folder(directory)

    def sizes(self) -> dict[str, int]:
        """Return the bytes of each chain, by name."""
        try:
            with os.scandir(self._chains) as entries:
                return {
                    entry.name.removesuffix(".jsonl"): entry.stat().st_size
                    for entry in entries
                    if entry.name.endswith(".jsonl")
                }
        except OSError:
            return {}

    def head(self, chain: str) -> Head | None:
        """Return the head that the writer keeps beside a chain."""
        return Head.read(self._heads / f"{chain}.head")

    def last_hash(self, chain: str) -> str | None:
        """Return the hash at the end of a chain; None while its last line is being written."""
        try:
            with (self._chains / f"{chain}.jsonl").open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES))
                found = _TAIL.search(file.read())
        except OSError:
            return None
        return found[1].decode() if found else None

    def read(self, chain: str, position: SpoolPosition) -> list[bytes]:
        """Return whole lines from a position on, at most a batch."""
        try:
            with (self._chains / f"{chain}.jsonl").open("rb") as file:
                file.seek(position.offset)
                block = file.read(BATCH_BYTES)
                end = block.rfind(b"\n")
                if end < 0 and len(block) == BATCH_BYTES:  # a record larger than a batch
                    block += file.readline()
                    end = block.rfind(b"\n")
        except OSError:
            return []
        return block[:end].split(b"\n")[:BATCH_LINES] if end >= 0 else []

    def find(self, chain: str, head: Head) -> SpoolPosition:
        """Return the position after the record with this head.

        Raises ValueError if the file has another record there, or ends before it.
        """
        position = SpoolPosition()
        for position in self._positions(chain):
            if position.head.count >= head.count:
                break
        if position.head != head:
            raise ValueError(
                f"the folder has another record {head.count - 1} than the one that arrived"
                if position.head.count == head.count
                else f"the folder ends before record {head.count - 1}, which has arrived"
            )
        return position

    def _positions(self, chain: str) -> Iterator[SpoolPosition]:
        position = SpoolPosition()
        yield position
        while lines := self.read(chain, position):
            for line in lines:
                position = advance(position, line)
                yield position


def advance(position: SpoolPosition, line: bytes) -> SpoolPosition:
    """Return the position after a line. Raises ValueError if it does not follow."""
    _, head = unseal(line, position.head)
    return SpoolPosition(position.offset + len(line) + 1, head)
