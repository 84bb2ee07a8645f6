"""Bring the instructions and configuration files of a data folder into the database of a team."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from commonplace.bootstrap.move_in import MovedPart, require_same
from commonplace.instructions.assembly import open_shared_store
from commonplace.instructions.model import Author
from commonplace.instructions.store.configuration import CRITERIA, GATES, OWNERS
from commonplace.instructions.store.directory import InstructionDirectory, may_be_instruction
from commonplace.instructions.store.history import ChangeHistory
from commonplace.instructions.store.journal import state_directory
from commonplace.instructions.store.postgres.catalogue import PostgresCatalogueStore
from commonplace.instructions.store.postgres.files import InstructionFile
from commonplace.instructions.store.review.file import ReviewFile
from commonplace.instructions.store.review.table import ReviewTable
from commonplace.kernel.auth import local_user
from commonplace.kernel.clock import iso, utc_now
from commonplace.kernel.settings import Settings
from commonplace.storage.postgres.database import PostgresDatabase

GROUP_SIZE = 200  # files that share a transaction
ACTION = "moved in"


@dataclass(slots=True)
class _Outcome:
    """What became of the files so far."""

    added: int = 0
    present: int = 0
    kept: list[str] = field(default_factory=list)
    hashes: dict[str, str] = field(default_factory=dict)  # of what the database must hold


class InstructionMover:
    """A `Mover` of instructions with their history, and of configuration files."""

    part = "instructions"
    required = True

    def __init__(self, settings: Settings, database: PostgresDatabase) -> None:
        self._settings = settings
        self._database = database

    def lacking(self, data: Path) -> Sequence[str]:
        """Name the instructions and documents that the database has never had."""
        directory = self._directory(data)
        ids = [name[:-5] for name in directory.names() if may_be_instruction(name)]
        documents = dict(_documents(directory.path, data))
        if not ids and not documents:
            return []
        changes = self._open().changes
        known = changes.known(ids)
        unknown = [
            id_
            for id_ in sorted(ids)
            if id_ not in known and directory.read(f"{id_}.json").instruction is not None
        ]
        moved = changes.known(list(documents), "document")
        return [*unknown, *(name for name in documents if name not in moved)]

    def move(self, data: Path, progress: Callable[[int, int], None]) -> MovedPart:
        """Store what the database lacks; a file that differs there is left as the database has it.

        An instruction that was removed from the database stays removed.
        """
        directory = self._directory(data)
        names = sorted(name for name in directory.names() if may_be_instruction(name))
        documents = dict(_documents(directory.path, data))
        store = self._open()
        author, outcome = Author.of(local_user()), _Outcome()
        refused: list[str] = []
        known = store.changes.known([name[:-5] for name in names])
        state = state_directory(directory.path, data)
        history = ChangeHistory(state)
        total = len(names) + len(documents)
        try:
            with store.exclusive():
                for start in range(0, len(names), GROUP_SIZE):
                    group = names[start : start + GROUP_SIZE]
                    files = list(_read_files(directory, history, group, refused))
                    _store_files(store, files, known, author, outcome)
                    progress(min(start + GROUP_SIZE, len(names)), total)
                for name, content in documents.items():
                    _store_document(store, name, content, author, outcome)
                _store_reviews(self._database, state)
            progress(total, total)
            stored = {name: _hash(_stored(store, name)) for name in outcome.hashes}
        finally:
            store.close()
        return MovedPart(
            self.part,
            found=total,
            added=outcome.added,
            present=outcome.present,
            kept=tuple(outcome.kept),
            refused=tuple(refused),
            digest=require_same(self.part, stored, outcome.hashes),
        )

    def _directory(self, data: Path) -> InstructionDirectory:
        own = data.resolve() == self._settings.data.resolve()
        return InstructionDirectory(
            self._settings.instructions_directory if own else data / "instructions"
        )

    def _open(self) -> PostgresCatalogueStore:
        settings = self._settings.mcp.instructions.replace(watch=False)
        return open_shared_store(self._database, settings, lambda: iso(utc_now()))


def _store_reviews(database: PostgresDatabase, state: Path) -> None:
    """Append the events of reviews that the database lacks."""
    table = ReviewTable(database)
    known = [event.to_json() for event in table.since(0).events]
    for event in ReviewFile(state).since(0).events:
        if event.to_json() not in known:
            table.append(event)


def _documents(directory: Path, data: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the configuration files: those of the instruction folder, else of the data folder."""
    for name in (OWNERS, GATES, CRITERIA):
        for path in (directory / name, data / name):
            if path.is_file():
                yield name, path.read_bytes()
                break


def _read_files(
    directory: InstructionDirectory,
    history: ChangeHistory,
    names: Sequence[str],
    refused: list[str],
) -> Iterator[InstructionFile]:
    for name in names:
        entry, content = directory.read(name), directory.read_bytes(name[:-5])
        if entry.instruction is None or entry.stamp is None or content is None:
            refused.append(f"{name}: {entry.rejection.reason if entry.rejection else 'missing'}")
            continue
        id_ = name[:-5]
        yield InstructionFile(id_, content, entry.stamp[0], ACTION, tuple(history.changes(id_)))


def _store_files(
    store: PostgresCatalogueStore,
    files: Sequence[InstructionFile],
    known: set[str],
    author: Author,
    outcome: _Outcome,
) -> None:
    new = [file for file in files if file.id not in known]
    store.commit_files(new, author)
    outcome.added += len(new)
    added = {file.id for file in new}
    for file in files:
        same = file.id in added or store.read_bytes(file.id) == file.content
        if not same:
            outcome.kept.append(file.id)
            continue
        outcome.hashes[file.id] = _hash(file.content)
        outcome.present += file.id not in added


def _store_document(
    store: PostgresCatalogueStore, name: str, content: bytes, author: Author, outcome: _Outcome
) -> None:
    present = store.documents.get(name)
    if present is None and not store.changes.known([name], "document"):
        store.commit_document(name, content, author)
        outcome.added += 1
    elif present == content:
        outcome.present += 1
    else:
        outcome.kept.append(name)
        return
    outcome.hashes[name] = _hash(content)


def _stored(store: PostgresCatalogueStore, name: str) -> bytes:
    if name in (OWNERS, GATES, CRITERIA):
        return store.documents.get(name) or b""
    return store.read_bytes(name) or b""


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
