"""The catalogue without its restricted instructions, behind the same interface as the whole one.

Lists, counts, hashes, facets, search and graph are computed from a catalogue of their own, so
nothing of a restricted instruction can reach them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace

from commonplace.instructions.engine.catalogue import Catalogue
from commonplace.instructions.errors import ID_NOT_AVAILABLE
from commonplace.instructions.fields import is_restricted
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
from commonplace.instructions.store.protocol import CatalogueStore
from commonplace.kernel.errors import SCOPE_REQUIRED, CommonplaceError
from commonplace.kernel.json_types import Json


class UnrestrictedStore:
    """A `CatalogueStore` for callers who may not read restricted instructions.

    Files that cannot be read are hidden too, because their classification is unknown.
    """

    def __init__(self, store: CatalogueStore) -> None:
        self._store = store
        self._followed = False
        self.catalogue = Catalogue()
        self.catch_up = store.catch_up

    @property
    def lock(self) -> AbstractContextManager[object]:
        return self._store.lock

    @property
    def loaded(self) -> bool:
        return self._followed

    @property
    def confirmed_at(self) -> str:
        return self._store.confirmed_at

    def open(self) -> None:
        """Load the whole catalogue, and follow its changes from now on."""
        self._store.open()
        if not self._followed:
            with self.lock:
                self._follow()

    def close(self) -> None:
        """Do nothing: the store belongs to the whole catalogue."""

    def _follow(self) -> Catalogue:
        """Return the catalogue, kept in step with the whole one. The caller holds `lock`."""
        if not self._followed:
            whole = self._store.current()
            everything = (*whole.entries.values(), *whole.archived.values())
            self.catalogue.load(entry for entry in everything if not entry.restricted)
            whole.follow(self._take_over)
            self._followed = True
        return self.catalogue

    def _take_over(self, id_: str, entry: Instruction | None) -> None:
        if entry is None or entry.restricted:
            self.catalogue.drop(id_)
        else:
            self.catalogue.put(entry)

    def current(self) -> Catalogue:
        """Return the visible part of the present catalogue. The caller holds `lock`."""
        self._store.current()
        return self._follow()

    def snapshot(self) -> tuple[list[Instruction], str]:
        with self.lock:
            catalogue = self.current()
            return list(catalogue), catalogue.hash

    def synchronise(self) -> CatalogueDifferences:
        """Compare the storage; what changed is not told, since it counts hidden entries."""
        self._store.synchronise()
        return CatalogueDifferences()

    def reload(self) -> None:
        self._store.reload()

    @contextmanager
    def exclusive(self) -> Iterator[Catalogue]:
        with self._store.exclusive():
            with self.lock:
                catalogue = self._follow()
            yield catalogue

    def refresh(self, *ids: str) -> None:
        self._store.refresh(*ids)

    def commit(self, changes: Sequence[InstructionChange], author: Author) -> None:
        """Commit changes. Raises for a hidden id, and for an entry that would be hidden."""
        for change in changes:
            if self._hides(change.id):
                raise CommonplaceError(
                    ID_NOT_AVAILABLE,
                    f"The id {change.id} is not available.",
                    hint="Choose another id.",
                    details={"id": change.id},
                )
            if change.after is not None and change.after.restricted:
                raise CommonplaceError(
                    SCOPE_REQUIRED,
                    "This key may not read restricted instructions, so it cannot write one.",
                    hint="Use another classification, or a key made with `commonplace keys add "
                    "--may-read restricted`.",
                    details={"id": change.id, "required": "may_read restricted"},
                )
        self._store.commit(changes, author)

    def _hides(self, id_: str) -> bool:
        entry = self._store.catalogue.stored(id_)
        if entry is not None:
            return entry.restricted
        return self._store.rejection_of(id_) is not None

    def has_entry(self, id_: str) -> bool:
        return not self._hides(id_) and self._store.has_entry(id_)

    def read(self, id_: str) -> StoredEntry:
        return self._visible(id_, self._store.read(id_))

    def _visible(self, id_: str, entry: StoredEntry) -> StoredEntry:
        if entry.instruction is None or entry.instruction.restricted or self._hides(id_):
            return StoredEntry(None)
        return entry

    def read_bytes(self, id_: str) -> bytes | None:
        return None if self._hides(id_) else self._store.read_bytes(id_)

    def apply_stored(self, id_: str) -> StoredEntry:
        return self._visible(id_, self._store.apply_stored(id_))

    def rejection_of(self, id_: str) -> Rejection | None:
        return None

    def rejections(self) -> list[Rejection]:
        return []

    def history(self, id_: str) -> list[RecordedChange]:
        """Return the changes whose states before and after were both open to these callers."""
        recorded = self._store.history(id_)
        with self.lock:
            present = self._store.catalogue.stored(id_)
        after: Mapping[str, Json] | None = present.document if present is not None else None
        visible: list[RecordedChange] = []
        for change in reversed(recorded):
            after = change.after if change.has_after else after
            states = [state for state in (change.before, after) if state is not None]
            if not any(is_restricted(state) for state in states):
                visible.append(change)
            after = change.before
        return visible[::-1]

    def removed(self) -> list[RemovedInstruction]:
        """Return the removed instructions that were not restricted."""
        return [entry for entry in self._store.removed() if not is_restricted(entry.document)]

    def status(self) -> StorageStatus:
        """Return the state of the storage, with the size of what is visible."""
        entries, _ = self.snapshot()
        size = sum(len(entry.document.encoded) for entry in entries)
        return replace(self._store.status(), file_count=len(entries), total_size=size)
