"""What the use cases need from a store of instructions.

An adapter keeps the canonical bytes of each instruction, a record of its changes, and a signal that
tells other processes to refresh. The folder adapter is `FolderStore`: one file per instruction, an
append-only history, a journal and a marker file. The adapter for PostgreSQL is
`PostgresCatalogueStore`: a row per instruction, a change table as journal and history, and a
notification.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from commonplace.instructions.engine.catalogue import Catalogue
from commonplace.instructions.engine.normalise import OwnerOf
from commonplace.instructions.model import (
    Author,
    CatalogueDifferences,
    Instruction,
    InstructionChange,
    RecordedChange,
    Rejection,
    RemovedInstruction,
    StorageStatus,
    StoredEntry,
)
from commonplace.kernel.json_types import Json

if TYPE_CHECKING:
    from commonplace.instructions.engine.policy.gates import PolicyGate
    from commonplace.instructions.engine.policy.prompt_review import PromptCriteria

Trace = Callable[[str, Json], None]
"""Write a trace record of a category."""


class CatalogueStore(Protocol):
    """Instructions in storage, and the catalogue in memory that is kept in step with them.

    Readers hold `lock` while they use the catalogue. One writer at a time, among all processes, is
    inside `exclusive`.
    """

    @property
    def lock(self) -> AbstractContextManager[object]: ...

    @property
    def loaded(self) -> bool: ...

    @property
    def catalogue(self) -> Catalogue:
        """The catalogue as last read; `current` includes changes of other processes."""
        ...

    def open(self) -> None:
        """Load the catalogue once, and start to follow changes from outside."""
        ...

    def close(self) -> None: ...

    def catch_up(self) -> Future[None] | None:
        """Begin to take over the changes of other servers; None if `current` sees them anyway.

        When the future is done, the catalogue has every change that was acknowledged before this
        call. It fails with a retryable error while the storage cannot be reached.
        """
        ...

    @property
    def confirmed_at(self) -> str:
        """The time of the newest state that the catalogue is known to have."""
        ...

    def current(self) -> Catalogue:
        """Return the catalogue with every acknowledged change. The caller holds `lock`.

        If `catch_up` returns a future, wait for that first.
        """
        ...

    def snapshot(self) -> tuple[list[Instruction], str]:
        """Return all instructions by id and the catalogue hash, for work without the lock."""
        ...

    def synchronise(self) -> CatalogueDifferences:
        """Compare the catalogue with the storage, and take over what differs."""
        ...

    def reload(self) -> None:
        """Read every stored entry again."""
        ...

    def exclusive(self) -> AbstractContextManager[Catalogue]:
        """Become the only writer, with all changes of others applied."""
        ...

    def refresh(self, *ids: str) -> None:
        """Take over unannounced changes of these entries. Inside `exclusive` only."""
        ...

    def commit(self, changes: Sequence[InstructionChange], author: Author) -> None:
        """Make changes durable, then visible to every process. Inside `exclusive` only."""
        ...

    def has_entry(self, id_: str) -> bool:
        """Tell whether anything is stored under an id, readable or not."""
        ...

    def read(self, id_: str) -> StoredEntry:
        """Read one entry from the storage, without changing the catalogue."""
        ...

    def read_bytes(self, id_: str) -> bytes | None:
        """Return the stored bytes of an entry."""
        ...

    def apply_stored(self, id_: str) -> StoredEntry:
        """Read one entry from the storage into the catalogue."""
        ...

    def rejection_of(self, id_: str) -> Rejection | None:
        """Return why the entry stored under an id is not served."""
        ...

    def rejections(self) -> list[Rejection]:
        """Return all rejected entries, sorted by file."""
        ...

    def history(self, id_: str) -> list[RecordedChange]:
        """Return the recorded changes of an instruction, oldest first."""
        ...

    def removed(self) -> list[RemovedInstruction]:
        """Return the instructions that are recorded but no longer stored, in any order."""
        ...

    def status(self) -> StorageStatus:
        """Return the state of the storage."""
        ...


class ConfigurationStore(Protocol):
    """Owner rules, gates and prompt criteria that are kept with the catalogue."""

    def owners(self) -> OwnerOf:
        """Return the function that finds the owner of an id."""
        ...

    def gates(self) -> tuple[PolicyGate, ...] | None:
        """Return the gates, or None if there are none. Raises INVALID_GATES."""
        ...

    def criteria(self) -> PromptCriteria:
        """Return the prompt criteria. Raises INVALID_CRITERIA."""
        ...

    def problems(self) -> dict[str, str]:
        """Return what is wrong with each file."""
        ...
