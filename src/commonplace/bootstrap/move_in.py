"""Move the state of a data folder into the database of a team.

Each part of the state (instructions, usage, feedback, keys, files, audit, ...) has a mover.
`commonplace migrate --from DATA_DIR` runs all of them. A server asks `require_moved_in` before it
starts, so that rules and keys in its own folder are not forgotten, and `describe_not_moved` for a
warning about the rest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.errors import NOT_MOVED_IN

if TYPE_CHECKING:
    from commonplace.kernel.settings import Settings
    from commonplace.storage.postgres.database import PostgresDatabase

SHOWN = 5


@dataclass(frozen=True, slots=True)
class MovedPart:
    """What became of one part of a data folder.

    `found` items were read from the folder. Of these, `added` were stored now, `present` were
    stored before, and `kept` names those that differ in the database, which keeps its own. Items
    in `refused` could not be read. `digest` is the SHA-256 over the items as they were read back
    from the database.
    """

    part: str
    found: int
    added: int
    present: int
    kept: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    digest: str = ""


class Mover(Protocol):
    """Brings one part of a data folder into the database."""

    @property
    def part(self) -> str:
        """Return the name of the part, for people: `instructions`, `keys`."""
        ...

    @property
    def required(self) -> bool:
        """Tell whether a server may not start while the database lacks items of its folder."""
        ...

    def lacking(self, data: Path) -> Sequence[str]:
        """Name the items of a data folder that the database has never had. Reads only."""
        ...

    def move(self, data: Path, progress: Callable[[int, int], None]) -> MovedPart:
        """Store what the database lacks, read it back and compare. Repeating it changes nothing.

        `progress` is called with the number of items done and of all items. Raises
        CommonplaceError if an item read back differs from the one that was stored.
        """
        ...


def movers(settings: Settings, database: PostgresDatabase) -> Iterator[Mover]:
    """Yield the movers of all parts, in the order in which they are moved."""
    from commonplace.bootstrap.move_audit import AuditMover
    from commonplace.bootstrap.move_counts import FeedbackMover, UsageMover
    from commonplace.bootstrap.move_instructions import InstructionMover
    from commonplace.bootstrap.move_keys import KeyMover
    from commonplace.bootstrap.moving.files import FileMover
    from commonplace.bootstrap.moving.memory import MemoryMover
    from commonplace.bootstrap.moving.rows import context_feedback_mover, proposal_mover
    from commonplace.storage.credentials.postgres_keys import PostgresKeys

    yield InstructionMover(settings, database)
    yield UsageMover(database)
    yield FeedbackMover(database)
    yield KeyMover(PostgresKeys(database))
    yield MemoryMover(settings, database)
    yield proposal_mover(database)
    yield context_feedback_mover(database)
    yield FileMover(settings, database)
    yield FileMover(settings, database, deleted=True)
    yield AuditMover(database)


def require_same(part: str, stored: Mapping[str, str], sent: Mapping[str, str]) -> str:
    """Compare hashes of items by name; return the hash over all of them.

    Raises NOT_MOVED_IN if the database holds an item other than it was sent.
    """
    wrong = sorted(name for name, digest in sent.items() if stored.get(name) != digest)
    if wrong:
        raise CommonplaceError(
            NOT_MOVED_IN,
            f"{len(wrong)} {part} were not stored as they were sent: {', '.join(wrong[:SHOWN])}.",
            hint="Run the command again.",
            details={"part": part, "names": wrong[:100]},
        )
    return hash_items(sent)


def hash_items(items: Mapping[str, str]) -> str:
    """Return the SHA-256 over the names and hashes of items."""
    lines = "".join(f"{name} {digest}\n" for name, digest in sorted(items.items()))
    return hashlib.sha256(lines.encode()).hexdigest()


def require_moved_in(data: Path, chosen: Sequence[Mover]) -> None:
    """Raise NOT_MOVED_IN if a data folder holds required items that the database lacks."""
    lacking = _find_lacking(data, [mover for mover in chosen if mover.required])
    if lacking:
        raise CommonplaceError(
            NOT_MOVED_IN,
            f"The data folder contains data that the database lacks: {_list(lacking)}.",
            hint=f"Run `commonplace migrate --from {data}`, or move these files away.",
            details={part: list(names[:100]) for part, names in lacking.items()},
        )


def describe_not_moved(data: Path, chosen: Sequence[Mover]) -> str:
    """Name what a server would start without: items of its folder that the database lacks.

    Audit records are left out, because the server brings them itself.
    """
    optional = [mover for mover in chosen if not mover.required and mover.part != "audit records"]
    lacking: dict[str, Sequence[str]] = {}
    unreadable: list[str] = []
    for mover in optional:
        try:
            lacking |= _find_lacking(data, [mover])
        except Exception as error:  # old files that are damaged must not stop a server
            why = error.message if isinstance(error, CommonplaceError) else type(error).__name__
            unreadable.append(f"{mover.part} that cannot be read ({why.rstrip('.')})")
    return "; ".join(filter(None, (_list(lacking), *unreadable)))


def _find_lacking(data: Path, chosen: Sequence[Mover]) -> dict[str, Sequence[str]]:
    found = {mover.part: mover.lacking(data) for mover in chosen}
    return {part: names for part, names in found.items() if names}


def _list(lacking: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(
        f"{len(names)} {part} ({', '.join(names[:SHOWN])}{', ...' if len(names) > SHOWN else ''})"
        for part, names in lacking.items()
    )
