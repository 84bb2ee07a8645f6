"""PostgreSQL adapter: keeps the catalogue in memory in step with rows that servers share.

Every change has a number in `instruction_changes`. A reader asks for the newest number before it
answers, and fetches what it lacks; a notification makes servers fetch it before a reader asks.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, replace

from commonplace.instructions.engine.catalogue import Catalogue
from commonplace.instructions.engine.normalise import ReadingRules
from commonplace.instructions.fields import is_valid_id
from commonplace.instructions.model import (
    Author,
    CatalogueDifferences,
    Instruction,
    InstructionChange,
    RecordedChange,
    Rejection,
    Stamp,
    StorageStatus,
    StoredEntry,
)
from commonplace.instructions.store.parsing import parse_entries
from commonplace.instructions.store.postgres import QUERIES
from commonplace.instructions.store.postgres.changes import (
    ChangeTable,
    EntryRow,
    HistoryRow,
    encode_document,
)
from commonplace.instructions.store.postgres.configuration import SharedDocuments
from commonplace.instructions.store.postgres.files import InstructionFile
from commonplace.instructions.store.postgres.lease import WriterLease
from commonplace.instructions.store.postgres.rows import newest_change, parse_row, with_removed
from commonplace.instructions.store.postgres.shared_check import SharedCheck
from commonplace.instructions.store.postgres.usage import UsageTable
from commonplace.instructions.store.protocol import Trace
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.gc_control import gc_paused
from commonplace.storage.postgres.connection import PostgresConnection, Row
from commonplace.storage.postgres.database import PostgresDatabase
from commonplace.storage.postgres.errors import LOST_CONNECTION, unavailable
from commonplace.storage.postgres.notifications import NotificationChannel

CHANNEL = "commonplace_instructions"
LOCK_SECONDS = 3.0  # how long a writer waits for the others
CONFIRM_SECONDS = 2.0  # a check that takes longer counts as an outage
APPLY_SECONDS = 2.0  # longest wait for readers before changes are applied


@dataclass(frozen=True, slots=True)
class SharedOptions:
    """Switches and times of a shared catalogue."""

    agent: str | None = None  # MCP_AGENT_ID, recorded in the history
    watch: bool = True
    lock_seconds: float = LOCK_SECONDS


class PostgresCatalogueStore:
    """Catalogue of a team, kept in step with its rows."""

    def __init__(
        self,
        database: PostgresDatabase,
        rules: ReadingRules,
        documents: SharedDocuments,
        usage: UsageTable,
        *,
        clock: Callable[[], str],
        trace: Trace = lambda *_: None,
        options: SharedOptions | None = None,
    ) -> None:
        options = options or SharedOptions()
        self.catalogue = Catalogue()
        self.lock = threading.RLock()
        self.loaded = False
        self.documents = documents
        self.confirmed_at = ""
        self.usage_changed: Callable[[], None] = lambda: None
        self._database = database
        self.rules = rules
        self._usage = usage
        self._clock = clock
        self._trace = trace
        self.changes = ChangeTable(database, CHANNEL)
        self.removed = self.changes.removed
        self._agent = options.agent
        self._lease = WriterLease(database, options.lock_seconds)
        self._check = SharedCheck(lambda: database.read_later(self._take_over))
        self._channel = (
            NotificationChannel(database, CHANNEL, self._follow_notification)
            if options.watch
            else None
        )
        self._sequence = 0  # of the newest change in the catalogue
        self._stamps: dict[str, Stamp] = {}
        self._rejections: dict[str, Rejection] = {}  # by file name
        self._written: dict[str, bytes] = {}  # stored inside the present `exclusive`
        self._writer_lock = threading.RLock()
        self._closing = threading.Event()

    def open(self) -> None:
        """Load the catalogue once, then parse the rest and follow changes in the background."""
        if self.loaded:
            return
        with self.lock:  # there is nothing to read yet, so readers wait
            if self.loaded:
                return
            self._load()
            entries = list(self.catalogue)
            threading.Thread(
                target=parse_entries,
                args=(entries, self._closing),
                name="instructions-parser",
                daemon=True,
            ).start()
            if self._channel is not None:
                self._channel.start()

    def close(self) -> None:
        """Stop the background work and close the connection of the writer."""
        self._closing.set()
        if self._channel is not None and self.loaded:
            self._channel.stop()
        with self._writer_lock:
            self._lease.close()

    def _load(self) -> None:
        confirmed = self._clock()

        def read(connection: PostgresConnection) -> tuple[int, list[Row], list[Row]]:
            sequence = newest_change(connection)[0]
            documents = connection.execute(QUERIES["documents"]).fetchall()
            self._usage.follow(connection)
            return sequence, documents, connection.execute(QUERIES["entries"]).fetchall()

        sequence, documents, rows = self._database.read_now(read, snapshot=True)
        self.documents.take(documents, sequence)
        instructions = self._read_rows(rows)
        with gc_paused(freeze=True):
            self.catalogue.load(instructions)
        self._sequence, self.confirmed_at, self.loaded = sequence, confirmed, True
        self.usage_changed()
        record = {"count": len(instructions), "rejected": len(self._rejections)}
        self._trace("catalog:load", {**record, "dir": "postgresql"})

    def _read_rows(self, rows: Sequence[Row]) -> list[Instruction]:
        instructions: list[Instruction] = []
        rules = self.rules.frozen()
        for row in rows:
            id_, entry = row[0], parse_row(row, rules)
            if entry.stamp is not None:
                self._stamps[id_] = entry.stamp
            if entry.instruction is not None:
                instructions.append(entry.instruction)
            elif entry.rejection is not None:
                self._rejections[f"{id_}.json"] = entry.rejection
        return instructions

    def catch_up(self) -> Future[None]:
        """Begin to take over the changes of other servers."""
        if self._check.seconds_in_progress > CONFIRM_SECONDS:
            failed: Future[None] = Future()
            failed.set_exception(unavailable())
            return failed
        return self._check.request()

    def current(self) -> Catalogue:
        """Return the catalogue. The caller holds `lock` and has waited for `catch_up`."""
        if not self.loaded:
            self.open()
        return self.catalogue

    def snapshot(self) -> tuple[list[Instruction], str]:
        """Return all instructions by id and the catalogue hash, for work without the lock."""
        with self.lock:
            catalogue = self.current()
            return list(catalogue), catalogue.hash

    def _follow_notification(self) -> None:
        self._check.request()

    def _take_over(self, connection: PostgresConnection) -> None:
        """Fetch and apply what the catalogue lacks."""
        if not self.loaded:
            return  # loading reads everything
        # Numbers first: what this server commits meanwhile must not look like a restored database.
        confirmed, known, counted = self._clock(), self._sequence, self._usage.change
        sequence, usage = newest_change(connection)
        if sequence != known:
            self._fetch(connection, known, sequence)
        if usage != counted:
            if usage < counted:
                self._usage.reset()
            self._usage.follow(connection)
            self.usage_changed()
        self.confirmed_at = max(self.confirmed_at, confirmed)

    def _fetch(self, connection: PostgresConnection, known: int, sequence: int) -> None:
        """Read the entries that changed after the known number, and apply them."""
        restored = sequence < known  # an earlier state of the database: everything may differ
        since = {"known": known}
        row = connection.execute(QUERIES["documents_changed"], since).fetchone()
        everything = restored
        if restored or (row is not None and row[0]):
            documents = connection.execute(QUERIES["documents"]).fetchall()
            owners_changed = self.documents.take(documents, sequence, restored=restored)
            everything = restored or owners_changed
        if everything:
            rows = connection.execute(QUERIES["entries"]).fetchall()
            rows = with_removed(rows, list(self._stamps))
        else:
            rows = connection.execute(QUERIES["changed_entries"], since).fetchall()
        rules = self.rules.frozen()
        entries = [(row[0], parse_row(row, rules)) for row in rows]
        with self._locked():
            if not restored:
                entries = [entry for entry in entries if not self._is_outdated(*entry, sequence)]
            self._sequence = sequence if restored else max(self._sequence, sequence)
            self._apply_all(entries)

    def _is_outdated(self, id_: str, entry: StoredEntry, sequence: int) -> bool:
        """Tell whether the catalogue has a newer state than one read at a number."""
        present = self._stamps.get(id_)
        if present is None:  # a change after that number may have removed it
            return self._sequence > sequence
        return present[2] > (sequence if entry.stamp is None else entry.stamp[2])

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold `lock`, but never wait for a reader that itself waits for the database."""
        if not self.lock.acquire(timeout=APPLY_SECONDS):
            raise unavailable("The catalogue is in use for too long.")
        try:
            yield
        finally:
            self.lock.release()

    def _apply_all(self, entries: Sequence[tuple[str, StoredEntry]]) -> CatalogueDifferences:
        added = updated = removed = 0
        for id_, entry in entries:
            before = self.catalogue.stored(id_)
            self._apply(id_, entry)
            after = self.catalogue.stored(id_)
            if before is None:
                added += after is not None
            elif after is None:
                removed += 1
            else:
                updated += before.fingerprint != after.fingerprint
        differences = CatalogueDifferences(added, updated, removed)
        if differences.any:
            counts = {"added": added, "updated": updated, "removed": removed}
            self._trace("catalog:compare", counts)
        return differences

    def _apply(self, id_: str, entry: StoredEntry) -> None:
        """Update the catalogue with a stored entry. The caller holds `lock`."""
        if entry.stamp is None:
            self._stamps.pop(id_, None)
        else:
            self._stamps[id_] = entry.stamp
        if entry.rejection is None:
            self._rejections.pop(f"{id_}.json", None)
        else:
            self._rejections[f"{id_}.json"] = entry.rejection
        if entry.instruction is not None:
            self.catalogue.put(entry.instruction)
        else:
            self.catalogue.drop(id_)

    def synchronise(self) -> CatalogueDifferences:
        """Compare the catalogue with the rows, and take over those whose stamp differs."""
        self.open()
        known = dict(self._stamps)

        def compare(connection: PostgresConnection) -> list[Row]:
            found = {row[0]: row[1:] for row in connection.execute(QUERIES["entry_stamps"])}
            ids = [id_ for id_ in {*found, *known} if found.get(id_) != known.get(id_)]
            rows = connection.execute(QUERIES["entries_by_id"], {"ids": ids}).fetchall()
            return with_removed(rows, ids)

        rules = self.rules.frozen()
        entries = [(row[0], parse_row(row, rules)) for row in self._database.read_now(compare)]
        with self.lock:  # a change since then is newer than the rows
            return self._apply_all(
                [(id_, entry) for id_, entry in entries if self._stamps.get(id_) == known.get(id_)]
            )

    def reload(self) -> None:
        """Read every entry again."""
        with self._writer_lock:
            self.open()
            known = list(self._stamps)

            def read(connection: PostgresConnection) -> tuple[int, list[Row], list[Row]]:
                sequence = newest_change(connection)[0]
                documents = connection.execute(QUERIES["documents"]).fetchall()
                rows = connection.execute(QUERIES["entries"]).fetchall()
                return sequence, documents, with_removed(rows, known)

            sequence, documents, rows = self._database.read_now(read, snapshot=True)
            self.documents.take(documents, sequence)
            rules = self.rules.frozen()
            entries = [(row[0], parse_row(row, rules)) for row in rows]
            with self.lock:
                if sequence >= self._sequence:
                    self._sequence = sequence
                    self._apply_all(entries)

    @contextmanager
    def exclusive(self) -> Iterator[Catalogue]:
        """Become the only writer, with all changes of others applied."""
        with self._writer_lock:
            self.open()
            with self._lease.hold() as connection:
                try:
                    self._take_over(connection)
                except LOST_CONNECTION as lost:
                    raise unavailable() from lost
                self._written.clear()
                try:
                    yield self.catalogue
                finally:
                    self._written.clear()

    def refresh(self, *ids: str) -> None:
        """Do nothing: every change of a row is announced."""

    def commit(self, changes: Sequence[InstructionChange], author: Author) -> None:
        """Make changes durable, then visible here and to other servers.

        All of them are stored or none. Inside `exclusive` only.
        """
        if not changes:
            return
        at, modified_ns = self._clock(), time.time_ns()
        recorded = [
            self._record(
                self._sequence + number,
                change.id,
                (at, change.action, author),
                encode_document(self.catalogue.stored(change.id)),
                encode_document(change.after),
            )
            for number, change in enumerate(changes, start=1)
        ]
        rows = [
            EntryRow(
                change.id,
                None if change.after is None else change.content,
                modified_ns,
                row.sequence,
            )
            for change, row in zip(changes, recorded, strict=True)
        ]
        self.changes.store_entries(rows, recorded)
        self._apply_stored_changes(changes, rows)

    def _record(
        self,
        sequence: int,
        id_: str,
        origin: tuple[str, str, Author],
        before: bytes | None,
        after: bytes | None,
    ) -> HistoryRow:
        at, action, author = origin
        return HistoryRow(
            sequence, id_, at, action, author.label, author.tenant, self._agent, before, after
        )

    def _apply_stored_changes(
        self, changes: Sequence[InstructionChange], rows: Sequence[EntryRow]
    ) -> None:
        rules = self.rules.frozen()
        with self.lock:
            for change, row in zip(changes, rows, strict=True):
                entry = StoredEntry(None)
                if row.content is not None:
                    self._written[row.id] = row.content
                    stamp = (row.modified_ns, len(row.content), row.sequence)
                    entry = StoredEntry(stamp, change.after)
                    if change.as_written:
                        stored = (row.id, row.content, row.modified_ns, row.sequence)
                        entry = parse_row(stored, rules)
                self._apply(row.id, entry)
            self._sequence = max(self._sequence, rows[-1].sequence)

    def commit_files(self, files: Sequence[InstructionFile], author: Author) -> None:
        """Store files of an instruction folder byte by byte. Inside `exclusive` only.

        Each must hold a valid instruction.
        """
        at, rules = self._clock(), self.rules.frozen()
        number = self._sequence
        recorded: list[HistoryRow] = []
        rows: list[EntryRow] = []
        changes: list[InstructionChange] = []
        for file in files:
            after = file.parse(rules)
            document = encode_document(after)
            before = encode_document(self.catalogue.stored(file.id))
            for change in file.earlier_changes(after):
                number += 1
                recorded.append(replace(change, sequence=number))
                before = document  # with its history, the arrival itself changed nothing
            number += 1
            recorded.append(
                self._record(number, file.id, (at, file.action, author), before, document)
            )
            rows.append(EntryRow(file.id, file.content, file.modified_ns, number))
            changes.append(
                InstructionChange(file.id, after, file.content, file.action, as_written=True)
            )
        if rows:
            self.changes.store_entries(rows, recorded)
            self._apply_stored_changes(changes, rows)

    def commit_document(self, name: str, content: bytes | None, author: Author) -> None:
        """Store a configuration document, or delete it with None. Inside `exclusive` only."""
        action = "remove" if content is None else "put"
        before = self.documents.get(name)
        origin = (self._clock(), action, author)
        recorded = self._record(self._sequence + 1, name, origin, before, content)
        self.changes.store_document(recorded, time.time_ns())
        self._database.read_now(self._take_over)

    def has_entry(self, id_: str) -> bool:
        """Tell whether a row is stored under an id, readable or not."""
        return id_ in self._stamps

    def read(self, id_: str) -> StoredEntry:
        """Read one row, without changing the catalogue."""
        row = self._read_row(id_)
        return StoredEntry(None) if row is None else parse_row(row, self.rules)

    def read_bytes(self, id_: str) -> bytes | None:
        """Return the stored bytes of an entry."""
        written = self._written.get(id_)  # the database confirmed their hash
        if written is not None:
            return written
        row = self._read_row(id_)
        return None if row is None else bytes(row[1])

    def _read_row(self, id_: str) -> Row | None:
        return self._database.read_now(
            lambda connection: connection.execute(QUERIES["entry"], {"id": id_}).fetchone()
        )

    def apply_stored(self, id_: str) -> StoredEntry:
        """Read one row into the catalogue."""
        entry = self.read(id_)
        with self.lock:
            self._apply(id_, entry)
        return entry

    def rejection_of(self, id_: str) -> Rejection | None:
        """Return why the row of an id is not served."""
        return self._rejections.get(f"{id_}.json")

    def rejections(self) -> list[Rejection]:
        """Return all rejected rows, sorted by name."""
        return sorted(self._rejections.values(), key=lambda rejection: rejection.file)

    def history(self, id_: str) -> list[RecordedChange]:
        """Return the recorded changes of an instruction, oldest first."""
        return self.changes.history(id_) if is_valid_id(id_) else []

    def status(self) -> StorageStatus:
        """Return the state of the tables."""
        count, size, problem = len(self._stamps), 0, ""
        try:
            row = self._database.read_now(
                lambda connection: connection.execute(QUERIES["sizes"]).fetchone()
            )
            count, size = row or (0, 0)
        except CommonplaceError as error:
            problem = error.code.name
        return StorageStatus(
            name="postgresql",
            exists=True,
            readable=not problem,
            writable=not problem,
            file_count=int(count),
            total_size=int(size),
            available_space=0,
            ignored_folders=(),
            write_problem=problem,
        )
